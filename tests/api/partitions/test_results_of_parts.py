"""What takes results ends with who takes them: by an error, by close, or as garbage, which waits for nobody."""
from __future__ import annotations

import gc
import threading
from collections.abc import Generator
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nessie
from nessie.api.partitions.results import Results
from nessie.base.source import NessieError
from nessie.base.system.ending import aside

TEXT = """
function twice(xs) = {2.0 * x : x in xs};
function bad(xs) = {xs[if x > 50.0 then 99 else 0] : x in xs};
"""


def numbers(ended: list[str], name: str) -> Generator[int, None, None]:
    try:
        yield from range(3)
    finally:
        ended.append(name)


def test_what_they_need_ends_after_them() -> None:
    """If nobody has taken one, too, or all."""
    for taken in range(5):
        ended = list[str]()
        needs = numbers(ended, "needs")
        next(needs)
        found = Results(numbers(ended, "made"), needs).map(lambda one: one + 1)
        assert list(islice(found, taken)) == [1, 2, 3][:taken]
        found.close()
        found.close()
        assert ended == (["made"] if taken else []) + ["needs"]
        assert list(found) == []


def test_an_error_ends_them() -> None:
    """While its traceback, which has the frames of generators, is still there."""
    ended = list[str]()
    needs = numbers(ended, "needs")
    next(needs)
    with pytest.raises(ZeroDivisionError):
        list(Results(numbers(ended, "made"), needs).map(lambda one: 1 // one))
    assert ended == ["made", "needs"]


def test_garbage_ends_by_another_thread() -> None:
    """The one in which it is collected may be what is waited for, or hold a lock that is."""
    lock, ended, by = threading.Lock(), threading.Event(), list[int]()

    def made() -> Generator[int, None, None]:
        try:
            yield 1
        finally:
            with lock:
                by.append(threading.get_ident())
                ended.set()

    cycle: list[Any] = [Results(made())]
    assert next(cycle[0]) == 1
    cycle.append(cycle)
    with lock:
        del cycle
        gc.collect()
        assert not by
    assert ended.wait(60)
    assert by != [threading.get_ident()]


def test_what_is_done_aside_needs_no_thread_that_begins() -> None:
    """Garbage may be collected where `threading` holds its own lock."""
    done = threading.Event()
    with threading._active_limbo_lock:          # type: ignore[attr-defined]
        aside(done.set)
    assert done.wait(60)
    aside(lambda: 1 // 0)


def reading() -> list[str]:
    return [thread.name for thread in threading.enumerate() if thread.name.startswith("nessie-reads")]


def test_no_thread_reads_on_behind_an_error_or_a_close(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nessie.files.partitions.partitions.BYTES", 80)
    path, program = tmp_path / "xs.npy", nessie.compile(TEXT)
    np.save(path, np.arange(100.0))
    gc.collect()
    with pytest.raises(NessieError, match=r"row 51 of .*out of bounds"):
        list(program.bad.map_partitions(path))
    assert not reading()
    found = program.twice.map_partitions(path)
    assert next(found)[1] == 2.0
    assert reading()
    found.close()
    assert not reading()
