"""What is said where a run goes over a limit: whoever sets the limits knows how they are set."""
from __future__ import annotations

from nessie.base.records import dataclass


@dataclass(frozen=True)
class LimitHints:
    """How more memory is allowed, deeper recursion, a larger stack, more time."""
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
