"""Files that workers of Dask see or not: arguments, results, and what changes or goes meanwhile."""
from __future__ import annotations

import gc
import os
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from dask_cases import OFFSETS, ROWS, TEXT, XS, YS, N, at_task, bits, on_cpu

import nessie
from nessie.base.source import NessieError
from nessie.base.system.memory import MemoryBudget
from nessie.base.system.seen_files import is_there, look
from nessie.base.types import FLOAT, Seq, no_datatypes
from nessie.base.values import Flat, Nested
from nessie.cudagen.cluster.files.hands import Hands
from nessie.cudagen.cluster.on_dask import OnDask
from nessie.cudagen.cluster.slabs import InFile
from nessie.cudagen.cluster.tasks import elements
from nessie.cudagen.cluster.tasks.elements import Given
from nessie.files import written_by_workers
from nessie.files.files import open_file, write_value
from nessie.files.formats import arrow_format
from nessie.files.written_by_workers import brought

pytest.importorskip("distributed")


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
    ask, seers = engine.ask.workers, some(sorted(engine.there))

    def asked(function: Any, *arguments: Any, of: Any) -> Any:
        found = ask(function, *arguments, of=of)
        return {worker: said and worker in seers for worker, said in found.items()} if function is is_there else found

    monkeypatch.setattr(engine.ask, "workers", asked)
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
    monkeypatch.setattr(engine.ask, "workers", lambda *arguments, of: dict.fromkeys(of, False))
    given: list[Any] = []
    part = hands.part(hands.array("float", []), 0, 0, given)
    on.append(hands.submit("pick", elements.picked, part, None, given=[slab.task for slab in slabs]).on)
    engine.there = {*there, "late"}
    on.append(hands.submit("pick", elements.picked, part, None, given=[slab.task for slab in slabs]).on)
    engine.there = {"late"}
    with pytest.raises(NessieError, match=r"no worker is left that sees .*xs\.npy"):
        hands.submit("pick", elements.picked, part, None, given=[slab.task for slab in slabs])
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
    task = hands.submit("pick", elements.picked, Given("float", 0, N, [(0, N, 0, "", 0)]), None, given=[slab.task])
    other = hands.submit("same", elements.whole, Given("float", 0, 0, ()), given=[task])
    assert np.array_equal(engine.gather([task])[0], XS)
    del slab, task
    gc.collect()
    assert os.path.exists(path)
    del other
    gc.collect()
    assert not os.path.exists(path)
