"""Kernels under sanitizers: a module says which, by a fixture `kernels`."""
from __future__ import annotations

import pytest
from sanitizers import ADDRESSES, RACES, Watched, watched
from taped import Kernels


@pytest.fixture(scope="module")
def running(request: pytest.FixtureRequest) -> set[tuple[str, ...]]:
    """The parameters of the module's tests that this run has: for others' kernels, no compiler need run."""
    return {tuple(item.callspec.params.values()) for item in request.session.items
            if isinstance(item, pytest.Function) and item.path == request.path and hasattr(item, "callspec")}


@pytest.fixture(scope="module")
def threads(kernels: Kernels, tmp_path_factory: pytest.TempPathFactory) -> Watched:
    return watched(RACES, kernels.text, kernels.names, tmp_path_factory.mktemp("threads"))


@pytest.fixture(scope="module")
def addresses(kernels: Kernels, tmp_path_factory: pytest.TempPathFactory) -> Watched:
    return watched(ADDRESSES, kernels.text, kernels.names, tmp_path_factory.mktemp("addresses"))
