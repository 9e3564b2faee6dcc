"""Rules for reductions, scans, sorts and orders, over the elements of one sequence per element of the domain."""
from __future__ import annotations

from nessie.base.types import Base, Seq, Type
from nessie.base.widths import WIDE, wide
from nessie.flatten.ranges.ranges import index_below
from nessie.flatten.rules.rounds import holds_rows, in_rounds, of_operator
from nessie.flatten.threads.scalars import identity, monoid, resized
from nessie.flatten.translator import Translator, scalar, sequence
from nessie.flatten.values.contexts import Context
from nessie.flatten.values.domains import HOST, ZERO, At, Domain, minus
from nessie.flatten.values.materialise import elements
from nessie.flatten.values.spaces import space_of
from nessie.flatten.values.values import Scalar, ScalarTerm, Sequence, Term, Value, delayed, dense, exp_of, pull, stored
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu import scope
from nessie.mono import nodes as mono


def reduce(t: Translator, exp: mono.Prim, values: list[Value], domain: Domain, hint: str) -> Value:
    source = sequence(values[0])
    space = space_of(t.emitter, source, domain)
    operator = exp.name.removeprefix("reduce_")
    return in_rounds(t, lambda value: of_operator(operator, scalar(value).base), space, domain, hint,
                     lambda: elements(t.emitter, source, space, domain),
                     lambda: in_segments(t, exp, source, domain, hint), holds_rows(source, domain))


def in_segments(t: Translator, exp: mono.Prim, source: Sequence, domain: Domain, hint: str) -> Value:
    operator = exp.name.removeprefix("reduce_")
    space, thunk, base = walked_elements(t, source, domain)
    carrier = wide(base)
    result = t.emitter.declare(hint, carrier if domain is HOST else ir.Array(carrier, domain.size))
    t.emitter.run(ir.Reduce(thunk, (identity(operator, base),), monoid(operator), t.emitter.walked(space)), [result])
    return held_wide(domain, result.name, base)


def scan(t: Translator, exp: mono.Prim, values: list[Value], domain: Domain, hint: str) -> Value:
    operator = exp.name.removeprefix("scan_")
    space, thunk, base = walked_elements(t, sequence(values[0]), domain)
    result = t.emitter.declare(hint, ir.Array(wide(base), space.size))
    t.emitter.run(ir.Scan(thunk, (identity(operator, base),), monoid(operator), t.emitter.walked(space)), [result])
    return dense(domain, space, held_wide(space, result.name, base))


def held_wide(home: Domain, name: str, base: str) -> Value:
    """Return what the array over the home, or the host's scalar, holds: numbers combined at full width, which are made
    as narrow as `base` says where they are used."""
    full = stored(home, name, wide(base))
    if base not in WIDE:
        return full
    return Scalar(home, base, lambda at, context: resized(full.pull(at, context), base, context))


def walked_elements(t: Translator, source: Sequence, domain: Domain) -> tuple[Domain, ir.Thunk, str]:
    """Return the space of the elements of sequences of scalars, a thunk that reads them over it, and their type."""
    space = space_of(t.emitter, source, domain)
    value = scalar(elements(t.emitter, source, space, domain))
    context = Context(t.emitter, space)
    body = context.result([exp_of(pull(value, space, space.here(), context))])
    return space, scope.thunk(space.params, body), value.base


def sort(t: Translator, exp: mono.Prim, values: list[Value], domain: Domain, hint: str) -> Value:
    space, thunk, base = walked_elements(t, sequence(values[0]), domain)
    result = t.emitter.declare(hint, ir.Array(wide(base), space.size))
    t.emitter.run(ir.Order(thunk, t.emitter.walked(space), values=True), [result])
    return dense(domain, space, held_wide(space, result.name, base))


def order(t: Translator, exp: mono.Prim, values: list[Value], domain: Domain, hint: str) -> Value:
    """Translate an order: the library's stable sort gives flat positions, NESL's are positions in the segment."""
    space, thunk, _ = walked_elements(t, sequence(values[0]), domain)
    base = element_of(exp.type)
    result = t.emitter.declare(hint, ir.Array("int", space.size))
    t.emitter.run(ir.Order(thunk, t.emitter.walked(space), exp.name == "order_down"), [result])
    t.emitter.permute(result.name, space)
    if domain is HOST:
        return dense(domain, space, stored(space, result.name, base))
    return positions(result.name, space, domain, base)


def firsts(t: Translator, exp: mono.Prim, values: list[Value], domain: Domain, hint: str) -> Value:
    space, thunk, _ = walked_elements(t, sequence(values[0]), domain)
    result = t.emitter.declare(hint, ir.Array("int", space.size))
    t.emitter.run(ir.Order(thunk, t.emitter.walked(space), firsts=True), [result])
    return positions(result.name, space, domain, element_of(exp.type))


def positions(array: str, space: Domain, domain: Domain, base: str) -> Value:
    """Return the positions in the sequence of the flat indices that the array has."""
    def term_at(at: At, context: Context) -> Term:
        segment = context.climb(space, domain, at).i
        position = minus(ir.Read(array, at.i), space.start(segment))
        context.note(position, lambda: index_below(context.ranges.form(space.length(segment))))
        return ScalarTerm(position, base)
    return dense(domain, space, delayed(space, term_at, ScalarTerm(ZERO, base)))


def element_of(type_: Type) -> str:
    assert isinstance(type_, Seq) and isinstance(type_.element, Base)
    return type_.element.name
