"""Restores results of compiled programs to values of their source types, for printing and for files.

At run time a function value is only what it captured, and a function that captured nothing is missing from its tuple
(mono.copies.erase). `restore` puts such parts back: every function becomes false.
"""
from __future__ import annotations

from typing import Any

import numpy as np

from nessie.base.types import Data, Fun, Pair, Seq, Type
from nessie.base.values import Column, Flat, OnDevice, length_of
from nessie.mono.copies.erase import content, remains
from nessie.typing import nodes as typed
from nessie.typing.environment import Environment, pattern_type


def restore(value: Any, type_: Type, environment: Environment) -> Any:
    """The flat value of the type, from its run-time value."""
    match type_:
        case Seq(element):
            return Flat(value.length, restore_column(value.column, element, value.length, environment))
        case Pair(first, second):
            one, other = parts(value, type_, False, environment)
            return restore(one, first, environment), restore(other, second, environment)
        case Data():
            return restore(value, content(type_, environment), environment)
        case Fun():
            return False
    return value


def restore_column(column: Column, type_: Type, length: int, environment: Environment) -> Column:
    match type_:
        case Seq(element):
            inner = length_of(column.content) if isinstance(column.offsets, OnDevice) else int(column.offsets[length])
            return column.over(restore_column(column.content, element, inner, environment))
        case Pair(first, second):
            one, other = parts(column, type_, np.zeros(length, np.bool_), environment)
            return restore_column(one, first, length, environment), restore_column(other, second, length, environment)
        case Data():
            return restore_column(column, content(type_, environment), length, environment)
        case Fun():
            return np.zeros(length, np.bool_)
    return column


def parts(value: Any, type_: Pair, nothing: Any, environment: Environment) -> tuple[Any, Any]:
    """The two parts of a pair. A part of which nothing is left at run time is `nothing`."""
    first, second = remains(type_.first, environment), remains(type_.second, environment)
    if first and second:
        return value[0], value[1]
    return (value, nothing) if first else (nothing, value)


def matched(pattern: typed.Pattern, value: Any, environment: Environment) -> dict[str, Any]:
    """The values of the pattern's names, given the run-time value that the pattern takes apart."""
    match pattern:
        case typed.PairPattern(first, second):
            pair = Pair(pattern_type(first), pattern_type(second))
            one, other = parts(value, pair, False, environment)
            return matched(first, one, environment) | matched(second, other, environment)
        case typed.DataPattern(_, _, argument):
            return matched(argument, value, environment)
        case typed.NamePattern("_"):
            return {}
    return {pattern.name: value}
