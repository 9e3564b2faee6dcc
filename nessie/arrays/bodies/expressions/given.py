"""Python's functions that bodies have as Python functions: their errors are told at the call."""
from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from nessie.arrays.bodies.outside import Seen, looked_up, see
from nessie.base.source import Span


def gcd(a, b):                                                              # type: ignore[no-untyped-def]
    a, b = abs(a), abs(b)
    while b:
        a, b = b, a % b
    return a


def isqrt(n):                                                               # type: ignore[no-untyped-def]
    root = int(math.sqrt(n))
    while root > 3037000499 or root * root > n:             # whose square is the greatest below 2 ** 63
        root -= 1
    while root < 3037000499 and (root + 1) * (root + 1) <= n:
        root += 1
    return root


def isclose(a, b, rel_tol=1e-09, abs_tol=0.0):                              # type: ignore[no-untyped-def]
    if a == b:
        return True
    return not math.isinf(a) and not math.isinf(b) and abs(a - b) <= max(rel_tol * max(abs(a), abs(b)), abs_tol)


def clip(x, least, most):                                                   # type: ignore[no-untyped-def]
    return np.minimum(np.maximum(x, least), most)


AS_PYTHON: dict[Any, Callable[..., Any]] = {math.gcd: gcd, math.isqrt: isqrt, math.isclose: isclose, np.clip: clip}
OF_INTS = (math.gcd, math.isqrt)


def given(function: Any, place: Span) -> Seen | None:
    """Return the Python function that bodies have instead of this one, whose errors are told at the place."""
    found = looked_up(AS_PYTHON, function, None)
    if found is None:
        return None
    seen = see(found)
    seen.place = place
    return seen
