"""Arrays in files, which memory maps: pages are read when they are looked at, and other processes map the same file."""
from __future__ import annotations

import os
import weakref
from functools import partial
from tempfile import mkstemp
from typing import Any, Literal

import numpy as np

from nessie.base.records import dataclass
from nessie.base.system.ending import at_end, do_now
from nessie.base.system.unfinished import removed

MAPS = "/proc/self/maps"

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Place:
    """`count` elements in a file, from this byte on."""
    path: str
    offset: int
    dtype: str
    count: int

    def array(self) -> Array:
        if not self.count:
            return np.empty(0, self.dtype)
        return np.memmap(self.path, self.dtype, "r", self.offset, (self.count,))

    def has(self, values: Array) -> bool:
        """Are the values, which memory maps, of the file that is at the path now?"""
        there = file_behind(self.array())
        return there is not None and there == file_behind(values)


class NewFile:
    """An empty file, in this folder or where there are files for a while, which goes when nobody has this or what is
    mapped of it in the process that made it."""

    def __init__(self, folder: str | None = None) -> None:
        handle, self.path = mkstemp(prefix=".nessie-" if folder else "nessie-", dir=folder)
        os.close(handle)
        weakref.finalize(self, do_now, at_end(partial(removed, self.path)))


def mapped(file: NewFile, dtype: Any, count: int, mode: Literal["r", "c"] = "r") -> Array:
    """All of a file's elements."""
    if not count:
        return np.empty(0, dtype)
    found = np.memmap(file.path, dtype, mode, 0, (count,))
    found.owner = file                      # type: ignore[attr-defined]
    return found


def file_behind(values: Array) -> tuple[str, str] | None:
    """Device and inode of the file that memory maps at the values, where the system tells this (Linux)."""
    if not os.path.exists(MAPS):
        return None
    address = values.ctypes.data
    with open(MAPS, encoding="utf-8", errors="replace") as maps:
        for line in maps:
            span, _, _, device, inode, *_ = line.split(maxsplit=5)
            low, high = [int(end, 16) for end in span.split("-")]
            if low <= address < high:
                return (device, inode) if inode != "0" else None
    return None


def place_of(values: Array, modes: str = "r") -> Place | None:
    """Where the values lie, if a file is mapped in one of these modes, as np.load(..., mmap_mode="r") does it."""
    owner: Any = values
    while owner is not None and not isinstance(owner, np.memmap):
        owner = getattr(owner, "base", None)
    while owner is not None and isinstance(owner.base, np.memmap):
        owner = owner.base
    if owner is None or owner.filename is None or owner.mode not in modes or not values.flags.c_contiguous:
        return None
    return Place(str(owner.filename), int(owner.offset + values.ctypes.data - owner.ctypes.data), values.dtype.str,
                  values.size)
