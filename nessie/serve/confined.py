"""Confines a process that runs strangers' programs: its memory, the files that it reads and writes, other programs.

A program in NESL has no way out but its effects, which nessie.serve.live refuses. What is confined here holds even if
one of them is forgotten. Where the system has no limits for processes (Windows), there are those of the runs alone.
"""
from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from nessie.base.system.deep import STACK_BYTES

REFUSED = ("subprocess.", "os.exec", "os.posix_spawn", "os.spawn", "os.system", "os.fork", "os.remove", "os.rename",
           "os.rmdir", "os.mkdir", "os.chmod", "os.chown", "os.link", "os.symlink", "os.truncate", "shutil.", "socket.",
           "pty.")                      # what nothing here has to do, as Python's audit events call it
KERNEL = ("/proc/meminfo", "/proc/self/", "/proc/cpuinfo", "/sys/")        # tell of this computer, not of its users
STACKS = 2                      # deep stacks, of which only address space is taken
OPEN_FILES = 64


def confine(memory: int) -> None:
    """Confine this process to `memory` bytes more than it has, and to reading what Nessie and Python consist of."""
    limit(memory)
    here = Path(__file__).resolve().parents[2]
    own = [str(here), str(Path(__file__).resolve().parents[1]), *sys.path, sys.prefix, sys.base_prefix]
    allowed = (*[os.path.join(os.path.realpath(path), "") for path in own if path], *KERNEL)

    def watch(event: str, arguments: Sequence[Any]) -> None:
        if event == "builtins.id":          # most of all events
            return
        if event == "open":
            check_open(arguments[0], arguments[2], allowed)
        elif event.startswith(REFUSED):
            raise PermissionError(f"{event} is refused here")

    sys.addaudithook(watch)


def check_open(path: object, flags: object, allowed: tuple[str, ...]) -> None:
    """Raise PermissionError unless the file is opened for reading and is one of Nessie's or Python's own."""
    if isinstance(path, int):           # what has been opened
        return
    name = os.fsdecode(path) if isinstance(path, (str, bytes)) else ""
    writes = isinstance(flags, int) and flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC)
    if writes or not os.path.realpath(name).startswith(allowed):
        raise PermissionError(13, "files are closed here", name)


def limit(memory: int) -> None:
    """Limit what the system gives this process: memory, nothing written, few files, no dumps."""
    try:
        import resource
    except ImportError:
        return
    has = taken()
    room = has + memory + STACKS * STACK_BYTES if has else resource.RLIM_INFINITY
    for kind, most in ((resource.RLIMIT_AS, room), (resource.RLIMIT_FSIZE, 0), (resource.RLIMIT_CORE, 0),
                       (resource.RLIMIT_NOFILE, OPEN_FILES)):
        resource.setrlimit(kind, (most, most))


def taken() -> int:
    """The bytes of address space that this process has; 0 where the system does not tell."""
    try:
        with open("/proc/self/statm") as file:
            return int(file.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0
