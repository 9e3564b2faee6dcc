"""Functions on parts of files by workers: what they do after an interrupt, a failure, or when nobody wants the rest."""
from __future__ import annotations

import gc
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from threading import Timer
from time import monotonic, sleep
from typing import Any

import numpy as np
import pytest
from processes import finished

import nessie
from nessie.base.source import NessieError
from nessie.cudagen.cluster import on_dask
from nessie.cudagen.cluster.engine import Does, Doing, InProcess, Wait, deserted, died, quiet
from nessie.files.partitions import partitions

pytest.importorskip("distributed")

TEXT = """
greeting = print_string("hello");
known = get_environment_variable("NESSIE_KNOWN");
function doubled(xs) = {2.0 * x : x in xs};
function grown(xs) = {x + float(#known) : x in xs};
function turns(x) = if x < 0.0 then x else turns(x + 0.0);
function turned(xs) = {turns(x) : x in xs};
function small(xs) = {if x < 250.0 then x else xs[-1] : x in xs};
"""
PARTS, ROWS = 4, 100


class Recorded(InProcess):
    """Tasks in this process. `cancelled`: how many were given up; `starts`, `ends`: how often it was asked for, and
    closed."""
    cancelled = starts = ends = 0

    def started(self, workers: int) -> Recorded:
        self.starts += 1
        return self

    def cancel(self, waiting: Sequence[Any]) -> None:
        self.cancelled += len(waiting)

    def close(self) -> None:
        self.ends += 1


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file of some parts."""
    monkeypatch.setattr(partitions, "BYTES", 8 * ROWS)
    np.save(tmp_path / "xs.npy", np.arange(float(PARTS * ROWS)))
    return tmp_path / "xs.npy"


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> Recorded:
    """What stands for workers on this machine."""
    found = Recorded()
    monkeypatch.setattr(on_dask, "started", found.started)
    return found


@pytest.fixture(scope="module")
def workers() -> Iterator[on_dask.OnDask]:
    """Two processes."""
    found = on_dask.started(2)
    yield found
    found.close()


def test_workers_are_asked_for_when_results_are(path: Path, engine: Recorded) -> None:
    """Who wants no result has no workers; who wants no more gives up what they do."""
    program = nessie.compile(TEXT)
    program.doubled.map_partitions(path, workers=2)
    gc.collect()
    assert engine.starts == 0
    results = program.doubled.map_partitions(path, workers=2)
    assert next(results).tolist() == [2.0 * x for x in range(ROWS)]
    del results
    gc.collect()
    until = monotonic() + 60
    while not engine.ends and monotonic() < until:          # by another thread
        sleep(0.01)
    assert (len(engine.names), engine.cancelled, engine.starts, engine.ends) == (1 + PARTS, PARTS - 1, 1, 1)
    assert len(list(program.doubled.map_partitions(path, workers=2))) == PARTS
    assert (engine.cancelled, engine.starts, engine.ends) == (PARTS - 1, 2, 2)


def test_only_the_driver_evaluates_the_program(path: Path, engine: Recorded, monkeypatch: pytest.MonkeyPatch,
                                               capsys: pytest.CaptureFixture[str]) -> None:
    """Workers have its values, whatever they would be there."""
    monkeypatch.setenv("NESSIE_KNOWN", "four")
    program = nessie.compile(TEXT)
    monkeypatch.setenv("NESSIE_KNOWN", "seven..")
    found = list(program.grown.map_partitions(path, workers=2))
    assert np.concatenate(found).tolist() == [x + 4.0 for x in range(PARTS * ROWS)]
    assert capsys.readouterr().out == "hello\n"


def test_workers_have_the_files_that_the_driver_has_loaded(path: Path, engine: Recorded, tmp_path: Path,
                                                           monkeypatch: pytest.MonkeyPatch) -> None:
    """As they were then: they have changed, or are not there."""
    monkeypatch.chdir(tmp_path)
    Path("three.nesl").write_text("function three(x) = 3.0 * x;")
    Path("more.nesl").write_text('load "three"; function more(x) = three(x) + 1.0;')
    Path("most.nesl").write_text("function most(x) = more(x) + 1.0;")
    program = nessie.compile('load "more.nesl"; load "most.nesl"; function all(xs) = {most(x) : x in xs};')
    program.define('load "three"; function thrice(xs) = {three(x) : x in xs};')
    for name, text in (("three.nesl", "function three(x) = 0.0;"), ("more.nesl", "function more(x) = 0.0;")):
        Path(name).write_text(text)
    Path("most.nesl").unlink()
    for name, more in (("all", 2.0), ("thrice", 0.0)):
        found = np.concatenate(list(program[name].map_partitions(path, workers=2)))
        assert found.tolist() == [3.0 * x + more for x in range(PARTS * ROWS)]


def test_a_file_that_changes_between_its_parts_is_told(path: Path, engine: Recorded) -> None:
    """Here and by workers, rows of two files are never mixed."""
    program, engine.at_a_time = nessie.compile(TEXT), 1
    for workers in (None, 2):
        np.save(path, np.arange(float(PARTS * ROWS)))
        results = program.doubled.map_partitions(path, workers=workers)
        assert next(results).tolist() == [2.0 * x for x in range(ROWS)]
        np.save(path.with_name("new.npy"), np.ones(PARTS * ROWS))
        path.with_name("new.npy").replace(path)
        with pytest.raises(NessieError, match=r"xs\.npy is not what it was when it was opened: it has changed"):
            list(results)


def test_relative_paths_are_of_the_drivers_folder(path: Path, workers: on_dask.OnDask, tmp_path: Path,
                                                  monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers began in another one."""
    monkeypatch.chdir(tmp_path)
    doubled = nessie.compile(TEXT).doubled
    assert doubled.map_partitions("xs.npy", cluster=workers.client, out="out.parquet") == \
        [f"out.parquet/part-{number:05}.parquet" for number in range(PARTS)]
    (*_, last) = doubled.map_partitions("out.parquet", cluster=workers.client)
    assert last[-1] == 4 * (PARTS * ROWS - 1)


def test_a_row_that_fails_is_told_by_workers(path: Path, workers: on_dask.OnDask) -> None:
    program = nessie.compile(TEXT)
    results = program.small.map_partitions(path, cluster=workers.client)
    assert [part.tolist() for part in (next(results), next(results))] == [
        [*map(float, range(ROWS))], [*map(float, range(ROWS, 2 * ROWS))]]
    with pytest.raises(NessieError, match=r"row 250 of .*xs\.npy: Sequence reference .*\n(.*\n)+.*the index is -1"):
        next(results)


@pytest.mark.parametrize("death, message", [
    (died, "rows 0 to 99 of {} has killed one worker after another\nhint: do workers have memory enough for it?"),
    (lambda doing: deserted(doing, 0, "for 60 s now the cluster has no workers", "start some"),
     "for 60 s now the cluster has no workers: rows 0 to 99 of {} is not done\nhint: start some")])
def test_a_part_that_nobody_could_compute_is_named(death: Callable[[Doing], NessieError], message: str, path: Path,
                                                   engine: Recorded, monkeypatch: pytest.MonkeyPatch) -> None:
    def gather(waiting: Sequence[Any], wait: Wait = quiet, *, does: Does) -> list[Any]:
        raise death(does("doubled-0-1f-2"))

    monkeypatch.setattr(engine, "gather", gather)
    with pytest.raises(NessieError) as error:
        list(nessie.compile(TEXT).doubled.map_partitions(path, workers=2))
    assert message.format(path) in str(error.value)
    assert (engine.cancelled, engine.ends) == (PARTS, 1)


def test_an_interrupt_ends_the_part_that_is_computed(path: Path, workers: on_dask.OnDask) -> None:
    """Workers are free soon, though the function would never end."""
    np.save(path, np.append(np.full(PARTS * ROWS - ROWS, -1.0), np.ones(ROWS)))
    results = nessie.compile(TEXT).turned.map_partitions(path, cluster=workers.client)
    for _ in range(PARTS - 1):
        next(results)                   # workers have the code by then
    Timer(1.0, signal.raise_signal, [signal.SIGINT]).start()
    with pytest.raises(KeyboardInterrupt):
        next(results)
    began = monotonic()
    for worker in workers.client.nthreads():
        assert workers.client.submit(abs, -1, workers=[worker], pure=False).result(60) == 1
    assert monotonic() - began < 30
    np.save(path, np.arange(float(PARTS * ROWS)))
    found = list(nessie.compile(TEXT).doubled.map_partitions(path, cluster=workers.client))
    assert np.concatenate(found).tolist() == [2.0 * x for x in range(PARTS * ROWS)]


# Results of which some are taken, when the process ends.
UNFINISHED = """
import sys
import numpy as np
import nessie
from nessie.cudagen.cluster.on_dask import started
from nessie.files.partitions import partitions
partitions.BYTES = 800
engine = started(1)
np.save(sys.argv[1], np.arange(2000.0))
program = nessie.compile("function doubled(xs) = {2.0 * x : x in xs};")
results = program.doubled.map_partitions(sys.argv[1], cluster=engine.ask.address)
print(next(results)[1])
"""


def test_a_process_ends_that_has_not_taken_all(tmp_path: Path) -> None:
    """Nobody waits for a thread of Dask's that does nothing any more."""
    found = finished([sys.executable, "-c", UNFINISHED, str(tmp_path / "xs.npy")])
    assert (found.returncode, found.stdout, found.stderr) == (0, "2.0\n", "")


def test_a_child_gives_nothing_up(workers: on_dask.OnDask, monkeypatch: pytest.MonkeyPatch) -> None:
    """Dask's client has no thread there, and would never answer."""
    def asked(*_: object, **named: object) -> None:
        raise AssertionError("a child asks its parent's client")

    monkeypatch.setattr(workers, "process", workers.process + 1)
    monkeypatch.setattr(workers.client, "cancel", asked)
    workers.cancel([])
