"""How many random programs, texts and orders the slow tests try."""
from __future__ import annotations

import os

NIGHTLY = 20                    # times as many, where NESSIE_TESTS is nightly


def many(count: int) -> int:
    """So many, or NIGHTLY times as many."""
    return count * (NIGHTLY if os.environ.get("NESSIE_TESTS") == "nightly" else 1)
