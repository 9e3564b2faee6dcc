"""The cache on disk: object code, and other results that take long to make, in the user's cache folder.

A file's name is a digest of its input. The file holds a checksum of its name and the code, then the code; a file that
does not fit its checksum, for example under another's name, is made again. Files are written beside their place and
moved there, so another process sees all of a file or nothing. The cache reads only regular files that belong to the
user and that nobody else can write to, from a folder with the same properties. If the folder grows too large, its
oldest files go: one write in 64 checks this.
"""
from __future__ import annotations

import hashlib
import os
import stat
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from nessie.base.system.unfinished import ENDING
from nessie.base.system.writing import replace_file

MAGIC = b"nessie object 2\n"
KEPT = ".o"                             # the ending of the cache's files; other files are left alone
MOST_BYTES, MOST_FILES = 256 << 20, 4096
OTHERS = stat.S_IWGRP | stat.S_IWOTH
NOT_WAITING = sum(getattr(os, name, 0) for name in ("O_NOFOLLOW", "O_NONBLOCK", "O_BINARY"))     # and no links
TRIMMING = 4                            # a write trims if the first byte of its name is below this: one in 64


def cached(source: str, made_for: str, build: Callable[[str], bytes]) -> bytes:
    """Return build(source), or the result of an earlier run for the same machine."""
    key = f"{made_for}\n{source}"
    code = find(key)
    if code is None:
        code = build(source)
        keep(key, code)
    return code


def find(key: str) -> bytes | None:
    """Return the entry under this key; None if there is none."""
    path = path_of(key)
    return read(path) if path else None


def keep(key: str, code: bytes) -> None:
    path = path_of(key)
    if path:
        write(path, code)


def path_of(key: str) -> Path | None:
    folder = cache_folder(os.environ.get("XDG_CACHE_HOME", ""))
    return folder / f"{hashlib.sha256(key.encode()).hexdigest()}{KEPT}" if folder else None


@lru_cache(maxsize=8)
def cache_folder(base: str) -> Path | None:
    """Return the folder, made if need be; None, with a warning, if it cannot be made or others could write to it."""
    try:
        folder = (Path(base) if base else Path.home() / ".cache") / "nessie"
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        problem = unsafe(folder, folder.stat())
    except (OSError, RuntimeError) as error:
        problem = str(error)
    if problem:
        print(f"warning: compiled code is not kept: {problem}", file=sys.stderr)
        return None
    return folder


def unsafe(what: Path, status: os.stat_result) -> str:
    """Return the reason not to trust this folder or file; empty if it is safe."""
    if not hasattr(os, "getuid"):
        return ""
    if status.st_uid != os.getuid():
        return f"{what} belongs to another user"
    return f"others may write to {what}" if status.st_mode & OTHERS else ""


def read(path: Path) -> bytes | None:
    """Return the code in the file; None if there is none, or it is damaged."""
    try:
        content = content_of(path)
    except OSError:
        return None
    start = len(MAGIC) + hashlib.sha256().digest_size
    found, code = content[len(MAGIC):start], content[start:]
    return code if content.startswith(MAGIC) and checksum(path, code) == found else None


def content_of(path: Path) -> bytes:
    """Return the content of a regular file that belongs to the user alone. OSError otherwise, as for a link or a
    pipe."""
    handle = os.open(path, os.O_RDONLY | NOT_WAITING)
    try:
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode) or unsafe(path, status) or status.st_size > MOST_BYTES:
            raise PermissionError
        with open(handle, "rb", buffering=0, closefd=False) as file:
            return file.read()
    finally:
        os.close(handle)


def checksum(path: Path, code: bytes) -> bytes:
    """Return a checksum of the code and of its input, which the file's name is a digest of."""
    return hashlib.sha256(path.name.encode() + b"\n" + code).digest()


def write(path: Path, code: bytes) -> None:
    """Keep the code if the disk allows it: a full or read-only disk only makes the next run slower."""
    with suppress(OSError):
        replace_file(str(path), MAGIC + checksum(path, code) + code)
        if int(path.name[:2], 16) < TRIMMING:
            trim(path.parent)


def trim(folder: Path) -> None:
    """Remove the oldest files of code beyond the limit. Another process may be doing the same."""
    held = 0
    for number, entry in enumerate(sorted(entries(folder), reverse=True)):
        held += entry.size
        if number >= MOST_FILES or held > MOST_BYTES:
            remove(entry)


class Entry(NamedTuple):
    """A file of the cache: when it was written, in nanoseconds, its bytes, and its path."""
    written: int
    size: int
    path: str


def entries(folder: Path) -> Iterator[Entry]:
    """Yield the cache's files in the folder, in no order; files of others are left out."""
    for found in os.scandir(folder):
        if found.name.endswith((KEPT, ENDING)):
            with suppress(OSError):
                status = found.stat(follow_symlinks=False)
                yield Entry(status.st_mtime_ns, status.st_size, found.path)


def remove(entry: Entry) -> bool:
    """Remove the file; return whether it could be removed."""
    with suppress(OSError):
        os.unlink(entry.path)
        return True
    return False
