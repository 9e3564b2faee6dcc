"""Rules that build sequences from scalars and from other sequences: literals, dist, ranges, append.

Ranges and dist take no memory until they are stored: their payload is computed where it is read.
"""
from __future__ import annotations

import collections.abc
from dataclasses import replace
from functools import reduce
from itertools import accumulate, chain

from nessie.base.records import dataclass
from nessie.base.types import CHAR, Base, Pair, Seq, Type
from nessie.flatten.ranges.ranges import MOST
from nessie.flatten.rules.checked_scalars import checked_scalar
from nessie.flatten.rules.folding import element_of
from nessie.flatten.rules.lengths import enough, note_length, regular
from nessie.flatten.translator import Translator, Values, scalar, sequence
from nessie.flatten.values.contexts import Context
from nessie.flatten.values.domains import HOST, ONE, ZERO, At, Domain, atom_of, minus, op, plus, times, uniform
from nessie.flatten.values.materialise import solid
from nessie.flatten.values.spaces import space_for
from nessie.flatten.values.values import (
    Both,
    Leaf,
    ScalarTerm,
    SeqTerm,
    Sequence,
    Term,
    Value,
    delayed,
    dense,
    element,
    empty,
    exp_of,
    join_leaves,
    moved,
    pull,
    seq_of,
    stored,
)
from nessie.lambda_cu import nodes as ir
from nessie.mono import nodes as mono
from nessie.mono.walk import is_constant

Elements = collections.abc.Sequence["mono.Exp | str"]           # a text is a sequence of its characters


def data(t: Translator, exps: Elements, type_: Type, space: Domain) -> Value:
    """Return the constant expressions as the elements of a space: one array for each of the type's scalars."""
    if not exps:
        return empty(type_)
    match type_:
        case Base(base):
            values = tuple(exps) if isinstance(exps, str) else tuple([constant_of(e) for e in exps])
            return stored(space, t.emitter.data(ir.Array(base, space.size), values), base)
        case Pair(first, second):
            pairs = [e for e in exps if isinstance(e, mono.Pair)]
            return Both(data(t, [e.first for e in pairs], first, space),
                        data(t, [e.second for e in pairs], second, space))
        case Seq(item):
            rows = [elements_of(e) for e in exps]
            inner = data_space(t, [len(row) for row in rows], space)
            return dense(space, inner, data(t, list(chain.from_iterable(rows)), item, inner))
    raise TypeError(type_)


def data_space(t: Translator, lengths: list[int], outer: Domain) -> Domain:
    """Return the space of the elements of sequences of these lengths, one sequence for each element of the outer space.
    Their number has a name of its own, like that of every space nested in another (spaces.product)."""
    total = t.emitter.named(ir.Const(sum(lengths), "int"), "n")
    if len(set(lengths)) == 1:
        return uniform(outer, lengths[0], total)
    offsets = tuple(accumulate(lengths, initial=0))
    return t.emitter.rows(outer, t.emitter.data(ir.Array("int", outer.size, 1), offsets), total)


def element_type(exp: mono.Literal | mono.String) -> Type:
    if isinstance(exp, mono.String):
        return CHAR
    assert isinstance(exp.type, Seq)
    return exp.type.element


def elements_of(exp: mono.Exp | str) -> Elements:
    if isinstance(exp, mono.String):
        return exp.text
    assert isinstance(exp, mono.Literal)
    return exp.elements


def constant_of(exp: mono.Exp | str) -> int | float | bool | str:
    if isinstance(exp, str):
        return exp
    assert isinstance(exp, mono.Const)
    return exp.value


def literal(t: Translator, exp: mono.Literal | mono.String, env: Values, domain: Domain, hint: str) -> Value:
    """Translate [e1, ..., ek]. A constant literal is data, made once in a block."""
    if not is_constant(exp):
        assert isinstance(exp, mono.Literal)
        return computed_literal(t, exp, env, domain, hint)
    made = t.emitter.tables.data
    if exp not in made:
        elements = elements_of(exp)
        space = t.emitter.host_space(len(elements))
        made[exp] = dense(HOST, space, data(t, elements, element_type(exp), space))
    return made[exp]


def computed_literal(t: Translator, exp: mono.Literal, env: Values, domain: Domain, hint: str) -> Value:
    """Build uniform segments of k elements; rows are bounds into the rows' payloads, which are joined once."""
    given = [t.value(e, env, domain, hint) for e in exp.elements]
    values = with_joined_leaves(t, given, domain)
    space = space_for(t.emitter, domain, lambda at, c: ir.Const(len(values), "int"))

    def term_at(at: At, context: Context) -> Term:
        up, j = context.climb(space, domain, at), context.within(space, at)

        def choose(first: int, count: int, inner: Context) -> Term:
            if count == 1:
                return pull(values[first], domain, up, inner)
            half = count // 2
            return inner.branch(op("<", j, ir.Const(first + half, "int")), lambda c: choose(first, half, c),
                                lambda c: choose(first + half, count - half, c))
        return choose(0, len(values), context)

    value = delayed(space, term_at, term_at(space.here(), Context(t.emitter, space)))
    return dense(domain, space, covering(solid(t.emitter, value, space, hint), given, domain))


def covering(made: Value, given: list[Value], domain: Domain) -> Value:
    """Return what was made of these values, one after another at each index of the domain, and know of its sequences
    whether they cover their payload: if those given are dense, each in a payload of its own, they have all of it once.
    """
    if isinstance(made, Both):
        pairs = [value for value in given if isinstance(value, Both)]
        return Both(covering(made.first, [pair.first for pair in pairs], domain),
                    covering(made.second, [pair.second for pair in pairs], domain))
    if not isinstance(made, Sequence):
        return made
    all_dense = all([isinstance(value, Sequence) and value.dense and value.home is domain for value in given])
    return replace(made, covers=all_dense and len(made.leaves) == len(given))


def with_joined_leaves(t: Translator, values: list[Value], domain: Domain) -> list[Value]:
    """Give the values one common payload, so that a choice between them moves no bounds."""
    pairs = [value for value in values if isinstance(value, Both)]
    if pairs:
        firsts = with_joined_leaves(t, [value.first for value in pairs], domain)
        seconds = with_joined_leaves(t, [value.second for value in pairs], domain)
        return [Both(first, second) for first, second in zip(firsts, seconds)]
    rows = [value for value in values if isinstance(value, Sequence)]
    if not rows:
        return values
    leaves = join_leaves(*[row.leaves for row in rows])
    starts: dict[object, ir.Exp] = {}
    start: ir.Exp = ZERO
    for leaf in leaves:
        starts[leaf.key] = start
        start = atom_of(t.emitter.size(plus(start, atom_of(leaf.space.size))))
    return [into_leaves(row, leaves, starts, domain) for row in rows]


def into_leaves(row: Sequence, leaves: tuple[Leaf, ...], starts: dict[object, ir.Exp], domain: Domain) -> Value:
    """Return the sequence as bounds into the leaves, which begin at `starts`."""
    def term_at(at: At, context: Context) -> Term:
        bounds = seq_of(pull(row, domain, at, context))
        if len(row.leaves) == 1:
            return SeqTerm(plus(bounds.start, starts.get(row.leaves[0].key, ZERO)), bounds.length, leaves)
        return SeqTerm(moved(bounds.start, row.leaves, leaves, context), bounds.length, leaves)
    return delayed(domain, term_at, SeqTerm(ZERO, ZERO, leaves))


def dist(t: Translator, exp: mono.Prim, values: list[Value], domain: Domain, hint: str) -> Value:
    """Translate dist(a, n): the payload is a itself, seen from each element."""
    message = "Bounds error for function DIST."

    def count_at(at: At, context: Context) -> ir.Exp:
        return exp_of(pull(values[1], domain, at, context))

    def length_at(at: At, context: Context) -> Term:
        count = context.let(count_at(at, context), "n")
        count = context.check(op("<=", ZERO, count), count, "int", message, exp.origin)
        return ScalarTerm(enough(count, context, exp), "int")

    length = regular(t, domain, count_at, message, exp) or checked_scalar(t, domain, length_at, "n")
    note_length(t, domain, length, count_at)
    return dense(domain, space_for(t.emitter, domain, lambda at, c: exp_of(pull(length, domain, at, c))), values[0])


def iseq(t: Translator, exp: mono.Prim, values: list[Value], domain: Domain, hint: str) -> Value:
    """Translate iseq(s, d, e): a range, computed where it is read."""
    start, stride, end = map(scalar, values)
    base = element_of(exp.type)
    message = "In [s:e:l], e must be >= to s, and l must be positive."
    by_one = exp_of(pull(stride, domain, domain.here(), Context(t.emitter, domain))) == ONE

    def extent_at(at: At, context: Context) -> ir.Exp:
        return minus(*(exp_of(pull(v, domain, at, context)) for v in (end, start)))

    def length_at(at: At, context: Context) -> Term:
        s, d, e = (exp_of(pull(v, domain, at, context)) for v in (start, stride, end))
        d, s = context.let(d, "d"), context.let(s, "s0")
        right = op("<=", s, e) if by_one else op("and", op("<=", s, e), op("<", ZERO, d))
        return context.guard(right, lambda inner: ScalarTerm(steps(minus(e, s), s, d, inner), "int"), message,
                             exp.origin)

    def steps(extent: ir.Exp, s: ir.Exp, d: ir.Exp, context: Context) -> ir.Exp:
        """Return the extent in strides, rounded up."""
        extent = context.let(extent, "n")
        if not isinstance(s, ir.Const) or int(s.value) < 0:             # the extent may have wrapped
            extent = context.check(op("<=", ZERO, extent), extent, "int", context.emitter.too_many, exp.origin)
        if not by_one:
            some = op("min", ONE, extent)
            extent = context.let(plus(op("/", minus(extent, some), d), some), "n")
        return enough(extent, context, exp)

    length = (by_one and regular(t, domain, extent_at, message, exp)) or checked_scalar(t, domain, length_at, "n")
    note_length(t, domain, length, extent_at if by_one else None)
    space = space_for(t.emitter, domain, lambda at, c: exp_of(pull(length, domain, at, c)))

    def term_at(at: At, context: Context) -> Term:
        up, j = context.climb(space, domain, at), context.within(space, at)
        step = times(j, exp_of(pull(stride, domain, up, context)))
        return ScalarTerm(plus(exp_of(pull(start, domain, up, context)), step), base)

    return dense(domain, space, delayed(space, term_at, ScalarTerm(ZERO, base)))


def append(t: Translator, exp: mono.Prim, values: list[Value], domain: Domain, hint: str) -> Value:
    """Translate a ++ b, or a chain of them: one MAP, which copies only the bounds of rows."""
    parts = Concatenation(tuple([sequence(value) for value in values]), domain)

    def length_at(at: At, context: Context) -> ir.Exp:
        length = parts.length(at, context)
        return enough(length, context, exp) if domain is HOST and t.emitter.most < MOST else length

    space = space_for(t.emitter, domain, length_at)

    def term_at(at: At, context: Context) -> Term:
        return parts.element(context.climb(space, domain, at), context.within(space, at), context)

    value = delayed(space, term_at, term_at(space.here(), Context(t.emitter, space)))
    return dense(domain, space, solid(t.emitter, value, space, hint))


@dataclass(frozen=True)
class Concatenation:
    """Sequences over a domain, one after another at each of its indices."""
    parts: tuple[Sequence, ...]
    domain: Domain

    def bounds(self, at: At, context: Context) -> list[SeqTerm]:
        return [seq_of(pull(part, self.domain, at, context)) for part in self.parts]

    def length(self, at: At, context: Context) -> ir.Exp:
        length: ir.Exp = reduce(plus, [term.length for term in self.bounds(at, context)])
        return length

    def element(self, at: At, j: ir.Exp, context: Context) -> Term:
        first, *rest = self.bounds(at, context)
        return part_at(first, rest, context.let(j, "j"), context)


def part_at(first: SeqTerm, rest: list[SeqTerm], j: ir.Exp, context: Context) -> Term:
    """Return the element at this position of these sequences one after another."""
    if not rest:
        return element(first.leaves, plus(first.start, j), context)
    middle = context.let(first.length, "m")
    return context.branch(op("<", j, middle), lambda c: element(first.leaves, plus(first.start, j), c),
                          lambda c: part_at(rest[0], rest[1:], minus(j, middle), c))


def chained(exp: mono.Exp) -> list[mono.Exp]:
    """Return the sequences that ++ puts one after another here, from left to right."""
    if isinstance(exp, mono.Prim) and exp.name == "append":
        return [part for argument in exp.arguments for part in chained(argument)]
    return [exp]
