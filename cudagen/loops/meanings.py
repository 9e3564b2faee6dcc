"""The meanings of scalar operators in Python, for the host level and the interpreter of loops.

Values are Python's int, float, bool and str (one character). There is an entry for each row of lambda_cu.ops, which
outside the operator's domain gives some value and never raises.
"""
from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from nessie.base.widths import single
from nessie.lambda_cu.ops import FUNCTIONS, SPLITMIX_GAMMA, SPLITMIX_ROUNDS

Scalar = int | float | bool | str
MOST = 2**63 - 1


def wrap(number: int) -> int:
    """The 64-bit two's complement number that has the same low bits."""
    return number if -MOST - 1 <= number <= MOST else (number + 2**63) % 2**64 - 2**63


def exact(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function on numbers, its int results wrapped."""
    def meaning(*arguments: Any) -> Any:
        result = function(*arguments)
        return wrap(result) if type(result) is int else result
    return meaning


def divide(a: Any, b: Any) -> Any:
    if isinstance(a, float):
        if b != 0.0:
            return a / b
        return math.nan if a == 0.0 or math.isnan(a) else math.copysign(math.inf, a) * math.copysign(1.0, b)
    quotient = abs(a) // abs(b) if b else 0
    return wrap(quotient if (a < 0) == (b < 0) else -quotient)


def remainder(a: int, b: int) -> int:
    return a - b * (abs(a) // abs(b)) * (1 if (a < 0) == (b < 0) else -1) if b else 0


def extreme(a: Any, b: Any, greater: bool) -> Any:
    """NaN if either is; of zeros of two signs, the negative one is the lesser."""
    if isinstance(a, float):
        if math.isnan(a) or math.isnan(b):
            return math.nan
        if a == b == 0.0:
            a_first = (math.copysign(1.0, a) < 0.0) != greater
            return a if a_first else b
    return a if (a > b) == greater else b


def to_int(rounded: Callable[[float], int]) -> Callable[[float], int]:
    """A conversion that stays at the ends of int beyond them, and is 0 of NaN."""
    def meaning(x: float) -> int:
        if math.isfinite(x):
            return max(-MOST - 1, min(MOST, rounded(x)))
        return 0 if math.isnan(x) else MOST if x > 0 else -MOST - 1
    return meaning


def half_away(x: float) -> int:
    whole = math.trunc(x)
    return whole + (int(math.copysign(1, x)) if abs(x - whole) >= 0.5 else 0)


def real(function: Callable[[float], float]) -> Callable[[float], float]:
    """The function of floats with the values that IEEE gives for Python's exceptions: infinities beyond the range, with
    the sign of the function's values on that side; -inf at a pole, which is at 0; NaN outside the domain."""
    def meaning(x: float) -> float:
        try:
            return function(x)
        except OverflowError:
            return math.copysign(math.inf, function(math.copysign(1.0, x)))
        except ValueError:
            return -math.inf if x == 0.0 else math.nan
    return meaning


def of_numpy(name: str) -> Callable[..., float]:
    """NumPy's function, which has IEEE's values everywhere."""
    function = getattr(np, name)

    def meaning(*arguments: float) -> float:
        with np.errstate(all="ignore"):
            return float(function(*arguments))
    return meaning


def mix(x: int) -> int:
    z = (x + SPLITMIX_GAMMA) % 2**64
    for count, factor in SPLITMIX_ROUNDS:
        z = (z ^ z >> count) * factor % 2**64
    return wrap(z)


def character(code: int) -> str:
    return chr(max(0, min(0x10FFFF, code)))


MEANINGS: dict[str, Callable[..., Any]] = {
    "+": exact(lambda a, b: a + b),
    "-": exact(lambda a, b: a - b),
    "*": exact(lambda a, b: a * b),
    "/": divide,
    "rem": remainder,
    "mod": lambda a, b: a % b if b else 0,
    "neg": exact(lambda a: 0 - a),
    "abs": exact(abs),
    "max": lambda a, b: extreme(a, b, True),
    "min": lambda a, b: extreme(a, b, False),
    "==": lambda a, b: a == b,
    "/=": lambda a, b: a != b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
    "and": lambda a, b: a & b,
    "or": lambda a, b: a | b,
    "xor": lambda a, b: a ^ b,
    "not": lambda a: not a if type(a) is bool else ~a,
    "lshift": lambda a, b: wrap(a << (b & 63)),
    "rshift": lambda a, b: a >> (b & 63),
    "mul_high": lambda a, b: wrap((a % 2**64) * (b % 2**64) >> 64),
    "ones": lambda a: (a % 2**64).bit_count(),
    "mix": mix,
    "int32": lambda a: (a + 2**31) % 2**32 - 2**31,
    "float32": single,
    "widened": lambda a: a,
    "float": float,
    "trunc": to_int(math.trunc),
    "floor": to_int(math.floor),
    "ceil": to_int(math.ceil),
    "round": to_int(half_away),
    "btoi": int,
    "char_code": ord,
    "code_char": character,
    "isnan": math.isnan,
    **{row.name: real(getattr(math, row.math)) if row.math else of_numpy(row.numpy) for row in FUNCTIONS},
}
