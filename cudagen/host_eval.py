"""Scalar expressions of lambda_cu, evaluated on the CPU for the host level: Python's numbers, ints that wrap.

A scalar function that calls itself last goes round a loop here. A failing check raises HostFailure at once.
"""
from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from nessie.lambda_cu import ir

Value = Any                             # int, float, bool or a one-character str
Values = tuple[Value, ...]
POLL_MASK = 65535

MIN_INT, MAX_INT = -2**63, 2**63 - 1


class HostFailure(Exception):
    """The check of this site does not hold."""

    def __init__(self, site: str) -> None:
        super().__init__(site)
        self.site = site


@dataclass
class Surroundings:
    """`read` an element of an array by its name; `poll` is called now and then by what may run long."""
    functions: Mapping[str, ir.ScalarFunction]
    read: Callable[[str, int], Value]
    poll: Callable[[], None]


# Operators --------------------------------------------------------------------------------------

def wrap(x: int) -> int:
    return x if MIN_INT <= x <= MAX_INT else ((x - MIN_INT) & (2**64 - 1)) + MIN_INT


def number(op: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def apply(a: Any, b: Any) -> Any:
        return op(a, b) if isinstance(a, float) else wrap(op(a, b))
    return apply


def divide(a: Any, b: Any) -> Any:
    """Outside the domain any value will do."""
    if isinstance(a, float):
        return a / b if b else math.nan
    return wrap(int_quotient(a, b)) if b else 0


def int_quotient(a: int, b: int) -> int:
    """Towards zero, exactly."""
    quotient = abs(a) // abs(b)
    return quotient if (a < 0) == (b < 0) else -quotient


def either_nan(a: Any, b: Any) -> bool:
    return bool(a != a or b != b)


def rounded(function: Callable[[float], int]) -> Callable[[float], int]:
    return lambda x: wrap(function(x)) if math.isfinite(x) else 0


def nearest(x: float) -> int:
    """Halves away from zero."""
    whole = math.trunc(x)
    return whole + (1 if x > 0 else -1) if abs(x - whole) >= 0.5 else whole


def real(function: Callable[[float], float]) -> Callable[[float], float]:
    def apply(x: float) -> float:
        try:
            return function(x)
        except ValueError:
            return math.nan
        except OverflowError:
            return math.copysign(math.inf, x) if function is math.sinh else math.inf
    return apply


def logarithm(x: float) -> float:
    return math.log(x) if x > 0 else -math.inf if x == 0 else math.nan


OPERATORS: dict[str, Callable[..., Value]] = {
    "+": number(operator.add), "-": number(operator.sub), "*": number(operator.mul), "/": divide,
    "rem": lambda a, b: a - b * int_quotient(a, b) if b else 0, "mod": lambda a, b: a % b if b else 0,
    "neg": lambda a: 0.0 - a if isinstance(a, float) else wrap(-a),
    "abs": lambda a: abs(a) if isinstance(a, float) else wrap(abs(a)),
    "max": lambda a, b: math.nan if either_nan(a, b) else max(a, b),
    "min": lambda a, b: math.nan if either_nan(a, b) else min(a, b),
    "==": operator.eq, "/=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
    "and": operator.and_, "or": operator.or_, "xor": operator.xor,
    "not": lambda a: not a if isinstance(a, bool) else ~a,
    "lshift": lambda a, n: wrap(a << (n & 63)), "rshift": lambda a, n: a >> (n & 63),
    "float": float, "trunc": rounded(math.trunc), "floor": rounded(math.floor), "ceil": rounded(math.ceil),
    "round": rounded(nearest), "btoi": int, "char_code": ord,
    "code_char": lambda i: chr(i) if 0 <= i <= 0x10FFFF else "\0",
    "sqrt": real(math.sqrt), "ln": logarithm, "exp": real(math.exp), "sin": real(math.sin), "cos": real(math.cos),
    "tan": real(math.tan), "asin": real(math.asin), "acos": real(math.acos), "atan": real(math.atan),
    "sinh": real(math.sinh), "cosh": real(math.cosh), "tanh": real(math.tanh), "isnan": math.isnan,
}


# Expressions ------------------------------------------------------------------------------------

def evaluate(exp: ir.Exp, names: dict[str, Value], around: Surroundings) -> Values:
    """The expression's components. `names` is added to: a name is bound once in its expression."""
    rounds = 0
    while True:
        match exp:
            case ir.Let(bound, value, body):
                names.update(zip(bound, evaluate(value, names, around), strict=True))
                exp = body
            case ir.If(condition, then, orelse):
                exp = then if scalar(condition, names, around) else orelse
            case ir.CallScalar(name, arguments):
                function = around.functions[name]
                values = [scalar(a, names, around) for a in arguments]
                names = {p.name: v for p, v in zip(function.params, values, strict=True)}
                exp = function.body
                rounds += 1
                if rounds & POLL_MASK == 0:
                    around.poll()
            case ir.Tuple(items):
                return tuple([scalar(item, names, around) for item in items])
            case _:
                return (simple(exp, names, around),)


def scalar(exp: ir.Exp, names: dict[str, Value], around: Surroundings) -> Value:
    match exp:
        case ir.Let() | ir.If() | ir.CallScalar():
            return evaluate(exp, names, around)[0]
    return simple(exp, names, around)


def simple(exp: ir.Exp, names: dict[str, Value], around: Surroundings) -> Value:
    """An expression of one component that is no let, conditional or call."""
    match exp:
        case ir.Const(value):
            return value
        case ir.Var(name):
            return names[name]
        case ir.Op(op, arguments):
            return OPERATORS[op](*[scalar(a, names, around) for a in arguments])
        case ir.Read(array, index):
            return around.read(array, scalar(index, names, around))
        case ir.Fail(site):
            raise HostFailure(site)
    raise TypeError(exp)
