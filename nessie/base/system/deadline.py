"""The deadline of all work: reading the input, compiling, running, showing the result.

    run_deep(work, Deadline(seconds, hint))         (nessie.base.system.deep)

Long work looks at the `deadline()` now and then and raises its error, which tells where the program was. The thread
that waits sends TimeIsUp to all other work, as it sends a KeyboardInterrupt after Ctrl-C.
"""
from __future__ import annotations

import math
import threading
import time

from nessie.base.source import NessieError, Span


class TimeIsUp(BaseException):
    """The end of the work's time. It is not an Exception, so that no handler on the way takes it for a failure of its
    own."""


class Deadline:
    """A deadline so many seconds from now; `hint` tells how to set it. `places`: those of the current work, for code
    that does not know them; `told`: its error has been raised."""

    def __init__(self, seconds: float, hint: str) -> None:
        self.seconds, self.hint = seconds, hint
        self.begin()

    def begin(self, *places: tuple[Span, str]) -> None:
        """Start the time anew, for the work at these places."""
        self.end, self.told, self.places = time.monotonic() + self.seconds, False, places

    def passed(self) -> bool:
        return time.monotonic() >= self.end

    def error(self, *places: tuple[Span, str]) -> NessieError:
        self.told = True
        return NessieError(f"it took longer than {self.seconds:g} s", *(places or self.places), hint=self.hint)

    def left(self) -> float | None:
        """Return the seconds left, 0 at least; None means no limit."""
        return None if self.end == math.inf else max(0.0, self.end - time.monotonic())


NEVER = Deadline(math.inf, "")
_thread = threading.local()


def deadline() -> Deadline:
    """Return the deadline of this thread's work."""
    found: Deadline = getattr(_thread, "deadline", NEVER)
    return found


def set_deadline(limit: Deadline) -> None:
    _thread.deadline = limit
