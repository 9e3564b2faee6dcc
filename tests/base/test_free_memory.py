"""The memory that can be had: the machine's, or less where a control group has a limit."""
from __future__ import annotations

from pathlib import Path

import pytest

from nessie.base.system.free_memory import ASSUMED, free_memory

GIB = 1 << 30
MEMINFO = f"MemTotal:       {9 << 20} kB\nMemFree:        1 kB\nMemAvailable:   {8 << 20} kB\n"


def write(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


V2, V1 = "sys/fs/cgroup", "sys/fs/cgroup/memory"
CASES: list[tuple[str, dict[str, str], int]] = [
    ("a machine without groups", {}, 8 * GIB),
    ("version 2, in a container", {
        "proc/self/cgroup": "0::/\n", f"{V2}/memory.max": f"{2 * GIB}\n", f"{V2}/memory.current": f"{GIB}\n",
        f"{V2}/memory.stat": f"anon 5\ninactive_file {GIB // 2}\n"}, 3 * GIB // 2),
    ("version 2, limited by a group around its own", {
        "proc/self/cgroup": "0::/user/job\n", f"{V2}/user/job/memory.max": "max\n",
        f"{V2}/user/job/memory.current": "5\n", f"{V2}/user/memory.max": f"{GIB}\n",
        f"{V2}/user/memory.current": "0\n"}, GIB),
    ("version 2, a limit larger than what the machine has", {
        "proc/self/cgroup": "0::/\n", f"{V2}/memory.max": f"{64 * GIB}\n", f"{V2}/memory.current": "0\n"}, 8 * GIB),
    ("version 1, in a container that does not see its group's name", {
        "proc/self/cgroup": "12:cpu,cpuacct:/docker/a\n4:memory:/docker/a\n",
        f"{V1}/memory.limit_in_bytes": f"{3 * GIB}\n", f"{V1}/memory.usage_in_bytes": f"{2 * GIB}\n",
        f"{V1}/memory.stat": f"inactive_file 1\ntotal_inactive_file {GIB}\n"}, 2 * GIB),
    ("version 1, without a limit", {
        "proc/self/cgroup": "4:memory:/\n", f"{V1}/memory.limit_in_bytes": "9223372036854771712\n",
        f"{V1}/memory.usage_in_bytes": "5\n"}, 8 * GIB),
    ("more is used than a limit that was lowered", {
        "proc/self/cgroup": "0::/\n", f"{V2}/memory.max": "5\n", f"{V2}/memory.current": "6\n"}, 0),
]


@pytest.mark.parametrize(("files", "free"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_free_memory(tmp_path: Path, files: dict[str, str], free: int) -> None:
    assert free_memory(write(tmp_path, {"proc/meminfo": MEMINFO, **files})) == free


def test_what_nothing_tells_is_assumed(tmp_path: Path) -> None:
    assert free_memory(tmp_path) == ASSUMED
    assert free_memory() > 0
