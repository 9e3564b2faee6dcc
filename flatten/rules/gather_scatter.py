"""Rules for gather and scatter: elements by position, rows as bounds."""
from __future__ import annotations

from nessie.flatten.ranges.proofs import doubtful
from nessie.flatten.rules.permuting import permuted
from nessie.flatten.translator import Translator, both, scalar, sequence
from nessie.flatten.values.contexts import Context
from nessie.flatten.values.domains import TRUE, ZERO, At, Domain, inside, op, plus
from nessie.flatten.values.materialise import elements, solid
from nessie.flatten.values.spaces import space_of
from nessie.flatten.values.values import Term, Value, delayed, dense, element, exp_of, pull, seq_of
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu import scope
from nessie.mono import nodes as mono


def get(t: Translator, exp: mono.Prim, values: list[Value], domain: Domain, hint: str) -> Value:
    """Translate v -> i."""
    source, indices = map(sequence, values)
    space = space_of(t.emitter, indices, domain)
    index = scalar(elements(t.emitter, indices, space, domain))

    def term_at(at: At, context: Context) -> Term:
        bounds = seq_of(pull(source, domain, context.climb(space, domain, at), context))
        ix = context.let(exp_of(pull(index, space, at, context)), "ix")
        return context.guard(inside(ix, bounds.length), lambda c: element(bounds.leaves, plus(bounds.start, ix), c),
                             "Index out of bounds for function ->.", exp.origin)

    value = delayed(space, term_at, term_at(space.here(), Context(t.emitter, space)))
    return dense(domain, space, solid(t.emitter, value, space, hint))


def write(t: Translator, exp: mono.Prim, values: list[Value], domain: Domain, hint: str) -> Value:
    """Translate d <- ps. The greatest position among the pairs that name a place wins it; then every place is pulled.
    This one rule serves every type, and the last write wins whatever the order of execution. Where the pairs name every
    place exactly once, no such contest is needed (flatten.rules.permuting)."""
    emitter = t.emitter
    target, pairs = map(sequence, values)
    target_space, pair_space = space_of(emitter, target, domain), space_of(emitter, pairs, domain)
    olds = elements(emitter, target, target_space, domain)
    pair = both(elements(emitter, pairs, pair_space, domain))
    at, context = pair_space.here(), Context(emitter, pair_space)
    up = context.climb(pair_space, domain, at)
    ix = context.let(exp_of(pull(pair.first, pair_space, at, context)), "ix")
    moved = permuted(emitter, ix, context, pair.second, pair_space, target_space, hint)
    if moved is not None:
        return dense(domain, target_space, moved)
    site = emitter.site("Index out of bounds for function <-.", exp.origin)
    nowhere = ir.Let((emitter.fresh("bad"),), ir.Fail(site, "int"), ir.Const(-1, "int"))
    place = plus(target_space.start(up.i), ix)
    condition = doubtful(context.ranges, inside(ix, target_space.length(up.i)))
    if condition != TRUE:
        place = ir.If(condition, place, nowhere)
    winner = emitter.declare("winner", ir.Array("int", target_space.size))
    number, target_of = (scope.thunk(pair_space.params, body) for body in (at.i, context.result([place])))
    emitter.run(ir.Permute(number, target_of, emitter.walked(pair_space), target_space.size, (ir.Const(-1, "int"),),
                           "max"), [winner])

    def term_at(at: At, context: Context) -> Term:
        source = context.let(ir.Read(winner.name, at.i), "w")
        return context.branch(op("<=", ZERO, source), lambda c: pull(pair.second, pair_space, At(source), c),
                              lambda c: pull(olds, target_space, at, c))

    value = delayed(target_space, term_at, term_at(target_space.here(), Context(emitter, target_space)))
    return dense(domain, target_space, solid(emitter, value, target_space, hint))
