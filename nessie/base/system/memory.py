"""Counts memory before it is taken."""
from __future__ import annotations

from nessie.base.records import dataclass
from nessie.base.source import NessieError
from nessie.base.system.limits import out_of_memory


@dataclass
class MemoryBudget:
    """Bytes that may be taken (None: any number); `hint` tells how to set the limit. `used`: the bytes taken. `mapped`:
    arrays that files hold as memory would are not read, and take nothing."""
    limit: int | None = None
    hint: str = ""
    used: int = 0
    mapped: bool = False

    def take(self, size: int, what: str) -> None:
        """Count so many bytes for `what`; raise NessieError if that exceeds the limit."""
        if self.limit is not None and self.used + size > self.limit:
            raise NessieError(f"{what}: {out_of_memory(size, self.used, self.limit)}", hint=self.hint)
        self.used += size

    def give(self, size: int) -> None:
        """Return so many bytes."""
        self.used -= size
