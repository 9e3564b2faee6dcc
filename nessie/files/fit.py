"""Fits a file's contents to the type of a parameter.

A file's arrays have element types of their own. Ints become floats where floats are wanted, and a text of one character
becomes a character; nothing else changes.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeGuard

import numpy as np

from nessie.base.ints import MAX_INT, MIN_INT
from nessie.base.records import dataclass
from nessie.base.source import NessieError, Source, Span
from nessie.base.types import CHAR, FLOAT, Base, ContentOf, Pair, Seq, Type, components, expand, show_type
from nessie.base.values import Column, Flat, OnDevice
from nessie.files.parts import Columns, Misfit, OtherComponents, misfit, wanted_text
from nessie.files.reading import Reading


def is_array(type_: Type) -> TypeGuard[Seq]:
    """Whether the type is a sequence of scalars, of rows of scalars, and so on."""
    return isinstance(type_, Seq) and (isinstance(type_.element, Base) or is_array(type_.element))


@dataclass(frozen=True)
class Arrays(Columns):
    """A flat value of the type `held` from the file. `wrong` makes the error that says why it does not fit."""
    file: Reading
    wrong: Callable[[Misfit], NessieError]

    def made(self, type_: Type, content: ContentOf) -> Any:
        wanted = expand(type_, content)
        match self.held, wanted:
            case Seq(a), Seq(b):
                return Flat(self.values.length, convert(self.file, self.values.column, a, b))
            case Seq(), Base():
                return chr(self.values.column[0])
        scalar = convert(self.file, np.asarray(self.values), self.held, wanted).item()
        return chr(scalar) if wanted == CHAR else scalar

    def complaint(self, type_: Type, content: ContentOf, misfit: Misfit) -> NessieError:
        whole = expand(type_, content)
        if isinstance(self.held, Seq) and isinstance(whole, Seq) and \
                1 < len(components(self.held.element)) == len(components(whole.element)):
            return self.wrong(OtherComponents(f"holds rows {show_type(self.held.element, False)} where "
                                              f"{show_type(whole.element, False)} is wanted"))
        held, wanted = dimensions(self.held), dimensions(whole)
        if held is not None and wanted is not None and held != wanted:
            misfit = Misfit(f"holds {array_of(held)} where {array_of(wanted)}, {wanted_text(type_)}, is wanted")
        return self.wrong(misfit)


def dimensions(type_: Type) -> int | None:
    """How many dimensions an array of this type has; None: it is no array of numbers."""
    if isinstance(type_, Seq):
        inside = dimensions(type_.element)
        return None if inside is None else inside + 1
    return 0 if isinstance(type_, Base) and type_ != CHAR else None


def array_of(dimensions: int) -> str:
    return ("a single value", "a vector", "a matrix")[dimensions] if dimensions < 3 else \
        f"an array of {dimensions} dimensions"


def convert(file: Reading, value: Column, held: Type, wanted: Type) -> Column:
    match held, wanted:
        case Base("int"), Base("float"):
            if isinstance(value, OnDevice):
                return file.cast(value, "float")
            file.take(8 * value.size)
            return value.astype(np.float64)
        case Base(a), Base(b) if a == b:
            return value
        case Seq(), Base("char"):
            return value.content
        case Seq(a), Seq(b):
            return value.over(convert(file, value.content, a, b))
        case Pair(a, b), Pair(c, d):
            return convert(file, value[0], a, c), convert(file, value[1], b, d)
    raise misfit(held, wanted)


def number(word: str, type_: Base) -> int | float | None:
    """The number that the word denotes, or None if it is not one of this type."""
    try:
        if "_" in word:
            return None
        if type_ == FLOAT:
            return float(word)
        value = int(word)
        return value if MIN_INT <= value <= MAX_INT else None
    except ValueError:
        return None


def shorten(word: str) -> str:
    """The form in which messages show a word of a file."""
    if not word:
        return "nothing"
    return f'"{word}"' if len(word) <= 40 else f'"{word[:40]}..."'


def offsets_of(lengths: Any) -> np.ndarray[Any, Any]:
    offsets = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=offsets[1:])
    return offsets


def complain(path: str, text: str, line: int, reason: str, part: tuple[int, int] | None = None,
             column: str = "", hint: str = "", first_line: int = 1) -> NessieError:
    """The error for a mistake in this line (counted from 1) of a file; in this part of the text, if one is given.
    `column` names a table's column; `first_line`: the number of the text's first line."""
    place = f"line {line + first_line - 1}{f', column {column}' if column else ''}"
    span = Span(Source(path, text, first_line=first_line), *(part or line_part(text, line)))
    return NessieError(f"{path}, {place}: {reason}", (span, ""), hint=hint)


def line_part(text: str, line: int) -> tuple[int, int]:
    """The offsets where this line (counted from 1) begins and ends."""
    start = 0
    for _ in range(line - 1):
        start = text.find("\n", start) + 1
    end = text.find("\n", start)
    return start, len(text) if end < 0 else end
