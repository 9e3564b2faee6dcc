"""Two workers of Dask on this machine, and the program of dask_cases on them."""
from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from dask_cases import TEXT, all_there

import nessie
from nessie.cudagen.cluster import device
from nessie.cudagen.cluster.on_dask import OnDask, started
from nessie.running.targets import Target


@pytest.fixture(scope="module")
def engine() -> Iterator[OnDask]:
    found = started(2)
    yield found
    found.close()


@pytest.fixture
def program(engine: OnDask, monkeypatch: pytest.MonkeyPatch) -> nessie.Program:
    """The program on the two workers; hardly anything stays here."""
    monkeypatch.setattr(device, "HERE", 1 << 12)
    monkeypatch.setattr(Target, "engine_of_cluster", lambda target: engine)
    all_there(engine)
    return nessie.compile(TEXT, target="dask")


@pytest.fixture
def threads() -> Iterator[Any]:
    """A cluster in this process, whose workers come and go at once."""
    from distributed import LocalCluster
    with LocalCluster(n_workers=1, threads_per_worker=1, processes=False, protocol="tcp", host="127.0.0.1",
                      memory_limit=None, dashboard_address=None) as cluster:
        yield cluster
