"""The time that work may take, all of it: reading arguments, compiling, running, showing results.

    run_deep(work, Deadline(seconds, hint))         (nessie.base.system.deep)

Who works for long looks at the `deadline()` now and then and raises its error, which says where the program was. All
other work gets TimeIsUp, from the thread that waits for it, as it gets a KeyboardInterrupt after Ctrl-C.
"""
from __future__ import annotations

import math
import threading
import time

from nessie.base.source import NessieError, Span


class TimeIsUp(BaseException):
    """The work's time; not an Exception, so that nothing on the way takes it for a failure of its own."""


class Deadline:
    """A deadline this many seconds from now; `hint` says how to set it. `places`: of what is being done, for who cannot
    tell; `told`: its error is on its way."""

    def __init__(self, seconds: float, hint: str) -> None:
        self.seconds, self.hint = seconds, hint
        self.begin()

    def begin(self, *places: tuple[Span, str]) -> None:
        """Begin the work at this place, which may take as long again."""
        self.end, self.told, self.places = time.monotonic() + self.seconds, False, places

    def passed(self) -> bool:
        return time.monotonic() >= self.end

    def error(self, *places: tuple[Span, str]) -> NessieError:
        self.told = True
        return NessieError(f"it took longer than {self.seconds:g} s", *(places or self.places), hint=self.hint)

    def left(self) -> float | None:
        """Seconds, 0 at least; None: any number."""
        return None if self.end == math.inf else max(0.0, self.end - time.monotonic())


NEVER = Deadline(math.inf, "")
_thread = threading.local()


def deadline() -> Deadline:
    """The deadline of the work that this thread does."""
    found: Deadline = getattr(_thread, "deadline", NEVER)
    return found


def set_deadline(limit: Deadline) -> None:
    _thread.deadline = limit
