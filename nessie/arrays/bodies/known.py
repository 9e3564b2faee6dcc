"""Python's and NumPy's functions of numbers that bodies may call: a row each.

Python's own raise an error where a number has no result, as NESL does; NumPy's give nan or inf.
"""
from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from nessie.arrays.bodies.kinds import BOOL, FLOAT, INT
from nessie.arrays.bodies.trees import Fresh, Made, binary, call, let, name, number
from nessie.syntax import nodes as syntax

Row = Callable[[list[syntax.Exp], Fresh], syntax.Exp]


def named(function: str) -> Row:
    return lambda xs, fresh: call(function, *xs)


def within(test: Callable[[syntax.Exp], syntax.Exp], inside: str, outside: Callable[[syntax.Exp], syntax.Exp]) -> Row:
    """The NESL function where the test holds, as it is checked; `outside` elsewhere."""
    def row(xs: list[syntax.Exp], fresh: Fresh) -> syntax.Exp:
        x = fresh("x")
        return let([x], xs[0], syntax.If(test(name(x)), call(inside, name(x)), outside(name(x))))
    return row


def at_least_zero(x: syntax.Exp) -> syntax.Exp:
    return binary(">=", x, syntax.Number(0.0))


def small(x: syntax.Exp) -> syntax.Exp:
    return binary("and", binary("<=", syntax.Number(-1.0), x), binary("<=", x, syntax.Number(1.0)))


NAN, INF = syntax.Name("nan"), syntax.Name("inf")


def log_outside(x: syntax.Exp) -> syntax.Exp:
    return syntax.If(binary("==", x, syntax.Number(0.0)), syntax.Unary("-", INF), NAN)


def rounded(xs: list[syntax.Exp], fresh: Fresh) -> syntax.Exp:
    """Half to even, as Python rounds."""
    x, low, rest = fresh("x"), fresh("low"), fresh("rest")
    up = binary("+", name(low), syntax.Number(1))
    even = binary("+", name(low), call("mod", name(low), syntax.Number(2)))
    chosen = syntax.If(binary("<", name(rest), syntax.Number(0.5)), name(low),
                       syntax.If(binary(">", name(rest), syntax.Number(0.5)), up, even))
    return let([x], xs[0], let([low], call("floor", name(x)), let(
        [rest], binary("-", name(x), call("float", name(low))), chosen)))


def hypotenuse(xs: list[syntax.Exp], fresh: Fresh) -> syntax.Exp:
    a, b = fresh("a"), fresh("b")
    squares = binary("+", binary("*", name(a), name(a)), binary("*", name(b), name(b)))
    return let([a], xs[0], let([b], xs[1], call("sqrt", squares)))


def squared(xs: list[syntax.Exp], fresh: Fresh) -> syntax.Exp:
    x = fresh("x")
    return let([x], xs[0], binary("*", name(x), name(x)))


def is_nan(xs: list[syntax.Exp], fresh: Fresh) -> syntax.Exp:
    x = fresh("x")
    return let([x], xs[0], binary("/=", name(x), name(x)))


def is_infinite(xs: list[syntax.Exp], fresh: Fresh) -> syntax.Exp:
    return binary("==", call("abs", xs[0]), INF)


def is_finite(xs: list[syntax.Exp], fresh: Fresh) -> syntax.Exp:
    return binary("<", call("abs", xs[0]), INF)


def cubed(xs: list[syntax.Exp], fresh: Fresh) -> syntax.Exp:
    """The cube root, which negative numbers have, too."""
    x, root = fresh("x"), fresh("root")
    third = call("expt", call("abs", name(x)), binary("/", syntax.Number(1.0), syntax.Number(3.0)))
    return let([x], xs[0], let([root], third, syntax.If(
        binary("<", name(x), syntax.Number(0.0)), syntax.Unary("-", name(root)), name(root))))


def divided(xs: list[syntax.Exp], fresh: Fresh) -> syntax.Exp:
    """As NumPy divides: by zero, there is inf, -inf or nan. Both zeros count as positive."""
    a, b, zero = fresh("a"), fresh("b"), syntax.Number(0.0)
    outside = syntax.If(binary(">", name(a), zero), INF,
                        syntax.If(binary("<", name(a), zero), syntax.Unary("-", INF), NAN))
    inside = binary("/", name(a), name(b))
    return let([a], xs[0], let([b], xs[1], syntax.If(binary("==", name(b), zero), outside, inside)))


TO_FLOAT: dict[Any, Row] = {                # of floats, to a float
    math.sqrt: named("sqrt"), math.exp: named("exp"), math.sin: named("sin"), math.cos: named("cos"),
    math.tan: named("tan"), math.asin: named("asin"), math.acos: named("acos"), math.atan: named("atan"),
    math.sinh: named("sinh"), math.cosh: named("cosh"), math.tanh: named("tanh"), math.fabs: named("abs"),
    math.log: named("ln"), math.log2: lambda xs, fresh: call("log", xs[0], syntax.Number(2.0)),
    math.log10: lambda xs, fresh: call("log", xs[0], syntax.Number(10.0)),
    math.pow: named("expt"), math.hypot: hypotenuse,
    math.degrees: lambda xs, fresh: binary("*", xs[0], number(180 / math.pi)),
    math.radians: lambda xs, fresh: binary("*", xs[0], number(math.pi / 180)),
    np.sqrt: within(at_least_zero, "sqrt", lambda x: NAN), np.exp: named("exp"), np.sin: named("sin"),
    np.cos: named("cos"), np.tan: named("tan"), np.arctan: named("atan"), np.sinh: named("sinh"),
    np.cosh: named("cosh"), np.tanh: named("tanh"), np.arcsin: within(small, "asin", lambda x: NAN),
    np.arccos: within(small, "acos", lambda x: NAN),
    np.log: within(lambda x: binary(">", x, syntax.Number(0.0)), "ln", log_outside), np.hypot: hypotenuse,
    np.divide: divided, np.cbrt: cubed, np.deg2rad: lambda xs, fresh: binary("*", xs[0], number(math.pi / 180)),
    np.rad2deg: lambda xs, fresh: binary("*", xs[0], number(180 / math.pi)),
}
TO_BOOL: dict[Any, Row] = {                 # of floats
    math.isnan: is_nan, np.isnan: is_nan, math.isinf: is_infinite, np.isinf: is_infinite, math.isfinite: is_finite,
    np.isfinite: is_finite}
TO_INT: dict[Any, Row] = {                  # of floats
    math.floor: named("floor"), math.ceil: named("ceil"), math.trunc: named("trunc")}
SAME: dict[Any, Row] = {                    # of any number, to the same kind; truth values count as ints
    abs: named("abs"), np.abs: named("abs"), np.square: squared, np.negative: lambda xs, fresh: call("negate", xs[0]),
    np.minimum: named("min"), np.maximum: named("max")}
COUNTS: Mapping[Any, int] = {np.divide: 2, math.pow: 2, math.hypot: 2, np.hypot: 2, np.minimum: 2, np.maximum: 2}


def row_of(function: Any) -> tuple[Row, str, str] | None:
    """Return how NESL computes the function, the kind that it takes ('' for any number), and that of its result."""
    try:
        if function in TO_FLOAT:
            return TO_FLOAT[function], FLOAT, FLOAT
        if function in TO_BOOL:
            return TO_BOOL[function], FLOAT, BOOL
        if function in TO_INT:
            return TO_INT[function], FLOAT, INT
        if function in SAME:
            return SAME[function], "", ""
    except TypeError:               # it has no hash
        pass
    return None


def count_of(function: Any) -> int:
    """Return how many arguments a function of the table takes."""
    return COUNTS.get(function, 1)


def computed(function: Any, row: Row, takes: str, gives: str, given: list[Made], fresh: Fresh,
             convert: Callable[[Made, str], syntax.Exp]) -> Made:
    """Return the call of a function of the table."""
    kind = takes or max([INT, *[str(one.kind) for one in given]], key=[BOOL, INT, FLOAT].index)
    return Made(row([convert(one, kind) for one in given], fresh), gives or kind)
