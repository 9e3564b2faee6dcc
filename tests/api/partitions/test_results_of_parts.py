"""What takes results ends with who takes them: by an error, by close, or as garbage, which waits for nobody."""
from __future__ import annotations

import gc
import sys
import threading
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from processes import finished

import nessie
from nessie.api.partitions.results import Results
from nessie.base.source import NessieError
from nessie.base.system import ending
from nessie.base.system.ending import aside, at_end, do_now
from nessie.files.partitions.readers import Reader

TEXT = """
function twice(xs) = {2.0 * x : x in xs};
function bad(xs) = {xs[if x > 50.0 then 99 else 0] : x in xs};
"""


FORKS = """
import os, sys
import numpy as np
import nessie
from nessie.base.source import NessieError
from nessie.files.partitions import partitions
partitions.BYTES = 800
np.save(sys.argv[1], np.arange(400.0))
program = nessie.compile("function twice(xs) = {2.0 * x : x in xs};")
results = program.twice.map_partitions(sys.argv[1])
print(next(results)[1], flush=True)
child = os.fork()
if not child:
    try:
        next(results)
    except NessieError as error:
        print(error, flush=True)
    results.close()
    print(sum(map(len, program.twice.map_partitions(sys.argv[1]))), flush=True)
    del results
    sys.exit(3)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 3
print(sum(map(len, results)))
"""


def test_a_child_gets_none_of_them(tmp_path: Path) -> None:
    """Who reads parts ahead is a thread of its parent's; what it asks for itself it gets."""
    found = finished([sys.executable, "-c", FORKS, str(tmp_path / "xs.npy")])
    assert (found.returncode, found.stdout, found.stderr) == (
        0, "2.0\nerror: results are taken by the process that has asked for them, and this is a child of it\n"
        "hint: let the child ask for results of its own\n400\n300\n", "")


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
        aside(at_end(done.set))
    assert done.wait(60)
    aside(at_end(lambda: 1 // 0))


# What is done aside still is at a fork; the child has no such thread, and ends at once.
FORKED = """
import os, sys, threading, time
from nessie.base.system.ending import aside, at_end
begun, goes_on = threading.Event(), threading.Event()
aside(at_end(lambda: (begun.set(), goes_on.wait(60))))
assert begun.wait(60)
child = os.fork()
if not child:
    sys.exit()
until = time.monotonic() + 15
while not os.waitpid(child, os.WNOHANG)[0]:
    if time.monotonic() > until:
        os.kill(child, 9)
        sys.exit("the child waits for its parent's thread")
    time.sleep(0.01)
goes_on.set()
"""


def test_a_child_waits_for_nothing_that_is_done_aside() -> None:
    finished([sys.executable, "-W", "ignore", "-c", FORKED], check=True)


def test_what_no_thread_can_be_had_for_is_done_in_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    def none_starts(*_: object) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(ending, "start_new_thread", none_starts)
    done = threading.Event()
    aside(at_end(done.set))
    assert not done.is_set()
    assert not ending._doing
    do_now(done.set)
    assert done.is_set()


def test_one_takes_them_at_a_time() -> None:
    """Another thread would end what the first one still takes."""
    begun, goes_on, taken = threading.Event(), threading.Event(), list[int]()

    def made() -> Generator[int, None, None]:
        begun.set()
        assert goes_on.wait(60)
        yield from numbers([], "")

    needs = numbers(ended := list[str](), "needs")
    next(needs)
    found = Results(made(), needs)
    first = threading.Thread(target=lambda: taken.extend(found))
    first.start()
    assert begun.wait(60)
    for other in (found.close, lambda: next(found)):
        with pytest.raises(NessieError, match="another thread takes the next result"):
            other()
    assert not ended
    goes_on.set()
    first.join(60)
    assert taken == [0, 1, 2]
    assert ended == ["needs"]


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


def test_files_are_closed_behind_an_interrupt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Even where it comes while the thread that reads is waited for, and that thread opens another file then."""
    pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    paths, program = [tmp_path / "xs.parquet", tmp_path / "ys.parquet"], nessie.compile(TEXT)
    for path in paths:
        parquet.write_table(pa.table({"x": np.arange(100.0)}), path)
    shutdown, open_, opened = ThreadPoolExecutor.shutdown, Reader.open, list[Any]()
    begins, goes_on, pools = threading.Event(), threading.Event(), list[ThreadPoolExecutor]()

    def interrupted(pool: ThreadPoolExecutor, *arguments: Any, **more: Any) -> None:
        pools.append(pool)
        raise KeyboardInterrupt

    def noted(reader: Reader, path: str) -> Any:
        if path == str(paths[1]):
            begins.set()
            assert goes_on.wait(60)
        opened.append(open_(reader, path))
        return opened[-1]

    monkeypatch.setattr(Reader, "open", noted)
    found = program.twice.map_partitions(paths)
    next(found)
    assert begins.wait(60)
    monkeypatch.setattr(ThreadPoolExecutor, "shutdown", interrupted)
    with pytest.raises(KeyboardInterrupt):
        found.close()
    goes_on.set()
    shutdown(pools[0])
    assert [one.path for one in opened] == [str(path) for path in paths] and all([one.file.closed for one in opened])
