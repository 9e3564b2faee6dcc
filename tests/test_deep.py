"""Deep recursion on a thread of its own, and Ctrl-C, which ends it."""
from __future__ import annotations

import signal
import sys
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

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
