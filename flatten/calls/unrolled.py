"""Functions without apply-to-each over sequences that are written out.

    {f(x) : x in [a, b]}        becomes [f(a), f(b)], and elt(that, 0) becomes f(a)

So a recursion on two halves is two calls, with no sequence of sequences between, where one thread does all of it.
Everything is evaluated as often as before and in the same order, but that an element's body may begin before another's
source is known; which of several failures comes first is told by the version that is not unrolled.
"""
from __future__ import annotations

from nessie.base.names import Names
from nessie.base.types import INT, Seq
from nessie.mono import nodes as mono
from nessie.mono.node_types import type_of
from nessie.mono.nodes import Exp
from nessie.mono.walk import is_trivial, let_chain, map_parts

MOST = 8                        # elements
Bound = list[tuple[str, Exp]]


def unrolled(body: Exp, names: Names) -> Exp:
    """Return the body of a function, all of its binders renamed."""
    return Unroller(names, {}).exp(body)


class Unroller:
    """`by`: what stands for a variable."""

    def __init__(self, names: Names, by: dict[str, Exp]) -> None:
        self.names, self.by = names, by

    def exp(self, exp: Exp) -> Exp:
        return let_chain(*self.spread(exp))

    def spread(self, exp: Exp) -> tuple[Bound, Exp]:
        """Return the lets around the expression, and the expression in them."""
        bound: Bound = []
        while isinstance(exp, mono.Let):
            bound += self.bind(exp.name, exp.value)
            exp = exp.body
        match exp:
            case mono.Var(name):
                return bound, self.by.get(name, exp)
            case mono.Prim("_compact", (part,)):
                lets, part = self.spread(part)
                return bound + lets, part
            case mono.Prim("elt", (sequence, mono.Const(int() as at))):
                lets, sequence = self.spread(sequence)
                if isinstance(sequence, mono.Literal) and 0 <= at < len(sequence.elements):
                    return bound + lets, sequence.elements[at]
                return bound + lets, mono.Prim("elt", (sequence, exp.arguments[1]), exp.type, origin=exp.origin)
            case mono.Prim("length" | "flatten" as name, (sequence,)):
                lets, sequence = self.spread(sequence)
                return bound + lets, self.of_literal(name, sequence, exp)
            case mono.Literal(elements) if 0 < len(elements) <= MOST:
                lets, elements = self.named(elements)
                return bound + lets, mono.Literal(elements, exp.type, origin=exp.origin)
            case mono.Each():
                lets, each = self.each(exp)
                return bound + lets, each
            case mono.First(pair) | mono.Second(pair):
                return bound, projected(type(exp), self.exp(pair), exp)
        return bound, map_parts(exp, self.exp)

    def bind(self, name: str, value: Exp) -> Bound:
        """Make the name mean the value. Literals are known by their elements."""
        bound, value = self.spread(value)
        if idle(value):
            self.by[name] = value
            return bound
        fresh = self.names.fresh(name)
        self.by[name] = mono.Var(fresh, type_of(value))
        return [*bound, (fresh, value)]

    def named(self, elements: tuple[Exp, ...]) -> tuple[Bound, tuple[Exp, ...]]:
        """Return the elements by names, and the lets that bind these."""
        bound: Bound = []
        found: list[Exp] = []
        for element in elements:
            lets, element = self.spread(element)
            bound += lets
            if not idle(element):
                bound.append((self.names.fresh("element"), element))
                element = mono.Var(bound[-1][0], type_of(element))
            found.append(element)
        return bound, tuple(found)

    def of_literal(self, name: str, sequence: Exp, exp: mono.Prim) -> Exp:
        if not isinstance(sequence, mono.Literal) or not sequence.elements:
            return mono.Prim(name, (sequence,), exp.type, origin=exp.origin)
        if name == "length":
            return mono.Const(len(sequence.elements), INT)
        whole, *rest = sequence.elements
        for part in rest:
            whole = mono.Prim("append", (whole, part), exp.type, origin=exp.origin)
        return whole

    def each(self, exp: mono.Each) -> tuple[Bound, Exp]:
        bound: Bound = []
        sources: list[Exp] = []
        for generator in exp.generators:
            lets, source = self.spread(generator.source)
            bound += lets
            sources.append(source)
        literals = [s.elements for s in sources if isinstance(s, mono.Literal) and s.elements]
        if exp.filter is None and len(literals) == len(sources) and len(set(map(len, literals))) == 1:
            return self.bodies(exp, literals, bound)
        named = []
        for generator, source in zip(exp.generators, sources):
            item = type_of(source)
            assert isinstance(item, Seq)
            fresh = self.names.fresh(generator.name)
            self.by[generator.name] = mono.Var(fresh, item.element)
            named.append(mono.Generator(fresh, source))
        condition = None if exp.filter is None else self.exp(exp.filter)
        return bound, mono.Each(self.exp(exp.body), tuple(named), condition, origin=exp.origin)

    def bodies(self, exp: mono.Each, literals: list[tuple[Exp, ...]], bound: Bound) -> tuple[Bound, Exp]:
        found: list[Exp] = []
        for elements in zip(*literals):
            self.by.update(zip([g.name for g in exp.generators], elements))
            lets, body = self.spread(exp.body)
            bound = bound + lets
            if not idle(body):
                bound.append((self.names.fresh("element"), body))
                body = mono.Var(bound[-1][0], type_of(body))
            found.append(body)
        return bound, mono.Literal(tuple(found), Seq(type_of(found[0])), origin=exp.origin)


def idle(exp: Exp) -> bool:
    """Is it free to evaluate, however often?"""
    match exp:
        case mono.Pair(first, second):
            return idle(first) and idle(second)
        case mono.Literal(elements):
            return 0 < len(elements) <= MOST and all([idle(e) for e in elements])
    return is_trivial(exp)


def projected(kind: type[mono.First] | type[mono.Second], pair: Exp, exp: Exp) -> Exp:
    if isinstance(pair, mono.Pair) and idle(pair):
        return pair.first if kind is mono.First else pair.second
    return kind(pair, origin=exp.origin)
