"""Hidden files in which new content grows: `.NAME.16 digits.part`, in the folder of the file NAME that it is for.

Only a process that is killed (SIGKILL) leaves one behind. Who has one holds a lock on it, which ends with the process,
so the next one for the same NAME removes those that nobody holds. Where there are no locks, as on some file systems,
they stay.
"""
from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial

from nessie.base.system.ending import at_end, do_now

try:
    from fcntl import LOCK_EX, LOCK_NB, flock
    LOCKS = True
except ImportError:                     # a system that moves no file which is open: nobody holds it, nor removes it
    LOCKS = False

ENDING = ".part"
LETTERS = 50                            # of NAME: the name of a file may have 255 bytes
BINARY = getattr(os, "O_BINARY", 0)


@contextmanager
def unfinished_file(target: str, mode: int) -> Iterator[str]:
    """The path of a new, empty file, which is gone at the end, unless it was moved. OSError if it cannot be made."""
    remove_left(target)
    paths = list[str]()
    due, handle = at_end(partial(all_removed, paths)), None     # before there is a file: Ctrl-C comes at any moment
    try:
        handle = held_file(target, mode, paths)
        yield paths[-1]
    finally:
        do_now(due)
        if handle is not None:
            os.close(handle)


def held_file(target: str, mode: int, paths: list[str]) -> int | None:
    """What a new file is held by, if it is; its path comes last of the `paths`. One that another process has looked at
    before it was held, and removed, is made anew, by another name: who has seen the first may yet remove that."""
    while True:
        paths.append(os.path.join(os.path.dirname(target), f"{beginning(target)}{os.urandom(8).hex()}{ENDING}"))
        handle = os.open(paths[-1], os.O_WRONLY | os.O_CREAT | os.O_EXCL | BINARY, mode)
        if not LOCKS:
            os.close(handle)
            return None
        with suppress(OSError):         # no locks here
            flock(handle, LOCK_EX)
        if os.fstat(handle).st_nlink:
            return handle
        os.close(handle)


def beginning(target: str) -> str:
    return f".{os.path.basename(target)[:LETTERS]}."


def remove_left(target: str) -> None:
    """Remove the files for this target that nobody holds."""
    folder = os.path.dirname(target)
    name = re.compile(f"{re.escape(beginning(target))}[0-9a-f]{{16}}{re.escape(ENDING)}")
    with suppress(OSError):             # a folder that may not be listed
        for found in os.listdir(folder or "."):
            if LOCKS and name.fullmatch(found):
                remove_unheld(os.path.join(folder, found))


def remove_unheld(path: str) -> None:
    with suppress(OSError):             # it is held, gone, or another user's
        handle = os.open(path, os.O_WRONLY)
        try:
            flock(handle, LOCK_EX | LOCK_NB)
            os.unlink(path)
        finally:
            os.close(handle)


def all_removed(paths: list[str]) -> None:
    for path in paths:
        removed(path)


def removed(path: str) -> None:
    """The file is gone, or it was moved."""
    with suppress(OSError):
        os.unlink(path)
