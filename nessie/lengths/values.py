"""Checks that the arguments of a call are as long as their types tell, and gives them the form that the program reads.

  in    for each argument, its type as written and its flat value
  out   the values: rows of a formula are Closed, those of one length Uniform; sequences of one name have it
  how   Names stand for the lengths of sequences that are as long as a name says. Then a vector in the place of rows is
        cut into as many rows as its length takes. Then every length is compared.

A square matrix in the place of a triangle gives the beginnings of its rows, where they lie.
"""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from nessie.base.records import dataclass
from nessie.base.source import NessieError
from nessie.base.system.memory import MemoryBudget
from nessie.base.values import Closed, Column, Flat, Nested, OnDevice, Uniform, View, length_of
from nessie.lambda_cu.layout import select
from nessie.lengths.formulas import bare, places
from nessie.lengths.layouts import row_form
from nessie.lengths.told import Given, Indices, Told, inner_positions, lengths, mentioned_in, offsets_of
from nessie.lengths.vectors import cut, levels_of, missing_levels, untold, untold_error, with_levels
from nessie.syntax import nodes as syntax
from nessie.syntax.text import show_expression, show_type
from nessie.syntax.types import tells_lengths, without_lengths


def shaped(given: Sequence[Given], told: Told, room: MemoryBudget | None = None) -> list[Given]:
    """Return the values in their forms, with the types that these have: rows, where the elements of rows were given.
    `told` is extended by what they tell; raise NessieError for one that is not as long as its type tells. Where rows
    start counts against `room`."""
    missing = [missing_levels(one.written, one.type) for one in given]
    for one, count in zip(given, missing, strict=True):
        tell(one, count, told)
    values = {place: one.value for place, one in enumerate(given) if not missing[place]}
    while len(values) < len(given):         # a vector may tell what another one's lengths mention
        waiting = [(untold(one, told), place) for place, one in enumerate(given) if place not in values]
        place = next((place for name, place in waiting if name is None), None)
        if place is None:
            name, place = waiting[0]
            assert name is not None
            raise untold_error(given[place], name)
        values[place] = cut(given[place], told, room or MemoryBudget())
    for one in given:
        tell_of_no_rows(one.written, (), told)
    return [replace(one, value=Shaping(one.name, told).value(one.written, values[place]),
                    type=with_levels(one.type, missing[place])) for place, one in enumerate(given)]


# Names --------------------------------------------------------------------------------------------


def tell(given: Given, missing: int, told: Told) -> None:
    """Tell of the names that the lengths of this value give; its outermost levels may be missing."""
    if not missing:
        tell_value(given.written, given.value, given.name, told)
    elif isinstance(given.value, Flat):
        levels = levels_of(given.written, missing)
        tell_rows(levels[-1].element, given.value.column, given.name, tuple([level.index for level in levels]), told)


def tell_value(written: syntax.TypeExp, value: Any, by: str, told: Told) -> None:
    match written:
        case syntax.TypeSeq(element, length, index) if isinstance(value, Flat):
            if name := bare(length):
                told.tell(name, value.length, by)
            tell_rows(element, value.column, by, (index,), told)
        case syntax.TypePair(first, second):
            tell_value(first, value[0], by, told)
            tell_value(second, value[1], by, told)


def tell_rows(written: syntax.TypeExp, column: Column, by: str, around: tuple[str, ...], told: Told) -> None:
    match written:
        case syntax.TypeSeq(element, length, index):
            name = bare(length)
            if name and name not in around and (known := first_length(column)) is not None:
                told.tell(name, known, by)
            tell_rows(element, column.content, by, (index, *around), told)
        case syntax.TypePair(first, second):
            tell_rows(first, column[0], by, around, told)
            tell_rows(second, column[1], by, around, told)


def first_length(rows: Column) -> int | None:
    """Return the length of the first row; None if there are none."""
    if isinstance(rows, Uniform):
        return rows.length
    if isinstance(rows, View):
        return int(rows.lengths[0]) if len(rows.lengths) else None
    if isinstance(rows.offsets, OnDevice):
        return None
    return int(rows.offsets[1]) if len(rows.offsets) > 1 else None


def tell_of_no_rows(written: syntax.TypeExp, around: tuple[str, ...], told: Told) -> None:
    """Names that only the one length of rows tells are 0 where there are no rows."""
    match written:
        case syntax.TypeSeq(element, length, index):
            if around and bare(length) and bare(length) not in around:
                told.tell(bare(length), 0, "that there are no rows")
            tell_of_no_rows(element, (index, *around), told)
        case syntax.TypePair(first, second):
            tell_of_no_rows(first, around, told)
            tell_of_no_rows(second, around, told)


@dataclass
class Shaping:
    """Gives a value its form; messages call it `name`."""
    name: str
    told: Told

    def value(self, written: syntax.TypeExp, value: Any) -> Any:
        match written:
            case syntax.TypeSeq(element, length, index) if isinstance(value, Flat):
                if length is not None:
                    self.compare_size(written, value.length)
                around = np.arange(value.length) if index in mentioned_in(element) else 0
                column = self.column(element, value.column, ((index, around),), value.length)
                return Flat(value.length, column, bare(length))
            case syntax.TypePair(first, second):
                return self.value(first, value[0]), self.value(second, value[1])
        return value

    def compare_size(self, written: syntax.TypeSeq, size: int) -> None:
        due = int(lengths(written, (), 1, self.told)[0])
        if due != size:
            assert written.length is not None
            shown, why = show_expression(written.length), self.told.why(written.length)
            raise NessieError(f"{self.name} has {size} element{'' if size == 1 else 's'}, and {due} are due",
                              *places(written.length.span, shown if shown == str(due) else why),
                              hint="where lengths may differ, they have names of their own")

    def column(self, written: syntax.TypeExp, column: Column, around: Indices, count: int) -> Column:
        """Return the column of `count` values in its form. `around`: the positions of each."""
        match written:
            case syntax.TypePair(first, second):
                return self.column(first, column[0], around, count), self.column(second, column[1], around, count)
            case syntax.TypeSeq():
                return self.rows(written, column, around, count)
        return column

    def rows(self, written: syntax.TypeSeq, column: Column, around: Indices, count: int) -> Column:
        form = row_form(written, [name for name, _ in around])
        if written.length is None and not written.uniform:
            found = self.dense(written, column) if tells_lengths(written.element) else column
        elif written.uniform:
            found = self.uniform(written, column, count)
        else:
            found = self.of_lengths(written, column, around, count, form.form, form.name)
            if form.lengths is not None and isinstance(found, Nested):
                numbers = tuple([self.told.numbers[name] for name in form.lengths.names])
                found = Closed(found.offsets, found.content, form.lengths, numbers)
        if not isinstance(written.element, syntax.TypeSeq | syntax.TypePair) or isinstance(found, View):
            return found
        if isinstance(found, Nested) and isinstance(found.offsets, OnDevice):
            inner: Indices = ((written.index, 0), *[(name, 0) for name, _ in around])
        else:
            inner = inner_positions(written, found, count, around)
        return found.over(self.column(written.element, found.content, inner, length_of(found.content)))

    def uniform(self, written: syntax.TypeSeq, column: Column, count: int) -> Column:
        if isinstance(column, Uniform):
            return column
        rows = self.dense(written, column)
        found = np.diff(rows.offsets[:count + 1])
        if count and (found != found[0]).any():
            other = int(np.flatnonzero(found != found[0])[0])
            raise NessieError(f"{self.name}: row 0 has length {found[0]}, row {other} has {found[other]}",
                              *places(written.span, "rows of one length are due"),
                              hint=f"{of_any_lengths(written)}, without uniform, has rows of any length")
        return Uniform(count, int(found[0]) if count else 0, rows.content)

    def of_lengths(self, written: syntax.TypeSeq, column: Column, around: Indices, count: int, form: str,
                   name: str) -> Column:
        """Return rows after their lengths have been compared with those of the type."""
        due = lengths(written, around, count, self.told)
        length = int(lengths(written, (), 1, self.told)[0]) if form == "uniform" else 0
        if form == "uniform" and isinstance(column, Uniform):
            if count and length != column.length:
                raise self.unlike(written, 0, column.length, length)
            return Uniform(count, length, column.content, name)
        if form == "closed" and is_square(column, count) and len(around) == 1 and (due <= count).all() \
                and not (due == count).all() and not tells_lengths(written.element):
            return View(np.arange(count, dtype=np.int64) * count, np.array(due), column.content)
        rows = self.dense(written, column)
        found = np.diff(rows.offsets[:count + 1])
        if (found != due).any():
            row = int(np.flatnonzero(found != due)[0])
            raise self.unlike(written, row, int(found[row]), int(due[row]))
        return Uniform(count, length, rows.content, name) if form == "uniform" else rows

    def unlike(self, written: syntax.TypeSeq, row: int, found: int, due: int) -> NessieError:
        assert written.length is not None
        return NessieError(f"{self.name}: row {row} has length {found}, and {due} is due",
                           *places(written.length.span, self.told.why(written.length)),
                           hint=f"where nothing is known of lengths, rows are {of_any_lengths(written)}")

    def dense(self, written: syntax.TypeSeq, column: Column) -> Nested:
        """Return rows that lie one after another, with offsets on the host."""
        if isinstance(column, View):
            starts, found = np.asarray(column.starts, np.int64), np.asarray(column.lengths, np.int64)
            return Nested(offsets_of(found), select(column.content, starts, found))
        assert isinstance(column, Nested)
        if isinstance(column.offsets, OnDevice):
            raise NessieError(f"{self.name} has its lengths on a GPU, where they are not compared with its type's",
                              *places(written.span, ""), hint="give the elements alone, one row after another")
        return column


def of_any_lengths(row: syntax.TypeSeq) -> str:
    return show_type(syntax.TypeSeq(without_lengths(row)))


def is_square(rows: Column, count: int) -> bool:
    return isinstance(rows, Uniform) and rows.length == count
