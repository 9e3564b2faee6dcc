"""Deep recursion on a thread of its own, and Ctrl-C, which ends it."""
from __future__ import annotations

import gc
import os
import signal
import sys
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from processes import finished

from nessie.base.source import NessieError
from nessie.base.system import deep
from nessie.base.system.deadline import NEVER, Deadline, deadline
from nessie.base.system.deep import interruptible, run_deep

PATIENCE = 6                   # seconds for what takes a tenth of one where nothing else runs


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


@pytest.mark.parametrize("ends", ["by itself", "by Ctrl-C", "by its limit"])
def test_profilers_run_after_it(ends: str) -> None:
    """Python 3.11 hangs under a profiler if an exception for a thread was taken back by giving it none."""
    program = f"""if True:
        import signal, sys, threading, time
        from nessie.base.system.deadline import NEVER, Deadline
        from nessie.base.system.deep import run_deep
        from nessie.base.source import NessieError
        def work():
            end = time.monotonic() + (0 if {ends!r} == "by itself" else 30)
            while time.monotonic() < end:
                pass
        if {ends!r} == "by Ctrl-C":
            threading.Timer(0.2, signal.raise_signal, [signal.SIGINT]).start()
        try:
            run_deep(work, Deadline(0.2, "") if {ends!r} == "by its limit" else Deadline(30, ""))
        except (KeyboardInterrupt, NessieError):
            print("ended")
        sys.setprofile(lambda *event: None)
        run_deep(lambda: None, Deadline(30, ""))
        sys.setprofile(None)
        print("profiled")
        """
    found = finished([sys.executable, "-c", program])
    assert found.stdout == ("" if ends == "by itself" else "ended\n") + "profiled\n", found.stderr


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
    monkeypatch.setattr(deep, "LONG", 60.0)
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
from nessie.base.system import deep
program = nessie.compile("function total(xs) = sum(xs);", threads=2)
xs = np.arange(1_000_000)
expected = program.total(xs)
deep.run_deep(int)
assert deep._idle
child = os.fork()
if child == 0:
    os._exit(0 if deep._idle == [] and program.total(xs) == expected and not deep.run_deep(int) and deep._idle else 1)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
assert program.total(xs) == expected
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are not forked here")
def test_a_process_that_is_forked_off_has_threads_of_its_own() -> None:
    finished([sys.executable, "-c", FORKS], check=True)


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


class Lingering:
    """An object whose end takes until an exception comes, and drops it."""

    def __del__(self) -> None:
        while True:
            pass


def test_the_time_is_up_where_python_drops_exceptions(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[object] = []
    tell = told.append
    monkeypatch.setattr(sys, "unraisablehook", tell)
    goes_on = []

    def work() -> bool:
        lingering = Lingering()
        del lingering
        goes_on.append(True)
        return until(lambda: False)

    with pytest.raises(NessieError, match=r"it took longer than 0\.1 s"):
        run_deep(work, Deadline(0.1, ""))
    hook: object = sys.unraisablehook
    assert goes_on and not told and not deep.left_working() and hook is tell


def test_a_hook_that_was_set_back_too_late_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who saved it during work has put it back after the work's end."""
    told: list[object] = []
    monkeypatch.setattr(sys, "unraisablehook", told.append)
    during = run_deep(lambda: sys.unraisablehook)
    monkeypatch.setattr(sys, "unraisablehook", during)

    class Failing:
        def __del__(self) -> None:
            raise ValueError

    run_deep(lambda: Failing() and None)
    assert len(told) == 1


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


# Ctrl-C when the work is 20,000 frames deep and waits: it is left to itself, and goes on later.
LEFT = """
import os, signal, sys, threading
from nessie.base.system import deep
usual, bottom, further = sys.getrecursionlimit(), threading.Event(), threading.Event()
def down(n):
    if n == 0:
        bottom.set()
        further.wait()
        return len(str(depth(100)))
    return 1 + down(n - 1)
def depth(n):
    return 0 if n == 0 else 1 + depth(n - 1)
def press():
    bottom.wait()
    os.kill(os.getpid(), signal.SIGINT)
threading.Thread(target=press).start()
try:
    deep.run_deep(lambda: down(20_000))
except KeyboardInterrupt:
    print(deep.left_working(), sys.getrecursionlimit() > usual)
further.set()
deep.wait_for_left()
print(deep.left_working(), sys.getrecursionlimit() == usual)
"""


def test_work_that_was_left_to_itself_keeps_its_depth() -> None:
    found = finished([sys.executable, "-c", LEFT])
    assert (found.returncode, found.stdout, found.stderr) == (0, "True True\nFalse True\n", "")


def until(condition: Callable[[], bool]) -> bool:
    """In Python's code, into which exceptions come."""
    end = time.monotonic() + PATIENCE
    while not condition() and time.monotonic() < end:
        pass
    return condition()


def test_the_time_is_up_as_a_limit_is_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    """Between the end of the work and that of its limit, within other work and by itself."""
    forget = deep.Task.forget

    def later(task: deep.Task, limit: Deadline) -> None:
        until(lambda: task.struck)
        forget(task, limit)

    monkeypatch.setattr(deep.Task, "forget", later)
    with pytest.raises(NessieError, match=r"longer than 0\.1 s"):
        run_deep(lambda: 1, Deadline(0.1, ""))

    def within() -> tuple[str, bool]:
        with pytest.raises(NessieError) as caught:
            run_deep(lambda: 1, Deadline(0.1, ""))
        return caught.value.message, deadline() is NEVER
    assert run_deep(within) == ("it took longer than 0.1 s", True)


class Slow(threading.Event):
    """Whoever does the work finds that it has not ended only once an exception is on its way, or it may not come."""

    def __init__(self, task: deep.Task) -> None:
        super().__init__()
        self.task, self.worker = task, lambda: threading.current_thread() is not threading.main_thread()

    def is_set(self) -> bool:
        if self.worker() and self.task.began is not None and not deep._lock.locked():
            until(lambda: self.task.struck)
        return super().is_set()


def test_an_exception_that_comes_as_the_work_ends(ctrl_c: None, monkeypatch: pytest.MonkeyPatch) -> None:
    start, end = deep.Task.__init__, deep.Worker.end
    tried: list[deep.Task] = []

    def slow(task: deep.Task, body: Callable[[], None]) -> None:
        start(task, body)
        task.ended = Slow(task)

    def later(worker: deep.Worker, task: deep.Task) -> None:
        tried.append(task)
        until(lambda: task.struck)
        end(worker, task)

    monkeypatch.setattr(deep.Task, "__init__", slow)
    monkeypatch.setattr(deep.Worker, "end", later)
    assert run_deep(lambda: 1) == 1
    stop_alarm()
    assert len(tried) == 2 and tried[0] is tried[1] and not deep.left_working()


def test_an_early_ctrl_c_ends_the_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """It comes when the work has been given to a thread, and nobody waits for it yet."""
    given, tasks = deep.assign, []

    def interrupted(task: deep.Task) -> None:
        given(task)
        tasks.append(task)
        assert until(lambda: task.began is not None)
        raise KeyboardInterrupt

    monkeypatch.setattr(deep, "assign", interrupted)
    with pytest.raises(KeyboardInterrupt):
        run_deep(lambda: until(lambda: False), leaves=PATIENCE)
    assert tasks[0].ended.is_set() and not deep.left_working()


def test_a_second_ctrl_c_leaves_the_work_to_itself(ctrl_c: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """It comes while the work is asked to end. Who may do nothing beside it waits."""
    def interrupted(task: deep.Task) -> bool:
        stop_alarm()
        raise KeyboardInterrupt

    going_on = threading.Event()
    monkeypatch.setattr(deep.Task, "ask", interrupted)
    with pytest.raises(KeyboardInterrupt):
        run_deep(lambda: going_on.wait(PATIENCE))
    assert deep.left_working()
    threading.Timer(0.2, going_on.set).start()
    deep.wait_for_left()
    assert going_on.is_set() and not deep.left_working()


def test_work_that_nobody_waits_for_does_not_begin(monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[int] = []
    task = deep.Task(lambda: done.append(1))
    task.waited = False
    deep.assign(task)
    assert task.ended.wait(PATIENCE) and done == [] and not deep.left_working()


# A fork while another thread starts one with a large stack.
STARTING = """
import os, threading
from nessie.base.system import deep
usual, starting, further, start = threading.stack_size(), threading.Event(), threading.Event(), threading.Thread.start
def slowly(thread):
    if thread.name == "large":
        starting.set()
        further.wait(0.5)
    start(thread)
threading.Thread.start = slowly
threading.Thread(target=lambda: deep.start_thread(int, "large", 1 << 26)).start()
starting.wait()
child = os.fork()
if child == 0:
    os._exit(0 if threading.stack_size() == usual else 1)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are not forked here")
def test_a_process_that_is_forked_off_has_stacks_of_the_usual_size() -> None:
    finished([sys.executable, "-W", "ignore", "-c", STARTING], check=True)


def test_what_may_not_be_disturbed_is_done_before_it_is_ended() -> None:
    """An exception waits for the end of the body, and comes then."""
    done = []

    def work() -> bool:
        with deep.undisturbed():
            end = time.monotonic() + 0.3
            done.append(until(lambda: time.monotonic() > end))
        return until(lambda: False)

    with pytest.raises(NessieError, match=r"it took longer than 0\.1 s"):
        run_deep(work, Deadline(0.1, ""), leaves=PATIENCE)
    assert done == [True] and not deep.left_working()
