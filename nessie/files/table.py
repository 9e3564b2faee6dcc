"""Tables: .csv as a sequence of tuples, one component per column.

A table's first row names its columns, which are the tuples' components in the same order. A cell of type [char] is
taken as it stands; a bool is t, f, true or false in any case.
"""
from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any, Literal

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
    no_datatypes,
    show_type,
    substitute,
)
from nessie.base.values import Column, Flat, Nested, code_points, plain_value
from nessie.files.fit import Misfit, complain, decoded, fill, line_part, number, offsets_of, shorten
from nessie.files.text import guess, numbers, odd_one

BOOLS = {"t": True, "true": True, "f": False, "false": False}
SEPARATORS = ";\t|"                     # of tables that are none of .csv


@dataclass(frozen=True)
class Table:
    """`lines`: the line of the text where each row ends."""
    path: str
    text: str
    header: list[str]
    rows: list[list[str]]
    lines: list[int]

    def complaint(self, reason: str, hint: str = "") -> NessieError:
        """The error for something wrong with the columns that there are."""
        return complain(self.path, self.text, 1, reason, hint=hint or separator_hint(self.header))

    def located(self, reason: str, row: int, column: int) -> NessieError:
        """The error for what is wrong in the cell of this row and column."""
        line, cells = self.lines[row], self.rows[row]
        start, end = line_part(self.text, line)
        if self.text[start:end].rstrip("\r") == ",".join(cells):        # nothing is quoted
            start += sum(len(cell) + 1 for cell in cells[:column])
            end = start + len(cells[column])
        return complain(self.path, self.text, line, reason, (start, end), self.header[column],
                        separator_hint(self.header))


def separator_hint(header: list[str]) -> str:
    """What is said of a table whose only column looks like several."""
    found = [mark for mark in SEPARATORS if mark in header[0]] if len(header) == 1 else []
    return f"columns are separated by commas, here by {'tabs' if found[0] == chr(9) else found[0]}" if found else ""


# Reading ----------------------------------------------------------------------------------------

def read_csv(path: str, type_: Type, content: ContentOf) -> tuple[Any, Type]:
    table = read_table(path, decoded(path, Path(path).read_bytes()))
    columns = [list(cells) for cells in zip(*table.rows, strict=True)] or [[] for _ in table.header]
    if not isinstance(type_, (Seq, Var)):
        raise table.complaint(f"a table is a sequence of tuples, not {show_type(type_, False)}")
    wanted = type_.element if isinstance(type_, Seq) else Var("element")
    free: list[Type] = [Var(f"column {i}") for i in range(len(columns))]
    leaves = free if isinstance(wanted, Var) else leaves_of(wanted, content)
    check_columns(table, len(leaves), wanted)
    found: dict[str, Type] = {}
    for position, (leaf, cells) in enumerate(zip(leaves, columns, strict=True)):
        try:
            if isinstance(leaf, Var):
                fill(leaf, guess(cells), found)
        except Misfit as error:
            assert isinstance(leaf, Var)
            odd = odd_one(cells, leaf, found)
            raise table.located(odd[1], odd[0], position) if odd else table.complaint(str(error)) from None
    kinds = [substitute(leaf, found) for leaf in leaves]
    done = [cell_column(table, position, cells, kind)
            for position, (cells, kind) in enumerate(zip(columns, kinds, strict=True))]
    element = nest_right(kinds, Pair) if isinstance(wanted, Var) else substitute(wanted, found)
    return Flat(len(table.rows), nest(done, expand(element, content))), Seq(element)


def check_columns(table: Table, due: int, wanted: Type) -> None:
    count = len(table.header)
    if due != count:
        raise table.complaint(f"{due} {'column is' if due == 1 else 'columns are'} due for {show_type(wanted, False)}, "
                          f"the table has {count}: {', '.join(map(shorten, table.header))}",
                          "cut -d, -f1,2 IN.csv > OUT.csv keeps the columns 1 and 2" if due < count else "")


def read_table(path: str, text: str) -> Table:
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    rows, lines = list[list[str]](), list[int]()
    longest = csv.field_size_limit(len(text) + 1)
    try:
        for row in reader:
            if row or (rows and len(rows[0]) == 1):         # an empty line is a row only where that is an empty cell
                rows.append(row or [""])
                lines.append(reader.line_num)
    except csv.Error as error:
        raise complain(path, text, reader.line_num, str(error)) from None
    finally:
        csv.field_size_limit(longest)
    if not rows:
        raise complain(path, text, 1, "a header with the names of the columns is due")
    table = Table(path, text, rows[0], rows[1:], lines[1:])
    if all(number(cell, FLOAT) is not None for cell in table.header):
        raise complain(path, text, 1, "a header with the names of the columns is due, these are numbers")
    for row, line in zip(table.rows, table.lines, strict=True):
        if len(row) != len(table.header):
            raise complain(path, text, line, f"{len(table.header)} cells are due, not {len(row)}",
                           hint=separator_hint(table.header))
    return table


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


def cell_column(table: Table, position: int, cells: list[str], kind: Type) -> Column:
    """The cells of the column at this position as values of the kind."""
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
        raise table.complaint(f"the column {table.header[position]} cannot hold {show_type(kind)}")
    raise table.located(f"{shorten(cells[wrong])} where {show_type(kind)} is wanted", wrong, position)


# Writing ----------------------------------------------------------------------------------------

def is_table(type_: Type) -> bool:
    """A sequence of scalars and strings, or of tuples of them. `type_` has no datatypes."""
    def cell(leaf: Type) -> bool:
        return isinstance(leaf, Base) or leaf == STRING
    return isinstance(type_, Seq) and all(cell(leaf) for leaf in leaves_of(type_.element, no_datatypes))


def encode_csv(path: str, value: Any, type_: Type) -> bytes:
    """A table as the bytes of a .csv file; its columns are named column1, column2 and so on."""
    assert isinstance(type_, Seq)
    kinds = leaves_of(type_.element, no_datatypes)
    columns = [cell_texts(plain_value(Flat(value.length, column), Seq(kind)), kind)
               for column, kind in zip(unnest(value.column, type_.element), kinds, strict=True)]
    rows = [[f"column{number}" for number in range(1, len(kinds) + 1)], *zip(*columns, strict=True)]
    text = csv_text(rows, csv.QUOTE_MINIMAL)
    if "\r" in text:                        # quoted only where it ends the writer's lines, yet ends the reader's
        text = csv_text(rows, csv.QUOTE_NONNUMERIC)
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise NessieError(f"{path}: half of a surrogate pair is no text that .csv holds",
                          hint="a .json file holds any value") from None


def csv_text(rows: list[Any], quoting: Literal[0, 2]) -> str:
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator="\n", quoting=quoting).writerows(rows)
    return text.getvalue()


def unnest(column: Column, type_: Type) -> list[Column]:
    """The columns of the leaves of a type, in order."""
    if isinstance(type_, Pair):
        return unnest(column[0], type_.first) + unnest(column[1], type_.second)
    return [column]


def cell_texts(values: list[Any], kind: Type) -> list[Any]:
    """Values as what the writer writes; numbers it writes as they are read, in full."""
    if kind == STRING:
        return ["".join(value) for value in values]
    return ["true" if value else "false" for value in values] if kind == BOOL else values
