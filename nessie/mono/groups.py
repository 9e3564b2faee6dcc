"""Groups of values by keys, as a call of the library's `_collected` would make them, and what is reduced of them.

    made = Groups(names, call)
    made.each(exp)          an apply-to-each over the groups, as one over the groups' heads; or it raises Wanted
    made.bound              what the call is given, by names that it needs
"""
from __future__ import annotations

from dataclasses import field, replace
from math import inf

from nessie.base.ints import MAX_INT, MIN_INT
from nessie.base.names import Names
from nessie.base.records import dataclass
from nessie.base.types import BOOL, INT, Base, Pair, Seq, Type
from nessie.mono import nodes as mono
from nessie.mono.node_types import element_type, type_of
from nessie.mono.nodes import Exp
from nessie.mono.passes.hoist import may_fail
from nessie.mono.walk import binders_of, is_trivial, let_chain, map_parts, mentioned

COMBINED = {"reduce_+": "+", "reduce_max": "max", "reduce_min": "min", "reduce_or": "max", "reduce_and": "min"}
UNITS: dict[str, dict[str, int | float | str]] = {          # of the operators, by types
    "+": {"int": 0, "int32": 0, "float": 0.0, "float32": 0.0},
    "max": {"int": MIN_INT, "int32": -2 ** 31, "float": -inf, "float32": -inf, "char": "\0"},
    "min": {"int": MAX_INT, "int32": 2 ** 31 - 1, "float": inf, "float32": inf, "char": "\U0010ffff"},
}
ONE = mono.Const(1, INT)

MORE = "is more than reduced"

Bound = list[tuple[str, Exp]]


class Wanted(Exception):
    """The groups themselves are: what stands at `origin` is the reason, as `why` says of it."""

    def __init__(self, exp: Exp, why: str) -> None:
        super().__init__(why)
        self.origin, self.why = exp.origin, why


class Groups:
    """Groups that a call would make. `bound`: the parts of the call, by name."""

    def __init__(self, names: Names, call: Exp) -> None:
        assert isinstance(call, mono.Call)
        self.names, self.origin = names, call.origin
        self.bound: Bound = []
        self.pairs, self.at, self.size, self.heads = [
            self.named(wish, value, self.bound)
            for wish, value in zip(("kvs", "at", "size", "heads"), call.arguments, strict=True)]
        pair = element_type(self.pairs)
        assert isinstance(pair, Pair)
        self.pair = pair

    def named(self, wish: str, value: Exp, bound: Bound) -> Exp:
        if is_trivial(value):
            return value
        bound.append((self.names.fresh(wish), value))
        return mono.Var(bound[-1][0], type_of(value))

    def each(self, exp: mono.Each) -> Exp:
        """The apply-to-each over the groups, without them, in lets of what is reduced."""
        (group,) = [generator.name for generator in exp.generators]
        head = mono.Var(self.names.fresh("head"), element_type(self.heads))
        inside = [part for part in (exp.filter, exp.body) if part is not None]
        body = Body(self, group, head, {name for part in inside for name in binders_of(part)})
        condition = None if exp.filter is None else body.without(exp.filter)
        over_heads = replace(exp, body=body.without(exp.body), generators=(mono.Generator(head.name, self.heads),),
                             filter=condition)
        return let_chain(body.totals, over_heads)

    def element(self, sequence: Exp, index: Exp) -> Exp:
        return mono.Prim("elt", (sequence, index), element_type(sequence), origin=self.origin)

    def total(self, operator: str, pair: mono.Var, value: Exp, condition: Exp | None) -> mono.Prim:
        """What the operator makes of the values of all pairs, each group's in its place."""
        base = type_of(value)
        assert isinstance(base, Base)
        place = mono.Var(self.names.fresh("place"), element_type(self.at))
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
            case mono.Var(name) | mono.Second(mono.Var(name)) if name == self.group or name in self.known:
                raise Wanted(exp, MORE)
            case mono.First(mono.Var(name)) if name == self.group:
                return mono.First(self.groups.element(self.groups.pairs, self.head), origin=exp.origin)
            case mono.Let(name, value, body) if not may_fail(value) and (values := self.values(value)):
                self.known[name] = values
                return self.without(body)
            case mono.Prim("length", (source,), type_) if values := self.values(source):
                return self.reduced("+", replace(values, value=mono.Const(1, type_)))
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
                if found and any([*binders_of(part)] for part in (found.value, found.condition) if part):
                    self.known[name] = None             # what binds names stands in one place
                return found
            case mono.Each(body, (mono.Generator(name, inner),), condition) if values := self.values(inner):
                if is_trivial(values.value):
                    body = with_value(body, name, values.value)
                    condition = condition and with_value(condition, name, values.value)
                elif condition is None:
                    body = mono.Let(name, values.value, body)
                else:
                    raise Wanted(source, "filters what is computed of values")
                both = [part for part in (values.condition, condition) if part is not None]
                holds = both[0] if len(both) == 1 else mono.Prim("and", tuple(both), BOOL) if both else None
                return replace(values, value=body, condition=holds)
        return None

    def by(self, name: str, values: Values) -> Exp:
        if name not in ("reduce_or", "reduce_and"):
            return self.reduced(COMBINED[name], values)
        if type_of(values.value) != BOOL:
            raise Wanted(values.value, "is no bool")
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
                    raise Wanted(part, MORE)
            return map_parts(part, of_pair)

        known = set(mentioned(exp))
        if may_fail(exp):
            raise Wanted(exp, "may fail")
        if (self.inside - {variable, *binders_of(exp)}) & known:
            raise Wanted(exp, "needs more than the key and a value")
        if self.group in known and has_floats(self.groups.pair.first):
            raise Wanted(exp, "needs the key, which has floats")
        return with_value(of_pair(exp), variable, mono.Second(pair))


def with_value(exp: Exp, name: str, value: Exp) -> Exp:
    """The expression with the value for the name."""
    if isinstance(exp, mono.Var):
        return value if exp.name == name else exp
    return map_parts(exp, lambda part: with_value(part, name, value))


def has_floats(type_: Type) -> bool:
    match type_:
        case Base(name):
            return name in ("float", "float32")
        case Pair(first, second):
            return has_floats(first) or has_floats(second)
        case Seq(element):
            return has_floats(element)
    return False
