"""The operations of arrays as expressions of NESL.

An array of several dimensions is rows of rows of one length. So a map is an apply-to-each within another, and λcu walks
it as one space. What is gone through is an operand: a sequence that has a name, the places of a shape, or several side
by side.
"""
from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from nessie.arrays.bodies.expressions.reductions import Body
from nessie.arrays.bodies.kinds import INT, Items, Kind, Rows, rows_of
from nessie.arrays.bodies.trees import (
    Fresh,
    Made,
    all_of,
    become,
    binary,
    call,
    let,
    name,
    number,
    pattern,
    zero,
)
from nessie.arrays.bodies.trees import together as tuple_of
from nessie.base.records import dataclass
from nessie.base.source import NessieError, Span
from nessie.syntax import nodes as syntax

Offset = tuple[int, ...]


@dataclass(frozen=True)
class Held:
    """An array that a name stands for; without dimensions, one value. Along the axes that are `stretched`, counted from
    the last, its one element stands at all places."""
    name: str
    kind: Kind
    rank: int
    stretched: tuple[int, ...] = ()

    @property
    def whole(self) -> Made:
        """All of it."""
        return Made(name(self.name), rows_of(self.kind, self.rank))


@dataclass(frozen=True)
class Places:
    """The places of a shape. Its lengths are these expressions, or where another array is gone through, that one's."""
    lengths: tuple[syntax.Exp | None, ...]

    @property
    def rank(self) -> int:
        return len(self.lengths)

    @property
    def kind(self) -> Kind:
        return place_kind(self.rank)


@dataclass(frozen=True)
class Together:
    """Arrays side by side, whose elements are tuples."""
    parts: tuple[Operand, ...]

    @property
    def rank(self) -> int:
        return max([part.rank for part in self.parts])

    @property
    def kind(self) -> Kind:
        return Items(tuple([part.kind for part in self.parts]))


Operand = Held | Places | Together


@dataclass(frozen=True)
class Gone:
    """What is gone through in one apply-to-each: a sequence, or the indices below a length."""
    exp: syntax.Exp
    rank: int
    lengths: tuple[syntax.Exp | None, ...] = ()
    stretched: tuple[int, ...] = ()


def place_kind(rank: int) -> Kind:
    return INT if rank == 1 else Items((INT,) * rank)


def place(at: Sequence[syntax.Exp]) -> Made:
    """Return a place as bodies get it: an int, or a tuple of ints."""
    return Made(tuple_of(at), place_kind(len(at)))


# Apply-to-each ----------------------------------------------------------------------------------


def each(operands: Sequence[Operand], body: Callable[[list[Made], list[syntax.Exp]], syntax.Exp], fresh: Fresh,
         with_index: bool = False, like: Held | None = None, span: Span | None = None) -> syntax.Exp:
    """Return the body of the operands' elements at each place, and of the place's indices. An operand of fewer
    dimensions has the same elements for all places of the outer ones. The result has the lengths of `like`, if that is
    given. Other lengths than the first operand's are an error at `span`."""
    first = [like] if like is not None and operands[0] != like else []
    walked = [*first, *operands]
    rank = max([operand.rank for operand in walked])

    def of_operands(elements: list[Made], at: list[syntax.Exp]) -> syntax.Exp:
        return body(elements[len(first):], at)
    gone = [one for operand in walked for one in gone_through(operand)]
    return Walk(rank, walked, of_operands, fresh, with_index, span).level(0, gone, [])


def gone_through(operand: Operand) -> list[Gone]:
    match operand:
        case Together(parts):
            return [one for part in parts for one in gone_through(part)]
        case Places(lengths):
            return [Gone(number(0), len(lengths), lengths)]
    return [Gone(name(operand.name), operand.rank, (), operand.stretched)]


@dataclass(frozen=True)
class Walk:
    """An apply-to-each of `rank` levels."""
    rank: int
    operands: Sequence[Operand]
    body: Callable[[list[Made], list[syntax.Exp]], syntax.Exp]
    fresh: Fresh
    with_index: bool
    span: Span | None

    def level(self, depth: int, gone: Sequence[Gone], at: list[syntax.Exp]) -> syntax.Exp:
        """One dimension, and those within it."""
        if depth == self.rank:
            found = iter([one.exp for one in gone])
            return self.body([element(operand, found, at) for operand in self.operands], at)
        generators: list[syntax.Generator] = []
        inner: list[Gone] = []
        stretched: list[tuple[str, syntax.Exp]] = []
        index = ""
        for one in gone:
            if one.rank < self.rank - depth:
                inner.append(one)
            elif one.rank in one.stretched:
                only = self.fresh("only")
                stretched.append((only, syntax.Index(one.exp, number(0))))
                inner.append(Gone(name(only), one.rank - 1, (), one.stretched))
            elif one.lengths:
                if not index:
                    index = self.fresh("i")
                    length = one.lengths[0] or self.length(depth, gone)
                    generators.append(syntax.Generator(syntax.NamePattern(index), below(length)))
                inner.append(Gone(one.exp, one.rank - 1, one.lengths[1:]))
            else:
                x = self.fresh("x")
                generators.append(syntax.Generator(syntax.NamePattern(x), one.exp))
                inner.append(Gone(name(x), one.rank - 1, (), one.stretched))
        if not index and self.with_index:
            index = self.fresh("i")
            generators.append(syntax.Generator(syntax.NamePattern(index), below(self.length(depth, gone))))
        here = [*at, *([name(index)] if index else [])]
        made: syntax.Exp = syntax.Each(self.level(depth + 1, inner, here), tuple(generators), None, span=self.span)
        for only, exp in stretched:
            made = let([only], exp, made)
        return made

    def length(self, depth: int, gone: Sequence[Gone]) -> syntax.Exp:
        """The length of the first sequence that is gone through here."""
        return syntax.Unary("#", next(one.exp for one in gone if one.rank == self.rank - depth and not one.lengths
                                      and one.rank not in one.stretched))


def below(length: syntax.Exp) -> syntax.Exp:
    return syntax.Range(number(0), length, None)


def element(operand: Operand, found: Iterator[syntax.Exp], at: list[syntax.Exp]) -> Made:
    """Return the operand's element where its sequences have the elements `found`."""
    match operand:
        case Together(parts):
            made = [element(part, found, at) for part in parts]
            return Made(tuple_of([one.exp for one in made]), operand.kind)
        case Places():
            next(found)
            return place(at[len(at) - operand.rank:])
    return Made(next(found), operand.kind)


def mapped(operands: Sequence[Operand], body: Body, with_index: bool, fresh: Fresh,
           like: Held | None = None, span: Span | None = None) -> syntax.Exp:
    """Return what the body makes of the elements at each place, and of the place."""
    def at_place(elements: list[Made], at: list[syntax.Exp]) -> syntax.Exp:
        return body([*elements, place(at)] if with_index else elements).exp
    return each(operands, at_place, fresh, with_index, like, span)


# Stencils ---------------------------------------------------------------------------------------


def offsets_of(given: Any, rank: int, *place: tuple[Span, str]) -> list[Offset]:
    """Return the offsets, each once, as tuples of so many dimensions."""
    if not isinstance(given, Iterable):
        raise NessieError(f"the offsets of a stencil are a list, not {given!r}", *place,
                          hint="[-1, 0, 1] of one dimension, [(0, -1), (0, 1)] of two")
    found = [ints("an offset", one, *place) for one in given]
    if not found:
        raise NessieError("a stencil has one offset at least", *place, hint="[0] is that of the element itself")
    if any([len(offset) != rank for offset in found]):
        raise NessieError(f"the offsets of this stencil are of {rank} dimension{'s' * (rank != 1)}, as its array is",
                          *place, hint="[-1, 0, 1] of one dimension, [(0, -1), (0, 1)] of two")
    return list(dict.fromkeys(found))


def ints(what: str, given: Any, *place: tuple[Span, str]) -> tuple[int, ...]:
    """Return the int, or the ints, that are given."""
    try:
        return tuple([operator.index(one) for one in (given if isinstance(given, Iterable) else (given,))])
    except TypeError:
        raise NessieError(f"{what} is made of ints, and this is {given!r}", *place,
                          hint="one of one dimension is an int, one of two a pair of ints") from None


def is_apart(parameters: int, neighbours: int, place: Span) -> bool:
    """Does a stencil's function take its neighbours one by one?"""
    if parameters not in (1, neighbours):
        raise NessieError(f"the function of a stencil takes its {neighbours} neighbours, as one or one by one",
                          (place, f"takes {parameters}"), hint="lambda v: ... takes them as one: v[-1]")
    return parameters == neighbours > 1


def stencil(parts: Sequence[Held], offsets: Sequence[Offset], outside: Made, kind: Kind,
            body: Callable[[Mapping[Offset, Made], Made], Made], fresh: Fresh) -> syntax.Exp:
    """Return what the body makes of the neighbours of each element, and of its place; `outside` where one of them is
    none. Of several parts, neighbours are tuples. The lengths that say what is inside are those of the sequences that
    are read: so no element is checked."""
    rank = parts[0].rank
    at = [fresh("i") for _ in range(rank)]
    rows = [parts[0].name, *[fresh("row") for _ in range(rank - 1)]]
    kinds = [part.kind for part in parts]

    def neighbour(offset: Offset) -> Made:
        found = []
        for part in parts:
            exp: syntax.Exp = name(part.name)
            for i, by in zip(at, offset):
                moved = name(i) if by == 0 else binary("+" if by > 0 else "-", name(i), number(abs(by)))
                exp = syntax.Index(exp, moved)
            found.append(exp)
        return Made(tuple_of(found), kinds[0] if len(found) == 1 else Items(tuple(kinds)))
    inside = []
    for dimension, i in enumerate(at):
        reach = [offset[dimension] for offset in offsets]
        if min(reach) < 0:
            inside.append(binary(">=", name(i), number(-min(reach))))
        if max(reach) > 0:
            end = binary("-", syntax.Unary("#", name(rows[dimension])), number(max(reach)))
            inside.append(binary("<", name(i), end))
    exp = become(body({offset: neighbour(offset) for offset in offsets}, place([name(i) for i in at])), kind, fresh)
    if inside:
        exp = syntax.If(all_of(inside), exp, become(outside, kind, fresh))
    for dimension in reversed(range(rank)):
        around = name(rows[dimension])
        generators = [syntax.Generator(syntax.NamePattern(at[dimension]), below(syntax.Unary("#", around)))]
        if dimension + 1 < rank:
            generators.insert(0, syntax.Generator(syntax.NamePattern(rows[dimension + 1]), around))
        exp = syntax.Each(exp, tuple(generators), None)
    return exp


def inside(body: Body, fresh: Fresh, span: Span | None = None) -> Body:
    """Return the body that goes into ragged rows: it makes what `body` makes of their elements. A number beside a row
    stands at each of its elements; rows of other lengths side by side are an error at `span`."""
    def made(given: list[Made]) -> Made:
        if not any([isinstance(one.kind, Rows) for one in given]):
            return body(given)
        elements: list[Made] = []
        generators = []
        for one in given:
            if isinstance(one.kind, Rows):
                x = fresh("x")
                generators.append(syntax.Generator(syntax.NamePattern(x), one.exp))
                one = Made(name(x), one.kind.element)
            elements.append(one)
        result = made(elements)
        return Made(syntax.Each(result.exp, tuple(generators), None, span=span), Rows(result.kind))
    return made


# Shapes -----------------------------------------------------------------------------------------


def at_axis(parts: Sequence[Held], at: int, body: Callable[[list[syntax.Exp]], syntax.Exp], fresh: Fresh,
            span: Span | None = None) -> syntax.Exp:
    """Return what the body makes of what arrays have below their first `at` axes, at the same place of these."""
    if at == 0:
        return body([name(part.name) for part in parts])
    outer = [Held(part.name, rows_of(part.kind, part.rank - at), at) for part in parts]
    return each(outer, lambda elements, _: body([one.exp for one in elements]), fresh, span=span)


def with_unit(held: Held, at: int, fresh: Fresh) -> syntax.Exp:
    """Return the array with an axis of length 1 before its axis `at`."""
    return at_axis([held], at, lambda given: syntax.Sequence(tuple(given)), fresh)


def without_unit(held: Held, at: int, fresh: Fresh) -> syntax.Exp:
    """Return the array without its axis `at`, which has length 1."""
    return at_axis([held], at, lambda given: syntax.Index(given[0], number(0)), fresh)


def joined(parts: Sequence[Held], at: int, fresh: Fresh, span: Span | None = None) -> syntax.Exp:
    """Return the arrays one behind another along an axis. Halves are joined, so that no element is copied often."""
    def behind(given: Sequence[syntax.Exp]) -> syntax.Exp:
        if len(given) == 1:
            return given[0]
        middle = len(given) // 2
        return binary("++", behind(given[:middle]), behind(given[middle:]))
    return at_axis(parts, at, behind, fresh, span)


def stacked(parts: Sequence[Held], at: int, fresh: Fresh, span: Span | None = None) -> syntax.Exp:
    """Return the arrays, which are of one shape, side by side along a new axis. Other lengths are an error at `span`,
    if that is given."""
    if at == 0 and span is not None:
        first, *others = parts
        made = [each([first, part], lambda elements, _: elements[1].exp, fresh, span=span) for part in others]
        return syntax.Sequence((name(first.name), *made))
    return at_axis(parts, at, lambda given: syntax.Sequence(tuple(given)), fresh, span)


def reshaped(flat: Made, lengths: Sequence[syntax.Exp], fresh: Fresh) -> syntax.Exp:
    """Return the elements of a sequence in rows of rows of these lengths."""
    def body(_: list[Made], at: list[syntax.Exp]) -> syntax.Exp:
        place = at[0]
        for i, length in zip(at[1:], lengths[1:]):
            place = binary("+", binary("*", place, length), i)
        return syntax.Index(flat.exp, place)
    return each([Places(tuple(lengths))], body, fresh)


# Reductions and what makes sequences of sequences -----------------------------------------------


def flat(held: Held) -> Made:
    """Return all elements in order, as one sequence; of rows, all their elements."""
    exp: syntax.Exp = name(held.name)
    for _ in range(held.rank - 1):
        exp = call("flatten", exp)
    return Made(exp, Rows(held.kind))


def swapped(held: Held, at: int, fresh: Fresh) -> syntax.Exp:
    """Return the array with the axis `at` and the next exchanged."""
    outer = Held(held.name, rows_of(held.kind, held.rank - at), at)
    return each([outer], lambda elements, _: call("transpose", elements[0].exp), fresh)


def selected(test: Callable[[Made], syntax.Exp], held: Held, fresh: Fresh) -> syntax.Exp:
    x = fresh("x")
    return syntax.Each(name(x), (syntax.Generator(syntax.NamePattern(x), name(held.name)),),
                       test(Made(name(x), held.kind)))


def ordered(key: Body | None, held: Held, fresh: Fresh) -> syntax.Exp:
    if key is None:
        return call("sort", name(held.name))
    x = fresh("x")
    return call("sort_by", syntax.Lambda(syntax.NamePattern(x), key([Made(name(x), held.kind)]).exp), name(held.name))


def distinct(held: Held) -> syntax.Exp:
    return call("remove_duplicates", name(held.name))


def by_keys(held: Held, gives: Kind, least: syntax.Exp, fresh: Fresh) -> syntax.Exp:
    """Return what is made of pairs of a key and a value, for each key from 0 on: rows of values, or their sums."""
    key, value, keys, size = fresh("key"), fresh("value"), fresh("keys"), fresh("size")
    assert isinstance(held.kind, Items)
    pairs = name(held.name)

    def of_pairs(exp: syntax.Exp) -> syntax.Exp:
        return syntax.Each(exp, (syntax.Generator(pattern([key, value]), pairs),), None)
    none = binary("==", syntax.Unary("#", name(keys)), number(0))
    greatest = syntax.If(none, number(-1), call("max_val", name(keys)))
    wanted = call("max", least, binary("+", greatest, number(1)))
    positive = call("all", syntax.Each(binary(">=", name(key), number(0)),
                                       (syntax.Generator(syntax.NamePattern(key), name(keys)),), None))
    checked = call("_check", positive, syntax.String("A key is negative."), wanted)
    if isinstance(gives, Rows):
        exp = call("buckets", name(size), pairs)
    else:
        added = become(Made(name(value), held.kind.items[1]), gives, fresh)
        exp = call("write_add", call("dist", zero(gives), name(size)), of_pairs(tuple_of([name(key), added])))
    return let([keys], of_pairs(name(key)), let([size], checked, exp))


def flattened(held: Held) -> syntax.Exp:
    return flat(held).exp if held.rank > 1 else call("flatten", name(held.name))
