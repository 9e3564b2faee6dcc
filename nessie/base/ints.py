"""The range of NESL's ints: 64 bits, two's complement; arithmetic wraps around."""
from __future__ import annotations

MIN_INT, MAX_INT = -2 ** 63, 2 ** 63 - 1
