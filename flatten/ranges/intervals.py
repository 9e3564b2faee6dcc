"""Int operators and comparisons on intervals: the bounds of their results.

Results are exact: a caller sees whether they can leave int64 (`inside_ints`), and wraps them if so (`wrapped`).
"""
from __future__ import annotations

from collections.abc import Callable

from nessie.base.ints import MAX_INT, MIN_INT

Interval = tuple[int, int]
INTS = MIN_INT, MAX_INT


def inside_ints(found: Interval) -> bool:
    return found[0] >= INTS[0] and found[1] <= INTS[1]


def wrapped(found: Interval) -> Interval:
    """Return the interval of a result that wraps."""
    return found if inside_ints(found) else INTS


def product(a: Interval, b: Interval) -> Interval:
    ends = a[0] * b[0], a[0] * b[1], a[1] * b[0], a[1] * b[1]
    return min(ends), max(ends)


def quotient(a: Interval, b: Interval) -> Interval:
    """Divide towards zero, by a positive interval."""
    if b[0] < 1:
        return INTS
    ends = [x // y if x >= 0 else -(-x // y) for x in a for y in b]
    return min(ends), max(ends)


def remainder(a: Interval, b: Interval) -> Interval:
    """Return the remainder, which has the dividend's sign."""
    if b[0] < 1:
        return INTS
    return max(min(a[0], 0), 1 - b[1]), min(max(a[1], 0), b[1] - 1)


def shifted(a: Interval, b: Interval) -> Interval:
    if b[0] < 0 or b[1] > 63:
        return INTS
    ends = [x >> y for x in a for y in b]
    return min(ends), max(ends)


def doubled(a: Interval, b: Interval) -> Interval:
    """Shift to the left, by less than a word."""
    if b[0] < 0 or b[1] > 63:
        return INTS
    ends = [x << y for x in a for y in b]
    return min(ends), max(ends)


def greatest(a: Interval, b: Interval) -> Interval:
    return max(a[0], b[0]), max(a[1], b[1])


EXACT: dict[str, Callable[..., Interval]] = {
    "+": lambda a, b: (a[0] + b[0], a[1] + b[1]),
    "-": lambda a, b: (a[0] - b[1], a[1] - b[0]),
    "*": product,
    "/": quotient,
    "rem": remainder,
    "mod": lambda a, b: INTS if b[0] < 1 else (0, b[1] - 1),
    "min": lambda a, b: (min(a[0], b[0]), min(a[1], b[1])),
    "max": greatest,
    "rshift": shifted,
    "lshift": doubled,
    "neg": lambda a: (-a[1], -a[0]),
    "abs": lambda a: greatest(a, (-a[1], -a[0])) if a[0] > INTS[0] else INTS,
}
BETWEEN: dict[str, Interval] = {
    "btoi": (0, 1), "char_code": (0, 0x10FFFF), "trunc": INTS, "floor": INTS, "ceil": INTS, "round": INTS,
}


def less(a: Interval, b: Interval) -> bool | None:
    return True if a[1] < b[0] else False if a[0] >= b[1] else None


def at_most(a: Interval, b: Interval) -> bool | None:
    return True if a[1] <= b[0] else False if a[0] > b[1] else None


def equal(a: Interval, b: Interval) -> bool | None:
    return True if a == b and a[0] == a[1] else False if a[1] < b[0] or b[1] < a[0] else None


def unequal(a: Interval, b: Interval) -> bool | None:
    same = equal(a, b)
    return None if same is None else not same


COMPARED: dict[str, Callable[[Interval, Interval], bool | None]] = {
    "<": less, "<=": at_most, ">": lambda a, b: less(b, a), ">=": lambda a, b: at_most(b, a), "==": equal,
    "/=": unequal,
}
