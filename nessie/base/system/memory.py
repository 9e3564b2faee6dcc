"""Memory that something may take, counted before it is taken."""
from __future__ import annotations

from nessie.base.records import dataclass
from nessie.base.source import NessieError
from nessie.base.system.limits import out_of_memory


@dataclass
class MemoryBudget:
    """Bytes that may be taken, None: any number; `hint` says how to set that. `used`: what has been taken."""
    limit: int | None = None
    hint: str = ""
    used: int = 0

    def take(self, size: int, what: str) -> None:
        """Count bytes that are about to be made of `what`; NessieError where that is more than is allowed."""
        if self.limit is not None and self.used + size > self.limit:
            raise NessieError(f"{what}: {out_of_memory(size, self.used, self.limit)}", hint=self.hint)
        self.used += size

    def give(self, size: int) -> None:
        """Take bytes that are free again off the count."""
        self.used -= size
