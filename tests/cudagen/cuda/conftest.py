"""Kernels under sanitizers: a module says which, by a fixture `kernels`."""
from __future__ import annotations

import pytest
from taped import ADDRESSES, RACES, Kernels, Watched, watched


@pytest.fixture(scope="module")
def threads(kernels: Kernels, tmp_path_factory: pytest.TempPathFactory) -> Watched:
    return watched(RACES, kernels.text, kernels.names, tmp_path_factory.mktemp("threads"))


@pytest.fixture(scope="module")
def addresses(kernels: Kernels, tmp_path_factory: pytest.TempPathFactory) -> Watched:
    return watched(ADDRESSES, kernels.text, kernels.names, tmp_path_factory.mktemp("addresses"))
