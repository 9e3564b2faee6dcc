"""Python's and NumPy's functions of numbers that bodies may call: a row each.

Python's own raise an error where a number has no result, as NESL does; NumPy's give nan or inf.
"""
from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from nessie.arrays.bodies.kinds import BOOL, FLOAT, INT, Kind
from nessie.arrays.bodies.trees import Fresh, binary, call, let, name, number
from nessie.base.source import Span
from nessie.syntax import nodes as syntax

Row = Callable[[list[syntax.Exp], Fresh], syntax.Exp]
NAN, INF, ZERO, ONE = syntax.Name("nan"), syntax.Name("inf"), syntax.Number(0.0), syntax.Number(1.0)
ALL_WHOLE = syntax.Number(2.0 ** 52)        # floats from there on have no fraction


def named(function: str) -> Row:
    return lambda xs, fresh: call(function, *xs)


def of_operator(op: str) -> Row:
    return lambda xs, fresh: binary(op, xs[0], xs[1])


def of_names(body: Callable[..., syntax.Exp]) -> Row:
    """The body of the arguments by names."""
    def row(xs: list[syntax.Exp], fresh: Fresh) -> syntax.Exp:
        names = [fresh("x") for _ in xs]
        result = body(*map(name, names))
        for n, x in reversed(list(zip(names, xs))):
            result = let([n], x, result)
        return result
    return row


def within(test: Callable[[syntax.Exp], syntax.Exp], inside: str, outside: Callable[[syntax.Exp], syntax.Exp]) -> Row:
    """The NESL function where the test holds, as it is checked; `outside` elsewhere."""
    return of_names(lambda x: syntax.If(test(x), call(inside, x), outside(x)))


def checked(function: str, row: Row) -> Row:
    """The function of Python's math: an error, if its result is NaN and no argument is, or is infinite and none is."""
    message = syntax.String(f"Math domain or range error in {function}.")

    def checked_row(xs: list[syntax.Exp], fresh: Fresh) -> syntax.Exp:
        result = fresh("result")

        def exp(*given: syntax.Exp) -> syntax.Exp:
            some_nan, some_infinite = call("_isnan", given[0]), call("not", call("_finite", given[0]))
            for x in given[1:]:
                some_nan = binary("or", some_nan, call("_isnan", x))
                some_infinite = binary("or", some_infinite, call("not", call("_finite", x)))
            allowed = syntax.If(call("_isnan", name(result)), some_nan, some_infinite)
            right = syntax.If(call("_finite", name(result)), syntax.Bool(True), allowed)
            return let([result], row(list(given), fresh), call("_check", right, message, name(result)))
        return of_names(exp)(xs, fresh)
    return checked_row


def at_least_zero(x: syntax.Exp) -> syntax.Exp:
    return binary(">=", x, ZERO)


def log_outside(x: syntax.Exp) -> syntax.Exp:
    return syntax.If(binary("==", x, ZERO), syntax.Unary("-", INF), NAN)


def rounded(xs: list[syntax.Exp], fresh: Fresh) -> syntax.Exp:
    """Half to even, as Python rounds."""
    x, low, rest = fresh("x"), fresh("low"), fresh("rest")
    up = binary("+", name(low), syntax.Number(1))
    even = binary("+", name(low), call("mod", name(low), syntax.Number(2)))
    chosen = syntax.If(binary("<", name(rest), syntax.Number(0.5)), name(low),
                       syntax.If(binary(">", name(rest), syntax.Number(0.5)), up, even))
    return let([x], xs[0], let([low], call("floor", name(x)), let(
        [rest], binary("-", name(x), call("float", name(low))), chosen)))


def whole(to_int: Row) -> Row:
    """A function to ints, as one to floats: of any size, and with the sign of zeros."""
    def row(xs: list[syntax.Exp], fresh: Fresh) -> syntax.Exp:
        x = fresh("x")
        near = call("_copysign", call("float", to_int([name(x)], fresh)), name(x))
        return let([x], xs[0], syntax.If(binary("<", call("abs", name(x)), ALL_WHOLE), near, name(x)))
    return row


def divided(xs: list[syntax.Exp], fresh: Fresh) -> syntax.Exp:
    """As NumPy divides: by zero, there is inf, -inf or nan."""
    def quotient(a: syntax.Exp, b: syntax.Exp) -> syntax.Exp:
        infinite = binary("*", call("_copysign", INF, a), call("_copysign", ONE, b))
        is_number = binary("or", binary("<", a, ZERO), binary(">", a, ZERO))
        return syntax.If(binary("==", b, ZERO), syntax.If(is_number, infinite, NAN), binary("/", a, b))
    return of_names(quotient)(xs, fresh)


def remainder(xs: list[syntax.Exp], fresh: Fresh) -> syntax.Exp:
    """With the divisor's sign, as Python and NumPy have it; NaN of a divisor 0."""
    a, b, rest = fresh("a"), fresh("b"), fresh("rest")
    other_sign = binary("xor", binary("<", name(rest), ZERO), binary("<", name(b), ZERO))
    moved = syntax.If(other_sign, binary("+", name(rest), name(b)), name(rest))
    signed = syntax.If(binary("==", name(rest), ZERO), call("_copysign", ZERO, name(b)), moved)
    return let([a], xs[0], let([b], xs[1], let([rest], call("_fmod", name(a), name(b)), syntax.If(
        binary("==", name(b), ZERO), NAN, signed))))


def floor_divided(xs: list[syntax.Exp], fresh: Fresh) -> syntax.Exp:
    """The quotient rounded down, exactly: what fmod leaves, divided; NumPy's quotient by 0."""
    a, b, rest, q, low = fresh("a"), fresh("b"), fresh("rest"), fresh("q"), fresh("low")
    down = binary("and", binary("/=", name(rest), ZERO),
                  binary("xor", binary("<", name(rest), ZERO), binary("<", name(b), ZERO)))
    exact = binary("/", binary("-", name(a), name(rest)), name(b))
    near = syntax.If(binary(">", binary("-", name(q), name(low)), syntax.Number(0.5)), binary("+", name(low), ONE),
                     name(low))
    zero = call("_copysign", ZERO, binary("/", name(a), name(b)))
    rounded_down = syntax.If(binary("==", name(q), ZERO), zero,
                             let([low], whole(named("floor"))([name(q)], fresh), near))
    inside = let([rest], call("_fmod", name(a), name(b)), let(
        [q], binary("-", exact, syntax.If(down, ONE, ZERO)), rounded_down))
    return let([a], xs[0], let([b], xs[1], syntax.If(
        binary("==", name(b), ZERO), divided([name(a), name(b)], fresh), inside)))


def floor_divided_ints(a: syntax.Exp, b: syntax.Exp, span: Span | None = None) -> syntax.Exp:
    """The quotient of two names, rounded down."""
    rest = call("rem", a, b, span=span)
    down = binary("and", binary("/=", rest, syntax.Number(0)), binary("xor", call("minusp", rest), call("minusp", b)))
    return binary("-", binary("/", a, b, span), call("btoi", down))


def sign(x: syntax.Exp) -> syntax.Exp:
    not_more = syntax.If(binary("<", x, ZERO), syntax.Unary("-", ONE), binary("+", x, ZERO))
    return syntax.If(binary(">", x, ZERO), ONE, not_more)


def negative(x: syntax.Exp) -> syntax.Exp:
    """Also of zeros, which `negate` gives no sign."""
    return binary("*", x, syntax.Unary("-", ONE))


def same_int(x: syntax.Exp) -> syntax.Exp:
    return x


TO_DEGREES = of_names(lambda x: binary("*", x, number(180 / math.pi)))
TO_RADIANS = of_names(lambda x: binary("*", x, number(math.pi / 180)))
OF_MATH = {                                 # of floats, to a float: an error where there is no such number
    "exp": named("exp"), "asin": named("asin"), "acos": named("acos"), "sinh": named("sinh"), "cosh": named("cosh"),
    "log": named("ln"), "log2": named("_log2"), "log10": named("_log10"), "pow": named("_pow"),
    "fmod": named("_fmod"), "exp2": named("_exp2")}
TO_FLOAT: dict[Any, Row] = {                # of floats, to a float
    **{getattr(math, function): checked(function, row) for function, row in OF_MATH.items() if hasattr(math, function)},
    math.sqrt: named("sqrt"), math.sin: named("sin"), math.cos: named("cos"), math.tan: named("tan"),
    math.atan: named("atan"), math.tanh: named("tanh"), math.fabs: named("abs"), math.hypot: named("_hypot"),
    math.atan2: named("_atan2"), math.copysign: named("_copysign"), math.degrees: TO_DEGREES, math.radians: TO_RADIANS,
    np.sqrt: within(at_least_zero, "sqrt", lambda x: syntax.If(binary("==", x, ZERO), x, NAN)), np.exp: named("exp"),
    np.sin: named("sin"), np.cos: named("cos"), np.tan: named("tan"), np.arctan: named("atan"), np.sinh: named("sinh"),
    np.cosh: named("cosh"), np.tanh: named("tanh"), np.arcsin: named("asin"), np.arccos: named("acos"),
    np.log: within(lambda x: binary(">", x, ZERO), "ln", log_outside), np.log2: named("_log2"),
    np.log10: named("_log10"), np.exp2: named("_exp2"), np.cbrt: named("_cbrt"), np.hypot: named("_hypot"),
    np.arctan2: named("_atan2"), np.copysign: named("_copysign"), np.float_power: named("_pow"), np.fabs: named("abs"),
    np.divide: divided, np.rint: whole(rounded), np.deg2rad: TO_RADIANS, np.radians: TO_RADIANS,
    np.rad2deg: TO_DEGREES, np.degrees: TO_DEGREES,
}
if cbrt := getattr(math, "cbrt", None):     # Python has it from 3.11 on
    TO_FLOAT[cbrt] = named("_cbrt")
TO_BOOL: dict[Any, Row] = {                 # of floats
    **dict.fromkeys((math.isnan, np.isnan), named("_isnan")),
    **dict.fromkeys((math.isinf, np.isinf), lambda xs, fresh: binary("==", call("abs", xs[0]), INF)),
    **dict.fromkeys((math.isfinite, np.isfinite), named("_finite")),
    np.signbit: lambda xs, fresh: binary("<", call("_copysign", ONE, xs[0]), ZERO)}
TO_INT: dict[Any, Row] = {                  # of floats
    math.floor: named("floor"), math.ceil: named("ceil"), math.trunc: named("trunc")}
SAME: dict[Any, tuple[Row, Row]] = {        # of ints, to ints; and of floats, to floats. Truth values count as ints.
    np.abs: (named("abs"), named("abs")), np.minimum: (named("min"), named("min")),
    np.maximum: (named("max"), named("max")),
    np.square: (of_names(lambda x: binary("*", x, x)), of_names(lambda x: binary("*", x, x))),
    np.negative: (named("negate"), of_names(negative)),
    np.sign: (of_names(lambda x: binary("-", call("btoi", call("plusp", x)), call("btoi", call("minusp", x)))),
              of_names(sign)),
    np.floor: (of_names(same_int), whole(named("floor"))), np.ceil: (of_names(same_int), whole(named("ceil"))),
    np.trunc: (of_names(same_int), whole(named("trunc"))),
    np.remainder: (named("mod"), remainder), np.fmod: (named("rem"), named("_fmod")),
    np.floor_divide: (of_names(floor_divided_ints), floor_divided),
    np.power: (of_names(lambda x, y: binary("^", x, y)), named("_pow")),
}
SAME[abs] = SAME[np.abs]
COMPARED: dict[Any, Row] = {                # of ints, or of floats: NumPy rounds an int beside a float
    getattr(np, function): of_operator(op) for function, op in {
        "equal": "==", "not_equal": "/=", "less": "<", "less_equal": "<=", "greater": ">",
        "greater_equal": ">="}.items()}
COUNTS: Mapping[Any, int] = dict.fromkeys((math.pow, math.hypot, math.atan2, math.copysign, math.fmod), 2)


def row_of(function: Any, kinds: Sequence[Kind]) -> tuple[Row, str, str] | None:
    """Return how NESL computes the function of such numbers, the kind that it takes, and that of its result."""
    try:
        if function in TO_FLOAT:
            return TO_FLOAT[function], FLOAT, FLOAT
        if function in TO_BOOL:
            return TO_BOOL[function], FLOAT, BOOL
        if function in TO_INT:
            return TO_INT[function], FLOAT, INT
        if function in COMPARED:
            return COMPARED[function], FLOAT if FLOAT in kinds else INT, BOOL
        if function in SAME:
            of_ints, of_floats = SAME[function]
            return (of_floats, FLOAT, FLOAT) if FLOAT in kinds else (of_ints, INT, INT)
    except TypeError:               # it has no hash
        pass
    return None


def count_of(function: Any) -> int:
    """Return how many arguments a function of the table takes."""
    return getattr(function, "nin", None) or COUNTS.get(function, 1)
