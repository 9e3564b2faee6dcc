"""Deep recursion on a thread of its own, and Ctrl-C, which ends it."""
from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Iterator
from typing import Any

import pytest

from nessie.base import deep
from nessie.base.deep import interruptible, run_deep
from nessie.base.source import NessieError


def depth(n: int) -> int:
    return 0 if n == 0 else 1 + depth(n - 1)


def test_recursion_goes_deeper_than_pythons_own_stack() -> None:
    limit = sys.getrecursionlimit()
    assert run_deep(lambda: depth(100_000)) == 100_000
    assert sys.getrecursionlimit() == limit


def test_several_threads_go_deep_at_once() -> None:
    """One that ends first leaves the others their depth."""
    limit, longer = sys.getrecursionlimit(), threading.Event()

    def first() -> int:
        assert longer.wait(10)
        return depth(50_000)

    found: list[int] = []
    thread = threading.Thread(target=lambda: found.append(run_deep(first)))
    thread.start()
    assert run_deep(lambda: depth(1000)) == 1000
    longer.set()
    thread.join()
    assert found == [50_000] and sys.getrecursionlimit() == limit


def test_exceptions_come_out_as_they_are() -> None:
    with pytest.raises(ZeroDivisionError):
        run_deep(lambda: 1 // 0)


def test_deep_work_within_deep_work_stays_on_its_thread() -> None:
    outer, inner = run_deep(lambda: (threading.get_ident(), run_deep(threading.get_ident)))
    assert outer == inner != threading.get_ident()
    assert run_deep(threading.get_ident) != threading.get_ident()


def test_a_thread_does_one_small_work_after_another() -> None:
    first = run_deep(threading.get_ident)
    assert [run_deep(threading.get_ident) for _ in range(5)] == [first] * 5


def test_a_thread_that_was_at_work_for_long_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """What its stack was filled with is given back."""
    monkeypatch.setattr(deep, "LONG", 0.0)
    thread = run_deep(threading.current_thread)
    thread.join(10)
    assert not thread.is_alive()


def test_few_threads_wait_for_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deep, "_idle", [])
    together = threading.Barrier(deep.MOST_IDLE + 3)
    callers = [threading.Thread(target=lambda: run_deep(together.wait)) for _ in range(deep.MOST_IDLE + 3)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join(10)
    assert len(deep._idle) == deep.MOST_IDLE


def test_what_a_thread_has_done_it_lets_go_of() -> None:
    class Large:
        pass

    large = Large()
    gone = weakref.ref(large)

    def work(large: Large = large) -> int:
        return 1

    assert run_deep(work) == 1
    del large, work
    gc.collect()
    assert gone() is None


FORKS = """
import os, sys, threading, warnings
warnings.simplefilter("ignore")
import numpy as np
import nessie
from nessie.base import deep
program = nessie.compile("function total(xs) = sum(xs);", threads=2)
xs = np.arange(1_000_000)
expected = program.total(xs)
deep.run_deep(int)
assert deep._idle
child = os.fork()
if child == 0:
    os._exit(0 if deep._idle == [] and program.total(xs) == expected and deep._idle else 1)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
assert program.total(xs) == expected
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are not forked here")
def test_a_process_that_is_forked_off_has_threads_of_its_own() -> None:
    subprocess.run([sys.executable, "-c", FORKS], check=True, timeout=60)


def test_a_thread_has_no_large_stack_by_its_name() -> None:
    found: list[int] = []
    named = threading.Thread(target=lambda: found.append(run_deep(lambda: depth(100_000))), name="nessie")
    named.start()
    named.join()
    assert found == [100_000]


def test_a_stack_that_cannot_be_had_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    size = threading.stack_size()
    monkeypatch.setattr(deep, "_idle", [])
    monkeypatch.setattr(threading.Thread, "start", refuse)
    with pytest.raises(NessieError, match="a stack of 1024 MiB"):
        run_deep(lambda: 1)
    assert threading.stack_size() == size


@pytest.fixture
def ctrl_c() -> Iterator[None]:
    """A Ctrl-C after a moment, and then again and again."""
    def interrupt(number: int, frame: Any) -> None:
        raise KeyboardInterrupt

    old = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, 0.1, 0.5)
    yield
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, old)


def stop_alarm() -> None:
    signal.setitimer(signal.ITIMER_REAL, 0)


def test_ctrl_c_ends_python_code(ctrl_c: None) -> None:
    rounds = 0

    def forever() -> None:
        nonlocal rounds
        while True:
            rounds += 1

    with pytest.raises(KeyboardInterrupt):
        run_deep(forever)
    stop_alarm()
    ended = rounds
    time.sleep(0.05)
    assert rounds == ended > 0


def test_a_thread_that_was_interrupted_does_no_more_work(ctrl_c: None) -> None:
    thread: list[threading.Thread] = []

    def forever() -> None:
        thread.append(threading.current_thread())
        while True:
            pass

    with pytest.raises(KeyboardInterrupt):
        run_deep(forever)
    stop_alarm()
    thread[0].join(10)
    assert not thread[0].is_alive()


def test_ctrl_c_asks_what_knows_how_to_end(ctrl_c: None) -> None:
    asked = threading.Event()

    def work() -> str:
        with interruptible(asked.set):
            asked.wait(10)
            return "ended"

    assert run_deep(work) == "ended"
    stop_alarm()


def test_work_that_does_not_hear_is_left_to_itself(ctrl_c: None) -> None:
    start = time.monotonic()
    deaf = threading.Event()
    with pytest.raises(KeyboardInterrupt):
        run_deep(lambda: deaf.wait(60))
    stop_alarm()
    assert time.monotonic() - start < 30
    deaf.set()


def test_ctrl_c_leaves_other_threads_alone(ctrl_c: None) -> None:
    asked, done = threading.Event(), threading.Event()

    def elsewhere() -> bool:
        with interruptible(asked.set):
            return done.wait(10)

    other = threading.Thread(target=lambda: run_deep(elsewhere))
    other.start()
    ended = threading.Event()

    def work() -> bool:
        with interruptible(ended.set):
            return ended.wait(10)
    assert run_deep(work)
    stop_alarm()
    assert not asked.is_set()
    done.set()
    other.join()
