"""Values as NESL prints them at top level.

    1   -2.5   1.0e7   T   `a   "a string"   [1, 2, 3]   (1, (2, 3), 4)   point(1.0, 2.0)   fn

The text reads back as the value. A character that a terminal may obey is told by its code, in a string between its
other parts: "a" ++ [code_char(27)] ++ "b".

Takes plain and flat values (base.values), also mixed. Only the shown elements of a long sequence are looked at.
"""
from __future__ import annotations

import math
import re
from collections.abc import Iterator
from itertools import islice
from typing import Any

import numpy as np

from nessie.base.names import shown_name
from nessie.base.source import CONTROL
from nessie.base.types import CHAR, Base, ContentOf, Data, Fun, Pair, Seq, Type, Var, no_datatypes
from nessie.base.values import Column, Flat, Nested, Record, text_of


def show_value(value: Any, type_: Type, limit: int = 100, content: ContentOf = no_datatypes, digits: int = 15) -> str:
    """Return the value as text; a sequence that is not a string shows its first `limit` elements. Floats are rounded to
    so many digits."""
    match type_:
        case Base(name):
            return show_scalar(value, name, digits)
        case Seq(element) if element == CHAR:
            return show_string(value)
        case Seq(element):
            shown = [show_value(e, element, limit, content, digits) for e in islice(elements(value), limit)]
            rest = ("," if shown else "") + "..." if size(value) > limit else ""
            return f"[{', '.join(shown)}{rest}]"
        case Pair():
            return f"({', '.join(show_components(value, type_, limit, content, digits))})"
        case Data(name):
            inside = value.content if isinstance(value, Record) else value
            fields = ", ".join(show_components(inside, content(type_), limit, content, digits))
            return f"{shown_name(name)}({fields})"
        case Fun():
            return "fn"
        case Var():
            return str(value)
    raise TypeError(type_)


def show_components(value: Any, type_: Type, limit: int, content: ContentOf, digits: int) -> list[str]:
    """Return the components of a tuple, which nests to the right; any other value is its only component."""
    shown = []
    while isinstance(type_, Pair):
        shown.append(show_value(value[0], type_.first, limit, content, digits))
        value, type_ = value[1], type_.second
    return [*shown, show_value(value, type_, limit, content, digits)]


def show_scalar(value: Any, base: str, digits: int = 15) -> str:
    match base:
        case "int":
            return str(int(value))
        case "float":
            return show_float(float(value), digits)
        case "bool":
            return "T" if value else "F"
        case _:
            character = value if isinstance(value, str) else chr(value)
            return coded(character) if CONTROL.match(character) else "`" + character


def show_float(x: float, digits: int = 15) -> str:
    """Return the shortest text that reads back as x rounded to so many digits; decimal in [1e-3, 1e7), else with an
    exponent."""
    if not math.isfinite(x):
        return "nan" if math.isnan(x) else "inf" if x > 0 else "-inf"
    rounded = float(f"{x:.{digits - 1}e}")
    if math.isinf(rounded):                 # the largest floats round beyond the range
        rounded = x
    if rounded == 0 or 1e-3 <= abs(rounded) < 1e7:
        return repr(rounded)
    return np.format_float_scientific(rounded, trim="0", exp_digits=1).replace("e+", "e")


def show_string(value: Any) -> str:
    text = text_of(value) if isinstance(value, Flat) else "".join(value)
    if CONTROL.search(text) is None:
        return quoted(text)
    parts = [f"[{', '.join(map(coded, part))}]" if CONTROL.match(part) else quoted(part)
             for part in re.split(f"({CONTROL.pattern}+)", text) if part]
    return " ++ ".join(parts)


def quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def coded(character: str) -> str:
    return f"code_char({ord(character)})"


def size(sequence: Any) -> int:
    return sequence.length if isinstance(sequence, Flat) else len(sequence)


def elements(sequence: Any) -> Iterator[Any]:
    """Yield the elements one by one; those of a flat sequence are flat."""
    if isinstance(sequence, Flat):
        return (element_at(sequence.column, i) for i in range(sequence.length))
    return iter(sequence)


def element_at(column: Column, i: int) -> Any:
    """Return element i of a column, as a flat value that shares the column's memory."""
    if isinstance(column, Nested):
        start, end = int(column.offsets[i]), int(column.offsets[i + 1])
        return Flat(end - start, part(column.content, start, end))
    if isinstance(column, tuple):
        return element_at(column[0], i), element_at(column[1], i)
    return column[i]


def part(column: Column, start: int, end: int) -> Column:
    """Return elements start .. end-1 of a column; its offsets then count from where its payload starts."""
    if isinstance(column, Nested):
        return Nested(column.offsets[start:end + 1], column.content)
    if isinstance(column, tuple):
        return part(column[0], start, end), part(column[1], start, end)
    return column[start:end]
