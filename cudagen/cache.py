"""Object code, and whatever else takes long to make, kept on disk from run to run, under the user's cache folder.

A file is named by what it was made from, and holds a checksum before the code; a file that does not fit its checksum
is made again. Files are written beside their place and moved there, so another process sees all of a file or nothing.
Code is only loaded from a folder that nobody but the user can write to. Where the folder grows too large, its oldest
files go: one write in 64 looks.
"""
from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import lru_cache
from pathlib import Path

MAGIC = b"nessie object 1\n"
KEPT = ".o"                             # what the names of its files end in; others are left alone
MOST_BYTES, MOST_FILES = 256 << 20, 4096
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
    """What was kept under this key; None if there is nothing."""
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
        problem = unsafe(folder)
    except (OSError, RuntimeError) as error:
        problem = str(error)
    if problem:
        print(f"warning: compiled code is not kept: {problem}", file=sys.stderr)
        return None
    return folder


def unsafe(folder: Path) -> str:
    """Why code from this folder should not be trusted; empty if it may."""
    if not hasattr(os, "getuid"):
        return ""
    status = folder.stat()
    if status.st_uid != os.getuid():
        return f"{folder} belongs to another user"
    if status.st_mode & 0o022:
        return f"others may write to {folder}"
    return ""


def read(path: Path) -> bytes | None:
    """The code in the file; None if there is none, or it is damaged."""
    try:
        content = path.read_bytes()
    except OSError:
        return None
    start = len(MAGIC) + hashlib.sha256().digest_size
    checksum, code = content[len(MAGIC):start], content[start:]
    return code if content.startswith(MAGIC) and hashlib.sha256(code).digest() == checksum else None


def write(path: Path, code: bytes) -> None:
    """Keeps the code, if the disk lets us: a full or read-only disk only makes the next run slower."""
    with suppress(OSError):
        replace_file(path, MAGIC + hashlib.sha256(code).digest() + code)
        if int(path.name[:2], 16) < TRIMMING:
            trim(path.parent)


def replace_file(path: Path, content: bytes) -> None:
    """Writes the file at once: other processes see what it was or what it is. OSError where that cannot be."""
    import tempfile  # only where something is written
    handle, name = tempfile.mkstemp(dir=path.parent, suffix=KEPT)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise


def trim(folder: Path) -> None:
    """Removes the oldest files of code beyond what is kept. Another process may be doing the same."""
    found = []
    for entry in os.scandir(folder):
        if not entry.name.endswith(KEPT):
            continue
        with suppress(FileNotFoundError):
            status = entry.stat()
            found.append((status.st_mtime_ns, status.st_size, entry.path))
    held = 0
    for number, (_, size, name) in enumerate(sorted(found, reverse=True)):
        held += size
        if number >= MOST_FILES or held > MOST_BYTES:
            with suppress(FileNotFoundError):
                os.unlink(name)
