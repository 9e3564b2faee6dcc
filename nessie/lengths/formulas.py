"""Formulas of lengths in written types: [i < n => [float; min(i + 1, b)]].

    int  name  -a  + - *  a / 2  a ^ 2  2 ^ a  min(a, b)  max(a, b)  rem(a, 2)  mod(a, 2)

What divides is a positive number, so that no formula fails; a quotient is rounded towards 0, as in NESL.
"""
from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from nessie.base.source import NessieError, Span
from nessie.lambda_cu import nodes as ir
from nessie.syntax import nodes as syntax
from nessie.syntax.text import show_expression
from nessie.syntax.types import LENGTHS

Ints = Any                      # an int, or an array of ints of 64 bits
MOST = 2 ** 61                  # what is computed lies between this and its negative
MOST_POWER, MOST_SHIFT = 8, 60


class Beyond(Exception):
    """A part of a formula leaves the ints."""


def bare(exp: syntax.Exp | None) -> str:
    """Return the name that the length is, '' if it is none."""
    return exp.name if isinstance(exp, syntax.Name) else ""


def check(exp: syntax.Exp) -> None:
    """Raise NessieError if the length is no formula."""
    match exp:
        case syntax.Name():
            return
        case syntax.Number(int()):
            return
        case syntax.Binary("+" | "-" | "*", a, b) | syntax.Apply(syntax.Name("min" | "max"), syntax.Pair(a, b)):
            check(a)
            check(b)
            return
        case syntax.Binary("/", a, b) | syntax.Apply(syntax.Name("rem" | "mod"), syntax.Pair(a, b)):
            if not (isinstance(b, syntax.Number) and isinstance(b.value, int) and b.value > 0):
                raise complaint("what divides in a length is a number above 0", b, "such as i / 2, rem(i, 3)")
            check(a)
            return
        case syntax.Unary("-", syntax.Number()):
            raise complaint("a length is not negative", exp)
        case syntax.Unary("-", a):
            check(a)
            return
        case syntax.Binary("^", syntax.Number(2), b):
            check(b)
            return
        case syntax.Binary("^", a, syntax.Number(int(power))) if power <= MOST_POWER:
            check(a)
            return
        case syntax.Binary("^", a, b):
            raise complaint(f"a power in a length is of 2, or by a number up to {MOST_POWER}", exp, power_hint(a, b))
    if isinstance(exp, syntax.Number):
        raise complaint("a length is a whole number", exp)
    raise complaint("this is no formula of a length", exp)


def power_hint(a: syntax.Exp, b: syntax.Exp) -> str:
    """Say how one writes the power, if it is one of 2."""
    if isinstance(a, syntax.Number) and a.value in (4, 8, 16, 32, 64) and not isinstance(b, syntax.Number):
        twos = syntax.Number(int(a.value).bit_length() - 1)
        power = syntax.Binary("^", syntax.Number(2), syntax.Binary("*", twos, b))
        return f"write {show_expression(power)}"
    return "such as 2 ^ i, 2 ^ (2 * i), i ^ 2"


def complaint(message: str, exp: syntax.Exp, hint: str = LENGTHS) -> NessieError:
    return NessieError(message, *places(exp.span, "not this"), hint=hint)


def places(span: Span | None, label: str) -> Sequence[tuple[Span, str]]:
    return ((span, label),) if span else ()


# As code ------------------------------------------------------------------------------------------


def thread(exp: syntax.Exp) -> ir.Exp:
    """The formula as an expression of a thread, in which names stay."""
    match exp:
        case syntax.Name(name):
            return ir.Var(name)
        case syntax.Number(int(value)):
            return ir.Const(value, "int")
        case syntax.Binary("^", syntax.Number(2), b):
            power = thread(b)
            return ir.If(op("<", power, ir.Const(64, "int")), op("lshift", ir.Const(1, "int"), power),
                         ir.Const(0, "int"))
        case syntax.Binary("^", a, syntax.Number(int(power))):
            result: ir.Exp = ir.Const(1, "int")
            for _ in range(power):
                result = thread(a) if result == ir.Const(1, "int") else op("*", result, thread(a))
            return result
        case syntax.Unary(_, a):
            return op("-", ir.Const(0, "int"), thread(a))
        case syntax.Binary(operator, a, b) | syntax.Apply(syntax.Name(operator), syntax.Pair(a, b)):
            return op(operator, thread(a), thread(b))
    raise TypeError(exp)


def op(name: str, *arguments: ir.Exp) -> ir.Exp:
    return ir.Op(name, arguments)


# As numbers ---------------------------------------------------------------------------------------


def value(exp: syntax.Exp, numbers: Mapping[str, Ints]) -> Ints:
    """What the formula is where names stand for these numbers. Beyond, if a part of it leaves the ints."""
    match exp:
        case syntax.Name(name):
            return numbers[name]
        case syntax.Number(int(number)):
            return number
        case syntax.Unary(_, a):
            return computed("-", 0, value(a, numbers))
        case syntax.Binary(operator, a, b) | syntax.Apply(syntax.Name(operator), syntax.Pair(a, b)):
            return computed(operator, value(a, numbers), value(b, numbers))
    raise TypeError(exp)


def computed(operator: str, a: Ints, b: Ints) -> Ints:
    if operator in EXACT:
        about = EXACT[operator](np.asarray(a, np.float64), np.asarray(b, np.float64))
        if about.size and not np.abs(about).max() < MOST:
            raise Beyond
        return EXACT[operator](np.asarray(a, np.int64), np.asarray(b, np.int64))
    if operator == "^" and np.ndim(b) == 0 and not (np.ndim(a) == 0 and a == 2):
        result: Ints = 1
        for _ in range(int(b)):
            result = computed("*", result, a)
        return result
    if operator == "^":
        power = np.asarray(b, np.int64)
        if power.size and not (power.min() >= 0 and power.max() <= MOST_SHIFT):
            raise Beyond
        return np.left_shift(np.int64(1), power)
    return ROUNDED[operator](np.asarray(a, np.int64), np.int64(b))


EXACT: dict[str, Callable[[Any, Any], Any]] = {"+": np.add, "-": np.subtract, "*": np.multiply, "min": np.minimum,
                                               "max": np.maximum}
ROUNDED: dict[str, Callable[[Any, Any], Any]] = {"rem": np.fmod, "mod": np.mod,
                                                 "/": lambda a, b: (a - np.fmod(a, b)) // b}
