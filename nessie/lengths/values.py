"""Checks that the arguments of a call are as long as their types tell, and gives them the form that the program reads.

  in    for each argument, its type as written and its flat value
  out   the values: rows of a formula are Closed, those of one length Uniform; sequences of one name have it
  how   Names stand for the lengths of sequences that are as long as a name says. Then a vector in the place of rows is
        cut into as many rows as its length takes. Then every length is compared.

A square matrix in the place of a triangle gives the beginnings of its rows, where they lie.
"""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field, replace
from typing import Any

import numpy as np

from nessie.base.records import dataclass
from nessie.base.source import NessieError, Span
from nessie.base.types import Seq, Type
from nessie.base.values import Closed, Column, Flat, Nested, OnDevice, Uniform, View, length_of
from nessie.lambda_cu.layout import select
from nessie.lengths import formulas
from nessie.lengths.formulas import Beyond, bare, names_in
from nessie.lengths.layouts import fits, row_form
from nessie.syntax import nodes as syntax
from nessie.syntax.text import show_expression, show_type
from nessie.syntax.types import tells_lengths

MOST_ROWS = 2 ** 31             # a vector is not cut into more
Indices = tuple[tuple[str, Any], ...]       # the positions around, innermost first: names, and numbers or an array


@dataclass(frozen=True)
class Given:
    """A flat value of `type`, which messages call `name`, where `written` is due."""
    name: str
    written: syntax.TypeExp
    type: Type
    value: Any


@dataclass
class Told:
    """What names of lengths stand for, and which argument has told so."""
    numbers: dict[str, int] = field(default_factory=dict)
    by: dict[str, str] = field(default_factory=dict)

    def tell(self, name: str, number: int, by: str) -> None:
        if name not in self.numbers:
            self.numbers[name], self.by[name] = number, by


def is_packed(written: syntax.TypeExp, type_: Type) -> bool:
    """Is the type that of all elements of the rows that are due, one row after another?"""
    return (isinstance(written, syntax.TypeSeq) and isinstance(written.element, syntax.TypeSeq)
            and may_be_packed(written) and depth(type_) == depth_written(written) - 1)


def may_be_packed(written: syntax.TypeExp) -> bool:
    """Are these rows whose lengths are a formula of the position?"""
    return (isinstance(written, syntax.TypeSeq) and isinstance(written.element, syntax.TypeSeq)
            and row_form(written.element, (written.index,)).lengths is not None)


def stands_for(written: syntax.TypeExp, type_: Type) -> bool:
    """May a value of this type be given where the written one is due?"""
    return fits(written, type_) or is_packed(written, type_)


def depth(type_: Type) -> int:
    return 1 + depth(type_.element) if isinstance(type_, Seq) else 0


def depth_written(written: syntax.TypeExp) -> int:
    return 1 + depth_written(written.element) if isinstance(written, syntax.TypeSeq) else 0


def shaped(given: Sequence[Given], told: Told) -> list[Given]:
    """Return the values in their forms, with the types that these have: rows, where the elements of rows were given.
    `told` is extended by what they tell; raise NessieError for one that is not as long as its type tells."""
    for one in given:
        if not is_packed(one.written, one.type):
            tell(one.written, one.value, one.name, told)
    cut = [unpacked(one, told) if is_packed(one.written, one.type) else one.value for one in given]
    for one in given:
        tell_of_no_rows(one.written, (), told)
    return [replace(one, value=Shaping(one.name, told).value(one.written, value),
                    type=Seq(one.type) if is_packed(one.written, one.type) else one.type)
            for one, value in zip(given, cut, strict=True)]


# Names --------------------------------------------------------------------------------------------


def tell(written: syntax.TypeExp, value: Any, by: str, told: Told) -> None:
    """Tell of the names that the lengths of this value give."""
    match written:
        case syntax.TypeSeq(element, length, index) if isinstance(value, Flat):
            if name := bare(length):
                told.tell(name, value.length, by)
            tell_rows(element, value.column, by, (index,), told)
        case syntax.TypePair(first, second):
            tell(first, value[0], by, told)
            tell(second, value[1], by, told)


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


def places(span: Span | None, label: str) -> tuple[tuple[Span, str], ...]:
    return ((span, label),) if span else ()


# Vectors in the place of rows ---------------------------------------------------------------------


def unpacked(given: Given, told: Told) -> Flat:
    """Return the elements of a vector as the rows that are due."""
    written, size = given.written, given.value.length
    assert isinstance(written, syntax.TypeSeq) and isinstance(written.element, syntax.TypeSeq)
    count = count_of_rows(written, told)
    if count is None:
        count = found_count(given, size, told)
    if bare(written.length):
        told.tell(bare(written.length), count, given.name)
    offsets = offsets_of(lengths(written.element, ((written.index, np.arange(count)),), count, told))
    if offsets[-1] != size:
        raise wrong_size(given, size, [(count, int(offsets[-1]))])
    return Flat(count, Nested(offsets, given.value.column))


def count_of_rows(written: syntax.TypeSeq, told: Told) -> int | None:
    """Return the number of rows, if it is known from elsewhere."""
    if written.length is None or (bare(written.length) and bare(written.length) not in told.numbers):
        return None
    return int(lengths(written, (), 1, told)[0])


def found_count(given: Given, size: int, told: Told) -> int:
    """Return the least number of rows that have so many elements together."""
    few, many = 0, 1
    while total(given, many, told) < size and many < MOST_ROWS:
        few, many = many, 2 * many
    if total(given, 0, told) == size:
        return 0
    while many - few > 1:
        middle = (few + many) // 2
        if total(given, middle, told) < size:
            few = middle
        else:
            many = middle
    at = total(given, many, told)
    if at != size:
        raise wrong_size(given, size, [(few, total(given, few, told)), (many, at)])
    return many


def total(given: Given, count: int, told: Told) -> int:
    """Return how many elements so many rows have."""
    written = given.written
    assert isinstance(written, syntax.TypeSeq) and isinstance(written.element, syntax.TypeSeq)
    name = bare(written.length)
    here = Told({**told.numbers, **({name: count} if name else {})}, told.by)
    return int(lengths(written.element, ((written.index, np.arange(count)),), count, here).sum())


def wrong_size(given: Given, size: int, near: Sequence[tuple[int, int]]) -> NessieError:
    """The error of a vector that is not as long as any number of rows."""
    written = given.written
    assert isinstance(written, syntax.TypeSeq)
    name = bare(written.length) or "the number of rows"
    parts = [f"{total} for {name} = {count}" for count, total in near]
    return NessieError(f"{given.name} has {size} element{'' if size == 1 else 's'}, and {show_type(written)} has "
                       f"{' and '.join(parts)}", *places(written.span, "so long are its rows together"),
                       hint="a vector stands for rows if it has all their elements, one row after another")


# Lengths ------------------------------------------------------------------------------------------


def lengths(written: syntax.TypeSeq, around: Indices, count: int, told: Told) -> np.ndarray[Any, Any]:
    """Return the `count` lengths that the type tells. NessieError for the first that is negative."""
    assert written.length is not None
    numbers = {**told.numbers, **dict(reversed(around))}
    try:
        found = np.broadcast_to(np.asarray(formulas.value(written.length, numbers), np.int64), (count,))
    except Beyond:
        raise NessieError(f"{show_expression(written.length)} leaves the ints", *places(written.length.span, "")) \
            from None
    if count and found.min() < 0:
        first = int(np.flatnonzero(found < 0)[0])
        where = ", ".join([f"{name} = {np.broadcast_to(at, (count,))[first]}" for name, at in around if name])
        raise NessieError(f"a length is {found[first]}{where and f', for {where}'}",
                          *places(written.length.span, "is negative there"),
                          hint=f"max(0, {show_expression(written.length)}) is never negative")
    return found


def offsets_of(lengths: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    offsets = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=offsets[1:])
    return offsets


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
                column = self.column(element, value.column, ((index, np.arange(value.length)),), value.length)
                return Flat(value.length, column, bare(length))
            case syntax.TypePair(first, second):
                return self.value(first, value[0]), self.value(second, value[1])
        return value

    def compare_size(self, written: syntax.TypeSeq, size: int) -> None:
        due = int(lengths(written, (), 1, self.told)[0])
        if due != size:
            assert written.length is not None
            shown = show_expression(written.length)
            raise NessieError(f"{self.name} has {size} element{'' if size == 1 else 's'}, and {due} are due",
                              *places(written.length.span, shown if shown == str(due) else self.why(written.length)),
                              hint="where lengths may differ, they have names of their own")

    def why(self, length: syntax.Exp) -> str:
        """Say what the names in a length stand for."""
        names = dict.fromkeys([name.name for name in names_in(length) if name.name in self.told.numbers])
        return ", ".join([f"{name} is {self.told.numbers[name]} by {self.told.by[name]}" for name in names])

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
        inner = positions(written.index, found, around, count)
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
                              hint="[[float]], without uniform, has rows of any length")
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
                           *places(written.length.span, self.why(written.length)),
                           hint="where nothing is known of lengths, rows are [[float]]")

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


def is_square(rows: Column, count: int) -> bool:
    return isinstance(rows, Uniform) and rows.length == count


def positions(index: str, rows: Nested, around: Indices, count: int) -> Indices:
    """Return the positions of each element of the rows."""
    if isinstance(rows.offsets, OnDevice):
        return ((index, 0), *[(name, 0) for name, _ in around])
    starts, found = rows.offsets[:count], np.diff(rows.offsets[:count + 1])
    own = np.arange(int(rows.offsets[count]), dtype=np.int64) - np.repeat(starts, found)
    outer = [(name, np.repeat(np.broadcast_to(at, (count,)), found)) for name, at in around]
    return ((index, own), *outer)


__all__ = ["Given", "Told", "is_packed", "may_be_packed", "shaped", "stands_for"]
