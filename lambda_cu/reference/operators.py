"""The operators of lambda_cu.ops in NumPy, for the reference executor.

The functions take and return int64, float64, bool and int32 (char) scalars or arrays. Outside an operator's stated
domain they return any value; warnings are off while the executor runs.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from nessie.lambda_cu.ops import ROWS, SPLITMIX_GAMMA, SPLITMIX_ROUNDS

Value = Any                     # a NumPy scalar, or an array with one element per lane

MEANINGS: dict[str, Callable[..., Value]] = {
    **{row.name: getattr(np, row.numpy) for row in ROWS if row.numpy},
    "/": lambda x, y: divide(x, y),
    "neg": lambda x: np.subtract(x.dtype.type(0), x),
    "max": lambda x, y: greater(x, y),
    "min": lambda x, y: -greater(-x, -y) if x.dtype.kind == "f" else np.minimum(x, y),
    "lshift": lambda x, count: np.left_shift(x, count & 63),
    "rshift": lambda x, count: np.right_shift(x, count & 63),
    "mul_high": lambda x, y: high_product(x, y),
    "ones": lambda x: ones(x),
    "mix": lambda x: mix(x),
    "int32": lambda x: x.astype(np.int32).astype(np.int64),
    "float32": lambda x: x.astype(np.float32).astype(np.float64),
    "widened": lambda x: x,
    "float": lambda x: x.astype(np.float64),
    "trunc": lambda x: np.trunc(x).astype(np.int64),
    "floor": lambda x: np.floor(x).astype(np.int64),
    "ceil": lambda x: np.ceil(x).astype(np.int64),
    "round": lambda x: round_half_away(x).astype(np.int64),
    "btoi": lambda x: x.astype(np.int64),
    "char_code": lambda x: x.astype(np.int64),
    "code_char": lambda x: x.astype(np.int32),
}


def greater(x: Value, y: Value) -> Value:
    """Return the maximum. NumPy returns either of two zeros; their sum is the zero that counts as the greater."""
    if x.dtype.kind != "f":
        return np.maximum(x, y)
    return np.where((x == 0.0) & (y == 0.0), x + y, np.maximum(x, y))[()]


def divide(x: Value, y: Value) -> Value:
    """Divide floats; truncate quotients of ints towards zero by subtracting the remainder of fmod first."""
    if x.dtype.kind == "f":
        return np.divide(x, y)
    return np.floor_divide(np.subtract(x, np.fmod(x, y)), y)


def ones(x: Value) -> Value:
    """Count the bits that are 1: first in each pair of bits, then in fours, then in all by one product."""
    pairs = x - (np.right_shift(x, 1) & 0x5555555555555555)
    fours = (pairs & 0x3333333333333333) + (np.right_shift(pairs, 2) & 0x3333333333333333)
    eights = (fours + np.right_shift(fours, 4)) & 0x0f0f0f0f0f0f0f0f
    return np.right_shift(eights * np.int64(0x0101010101010101), 56)


def round_half_away(x: Value) -> Value:
    """Round half away from zero. Adding a half before truncating would round 0.49999999999999994 up."""
    whole = np.trunc(x)
    return whole + np.where(np.abs(x - whole) >= 0.5, np.copysign(1.0, x), 0.0)


def high_product(x: Value, y: Value) -> Value:
    """Return the high 64 bits of the product, computed by halves: no sum here is more than 64 bits."""
    x_high, y_high = (z.astype(np.uint64) >> np.uint64(32) for z in (x, y))
    x_low, y_low = (z.astype(np.uint64) & np.uint64(0xFFFFFFFF) for z in (x, y))
    middle = x_high * y_low + (x_low * y_low >> np.uint64(32))
    carry = x_low * y_high + (middle & np.uint64(0xFFFFFFFF)) >> np.uint64(32)
    return (x_high * y_high + (middle >> np.uint64(32)) + carry).astype(np.int64)


def mix(x: Value) -> Value:
    z = x.astype(np.uint64) + np.uint64(SPLITMIX_GAMMA)
    for count, factor in SPLITMIX_ROUNDS:
        z = (z ^ z >> np.uint64(count)) * np.uint64(factor)
    return z.astype(np.int64)


# Operators of reductions that NumPy reduces directly, in any order; others go pair by pair.
MONOIDS: dict[str, np.ufunc] = {row.name: getattr(np, row.numpy) for row in ROWS if row.unit}
