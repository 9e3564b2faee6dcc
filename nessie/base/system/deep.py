"""Recursion as deep as programs are: passes recurse over trees, and trees may be 10 000 levels deep.

Passes recurse from Python to Python only: into list comprehensions, not generators, `map` or `__call__`. From 3.12 on,
Python bounds recursion through its C code, whatever the recursion limit says; that takes in ==, hash and repr of trees.

Ctrl-C reaches the caller, who then ends the work: what runs where Python's exceptions do not reach has said how, with
`interruptible`; other work gets a KeyboardInterrupt. Work that takes longer than it may (nessie.base.system.deadline)
is ended in the same way, by TimeIsUp. Where neither helps, as while it waits for another program, the work is left to
itself.

A thread that has done its work waits for more, as starting one takes as long as a small call. One that was at work for
long, or was given an exception, ends: so stacks that were filled are given back, and no exception comes late.
"""
from __future__ import annotations

import ctypes
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from queue import SimpleQueue
from typing import TypeVar

from nessie.base.source import NessieError, Span
from nessie.base.system.deadline import NEVER, Deadline, TimeIsUp, deadline, set_deadline
from nessie.base.system.forking import across_forks, anew_in_children

T = TypeVar("T")

STACK_BYTES = 1 << 30           # address space only: pages are taken as the recursion reaches them
RECURSION_LIMIT = 1_000_000
INSISTS, ASKED = 0.05, 0.15     # seconds after which who was not, or was, asked to end is given an exception
AGAIN = 0.5                     # seconds until the next
LEAVES, LATE = 1.0, 0.5         # seconds after a Ctrl-C, after a limit, after which the work is left to itself
MOST_IDLE = 4                   # threads that wait
HEARING = 0.1                   # seconds after which a Ctrl-C is heard that did not wake the thread that waits
SOON = 0.01                     # the same while the work is being ended
LONG = 0.05                     # seconds of work beside which starting a thread is nothing

_thread = threading.local()     # `task`: this thread has a large stack, and does this
STRIKES = (KeyboardInterrupt, TimeIsUp)
_lock = across_forks(threading.Lock(), last=True)
_interrupts: list[tuple[int | None, Callable[[], None]]] = []      # with the threads that they are for
_at_work: list[Task] = []       # those that have begun and not ended, for which the recursion limit is high
_usual_limit = 0                # what it was before them
_idle: list[Worker] = []


def run_deep(work: Callable[[], T], limit: Deadline = NEVER, leaves: float = LEAVES) -> T:
    """work(), on a thread with a large stack (this one, if its stack is large). Exceptions come out as they are;
    NessieError, where it takes longer than the limit. `leaves`: so many seconds after a Ctrl-C, or after the limit, it
    is left to itself."""
    if getattr(_thread, "task", None):
        return limited(work, limit)
    outcome: list[T] = []
    failure: list[BaseException] = []

    def body() -> None:
        try:
            outcome.append(limited(work, limit))
        except TimeIsUp:                    # it came when the work had come to its end
            failure.append(limit.error())
        except BaseException as error:      # re-raised below, in the caller's thread
            failure.append(error)

    waiting = Waiting(Task(body), limit, leaves)
    waiting.wait()
    if failure:
        raise failure[0]
    if not outcome:                         # an exception came after another
        raise waiting.interrupt or limit.error()
    return outcome[0]


def limited(work: Callable[[], T], limit: Deadline) -> T:
    """work(), on a thread with a large stack, within the limit."""
    if limit is NEVER:
        return work()
    task, before = _thread.task, deadline()
    try:
        try:
            set_deadline(limit)
            task.limits.append(limit)
            return work()
        finally:
            task.forget(limit)
            set_deadline(before)
    except TimeIsUp:                        # of the work, or while the limit was forgotten
        task.forget(limit)
        set_deadline(before)
        if not limit.passed():              # a longer work's, of which this is a part
            raise
        raise limit.error() from None


def next_part(*places: tuple[Span, str]) -> None:
    """The work that this thread does goes on with what stands there, which may take as long as all of it."""
    limit = deadline()
    while limit is not NEVER and (limit.passed() or limit.places != places):
        with suppress(TimeIsUp), _lock:
            limit.begin(*places)
            _thread.task.take_back()


class Task:
    """Work for a thread. `ended` is an event, as joining cannot be taken up again after a Ctrl-C; `began`: when, by
    time.monotonic; `limits`: when it is to end, and parts of it; `struck`: the thread was given an exception; `due`:
    one that may not have come yet; `waited`: somebody waits for it."""

    def __init__(self, body: Callable[[], None]) -> None:
        self.body, self.ended, self.waited = body, threading.Event(), True
        self.struck = self.due = False
        self.began: float | None = None
        self.limits: list[Deadline] = []
        self.worker: Worker | None = None

    def ask(self) -> bool:
        """End the task in the way that it asked for; False if it asked for none."""
        asked = [interrupt for number, interrupt in list(_interrupts) if self.worker and number == self.worker.number]
        for interrupt in asked:
            interrupt()
        return bool(asked)

    def strike(self, error: type[BaseException], limit: Deadline | None = None) -> None:
        """The thread is given the exception while the work is at hand, or its part with this limit."""
        with _lock:
            meant = limit is None or (limit in self.limits and limit.passed() and not limit.told)
            if self.worker is not None and self in _at_work and meant:
                self.struck = self.due = True
                give_exception(self.worker.number, error)

    def forget(self, limit: Deadline) -> None:
        """A part of the work ends: an exception that has not come yet comes no more."""
        with _lock:
            self.take_back()
            if limit in self.limits:
                self.limits.remove(limit)

    def take_back(self) -> None:
        """An exception that this thread was given comes no later than here, and is dropped; the lock is held. (Giving
        it none instead would leave Python's flag for what is pending set, of which 3.11 hangs under a profiler.)"""
        if self.due:
            try:
                give_exception(threading.get_ident(), TimeIsUp)
                while True:
                    pass
            except STRIKES:
                self.due = False


def give_exception(thread: int, error: type[BaseException]) -> None:
    """It comes when the thread is in Python's code next, instead of one that has not come yet."""
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(error))


class Worker:
    """A thread with a large stack, which does one task after another."""

    def __init__(self) -> None:
        self.tasks: SimpleQueue[Task] = SimpleQueue()
        self.number = started(self.serve).ident or 0

    def serve(self) -> None:
        self.stays = True
        while self.stays:
            task = self.tasks.get()
            while True:
                try:
                    if task.ended.is_set():
                        break
                    self.do(task)
                except STRIKES:             # too late for the work, and the caller still waits
                    pass

    def do(self, task: Task) -> None:
        """Does it, unless that was begun, or nobody waits any more, and ends it."""
        try:
            if self.begin(task):
                task.body()
        finally:
            task.body = nothing             # which lets go of all that it held
            self.end(task)

    def begin(self, task: Task) -> bool:
        """Allow interrupts to strike the task from here on."""
        global _usual_limit
        with _lock:
            begins = task.began is None and task.waited
            if begins:
                _thread.task, task.began = task, time.monotonic()
                if not _at_work:
                    _usual_limit = sys.getrecursionlimit()
                    sys.setrecursionlimit(RECURSION_LIMIT)
                _at_work.append(task)
        return begins

    def end(self, task: Task) -> None:
        """No exception comes from where the lock is held and what was on its way is taken back."""
        with _lock:
            task.take_back()
            if task in _at_work:
                _at_work.remove(task)
                if not _at_work:
                    sys.setrecursionlimit(_usual_limit)
            short = task.began is not None and time.monotonic() - task.began < LONG
            self.stays = short and not task.struck and len(_idle) < MOST_IDLE
            if self.stays:
                _idle.append(self)
            task.ended.set()


def nothing() -> None:
    pass


def assign(task: Task) -> None:
    """It is given to a thread with a large stack."""
    with _lock:
        worker = _idle.pop() if _idle else None
    task.worker = worker or Worker()
    task.worker.tasks.put(task)


@anew_in_children
def alone() -> None:
    """Start anew in a forked process, which has only the thread that forked, and its task."""
    there = [task for task in _at_work if task is getattr(_thread, "task", None)]
    if _at_work and not there:
        sys.setrecursionlimit(_usual_limit)
    _at_work[:] = there
    _idle.clear()
    _interrupts.clear()


@contextmanager
def frames_for(count: int) -> Iterator[None]:
    """While the body runs, recursion from Python to Python may be this deep: from 3.11 on, it takes no stack."""
    limit = sys.getrecursionlimit()
    if sys.version_info >= (3, 11):
        sys.setrecursionlimit(max(limit, count))
    try:
        yield
    finally:
        sys.setrecursionlimit(limit)


def started(body: Callable[[], None]) -> threading.Thread:
    """A thread with a large stack that runs this."""
    try:
        return start_thread(body, "nessie", STACK_BYTES)
    except RuntimeError:
        raise no_thread(STACK_BYTES) from None


def start_thread(body: Callable[[], None], name: str, stack: int) -> threading.Thread:
    """A thread that runs this, with so many bytes of stack (0: as is usual). RuntimeError where there is none to be
    had."""
    thread = threading.Thread(target=body, name=name, daemon=True)
    with _lock:                             # the size is the process's setting
        usual = threading.stack_size(stack)
        try:
            thread.start()
        finally:
            threading.stack_size(usual)
    return thread


def no_thread(stack: int) -> NessieError:
    size = f" with a stack of {stack >> 20} MiB" if stack else ""
    return NessieError(f"no thread can be started{size}",
                       hint="ulimit -v limits the address space, ulimit -u the threads")


@contextmanager
def interruptible(interrupt: Callable[[], None]) -> Iterator[None]:
    """While the body runs, `interrupt` makes it end soon; it is called in another thread, that which waits for this."""
    added = threading.get_ident(), interrupt
    _interrupts.append(added)
    try:
        yield
    finally:
        _interrupts.remove(added)


def forget_interrupt() -> None:
    """Run a text by exec. If the interrupt left text run by exec, as dataclasses do, Python would die of it: another
    makes it forget."""
    exec("")


class Waiting:
    """Wait for work to end: by itself, after a Ctrl-C, or because it takes too long. Then it is asked to, then made to,
    then left to itself; a second Ctrl-C leaves it at once."""

    def __init__(self, task: Task, limit: Deadline, leaves: float) -> None:
        self.task, self.limit, self.leaves = task, limit, leaves
        self.interrupt: KeyboardInterrupt | None = None
        self.late: Deadline | None = None
        self.began = self.struck = 0.0          # when it was to end, and had an exception, by time.monotonic
        self.insists = INSISTS

    def wait(self) -> None:
        """Gives the task to a thread, and waits for it."""
        try:
            while not self.task.ended.is_set():
                self.hear()
        finally:
            self.task.waited = False

    def hear(self) -> None:
        try:
            if self.task.worker is None:
                assign(self.task)
            if not self.task.ended.wait(SOON if self.interrupt or self.late else HEARING):
                self.go_on()
        except KeyboardInterrupt as interrupt:
            if self.interrupt or self.task.worker is None:
                raise
            self.interrupt = interrupt
            self.begin()

    def go_on(self) -> None:
        """The next action that is due."""
        now = time.monotonic()
        if self.interrupt is None:
            self.look(now)
        since = now - self.began
        if self.interrupt and since > self.leaves:
            raise self.interrupt
        if self.late is self.limit and since > (2 * LATE if self.limit.told else LATE):
            raise self.limit.error()
        if (self.interrupt or self.late) and since > self.insists and now - self.struck > AGAIN:
            self.struck = now
            if self.interrupt:
                self.task.strike(KeyboardInterrupt)
            elif self.late and not self.late.told:
                self.task.strike(TimeIsUp, self.late)

    def look(self, now: float) -> None:
        """The limit that has passed, while nobody says so. That of all of the work is always looked at."""
        limits = list(self.task.limits)
        if self.late not in limits or not self.late.passed():
            self.late = next((limit for limit in limits if limit.passed() and (limit is self.limit or not limit.told)),
                             None)
            if self.late:
                self.begin()

    def begin(self) -> None:
        self.began, self.struck = time.monotonic(), 0.0
        self.insists = ASKED if self.task.ask() else INSISTS


def left() -> list[Task]:
    """The work that was left to itself."""
    return [task for task in list(_at_work) if not task.waited]


def left_working() -> bool:
    """Is there work that was left to itself?"""
    return bool(left())


def wait_for_left() -> None:
    """Wait for such work, where the next may not be done beside it. Ctrl-C ends the waiting."""
    while tasks := left():
        tasks[0].ended.wait(HEARING)
