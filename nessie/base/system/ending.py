"""What is to be done when this process ends, by itself or by a signal: `atexit` knows nothing of signals.

    at_end      this is to be done, unless it has been done by then
    do_now      it is done before
    forget      it need not be done
    end         do all of it

A child that this process forks has nothing of it to do.
"""
from __future__ import annotations

import atexit
from collections.abc import Callable
from contextlib import suppress

from nessie.base.system.forking import anew_in_children

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


@atexit.register
def end() -> None:
    """What was asked for last is done first. What fails keeps nothing else from being done."""
    while _due:
        with suppress(Exception):
            _due.pop()()


anew_in_children(_due.clear)
