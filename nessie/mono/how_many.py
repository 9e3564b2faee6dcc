"""How many of the first elements of a sequence are used: as far as that is known before the sequence is made.

    numbers = Numbers(function)         what the names of a function mean, and where they are bound
    numbers.known(exp, place)           the number that an expression is, in terms of what is bound before the place
    counted(limits)                     how many elements are selected for these limits, and on which condition
"""
from __future__ import annotations

from dataclasses import replace
from functools import partial, reduce

from nessie.base.types import BOOL
from nessie.mono import nodes as mono
from nessie.mono.node_types import type_of
from nessie.mono.nodes import Exp
from nessie.mono.walk import expressions

MOST = 8                            # elements that are selected
LIKELY = 4                          # where only the run knows how many are wanted: all are computed, and compiled
EVERYTHING = 1 << 60                # the place before which all stands

Limit = tuple[Exp, bool]            # a number of elements; or the last one's, which is one of them


class Unbounded(Exception):
    """More may be used than the first few."""


class Numbers:
    """`values`: what lets name; `place`: how many nodes of the function stand before what binds a name."""

    def __init__(self, function: mono.Function) -> None:
        self.values: dict[str, Exp] = {}
        self.place: dict[str, int] = {p.name: 0 for p in function.parameters}
        for at, exp in enumerate(expressions(function.body), 1):
            match exp:
                case mono.Let(name, value):
                    self.values[name], self.place[name] = value, at
                case mono.Each(_, generators):
                    self.place.update((g.name, at) for g in generators)

    def known(self, exp: Exp, place: int) -> Exp:
        """The number, in terms of what is bound before the place. Unbounded, where it has others."""
        match exp:
            case mono.Const():
                return exp
            case mono.Var(name) if name in self.values and isinstance(self.values[name], mono.Const):
                return self.values[name]
            case mono.Var(name) if self.place.get(name, place) < place:
                return exp
            case mono.Var(name) if name in self.values:
                return self.known(self.values[name], place)
            case mono.First(pair) | mono.Second(pair):
                return self.known(self.part(exp, pair), place)
            case mono.If(condition, then, orelse):
                condition = self.known(condition, place)
                if isinstance(condition, mono.Const):
                    return self.known(then if condition.value else orelse, place)
                return replace(exp, condition=condition, then=self.known_or_more(then, place),
                               orelse=self.known_or_more(orelse, place))
            case mono.Prim("<", (left, right)):
                both = self.known(left, place), self.known(right, place)
                if isinstance(both[0], mono.Const) and isinstance(both[1], mono.Const):
                    return mono.Const(both[0].value < both[1].value, BOOL)      # type: ignore[operator]
                return replace(exp, arguments=both)
        raise Unbounded

    def known_or_more(self, exp: Exp, place: int) -> Exp:
        try:
            return self.known(exp, place)
        except Unbounded:
            return mono.Const(MOST + 1, type_of(exp))

    def part(self, exp: mono.First | mono.Second, pair: Exp) -> Exp:
        """The part of the pair."""
        if isinstance(pair, mono.Var):
            pair = self.values.get(pair.name, pair)
        match pair:
            case mono.Pair(first, second):
                return first if isinstance(exp, mono.First) else second
            case mono.If(condition, then, orelse):
                return mono.If(condition, self.part(exp, then), self.part(exp, orelse))
        raise Unbounded


def counted(limits: list[Limit]) -> tuple[int, Exp | None]:
    """How many are selected, and on which condition. Unbounded, where they are many, or none."""
    counts = [number(limit) + last for limit, last in limits if isinstance(limit, mono.Const)]
    conditions = [partial(within, limit, last) for limit, last in limits if not isinstance(limit, mono.Const)]
    if not limits or max(counts, default=1) > MOST:
        raise Unbounded
    if not conditions:
        return max(1, *counts), None
    most = max([LIKELY, *counts])
    return most, reduce(lambda both, other: mono.Prim("and", (both, other), BOOL), [c(most) for c in conditions])


def number(constant: mono.Const) -> int:
    assert isinstance(constant.value, int)
    return constant.value


def within(limit: Exp, last: bool, most: int) -> Exp:
    """Is the number one of so many?"""
    if isinstance(limit, mono.If):
        then, orelse = within(limit.then, last, most), within(limit.orelse, last, most)
        if isinstance(then, mono.Const) and not then.value:
            return mono.Prim("and", (mono.Prim("not", (limit.condition,), BOOL), orelse), BOOL)
        return replace(limit, then=then, orelse=orelse)
    if isinstance(limit, mono.Const):
        return mono.Const(number(limit) + last <= most, BOOL)
    return mono.Prim("<" if last else "<=", (limit, mono.Const(most, type_of(limit))), BOOL)
