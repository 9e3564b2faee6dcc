"""Rules for reductions and scans by a function of the program: one REDUCE or SCAN, of which it is the operator.

The function must be one of scalars or tuples of them, and not able to fail. Else the fold stays the function that the
library has for it, which combines neighbours in rounds: so the same call fails on every target.

What a fold begins with need be no identity: walks begin anywhere. Unless it is known to be one, elements say whether
there are any. Captured values that differ between sequences are carried beside them.

    { (p, x, y), (q, z, w) => if p and q then (true, g(x, z), y) else if p then (p, x, y) else (q, z, w) }
"""
from __future__ import annotations

from collections.abc import Callable, Iterator

from nessie.base.types import BOOL, is_scalars
from nessie.base.widths import wide
from nessie.flatten.rules.folding import held_wide
from nessie.flatten.rules.rounds import Monoid
from nessie.flatten.threads.thread import nothing, thread
from nessie.flatten.translator import Translator, sequence
from nessie.flatten.values.contexts import Context
from nessie.flatten.values.domains import HOST, TRUE, At, Domain, op
from nessie.flatten.values.materialise import elements, from_host_term
from nessie.flatten.values.spaces import space_of
from nessie.flatten.values.values import (
    Both,
    PairTerm,
    ScalarTerm,
    SeqTerm,
    Sequence,
    Term,
    Value,
    components,
    delayed,
    dense,
    exp_of,
    pull,
    rebuilt,
)
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu import ops, scope
from nessie.lambda_cu.parts import subexpressions
from nessie.mono import nodes as mono
from nessie.mono.node_types import element_place

Combine = Callable[[Term, Term, Context], Term]


def fold(t: Translator, function: mono.Function, arguments: list[Value | None], domain: Domain, hint: str,
         reduction: Callable[[Monoid], Value | None]) -> Value | None:
    """Return what the function's fold comes to, by a combinator; None where its operator allows none. The sequence may
    be missing: `reduction` tells then what its elements come to."""
    assert function.fold is not None
    operator = t.functions[function.fold.operator]
    place = element_place(function, operator)
    takes = [p.type for p in operator.parameters]
    if place is None or operator.name not in t.purity.thread_level or not all(map(is_scalars, takes)):
        return None
    source, others = arguments[place + 1], (arguments[place], *arguments[:place], *arguments[place + 2:])
    identity, *captured = [value for value in others if value is not None]
    sites = dict(t.emitter.sites)
    known = [known_to_host(t, value, domain) for value in (identity, *captured)]
    monoid = None
    if all([term is not None for term in known]):
        first, *given = [term for term in known if term is not None]
        monoid = plain(t, operator, place, given, first)
        if not function.fold.neutral and not is_neutral(monoid):
            monoid = None
    monoid = monoid or marked(t, operator, place, captured, known[1:], identity)
    if may_fail(t, monoid.operator.body):
        t.emitter.sites = sites
        return None
    if source is None:
        return reduction(monoid)
    if function.fold.form == "reduce":
        return total(t, monoid, sequence(source), domain, hint)
    space = space_of(t.emitter, sequence(source), domain)
    value = elements(t.emitter, sequence(source), space, domain)
    scanned = dense(domain, space, combined(t, monoid, ir.Scan, value, space, space, hint))
    return Both(scanned, combined(t, monoid, ir.Reduce, value, space, domain, hint))


def total(t: Translator, monoid: Monoid, source: Sequence, domain: Domain, hint: str) -> Value:
    """Return what the elements of each sequence over the domain come to."""
    space = space_of(t.emitter, source, domain)
    value = elements(t.emitter, source, space, domain)
    return combined(t, monoid, ir.Reduce, value, space, domain, hint)


def may_fail(t: Translator, exp: ir.Exp) -> bool:
    """May the expression fail, or a function that it calls, other than by recursion that goes too deep?"""
    bodies = {f.name: f.body for f in t.emitter.scalar_functions}
    waiting, seen = [exp], set[str]()
    while waiting:
        for part in subexpressions(waiting.pop()):
            if isinstance(part, ir.Fail):
                return True
            if isinstance(part, ir.CallScalar) and part.function not in seen:
                seen.add(part.function)
                waiting.append(bodies[part.function])
    return False


def combined(t: Translator, monoid: Monoid, soac: type[ir.Reduce] | type[ir.Scan], value: Value, space: Domain,
             over: Domain, hint: str) -> Value:
    """Emit the combinator over the elements; its results are over the same space, or that of the sequences."""
    context = Context(t.emitter, space)
    body = context.result([exp for exp, _ in components(monoid.element(value, space, space.here(), context))])
    bases = [base for _, base in components(monoid.shape)]
    results = [t.emitter.declare(hint, wide(base) if over is HOST else ir.Array(wide(base), over.size))
               for base in bases]
    t.emitter.run(soac(scope.thunk(space.params, body), monoid.identity, monoid.operator, t.emitter.walked(space)),
                  results)
    return monoid.result(named(monoid.shape, over, iter([result.name for result in results])), over)


def named(shape: Term, home: Domain, names: Iterator[str]) -> Value:
    """Return the value of this shape that these arrays over the home, or host scalars, hold."""
    match shape:
        case ScalarTerm(_, base):
            return held_wide(home, next(names), base)
        case PairTerm(first, second):
            value = named(first, home, names)
            return Both(value, named(second, home, names))
        case SeqTerm():
            raise TypeError(shape)


def made(t: Translator, shape: Term, combine: Combine) -> ir.Thunk:
    """Return the operator that combines two elements of this shape."""
    names = [[t.emitter.fresh(hint) for _ in components(shape)] for hint in ("a", "b")]
    context = Context(t.emitter)
    left, right = [rebuilt(shape, iter([ir.Var(name) for name in side])) for side in names]
    body = context.result([exp for exp, _ in components(combine(left, right, context))])
    return scope.thunk((*names[0], *names[1]), body)


def known_to_host(t: Translator, value: Value, domain: Domain) -> Term | None:
    """Return the value in terms of constants and scalars of the host; None if it is another for each element."""
    context = Context(t.emitter, domain)
    term = pull(value, domain, domain.here(), context)
    for exp, _ in components(term):
        for part in subexpressions(exp):
            known = part.name in t.emitter.types if isinstance(part, ir.Var) else isinstance(part, ir.Const | ir.Op)
            if not known:
                return None
    return None if context.bindings else term


def applied(function: mono.Function, place: int, captured: list[Term], left: Term, right: Term,
            context: Context) -> Term:
    """Return what the function makes of two elements, which are its parameters from `place` on."""
    given = [*captured[:place], left, right, *captured[place:]]
    env = {p.name: term for p, term in zip(function.parameters, given, strict=True)}
    return thread(function.body, env, HOST, HOST.here(), context)


def is_neutral(monoid: Monoid) -> bool:
    """Is the identity that of operators which have one?"""
    operator, count = monoid.operator, len(monoid.identity)
    body = operator.body.items if isinstance(operator.body, ir.Tuple) else (operator.body,)
    sides = zip(operator.params[:count], operator.params[count:])
    return all(isinstance(exp, ir.Op) and exp.arguments in ((ir.Var(a), ir.Var(b)), (ir.Var(b), ir.Var(a)))
               and isinstance(unit, ir.Const) and unit.value == ops.OPS[exp.op].unit.get(unit.type)
               for exp, unit, (a, b) in zip(body, monoid.identity, sides, strict=True))


def plain(t: Translator, function: mono.Function, place: int, captured: list[Term], identity: Term) -> Monoid:
    """Return the monoid of a function that is the same for all elements, with its identity."""
    shape = nothing(function.result)
    operator = made(t, shape, lambda left, right, context: applied(function, place, captured, left, right, context))
    return Monoid(shape, tuple([exp for exp, _ in components(identity)]), operator)


def marked(t: Translator, function: mono.Function, place: int, captured: list[Value], known: list[Term | None],
           first: Value) -> Monoid:
    """Return the monoid whose elements say whether there are any, and have the captured values that the host does not
    know. Results have what comes first in front of them."""
    bare = nothing(function.result)
    types = [p.type for p in function.parameters]
    own = [nothing(type_) for type_, term in zip(types[:place] + types[place + 2:], known, strict=True) if term is None]
    shape, count = listed([nothing(BOOL), bare, *own]), 2 + len(own)

    def function_of(carried: list[Term], left: Term, right: Term, context: Context) -> Term:
        rest = iter(carried)
        given = [next(rest) if term is None else term for term in known]
        return applied(function, place, given, left, right, context)

    def combine(left: Term, right: Term, context: Context) -> Term:
        (there, one, *carried), (also, other, *_) = unlisted(left, count), unlisted(right, count)

        def both(inner: Context) -> Term:
            return listed([there, function_of(carried, one, other, inner), *carried])

        return context.branch(op("and", exp_of(there), exp_of(also)), both,
                              lambda inner: inner.branch(exp_of(there), lambda c: left, lambda c: right))

    def element(value: Value, space: Domain, at: At, context: Context) -> Term:
        carried = [part for part, term in zip(captured, known) if term is None]
        return listed([ScalarTerm(TRUE, "bool"), *[pull(part, space, at, context) for part in (value, *carried)]])

    def result(value: Value, over: Domain) -> Value:
        def term_at(at: At, context: Context) -> Term:
            there, found, *carried = unlisted(pull(value, over, at, context), count)
            before = pull(first, over, at, context)
            return context.branch(exp_of(there), lambda inner: function_of(carried, before, found, inner),
                                  lambda inner: before)
        if over is HOST:
            return from_host_term(t.emitter, term_at(HOST.here(), t.emitter.host()), "a")
        return delayed(over, term_at, bare)

    return Monoid(shape, tuple([exp for exp, _ in components(shape)]), made(t, shape, combine), element, result)


def listed(terms: list[Term]) -> Term:
    """Return the tuple of the terms."""
    return terms[0] if len(terms) == 1 else PairTerm(terms[0], listed(terms[1:]))


def unlisted(term: Term, count: int) -> list[Term]:
    """Return the terms of a tuple of so many."""
    if count == 1:
        return [term]
    assert isinstance(term, PairTerm)
    return [term.first, *unlisted(term.second, count - 1)]
