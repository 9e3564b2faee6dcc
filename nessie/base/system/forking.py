"""Processes that are forked off while other threads are at work (`os.fork` in a program that uses Nessie).

The child has the thread that forked, alone, and every lock as it was: one that another thread held is never given
back, an import's among them. So the locks of what is long, or whose data would be left half done, are taken before,
outermost first (`across_forks`): a fork waits for who has them. The others are made anew in the child
(`anew_in_children`).

What a call needs is imported before it is done, or while STEADY is held.
"""
from __future__ import annotations

import os
import threading
from collections.abc import Callable
from functools import cached_property as _cached_property
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

if TYPE_CHECKING:
    from functools import cached_property
else:
    class cached_property(_cached_property):
        """A cached property as in the standard library, which until Python 3.11 has a lock for all objects of the
        class."""

        def __get__(self, instance: Any, owner: Any = None) -> Any:
            if instance is None:
                return self
            found = vars(instance)[self.attrname] = self.func(instance)
            return found

__all__ = ["STEADY", "across_forks", "anew_in_children", "cached_property"]


class Lock(Protocol):
    def acquire(self) -> Any: ...

    def release(self) -> Any: ...


L = TypeVar("L", bound=Lock)

_locks: list[Lock] = []
_last: list[Lock] = []


def across_forks(lock: L, last: bool = False) -> L:
    """The lock, which no thread holds while another one forks. Who holds it may ask for one that has been named after
    it, not before. `last`: who holds it asks for none."""
    (_last if last else _locks).append(lock)
    return lock


def _take() -> None:
    for lock in [*_locks, *_last]:
        lock.acquire()


def _give_back() -> None:
    for lock in [*reversed(_last), *reversed(_locks)]:
        lock.release()


def anew_in_children(work: Callable[[], None]) -> Callable[[], None]:
    """The function, which each child calls, once it is there, to make what belonged to other threads anew."""
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=work)
    return work


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_take, after_in_parent=_give_back, after_in_child=_give_back)

STEADY = across_forks(threading.RLock())        # held while modules are imported and programs compiled
