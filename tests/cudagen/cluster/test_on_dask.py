"""Dask's workers, two processes on this machine: the CPU target's bits, whoever dies; errors say what and where."""
from __future__ import annotations

import ctypes
import gc
import os
import signal
from dataclasses import replace
from threading import Timer
from time import monotonic, sleep
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from dask_cases import CALLS, PLACES, TEXT, XS, YS, N, all_there, at_task, bits, on_cpu, wait_until

import nessie
from nessie.base.source import NessieError
from nessie.base.types import FLOAT, Seq
from nessie.base.values import Flat
from nessie.cudagen.cluster import device
from nessie.cudagen.cluster.engine import InProcess, Wait
from nessie.cudagen.cluster.files.hands import Hands
from nessie.cudagen.cluster.on_dask import OnDask, connected, started
from nessie.cudagen.cluster.processes import watch
from nessie.cudagen.cluster.tasks import wanted
from nessie.cudagen.cluster.workers import ToldOfCluster, Workers
from nessie.files import written_by_workers
from nessie.files.files import write_value
from nessie.running.targets import Target

psutil = pytest.importorskip("psutil")
KilledWorker = pytest.importorskip("distributed.scheduler").KilledWorker
Status = pytest.importorskip("distributed.core").Status


@pytest.mark.parametrize("name", CALLS)
def test_workers_give_the_bits_of_the_cpu(name: str, program: nessie.Program) -> None:
    assert bits(program[name](*CALLS[name])) == on_cpu(name)


@pytest.mark.parametrize("workers", [1, 5])
@pytest.mark.slow
def test_any_number_of_workers_gives_the_same(workers: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device, "HERE", 1 << 12)
    engine = started(workers)
    monkeypatch.setattr(Target, "engine_of_cluster", lambda target: engine)
    try:
        program = nessie.compile(TEXT, target="dask")
        for name in ("norm2", "positive_rows", "segment_sums"):
            assert bits(program[name](*CALLS[name])) == on_cpu(name)
    finally:
        engine.close()


@pytest.mark.nightly
def test_workers_with_little_memory_do_much(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    """576 MB by two workers of 300 MB, none of whom dies: slabs are small, and spilled."""
    from distributed import Client, LocalCluster
    n = 72_000_000
    file = np.lib.format.open_memmap(tmp_path / "xs.npy", "w+", np.float64, (n,))
    for first in range(0, n, N):
        file[first:first + N] = XS[:n - first]
    file.flush()
    with LocalCluster(n_workers=2, threads_per_worker=1, memory_limit="300MB", host="127.0.0.1",
                      dashboard_address="127.0.0.1:0", local_directory=str(tmp_path)
                      ) as cluster, Client(cluster) as client:
        before = client.run(os.getpid)
        given = np.load(tmp_path / "xs.npy", mmap_mode="r")
        found = nessie.compile(TEXT, target="dask", cluster=client).norm2(given)
        assert client.run(os.getpid) == before
        for part, expected in zip(found, nessie.compile(TEXT).norm2(given), strict=True):
            assert all(np.array_equal(part[first:first + N], expected[first:first + N]) for first in range(0, n, N))


@pytest.mark.parametrize("name, moment", [
    ("positive", "K1_summary"), ("positive", "K1_sweep"), ("scatter", "K1_bucket")])
def test_a_worker_that_is_killed_changes_nothing(name: str, moment: str, engine: OnDask, program: nessie.Program,
                                                 monkeypatch: pytest.MonkeyPatch) -> None:
    """While totals are summed, while the sweep runs, and while elements move to others."""
    pids = list(engine.client.run(os.getpid).values())
    done = at_task(engine, moment, lambda: os.kill(pids[0], signal.SIGKILL), monkeypatch)
    assert bits(program[name](*CALLS[name])) == on_cpu(name)
    assert len(done) == 1
    all_there(engine)
    assert pids[0] not in engine.client.run(os.getpid).values()


def test_a_result_that_is_lost_is_waited_for(engine: OnDask) -> None:
    """Its worker has died after the task was done, which is done once more: that is no failure."""
    lost, other = engine.submit("lost", lambda given: 1), engine.submit("other", lambda given: 2)
    assert engine.gather([lost, other]) == [1, 2]
    looks = list[int]()
    lost._state.lose()

    def look(done: int, of: int, lacks: str) -> None:
        looks.append(done)
        if len(looks) == 2:
            engine.client.loop.asyncio_loop.call_soon_threadsafe(lost._state.finish)        # it is done again

    assert engine.gather([lost, other], look) == [1, 2]
    assert looks[:2] == [1, 1]


def dies(*_: Any) -> None:
    """Kills its worker when that has nothing else to do any more: Dask suspects all that was to be done there."""
    sleep(1)
    os._exit(1)


def test_a_slab_that_kills_its_workers_is_told(engine: OnDask, program: nessie.Program,
                                               monkeypatch: pytest.MonkeyPatch) -> None:
    submit = engine.submit

    def submitted(name: str, function: Any, *arguments: Any, **named: Any) -> Any:
        if name == "K1_sweep-3":
            return submit(name, dies)
        return submit(name, function, *arguments, **named)

    monkeypatch.setattr(engine, "submit", submitted)
    engine.client.run_on_scheduler(lambda dask_scheduler: setattr(dask_scheduler, "allowed_failures", 1))
    with pytest.raises(NessieError) as error:
        program.dotp(XS, YS)
    assert "the slab of K1 sweep from chunk 3 on has killed one worker after another" in str(error.value)
    assert "function dotp(xs, ys)" in str(error.value)
    assert "do workers have memory enough for it?" in str(error.value)
    all_there(engine)


def test_a_part_of_a_file_whose_writing_kills_workers_is_told(
        engine: OnDask, tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    submit = engine.submit

    def submitted(name: str, function: Any, *arguments: Any, **named: Any) -> Any:
        return submit(name, dies if name == "write-1" else function, *arguments, **named)

    monkeypatch.setattr(engine, "submit", submitted)
    monkeypatch.setattr(written_by_workers, "BYTES", 8 * 1000)
    engine.client.run_on_scheduler(lambda dask_scheduler: setattr(dask_scheduler, "allowed_failures", 1))
    all_there(engine)
    hands = Hands(engine)
    there = hands.in_file(np.arange(3000.0))
    assert there is not None
    with pytest.raises(NessieError) as error:
        write_value(str(tmp_path / "out.parquet"), Flat(3000, there), Seq(FLOAT), hands=lambda: hands)
    path = tmp_path / "out.parquet" / "part-00001.parquet"
    assert f"writing {path} (rows 1000 to 1999) has killed one worker after another" in str(error.value)
    all_there(engine)


def test_a_bad_index_is_told_as_on_the_cpu(program: nessie.Program) -> None:
    places = PLACES.copy()
    places[[150_123, 190_000]] = N, -1
    told = []
    for made in (nessie.compile(TEXT), program):
        with pytest.raises(NessieError) as error:
            made.gather(XS, places)
        told.append(str(error.value))
    assert told[0] == told[1]
    assert "150123" in told[0].replace(",", "")


def tasks_there(dask_scheduler: Any) -> list[str]:
    return [*dask_scheduler.tasks]


def test_an_interrupt_ends_what_is_waited_for(engine: OnDask, program: nessie.Program,
                                              monkeypatch: pytest.MonkeyPatch) -> None:
    """Tasks are cancelled, none is left at the scheduler but the code for the next call, which is as ever."""
    submit = engine.submit

    def submitted(name: str, function: Any, *arguments: Any, **named: Any) -> Any:
        if name == "K1_sweep-3":
            Timer(0.3, signal.raise_signal, [signal.SIGINT]).start()
            return submit(name, lambda *_: sleep(3))
        return submit(name, function, *arguments, **named)

    monkeypatch.setattr(engine, "submit", submitted)
    began = monotonic()
    with pytest.raises(KeyboardInterrupt):
        program.dotp(XS, YS)
    assert monotonic() - began < 10
    while left := {key for key in engine.client.run_on_scheduler(tasks_there) if not key.startswith("code-")}:
        assert monotonic() - began < 60, left
        gc.collect()
        sleep(0.1)
    monkeypatch.undo()
    monkeypatch.setattr(Target, "engine_of_cluster", lambda target: engine)
    assert bits(program.dotp(XS, YS)) == on_cpu("dotp")


def test_tasks_are_named_after_kernels(engine: OnDask, program: nessie.Program,
                                       monkeypatch: pytest.MonkeyPatch) -> None:
    keys = list[str]()
    submit = engine.client.submit

    def submitted(*arguments: Any, key: str, **named: Any) -> Any:
        keys.append(key)
        return submit(*arguments, key=key, **named)

    monkeypatch.setattr(engine.client, "submit", submitted)
    program.dotp(XS, YS)
    assert [key.split("-")[:2] for key in keys if key.startswith("K1_sweep-") and "told" not in key] == [
        ["K1_sweep", str(chunk)] for chunk in (0, 1, 3, 5)]


def test_a_part_that_kills_its_workers_is_told(engine: OnDask, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of files, too, where no kernel's slab can be named."""
    monkeypatch.setattr(engine, "cancel", lambda waiting: None)
    task = engine.submit("write-3", lambda given: 1)
    engine.gather([task])
    task._state.set_error(KilledWorker("write-3", None, 3), None)
    with pytest.raises(NessieError, match=r"the task write-3 has killed one worker after another\nhint: do workers"):
        engine.gather([task])


# Others -----------------------------------------------------------------------------------------


def stopped_within(seconds: float, tells: Any, given: list[Any]) -> bool:
    """Is what this task's code looks at set by then? It waits as a loop of a kernel does; a file tells it, too."""
    word = ctypes.c_int64.from_address(wanted.interrupt_address())
    until = monotonic() + seconds
    if tells:
        tells.touch()
    while not word.value and monotonic() < until:
        sleep(0.01)
    if tells:
        tells.write_text(str(bool(word.value)))
    return bool(word.value)


def test_an_interrupt_ends_nothing_of_others(engine: OnDask, tmp_path: Any, caplog: pytest.LogCaptureFixture) -> None:
    """Of two runs on the same workers, which other processes may have, one is given up; the other goes on."""
    all_there(engine)
    other, mine_ended = OnDask(engine.client), tmp_path / "mine"
    mine = engine.submit("mine", stopped_within, 600.0, mine_ended, run="a")
    theirs = other.submit("theirs", stopped_within, 1.0, None, run="b")

    def look(*_: Any) -> None:
        if mine_ended.exists():             # it has begun
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        engine.gather([mine], look)
    assert engine.gather([theirs, engine.submit("mine", stopped_within, 0.1, None, run="c")]) == [False, False]
    until = monotonic() + 120
    while not mine_ended.exists() or not mine_ended.read_text():
        assert monotonic() < until
        sleep(0.1)
    assert mine_ended.read_text() == "True"
    assert "never retrieved" not in caplog.text


def test_tasks_of_two_drivers_have_different_names(engine: OnDask) -> None:
    """In two processes, objects may lie at the same address."""
    first = OnDask(engine.client)
    names, at = {first.submit("a", len).key}, id(first)
    for _ in range(100):
        del first
        first = OnDask.__new__(OnDask)
        if id(first) == at:
            break
    first.__init__(engine.client)               # type: ignore[misc]
    names.add(first.submit("a", len).key)
    assert len(names) == 2


def patience(monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
    for name, lack in watch.LACKS.items():
        monkeypatch.setitem(watch.LACKS, name, replace(lack, seconds=seconds))


def looks() -> tuple[list[str], Wait]:
    """What waits, and what it is told that lacks."""
    lacks = list[str]()

    def look(done: int, of: int, lack: str) -> None:
        lacks.append(lack)

    return lacks, look


def test_workers_that_have_gone_are_waited_for(threads: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who starts others in time sees the run go on; else it is told what is not done, and for how long nobody was."""
    monkeypatch.setattr(watch, "STILL", 0.1)
    engine = connected(threads.scheduler_address)
    lacks, look = looks()
    try:
        threads.scale(0)
        wait_until("that all workers have gone", lambda: not engine.client.nthreads())
        task = engine.submit("write-3", len)
        Timer(1.0, threads.scale, [1]).start()
        assert engine.gather([task], look) == [0]
        assert f"the cluster has no workers; start some: dask worker {threads.scheduler_address}" in lacks
        patience(monkeypatch, 0.5)
        threads.scale(0)
        wait_until("that all workers have gone", lambda: not engine.client.nthreads())
        with pytest.raises(NessieError, match=r"for \d+ s now the cluster has no workers: the task "
                           r"write-4-.* is not done, and 1 more task waits\nhint: start some: dask worker tcp://127"):
            engine.gather([engine.submit("write-4", len), engine.submit("write-5", len)])
        made = Workers.__new__(Workers)
        made.engine, made.hands, made.told = engine, Hands(engine, "f"), ToldOfCluster()
        made.cpu = SimpleNamespace(interrupted=False, program=SimpleNamespace(kernels=[]))    # type: ignore[assignment]
        with pytest.raises(NessieError, match=r"no workers: the slab of K2 sweep from chunk 31 on is not"):
            made.gather([made.submit("K2_sweep-31-told", len)], "K2", "K2_sweep")
    finally:
        engine.close()


def test_tasks_that_no_worker_may_do_are_told(engine: OnDask, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who has seen the file they read has gone; what needs them waits, too."""
    monkeypatch.setattr(watch, "STILL", 0.1)
    patience(monkeypatch, 0.5)
    read = engine.submit("read-3", len, on=frozenset({"tcp://127.0.0.1:1"}))
    with pytest.raises(NessieError, match=r"for \d+ s now the cluster has no worker that sees a file it "
                       r"reads: the task sum-4-.* is not done\nhint: start some: dask worker tcp://127"):
        engine.gather([engine.submit("sum-4", sum, given=[read])])


def test_workers_that_have_paused_are_told(threads: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Dask lets those whose memory is full begin nothing; it may be free again."""
    monkeypatch.setattr(watch, "STILL", 0.1)
    engine = connected(threads.scheduler_address)
    lacks, look = looks()
    try:
        engine.client.run(now, "paused")
        Timer(1.0, engine.client.run, [now, "running"]).start()
        assert engine.gather([engine.submit("write-3", len)], look) == [0]
        assert "all workers have paused, since their memory is full; start some: dask worker " in str(lacks)
        patience(monkeypatch, 0.5)
        engine.client.run(now, "paused")
        with pytest.raises(NessieError, match=r"for \d+ s now all workers have paused, since their memory is full"):
            engine.gather([engine.submit("sum-4", sum, given=[engine.submit("write-4", len)])])
    finally:
        engine.close()


def now(status: str, dask_worker: Any) -> None:
    dask_worker.status = Status[status]


def test_engines_in_this_process_share_its_memory() -> None:
    engine = InProcess(2)
    task = engine.submit("double", lambda given: [2 * given[0]], given=[engine.submit("one", lambda given: 1)])
    assert (engine.gather([task]), engine.names, engine.workers()) == ([[2]], ["one", "double"], 2)
    engine.close()
    assert engine.names == []
