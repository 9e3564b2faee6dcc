"""Names the processor on which benchmarks run."""
from __future__ import annotations

import platform
from pathlib import Path


def processor() -> str:
    """The model's name, as the system tells it."""
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8").splitlines()
        return next(line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.machine()
