"""The limits of a run: their valid values, on the command line and from Python, and the hints where a run exceeds
one.
Whoever sets the limits knows how to set them."""
from __future__ import annotations

import math
from typing import Any

from nessie.base.records import dataclass


@dataclass(frozen=True)
class Amount:
    """Numbers above 0, up to `most`, which is far more than makes sense but fits clocks and counters of 64 bits.
    `wanted` describes them."""
    wanted: str
    most: int
    whole: bool = True

    def takes(self, number: Any) -> bool:
        return bool(0 < number <= self.most and (not self.whole or number == math.floor(number)))


COUNT = Amount("a whole number from 1 to 10^18", 10**18)            # of threads or nested calls
WORKERS = Amount("a whole number from 1 to 256", 256)               # that are started on one machine
BYTES = Amount("a number of bytes up to 10^18, such as 5000, 64K or 2.5G", 10**18)
SECONDS = Amount("a number of seconds up to 10^9, such as 0.5 or 60", 10**9, whole=False)


UNITS = {"k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}


def bytes_of(text: str) -> int:
    """Return the number of bytes that a text such as 64K stands for; ValueError if it stands for none."""
    unit = UNITS.get(text[-1:].lower(), 1)
    number = float(text if unit == 1 else text[:-1]) * unit
    if not math.isfinite(number) or not BYTES.takes(number // 1):
        raise ValueError(text)
    return int(number)


def out_of_memory(wanted: int, used: int, limit: int) -> str:
    return f"out of memory: {wanted:,} bytes are needed, {used:,} of {limit:,} are in use"


def too_deep(most: int) -> str:
    return f"recursion is deeper than {most:,} calls"


@dataclass(frozen=True)
class LimitHints:
    """Hints that tell how to allow more memory, deeper recursion, a larger stack, more time."""
    memory: str
    depth: str
    stack: str
    seconds: str


COMMAND_LINE = LimitHints("--memory sets the limit", "does it end? --depth sets the limit",
                          "does it end? the greater --depth and --memory, the larger the stack",
                          "--time-limit sets the limit")
PROMPT = LimitHints("set memory_size N; sets the limit, in words of 8 bytes",
                    "does it end? the limit is set when Nessie starts: nessie --depth N",
                    "does it end? start Nessie anew: the greater --depth and --memory, the larger the stack",
                    "the limit is set when Nessie starts: nessie --time-limit S")
PYTHON = LimitHints("memory sets the limit", "does it end? depth sets the limit",
                    "does it end? the greater depth and memory, the larger the stack",
                    "seconds sets the limit")
