"""Completes names of files that have been partly typed."""
from __future__ import annotations

import os


def files(typed: str, ending: str = "") -> list[str]:
    """Return the paths that begin so: folders, and files whose names have this ending."""
    folder, name = os.path.split(typed)
    try:
        with os.scandir(folder or ".") as entries:
            found = [entry.name + "/" * entry.is_dir() for entry in entries if entry.name.startswith(name)
                     and (entry.is_dir() or entry.name.endswith(ending))
                     and (name.startswith(".") or not entry.name.startswith("."))]
    except (OSError, ValueError):
        return []
    return sorted(os.path.join(folder, name) for name in found)
