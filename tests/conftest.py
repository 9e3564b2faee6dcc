"""What all tests share: the options that write golden files anew, and that choose where tests for GPUs run."""
from __future__ import annotations

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="write what golden tests find into their files")
    parser.addoption("--on", choices=("cuda", "cudasim"), default="cuda", help="where tests/test_on_gpu.py runs")


@pytest.fixture
def update_golden(request: pytest.FixtureRequest) -> bool:
    return bool(request.config.getoption("--update-golden"))
