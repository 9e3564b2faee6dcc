"""The present activity, for a watcher in another thread: passes of the compiler, then launches."""
from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from nessie.base.records import dataclass

DEEP = 100                                      # calls within calls that are worth telling


@dataclass
class Activity:
    """`doing` says what is being done, empty: nothing that takes the computer's time; `launches` how many kernels the
    run has launched so far, if one runs; `calls` how many functions are running in it, and which is the last; `waits`
    what it waits for."""
    doing: str = ""
    launches: Callable[[], int] | None = None
    calls: Callable[[], tuple[int, str]] | None = None
    waits: Callable[[], str] | None = None

    def begin(self, doing: str, launches: Callable[[], int] | None = None,
              calls: Callable[[], tuple[int, str]] | None = None, waits: Callable[[], str] | None = None) -> None:
        self.doing, self.launches, self.calls, self.waits = doing, launches, calls, waits

    @contextmanager
    def paused(self) -> Iterator[None]:
        """While the body waits for somebody else."""
        doing, self.doing = self.doing, ""
        try:
            yield
        finally:
            self.doing = doing

    def __str__(self) -> str:
        if not self.doing:
            return ""
        text = self.doing
        depth, function = self.calls() if self.calls else (0, "")
        if depth >= DEEP:
            text += f", {depth:,} calls deep in {function}"
        count = self.launches() if self.launches else 0
        if count:
            text += f", {count:,} launch{'es' * (count > 1)}"
        awaited = self.waits() if self.waits else ""
        return f"{text}, {awaited}" if awaited else text


def depth_of(calls: Sequence[str]) -> tuple[int, str]:
    """The number of functions that are running, and the last one's name in the source."""
    last = calls[-1:]                           # at once, as there may be none by now
    return len(calls), last[0].removesuffix("^") if last else ""
