"""Dask's workers, two processes on this machine: the CPU target's bits, whoever dies; errors say what and where."""
from __future__ import annotations

import ctypes
import gc
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from threading import Timer
from time import monotonic, sleep
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import nessie
from nessie.base.source import NessieError, Unsupported
from nessie.base.system.memory import MemoryBudget
from nessie.base.system.own_files import digests
from nessie.base.system.seen_files import is_there, look
from nessie.base.types import FLOAT, Seq, no_datatypes
from nessie.base.values import Flat, Nested
from nessie.cudagen.cluster import device, on_dask, tasks
from nessie.cudagen.cluster.engine import InProcess, Interrupted
from nessie.cudagen.cluster.files.hands import Hands
from nessie.cudagen.cluster.on_dask import OnDask, connected, started
from nessie.cudagen.cluster.processes import own_workers
from nessie.cudagen.cluster.processes.fitness import alike, described_here, fit, refuse
from nessie.cudagen.cluster.slabs import InFile
from nessie.cudagen.cluster.tasks import Given
from nessie.cudagen.cluster.workers import ToldOfCluster, Workers
from nessie.cudagen.cpu.machine_code import features
from nessie.files import arrow_format, written_by_workers
from nessie.files.files import open_file, write_value
from nessie.files.written_by_workers import brought
from nessie.running.targets import Target

psutil = pytest.importorskip("psutil")
KilledWorker = pytest.importorskip("distributed.scheduler").KilledWorker

TEXT = """
function dotp(xs, ys) = sum({x * y : x in xs; y in ys});
function norm2(xs) = let s = sum(xs); p = sum({x in xs | x > 0.0}) in ({x / s : x in xs}, {x / p : x in xs});
function segment_sums(m) = {sum(row) : row in m};
function positive_sums(m) = {sum({x in row | x > 0.0}) : row in m};
function spmv(m, v) = {sum({a * v[j] : (j, a) in row}) : row in m};
function scan(xs) = plus_scan(xs);
function positive(xs) = {x in xs | x > 0.0};
function gather(xs, is) = xs -> is;
function positive_rows(m) = {{x in row | x > 0.0} : row in m};
function row_scans(m) = {plus_scan(row) : row in m};
function scatter(xs, is) = xs <- {(i, x * 2.0) : i in is; x in xs};
function sorted(xs) = sort(xs);
function quicksort(a) =
  if #a < 2 then a
  else let p = a[#a / 2];
    lesser = {e in a | e < p}; equal = {e in a | e == p}; greater = {e in a | e > p};
    parts = {quicksort(v) : v in [lesser, greater]}
  in parts[0] ++ equal ++ parts[1];
"""
N = 200_000
RANDOM = np.random.default_rng(1)
XS, YS, PLACES = RANDOM.standard_normal(N), RANDOM.standard_normal(N), RANDOM.integers(0, N, N)
LENGTHS = RANDOM.integers(0, 20, N // 10)
LENGTHS[7], LENGTHS[50:60] = N // 5, 0
OFFSETS = np.concatenate([[0], np.cumsum(LENGTHS)])
ROWS = nessie.Nested(OFFSETS, RANDOM.standard_normal(OFFSETS[-1]))
ENTRIES = nessie.Tuples(RANDOM.integers(0, 5000, OFFSETS[-1]), RANDOM.standard_normal(OFFSETS[-1]))
MATRIX = nessie.Nested(OFFSETS, ENTRIES)
CALLS: dict[str, tuple[Any, ...]] = {
    "dotp": (XS, YS), "norm2": (XS,), "segment_sums": (ROWS,), "positive_sums": (ROWS,), "spmv": (MATRIX, YS[:5000]),
    "scan": (XS,), "positive": (XS,), "gather": (XS, PLACES), "positive_rows": (ROWS,), "row_scans": (ROWS,),
    "scatter": (XS, PLACES), "sorted": (XS,), "quicksort": (XS[:6000],)}


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
    engine.client.wait_for_workers(2)           # whoever was killed is back
    return nessie.compile(TEXT, target="dask")


def bits(value: Any) -> bytes:
    match value:
        case tuple():
            return b"|".join(map(bits, value))
        case nessie.Nested():
            return bits(value.offsets) + bits(value.content)
    return np.asarray(value).tobytes()


def on_cpu(name: str) -> bytes:
    return bits(nessie.compile(TEXT)[name](*CALLS[name]))


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


def at_task(engine: OnDask, begins: str, does: Callable[[], Any], monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Do this once, after the first task is submitted whose name begins so; the names of the tasks that did it."""
    submit, done = engine.submit, list[str]()

    def submitted(name: str, *arguments: Any, **named: Any) -> Any:
        task = submit(name, *arguments, **named)
        if name.startswith(begins) and not done:
            done.append(name)
            does()
        return task

    monkeypatch.setattr(engine, "submit", submitted)
    return done


@pytest.mark.parametrize("name, moment", [
    ("positive", "K1_summary"), ("positive", "K1_sweep"), ("scatter", "K1_bucket")])
def test_a_worker_that_is_killed_changes_nothing(name: str, moment: str, engine: OnDask, program: nessie.Program,
                                                 monkeypatch: pytest.MonkeyPatch) -> None:
    """While totals are summed, while the sweep runs, and while elements move to others."""
    pids = list(engine.client.run(os.getpid).values())
    done = at_task(engine, moment, lambda: os.kill(pids[0], signal.SIGKILL), monkeypatch)
    assert bits(program[name](*CALLS[name])) == on_cpu(name)
    assert len(done) == 1
    engine.client.wait_for_workers(2)
    assert pids[0] not in engine.client.run(os.getpid).values()


def test_a_result_that_is_lost_is_waited_for(engine: OnDask) -> None:
    """Its worker has died after the task was done, which is done once more: that is no failure."""
    lost, other = engine.submit("lost", lambda given: 1), engine.submit("other", lambda given: 2)
    assert engine.gather([lost, other]) == [1, 2]
    looks = list[int]()
    lost._state.lose()

    def look(done: int, of: int, lacks: str) -> bool:
        looks.append(done)
        if len(looks) == 2:
            engine.client.loop.asyncio_loop.call_soon_threadsafe(lost._state.finish)        # it is done again
        return False

    assert engine.gather([lost, other], look) == [1, 2]
    assert looks[:2] == [1, 1]


def test_a_slab_that_kills_its_workers_is_told(engine: OnDask, program: nessie.Program,
                                               monkeypatch: pytest.MonkeyPatch) -> None:
    submit = engine.submit

    def submitted(name: str, function: Any, *arguments: Any, **named: Any) -> Any:
        if name == "K1_sweep-3":
            return submit(name, lambda *_: os._exit(1))
        return submit(name, function, *arguments, **named)

    monkeypatch.setattr(engine, "submit", submitted)
    engine.client.run_on_scheduler(lambda dask_scheduler: setattr(dask_scheduler, "allowed_failures", 1))
    with pytest.raises(NessieError) as error:
        program.dotp(XS, YS)
    assert "the slab of K1 sweep from chunk 3 on has killed one worker after another" in str(error.value)
    assert "function dotp(xs, ys)" in str(error.value)
    assert "do workers have memory enough for it?" in str(error.value)
    engine.client.wait_for_workers(2)


def test_a_part_of_a_file_whose_writing_kills_workers_is_told(
        engine: OnDask, tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    submit = engine.submit

    def submitted(name: str, function: Any, *arguments: Any, **named: Any) -> Any:
        return submit(name, (lambda *_: os._exit(1)) if name == "write-1" else function, *arguments, **named)

    monkeypatch.setattr(engine, "submit", submitted)
    monkeypatch.setattr(written_by_workers, "BYTES", 8 * 1000)
    engine.client.run_on_scheduler(lambda dask_scheduler: setattr(dask_scheduler, "allowed_failures", 1))
    engine.client.wait_for_workers(2)           # whoever was killed is back
    hands = Hands(engine)
    there = hands.in_file(np.arange(3000.0))
    assert there is not None
    with pytest.raises(NessieError) as error:
        write_value(str(tmp_path / "out.parquet"), Flat(3000, there), Seq(FLOAT), hands=lambda: hands)
    path = tmp_path / "out.parquet" / "part-00001.parquet"
    assert f"writing {path} (rows 1000 to 1999) has killed one worker after another" in str(error.value)
    engine.client.wait_for_workers(2)


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


def test_a_mapped_file_is_read_by_workers(engine: OnDask, program: nessie.Program, monkeypatch: pytest.MonkeyPatch,
                                          tmp_path: Any) -> None:
    """Each reads its part, of the array and of a part of it; nothing is copied to another file."""
    np.save(tmp_path / "xs.npy", XS)
    mapped = np.load(tmp_path / "xs.npy", mmap_mode="r")
    paths = list[str]()
    submit = engine.submit

    def submitted(name: str, function: Any, *arguments: Any, given: Any = (), **named: Any) -> Any:
        paths.extend([part.place.path for part in given if isinstance(part, InFile)])
        return submit(name, function, *arguments, given=given, **named)

    monkeypatch.setattr(engine, "submit", submitted)
    assert bits(program.positive(mapped)) == on_cpu("positive")
    assert bits(program.positive(mapped[50_000:])) == bits(nessie.compile(TEXT).positive(XS[50_000:]))
    assert set(paths) == {str(tmp_path / "xs.npy")}


def test_tables_are_written_and_read_by_workers(engine: OnDask, tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pyarrow")
    monkeypatch.setattr(written_by_workers, "BYTES", 1 << 18)
    monkeypatch.setattr(arrow_format, "LARGE", 0)
    names = list[str]()
    submit = engine.submit

    def submitted(name: str, *arguments: Any, **named: Any) -> Any:
        names.append(name.partition("-")[0])
        return submit(name, *arguments, **named)

    monkeypatch.setattr(engine, "submit", submitted)
    path, type_, rows = str(tmp_path / "rows.parquet"), Seq(Seq(FLOAT)), 10_000
    given = Flat(rows, Nested(OFFSETS[:rows + 1], ROWS.content[:OFFSETS[rows]]))
    hands = Hands(engine)
    write_value(path, given, type_, hands=lambda: hands)
    parts = len(os.listdir(path))
    found = brought(hands, open_file(path, MemoryBudget(1000), lambda: hands).made(type_, no_datatypes))
    assert parts > 2
    assert [names.count(name) for name in ("write", "read")] == [parts, parts]
    assert bits(nessie.Nested(found.column.offsets, found.column.content)) == bits(
        nessie.Nested(given.column.offsets, given.column.content))


def seen_by(some: Callable[[list[str]], list[str]], engine: OnDask, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Of these workers, who are returned, each says that it sees a file; the others say no."""
    run, seers = engine.client.run, some(sorted(engine.there))

    def asked(function: Any, *arguments: Any, workers: Any = None, **named: Any) -> Any:
        found = run(function, *arguments, workers=workers, **named)
        return {worker: said and worker in seers for worker, said in found.items()} if function is is_there else found

    monkeypatch.setattr(engine.client, "run", asked)
    monkeypatch.setattr(engine, "sight", {})
    return seers


def test_who_sees_a_file_reads_it(engine: OnDask, program: nessie.Program, monkeypatch: pytest.MonkeyPatch,
                                  tmp_path: Any) -> None:
    """If not all workers do; what they have read goes to others as anything does."""
    np.save(tmp_path / "xs.npy", XS)
    engine.workers()
    (seer,) = seen_by(lambda there: there[:1], engine, monkeypatch)
    slabs = Hands(engine).lying(np.load(tmp_path / "xs.npy", mmap_mode="r"), [(0, 1000), (1000, N)])
    values = engine.gather([slab.task for slab in slabs])
    assert np.array_equal(np.concatenate([value[""] for value in values]), XS)
    assert {*engine.client.who_has([slab.task for slab in slabs]).values()} == {(seer,)}
    assert bits(program.positive(np.load(tmp_path / "xs.npy", mmap_mode="r"))) == on_cpu("positive")


def test_what_is_known_of_a_file_goes_with_it(engine: OnDask, tmp_path: Any) -> None:
    """A driver that reads many files in a long time does not keep what workers said of each."""
    (tmp_path / "one").write_text("1")
    engine.workers()
    file = look(str(tmp_path / "one"))
    assert file is not None
    assert engine.sees(file) is None
    assert file in engine.sight
    path = file.path
    del file
    gc.collect()
    assert path not in [other.path for other in engine.sight]


def test_a_file_that_no_worker_sees_goes_through_the_driver(engine: OnDask, program: nessie.Program, tmp_path: Any,
                                                            monkeypatch: pytest.MonkeyPatch) -> None:
    """And so do arrays, for which the driver makes files where workers see them."""
    np.save(tmp_path / "xs.npy", XS)
    engine.workers()
    seen_by(lambda there: [], engine, monkeypatch)
    hands = Hands(engine)
    assert not hands.lying(np.load(tmp_path / "xs.npy", mmap_mode="r"), [(0, N)])
    assert not hands.lying(XS, [(0, N)])
    assert bits(program.positive(np.load(tmp_path / "xs.npy", mmap_mode="r"))) == on_cpu("positive")


def test_a_worker_that_joins_later_and_does_not_see_a_file_gets_no_task_of_it(engine: OnDask, tmp_path: Any,
                                                                             monkeypatch: pytest.MonkeyPatch) -> None:
    np.save(tmp_path / "xs.npy", XS)
    engine.workers()
    there, on = sorted(engine.there), list[Any]()
    monkeypatch.setattr(engine, "threads", lambda: 2)
    hands = Hands(engine)
    slabs = hands.lying(np.load(tmp_path / "xs.npy", mmap_mode="r"), [(0, N)])
    monkeypatch.setattr(engine, "submit", lambda *arguments, on, **named: SimpleNamespace(on=on))
    monkeypatch.setattr(engine.client, "run", lambda *arguments, workers, **named: dict.fromkeys(workers, False))
    given: list[Any] = []
    part = hands.part(hands.array("float", []), 0, 0, given)
    on.append(hands.submit("pick", tasks.picked, part, None, given=[slab.task for slab in slabs]).on)
    engine.there = {*there, "late"}
    on.append(hands.submit("pick", tasks.picked, part, None, given=[slab.task for slab in slabs]).on)
    engine.there = {"late"}
    with pytest.raises(NessieError, match=r"no worker is left that sees .*xs\.npy"):
        hands.submit("pick", tasks.picked, part, None, given=[slab.task for slab in slabs])
    assert on == [None, frozenset(there)]


def test_a_file_that_changes_while_it_is_read_is_told(engine: OnDask, program: nessie.Program, tmp_path: Any,
                                                      monkeypatch: pytest.MonkeyPatch) -> None:
    np.save(tmp_path / "xs.npy", XS)
    mapped = np.load(tmp_path / "xs.npy", mmap_mode="r")

    def change() -> None:
        np.save(tmp_path / "new.npy", YS)
        os.replace(tmp_path / "new.npy", tmp_path / "xs.npy")

    done = at_task(engine, "K1_summary", change, monkeypatch)
    with pytest.raises(NessieError, match=r"xs\.npy is not what it was when it was opened: it has changed"):
        program.positive(mapped)
    assert len(done) == 1
    assert bits(program.positive(mapped)) == on_cpu("positive")         # what is mapped here is the old one


def test_files_for_arrays_go_with_what_needs_them(engine: OnDask, tmp_path: Any) -> None:
    """An argument's, and tasks' that would be done again from it."""
    hands = Hands(engine)
    (slab,) = hands.lying(XS, [(0, N)])
    path = slab.task.place.path
    task = hands.submit("pick", tasks.picked, Given("float", 0, N, [(0, N, 0, "", 0)]), None, given=[slab.task])
    other = hands.submit("same", tasks.whole, Given("float", 0, 0, ()), given=[task])
    assert np.array_equal(engine.gather([task])[0], XS)
    del slab, task
    gc.collect()
    assert os.path.exists(path)
    del other
    gc.collect()
    assert not os.path.exists(path)


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
    word = ctypes.c_int64.from_address(tasks.interrupt_address())
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
    engine.client.wait_for_workers(2)
    other, mine_ended = OnDask(engine.client), tmp_path / "mine"
    mine = engine.submit("mine", stopped_within, 600.0, mine_ended, run="a")
    theirs = other.submit("theirs", stopped_within, 1.0, None, run="b")
    with pytest.raises(Interrupted):
        engine.gather([mine], lambda *_: mine_ended.exists())          # it has begun
    assert engine.gather([theirs, engine.submit("mine", stopped_within, 0.1, None, run="c")]) == [False, False]
    until = monotonic() + 120
    while not mine_ended.exists() or not mine_ended.read_text():
        assert monotonic() < until
        sleep(0.1)
    assert mine_ended.read_text() == "True"
    assert "never retrieved" not in caplog.text


def test_a_run_that_is_stopped_begins_nothing_any_more() -> None:
    assert not tasks.of_run(alike(), "d", stopped_within, 0.0, None, [])
    tasks.stop("d")
    assert tasks.of_run(alike(), "d", stopped_within, 0.0, None, [])
    assert not tasks.of_run(alike(), "e", stopped_within, 0.0, None, [])


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


@pytest.fixture
def threads() -> Iterator[Any]:
    """A cluster in this process, whose workers come and go at once."""
    from distributed import LocalCluster
    with LocalCluster(n_workers=1, threads_per_worker=1, processes=False, protocol="tcp", host="127.0.0.1",
                      dashboard_address=None) as cluster:
        yield cluster


def test_workers_that_have_gone_are_waited_for(threads: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who starts others in time sees the run go on; else it is told what is not done, and for how long nobody was."""
    monkeypatch.setattr(on_dask, "STILL", 0.1)
    engine = connected(threads.scheduler_address)
    lacks = list[str]()

    def look(done: int, of: int, lack: str) -> bool:
        lacks.append(lack)
        return False

    try:
        threads.scale(0)
        while engine.client.nthreads():
            sleep(0.1)
        task = engine.submit("write-3", len)
        Timer(1.0, threads.scale, [1]).start()
        assert engine.gather([task], look) == [0]
        assert f"no workers are left; start some: dask worker {threads.scheduler_address}" in lacks
        monkeypatch.setattr(on_dask, "ALONE", 0.5)
        threads.scale(0)
        while engine.client.nthreads():
            sleep(0.1)
        with pytest.raises(NessieError, match=r"the cluster has had no workers for \d+ s; the task write-4-.* and 1 "
                           r"more tasks cannot be done\nhint: start some: dask worker tcp://127"):
            engine.gather([engine.submit("write-4", len), engine.submit("write-5", len)])
        made = Workers.__new__(Workers)
        made.engine, made.hands, made.told = engine, Hands(engine, "f"), ToldOfCluster()
        made.cpu = SimpleNamespace(interrupted=False, program=SimpleNamespace(kernels=[]))    # type: ignore[assignment]
        with pytest.raises(NessieError, match=r"no workers for \d+ s: the slab of K2 sweep from chunk 31 on is not"):
            made.gather([made.submit("K2_sweep-31-told", len)], "K2", "K2_sweep")
    finally:
        engine.close()


# The end ----------------------------------------------------------------------------------------


DOUBLE, MANY = "function double(xs) = {2 * x : x in xs};", np.arange(3_000_000)


def test_workers_end_with_the_programs_that_share_them() -> None:
    """By close, `with`, and when nobody has the program any more; a call after close is an error."""
    with nessie.compile(DOUBLE, target="dask", workers=1) as program:
        assert program.double(MANY)[-1] == 5_999_998
        other = nessie.compile(DOUBLE, target="dask", workers=1)
        assert other.double(MANY)[-1] == 5_999_998
        (engine,) = [engine for name, engine in on_dask._shared.items() if name == 1]
        assert engine.users == 2
    assert engine.runs
    other.close()
    assert not engine.runs
    assert engine.own is not None
    assert engine.own.process.poll() is not None
    for closed in (program, other):
        with pytest.raises(NessieError, match="the program is closed, and has no workers any more"):
            closed.double(MANY)
    assert 1 not in on_dask._shared
    other = nessie.compile(DOUBLE, target="dask", workers=1)
    assert other.double(MANY)[-1] == 5_999_998
    process = on_dask._shared[1].own.process        # type: ignore[union-attr]
    del other
    gc.collect()
    process.wait(60)
    assert 1 not in on_dask._shared


SCRIPT = """
import nessie, numpy as np
program = nessie.compile("function double(xs) = {2 * x : x in xs};", target="dask", workers=1)
print(program.double(np.arange(3_000_000))[-1])
"""
IN_A_LOOP = """
import asyncio
async def main():
    exec(text)
asyncio.run(main())
"""


@pytest.mark.parametrize("text", [SCRIPT, f"text = {SCRIPT!r}\n{IN_A_LOOP}"], ids=["no guard", "in a loop that runs"])
def test_scripts_need_nothing_around_them(text: str, tmp_path: Any) -> None:
    """Workers do not run the script of who has started them, and say nothing when it ends."""
    (tmp_path / "script.py").write_text(text)
    found = subprocess.run([sys.executable, tmp_path / "script.py"], capture_output=True, text=True, check=False)
    assert (found.returncode, found.stdout, found.stderr) == (0, "5999998\n", "")


def test_a_page_that_does_not_answer_is_told(engine: OnDask, monkeypatch: pytest.MonkeyPatch) -> None:
    link, client = engine.dashboard, type(engine.client)
    assert link == engine.client.dashboard_link
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        nobody = f"http://127.0.0.1:{free.getsockname()[1]}/status"
    for page in (nobody, link.replace("/status", "/none")):
        monkeypatch.setattr(client, "dashboard_link", page)
        assert engine.dashboard == f"{page}, which does not answer here; a scheduler may have none (--no-dashboard)"


def test_a_client_that_is_closed_is_refused(engine: OnDask, tmp_path: Any) -> None:
    from distributed import Client
    client = Client(engine.address, set_as_default=False)
    client.close()
    program = nessie.compile(DOUBLE, target="dask", cluster=client)
    np.save(tmp_path / "xs.npy", np.arange(3))
    for call in (lambda: program.double(MANY),
                 lambda: program.double.map_partitions(str(tmp_path / "xs.npy"), cluster=client)):
        with pytest.raises(NessieError, match="the client of Dask is closed, and can ask no workers"):
            list(call())


def test_workers_end_with_a_process_that_is_killed(tmp_path: Any) -> None:
    text = (f"{SCRIPT}\nfrom nessie.cudagen.cluster import on_dask\nengine = on_dask._shared[1]\n"
            "print(engine.own.process.pid, *engine.client.run(__import__('os').getpid).values(), flush=True)\n"
            "__import__('time').sleep(600)")
    with subprocess.Popen([sys.executable, "-c", text], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        process.stdout.readline()
        left = [int(pid) for pid in process.stdout.readline().split()]
        assert len(left) == 2
        process.kill()
    until = monotonic() + 120
    while any(psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE for pid in left):
        assert monotonic() < until
        sleep(0.1)


def test_workers_that_do_not_start_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(own_workers, "BEGIN", "raise OSError('no room')")
    with pytest.raises(NessieError, match="workers on this machine do not start: OSError: no room"):
        started(3)


# What is refused --------------------------------------------------------------------------------


def test_a_cluster_that_does_not_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(on_dask, "PATIENCE", 0.5)
    with pytest.raises(NessieError, match=r"no cluster answers at tcp://127\.0\.0\.1:9: .*\nhint: a scheduler tells"):
        connected("tcp://127.0.0.1:9")
    with pytest.raises(NessieError, match=r"no cluster answers at localhost: missing port"):
        connected("localhost")


def test_a_client_of_a_cluster_that_is_refused_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    closed = []

    class Client:
        def __init__(self, *_: Any, **__: Any) -> None:
            """It is connected."""

        def run(self, *_: Any, **__: Any) -> dict[str, Any]:
            return {}

        def run_on_scheduler(self, function: Callable[[], Any]) -> Any:
            return function()

        def scheduler_info(self) -> dict[str, Any]:
            return {"address": "tcp://here:1"}

        def close(self) -> None:
            closed.append(self)

    monkeypatch.setattr(on_dask, "silence", lambda address: "")
    monkeypatch.setattr(on_dask, "of_distributed", lambda name: Client)
    with pytest.raises(NessieError, match="the cluster at tcp://here:1 has no workers"):
        connected("tcp://here:1")
    assert len(closed) == 1


def refused(there: dict[str, Any], files: dict[str, str] | None = None, scheduler: bool = False) -> str:
    """What is said of a worker that has this, or of a scheduler, where all else is fit."""
    class Client:
        def run_on_scheduler(self, function: Callable[[], Any]) -> Any:
            return self.of(function) if scheduler else function()

        def run(self, function: Callable[[], Any], workers: Any = None, on_error: str = "") -> dict[str, Any]:
            return {"w0": function(), "w1": function() if scheduler else self.of(function)}

        def of(self, function: Callable[[], Any]) -> Any:
            return there if function is described_here else files

    with pytest.raises(NessieError) as error:
        fit(Client())
    return str(error.value)


def test_a_scheduler_has_nessie() -> None:
    class Client:
        def run_on_scheduler(self, *_: Any) -> dict[str, Any]:
            raise ModuleNotFoundError("No module named 'nessie'")

    with pytest.raises(NessieError, match="the scheduler of the cluster has no Nessie, or another one: No module"):
        fit(Client())


def test_a_server_of_something_else_is_no_cluster(monkeypatch: pytest.MonkeyPatch) -> None:
    """A client of Dask's would wait for it for ever."""
    monkeypatch.setattr(on_dask, "PATIENCE", 0.5)
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        with pytest.raises(NessieError, match=rf"no cluster answers at tcp://127\.0\.0\.1:{port}: "):
            connected(f"tcp://127.0.0.1:{port}")
    with pytest.raises(NessieError, match="a cluster is an address, such as tcp://host:8786, or a client of Dask, not"):
        nessie.compile(TEXT, target="dask", cluster=7).dotp(XS, YS)


@pytest.mark.parametrize("what, there, message", [
    ("nessie", "0.0.1", "another Nessie: 0.0.1, and this is"),
    ("python", "3.9.1", "another Python: 3.9.1, and this is"),
    ("numpy", "1.9", "another NumPy: 1.9, and this is"),
    ("system", "Plan9 vax", "another system: Plan9 vax, and this is")])
@pytest.mark.parametrize("scheduler", [True, False])
def test_who_is_not_alike_is_refused(scheduler: bool, what: str, there: Any, message: str) -> None:
    who = "the scheduler" if scheduler else "the worker at w1"
    assert f"{who} has {message}" in refused({**described_here(), what: there}, scheduler=scheduler)


def test_who_computes_has_a_processor_that_can() -> None:
    there = {**described_here(), "features": frozenset()}
    assert "the processor of the worker at w1 lacks what code for this one uses: " in refused(there)
    refuse("the scheduler", there, dict, computes=False)


def test_who_has_other_code_is_refused() -> None:
    """Of a checkout that has changed since the worker or the scheduler began, the version says nothing."""
    files = {**digests(), "nessie/new.py": "1", "nessie/cudagen/cluster/tasks.py": "2"}
    del files["nessie/cudagen/cluster/slabs.py"]
    said = ("runs other code of the same version of Nessie: nessie/cudagen/cluster/slabs.py, nessie/cudagen/cluster/"
            "tasks.py, nessie/new.py\nhint: install the same Nessie there, and start it again, since it keeps what it "
            "has loaded")
    there = {**described_here(), "code": "3"}
    assert refused(there, files) == f"error: the worker at w1 {said}"
    assert refused(there, files, scheduler=True) == f"error: the scheduler {said}"


JOINS = """
import sys
{before}
from distributed.cli.dask_worker import main
main(sys.argv[1:])
"""


@pytest.mark.parametrize("before, message", [
    ("sys.modules['nessie'] = None", "of the cluster has no Nessie, or another one: "),
    ("from nessie.base.system import own_files as f; here = f.digests(); f.digests = lambda: here | {'new.py': '1'}",
     r"runs other code of the same version of Nessie: new\.py\n"),
    ("from nessie.cudagen.cpu import machine_code; machine_code.features = frozenset",
     "lacks what code for this one uses: ")])
def test_who_joins_later_and_is_not_fit_is_named(before: str, message: str, engine: OnDask, tmp_path: Any) -> None:
    """Though Dask gives it tasks before the driver knows of it. Without Nessie, it ends when it gets some."""
    engine.client.wait_for_workers(2)
    engine.workers()
    command = [sys.executable, "-c", JOINS.format(before=before), engine.client.scheduler_info()["address"],
               "--no-nanny", "--no-dashboard", "--nthreads", "1", "--name", "late", "--local-directory", tmp_path]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as process:
        try:
            until = monotonic() + 60
            while not (late := {*engine.client.nthreads()} - engine.known):
                assert monotonic() < until
                sleep(0.1)
            code = tasks.Code("none", b"", (), features())
            with pytest.raises(NessieError, match=f"the (processor of the )?worker at {min(late)} {message}"):
                if "None" in before:
                    engine.workers()
                else:
                    engine.gather([engine.submit("late", tasks.run_chunks, SimpleNamespace(function=""), given=[code],
                                                 on=frozenset(late))])
        finally:
            process.terminate()
    while late & {*engine.client.nthreads()}:
        sleep(0.1)


def test_a_task_refuses_to_be_done_by_who_is_not_fit() -> None:
    with pytest.raises(NessieError, match="has another Nessie, Python or NumPy than the driver\nhint: install"):
        tasks.of_run(f"{alike()}, changed", "f", len, [])
    with pytest.raises(NessieError, match="the processor of a worker that has joined the cluster lacks what"):
        tasks.functions_of(tasks.Code("for wings", b"", (), features() | {"wings"}))


@pytest.mark.slow
def test_a_scheduler_that_has_gone_is_told(threads: Any) -> None:
    engine = connected(threads.scheduler_address)
    try:
        threads.close()
        with pytest.raises(NessieError, match=f"the scheduler of the cluster at {engine.address} has gone\nhint: "):
            engine.workers()
    finally:
        engine.close()


def test_without_dask_it_is_told_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(Unsupported, match=r"is not installed\nhint: in a clone of Nessie: pip install '\.\[dask\]'"):
        started(1)


def test_nothing_loads_dask_without_need() -> None:
    text = ("import sys, nessie, nessie.cudagen.cluster.device\n"
            "nessie.compile('function more(x) = x + 1;').more(1)\n"
            "assert not {'dask', 'distributed'} & set(sys.modules)")
    subprocess.run([sys.executable, "-c", text], check=True)


def test_the_tool_runs_programs_on_workers(tmp_path: Any) -> None:
    path = tmp_path / "sums.nesl"
    path.write_text("sum({x * x : x in [0:3000000]});\n")
    command = [sys.executable, "-m", "nessie", "run", str(path), "--target", "dask", "--workers", "1", "--dashboard"]
    found = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (found.returncode, found.stdout) == (0, "it = 8999995500000500000 : int\n"), found.stderr
    assert found.stderr.startswith("Dask's dashboard: http://127.0.0.1:")


def test_options_of_another_target_are_refused() -> None:
    for options, message in ((["--workers", "2"], "--workers is an option of the target dask"),
                             (["--target", "dask", "--workers", "2", "--cluster", "tcp://a:1"],
                              "--workers starts workers on this machine")):
        found = subprocess.run([sys.executable, "-m", "nessie", "eval", "1;", *options], capture_output=True, text=True,
                               check=False)
        assert found.returncode
        assert message in found.stderr
    with pytest.raises(NessieError, match="workers are started on this machine"):
        nessie.compile(TEXT, target="dask", workers=2, cluster="tcp://a:1")


def test_engines_in_this_process_share_its_memory() -> None:
    engine = InProcess(2)
    task = engine.submit("double", lambda given: [2 * given[0]], given=[engine.submit("one", lambda given: 1)])
    assert (engine.gather([task]), engine.names, engine.workers()) == ([[2]], ["one", "double"], 2)
    engine.close()
    assert engine.names == []
