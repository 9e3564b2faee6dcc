"""Profiles of devices: the prices of bytes, launches, synchronisations and recomputation, in nanoseconds.

A profile is a JSON object with the fields of Profile. Two ship, in devices/: a CPU of two cores, measured, and an H200,
estimated from its data sheet. Schedules depend on ratios only, so a profile serves other devices of the same kind well
enough; `nessie doctor --calibrate` measures a device.
"""
from __future__ import annotations

import json
import math
from dataclasses import asdict, fields
from pathlib import Path

from nessie.base.ints import MAX_INT, MIN_INT
from nessie.base.records import dataclass
from nessie.base.source import IllFormed, NessieError, decoded

FOLDER = Path(__file__).parent / "devices"
SHIPPED = ("cpu", "h200")


@dataclass(frozen=True)
class Profile:
    """
    bandwidth   bytes streamed per nanosecond
    launch      of a kernel
    sync        of a size or scalar that the host waits for
    rescan      the part of an array that a kernel with a carry reads a second time: 1, all of it; 0, nothing
    gather      a read of 8 bytes at an index of no order
    operation   one arithmetic operation for one element
    function    one of exp, log, sqrt, sin and their kin
    size        the assumed value of an unknown size
    segment     the assumed elements of an unknown segment
    arrays      the most arrays in one kernel
    """
    name: str
    bandwidth: float
    launch: float
    sync: float
    rescan: float
    gather: float = 0.0
    operation: float = 0.0
    function: float = 0.0
    size: float = 1e6
    segment: float = 16.0
    arrays: int = 64

    def streaming(self, count: float) -> float:
        """The time to stream so many bytes."""
        return count / self.bandwidth

    def computing(self, operations: float, functions: float) -> float:
        """The time of so much arithmetic."""
        return self.operation * operations + self.function * functions


def of_target(target: str) -> Profile:
    """The target's default profile."""
    return H200 if target.startswith("cuda") else CPU


def show(profile: Profile) -> str:
    return json.dumps(asdict(profile), indent=2) + "\n"


def parse(text: str) -> Profile:
    """Parse a well-formed profile; raises IllFormed."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise IllFormed(f"it is no JSON: {error}") from None
    known = {field.name for field in fields(Profile)}
    if not isinstance(found, dict) or found.keys() != known:
        raise IllFormed(f"a profile has the fields {', '.join(sorted(known))}")
    check_types(found)
    profile = Profile(**found)
    check(profile)
    return profile


def check_types(found: dict[str, object]) -> None:
    for name, value in found.items():
        wanted = {"name": str, "arrays": int}.get(name, (int, float))
        large = isinstance(value, int) and not MIN_INT <= value <= MAX_INT
        if not isinstance(value, wanted) or isinstance(value, bool) or large:
            raise IllFormed(f"{name} is {value!r}")


def check(profile: Profile) -> None:
    """Require finite times, not negative, a positive bandwidth and launch, and sizes and arrays of at least 1."""
    for field in fields(Profile):
        value = getattr(profile, field.name)
        if isinstance(value, (int, float)):
            least = 1 if field.name in ("arrays", "size", "segment") else 0
            if not math.isfinite(value) or value < least or (field.name in ("bandwidth", "launch") and not value):
                raise IllFormed(f"{field.name} is {value}")


def named(name: str) -> Profile:
    """The profile that ships under this name, or the one in the file of this name."""
    if name in SHIPPED:
        return shipped(name)
    try:
        return parse(decoded(name, Path(name).read_bytes()))
    except IllFormed as error:
        raise NessieError(f"{name} is no profile of a machine: {error}") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise NessieError(f"cannot read {name}: {reason}", hint=f"there are {' and '.join(SHIPPED)}") from None


def shipped(name: str) -> Profile:
    return parse((FOLDER / f"{name}.json").read_text(encoding="utf-8"))


CPU, H200 = shipped("cpu"), shipped("h200")
