"""What operators and NumPy's functions do with elements, as bodies: Python functions like any other."""
from __future__ import annotations

import builtins
import linecache
import math
import operator
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from nessie.arrays.bodies.expressions import known
from nessie.arrays.bodies.outside import Seen, looked_up, see
from nessie.arrays.errors import caller

# Each is written as a function, so that its text is known.

BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "add": lambda x, y: x + y,
    "subtract": lambda x, y: x - y,
    "multiply": lambda x, y: x * y,
    "divide": lambda x, y: np.divide(x, y),
    "floor_divide": lambda x, y: np.floor_divide(x, y),
    "remainder": lambda x, y: np.remainder(x, y),
    "power": lambda x, y: np.power(x, y),
    "left_shift": lambda x, y: x << y,
    "right_shift": lambda x, y: x >> y,
    "bitwise_and": lambda x, y: x & y,
    "bitwise_or": lambda x, y: x | y,
    "bitwise_xor": lambda x, y: x ^ y,
    "equal": lambda x, y: np.equal(x, y),
    "not_equal": lambda x, y: np.not_equal(x, y),
    "less": lambda x, y: np.less(x, y),
    "less_equal": lambda x, y: np.less_equal(x, y),
    "greater": lambda x, y: np.greater(x, y),
    "greater_equal": lambda x, y: np.greater_equal(x, y),
    "minimum": lambda x, y: np.minimum(x, y),
    "maximum": lambda x, y: np.maximum(x, y),
    "hypot": lambda x, y: np.hypot(x, y),
    "arctan2": lambda x, y: np.arctan2(x, y),
    "copysign": lambda x, y: np.copysign(x, y),
    "fmod": lambda x, y: np.fmod(x, y),
    "float_power": lambda x, y: np.float_power(x, y),
    "logical_and": lambda x, y: bool(x) and bool(y),
    "logical_or": lambda x, y: bool(x) or bool(y),
}
# Python's and NumPy's functions of two, which have no text.
OF_TWO: dict[Any, Callable[[Any, Any], Any]] = {
    operator.add: BINARY["add"], operator.mul: BINARY["multiply"], operator.and_: BINARY["bitwise_and"],
    operator.or_: BINARY["bitwise_or"], operator.xor: BINARY["bitwise_xor"], min: BINARY["minimum"],
    max: BINARY["maximum"], **{getattr(np, name): body for name, body in BINARY.items()}}


def of_two(function: Any) -> Any:
    """Return the body of a function of two; another function as it is."""
    return looked_up(OF_TWO, function, function)


UNARY: dict[str, Callable[[Any], Any]] = {
    "negative": lambda x: -x,
    "positive": lambda x: +x,
    "absolute": lambda x: abs(x),
    "fabs": lambda x: np.fabs(x),
    "invert": lambda x: np.invert(x),
    "logical_not": lambda x: not x,
    "square": lambda x: x * x,
    "sqrt": lambda x: np.sqrt(x),
    "cbrt": lambda x: np.cbrt(x),
    "exp": lambda x: np.exp(x),
    "log": lambda x: np.log(x),
    "log2": lambda x: np.log2(x),
    "log10": lambda x: np.log10(x),
    "exp2": lambda x: np.exp2(x),
    "sin": lambda x: np.sin(x),
    "cos": lambda x: np.cos(x),
    "tan": lambda x: np.tan(x),
    "arcsin": lambda x: np.arcsin(x),
    "arccos": lambda x: np.arccos(x),
    "arctan": lambda x: np.arctan(x),
    "sinh": lambda x: np.sinh(x),
    "cosh": lambda x: np.cosh(x),
    "tanh": lambda x: np.tanh(x),
    "sign": lambda x: np.sign(x),
    "signbit": lambda x: np.signbit(x),
    "isnan": lambda x: np.isnan(x),
    "isinf": lambda x: np.isinf(x),
    "isfinite": lambda x: np.isfinite(x),
    "floor": lambda x: np.floor(x),
    "ceil": lambda x: np.ceil(x),
    "trunc": lambda x: np.trunc(x),
    "rint": lambda x: np.rint(x),
    "deg2rad": lambda x: np.deg2rad(x),
    "rad2deg": lambda x: np.rad2deg(x),
    "radians": lambda x: np.radians(x),
    "degrees": lambda x: np.degrees(x),
}
OF_THREE: dict[str, Callable[[Any, Any, Any], Any]] = {
    "where": lambda condition, x, y: x if condition else y,
    "clip": lambda x, least, most: np.minimum(np.maximum(x, least), most),
}
# Rounded to a power of ten, by whether elements are floats and whether digits are behind the point.
ROUNDED: dict[tuple[bool, bool], Callable[[Any, Any], Any]] = {
    (True, True): lambda x, power: np.rint(x * power) / power,
    (True, False): lambda x, power: np.rint(x / power) * power,
    (False, False): lambda x, power: int(np.rint(x / power) * power)}
OF_ELEMENTS: dict[str, Callable[..., Any]] = {**UNARY, **BINARY, "true_divide": BINARY["divide"],
                                              "mod": BINARY["remainder"]}


@cache
def seen(function: str) -> Seen:
    """Return the body of this name, which sees the same outside each time."""
    return see(OF_ELEMENTS[function])


# Python's own functions of one or several that bodies have, besides those of numbers in its math module and NumPy.
OF_PYTHON = dict.fromkeys((builtins.len, builtins.sum, builtins.min, builtins.max, builtins.any, builtins.all,
                           builtins.sorted, builtins.range, builtins.float, builtins.int, builtins.bool, builtins.round,
                           builtins.pow, builtins.divmod, math.gcd, math.isqrt, math.isclose, math.log), True)
MODULES = {"builtins": "", "math": "math.", "numpy": "np."}


def body_of(function: Any, count: int) -> Seen:
    """Return a function of so many arguments as a body. One that is written in C has no text: what bodies have of them
    is called by a lambda, whose errors are told where the user has given the function."""
    text = calling(function, count)
    if text is None:
        return see(function, count)
    found = see(lambda_of(text), count)
    found.caller = caller()
    return found


def calling(function: Any, count: int) -> str | None:
    """Return the text of the lambda that calls a function of C; None for a function that has a text, and for one that
    no body has."""
    if not looked_up(OF_PYTHON, function, False) and known.row_of(function, []) is None:
        return None
    module = "numpy" if isinstance(function, np.ufunc) else function.__module__
    parameters = ", ".join([f"x{n}" for n in range(count)])
    return f"lambda {parameters}: {MODULES[module]}{function.__name__}({parameters})"


@cache
def lambda_of(text: str) -> Any:
    """Return the lambda, of which Python knows the text."""
    file = f"<{text}>"
    linecache.cache[file] = len(text), None, [text], file
    return eval(compile(text, file, "eval"), {"math": math, "np": np})
