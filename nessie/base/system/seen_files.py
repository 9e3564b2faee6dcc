"""Files that several processes look at, on one machine or on many: what lies at a path may be the same file for all of
them, another one, or nothing.
"""
from __future__ import annotations

import os
from hashlib import blake2b

from nessie.base.records import dataclass
from nessie.base.source import NessieError

ENDS = 1 << 12                  # bytes at a file's begin, and at its end, that are compared
DIGEST = 16                     # bytes


@dataclass(frozen=True)
class Seen:
    """A file as somebody has seen it: its bytes, when it was changed (ns), and a digest of its first and last bytes."""
    path: str
    size: int
    changed: int
    ends: bytes


def look(path: str) -> Seen | None:
    """What is seen of the file. None: there is none that can be read."""
    path = os.path.abspath(path)
    try:
        with open(path, "rb") as file:
            found, digest = os.fstat(file.fileno()), blake2b(digest_size=DIGEST)
            digest.update(file.read(ENDS))
            file.seek(max(0, found.st_size - ENDS))
            digest.update(file.read(ENDS))
    except OSError:
        return None
    return Seen(path, found.st_size, found.st_mtime_ns, digest.digest())


def is_there(file: Seen) -> bool:
    """Is this file seen here, too?"""
    return look(file.path) == file


def refuse_other(file: Seen) -> None:
    """NessieError if another file is seen here, or none."""
    if not is_there(file):
        raise NessieError(f"{file.path} is not what it was when it was opened: it has changed, or a worker on another "
                          "machine does not see it; run the program again when it stays the same for all of them")
