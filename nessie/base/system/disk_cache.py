"""Object code, and whatever else takes long to make, kept on disk from run to run, under the user's cache folder.

A file is named by what it was made from, and holds before the code a checksum of its name and the code; a file that
does not fit its checksum, under another's name too, is made again. Files are written beside their place and moved
there, so another process sees all of a file or nothing. Only regular files are read that belong to the user and that
nobody else can write to, from a folder of which the same is true. Where the folder grows too large, its oldest files
go: one write in 64 looks.
"""
from __future__ import annotations

import hashlib
import os
import stat
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import lru_cache
from pathlib import Path

from nessie.base.system.writing import UNFINISHED, replace_file

MAGIC = b"nessie object 2\n"
KEPT = ".o"                             # what the names of its files end in; others are left alone
MOST_BYTES, MOST_FILES = 256 << 20, 4096
OTHERS = stat.S_IWGRP | stat.S_IWOTH
NOT_WAITING = sum(getattr(os, name, 0) for name in ("O_NOFOLLOW", "O_NONBLOCK", "O_BINARY"))     # and no links
TRIMMING = 4                            # of the 256 first bytes that a name may have


def cached(source: str, made_for: str, build: Callable[[str], bytes]) -> bytes:
    """build(source), or what an earlier run built for the same machine."""
    key = f"{made_for}\n{source}"
    code = find(key)
    if code is None:
        code = build(source)
        keep(key, code)
    return code


def find(key: str) -> bytes | None:
    """The value kept under this key; None if there is none."""
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
    """The folder, made if need be; None, with a warning, where there can be none or others could write to it."""
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
    """The reason not to trust this folder or file; empty if there is none."""
    if not hasattr(os, "getuid"):
        return ""
    if status.st_uid != os.getuid():
        return f"{what} belongs to another user"
    return f"others may write to {what}" if status.st_mode & OTHERS else ""


def read(path: Path) -> bytes | None:
    """The code in the file; None if there is none, or it is damaged."""
    try:
        content = content_of(path)
    except OSError:
        return None
    start = len(MAGIC) + hashlib.sha256().digest_size
    found, code = content[len(MAGIC):start], content[start:]
    return code if content.startswith(MAGIC) and checksum(path, code) == found else None


def content_of(path: Path) -> bytes:
    """The contents of a file that is the user's alone. OSError where there is none: a link or a pipe is none."""
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
    """A digest of the code and of what it was made from; the file's name."""
    return hashlib.sha256(path.name.encode() + b"\n" + code).digest()


def write(path: Path, code: bytes) -> None:
    """Keeps the code, if the disk lets us: a full or read-only disk only makes the next run slower."""
    with suppress(OSError):
        replace_file(str(path), MAGIC + checksum(path, code) + code)
        if int(path.name[:2], 16) < TRIMMING:
            trim(path.parent)


def trim(folder: Path) -> None:
    """Removes the oldest files of code beyond what is kept. Another process may be doing the same."""
    found = []
    for entry in os.scandir(folder):
        if entry.name.endswith((KEPT, UNFINISHED)):
            with suppress(OSError):
                status = entry.stat(follow_symlinks=False)
                found.append((status.st_mtime_ns, status.st_size, entry.path))
    held = 0
    for number, (_, size, name) in enumerate(sorted(found, reverse=True)):
        held += size
        if number >= MOST_FILES or held > MOST_BYTES:
            with suppress(OSError):
                os.unlink(name)
