"""Recursion as deep as programs are: passes recurse over trees, and trees may be 10 000 levels deep.

Passes recurse from Python to Python only: into list comprehensions, not generators, `map` or `__call__`. From 3.12 on,
Python bounds recursion through its C code, whatever the recursion limit says; that takes in ==, hash and repr of trees.

Ctrl-C reaches the caller, who then ends the work: what runs where Python's exceptions do not reach has said how, with
`interruptible`; other work gets a KeyboardInterrupt.

A thread that has done its work waits for more, as starting one takes as long as a small call. One that was at work for
long, or was given a KeyboardInterrupt, ends: so stacks that were filled are given back, and no exception comes late.
"""
from __future__ import annotations

import ctypes
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from queue import SimpleQueue
from typing import TypeVar

from nessie.base.source import NessieError

T = TypeVar("T")

STACK_BYTES = 1 << 30           # address space only: pages are taken as the recursion reaches them
RECURSION_LIMIT = 1_000_000
PATIENCE = 3                    # so many Ctrl-Cs, and the work is left to itself
MOST_IDLE = 4                   # threads that wait
HEARING = 0.1                   # seconds after which a Ctrl-C is heard that did not wake the thread that waits
LONG = 0.05                     # seconds of work beside which starting a thread is nothing

_thread = threading.local()     # `deep`: this thread has a large stack
_lock = threading.Lock()
_interrupts: list[tuple[int | None, Callable[[], None]]] = []      # with the threads that they are for
_running = 0                    # threads with large stacks, for which the recursion limit is high
_usual_limit = 0                # what it was before them
_idle: list[Worker] = []


def run_deep(work: Callable[[], T]) -> T:
    """work(), on a thread with a large stack (this one, if its stack is large). Exceptions come out as they are."""
    if getattr(_thread, "deep", False):
        return work()
    outcome: list[T] = []
    failure: list[BaseException] = []

    def body() -> None:
        try:
            outcome.append(work())
        except BaseException as error:      # re-raised below, in the caller's thread
            failure.append(error)

    with deep_recursion():
        wait_for(given(body))
    if failure:
        raise failure[0]
    return outcome[0]


class Task:
    """Work for a thread. `ended` is an event, as joining cannot be taken up again after a Ctrl-C; `struck`: the thread
    was given a KeyboardInterrupt."""

    def __init__(self, body: Callable[[], None]) -> None:
        self.body, self.ended, self.struck = body, threading.Event(), False
        self.worker: Worker | None = None

    def interrupt(self) -> None:
        with _lock:
            if self.worker is not None and not self.ended.is_set():
                self.struck = True
                ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(self.worker.number),
                                                           ctypes.py_object(KeyboardInterrupt))


class Worker:
    """A thread with a large stack, which does one task after another."""

    def __init__(self) -> None:
        self.tasks: SimpleQueue[Task] = SimpleQueue()
        self.number = started(self.serve).ident or 0

    def serve(self) -> None:
        _thread.deep = True
        try:
            while self.do(self.tasks.get()):
                pass
        except KeyboardInterrupt:           # it came when all was done
            pass

    def do(self, task: Task) -> bool:
        """Does it, and says whether more may come."""
        began = time.monotonic()
        try:
            task.body()
        finally:
            del task.body                   # and all that it holds
            stays = False
            while not task.ended.is_set():
                with suppress(KeyboardInterrupt):       # too late for the work, and the caller still waits
                    stays = self.end(task, time.monotonic() - began)
        return stays

    def end(self, task: Task, seconds: float) -> bool:
        with _lock:
            stays = not task.struck and seconds < LONG and len(_idle) < MOST_IDLE
            if stays:
                _idle.append(self)
            task.ended.set()
        return stays


def given(body: Callable[[], None]) -> Task:
    """The task of running this, which a thread with a large stack has begun."""
    task = Task(body)
    with _lock:
        task.worker = _idle.pop() if _idle else None
    task.worker = task.worker or Worker()
    task.worker.tasks.put(task)
    return task


def alone() -> None:
    """In a process that was forked off, there is but the thread that forked."""
    global _lock, _running
    _lock = threading.Lock()
    if _running:
        sys.setrecursionlimit(_usual_limit)
    _running = 0
    _idle.clear()
    _interrupts.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=alone)


@contextmanager
def deep_recursion() -> Iterator[None]:
    """While the body runs, in however many threads, the recursion limit is high."""
    global _running, _usual_limit
    with _lock:
        if _running == 0:
            _usual_limit = sys.getrecursionlimit()
            sys.setrecursionlimit(RECURSION_LIMIT)
        _running += 1
    try:
        yield
    finally:
        with _lock:
            _running -= 1
            if _running == 0:
                sys.setrecursionlimit(_usual_limit)


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
    """If the interrupt left text run by exec, as dataclasses do, Python would die of it after all: another text makes
    it forget."""
    exec("")


def wait_for(task: Task) -> None:
    """Until the work ends. The first Ctrl-C asks it to, the next ones insist."""
    for attempt in range(PATIENCE + 1):
        try:
            while not task.ended.wait(HEARING):
                pass
            return
        except KeyboardInterrupt:
            if attempt == PATIENCE:
                raise
            worker = task.worker
            asked = [interrupt for number, interrupt in list(_interrupts) if worker and number == worker.number]
            for interrupt in asked:
                interrupt()
            if attempt > 0 or not asked:
                task.interrupt()
