"""Vectors in the place of rows: all elements of the rows that are due, one row after another.

  in    a value that has one or more levels of sequences less than its type tells
  out   the rows, cut by the lengths that the type tells
  how   The outermost levels are missing, and the lengths of each level below the first say where it is cut. How many
        rows there are is found from the number of elements, unless it is known: the least number that has as many.
"""
from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from nessie.base.source import NessieError
from nessie.base.types import FLOAT, INT, Pair, Seq, Type
from nessie.base.values import Flat, Nested
from nessie.lengths.formulas import bare, names_in, places
from nessie.lengths.layouts import fits
from nessie.lengths.told import Given, Indices, Lengths, Told, lengths, offsets_of, positions
from nessie.syntax import nodes as syntax
from nessie.syntax.text import show_type

ROWS = 2 ** 22                  # so many are tried in any case, and a few times as many as there are elements
MOST_ELEMENTS = 2.0 ** 48


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


def cut(given: Given, told: Told) -> Flat:
    """Return the elements of a vector as the rows that are due."""
    levels, size = levels_of(given.written, missing_levels(given.written, given.type)), given.value.length
    outer, most = levels[0], max(ROWS, 4 * size)
    name = bare(outer.length)
    if outer.length is None or (name and name not in told.numbers):
        count = least_count(given, levels, size, told, most)
    else:
        count = int(lengths(outer, (), 1, told)[0])
    if name:
        told.tell(name, count, given.name)
    offsets = all_offsets(levels, count, told, most)
    if not offsets or offsets[-1][-1] != size:
        raise wrong_size(given, size, [(count, int(offsets[-1][-1]) if offsets else None)])
    column = given.value.column
    for starts in reversed(offsets):
        column = Nested(starts, column)
    return Flat(count, column)


def least_count(given: Given, levels: list[syntax.TypeSeq], size: int, told: Told, most: int) -> int:
    """Return the least number of rows that have so many elements together."""
    def total(count: int) -> int | None:
        return total_of(levels, count, told, most)

    def is_less(count: int) -> bool:
        found = total(count)
        return found is not None and found < size
    few, many = 0, 1
    if not is_less(0) and total(0) == size:
        return 0
    while is_less(many) and many < most:
        few, many = many, 2 * many
    while many - few > 1:
        middle = (few + many) // 2
        few, many = (middle, many) if is_less(middle) else (few, middle)
    at = total(many)
    if at != size:
        if at is None:
            all_offsets(levels, many, told, most)       # a length that is wrong has a message of its own
        below = total(few)
        raise wrong_size(given, size, [*([(few, below)] if below != at else []), (many, at)])
    return many


def total_of(levels: list[syntax.TypeSeq], count: int, told: Told, most: int) -> int | None:
    """Return how many elements so many rows have; None if they have too many, or a length that is none."""
    name = bare(levels[0].length)
    here = Told({**told.numbers, **({name: count} if name else {})}, told.by)
    try:
        offsets = all_offsets(levels, count, here, most)
    except NessieError:
        return None
    return int(offsets[-1][-1]) if offsets else None


def all_offsets(levels: list[syntax.TypeSeq], count: int, told: Told, most: int) -> list[Lengths]:
    """Return where the rows of each level but the first begin. None, if a level has more than `most` rows, or more
    elements than there can be."""
    found = list[Lengths]()
    around: Indices = ((levels[0].index, np.arange(count)),)
    for level in levels[1:]:
        if count > most:
            return []
        due = lengths(level, around, count, told)
        if due.sum(dtype=np.float64) > MOST_ELEMENTS:
            return []
        found.append(offsets_of(due))
        count = int(found[-1][-1])
        if level is not levels[-1]:
            around = positions(level.index, found[-1], around) if count <= most else ()
    return found


def wrong_size(given: Given, size: int, near: list[tuple[int, int | None]]) -> NessieError:
    """The error of a vector that is not as long as any number of rows."""
    written = given.written
    assert isinstance(written, syntax.TypeSeq)
    name = bare(written.length) or "the number of rows"
    parts = [f"{'too many' if total is None else total} for {name} = {count}" for count, total in near]
    return NessieError(f"{given.name} has {size} element{'' if size == 1 else 's'}, and {show_type(written)} has "
                       f"{' and '.join(parts)}", *places(written.span, "so long are its rows together"),
                       hint="a vector stands for rows if it has all their elements, one row after another")
