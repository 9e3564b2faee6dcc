"""What is to be done when this process ends, by itself or by a signal: `atexit` knows nothing of signals.

    at_end      this is to be done, unless it has been done by then
    do_now      it is done before
    forget      it need not be done
    end         do all of it
    aside       it is done before, by a thread of its own, for the garbage collector
    with_owner  it is done aside when nobody has an object any more

A child that this process forks has nothing of it to do.
"""
from __future__ import annotations

import atexit
from _thread import LockType, allocate_lock, start_new_thread
from collections.abc import Callable
from contextlib import suppress
from time import monotonic
from typing import Any, TypeVar
from weakref import finalize

from nessie.base.system.forking import anew_in_children

Owner = TypeVar("Owner")

PATIENCE = 30.0                 # seconds that the end of the process waits for what is done aside

_due: list[Callable[[], object]] = []
_doing: set[LockType] = set()   # each is held while something is done aside


def at_end(action: Callable[[], object]) -> Callable[[], object]:
    _due.append(action)
    return action


def do_now(action: Callable[[], object]) -> None:
    """Do it, unless it has been done, or another process is to do it."""
    if forget(action):
        action()


def forget(action: Callable[[], object]) -> bool:
    """It has been done. Was it to be done?"""
    try:
        _due.remove(action)
    except ValueError:
        return False
    return True


def aside(action: Callable[[], object]) -> None:
    """What `at_end` was asked for is done now, by another thread. Garbage is collected in any thread, whatever locks it
    holds, even while it starts: there, nothing may wait for a thread or for a lock. `threading`, which has locks of its
    own, does not start the other one. The end of the process waits for it, or does what no thread could be had for."""
    if action not in _due:                      # it has been done
        return
    doing = allocate_lock()
    doing.acquire()

    def work() -> None:
        try:
            with suppress(Exception):
                do_now(action)
        finally:
            _doing.discard(doing)
            doing.release()

    _doing.add(doing)
    try:
        start_new_thread(work, ())
    except BaseException as error:
        _doing.discard(doing)
        if not isinstance(error, RuntimeError):     # none starts as the process ends
            raise


def with_owner(owner: Owner, action: Callable[[], object]) -> finalize[Any, Owner]:
    """This is to be done when nobody has the owner any more, by another thread, or in the end."""
    release = finalize(owner, aside, at_end(action))
    release.atexit = False
    return release


@atexit.register
def end() -> None:
    """What was asked for last is done first. What fails keeps nothing else from being done."""
    while _due:
        with suppress(Exception):
            _due.pop()()
    until = monotonic() + PATIENCE
    for doing in [*_doing]:
        doing.acquire(timeout=max(0.0, until - monotonic()))


@anew_in_children
def of_nobody() -> None:
    _due.clear()
    _doing.clear()
