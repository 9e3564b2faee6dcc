"""Recursion as deep as programs are: passes recurse over trees, and trees may be 10 000 levels deep.

Passes recurse from Python to Python only: into list comprehensions, not generators, `map` or `__call__`. From 3.12 on,
Python bounds recursion through its C code, whatever the recursion limit says; that takes in ==, hash and repr of trees.

Ctrl-C reaches the caller, who then ends the work: what runs where Python's exceptions do not reach has said how, with
`interruptible`; other work gets a KeyboardInterrupt.
"""
from __future__ import annotations

import ctypes
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from nessie.base.source import NessieError

T = TypeVar("T")

STACK_BYTES = 1 << 30           # address space only: pages are taken as the recursion reaches them
RECURSION_LIMIT = 1_000_000
PATIENCE = 3                    # so many Ctrl-Cs, and the work is left to itself

_thread = threading.local()     # `deep`: this thread has a large stack
_lock = threading.Lock()
_interrupts: list[tuple[int | None, Callable[[], None]]] = []      # with the threads that they are for
_running = 0                    # threads with large stacks, for which the recursion limit is high
_usual_limit = 0                # what it was before them


def run_deep(work: Callable[[], T]) -> T:
    """work(), on a thread with a large stack (this one, if its stack is large). Exceptions come out as they are."""
    if getattr(_thread, "deep", False):
        return work()
    outcome: list[T] = []
    failure: list[BaseException] = []

    def body() -> None:
        _thread.deep = True
        try:
            outcome.append(work())
        except BaseException as error:      # re-raised below, in the caller's thread
            failure.append(error)
        finally:
            ended.set()

    ended = threading.Event()               # joining a thread cannot be taken up again after a Ctrl-C
    with deep_recursion():
        wait_for(ended, started(body))
    if failure:
        raise failure[0]
    return outcome[0]


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


def wait_for(ended: threading.Event, thread: threading.Thread) -> None:
    """Until the work ends. The first Ctrl-C asks it to, the next ones insist."""
    for attempt in range(PATIENCE + 1):
        try:
            ended.wait()
            return
        except KeyboardInterrupt:
            if attempt == PATIENCE:
                raise
            asked = [interrupt for number, interrupt in list(_interrupts) if number == thread.ident]
            for interrupt in asked:
                interrupt()
            if attempt > 0 or not asked:
                ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread.ident or 0),
                                                           ctypes.py_object(KeyboardInterrupt))
