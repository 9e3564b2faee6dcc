"""How a program that Python has loaded runs."""
from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

from nessie.api.sequences import a
from nessie.base.source import NessieError
from nessie.targets import TARGETS, Limits


@dataclass(frozen=True)
class Options:
    """`threads` of the CPU; `memory` in bytes, at most; `depth` of recursion; `seconds` that a call may take; `seed` of
    random numbers; `unchecked`: leave the program's run-time checks out. NessieError, where one is none of these."""
    target: str = "cpu"
    threads: int | None = None
    memory: int | None = None
    depth: int = Limits.depth
    seconds: float | None = None
    seed: int = 0
    unchecked: bool = False

    def __post_init__(self) -> None:
        check_target(self.target)
        for name in ("threads", "memory", "depth"):
            value = getattr(self, name)
            if not (value is None and name != "depth") and not (is_whole(value) and value >= 1):
                raise wrong(name, value, "a whole number from 1 on")
        if self.seconds is not None and not (isinstance(self.seconds, Real) and 0 < self.seconds < math.inf):
            raise wrong("seconds", self.seconds, "a number above 0")
        if not (is_whole(self.seed) and -2**63 <= self.seed < 2**63):
            raise wrong("seed", self.seed, "a whole number of 64 bits")


def is_whole(value: Any) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool)


def wrong(name: str, value: object, wanted: str) -> NessieError:
    return NessieError(f"{name} is {wanted}, not {value!r}")


def a_text(value: object, what: str) -> str:
    if not isinstance(value, str):
        raise NessieError(f"{what} is a str, not {a(type(value).__name__)}")
    return value


def check_target(name: str) -> str:
    if name not in TARGETS:
        raise NessieError(f"there is no target {name}; the targets are {', '.join(TARGETS)}")
    return name
