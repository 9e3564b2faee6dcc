"""Handles signals for the command `nessie`.

While work is going on, Ctrl-C (SIGINT), SIGTERM and SIGHUP end the work, which removes its half-written files. At all
other times, and in the end, the signals have their default effect on the process. So the parent process sees which
signal ended it; a shell reports 128 plus the signal's number. An ignored signal, as under nohup, stays ignored.
"""
from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType

from nessie.base.system.ending import end

ENDING = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))
DIED = 128                      # plus the signal's number: the status of a process that a signal ended
BROKEN_PIPE = DIED + signal.SIGPIPE if hasattr(signal, "SIGPIPE") else 0

_received: list[int] = []


@contextmanager
def heard(numbers: tuple[int, ...] = ENDING) -> Iterator[None]:
    """Turn each of these signals that would end the process into a KeyboardInterrupt while the body runs."""
    main = threading.current_thread() is threading.main_thread()
    taken = [number for number in numbers if main and signal.getsignal(number) == signal.SIG_DFL]
    for number in taken:
        signal.signal(number, interrupt)
    try:
        yield
    finally:
        for number in taken:
            signal.signal(number, signal.SIG_DFL)


def interrupt(number: int, frame: FrameType | None) -> None:
    _received.append(number)
    raise KeyboardInterrupt


def status() -> int:
    """The exit status of an interrupted process."""
    return DIED + (_received[-1] if _received else signal.SIGINT)


def by_hand() -> bool:
    """Whether the interrupt was a Ctrl-C."""
    return status() == DIED + signal.SIGINT


def leave(ended_with: int, at_once: bool) -> int:
    """Return the exit status, unless the process ends here: by the signal that has ended its work, or `at_once`,
    whatever other threads do."""
    if at_once or ended_with > DIED:
        end()
    if ended_with > DIED:
        with suppress(ValueError, OSError):
            signal.signal(ended_with - DIED, signal.SIG_DFL)
            os.kill(os.getpid(), ended_with - DIED)
    if at_once or ended_with > DIED:
        with suppress(OSError, ValueError):
            sys.stderr.flush()
        os._exit(ended_with)
    return ended_with
