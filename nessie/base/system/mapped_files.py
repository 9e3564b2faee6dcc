"""Arrays in files, which memory maps: pages are read when they are looked at, and other processes map the same file."""
from __future__ import annotations

import os
import weakref
from contextlib import suppress
from tempfile import mkstemp
from typing import Any, Literal

import numpy as np

from nessie.base.records import dataclass

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


def new_file() -> str:
    """The path of an empty file."""
    handle, path = mkstemp(prefix="nessie-")
    os.close(handle)
    return path


def mapped(path: str, dtype: Any, count: int, mode: Literal["r", "c"] = "r") -> Array:
    """All of a file's elements. The file goes when nobody has any of them."""
    if not count:
        removed(path)
        return np.empty(0, dtype)
    found = np.memmap(path, dtype, mode, 0, (count,))
    weakref.finalize(found, removed, path)
    return found


def removed(path: str) -> None:
    with suppress(FileNotFoundError):
        os.unlink(path)


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
