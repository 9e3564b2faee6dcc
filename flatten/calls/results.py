"""Results of lifted functions that end in concatenations, which are made where the results lie.

    if c then s else a ++ b         the concatenations of the activations that take the second branch are not stored by
                                    themselves: the results of all activations are made at once, one after another

What other branches give lies in payloads that are there. Where all of these are seen, a copy saves nothing: then the
concatenations are stored behind them. One comparison at run time decides.
"""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from nessie.base.records import dataclass
from nessie.base.types import Seq, Type, is_scalars
from nessie.flatten.calls.boundary import Packer, choice, params_of
from nessie.flatten.calls.crossing import Carried, Crossing
from nessie.flatten.rules.building import Concatenation, append, chained
from nessie.flatten.rules.conditionals import Sides, merged, parted
from nessie.flatten.rules.emptiness import undivided
from nessie.flatten.translator import Translator, Values, let_value, scalar, sequence
from nessie.flatten.values.contexts import Context
from nessie.flatten.values.domains import ZERO, At, Domain, atom_of, op
from nessie.flatten.values.emitter import Emitter
from nessie.flatten.values.spaces import SATURATED, space_at
from nessie.flatten.values.values import (
    Leaf,
    ScalarTerm,
    Term,
    Value,
    delayed,
    dense,
    exp_of,
    join_leaves,
    pull,
    seq_of,
    size_of,
)
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu import scope
from nessie.mono import nodes as mono

LengthAt = Callable[[At, Context], ir.Exp]


@dataclass(frozen=True)
class Ending:
    """The sequences of scalars over a domain that an expression gives. `length` and `element`: of one of them; `lying`:
    its length if it lies in `leaves`, which are there, else 0. `value` makes all of them; `postponed`: not all are made
    yet."""
    length: LengthAt
    lying: LengthAt
    element: Callable[[At, ir.Exp, Context], Term]
    leaves: tuple[Leaf, ...]
    value: Callable[[], Value]
    postponed: bool


def packed_result(t: Translator, exp: mono.Exp, type_: Type, env: Values, domain: Domain,
                  crossing: Crossing) -> list[ir.Atom]:
    """Return the names in which the value of a lifted function's body crosses. CPUs, where a launch costs little, copy
    the parts of rows one by one."""
    packer = Packer(t.emitter)
    if t.recursion or not (isinstance(type_, Seq) and is_scalars(type_.element) and isinstance(crossing, Carried)):
        return packer.pack(t.value(exp, env, domain, "a"), type_, domain, crossing)
    end = ending(t, exp, env, domain, "a")
    if not end.postponed:
        return packer.pack(end.value(), type_, domain, crossing)
    return packed_at_once(t.emitter, packer, end, type_, domain, crossing)


def packed_at_once(emitter: Emitter, packer: Packer, end: Ending, type_: Type, domain: Domain,
                   crossing: Crossing) -> list[ir.Atom]:
    context = Context(emitter, domain)
    length = context.close(end.length(domain.here(), context))
    offsets = emitter.scan_lengths(domain, lambda: length, SATURATED)

    def at_once() -> list[ir.Atom]:
        space = space_at(emitter, domain, offsets)

        def term_at(at: At, context: Context) -> Term:
            return end.element(context.climb(space, domain, at), context.within(space, at), context)

        value = delayed(space, term_at, term_at(space.here(), Context(emitter, space)))
        return packer.pack(dense(domain, space, value), type_, domain, crossing)

    def behind() -> list[ir.Atom]:
        return packer.pack(replace(sequence(end.value()), covers=True), type_, domain, crossing)

    if not end.leaves:
        return at_once()
    fewer = op("<", total(emitter, end.lying, domain), atom_of(emitter.size(size_of(end.leaves))))
    return choice(emitter, fewer, at_once, behind, params_of(emitter, type_, domain, crossing))


def total(emitter: Emitter, length: LengthAt, domain: Domain) -> ir.Atom:
    """Return the sum of such lengths over the domain."""
    context, result = Context(emitter, domain), emitter.declare("t", "int")
    thunk = scope.thunk(domain.params, context.close(length(domain.here(), context)))
    emitter.run(ir.Reduce(thunk, (ZERO,), SATURATED, emitter.walked(domain)), [result])
    return ir.Var(result.name)


# Endings ----------------------------------------------------------------------------------------


def ending(t: Translator, exp: mono.Exp, env: Values, domain: Domain, hint: str) -> Ending:
    inner = dict(env)
    while isinstance(exp, mono.Let) and not t.purity.pure(exp):
        inner[exp.name] = let_value(t, exp.value, inner, domain, exp.name)
        exp = exp.body
    match exp:
        case mono.If() if not t.purity.pure(exp) and undivided(t, exp) is None:
            return divided_ending(t, exp, inner, domain, hint)
        case (mono.Prim("append") as appended) | mono.Prim("_compact", (mono.Prim("append") as appended,)):
            return concatenation(t, appended, inner, domain, hint)
    return lying(t.value(exp, inner, domain, hint), domain)


def lying(value: Value, domain: Domain) -> Ending:
    """Return the ending that lies in payloads."""
    def term_at(at: At, context: Context) -> Term:
        return pull(value, domain, at, context)

    def length(at: At, context: Context) -> ir.Exp:
        return seq_of(term_at(at, context)).length

    return Ending(length, length, lambda at, j, c: seq_of(term_at(at, c)).element(j, c), sequence(value).leaves,
                  lambda: value, False)


def concatenation(t: Translator, exp: mono.Prim, env: Values, domain: Domain, hint: str) -> Ending:
    """Return the ending that is not made yet, unless what it reads can fail."""
    values = [t.value(a, env, domain, hint) for a in chained(exp)]
    t.emitter.origin = origin = exp.origin
    parts = Concatenation(tuple([sequence(value) for value in values]), domain)
    trial = Context(t.emitter, domain)
    parts.element(domain.here(), parts.length(domain.here(), trial), trial)

    def made() -> Value:
        t.emitter.origin = origin
        return append(t, exp, values, domain, hint)

    if trial.failing:
        return lying(made(), domain)
    return Ending(parts.length, lambda at, context: ZERO, parts.element, (), made, True)


def divided_ending(t: Translator, exp: mono.If, env: Values, domain: Domain, hint: str) -> Ending:
    test = scalar(t.value(exp.condition, env, domain, "test"))
    t.emitter.origin = exp.origin
    sides = parted(t, test, domain)
    then = ending(t, exp.then, env, sides.yes, hint)
    orelse = ending(t, exp.orelse, env, sides.no, hint)
    t.emitter.origin = exp.origin

    def made() -> Value:
        first, second = then.value(), orelse.value()
        t.emitter.origin = exp.origin
        return merged(t, sides, first, second, domain, hint)

    return Ending(chosen_length(sides, then.length, orelse.length), chosen_length(sides, then.lying, orelse.lying),
                  lambda at, j, context: sides.choose(at, context, lambda there, c: then.element(there, j, c),
                                                      lambda there, c: orelse.element(there, j, c)),
                  join_leaves(then.leaves, orelse.leaves), made, then.postponed or orelse.postponed)


def chosen_length(sides: Sides, then: LengthAt, orelse: LengthAt) -> LengthAt:
    def length(at: At, context: Context) -> ir.Exp:
        return exp_of(sides.choose(at, context, lambda there, c: ScalarTerm(then(there, c), "int"),
                                   lambda there, c: ScalarTerm(orelse(there, c), "int")))
    return length
