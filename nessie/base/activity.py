"""What is being done at present, for who watches from another thread: passes of the compiler, then launches."""
from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from nessie.base.records import dataclass


@dataclass
class Activity:
    """`doing` says what is being done, empty: nothing that takes the computer's time; `launches` how many kernels the
    run has launched so far, if one runs."""
    doing: str = ""
    launches: Callable[[], int] | None = None

    def begin(self, doing: str, launches: Callable[[], int] | None = None) -> None:
        self.doing, self.launches = doing, launches

    @contextmanager
    def paused(self) -> Iterator[None]:
        """While the body waits for somebody else."""
        doing, self.doing = self.doing, ""
        try:
            yield
        finally:
            self.doing = doing

    def __str__(self) -> str:
        doing = self.doing
        count = self.launches() if self.launches and doing else 0
        return f"{doing}, {count:,} launch{'es' * (count > 1)}" if count else doing
