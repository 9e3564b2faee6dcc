"""Tables: .csv and .tsv as a sequence of tuples, one component per column; columns are separated by commas, or tabs.

A table's first row names its columns, which are the tuples' components in the same order. A cell of type [char] is
taken verbatim; a bool is t, f, true or false in any case.

Of texts that formats.written_table has marked for spreadsheets, the marks are stripped.
"""
from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from nessie.base.records import dataclass
from nessie.base.source import NessieError
from nessie.base.types import (
    BOOL,
    CHAR,
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
)
from nessie.base.values import Column, Flat, Nested, code_points
from nessie.files.fit import complain, line_part, number, offsets_of, shorten
from nessie.files.formats.text import guess, numbers, odd_one
from nessie.files.names import FileName, listed, text_of
from nessie.files.parts import ANY, Chars, File, Misfit, Part, require
from nessie.files.reading import NUMBER, SHORT_TEXT, SLOT, Reading

ROW = 128                       # bytes of a row's list and of its number
CODE = 4                        # bytes of a character in an array
BOOLS = {"t": True, "true": True, "f": False, "false": False}
COMMA, TAB = ",", "\t"
SEPARATORS = {COMMA: "commas", TAB: "tabs", ";": ";", "|": "|"}         # of tables, with their names
TEXT = "'"                              # marks a text that is not a formula
FORMULA = re.compile(f"{TEXT}*(?:[\t\r\n]|\\s*[=+@\uff1d\uff0b\uff0d\uff20-])")     # the beginning of one


@dataclass(frozen=True)
class Table:
    """A parsed table. `separator` stands between its columns; `lines`: the line of the text where each row ends;
    `first_line`: the number of the text's first line; `places`: of the columns that are read, in their order."""
    path: str
    text: str
    separator: str
    every: list[str]
    rows: list[list[str]]
    lines: list[int]
    first_line: int
    places: list[int]

    @property
    def header(self) -> list[str]:
        return [self.every[place] for place in self.places]

    @property
    def columns(self) -> list[list[str]]:
        columns = [[row[place] for row in self.rows] for place in self.places]
        return [list(map(unquoted, cells)) if is_quoted(name) else cells
                for name, cells in zip(self.header, columns, strict=True)]

    def likely(self) -> Sequence[Type]:
        return Seq(ANY),

    def inside(self, type_: Type, content: ContentOf) -> Iterable[tuple[Part, Type]]:
        if isinstance(type_, Seq):
            return [(Rows(self.columns, list(map(is_quoted, self.header))), type_.element)]
        raise Misfit("does not hold what is wanted")

    def made(self, type_: Type, content: ContentOf) -> Any:
        assert isinstance(type_, Seq)               # it fits
        kinds = leaves_of(type_.element, content)
        columns = [cell_column(cells, kind) for cells, kind in zip(self.columns, kinds, strict=True)]
        return Flat(len(self.rows), nest(columns, expand(type_.element, content)))

    def complaint(self, type_: Type, content: ContentOf, misfit: Misfit) -> NessieError:
        if not isinstance(type_, Seq):
            return self.columns_complaint(f"a table is a sequence of tuples, not {show_type(type_, False)}")
        leaves = leaves_of(type_.element, content)
        if len(leaves) != len(self.header):
            return self.wrong_columns(len(leaves), type_.element)
        for position, (leaf, cells) in enumerate(zip(leaves, self.columns, strict=True)):
            if isinstance(leaf, Var):
                if odd := odd_one(cells, leaf):
                    return self.located(odd[1], odd[0], position)
            elif not isinstance(leaf, Base) and leaf != STRING:
                return self.columns_complaint(f"the column {self.header[position]} cannot hold {show_type(leaf)}")
            elif (row := first_odd(cells, leaf)) is not None:
                return self.located(f"{shorten(cells[row])} where {show_type(leaf)} is wanted", row, position)
        return self.columns_complaint(f"the file {misfit}")

    def wrong_columns(self, due: int, wanted: Type) -> NessieError:
        count, some = len(self.header), text_of(FileName(self.path, tuple(map(unmarked, self.header[:due]))))
        held = f"the table has {count}" if count == len(self.every) else f"{count} {'is' if count == 1 else 'are'} read"
        return self.columns_complaint(
            f"{due} {'column is' if due == 1 else 'columns are'} due for {show_type(wanted, False)}, "
            f"{held}: {listed(list(map(shorten, self.header)))}",
            f"{some} reads {'one' if due == 1 else f'{due}'} of them" if due < count else "")

    def columns_complaint(self, reason: str, hint: str = "") -> NessieError:
        """The error for a mistake in the number or the types of the columns."""
        return complain(self.path, self.text, 1, reason, hint=hint or separator_hint(self.every, self.separator))

    def located(self, reason: str, row: int, column: int) -> NessieError:
        """The error for a mistake in the cell of this row and column."""
        line, cells = self.lines[row], self.rows[row]
        start, end = line_part(self.text, line)
        place = self.places[column]
        if self.text[start:end].rstrip("\r") == self.separator.join(cells):        # nothing is quoted
            start += sum(len(cell) + 1 for cell in cells[:place])
            end = start + len(cells[place])
        return complain(self.path, self.text, line, reason, (start, end), self.header[column],
                        separator_hint(self.every, self.separator), self.first_line)


def separator_hint(header: list[str], separator: str) -> str:
    """The hint for a table whose only column looks like several."""
    found = [name for mark, name in SEPARATORS.items() if mark in header[0]] if len(header) == 1 else []
    return f"columns are separated by {SEPARATORS[separator]}, here by {found[0]}" if found else ""


# Reading ----------------------------------------------------------------------------------------

def read_csv(file: Reading) -> File:
    return read_separated(file, COMMA)


def read_tsv(file: Reading) -> File:
    return read_separated(file, TAB)


def read_separated(file: Reading, separator: str) -> File:
    text = file.text()
    file.take(cost(text, separator))
    return read_table(file, text, separator)


def cost(text: str, separator: str) -> int:
    """Bytes of the cells, of the lists that hold them by rows and by columns, and of the arrays made of them."""
    rows, marked = text.count("\n") + 1, text.count(TEXT)
    cells = text.count(separator) + rows
    width = 1 if text.isascii() else 4
    characters = len(text) * width + CODE * 2 * len(text)               # of cells, and in the reader
    unmarked = marked * SHORT_TEXT + (len(text) * width if marked else 0)       # cells without their apostrophes
    return characters + unmarked + cells * (SHORT_TEXT + 4 * SLOT + NUMBER + SLOT) + rows * ROW


@dataclass(frozen=True)
class Rows:
    """The rows of a table, as columns. `quoted`: which of the columns are quoted."""
    columns: list[list[str]]
    quoted: list[bool]

    def likely(self) -> Sequence[Type]:
        if len(self.columns) == 1:
            return Cells(self.columns[0], self.quoted[0]).likely()
        shape: Type = nest_right(list[Type]([ANY]) * len(self.columns), Pair)
        return (shape,)

    def inside(self, type_: Type, content: ContentOf) -> Iterable[tuple[Part, Type]]:
        leaves = leaves_of(type_, content)
        require(len(leaves) == len(self.columns))
        return zip(map(Cells, self.columns, self.quoted), leaves)


@dataclass(frozen=True)
class Cells:
    """The cells of a column; quoted ones are texts."""
    cells: list[str]
    quoted: bool

    def likely(self) -> Sequence[Type]:
        if self.quoted:
            return Seq(ANY), CHAR
        if not self.cells:
            return ()
        kinds: dict[Type, Sequence[Type]] = {INT: (INT, FLOAT), FLOAT: (FLOAT,), STRING: ()}
        return *kinds[guess(self.cells)], Seq(ANY), CHAR, BOOL

    def inside(self, type_: Type, content: ContentOf) -> Iterable[tuple[Part, Type]]:
        if isinstance(type_, Seq):
            return [(Chars(), type_.element)]
        require(isinstance(type_, Base) and first_odd(self.cells, type_) is None)
        return []


def read_table(file: Reading, text: str, separator: str) -> Table:
    path, first_line = file.path, file.first_line
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
    rows, lines = list[list[str]](), list[int]()
    longest = csv.field_size_limit(len(text) + 1)
    try:
        for row in reader:
            if row or (rows and len(rows[0]) == 1):         # an empty line is a row only in a table of one column
                rows.append(row or [""])
                lines.append(reader.line_num)
    except csv.Error as error:
        raise complain(path, text, reader.line_num, str(error), first_line=first_line) from None
    finally:
        csv.field_size_limit(longest)
    if not rows:
        raise complain(path, text, 1, "a header with the names of the columns is due")
    header = rows[0]
    if not names_columns(header):
        raise complain(path, text, 1, "a header with the names of the columns is due, these are numbers")
    for row, line in zip(rows[1:], lines[1:], strict=True):
        if len(row) != len(header):
            raise complain(path, text, line, f"{len(header)} cells are due, not {len(row)}",
                           hint=separator_hint(header, separator), first_line=first_line)
    places = file.chosen(list(map(unmarked, header)))
    return Table(path, text, separator, header, rows[1:], lines[1:], first_line, places)


def names_columns(cells: Sequence[str]) -> bool:
    """Is this row a header? Numbers are none."""
    return not all(number(cell, FLOAT) is not None for cell in cells)


def is_quoted(name: str) -> bool:
    """Whether the column of this name holds texts with an apostrophe before those that begin like formulas. A name
    between two apostrophes means that the whole table is quoted with them, which has nothing to do with formulas."""
    return name.startswith(TEXT) and not name.endswith(TEXT)


def unmarked(name: str) -> str:
    """The name of a column, without the apostrophe that says that it is quoted."""
    return name[1:] if is_quoted(name) else name


def unquoted(cell: str) -> str:
    """The text in a cell of a quoted column."""
    return cell[1:] if cell.startswith(TEXT) and FORMULA.match(cell) else cell


def leaves_of(type_: Type, content: ContentOf) -> list[Type]:
    """The type of each column: the components of the tuple, and of the tuples and datatypes in it."""
    match type_:
        case Pair(first, second):
            return leaves_of(first, content) + leaves_of(second, content)
        case Data():
            return leaves_of(content(type_), content)
    return [type_]


def nest(columns: list[Column], type_: Type) -> Column:
    """Nest the columns, the leaves of the type, into one column of that type. Removes them from the list."""
    if isinstance(type_, Pair):
        first = nest(columns, type_.first)
        return first, nest(columns, type_.second)
    return columns.pop(0)


def first_odd(cells: list[str], kind: Type) -> int | None:
    """The position of the first cell that is not of the kind, if there is one."""
    match kind:
        case Base("int" | "float"):
            found = numbers(cells, kind)
            return found if isinstance(found, int) else None
        case Base("bool"):
            return next((i for i, cell in enumerate(cells) if cell.strip().lower() not in BOOLS), None)
        case Base("char"):
            return next((i for i, cell in enumerate(cells) if len(cell) != 1), None)
    return None


def cell_column(cells: list[str], kind: Type) -> Column:
    """The cells as a column of the kind, which they fit."""
    match kind:
        case Base("int" | "float"):
            return numbers(cells, kind)
        case Base("bool"):
            return np.array([BOOLS[cell.strip().lower()] for cell in cells], np.bool_)
        case Base("char"):
            return code_points("".join(cells))
    return Nested(offsets_of([len(cell) for cell in cells]), code_points("".join(cells)))
