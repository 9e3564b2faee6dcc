"""What is to be done when this process ends, by itself or by a signal: `atexit` knows nothing of signals.

    at_end      this is to be done, unless it has been done by then
    do_now      it is done before
    forget      it need not be done
    end         do all of it
    aside       do something now, by a thread of its own, for the garbage collector

A child that this process forks has nothing of it to do.
"""
from __future__ import annotations

import atexit
from _thread import allocate_lock, start_new_thread
from collections.abc import Callable
from contextlib import suppress

from nessie.base.system.forking import anew_in_children

PATIENCE = 30.0                 # seconds that the end of the process waits for what is done aside

_due: list[Callable[[], object]] = []


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
    """Garbage is collected in any thread, whatever locks it holds, even while it starts. What is to be done then and
    waits for a thread or for a lock is done by another thread, which `threading`, that has locks of its own, does not
    start. The end of the process waits for it."""
    done = allocate_lock()
    done.acquire()

    def work() -> None:
        try:
            with suppress(Exception):
                action()
        finally:
            done.release()
            atexit.unregister(done.acquire)

    with suppress(RuntimeError):                # none starts as the process ends
        start_new_thread(work, ())
        atexit.register(done.acquire, True, PATIENCE)


@atexit.register
def end() -> None:
    """What was asked for last is done first. What fails keeps nothing else from being done."""
    while _due:
        with suppress(Exception):
            _due.pop()()


anew_in_children(_due.clear)
