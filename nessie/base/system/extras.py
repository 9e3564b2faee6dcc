"""The extras of setup.cfg: what a part of Nessie needs beyond what is always installed."""
from __future__ import annotations


def install(extra: str) -> str:
    """Return the words that say how to install an extra."""
    return f"in a clone of Nessie: pip install '.[{extra}]'"
