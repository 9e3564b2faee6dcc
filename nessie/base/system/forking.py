"""Locks and properties for processes forked while other threads work (`os.fork` in a program that uses Nessie).

The child has only the thread that forked, and every lock as it was: a lock that another thread held, even an import's,
is never released. So a fork first takes the locks of long work, or of data that would be left half done, outermost
first (`across_forks`), and waits for their holders. The child makes the other locks anew (`anew_in_children`, `Turn`).

The modules that a call needs are imported before the call, or while STEADY is held.
"""
from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cached_property as _cached_property
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

if TYPE_CHECKING:
    from functools import cached_property
else:
    class cached_property(_cached_property):
        """The standard library's without its lock, which all objects of the class share until Python 3.11."""

        def __get__(self, instance: Any, owner: Any = None) -> Any:
            if instance is None:
                return self
            found = vars(instance)[self.attrname] = self.func(instance)
            return found

__all__ = ["LOOK", "STEADY", "Turn", "across_forks", "anew_in_children", "cached_property"]

LOOK = 0.2                      # seconds from one look to the next whether what is waited for is interrupted


class Lock(Protocol):
    def acquire(self) -> Any: ...

    def release(self) -> Any: ...


L = TypeVar("L", bound=Lock)

_locks: list[Lock] = []
_last: list[Lock] = []
_taken: list[Lock] = []


def across_forks(lock: L, last: bool = False) -> L:
    """Return the lock; no thread holds it while another one forks. Its holder may ask only for locks named after it.
    `last`: its holder asks for none."""
    (_last if last else _locks).append(lock)
    return lock


def _take() -> None:
    """Takes all locks, also those that the module which another thread is importing adds while this one waits."""
    for locks in (_locks, _last):
        for lock in locks:
            lock.acquire()
            _taken.append(lock)


def _give_back() -> None:
    while _taken:
        _taken.pop().release()


def anew_in_children(work: Callable[[], None]) -> Callable[[], None]:
    """Return the function; each child calls it first, to make anew what belonged to other threads."""
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=work)
    return work


class Turn:
    """A lock, which a thread of a process holds. Who waits for it hears an interrupt; a child has one of its own."""

    def __init__(self) -> None:
        self.process, self.lock = os.getpid(), threading.RLock()

    @contextmanager
    def taken(self) -> Iterator[None]:
        if self.process != os.getpid():
            self.process, self.lock = os.getpid(), threading.RLock()
        lock = self.lock
        try:
            while not lock.acquire(timeout=LOOK):
                pass
            yield
        finally:
            with suppress(RuntimeError):        # an interrupt came before it was this thread's
                lock.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_take, after_in_parent=_give_back, after_in_child=_give_back)

STEADY = across_forks(threading.RLock())        # held while modules are imported and programs compiled
