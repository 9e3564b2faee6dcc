"""Writes all files: a reader sees either the old content or the complete new content.

    write(path, content)        for a path that a user names: a file, a link, a pipe, a device
    replace_file(path, content) for exactly this entry of a folder, whatever lies there
    replacing(path)             for a plain file whose content comes bit by bit, or from several processes

The content goes into a file beside the old one, which is then moved into its place. Until then a full disk, Ctrl-C or
a signal leaves the old file as it was. Where the system supports it (Linux), the new file has no name before it is
complete, so nothing is left behind, however the process ends. Content that comes bit by bit is in a hidden file until
then, which is left behind only by a process that is killed (SIGKILL), and goes when the same file is written again
(nessie.base.system.unfinished).

    a link                      is followed: its file is replaced, and the link stays
    mode, owner and group       of a file that is replaced are kept
    a file that cannot be moved is overwritten, where its folder may not be written to, or its owner not kept; a full
                                disk has the old content written back
    a file with several names   is overwritten in the same way: each of them (hard links) keeps naming it
    pipes, devices, /dev/stdout are written to
"""
from __future__ import annotations

import errno
import os
import re
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from mmap import ACCESS_READ, mmap

from nessie.base.source import NessieError
from nessie.base.system.unfinished import BINARY, ENDING, removed, unfinished_file

PIECE = 1 << 20                         # bytes written at a time, so that Ctrl-C takes effect
DESCRIPTOR = re.compile(r"/dev/(?:(stdin|stdout|stderr)|fd/(\d+))\Z|/proc/(?:self|thread-self)/fd/(\d+)\Z")
STANDARD = {"stdin": 0, "stdout": 1, "stderr": 2}
UNMOVABLE = (errno.EACCES, errno.EPERM, errno.EROFS, errno.EBUSY)       # errors of the folder or its mount
NAMELESS = getattr(os, "O_TMPFILE", 0)
NO_NAMELESS = (errno.EISDIR, errno.EOPNOTSUPP, errno.ENOENT, errno.EINVAL)      # file systems without such files


def write(path: str | os.PathLike[str], content: str | bytes) -> None:
    """Write the file; text as UTF-8, and characters that UTF-8 lacks by their codes. NessieError, with the reason, if
    it cannot be written."""
    try:
        write_file(os.fspath(path), encoded(content))
    except (OSError, ValueError) as error:
        raise NessieError(f"cannot write {os.fspath(path)}: {reason(error)}") from None


def require_writable(path: str) -> None:
    """Raise the error of `write` where it can be told before there is anything to write."""
    try:
        if descriptor_of(path) is not None:
            return
        old = status_of(path)
        place = path if old is not None else os.path.dirname(os.path.realpath(path))
        number = 0 if os.access(place, os.W_OK) else errno.EACCES
        if old is not None and stat.S_ISDIR(old.st_mode):
            number = errno.EISDIR
        elif not os.path.exists(place):
            number = errno.ENOENT
        if number:
            raise OSError(number, os.strerror(number))
    except (OSError, ValueError) as error:
        raise NessieError(f"cannot write {path}: {reason(error)}") from None


def reason(error: Exception) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error)


def encoded(content: str | bytes) -> bytes:
    return content if isinstance(content, bytes) else content.encode("utf-8", "backslashreplace")


def write_file(path: str, content: bytes) -> None:
    """Write to a path that the user names. OSError if it cannot be written."""
    number = descriptor_of(path)
    if number is not None:              # opening it anew would write from its beginning
        with open(os.dup(number), "wb", buffering=0) as stream:
            write_all(stream.fileno(), content)
        return
    old = status_of(path)
    if old is not None and not stat.S_ISREG(old.st_mode):
        with open(path, "wb", buffering=0) as stream:
            write_all(stream.fileno(), content)
        return
    if not os.path.basename(path):
        raise OSError(number := errno.EISDIR if path else errno.ENOENT, os.strerror(number))
    target = os.path.realpath(path)
    if old is None:
        replace_file(target, content, 0o666, durable=True)
        return
    os.close(os.open(target, os.O_WRONLY | BINARY))        # never replace a write-protected file
    if old.st_nlink > 1:
        overwrite(target, content)
        return
    try:
        replace_file(target, content, like=old, durable=True)
    except OSError as error:
        if error.errno not in UNMOVABLE:
            raise
        overwrite(target, content)


def descriptor_of(path: str) -> int | None:
    """Return the number of this process's stream that the path names, if any."""
    found = DESCRIPTOR.match(path)
    if found is None:
        return None
    return STANDARD[found[1]] if found[1] else int(found[2] or found[3])


def status_of(path: str) -> os.stat_result | None:
    """Return the status of the file behind links; None if there is none."""
    try:
        return os.stat(path)
    except FileNotFoundError:
        return None


def replace_file(path: str, content: bytes, mode: int = 0o600, like: os.stat_result | None = None,
                 durable: bool = False) -> None:
    """Put a file with this content in this place: a fresh one of this mode, or with mode, owner and group of `like`.
    `durable`: even after a loss of power either the old or the new file is there. OSError if it cannot be written; then
    nothing has changed."""
    beside = free_name(path)
    try:
        handle = new_file(beside, mode)
        try:
            write_all(handle, content)
            if like:
                keep_owner(handle, like)
            if durable:
                os.fsync(handle)
            if not os.fstat(handle).st_nlink:
                os.link(f"/proc/self/fd/{handle}", beside, src_dir_fd=handle)       # else link would not follow it
        finally:
            os.close(handle)
        os.replace(beside, path)
    finally:
        removed(beside)                     # it remains only after an error


@contextmanager
def replacing(path: str) -> Iterator[str]:
    """The path of a new, empty file in the same folder, which anybody may open to write to it. At the end it takes the
    place of a plain file, or of none; after an error it goes, and nothing has changed. OSError if it cannot be made or
    moved."""
    target = os.path.realpath(path)
    old = status_of(target)
    if old is not None:
        os.close(os.open(target, os.O_WRONLY | BINARY))
    with unfinished_file(target, 0o600 if old else 0o666) as beside:
        yield beside
        move(beside, target)


def move(beside: str, target: str) -> None:
    """Put a file that is complete in the place of another one, if there is one; its mode, owner and names are kept."""
    old = status_of(target)
    try:
        with open(beside, "r+b") as file:
            if old is not None:
                keep_owner(file.fileno(), old)
            os.fsync(file.fileno())
        if old is None or old.st_nlink == 1:
            os.replace(beside, target)
            return
    except OSError as error:
        if old is None or error.errno not in UNMOVABLE:
            raise
    with open(beside, "rb") as file:
        overwrite(target, mmap(file.fileno(), 0, access=ACCESS_READ) if os.path.getsize(beside) else b"")


def free_name(path: str) -> str:
    """A path in the same folder, which nobody has."""
    return os.path.join(os.path.dirname(path), f".{os.urandom(8).hex()}{ENDING}")


def new_file(path: str, mode: int) -> int:
    """Return a descriptor of an empty file in the path's folder: nameless if possible, else with this name."""
    if NAMELESS and os.path.isdir("/proc/self/fd"):
        try:
            return os.open(os.path.dirname(path) or ".", NAMELESS | os.O_WRONLY, mode)
        except OSError as error:
            if error.errno not in NO_NAMELESS:
                raise
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | BINARY, mode)


def keep_owner(handle: int, old: os.stat_result) -> None:
    """Keep the old owner; PermissionError if another user's file would become this user's."""
    if not hasattr(os, "fchown"):
        return
    now = os.fstat(handle)
    if (now.st_uid, now.st_gid) != (old.st_uid, old.st_gid):
        os.fchown(handle, old.st_uid, old.st_gid)
    os.fchmod(handle, stat.S_IMODE(old.st_mode))


def write_all(handle: int, content: bytes | mmap) -> None:
    left = memoryview(content)
    while left:
        left = left[os.write(handle, left[:PIECE]):]


def overwrite(path: str, content: bytes | mmap) -> None:
    """Change the file in place; if that fails, write its old content back, for which there is room."""
    handle = os.open(path, os.O_RDWR | BINARY)
    with open(handle, "r+b", buffering=0) as file:
        old = file.readall()
        try:
            file.seek(0)
            write_all(handle, content)
            file.truncate(len(content))
            os.fsync(handle)
        except BaseException:
            file.seek(0)
            write_all(handle, old)
            file.truncate(len(old))
            raise
