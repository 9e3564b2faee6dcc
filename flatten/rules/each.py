"""The rule for apply-to-each: { body : x1 in s1; ...; xm in sm | filter }.

The elements' space E is that of the first source that is dense here, else a fresh one with its lengths. The other
sources are checked to have equal lengths, sequence by sequence. Without a filter the body is translated over E.

With a filter, FILTER over E gives the survivors' space: segments of the same parent, with new offsets. The body is
translated there with the sources' variables packed, so it runs for survivors only. A pure body is FILTER's own value
thunk, so there is nothing to pack.
"""
from __future__ import annotations

from collections.abc import Iterator

from nessie.base.records import dataclass
from nessie.base.source import Origin
from nessie.flatten.rules.combining import total
from nessie.flatten.rules.folding import in_segments
from nessie.flatten.rules.rounds import Monoid, holds_rows, in_rounds, of_operator
from nessie.flatten.threads import reductions
from nessie.flatten.threads.scalars import identity
from nessie.flatten.threads.thread import thread
from nessie.flatten.translator import Translator, Values, scalar, sequence, with_data
from nessie.flatten.values.contexts import AlikeContext, Context
from nessie.flatten.values.domains import HOST, ZERO, At, Domain, op
from nessie.flatten.values.emitter import NeedsKernel
from nessie.flatten.values.materialise import check_all, elements, on_host, solid, view
from nessie.flatten.values.spaces import space_for
from nessie.flatten.values.values import (
    Both,
    PairTerm,
    Scalar,
    ScalarTerm,
    Sequence,
    Term,
    Value,
    components,
    dense,
    exp_of,
    pull,
    seq_of,
    stored,
)
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu import scope
from nessie.mono import nodes as mono
from nessie.mono.node_types import type_of
from nessie.mono.walk import expressions

IDEMPOTENT = ("and", "or", "max", "min")
UNEQUAL = "Length mismatch in an apply-to-each."


def apply_to_each(t: Translator, exp: mono.Each, env: Values, domain: Domain, hint: str) -> Value:
    return each_of(t, exp, opened(t, exp, env, domain), domain, hint)


def reduce_each(t: Translator, exp: mono.Prim, each: mono.Each, env: Values, domain: Domain, hint: str) -> Value:
    """Translate a reduction of what an apply-to-each makes; few elements need not be stored."""
    over = opened(t, each, env, domain)
    operator, type_ = exp.name.removeprefix("reduce_"), type_of(each.body)
    body = each.body
    if each.filter is not None:
        body = mono.If(each.filter, body, reductions.identity(operator, type_), origin=each.origin)

    if operator in IDEMPOTENT and t.purity.pure(body):
        try:
            return t.emitter.without_kernels(lambda: of_alike(t, operator, body, over, domain))
        except NeedsKernel:
            pass

    def segmented() -> Value:
        made = each_of(t, each, over, domain, hint)
        t.emitter.origin = exp.origin
        return in_segments(t, exp, sequence(made), domain, hint)

    return in_rounds(t, lambda value: of_operator(operator, scalar(value).base), over.space, domain, hint,
                     lambda: t.value(body, over.env, over.space, hint), segmented, over.in_memory)


def reduce_each_by(t: Translator, monoid: Monoid, origin: Origin, each: mono.Each, env: Values, domain: Domain,
                   hint: str) -> Value:
    """Translate a reduction, by a function, of what an apply-to-each without a filter makes."""
    over = opened(t, each, env, domain)

    def segmented() -> Value:
        made = each_of(t, each, over, domain, hint)
        t.emitter.origin = origin
        return total(t, monoid, sequence(made), domain, hint)

    return in_rounds(t, lambda value: monoid, over.space, domain, hint,
                     lambda: t.value(each.body, over.env, over.space, hint), segmented, over.in_memory)


def of_alike(t: Translator, operator: str, body: mono.Exp, over: Opened, domain: Domain) -> Scalar:
    """Return what an idempotent operator makes of elements that are all alike: one of them, if there are any. Raise
    NeedsKernel if they are not."""
    space, emitter = over.space, t.emitter
    value = scalar(t.value(body, over.env, space))
    trial = Context(emitter, space)
    if not trial.alike(exp_of(pull(value, space, space.here(), trial))):
        raise NeedsKernel("elements differ")
    context = AlikeContext(emitter, space)
    exp = exp_of(pull(value, space, space.here(), context))
    one = on_host(emitter, context, exp, value.base, "alike", trial.failing)

    def one_at(at: At, context: Context) -> ir.Exp:
        there = one.pull(HOST.here(), context)
        return ir.If(op("==", space.length(at.i), ZERO), identity(operator, value.base), there)

    return Scalar(domain, value.base, one_at)


@dataclass(frozen=True)
class Opened:
    """An apply-to-each whose sources are there: its space, its generators' variables, and the environment with them.
    `in_memory`: some of its elements are."""
    space: Domain
    bound: Values
    env: Values
    in_memory: bool


def opened(t: Translator, exp: mono.Each, env: Values, domain: Domain) -> Opened:
    sources = [sequence(t.value(g.source, env, domain, g.name)) for g in exp.generators]
    t.emitter.origin = exp.origin
    space = common_space(t, sources, domain)
    unequal = [check_length(t, exp, source, space, domain) for source in sources]
    bound = {g.name: elements(t.emitter, source, space, domain, guarded)
             for g, source, guarded in zip(exp.generators, sources, unequal)}
    return Opened(space, bound, {**env, **bound}, any([holds_rows(source, domain) for source in sources]))


def each_of(t: Translator, exp: mono.Each, over: Opened, domain: Domain, hint: str) -> Value:
    space, inner = over.space, over.env
    if exp.filter is None:
        return dense(domain, space, body_value(t, exp.body, inner, space, hint))
    predicate = t.value(exp.filter, inner, space, "keep")
    t.emitter.origin = exp.origin
    if t.purity.pure(exp.body):
        return filter_pure(t, exp.body, predicate, inner, space, domain, hint)
    mentioned = {e.name for e in expressions(exp.body) if isinstance(e, mono.Var)}
    live = {name: value for name, value in over.bound.items() if name in mentioned}
    survivors, packed = filter_live(t, predicate, live, space, domain)
    return dense(domain, survivors, body_value(t, exp.body, {**inner, **packed}, survivors, hint))


def body_value(t: Translator, body: mono.Exp, env: Values, space: Domain, hint: str) -> Value:
    value = t.value(body, env, space, hint)
    return value if isinstance(body, mono.Var) else solid(t.emitter, value, space, hint, light=True)


def common_space(t: Translator, sources: list[Sequence], domain: Domain) -> Domain:
    for source in sources:
        if source.dense and source.home is domain:
            return source.space
    first = sources[0]
    return space_for(t.emitter, domain, lambda at, c: seq_of(pull(first, domain, at, c)).length)


def check_length(t: Translator, exp: mono.Each, source: Sequence, space: Domain, domain: Domain) -> bool:
    """Check that each of the source's sequences is as long as the space's segment, unless that is known. Return whether
    the code that follows may meet unequal lengths before anybody looks at the error."""
    if source.dense and source.home is domain and source.space is space:
        return False
    context: Context = t.emitter.host() if domain is HOST else Context(t.emitter, domain)
    at = domain.here()
    length = seq_of(pull(source, domain, at, context)).length
    expected = space.length(at.i)
    equal = op("==", length, expected)
    if length == expected or (domain is not HOST and context.close(length) == space.lengths):
        return False
    return check_all(t.emitter, domain, context, equal, UNEQUAL, exp.origin)


def filter_pure(t: Translator, body: mono.Exp, predicate: Value, env: Values, space: Domain, domain: Domain,
                hint: str) -> Value:
    """Emit a FILTER whose value thunk is the body."""
    body, env = with_data(t, body, env)
    context = Context(t.emitter, space)
    term = thread(body, env, space, space.here(), context)
    survivors, names = run_filter(t, predicate, context, term, space, domain, hint)
    return dense(domain, survivors, at_survivors(term, survivors, iter(names)))


def filter_live(t: Translator, predicate: Value, live: dict[str, Value], space: Domain,
                domain: Domain) -> tuple[Domain, dict[str, Value]]:
    """Emit a FILTER that packs the variables which the body uses and which belong to the elements themselves."""
    context = Context(t.emitter, space)
    parts: list[tuple[ir.Exp, str]] = []
    for value in live.values():
        own_parts(value, space, context, parts)
    survivors, names = run_filter_parts(t, predicate, context, parts, space, domain, "kept")
    supply = iter(names)
    return survivors, {name: repacked(value, space, survivors, supply) for name, value in live.items()}


def own_parts(value: Value, space: Domain, context: Context, parts: list[tuple[ir.Exp, str]]) -> None:
    match value:
        case Both(first, second):
            own_parts(first, space, context, parts)
            own_parts(second, space, context, parts)
        case Scalar(home) | Sequence(home) if home is space:
            parts += components(pull(value, space, space.here(), context))


def repacked(value: Value, space: Domain, survivors: Domain, names: Iterator[str]) -> Value:
    """Return the value over the survivors; a value from further out is read from there as before."""
    match value:
        case Both(first, second):
            return Both(repacked(first, space, survivors, names), repacked(second, space, survivors, names))
        case Scalar(home, base) if home is space:
            return stored(survivors, next(names), base)
        case Sequence(home) if home is space:
            start, length = next(names), next(names)
            return view(survivors, start, length, value.leaves)
    return value


def run_filter(t: Translator, predicate: Value, context: Context, term: Term, space: Domain, domain: Domain,
               hint: str) -> tuple[Domain, list[str]]:
    return run_filter_parts(t, predicate, context, list(components(term)), space, domain, hint)


def run_filter_parts(t: Translator, predicate: Value, context: Context, parts: list[tuple[ir.Exp, str]], space: Domain,
                     domain: Domain, hint: str) -> tuple[Domain, list[str]]:
    """Emit FILTER over the space; return the survivors' space and the arrays of the parts over it."""
    emitter = t.emitter
    test = Context(emitter, space)
    holds = thunk_of(space, test, [(exp_of(pull(predicate, space, space.here(), test)), "bool")])
    count = emitter.declare("k", "int")
    arrays = context.declare(parts, count.name, hint)
    results = [count, *arrays]
    if not space.is_flat:
        offsets = emitter.declare("offsets", ir.Array("int", domain.size, 1))
        results.append(offsets)
    emitter.run(ir.Filter(thunk_of(space, context, parts), holds, emitter.walked(space)), results)
    survivors = emitter.host_space(count.name) if space.is_flat else emitter.rows(domain, offsets.name, count.name)
    return survivors, [array.name for array in arrays]


def thunk_of(space: Domain, context: Context, parts: list[tuple[ir.Exp, str]]) -> ir.Thunk:
    return scope.thunk(space.params, context.elements(parts))


def at_survivors(term: Term, survivors: Domain, names: Iterator[str]) -> Value:
    """Return the body's value over the survivors, from its arrays."""
    match term:
        case ScalarTerm(_, base):
            return stored(survivors, next(names), base)
        case PairTerm(first, second):
            a = at_survivors(first, survivors, names)
            return Both(a, at_survivors(second, survivors, names))
    start, length = next(names), next(names)
    return view(survivors, start, length, seq_of(term).leaves)
