"""The signals of the command `nessie`.

While work is in hand, Ctrl-C (SIGINT), SIGTERM and SIGHUP end it, which removes what it has written half; at all other
times, and in the end, they do to the process what they do by default. So whoever started it sees of which signal it
died; a shell tells of 128 and the signal's number. What is ignored, as by nohup, stays so.
"""
from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType

ENDING = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))
DIED = 128                      # and the signal's number: the status of what died of it
BROKEN_PIPE = DIED + signal.SIGPIPE if hasattr(signal, "SIGPIPE") else 0

_received: list[int] = []


@contextmanager
def heard(numbers: tuple[int, ...] = ENDING) -> Iterator[None]:
    """While the body runs, each of these signals that would end the process is a KeyboardInterrupt."""
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
    """The exit status of a process that was interrupted."""
    return DIED + (_received[-1] if _received else signal.SIGINT)


def by_hand() -> bool:
    """Was it a Ctrl-C?"""
    return status() == DIED + signal.SIGINT


def leave(ended_with: int, at_once: bool) -> int:
    """The exit status, unless the process dies here: of the signal that has ended its work, or `at_once`, whatever
    other threads do."""
    if ended_with > DIED:
        with suppress(ValueError, OSError):
            signal.signal(ended_with - DIED, signal.SIG_DFL)
            os.kill(os.getpid(), ended_with - DIED)
    if at_once or ended_with > DIED:
        with suppress(OSError, ValueError):
            sys.stderr.flush()
        os._exit(ended_with)
    return ended_with
