"""A worker is free soon after nobody waits for its tasks, which would take minutes: after Ctrl-C, at the end of a
program's time, when a driver is killed. Loops that certainly end look at nothing for 2^16 rounds; chunks are left out.
"""
from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import numpy as np
import pytest
from dask_cases import wait_until

distributed = pytest.importorskip("distributed")
TEXT = """
function spin(x, n) = if n == 0 then x else spin(x * 0.999 + 0.001, n - 1);
function spun(xs, n) = {spin(x, n) : x in xs};
"""
ROUNDS = "60000"
XS = np.linspace(0.0, 1.0, 8_000_000)
THREADS = 2
SOON = 60.0                     # seconds: a slab takes longer


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    """Of a cluster whose worker is a process of its own."""
    with (distributed.LocalCluster(n_workers=1, threads_per_worker=THREADS, processes=True, host="127.0.0.1",
                                   memory_limit=None, dashboard_address=None) as cluster,
          distributed.Client(cluster, set_as_default=False) as client):
        yield client


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    parquet = pytest.importorskip("pyarrow.parquet")
    folder = tmp_path_factory.mktemp("dropped")
    (folder / "p.nesl").write_text(TEXT)
    np.save(folder / "x.npy", XS)
    parquet.write_table(sys.modules["pyarrow"].table({"x": XS}), folder / "x.parquet", row_group_size=len(XS) // 4)
    return folder


def at_work(dask_worker: Any) -> bool:
    """Is it at work on elements?"""
    return any(task.key.startswith(("K1_sweep-", "spun-")) and not task.key.startswith("spun-arguments")
               for task in dask_worker.state.executing)


def meets(folder: Path, number: int) -> bool:
    """As many of these as there are threads wait for each other."""
    (folder / f"met-{number}").touch()
    until = monotonic() + SOON
    while len([*folder.glob("met-*")]) < THREADS and monotonic() < until:
        sleep(0.05)
    return len([*folder.glob("met-*")]) == THREADS


@pytest.mark.parametrize(("options", "ends"), [
    pytest.param(["@x.npy", ROUNDS], [signal.SIGINT], id="Ctrl-C"),
    pytest.param(["@x.npy", ROUNDS], [signal.SIGINT, signal.SIGINT], id="Ctrl-C, twice"),
    pytest.param(["@x.npy", ROUNDS], [signal.SIGKILL], id="killed"),
    pytest.param(["@x.npy", ROUNDS, "--time-limit", "15"], [], id="time"),
    pytest.param(["@{files}/x.parquet:x", ROUNDS, "--stream"], [signal.SIGINT], id="stream")])
def test_a_worker_is_free_when_nobody_waits(options: list[str], ends: list[int], client: Any, files: Path,
                                            tmp_path: Path) -> None:
    command = [sys.executable, "-P", "-m", "nessie", "run", "p.nesl", "-e", "spun",
               *[option.format(files=files) for option in options], "--target", "dask",
               "--cluster", client.scheduler.address, "-o", str(tmp_path / "out.parquet")]
    with subprocess.Popen(command, cwd=files, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        def begun() -> bool:
            assert process.poll() is None, process.communicate()
            return any(client.run(at_work).values())

        wait_until("that the worker is at work", begun, SOON)
        for end in ends:
            process.send_signal(end)
        _, err = process.communicate(timeout=SOON)
    assert (process.returncode, err.splitlines()[:1]) == {
        (): (1, ["error: it took longer than 15 s"]),
        (signal.SIGKILL,): (-signal.SIGKILL, [])}.get(tuple(ends), (-signal.SIGINT, ["Interrupted."]))
    meeting = [client.submit(meets, tmp_path, number, pure=False) for number in range(THREADS)]
    assert all([task.result(timeout=SOON) for task in meeting])     # TimeoutError, if they have not begun
