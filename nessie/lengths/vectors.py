"""Vectors in the place of rows: all elements of the rows that are due, one row after another.

  in    a value that has one or more levels of sequences less than its type tells
  out   the rows, cut by the lengths that the type tells
  how   The outermost levels are missing, and the lengths of each level below the first say where it is cut. How many
        rows there are is found from the number of elements, unless it is known: the least number that has as many.
        How many elements rows have is a closed sum, or else that of all lengths, a block of rows at a time: nothing is
        as large as the rows before their number is known to be right.
"""
from __future__ import annotations

from collections.abc import Iterator
from functools import reduce

import numpy as np

from nessie.base.records import dataclass
from nessie.base.source import NessieError
from nessie.base.system.memory import MemoryBudget
from nessie.base.types import FLOAT, INT, Pair, Seq, Type
from nessie.base.values import Column, Flat, Nested, Uniform
from nessie.lengths.formulas import bare, places
from nessie.lengths.layouts import fits
from nessie.lengths.sums import NoSum, closed_sum
from nessie.lengths.told import (
    BLOCK,
    Given,
    Indices,
    Lengths,
    Told,
    inner_positions,
    lengths,
    mentioned_in,
    offsets_of,
)
from nessie.syntax import nodes as syntax
from nessie.syntax.text import show_type
from nessie.syntax.types import names_in

TRIED = 2 ** 22                 # rows, where only a sum of all lengths tells; and a few times as many as elements
MOST_ROWS = 2 ** 48
MOST_BLOCKS = 2 ** 16           # of rows, whose lengths are summed, in some seconds: their starts would take 4 GiB
WORD = 8


def missing_levels(written: syntax.TypeExp, type_: Type) -> int:
    """Return how many levels of sequences a value of this type has less than are due, if it may stand for them, else
    0."""
    return next((count for count, vector in enumerate(vectors_for(written), 1) if fits(vector, type_)), 0)


def vectors_for(written: syntax.TypeExp) -> Iterator[syntax.TypeSeq]:
    """Yield the types of the values that may stand for these rows: without one level, without two, and so on."""
    while isinstance(written, syntax.TypeSeq) and isinstance(written.element, syntax.TypeSeq) \
            and written.element.length is not None:
        written = written.element
        yield written


def levels_of(written: syntax.TypeExp, count: int) -> list[syntax.TypeSeq]:
    """Return the outermost levels: `count`, and the one below, whose rows a vector has one after another."""
    found = list[syntax.TypeSeq]()
    while isinstance(written, syntax.TypeSeq) and len(found) <= count:
        found.append(written)
        written = written.element
    return found


def stands_for(written: syntax.TypeExp, type_: Type) -> bool:
    """May a value of this type be given where the written one is due?"""
    return fits(written, type_) or missing_levels(written, type_) > 0


def with_floats(type_: Type) -> Type:
    """Return the type with floats for ints, which may stand for them."""
    match type_:
        case Seq(element):
            return Seq(with_floats(element))
        case Pair(first, second):
            return Pair(with_floats(first), with_floats(second))
    return FLOAT if type_ == INT else type_


def with_levels(type_: Type, count: int) -> Type:
    """Return the type of sequences, `count` levels of them, of such values."""
    return with_levels(Seq(type_), count - 1) if count else type_


def without_levels(type_: Type, count: int) -> Type:
    """Return the type of what is so many levels within."""
    for _ in range(count):
        assert isinstance(type_, Seq)
        type_ = type_.element
    return type_


def untold(given: Given, told: Told) -> syntax.Name | None:
    """Return a name that the lengths of the vector's rows mention, and nothing has told yet."""
    outer, *inner = levels_of(given.written, missing_levels(given.written, given.type))
    known = {*told.numbers, outer.index, bare(outer.length), *[level.index for level in inner]}
    formulas = [level.length for level in inner] + ([outer.length] if outer.length and not bare(outer.length) else [])
    return next((name for formula in formulas if formula for name in names_in(formula) if name.name not in known), None)


def untold_error(given: Given, name: syntax.Name) -> NessieError:
    return NessieError(f"nothing says what {name.name} is: {given.name} is a vector, without rows",
                       *places(name.span, "a length mentions it"),
                       hint=f"give the rows themselves, or a number for {name.name}")


def cut(given: Given, told: Told, room: MemoryBudget) -> Flat:
    """Return the elements of a vector as the rows that are due; where they start counts against `room`."""
    levels, size = levels_of(given.written, missing_levels(given.written, given.type)), given.value.length
    outer = levels[0]
    name = bare(outer.length)
    if outer.length is None or (name and name not in told.numbers):
        count = least_count(given, levels, size, told)
    else:
        count = int(lengths(outer, (), 1, told)[0])
        totals = Totals(levels, told, size)
        if (total := totals.of(count)) != size:
            raise wrong_size(given, totals, [(count, total)])
    if name:
        told.tell(name, count, given.name)
    if count > MOST_ROWS:
        raise NessieError(f"{given.name} stands for {count} rows, and no sequence has more than {MOST_ROWS} elements",
                          *places(given.written.span, ""))
    return Flat(count, in_rows(given, levels, count, told, room))


def in_rows(given: Given, levels: list[syntax.TypeSeq], count: int, told: Told, room: MemoryBudget) -> Column:
    """Return the elements as rows of each level but the first. Those of one length need no starts."""
    index, found = levels[0].index, list[Nested]()
    around: Indices = ((index, np.arange(count) if index in mentioned_in(levels[0].element) else 0),)
    for level in levels[1:]:
        assert level.length is not None
        if {name.name for name in names_in(level.length)}.isdisjoint([name for name, _ in around]):
            length = int(lengths(level, (), 1, told)[0])
            rows: Nested = Uniform(count, length, None)
            below = count * length
        else:
            room.take(2 * WORD * (count + 1), f"where the rows of {given.name} start")
            rows = Nested(offsets_of(lengths(level, around, count, told)), None)
            room.give(WORD * (count + 1))
            below = int(rows.offsets[-1])
        if level is not levels[-1]:
            around = inner_positions(level, rows, count, around)
        found.append(rows)
        count = below
    return reduce(lambda column, rows: rows.over(column), reversed(found), given.value.column)


def least_count(given: Given, levels: list[syntax.TypeSeq], size: int, told: Told) -> int:
    """Return the least number of rows that have so many elements together."""
    totals = Totals(levels, told, size)

    def is_less(count: int) -> bool:
        found = totals.of(count)
        return found is not None and found < size
    few, many = 0, 1
    if not is_less(0) and totals.of(0) == size:
        return 0
    while is_less(many) and many < totals.most:
        few, many = many, 2 * many
    while many - few > 1:
        middle = (few + many) // 2
        few, many = (middle, many) if is_less(middle) else (few, middle)
    if (at := totals.of(many)) == size:
        return many
    below = totals.of(few)
    raise wrong_size(given, totals, [*([(few, below)] if below != at else []), (many, at)])


@dataclass
class Totals:
    """The numbers of elements that rows of these levels have; nothing asks for more than `size`. `closed`: is there a
    closed sum, as far as is known?"""
    levels: list[syntax.TypeSeq]
    told: Told
    size: int
    closed: bool = True

    @property
    def most(self) -> int:
        """So many rows are tried, where nothing says how many there are."""
        return MOST_ROWS if self.closed else max(TRIED, 4 * self.size)

    def of(self, count: int) -> int | None:
        """Return how many elements so many rows have; None if a length is wrong, or it is not known how many beyond
        `size` they are."""
        here = with_count(self.levels[0], count, self.told)
        if self.closed:
            try:
                return closed_sum(self.levels, count, here.numbers)
            except NoSum:
                self.closed = False
        try:
            return sum_in_blocks(self.levels, count, here, self.size)
        except NessieError:
            return None


def with_count(outer: syntax.TypeSeq, count: int, told: Told) -> Told:
    """Return what is told where there are so many rows."""
    name = bare(outer.length)
    return Told({**told.numbers, **({name: count} if name else {})}, told.by)


def sum_in_blocks(levels: list[syntax.TypeSeq], count: int, told: Told, most: int) -> int | None:
    """Return how many elements so many rows have, by a sum of all lengths; None as soon as there are more than
    `most`, and more rows, or where rows are more than MOST_BLOCKS and a few times as many as `most`. NessieError if a
    length is wrong."""
    total, last = 0, max(MOST_BLOCKS, 4 * most // BLOCK)
    for block, part in enumerate(blocks(levels, count, told)):
        if total > most or block == last:
            return None
        total += part
    return total if total <= MOST_ROWS else None


def blocks(levels: list[syntax.TypeSeq], count: int, told: Told) -> Iterator[int]:
    """Yield how many elements the rows have, a block of the innermost rows after another."""
    for start in range(0, count, BLOCK):
        here = min(BLOCK, count - start)
        yield from elements(levels[1:], ((levels[0].index, np.arange(start, start + here)),), here, told)


def elements(levels: list[syntax.TypeSeq], around: Indices, count: int, told: Told) -> Iterator[int]:
    """Yield how many elements `count` rows at these positions have, for some of them after others."""
    level, *below = levels
    due = lengths(level, around, count, told)
    if due.sum(dtype=np.float64) > MOST_ROWS:
        yield MOST_ROWS + 1
    elif not below:
        yield int(due.sum())
    else:
        for inner, size in parts_below(level, due, around):
            yield from elements(below, inner, size, told)


def parts_below(level: syntax.TypeSeq, due: Lengths, around: Indices) -> Iterator[tuple[Indices, int]]:
    """Yield the positions of the elements of rows with these lengths, and their number: of some rows after others, and
    of a long row in parts."""
    ends, first = np.cumsum(due), 0
    while first < len(due):
        done = int(ends[first] - due[first])
        last = max(first + 1, int(np.searchsorted(ends, done + BLOCK, "right")))
        here = tuple([(name, at[first:last] if np.ndim(at) else at) for name, at in around])
        size = int(ends[last - 1]) - done
        if size <= BLOCK:
            yield inner_positions(level, Nested(offsets_of(due[first:last]), None), last - first, here), size
        else:
            for start in range(0, size, BLOCK):
                own = np.arange(start, min(start + BLOCK, size))
                yield ((level.index, own), *[(name, at[0] if np.ndim(at) else at) for name, at in here]), len(own)
        first = last


def wrong_size(given: Given, totals: Totals, near: list[tuple[int, int | None]]) -> NessieError:
    """The error of a vector that is not as long as any number of rows."""
    for count, total in near:
        if total is None:                   # a length that is wrong has a message of its own
            sum_in_blocks(totals.levels, count, with_count(totals.levels[0], count, totals.told), totals.size)
    written, size = given.written, totals.size
    name = bare(totals.levels[0].length) or "the number of rows"
    (count, total), *_ = near
    if count >= MOST_ROWS and len(near) == 1 and total == totals.of(count // 2):
        said = f"{'at most ' if total else ''}{total}, whatever {name} is"
    else:
        said = " and ".join([f"{'too many' if total is None else total} for {name} = {count}" for count, total in near])
    return NessieError(f"{given.name} has {size} element{'' if size == 1 else 's'}, and {show_type(written)} has "
                       f"{said}", *places(written.span, "so long are its rows together"),
                       hint="a vector stands for rows if it has all their elements, one row after another")
