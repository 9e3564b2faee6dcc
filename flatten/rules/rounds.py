"""Reductions in few rounds stay with their element, as folds of its thread.

    {sum({v[i + j] : j in [0:3]}) : i in index(n)}      MAP { i => fold j < 3 from x = 0.0 in x + v[i + j] using v } (n)

Nothing is stored between, and the MAP fuses as any. It takes rows of one length, or of one but at the border, as those
of a band, and elements that cannot fail and need no kernel of their own. A length that only the run knows is asked for
by the host, and both forms are there: folds for at most MOST_ROUNDS rounds at each level, segments for more. Rows that
are in memory anyhow are segments then.
"""
from __future__ import annotations

import functools
from collections.abc import Callable

from nessie.base.names import Names
from nessie.base.records import dataclass
from nessie.flatten.ranges.ranges import ANY, SIZE, items
from nessie.flatten.threads.scalars import identity, monoid, resized
from nessie.flatten.translator import Translator
from nessie.flatten.values.closed import least_is_known, lengths_at
from nessie.flatten.values.contexts import Context, one_or_tuple
from nessie.flatten.values.domains import HOST, ZERO, At, Domain, atom_of, op
from nessie.flatten.values.emitter import NeedsKernel, ReductionMade
from nessie.flatten.values.materialise import parts_of, parts_up_to, replaced, solid, store
from nessie.flatten.values.values import (
    Scalar,
    ScalarTerm,
    Sequence,
    Term,
    Value,
    components,
    delayed,
    exp_of,
    pull,
    rebuilt,
    stored,
)
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu.parts import subexpressions
from nessie.lambda_cu.rename import freshen, instantiate, substitute
from nessie.lambda_cu.spaces.steps import cases, on_host_only

MOST_ROUNDS = 32
FEW, LARGE = 15, 500            # elements that are written out, and nodes that come of them
Find = Callable[[At, Context], Term]


@dataclass(frozen=True)
class Monoid:
    """What a reduction combines: elements of this shape, each made of a value over a space at a place there, from the
    identity on; and its result, made of theirs over a domain."""
    shape: Term
    identity: tuple[ir.Exp, ...]
    operator: ir.Thunk
    element: Callable[[Value, Domain, At, Context], Term] = pull
    result: Callable[[Value, Domain], Value] = lambda value, over: value


def of_operator(operator: str, base: str) -> Monoid:
    return Monoid(ScalarTerm(ZERO, base), (identity(operator, base),), monoid(operator))


def in_rounds(t: Translator, combines: Callable[[Value], Monoid], space: Domain, domain: Domain, hint: str,
              elements: Callable[[], Value], segmented: Callable[[], Value], in_memory: bool) -> Value:
    """Return the reduction of the segments of the space over the domain: in rounds where these are few, else what
    `segmented` makes. `elements` makes the value over the space, of which `combines` tells the monoid; `in_memory`: it
    is an array."""
    if domain is HOST:
        return segmented()
    outer, made, origin = t.asked, t.emitter.made.reductions, t.emitter.origin
    try:
        lengths = rounds_of(t, space, domain, in_memory)
        asked = [] if outer is None else outer
        folded = t.emitter.without_kernels(lambda: fold_of(t, combines, space, lengths, domain, elements, asked))
    except NeedsKernel as needs:
        if outer is not None:
            raise
        made.append(ReductionMade(origin, "segments", str(needs)))
        return segmented()
    unknown = [length for length in dict.fromkeys(asked) if not is_short(t, length)]
    made.append(ReductionMade(origin, "either" if unknown else "fold"))
    return either(t, unknown, folded, segmented, domain, hint) if outer is None and unknown else folded


def rounds_of(t: Translator, space: Domain, domain: Domain, in_memory: bool) -> tuple[ir.Size, ...]:
    """Return numbers of rounds, the greatest among them, if they may be few; else raise NeedsKernel."""
    if isinstance(space.space, ir.Uniform):
        lengths: tuple[ir.Size, ...] = (space.space.length,)
    elif is_level(t, space, domain):
        assert isinstance(space.space, ir.Closed)
        atoms = lengths_at(t.emitter, domain.size, space.space.terms)
        lengths = tuple([size_of(atom) for atom in atoms])
    else:
        raise NeedsKernel("rows differ in length")
    if all([is_short(t, length) for length in lengths]):
        return lengths
    if any(isinstance(length, int) and not is_short(t, length) for length in lengths):
        raise NeedsKernel(f"there are more than {MOST_ROUNDS} rounds")
    if in_memory:
        raise NeedsKernel("rows are in memory")
    return lengths


def is_level(t: Translator, space: Domain, domain: Domain) -> bool:
    """Have all rows between two places one length, and does the host know the greatest? Rows that only grow have few
    elements where there are few rows."""
    if not isinstance(space.space, ir.Closed) or not domain.is_flat or space.form is None or space.lengths is None:
        return False
    return (least_is_known(space.form, Context(t.emitter, domain).ranges)
            and any(on_host_only(inside) for _, inside in cases(space.form)))


def size_of(atom: ir.Exp) -> ir.Size:
    assert isinstance(atom, ir.Var | ir.Const)
    return atom.name if isinstance(atom, ir.Var) else int(atom.value)


def count_at(space: Domain, segment: ir.Exp, names: Names) -> ir.Exp:
    """Return the number of rounds of a segment, as the program says it: a place has nothing to do with it then."""
    if space.lengths is None or not isinstance(space.space, ir.Closed):
        return space.length(segment)
    return freshen(substitute(space.lengths, {"i": segment}), names)


def is_short(t: Translator, length: ir.Size) -> bool:
    """Are there few rounds, whatever the run?"""
    return (length if isinstance(length, int) else t.emitter.tables.known.get(length, ANY).most) <= MOST_ROUNDS


def fold_of(t: Translator, combines: Callable[[Value], Monoid], space: Domain, lengths: tuple[ir.Size, ...],
            domain: Domain, elements: Callable[[], Value], asked: list[ir.Size]) -> Value:
    """Return the reduction as expressions of the element's thread. `asked`: the lengths that must be short."""
    asked += lengths
    outer, t.asked = t.asked, asked
    try:
        value = elements()
    finally:
        t.asked = outer
    monoid = combines(value)
    short = all([is_short(t, length) for length in lengths])
    if len(lengths) == 1 and isinstance(lengths[0], int) and lengths[0] <= FEW:
        found = written_out(t, monoid, value, space, lengths[0], domain)
        if found is not None:
            return found

    def folded(at: At, context: Context) -> Term:
        index, before = t.emitter.fresh("j"), [t.emitter.fresh("x") for _ in monoid.identity]
        count = count_at(space, at.i, t.emitter.names)
        inner = Context(t.emitter, outer=context, rounds=space, index=index, count=count)
        here = element_at(space, at, ir.Var(index), inner)
        element = [exp for exp, _ in components(monoid.element(value, space, here, inner))]
        body = inner.result(combined(monoid, list(map(ir.Var, before)), element, inner))
        if not short and reads_rows(body, inner, space, here.i):
            raise NeedsKernel("rows are in memory")
        context.failing |= inner.failing
        fold = ir.Fold(index, count, tuple(before), one_or_tuple(monoid.identity), body)
        return reduced(monoid, bound(context, fold, len(before)), context)

    return in_thread(monoid, domain, folded, probed(t, domain, folded)[0])


def written_out(t: Translator, monoid: Monoid, value: Value, space: Domain, length: int,
                domain: Domain) -> Value | None:
    """Return the reduction as expressions without a loop, if these are no long ones."""
    def found_at(at: At, context: Context) -> Term:
        result = list(monoid.identity)
        for k in range(length):
            here = element_at(space, at, ir.Const(k, "int"), context)
            element = [exp for exp, _ in components(monoid.element(value, space, here, context))]
            result = combined(monoid, result, element, context)
        return reduced(monoid, [context.let(exp, "sum") for exp in result], context)

    probe, found = probed(t, domain, found_at)
    whole = probe.result([exp for exp, _ in components(found)])
    return None if parts_up_to(whole, LARGE) > LARGE else in_thread(monoid, domain, found_at, probe)


def reduced(monoid: Monoid, results: list[ir.Exp], context: Context) -> Term:
    """Return what the rounds have made, numbers as narrow as they are."""
    parts = zip(results, components(monoid.shape), strict=True)
    return rebuilt(monoid.shape, iter([resized(exp, base, context) for exp, (_, base) in parts]))


def reads_rows(exp: ir.Exp, context: Context, space: Domain, index: ir.Exp) -> bool:
    """Does the expression read, at the space's index, an array over the space? Segments may make and read it in one
    walk."""
    for part in subexpressions(exp):
        if isinstance(part, ir.Read):
            type_ = context.emitter.types.get(part.array)
            if isinstance(type_, ir.Array) and type_.size == space.size and \
                    context.ranges.form(part.index) == context.ranges.form(index):
                return True
    return False


def element_at(space: Domain, at: At, position: ir.Exp, context: Context) -> At:
    """Return the element at a position of the segment which the domain's element has."""
    start = space.start(at.i)
    context.note(start, lambda: SIZE)
    return at.element(start, position)


def combined(monoid: Monoid, before: list[ir.Exp], element: list[ir.Exp], context: Context) -> list[ir.Exp]:
    """Return what the operator makes of the two, whose lets the context gets."""
    operator = monoid.operator
    if isinstance(operator.body, ir.Op) and operator.body.arguments == tuple(map(ir.Var, operator.params)):
        return [op(operator.body.op, *before, *element)]
    exp = instantiate(operator, (*before, *element), context.emitter.names)
    while isinstance(exp, ir.Let):
        context.bind(exp.names, exp.value)
        exp = exp.body
    found = items(exp, len(before))
    return bound(context, exp, len(before)) if found is None else list(found)


def bound(context: Context, exp: ir.Exp, count: int) -> list[ir.Exp]:
    """Return the expression's items by names."""
    if count == 1:
        return [context.let(exp, "sum")]
    names = tuple([context.emitter.fresh("sum") for _ in range(count)])
    context.bind(names, exp)
    return list(map(ir.Var, names))


def probed(t: Translator, domain: Domain, find: Find) -> tuple[Context, Term]:
    """Return the value that is found at an element, and the bindings that it takes."""
    probe = Context(t.emitter, domain)
    return probe, find(domain.here(), probe)


def in_thread(monoid: Monoid, domain: Domain, find: Find, probe: Context) -> Value:
    """Return the value that is found, once per index and thunk. Raise NeedsKernel where it can fail, as the probe says:
    failures are told by the elements' own indices."""
    if probe.failing:
        raise NeedsKernel
    found = delayed(domain, lambda at, context: context.remember((find, at), lambda: find(at, context)), monoid.shape)
    return monoid.result(found, domain)


def either(t: Translator, lengths: list[ir.Size], folded: Value, segmented: Callable[[], Value], domain: Domain,
           hint: str) -> Value:
    """Return what one of the two forms makes: the host asks whether all these lengths are short."""
    emitter = t.emitter
    short = functools.reduce(lambda a, b: op("and", a, b),
                             [op("<=", atom_of(length), ir.Const(MOST_ROUNDS, "int")) for length in lengths])
    condition = emitter.host().name(short, "bool", "short")
    rounds, segments = emitter.part(), emitter.part()
    of_rounds = emitter.into(rounds, kept, t, folded, domain, hint)
    of_segments = emitter.into(segments, lambda: kept(t, segmented(), domain, hint))
    parts = [part for part in parts_of(folded) if isinstance(part, Scalar)]
    results = tuple([emitter.declare(hint, ir.Array(part.base, domain.size)) for part in parts])
    blocks = [ir.Block(tuple(part.statements), tuple(map(ir.Var, names)))
              for part, names in ((rounds, of_rounds), (segments, of_segments))]
    emitter.emit(ir.Branch(results, condition, *blocks, origin=emitter.origin))
    return replaced(folded, {part: stored(domain, result.name, part.base)
                             for part, result in zip(parts, results, strict=True)})


def kept(t: Translator, value: Value, domain: Domain, hint: str) -> list[str]:
    """Return the arrays over the domain that hold the value's scalars."""
    names = list[str]()
    for part in parts_of(solid(t.emitter, value, domain, hint)):
        assert isinstance(part, Scalar)
        if part.home is domain and part.name is not None:
            names.append(part.name)
            continue
        context = Context(t.emitter, domain)
        exp = exp_of(pull(part, domain, domain.here(), context))
        names += store(t.emitter, domain, context, [(exp, part.base)], hint)
    return names


def holds_rows(source: Sequence, domain: Domain) -> bool:
    """Are the sequences over the domain rows of an array?"""
    leaf = source.leaves[0].value
    return source.dense and source.home is domain and isinstance(leaf, Scalar) and leaf.name is not None
