"""Pass: of groups that are only reduced, the sums are computed without the groups.

  in    mono, where groups are made by calls of the library's `_collected`
  out   mono without such calls: {(k, sum(vs)) : (k,vs) in int_collect(kvs)} has become
            let (at, size, heads) = the place of each pair's group, how many there are, and where each begins in
            let total = write_add(dist(0, size), {(p, v) : p in at; (_,v) in kvs}) in
            {(first(kvs[h]), total[at[h]]) : h in heads}
        and where groups are wanted themselves the call's body stands
  how   An apply-to-each over the groups, in which a group's values are only reduced or counted, perhaps after
        apply-to-eaches over nothing else, is one over the groups' heads. A reduction by +, max or min becomes the write
        that combines by it, `any` and `all` those of 0 and 1. The groups may have a name, if all its uses are such.
  why   The values would be sorted by group and stored, to be read once.
  sound if what is reduced cannot fail, as it is now computed before the body, and needs nothing that is known only
        there but the key. Every group has an element, so that the identities do not show. A sum of floats is added up
        in order of the elements. The key in what is reduced is each pair's own, so it must have no floats: 0.0 == -0.0.
"""
from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import field, replace

from nessie.base.ints import MAX_INT, MIN_INT
from nessie.base.names import Names
from nessie.base.records import dataclass
from nessie.base.types import BOOL, INT, Base, Pair, Seq, Type
from nessie.mono import nodes as mono
from nessie.mono.node_types import type_of
from nessie.mono.nodes import Exp
from nessie.mono.passes.hoist import may_fail, mentioned
from nessie.mono.passes.inline import inline, is_library
from nessie.mono.walk import binders, expressions, is_trivial, let_chain, map_parts

COMBINED = {"reduce_+": "+", "reduce_max": "max", "reduce_min": "min", "reduce_or": "max", "reduce_and": "min"}
MAKER = re.compile(r"_collected(_\d+)?")
UNITS: dict[str, dict[str, int | float | str]] = {          # of the operators, by types
    "+": {"int": 0, "float": 0.0},
    "max": {"int": MIN_INT, "float": float("-inf"), "char": "\0"},
    "min": {"int": MAX_INT, "float": float("inf"), "char": "\U0010ffff"},
}
ONE = mono.Const(1, INT)

Bound = list[tuple[str, Exp]]


def reduce_groups(program: mono.Program) -> mono.Program:
    makers = frozenset(f.name for f in program.functions if makes_groups(f))
    if not makers:
        return program
    reducer = Reducer(Names(binders(program)), makers)
    functions = tuple([replace(f, body=reducer.exp(f.body)) for f in program.functions])
    return inline(replace(program, functions=functions))


def makes_groups(function: mono.Function) -> bool:
    return is_library(function) and MAKER.fullmatch(function.name) is not None


class Wanted(Exception):
    """The groups themselves are."""


@dataclass(frozen=True)
class Reducer:
    names: Names
    makers: frozenset[str]

    def exp(self, exp: Exp) -> Exp:
        exp = map_parts(exp, self.exp)
        try:
            match exp:
                case mono.Let(name, value, body):
                    bound, groups = opened(value)
                    if self.makes(groups):
                        return self.with_name(name, bound, groups, body)
                case mono.Each(_, (mono.Generator(_, source),)):
                    bound, groups = opened(source)
                    if self.makes(groups):
                        made = Groups(self.names, groups)
                        return let_chain([*bound, *made.bound], made.each(exp))
        except Wanted:
            pass
        return exp

    def makes(self, exp: Exp) -> bool:
        return isinstance(exp, mono.Call) and exp.function in self.makers

    def with_name(self, name: str, bound: Bound, groups: Exp, body: Exp) -> Exp:
        """The body, in which the groups have a name, without them."""
        made = Groups(self.names, groups)

        def without(exp: Exp) -> Exp:
            match exp:
                case mono.Var(found) if found == name:
                    raise Wanted
                case mono.Prim("length", (mono.Var(found),)) if found == name:
                    return replace(exp, arguments=(made.heads,))
                case mono.Each(_, (mono.Generator(_, mono.Var(found)),)) if found == name:
                    return without(made.each(exp))
            return map_parts(exp, without)

        return let_chain([*bound, *made.bound], without(body))


def opened(exp: Exp) -> tuple[Bound, Exp]:
    """The lets around an expression, and the expression."""
    bound: Bound = []
    while isinstance(exp, mono.Let):
        bound.append((exp.name, exp.value))
        exp = exp.body
    return bound, exp


class Groups:
    """Groups that a call would make. `bound`: the parts of the call, by name."""

    def __init__(self, names: Names, call: Exp) -> None:
        assert isinstance(call, mono.Call)
        self.names, self.origin = names, call.origin
        self.bound: Bound = []
        self.pairs, self.at, self.size, self.heads = [
            self.named(wish, value, self.bound)
            for wish, value in zip(("kvs", "at", "size", "heads"), call.arguments, strict=True)]
        pairs = type_of(self.pairs)
        assert isinstance(pairs, Seq) and isinstance(pairs.element, Pair)
        self.pair = pairs.element

    def named(self, wish: str, value: Exp, bound: Bound) -> Exp:
        if is_trivial(value):
            return value
        bound.append((self.names.fresh(wish), value))
        return mono.Var(bound[-1][0], type_of(value))

    def each(self, exp: mono.Each) -> Exp:
        """The apply-to-each over the groups, without them, in lets of what is reduced."""
        (group,) = [generator.name for generator in exp.generators]
        head = mono.Var(self.names.fresh("head"), INT)
        inside = [part for part in (exp.filter, exp.body) if part is not None]
        body = Body(self, group, head, {name for part in inside for name in bound_in(part)})
        condition = None if exp.filter is None else body.without(exp.filter)
        over_heads = replace(exp, body=body.without(exp.body), generators=(mono.Generator(head.name, self.heads),),
                             filter=condition)
        return let_chain(body.totals, over_heads)

    def element(self, sequence: Exp, index: Exp) -> Exp:
        type_ = type_of(sequence)
        assert isinstance(type_, Seq)
        return mono.Prim("elt", (sequence, index), type_.element, origin=self.origin)

    def total(self, operator: str, pair: mono.Var, value: Exp, condition: Exp | None) -> mono.Prim:
        """What the operator makes of the values of all pairs, each group's in its place."""
        base = type_of(value)
        assert isinstance(base, Base)
        place = mono.Var(self.names.fresh("place"), INT)
        unit = mono.Const(UNITS[operator][base.name], base)
        before = mono.Prim("dist", (unit, self.size), Seq(base), origin=self.origin)
        written = mono.Each(mono.Pair(place, value), (mono.Generator(place.name, self.at),
                            mono.Generator(pair.name, self.pairs)), condition, origin=self.origin)
        return mono.Prim(f"combine_{operator}", (before, written), Seq(base), origin=self.origin)


@dataclass(frozen=True)
class Values:
    """A value for each of the group's, which is called `variable`, where the condition holds, if there is one."""
    variable: str
    value: Exp
    condition: Exp | None


@dataclass(frozen=True)
class Body:
    """The body and condition of an apply-to-each over groups. `inside`: the names that they bind; `totals`: what they
    reduce, by name; `known`: sequences that have names, None when they may not be used again."""
    groups: Groups
    group: str
    head: mono.Var
    inside: set[str]
    totals: Bound = field(default_factory=list)
    known: dict[str, Values | None] = field(default_factory=dict)

    def without(self, exp: Exp) -> Exp:
        """The expression of the key and of reductions. Wanted, if more than these is."""
        match exp:
            case mono.Var(name) if name == self.group or name in self.known:
                raise Wanted
            case mono.First(mono.Var(name)) if name == self.group:
                return mono.First(self.groups.element(self.groups.pairs, self.head), origin=exp.origin)
            case mono.Let(name, value, body) if not may_fail(value) and (values := self.values(value)):
                self.known[name] = values
                return self.without(body)
            case mono.Prim("length", (source,)) if values := self.values(source):
                return self.reduced("+", replace(values, value=ONE))
            case mono.Prim(name, (source,)) if name in COMBINED and (values := self.values(source)):
                return self.by(name, values)
        return map_parts(exp, self.without)

    def values(self, source: Exp) -> Values | None:
        """The sequence, if it has something for each value of the group, or for some."""
        match source:
            case mono.Second(mono.Var(name)) if name == self.group:
                value = mono.Var(self.groups.names.fresh("v"), self.groups.pair.second)
                return Values(value.name, value, None)
            case mono.Var(name):
                found = self.known.get(name)
                if found and any(binds for part in (found.value, found.condition) if part for binds in bound_in(part)):
                    self.known[name] = None             # what binds names stands in one place
                return found
            case mono.Each(body, (mono.Generator(name, inner),), condition) if values := self.values(inner):
                if is_trivial(values.value):
                    body = with_value(body, name, values.value)
                    condition = condition and with_value(condition, name, values.value)
                elif condition is None:
                    body = mono.Let(name, values.value, body)
                else:
                    raise Wanted
                both = [part for part in (values.condition, condition) if part is not None]
                holds = both[0] if len(both) == 1 else mono.Prim("and", tuple(both), BOOL) if both else None
                return replace(values, value=body, condition=holds)
        return None

    def by(self, name: str, values: Values) -> Exp:
        if name not in ("reduce_or", "reduce_and"):
            return self.reduced(COMBINED[name], values)
        if type_of(values.value) != BOOL:
            raise Wanted
        ints = replace(values, value=mono.Prim("btoi", (values.value,), INT))
        return mono.Prim("==", (self.reduced(COMBINED[name], ints), ONE), BOOL)

    def reduced(self, operator: str, values: Values) -> Exp:
        """The group's total of the values."""
        pair = mono.Var(self.groups.names.fresh("kv"), self.groups.pair)
        value = self.of_pair(values.value, values.variable, pair)
        condition = values.condition and self.of_pair(values.condition, values.variable, pair)
        total = self.groups.named("total", self.groups.total(operator, pair, value, condition), self.totals)
        return self.groups.element(total, self.groups.element(self.groups.at, self.head))

    def of_pair(self, exp: Exp, variable: str, pair: mono.Var) -> Exp:
        """The expression of a value of the group, as one of a pair. Wanted, if it is of more, or may fail."""
        def of_pair(part: Exp) -> Exp:
            match part:
                case mono.First(mono.Var(name)) if name == self.group:
                    return mono.First(pair, origin=part.origin)
                case mono.Var(name) if name == self.group:
                    raise Wanted
            return map_parts(part, of_pair)

        known = mentioned(exp)
        if may_fail(exp) or (self.inside - {variable, *bound_in(exp)}) & known or (
                self.group in known and has_floats(self.groups.pair.first)):
            raise Wanted
        return with_value(of_pair(exp), variable, mono.Second(pair))


def with_value(exp: Exp, name: str, value: Exp) -> Exp:
    """The expression with the value for the name."""
    if isinstance(exp, mono.Var):
        return value if exp.name == name else exp
    return map_parts(exp, lambda part: with_value(part, name, value))


def bound_in(exp: Exp) -> Iterator[str]:
    """The names that the expression binds."""
    for inner in expressions(exp):
        match inner:
            case mono.Let(name):
                yield name
            case mono.Each(_, generators):
                yield from (g.name for g in generators)


def has_floats(type_: Type) -> bool:
    match type_:
        case Base(name):
            return name == "float"
        case Pair(first, second):
            return has_floats(first) or has_floats(second)
        case Seq(element):
            return has_floats(element)
    return False
