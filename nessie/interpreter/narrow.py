"""Numbers of 32 bits: what a primitive gives is made narrow after it has been computed at full width.

    sum, product, scans, write_add      combine at full width, and the results are made narrow, each once
    max_val of no elements              the least int or float that there is
    trunc, floor, ceil, round           fail beyond the ints of 32 bits
    lshift, rshift                      counts are in 0..31

An int is wrapped, a float is rounded to the nearest single. Words and reals, which the library computes with, stay.
"""
from __future__ import annotations

from typing import Any

from nessie.base.text.types_text import primitive_scheme
from nessie.base.types import FLOAT, INT, Fun, Pair, Seq, Type, instantiate
from nessie.base.widths import Widths
from nessie.interpreter.meanings import COMBINING, REDUCTIONS, SCANS, check
from nessie.library.primitives import PRIMITIVES

EXTREMES = ("max_val", "min_val", "max_scan", "min_scan", "_least", "_greatest")
CONVERTING = {"trunc": "TRUNC", "floor": "FLOOR", "ceil": "CEIL", "round": "ROUND", "_trunc": "TRUNC",
              "_floor": "FLOOR"}
SHIFTS = "Shift count out of range, it must be in 0..31."
ARITHMETIC = {*REDUCTIONS, *SCANS, *COMBINING, *EXTREMES, "float_num", "int_to_any", "float_to_any", "rand",
              *(row.name for row in PRIMITIVES.values() if row.kind == "scalar")}


def check_shift(name: str, argument: Any, widths: Widths) -> None:
    if widths.ints == 32 and name in ("lshift", "rshift"):
        check(0 <= argument[1] <= 31, SHIFTS)


def narrowed(name: str, types: tuple[Type, ...], value: Any, widths: Widths) -> Any:
    """What the primitive gives in a program of these widths, where it computes this at full width."""
    if name not in ARITHMETIC:
        return value
    scheme = instantiate(primitive_scheme(name, PRIMITIVES[name].type), types)
    assert isinstance(scheme, Fun)
    if name in EXTREMES:
        return clamped(value, scheme.result, widths)
    if name in CONVERTING and scheme.result == INT:
        message = f"Float out of the range of int in function {CONVERTING[name]}."
        check(widths.min_int <= value <= widths.max_int, message)
    return narrow(value, scheme.result, widths)


def narrow(value: Any, type_: Type, widths: Widths) -> Any:
    """The value of this type with its numbers as the program has them."""
    match type_:
        case _ if type_ == INT:
            return widths.wrapped(value)
        case _ if type_ == FLOAT:
            return widths.rounded(value)
        case Seq(element):
            return [narrow(item, element, widths) for item in value]
        case Pair(first, second):
            return narrow(value[0], first, widths), narrow(value[1], second, widths)
    return value


def clamped(value: Any, type_: Type, widths: Widths) -> Any:
    """Greatest and least values, of which those of nothing are at the ends of the range."""
    if isinstance(type_, Seq):
        return [clamped(item, type_.element, widths) for item in value]
    return min(max(value, widths.min_int), widths.max_int) if type_ == INT else value
