"""Text files, .txt: as characters, lines or numbers."""
from __future__ import annotations

import re
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from nessie.base.source import NessieError
from nessie.base.types import (
    CLASSES,
    FLOAT,
    INT,
    STRING,
    Base,
    ContentOf,
    Seq,
    Type,
    Var,
    expand,
    show_type,
)
from nessie.base.values import DTYPES, Flat, Nested, code_points
from nessie.files.fit import (
    Misfit,
    complain,
    decoded,
    fill,
    fitted,
    number,
    offsets_of,
    shorten,
    wanted_text,
)

# Numbers ----------------------------------------------------------------------------------------

def numbers(words: list[str], type_: Base) -> np.ndarray[Any, Any] | int:
    """The words as numbers of this type, or the position of the first that is not one."""
    values = [number(word, type_) for word in words]
    if None in values:
        return values.index(None)
    return np.array(values, DTYPES[type_.name])


def guess(words: list[str]) -> Type:
    """int if all words are ints, float if all are numbers, else text."""
    if all(number(word, INT) is not None for word in words):
        return INT
    return FLOAT if all(number(word, FLOAT) is not None for word in words) else STRING


def odd_one(words: list[str], leaf: Var, found: dict[str, Type]) -> tuple[int, str] | None:
    """The position of the first word that cannot be what the variable stands for, and why."""
    for position, word in enumerate(words):
        try:
            fill(leaf, guess([word]), dict(found))
        except Misfit as error:
            return position, f"{shorten(word)} where {wanted_text(leaf)} is wanted" if CLASSES[leaf.cls] else str(error)
    return None


# .txt -------------------------------------------------------------------------------------------

def read_txt(path: str, type_: Type, content: ContentOf) -> tuple[Any, Type]:
    text = decoded(path, Path(path).read_bytes())
    match expand(type_, content):
        case Seq(Base("char")):
            column = code_points(text)
            return Flat(column.size, column), type_
        case Seq(Seq(Base("char"))):
            parts = lines(text)
            return Flat(parts.offsets.size - 1, parts), type_
        case (Base("int" | "float") as kind) | Seq(Base("int" | "float") as kind):
            return read_numbers(path, text, kind, type_, content)
        case Var() | Seq(Var()):
            return read_open(path, text, type_, content)
    raise complain(path, text, 1, f"a text cannot be of type {show_type(type_, False)}")


def lines(text: str) -> Nested:
    """The text between line ends; after the last one nothing follows."""
    column = code_points(text.replace("\r\n", "\n"))
    if column.size and column[-1] != ord("\n"):
        column = np.append(column, np.int32(ord("\n")))
    ends = np.flatnonzero(column == ord("\n"))
    starts = np.concatenate([np.zeros(min(1, ends.size), np.int64), ends[:-1] + 1])
    return Nested(offsets_of(ends - starts), column[column != ord("\n")])


def read_open(path: str, text: str, type_: Type, content: ContentOf) -> tuple[Any, Type]:
    """Numbers if there are any and nothing else, or where there can be no text; else the text."""
    words = text.split()
    kind = guess(words) if words or not fits_text(type_) else STRING
    if isinstance(kind, Base):
        return read_numbers(path, text, kind, type_, content)
    column = code_points(text)
    try:
        return fitted(Flat(column.size, column), STRING, type_, content)
    except Misfit as error:
        raise odd_word(path, text, type_, str(error)) from None


def odd_word(path: str, text: str, type_: Type, reason: str) -> NessieError:
    """The error for the word that does not fit, or for the reason where no word alone is to blame."""
    leaf = type_.element if isinstance(type_, Seq) else type_
    found = odd_one(text.split(), leaf, {}) if isinstance(leaf, Var) else None
    return complain_word(path, text, *found) if found else complain(path, text, 1, reason)


def complain_word(path: str, text: str, position: int, reason: str) -> NessieError:
    word = next(islice(re.finditer(r"\S+", text), position, None))
    return complain(path, text, text.count("\n", 0, word.start()) + 1, reason, word.span())


def fits_text(type_: Type) -> bool:
    match type_:
        case Seq(Var(_, cls)):
            return not CLASSES[cls] or "char" in CLASSES[cls]
        case Var(_, cls):
            return cls == "any"
    return False


def read_numbers(path: str, text: str, kind: Base, type_: Type, content: ContentOf) -> tuple[Any, Type]:
    """All numbers of the text; where a scalar is wanted, the only one."""
    words = text.split()
    values = numbers(words, kind)
    if isinstance(values, int):
        what = "an int" if kind == INT else "a number"
        raise complain_word(path, text, values, f"{shorten(words[values])} is not {what}")
    wanted = expand(type_, content)
    one = isinstance(wanted, Base) or (isinstance(wanted, Var) and wanted.cls != "any")
    if one and values.size != 1:
        raise complain(path, text, 1, f"one number is due, the file has {values.size}")
    try:
        return fitted(values[0], kind, type_, content) if one else \
            fitted(Flat(values.size, values), Seq(kind), type_, content)
    except Misfit as error:
        raise odd_word(path, text, type_, str(error)) from None
