"""What is to be done when this process ends, by itself or by a signal: `atexit` knows nothing of signals.

    at_end      this is to be done, unless it has been done by then
    end         do all of it
"""
from __future__ import annotations

import atexit
from collections.abc import Callable
from contextlib import suppress

_due: list[Callable[[], object]] = []


def at_end(action: Callable[[], object]) -> Callable[[], object]:
    _due.append(action)
    return action


def forget(action: Callable[[], object]) -> None:
    """It has been done."""
    with suppress(ValueError):
        _due.remove(action)


@atexit.register
def end() -> None:
    """What was asked for last is done first. What fails keeps nothing else from being done."""
    while _due:
        with suppress(Exception):
            _due.pop()()
