"""Fitting what a file holds to the type that a parameter has.

A file's arrays come with element types of their own. `fit` converts a column to the type wanted: ints become floats
where floats are wanted, nothing else changes. `fill` gives type variables the types that a file suggests.
"""
from __future__ import annotations

import os
from typing import Any, TypeGuard

import numpy as np

from nessie.base.source import NessieError, Source, Span
from nessie.base.types import (
    CLASSES,
    FLOAT,
    Base,
    ContentOf,
    Pair,
    Seq,
    Type,
    Var,
    expand,
    show_type,
    substitute,
)
from nessie.base.values import Column, Flat


class Misfit(Exception):
    """What a file holds is not of the type wanted."""


def is_array(type_: Type) -> TypeGuard[Seq]:
    """Scalars in rows, in rows of rows, and so on."""
    return isinstance(type_, Seq) and (isinstance(type_.element, Base) or is_array(type_.element))


def fill(wanted: Type, held: Type, found: dict[str, Type]) -> None:
    """Record in `found` what the variables of `wanted` stand for, where the file holds a value of type `held`."""
    match wanted, held:
        case Var(name, cls), _:
            if CLASSES[cls] and not (isinstance(held, Base) and held.name in CLASSES[cls]):
                raise Misfit(f"holds {show_type(held)} where {wanted_text(wanted)} is wanted")
            found[name] = joined(found.get(name, held), held)
        case Seq(a), Seq(b):
            fill(a, b, found)
        case Pair(a, b), Pair(c, d):
            fill(a, c, found)
            fill(b, d, found)


def joined(a: Type, b: Type) -> Type:
    """The type of what holds both: ints among floats are floats."""
    match a, b:
        case _ if a == b or isinstance(b, Var):
            return a
        case Var(), _:
            return b
        case Base(c), Base(d) if {c, d} == {"int", "float"}:
            return Base("float")
        case Seq(c), Seq(d):
            return Seq(joined(c, d))
    raise Misfit(f"holds both {show_type(a, False)} and {show_type(b, False)}")


def fitted(value: Any, held: Type, wanted: Type, content: ContentOf) -> tuple[Any, Type]:
    """A flat value of type `held` as one of the type wanted; that type with its variables filled in."""
    found: dict[str, Type] = {}
    fill(expand(wanted, content), held, found)
    closed = substitute(wanted, found)
    flat_type = expand(closed, content)
    match held, flat_type:
        case Seq(a), Seq(b):
            return Flat(value.length, convert(value.column, a, b)), closed
        case Base(a), Base(b):
            return convert(np.asarray(value), Base(a), Base(b)).item(), closed
    raise Misfit(f"holds {show_type(held, False)} where {show_type(wanted, False)} is wanted")


def convert(value: Column, held: Type, wanted: Type) -> Column:
    match held, wanted:
        case Base("int"), Base("float"):
            return value.astype(np.float64)
        case Base(a), Base(b) if a == b:
            return value
        case Seq(a), Seq(b):
            return value.over(convert(value.content, a, b))
        case Pair(a, b), Pair(c, d):
            return convert(value[0], a, c), convert(value[1], b, d)
    raise Misfit(f"holds {show_type(held, False)} where {show_type(wanted, False)} is wanted")


def number(word: str, type_: Base) -> int | float | None:
    """The number written here, if it is one of this type."""
    try:
        if "_" in word:
            return None
        if type_ == FLOAT:
            return float(word)
        value = int(word)
        return value if -2**63 <= value < 2**63 else None
    except ValueError:
        return None


def wanted_text(type_: Type) -> str:
    """What is wanted where this type is, as messages say it."""
    if isinstance(type_, Var) and type_.cls != "any":
        return f"{'an' if type_.cls == 'ordinal' else 'a'} {type_.cls}"
    return show_type(type_, False)


def shorten(word: str) -> str:
    """A word of a file, as messages show it."""
    if not word:
        return "nothing"
    return f'"{word}"' if len(word) <= 40 else f'"{word[:40]}..."'


def offsets_of(lengths: Any) -> np.ndarray[Any, Any]:
    offsets = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=offsets[1:])
    return offsets


def decoded(path: str, data: bytes) -> str:
    """The text of a UTF-8 file."""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise NessieError(f"{path}, line {line}: byte 0x{data[error.start]:02x} is not UTF-8 text") from None


def complain(path: str, text: str, line: int, reason: str, part: tuple[int, int] | None = None,
             column: str = "", hint: str = "") -> NessieError:
    """The error for something wrong in this line (counted from 1) of a file, in this part of the text if one is given.
    `column` is a table's."""
    place = f"line {line}, column {column}" if column else f"line {line}"
    span = Span(Source(path, text), *(part or line_part(text, line)))
    return NessieError(f"{path}, {place}: {reason}", (span, ""), hint=hint)


def line_part(text: str, line: int) -> tuple[int, int]:
    """Where this line (counted from 1) begins and ends."""
    start = 0
    for _ in range(line - 1):
        start = text.find("\n", start) + 1
    end = text.find("\n", start)
    return start, len(text) if end < 0 else end


def check_room(path: str, words: int) -> None:
    """Refuse what cannot fit into this machine, before the operating system promises it."""
    if words * 8 > os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"):
        raise NessieError(f"{path}: needs {words * 8:,} bytes, more than this machine has")
