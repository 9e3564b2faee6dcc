"""Rules for gather and scatter: elements by position, rows as bounds."""
from __future__ import annotations

from nessie.base.widths import wide
from nessie.flatten.ranges.proofs import doubtful
from nessie.flatten.rules.folding import held_wide
from nessie.flatten.rules.permuting import all_scalars, permuted
from nessie.flatten.threads.scalars import monoid, neutral
from nessie.flatten.translator import Translator, both, scalar, sequence
from nessie.flatten.values.contexts import Context, one_or_tuple
from nessie.flatten.values.domains import TRUE, ZERO, At, Domain, inside, op, plus
from nessie.flatten.values.emitter import Emitter
from nessie.flatten.values.materialise import elements, filled, own_element, run_for_errors, solid, store
from nessie.flatten.values.spaces import space_of
from nessie.flatten.values.values import Term, Value, components, delayed, dense, element, exp_of, pull, seq_of
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu import scope
from nessie.mono import nodes as mono

WRITTEN = {"write": "<-", "combine_+": "WRITE_ADD", "combine_max": "WRITE_MAX", "combine_min": "WRITE_MIN"}


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
    """Translate d <- ps, and the writes that combine. Scalars are stored over what d holds, the last of several wins.
    Of sequences the number of the pair is stored that wins the place, and every place is pulled. Where the pairs name
    every place exactly once, none competes (flatten.rules.permuting)."""
    emitter = t.emitter
    target, pairs = map(sequence, values)
    target_space, pair_space = space_of(emitter, target, domain), space_of(emitter, pairs, domain)
    olds = elements(emitter, target, target_space, domain)
    pair = both(elements(emitter, pairs, pair_space, domain))
    at, context = pair_space.here(), Context(emitter, pair_space)
    up = context.climb(pair_space, domain, at)
    ix = context.let(exp_of(pull(pair.first, pair_space, at, context)), "ix")
    moved = None if exp.name != "write" else permuted(emitter, ix, context, pair.second, pair_space, target_space, hint)
    if moved is not None:
        return dense(domain, target_space, moved)
    site = emitter.site(f"Index out of bounds for function {WRITTEN[exp.name]}.", exp.origin)
    nowhere = ir.Let((emitter.fresh("bad"),), ir.Fail(site, "int"), ir.Const(-1, "int"))
    place = plus(target_space.start(up.i), ix)
    condition = doubtful(context.ranges, inside(ix, target_space.length(up.i)))
    if condition != TRUE:
        place = ir.If(condition, place, nowhere)
    index = scope.thunk(pair_space.params, context.elements([(place, "int")]))
    operator = exp.name.removeprefix("combine_") if exp.name != "write" else ""
    if all_scalars(pair.second):
        before = held_before(emitter, olds, target_space, operator, hint)
        written = overwritten(emitter, before, index, pair.second, pair_space, target_space, operator, hint)
        if operator:
            return dense(domain, target_space, held_wide(target_space, written[0], scalar(pair.second).base))
        return dense(domain, target_space, filled(pair.second, target_space, iter(written), {}))
    [winner] = write_all(emitter, (ir.Const(-1, "int"),), index, scope.thunk(pair_space.params, at.i), ("int",),
                         pair_space, target_space, "", "winner")

    def term_at(at: At, context: Context) -> Term:
        source = context.let(ir.Read(winner, at.i), "w")
        return context.branch(op("<=", ZERO, source), lambda c: pull(pair.second, pair_space, At(source), c),
                              lambda c: pull(olds, target_space, at, c))

    value = delayed(target_space, term_at, term_at(target_space.here(), Context(emitter, target_space)))
    return dense(domain, target_space, solid(emitter, value, target_space, hint))


def held_before(emitter: Emitter, olds: Value, space: Domain, operator: str, hint: str) -> tuple[ir.Exp, ...]:
    """Return what each component of the places is before: a constant, or an array over the space."""
    context = Context(emitter, space)
    parts = components_for(operator, pull(olds, space, space.here(), context))
    known = [before_of(exp, base, space, context) for exp, base in parts]
    missing = [part for part, exp in zip(parts, known, strict=True) if exp is None]
    if context.failing and not missing:
        run_for_errors(emitter, space, context)
    made = iter(store(emitter, space, context, missing, hint) if missing else ())
    return tuple([exp or ir.Var(next(made)) for exp in known])


def components_for(operator: str, term: Term) -> list[tuple[ir.Exp, str]]:
    """Return the term's components; what an operator combines is as wide as it is computed with."""
    return [(exp, wide(base) if operator else base) for exp, base in components(term)]


def before_of(exp: ir.Exp, base: str, space: Domain, context: Context) -> ir.Exp | None:
    """Return the constant or the array over the space that gives this; None if it must be computed."""
    exp = context.ranges.defined(exp)
    if isinstance(exp, ir.Const):
        return exp
    array = own_element(exp, space, context)
    if array is None or context.emitter.types[array] != ir.Array(base, space.size):
        return None
    return ir.Var(array)


def overwritten(emitter: Emitter, before: tuple[ir.Exp, ...], index: ir.Thunk, values: Value, space: Domain,
                target: Domain, operator: str, hint: str) -> list[str]:
    """Return the arrays that hold the values where the index puts them, combined by the operator if there is one.
    What is computed from an array that is about to be overwritten is stored first, so that its memory can be used
    again."""
    context = Context(emitter, space)
    parts = components_for(operator, pull(values, space, space.here(), context))
    value = scope.thunk(space.params, context.elements(parts))
    arrays = {exp.name for exp in before if isinstance(exp, ir.Var)}
    bases = tuple([base for _, base in parts])
    if not arrays.isdisjoint((*value.using, *index.using)):
        value, index = (stored_thunk(emitter, thunk, types, space, hint) for thunk, types in
                        ((value, bases), (index, ("int",))))
    return write_all(emitter, before, index, value, bases, space, target, operator, hint)


def stored_thunk(emitter: Emitter, thunk: ir.Thunk, bases: tuple[str, ...], space: Domain, hint: str) -> ir.Thunk:
    """Return the thunk that reads what this one computes, which is stored."""
    results = [emitter.declare(hint, ir.Array(base, space.size)) for base in bases]
    emitter.run(ir.Map(thunk, emitter.walked(space)), results)
    here = space.here().i
    return scope.thunk(space.params, one_or_tuple(tuple([ir.Read(result.name, here) for result in results])))


def write_all(emitter: Emitter, before: tuple[ir.Exp, ...], index: ir.Thunk, value: ir.Thunk, bases: tuple[str, ...],
              space: Domain, target: Domain, operator: str, hint: str) -> list[str]:
    """Emit the PERMUTE in which the last write wins, or the REDUCE_BY_INDEX with the operator; return its arrays over
    the target."""
    results = [emitter.declare(hint, ir.Array(base, target.size)) for base in bases]
    walked = emitter.walked(space)
    if operator:
        soac: ir.Write = ir.ReduceByIndex(value, index, (neutral(operator, bases[0]),), monoid(operator), walked,
                                          target.size, before)
    else:
        soac = ir.Permute(value, index, walked, target.size, before)
    emitter.run(soac, results)
    return [result.name for result in results]
