"""Ranges of ints, one for each lane: what a variable may be, in many calls of a function at a time.

A range goes from `low` to `high`, both included: NumPy arrays with an element for each lane, or one for all. Beyond
MOST nothing is known: such an end says that there may be any number. A range whose end comes before its beginning is
empty: no number is there, as what has it does not happen.
"""
from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any

import numpy as np

from nessie.base.records import dataclass

Ints = np.ndarray[Any, Any]
MOST = 1 << 60


@dataclass(frozen=True, eq=False)
class Range:
    low: Ints
    high: Ints


def number(value: int) -> Range:
    return exactly(np.array([max(-MOST, min(MOST, value))], np.int64))


def exactly(values: Ints) -> Range:
    return Range(values, values)


def between(low: int, high: int) -> Range:
    return Range(number(low).low, number(high).high)


ANY = between(-MOST, MOST)


def union(a: Range, b: Range) -> Range:
    return Range(np.minimum(a.low, b.low), np.maximum(a.high, b.high))


def where(mask: Ints, a: Range, b: Range) -> Range:
    return Range(np.where(mask, a.low, b.low), np.where(mask, a.high, b.high))


def whole(a: Range) -> Range:
    """What holds in all lanes."""
    return Range(a.low.min(keepdims=True), a.high.max(keepdims=True))


def added(a: Range, b: Range) -> Range:
    return unless_wrapped(Range(a.low + b.low, a.high + b.high), a, b)


def negated(a: Range) -> Range:
    return unless_wrapped(Range(-a.high, -a.low), a)


def subtracted(a: Range, b: Range) -> Range:
    return unless_wrapped(Range(a.low - b.high, a.high - b.low), a, b)


def multiplied(a: Range, b: Range) -> Range:
    products = [product(x, y) for x in (a.low, a.high) for y in (b.low, b.high)]
    return unless_wrapped(Range(reduce(np.minimum, products), reduce(np.maximum, products)), a, b)


def product(a: Ints, b: Ints) -> Ints:
    large = np.abs(a.astype(float) * b.astype(float)) >= float(MOST)
    return np.where(large, MOST, np.where(large, 0, a) * b)


def unless_wrapped(found: Range, *arguments: Range) -> Range:
    """What was found, where it and what it is made of are known: else it may have become any number."""
    known = np.array([True])
    for one in (found, *arguments):
        known = known & (one.low > -MOST) & (one.high < MOST)
    return where(known, found, ANY)


def divided(a: Range, b: Range) -> Range:
    """By positive numbers, towards zero; by others, anything."""
    positive = b.low > 0
    by = [np.maximum(end, 1) for end in (b.low, b.high)]
    ends = [np.where(np.abs(x) >= MOST, x, np.where(x < 0, -(-x // y), x // y)) for x in (a.low, a.high) for y in by]
    found = Range(reduce(np.minimum, ends), reduce(np.maximum, ends))
    return where(positive, found, ANY)


def remainder(a: Range, b: Range) -> Range:
    """Of natural numbers, by positive ones."""
    same = (a.low >= 0) & (a.high < b.low)
    found = Range(np.zeros_like(b.high), np.minimum(a.high, b.high - 1))
    return where((a.low >= 0) & (b.low > 0), where(same, a, found), ANY)


def least(a: Range, b: Range) -> Range:
    return Range(np.minimum(a.low, b.low), np.minimum(a.high, b.high))


def greatest(a: Range, b: Range) -> Range:
    return Range(np.maximum(a.low, b.low), np.maximum(a.high, b.high))


def conjunction(a: Range, b: Range) -> Range:
    """Bits of both. `x and -8` takes less than 8 from x; of natural numbers there come no greater ones."""
    for x, mask in ((a, b), (b, a)):
        bits = -int(mask.low[0])
        if mask.low.size == 1 and mask.low[0] == mask.high[0] and bits > 0 and bits & (bits - 1) == 0:
            return Range(np.where(x.low <= -MOST, -MOST, x.low - (bits - 1)), x.high)
    natural = (a.low >= 0) & (b.low >= 0)
    return where(natural, Range(np.zeros_like(a.high), np.minimum(a.high, b.high)), ANY)


def shifted_right(a: Range, b: Range) -> Range:
    known = (b.low == b.high) & (b.low >= 0) & (b.low < 60) & (np.abs(a.low) < MOST) & (np.abs(a.high) < MOST)
    by = np.clip(b.low, 0, 59)
    return where(known, Range(a.low >> by, a.high >> by), where(a.low >= 0, Range(np.zeros_like(a.low), a.high), ANY))


def shifted_left(a: Range, b: Range) -> Range:
    known = (b.low == b.high) & (b.low >= 0) & (b.low < 60)
    return where(known, multiplied(a, exactly(np.left_shift(1, np.clip(b.low, 0, 59)))), ANY)


def absolute(a: Range) -> Range:
    ends = np.abs(a.low), np.abs(a.high)
    return unless_wrapped(Range(np.where((a.low <= 0) & (a.high >= 0), 0, np.minimum(*ends)), np.maximum(*ends)), a)


OPERATORS: dict[str, Callable[..., Range]] = {
    "+": added, "-": subtracted, "*": multiplied, "/": divided, "rem": remainder, "mod": remainder, "min": least,
    "max": greatest, "and": conjunction, "rshift": shifted_right, "lshift": shifted_left, "neg": negated,
    "abs": absolute, "widened": lambda a: a, "btoi": lambda a: between(0, 1), "ones": lambda a: between(0, 64),
    "char_code": lambda a: between(0, 0x10FFFF)}


def meaning(operator: str, *arguments: Range) -> Range:
    """What the operator may come to; of one that has no entry, anything."""
    found = OPERATORS.get(operator)
    return ANY if found is None else found(*arguments)


# What is known of both sides where a comparison holds.
COMPARED: dict[str, Callable[[Range, Range], tuple[Range, Range]]] = {
    "<": lambda a, b: (Range(a.low, np.minimum(a.high, b.high - 1)), Range(np.maximum(b.low, a.low + 1), b.high)),
    "<=": lambda a, b: (Range(a.low, np.minimum(a.high, b.high)), Range(np.maximum(b.low, a.low), b.high)),
    ">": lambda a, b: COMPARED["<"](b, a)[::-1],
    ">=": lambda a, b: COMPARED["<="](b, a)[::-1],
    "==": lambda a, b: (Range(np.maximum(a.low, b.low), np.minimum(a.high, b.high)),) * 2,
    "/=": lambda a, b: (apart(a, b), apart(b, a))}
OPPOSITE = {"<": ">=", "<=": ">", ">": "<=", ">=": "<", "==": "/=", "/=": "=="}


def apart(a: Range, b: Range) -> Range:
    """The range without the other, where that is one number at its end."""
    one = b.low == b.high
    return Range(np.where(one & (a.low == b.low), a.low + 1, a.low),
                 np.where(one & (a.high == b.low), a.high - 1, a.high))
