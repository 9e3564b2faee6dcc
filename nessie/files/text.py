"""Text files: .txt as characters, lines or numbers; .csv as a sequence of tuples, one component per column.

A table's first row names its columns, which are the tuples' components in the same order. A cell of type [char] is
taken as it stands; a bool is t, f, true or false in any case.
"""
from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any

import numpy as np

from nessie.base.types import (
    BOOL,
    CHAR,
    CLASSES,
    FLOAT,
    INT,
    STRING,
    Base,
    ContentOf,
    Data,
    Pair,
    Seq,
    Type,
    Var,
    expand,
    nest_right,
    show_type,
    substitute,
)
from nessie.base.values import DTYPES, Column, Flat, Nested, code_points
from nessie.files.fit import Misfit, complain, decoded, fill, fitted, number, offsets_of, shorten

BOOLS = {"t": True, "true": True, "f": False, "false": False}


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
        raise complain(path, text, 1, str(error)) from None


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
        raise complain(path, text, line_of_word(text, values), f"{shorten(words[values])} is not {what}")
    wanted = expand(type_, content)
    one = isinstance(wanted, Base) or (isinstance(wanted, Var) and wanted.cls != "any")
    if one and values.size != 1:
        raise complain(path, text, 1, f"one number is due, the file has {values.size}")
    try:
        return fitted(values[0], kind, type_, content) if one else \
            fitted(Flat(values.size, values), Seq(kind), type_, content)
    except Misfit as error:
        raise complain(path, text, 1, str(error)) from None


def line_of_word(text: str, position: int) -> int:
    for line, words in enumerate(text.split("\n"), 1):
        position -= len(words.split())
        if position < 0:
            return line
    return 1


# .csv -------------------------------------------------------------------------------------------

def read_csv(path: str, type_: Type, content: ContentOf) -> tuple[Any, Type]:
    text = decoded(path, Path(path).read_bytes())
    header, rows, places = read_rows(path, text)
    columns = [list(cells) for cells in zip(*rows, strict=True)] or [[] for _ in header]
    if not isinstance(type_, (Seq, Var)):
        raise complain(path, text, 1, f"a table is a sequence of tuples, not {show_type(type_, False)}")
    wanted = type_.element if isinstance(type_, Seq) else Var("element")
    leaves = [Var(f"column {i}") for i in range(len(header))] if isinstance(wanted, Var) else leaves_of(wanted, content)
    if len(leaves) != len(header):
        raise complain(path, text, 1,
                       f"{len(leaves)} columns are due for {show_type(wanted, False)}, not {len(header)}")
    found: dict[str, Type] = {}
    try:
        for leaf, cells in zip(leaves, columns, strict=True):
            if isinstance(leaf, Var):
                fill(leaf, guess(cells), found)
    except Misfit as error:
        raise complain(path, text, 1, str(error)) from None
    kinds = [substitute(leaf, found) for leaf in leaves]
    done = [cell_column(path, text, name, cells, kind, places)
            for name, cells, kind in zip(header, columns, kinds, strict=True)]
    element = nest_right(kinds, Pair) if isinstance(wanted, Var) else substitute(wanted, found)
    return Flat(len(rows), nest(done, expand(element, content))), Seq(element)


def read_rows(path: str, text: str) -> tuple[list[str], list[list[str]], list[int]]:
    """The header, the rows, and the line where each row ends."""
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    rows, places = list[list[str]](), list[int]()
    longest = csv.field_size_limit(len(text) + 1)
    try:
        for row in reader:
            if row or (rows and len(rows[0]) == 1):         # an empty line is a row only where that is an empty cell
                rows.append(row or [""])
                places.append(reader.line_num)
    except csv.Error as error:
        raise complain(path, text, reader.line_num, str(error)) from None
    finally:
        csv.field_size_limit(longest)
    if not rows:
        raise complain(path, text, 1, "a header with the names of the columns is due")
    header = rows[0]
    if all(number(cell, FLOAT) is not None for cell in header):
        raise complain(path, text, 1, "a header with the names of the columns is due, these are numbers")
    for row, line in zip(rows[1:], places[1:], strict=True):
        if len(row) != len(header):
            raise complain(path, text, line, f"{len(header)} cells are due, not {len(row)}")
    return header, rows[1:], places[1:]


def leaves_of(type_: Type, content: ContentOf) -> list[Type]:
    """What each column should hold: the components of the tuple, of all its parts."""
    match type_:
        case Pair(first, second):
            return leaves_of(first, content) + leaves_of(second, content)
        case Data():
            return leaves_of(content(type_), content)
    return [type_]


def nest(columns: list[Column], type_: Type) -> Column:
    """The columns as the column of a type, whose leaves they are. Takes them from the list."""
    if isinstance(type_, Pair):
        first = nest(columns, type_.first)
        return first, nest(columns, type_.second)
    return columns.pop(0)


def cell_column(path: str, text: str, name: str, cells: list[str], kind: Type, places: list[int]) -> Column:
    """The cells of a column as values of the kind."""
    if kind == STRING:
        return Nested(offsets_of([len(c) for c in cells]), code_points("".join(cells)))
    if kind in (INT, FLOAT):
        assert isinstance(kind, Base)
        values = numbers(cells, kind)
        if not isinstance(values, int):
            return values
        wrong = values
    elif kind == BOOL:
        found = [BOOLS.get(c.strip().lower()) for c in cells]
        if None not in found:
            return np.array(found, np.bool_)
        wrong = found.index(None)
    elif kind == CHAR:
        if all(len(c) == 1 for c in cells):
            return code_points("".join(cells))
        wrong = next(i for i, c in enumerate(cells) if len(c) != 1)
    else:
        raise complain(path, text, 1, f"the column {name} cannot hold {show_type(kind)}")
    raise complain(path, text, places[wrong],
                   f"{shorten(cells[wrong])} in the column {name} is not of type {show_type(kind)}")
