"""The history of the prompt, kept from session to session in a file in the user's cache folder.

    # 2026-01-31 12:00:00.000000
    +function inc(x) =
    +  x + 1;

The format is prompt_toolkit's. Sessions that run at the same time append to one file, each entry by a single write.
Unreadable entries are skipped. If the file cannot be written, the history is this session's only.
"""
from __future__ import annotations

import os
import stat
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from prompt_toolkit.history import FileHistory, History, InMemoryHistory

from nessie.base.system.disk_cache import NOT_WAITING, cache_folder
from nessie.base.system.writing import replace_file

MOST_BYTES = 1 << 20                    # of which half is kept when the file has grown beyond them


class PromptHistory(FileHistory):
    """The history in a file, whatever is wrong with the file."""

    def load_history_strings(self) -> Iterable[str]:
        with suppress(OSError):
            return [entry for entry in super().load_history_strings() if readable(entry)]
        return []

    def store_string(self, string: str) -> None:
        with suppress(OSError):
            super().store_string(string)


def readable(entry: str) -> bool:
    return "\ufffd" not in entry and all([c.isprintable() or c in "\n\t" for c in entry])


def history() -> History:
    """The history of this user's sessions."""
    folder = cache_folder(os.environ.get("XDG_CACHE_HOME", ""))
    if folder is None:
        return InMemoryHistory()
    path = folder / "history"
    try:
        claim(path)
        shorten(path)
    except OSError:
        return InMemoryHistory()
    return PromptHistory(str(path))


def claim(path: Path) -> None:
    """Make the path a file that only this user can access. OSError if something else is in its place."""
    handle = os.open(path, os.O_RDWR | os.O_CREAT | NOT_WAITING, 0o600)
    try:
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode) or (hasattr(os, "getuid") and status.st_uid != os.getuid()):
            raise PermissionError
        os.chmod(handle if os.chmod in os.supports_fd else path, 0o600)
    finally:
        os.close(handle)


def shorten(path: Path) -> None:
    """Drop the oldest entries of a file that has grown too large."""
    if path.stat().st_size > MOST_BYTES:
        content = path.read_bytes()
        begins = content.find(b"\n# ", len(content) - MOST_BYTES // 2)
        replace_file(str(path), content[begins:] if begins >= 0 else b"")
