"""Values in the text format of write_object and read_object. It is CMU NESL's (io.lnesl of its library).

    42                  ( 42 )
    [[1, 2], [3]]       ( 2 ) ( 2 1 ) ( 1 2 3 )     the lengths level by level, then the elements
    (t, 2.5)            ( 1 ) ( 2.5 )               T and F are read too
    "ab"                ( 2 ) ( 2 )\\nab             characters as they are, after their number
"""
from __future__ import annotations

import re
from collections.abc import Callable
from itertools import accumulate
from typing import Any

import numpy as np

from nessie.base.types import Base, Pair, Seq, Type
from nessie.base.values import DTYPES, Column, Flat, Nested, code_points, text_of_codes
from nessie.base.widths import wide

ReadTo = Callable[[str, int], tuple[str, int]]          # world.Stream.read_to

MOST = 2 ** 48                  # the largest number of elements of a sequence
INTEGER = re.compile(r"[-+]?[0-9]+")
NUMBER = re.compile(r"[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?|[-+]?inf|nan")
TRUTH = {"1": True, "t": True, "0": False, "f": False}


# Writing ----------------------------------------------------------------------------------------


def show(value: Any, type_: Type) -> str:
    """The text of a flat value."""
    match type_:
        case Pair(first, second):
            return show(value[0], first) + show(value[1], second)
        case Seq(element):
            return show_array(np.array([value.length])) + show_column(value.column, element, value.length)
        case Base("char"):
            return show_column(code_points(value), type_, 1)
        case Base(name):
            return show_column(np.array([value], DTYPES[name]), type_, 1)
    raise TypeError(type_)


def show_column(column: Column, type_: Type, count: int) -> str:
    match type_:
        case Pair(first, second):
            return show_column(column[0], first, count) + show_column(column[1], second, count)
        case Seq(element):
            lengths = np.diff(column.offsets[:count + 1])
            return show_array(lengths) + show_column(column.content, element, int(lengths.sum()))
        case Base("char"):
            return show_array(np.array([count])) + text_of_codes(column[:count]) + "\n"
    return show_array(column[:count])


def show_array(values: np.ndarray[Any, Any]) -> str:
    shown = map(repr, (values.astype(np.int64) if values.dtype == np.bool_ else values).tolist())
    return f"( {' '.join(shown)} )\n"


# Reading ----------------------------------------------------------------------------------------


def read(type_: Type, read_to: ReadTo) -> Any:
    """Read a flat value of this type. ValueError says what the text has instead."""
    match type_:
        case Pair(first, second):
            value = read(first, read_to)
            return value, read(second, read_to)
        case Seq(element):
            length = read_array("int", 1, read_to)[0].item()
            return Flat(size(length), read_column(element, size(length), read_to))
        case Base("char"):
            return text_of_codes(read_column(type_, 1, read_to))
        case Base(name):
            return read_array(name, 1, read_to)[0].item()
    raise TypeError(type_)


def read_numbers(type_: Type, read_to: ReadTo) -> Flat:
    """The numbers of this type up to the closing parenthesis."""
    assert isinstance(type_, Base)
    return sequence(array(type_.name, words(read_to)))


def sequence(values: np.ndarray[Any, Any]) -> Flat:
    return Flat(len(values), values)


def read_column(type_: Type, count: int, read_to: ReadTo) -> Column:
    match type_:
        case Pair(first, second):
            column = read_column(first, count, read_to)
            return column, read_column(second, count, read_to)
        case Seq(element):
            lengths = map(size, read_array("int", count, read_to).tolist())
            ends = [0, *accumulate(lengths)]
            return Nested(np.array(ends, np.int64), read_column(element, size(ends[-1]), read_to))
        case Base("char"):
            same(size(read_array("int", 1, read_to)[0].item()), count)
            read_to("\n", -1)
            text, _ = read_to("", count)
            same(len(text), count)
            return code_points(text)
        case Base(name):
            return read_array(name, count, read_to)
    raise TypeError(type_)


def read_array(base: str, count: int, read_to: ReadTo) -> np.ndarray[Any, Any]:
    found = words(read_to)
    same(len(found), count)
    return array(base, found)


def words(read_to: ReadTo) -> list[str]:
    before, opened = read_to("(", -1)
    inside, closed = read_to(")", -1)
    if before.strip() or opened < 0 or closed < 0:
        raise ValueError("( ... ) is expected, with a value's elements")
    return inside.split()


def array(base: str, found: list[str]) -> np.ndarray[Any, Any]:
    try:
        if base == "bool":
            return np.array([TRUTH[word.lower()] for word in found], DTYPES[base])
        whole = wide(base) == "int"
        if not all(map((INTEGER if whole else NUMBER).fullmatch, found)):
            raise ValueError
        with np.errstate(over="ignore"):
            return np.array([int(word) if whole else float(word) for word in found], DTYPES[base])
    except (ValueError, KeyError, OverflowError):
        raise ValueError(f"a value of type {wide(base)} is expected between ( and )") from None


def same(found: int, wanted: int) -> None:
    if found != wanted:
        raise ValueError(f"{wanted} elements are expected, {found} are there")


def size(length: int) -> int:
    if not 0 <= length <= MOST:
        raise ValueError(f"{length} is no length")
    return length
