"""Runs work on a thread with a large stack, so that passes can recurse over trees of 10 000 levels.

Passes recurse from Python to Python only: into list comprehensions, not generators, `map` or `__call__`. From 3.12 on,
Python bounds recursion through its C code, whatever the recursion limit says; this includes ==, hash and repr of trees.

Ctrl-C reaches the caller, which then ends the work. Work that runs where Python's exceptions do not reach registers its
own way with `interruptible`; other work gets a KeyboardInterrupt. Work past its deadline (nessie.base.system.deadline)
is ended in the same way, by TimeIsUp. Where neither helps, for example while it waits for another program, the work is
abandoned.

A thread that has done its work waits for more, because starting a thread takes as long as a small call. A thread that
worked for long, or was given an exception, ends. So filled stacks are given back, and no exception comes late.
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
_usual_hook = sys.unraisablehook                        # likewise
_idle: list[Worker] = []


def run_deep(work: Callable[[], T], limit: Deadline = NEVER, leaves: float = LEAVES,
             meanwhile: Callable[[], None] | None = None) -> T:
    """Run work() on a thread with a large stack (this one, if its stack is large). Exceptions pass through; work past
    the limit raises NessieError. `leaves`: the seconds after a Ctrl-C, or after the limit, until the work is
    abandoned; `meanwhile` is called each HEARING seconds, by who waits."""
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

    waiting = Waiting(Task(body), limit, leaves, meanwhile)
    waiting.wait()
    if failure:
        raise failure[0]
    if not outcome:                         # an exception came after another
        raise waiting.interrupt or limit.error()
    return outcome[0]


def limited(work: Callable[[], T], limit: Deadline) -> T:
    """Run work() within the limit, on this thread, which has a large stack."""
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
    """Start the deadline anew for the next part of this thread's work, at these places."""
    limit = deadline()
    while limit is not NEVER and (limit.passed() or limit.places != places):
        with suppress(TimeIsUp), _lock:
            limit.begin(*places)
            _thread.task.take_back()


class Task:
    """Work for a thread. `ended` is an event, because a join cannot be resumed after a Ctrl-C. `began`: the start, by
    time.monotonic; `limits`: the deadlines of the work and of its parts; `struck`: the thread was given an exception;
    `due`: one that may not have come yet; `dropped`: Python dropped one; `waited`: somebody waits for the work."""

    def __init__(self, body: Callable[[], None]) -> None:
        self.body, self.ended, self.waited = body, threading.Event(), True
        self.struck = self.due = self.dropped = False
        self.began: float | None = None
        self.limits: list[Deadline] = []
        self.worker: Worker | None = None

    def ask(self) -> bool:
        """Call the interrupts that the work registered; return False if it registered none."""
        asked = [interrupt for number, interrupt in list(_interrupts) if self.worker and number == self.worker.number]
        for interrupt in asked:
            interrupt()
        return bool(asked)

    def strike(self, error: type[BaseException], limit: Deadline | None = None) -> None:
        """Give the thread the exception while it does this work, or the part with this limit."""
        with _lock:
            meant = limit is None or (limit in self.limits and limit.passed() and not limit.told)
            if self.worker is not None and self in _at_work and meant:
                self.struck, self.due, self.dropped = True, True, False
                give_exception(self.worker.number, error)

    def forget(self, limit: Deadline) -> None:
        """End a part of the work: an exception for it that has not come yet is dropped."""
        with _lock:
            self.take_back()
            if limit in self.limits:
                self.limits.remove(limit)

    def take_back(self) -> None:
        """Drop an exception that this thread was given and that has not come yet; the caller holds the lock. (Giving it
        none instead would leave Python's pending flag set, which makes 3.11 hang under a profiler.)"""
        if self.due:
            try:
                give_exception(threading.get_ident(), TimeIsUp)
                while True:
                    pass
            except STRIKES:
                self.due = False


def give_exception(thread: int, error: type[BaseException]) -> None:
    """Raise the exception when the thread next runs Python code; it replaces one that has not come yet."""
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
        """Do the task and end it, unless it has begun already or nobody waits for it."""
        try:
            if self.begin(task):
                task.body()
        finally:
            task.body = nothing             # which lets go of all that it held
            self.end(task)

    def begin(self, task: Task) -> bool:
        """Begin the task; from here on it may be struck. Return False if it must not begin."""
        global _usual_limit, _usual_hook
        with _lock:
            begins = task.began is None and task.waited
            if begins:
                _thread.task, task.began = task, time.monotonic()
                if not _at_work:
                    _usual_limit = sys.getrecursionlimit()
                    sys.setrecursionlimit(RECURSION_LIMIT)
                    if sys.unraisablehook is not ask_again:     # whoever set it back may have found it so
                        _usual_hook, sys.unraisablehook = sys.unraisablehook, ask_again
                _at_work.append(task)
        return begins

    def end(self, task: Task) -> None:
        """End the task; with the lock held and pending exceptions dropped, no exception comes after this."""
        with _lock:
            task.take_back()
            if task in _at_work:
                _at_work.remove(task)
                if not _at_work:
                    as_usual()
            short = task.began is not None and time.monotonic() - task.began < LONG
            self.stays = short and not task.struck and len(_idle) < MOST_IDLE
            if self.stays:
                _idle.append(self)
            task.ended.set()


def ask_again(exception: sys.UnraisableHookArgs) -> None:
    """Ask for another exception instead of one that was to end the work and came where none can be raised, for example
    in a weak reference's callback. Others are told as usual."""
    task: Task | None = getattr(_thread, "task", None)
    if task and task.struck and issubclass(exception.exc_type, STRIKES):
        task.due, task.dropped = False, True
    else:
        _usual_hook(exception)


def as_usual() -> None:
    """Set back what is set while there is work."""
    sys.setrecursionlimit(_usual_limit)
    if sys.unraisablehook is ask_again:
        sys.unraisablehook = _usual_hook


def nothing() -> None:
    pass


def assign(task: Task) -> None:
    """Give the task to a thread with a large stack."""
    with _lock:
        worker = _idle.pop() if _idle else None
    task.worker = worker or Worker()
    task.worker.tasks.put(task)


@anew_in_children
def alone() -> None:
    """Keep only the task of the forking thread: a forked process has no other thread."""
    there = [task for task in _at_work if task is getattr(_thread, "task", None)]
    if _at_work and not there:
        as_usual()
    _at_work[:] = there
    _idle.clear()
    _interrupts.clear()


@contextmanager
def frames_for(count: int) -> Iterator[None]:
    """Allow recursion from Python to Python this deep in the body; from 3.11 on, it takes no stack."""
    limit = sys.getrecursionlimit()
    if sys.version_info >= (3, 11):
        sys.setrecursionlimit(max(limit, count))
    try:
        yield
    finally:
        sys.setrecursionlimit(limit)


def started(body: Callable[[], None]) -> threading.Thread:
    """Start a thread with a large stack that runs the body."""
    try:
        return start_thread(body, "nessie", STACK_BYTES)
    except RuntimeError:
        raise no_thread(STACK_BYTES) from None


def start_thread(body: Callable[[], None], name: str, stack: int) -> threading.Thread:
    """Start a thread that runs the body, with so many bytes of stack (0: the usual size). RuntimeError if no thread can
    be had."""
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
def undisturbed() -> Iterator[None]:
    """Give this thread's work no exception in the body, which is short: who strikes waits for its end."""
    with _lock:
        yield


class interruptible:                # in lower case, like other context managers
    """Register `interrupt` while the body runs: it makes the body end soon, and is called in the waiting thread."""

    def __init__(self, interrupt: Callable[[], None]) -> None:
        self.added = threading.get_ident(), interrupt

    def __enter__(self) -> None:
        _interrupts.append(self.added)

    def __exit__(self, *_: object) -> None:
        _interrupts.remove(self.added)


def forget_interrupt() -> None:
    """Make Python forget an interrupt that left text run by exec, as dataclasses do; else Python would die of it in the
    end. Another exec clears it."""
    exec("")


class Waiting:
    """Waits for work to end: by itself, after a Ctrl-C, or at its deadline. Then the work is asked to end, then forced,
    then abandoned; a second Ctrl-C abandons it at once."""

    def __init__(self, task: Task, limit: Deadline, leaves: float, meanwhile: Callable[[], None] | None) -> None:
        self.task, self.limit, self.leaves, self.meanwhile = task, limit, leaves, meanwhile or nothing
        self.interrupt: KeyboardInterrupt | None = None
        self.late: Deadline | None = None
        self.began = self.struck = 0.0          # when it was to end, and had an exception, by time.monotonic
        self.insists = INSISTS

    def wait(self) -> None:
        """Give the task to a thread, and wait for it."""
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
                self.meanwhile()
                self.go_on()
        except KeyboardInterrupt as interrupt:
            if self.interrupt or self.task.worker is None:
                raise
            self.interrupt = interrupt
            self.begin()

    def go_on(self) -> None:
        """Take the next step that is due."""
        now = time.monotonic()
        if self.interrupt is None:
            self.look(now)
        since = now - self.began
        if self.interrupt and since > self.leaves:
            raise self.interrupt
        if self.late is self.limit and since > (2 * LATE if self.limit.told else LATE):
            raise self.limit.error()
        if (self.interrupt or self.late) and since > self.insists and (
                self.task.dropped or now - self.struck > AGAIN):
            self.struck = now
            if self.interrupt:
                self.task.strike(KeyboardInterrupt)
            elif self.late and not self.late.told:
                self.task.strike(TimeIsUp, self.late)

    def look(self, now: float) -> None:
        """Find a limit that has passed and that nobody has reported. The limit of the whole work always counts."""
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
    """Return the abandoned work."""
    return [task for task in list(_at_work) if not task.waited]


def left_working() -> bool:
    """Is there abandoned work?"""
    return bool(left())


def wait_for_left() -> None:
    """Wait for abandoned work, before work that cannot run beside it. Ctrl-C ends the waiting."""
    while tasks := left():
        tasks[0].ended.wait(HEARING)
