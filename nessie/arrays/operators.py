"""What operators and NumPy's functions do with elements, as bodies: Python functions like any other."""
from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

# Each is written as a function, so that its text is known.

BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "add": lambda x, y: x + y,
    "subtract": lambda x, y: x - y,
    "multiply": lambda x, y: x * y,
    "divide": lambda x, y: np.divide(x, y),
    "floor_divide": lambda x, y: x // y,
    "remainder": lambda x, y: x % y,
    "power": lambda x, y: x ** y,
    "left_shift": lambda x, y: x << y,
    "right_shift": lambda x, y: x >> y,
    "bitwise_and": lambda x, y: x & y,
    "bitwise_or": lambda x, y: x | y,
    "bitwise_xor": lambda x, y: x ^ y,
    "equal": lambda x, y: x == y,
    "not_equal": lambda x, y: x != y,
    "less": lambda x, y: x < y,
    "less_equal": lambda x, y: x <= y,
    "greater": lambda x, y: x > y,
    "greater_equal": lambda x, y: x >= y,
    "minimum": lambda x, y: min(x, y),
    "maximum": lambda x, y: max(x, y),
    "hypot": lambda x, y: math.hypot(x, y),
    "logical_and": lambda x, y: bool(x) and bool(y),
    "logical_or": lambda x, y: bool(x) or bool(y),
}
UNARY: dict[str, Callable[[Any], Any]] = {
    "negative": lambda x: -x,
    "positive": lambda x: +x,
    "absolute": lambda x: abs(x),
    "invert": lambda x: np.invert(x),
    "logical_not": lambda x: not x,
    "square": lambda x: x * x,
    "sqrt": lambda x: np.sqrt(x),
    "cbrt": lambda x: np.cbrt(x),
    "exp": lambda x: np.exp(x),
    "log": lambda x: np.log(x),
    "sin": lambda x: np.sin(x),
    "cos": lambda x: np.cos(x),
    "tan": lambda x: np.tan(x),
    "arcsin": lambda x: np.arcsin(x),
    "arccos": lambda x: np.arccos(x),
    "arctan": lambda x: np.arctan(x),
    "sinh": lambda x: np.sinh(x),
    "cosh": lambda x: np.cosh(x),
    "tanh": lambda x: np.tanh(x),
    "isnan": lambda x: np.isnan(x),
    "isinf": lambda x: np.isinf(x),
    "isfinite": lambda x: np.isfinite(x),
    "floor": lambda x: float(math.floor(x)),
    "ceil": lambda x: float(math.ceil(x)),
    "trunc": lambda x: float(math.trunc(x)),
    "rint": lambda x: float(round(x)),
    "deg2rad": lambda x: np.deg2rad(x),
    "rad2deg": lambda x: np.rad2deg(x),
}
REDUCTIONS: dict[Any, str] = {
    operator.add: "sum", operator.mul: "product", max: "max_val", min: "min_val", operator.and_: "all",
    operator.or_: "any"}
