"""The memory available before the operating system swaps or kills: the free memory of the machine or the container.

A container's limit is that of its control group (cgroups, of version 1 or 2) or of a group around it. The killer comes
when a group has used up its limit, however much the machine has free. Unused pages of files can be reclaimed, so they
count as free.
"""
from __future__ import annotations

import os
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from nessie.base.records import dataclass

ASSUMED = 4 << 30               # where nothing tells: little
UNLIMITED = 1 << 60             # what version 1 says where there is no limit is more
ROOT = Path("/")


@dataclass(frozen=True)
class Version:
    """The folder in which a version of cgroups keeps the groups, and the names of their files: the limit, the use and
    the kinds of use."""
    folder: str
    limit: str
    used: str
    idle_files: str             # in memory.stat


V1 = Version("sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")
V2 = Version("sys/fs/cgroup", "memory.max", "memory.current", "inactive_file")


def free_memory(root: Path = ROOT) -> int:
    """Return the number of available bytes."""
    machine = field(root / "proc/meminfo", "MemAvailable:")
    found = [] if machine is None else [machine * 1024]
    return max(0, min([*found, *groups(root)], default=ASSUMED))


def groups(root: Path) -> Iterator[int]:
    """Yield the bytes that each limited group around this process has left."""
    for group, version in limited_groups(root):
        left = memory_left(group, version)
        if left is not None:
            yield left


@cache
def limited_groups(root: Path) -> list[tuple[Path, Version]]:
    """Return the folders of the groups around this process that may have a limit. Limits may change, groups stay."""
    found = []
    for line in text(root / "proc/self/cgroup").splitlines():
        number, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if number != "0" and "memory" not in controllers.split(","):
            continue
        version = V2 if number == "0" else V1
        inner = Path(path.lstrip("/"))
        for group in (inner, *inner.parents):               # the outermost is where the groups are kept
            folder = root / version.folder / group
            if os.path.exists(folder / version.limit):         # no error where it may not be looked at
                found.append((folder, version))
    return found


def memory_left(group: Path, version: Version) -> int | None:
    """Return the limit less the used bytes; None where there is no limit, or no such group."""
    limit = text(group / version.limit).strip()
    if not limit.isdigit() or int(limit) > UNLIMITED:       # version 2 says "max"
        return None
    used = text(group / version.used).strip()
    return int(limit) - int(used or 0) + (field(group / "memory.stat", version.idle_files) or 0)


def field(path: Path, name: str) -> int | None:
    """Return the number after this name at the beginning of a line of the file."""
    for line in text(path).splitlines():
        words = line.split()
        if words[:1] == [name]:
            return int(words[1])
    return None


def text(path: Path) -> str:
    try:
        with open(path, "rb", buffering=0) as file:         # several are read before each run
            return file.read().decode("ascii", "replace")
    except OSError:
        return ""
