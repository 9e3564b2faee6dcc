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
from nessie.flatten.ranges.ranges import ANY, SIZE
from nessie.flatten.threads.scalars import identity, monoid, resized
from nessie.flatten.translator import Translator, scalar
from nessie.flatten.values.closed import least_is_known, lengths_at
from nessie.flatten.values.contexts import Context
from nessie.flatten.values.domains import HOST, At, Domain, atom_of, op
from nessie.flatten.values.emitter import NeedsKernel, ReductionMade
from nessie.flatten.values.materialise import parts_up_to, solid, store
from nessie.flatten.values.values import Scalar, Sequence, Value, exp_of, pull, stored
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu.parts import subexpressions
from nessie.lambda_cu.rename import freshen, substitute
from nessie.lambda_cu.spaces.steps import cases, on_host_only

MOST_ROUNDS = 32
FEW, LARGE = 15, 500            # elements that are written out, and nodes that come of them
Find = Callable[[At, Context], ir.Exp]


def in_rounds(t: Translator, operator: str, space: Domain, domain: Domain, hint: str, elements: Callable[[], Value],
              segmented: Callable[[], Value], in_memory: bool) -> Value:
    """Return the reduction of the segments of the space over the domain: in rounds where these are few, else what
    `segmented` makes. `elements` makes the value over the space; `in_memory`: it is an array."""
    if domain is HOST:
        return segmented()
    outer, made, origin = t.asked, t.emitter.made.reductions, t.emitter.origin
    try:
        lengths = rounds_of(t, space, domain, in_memory)
        asked = [] if outer is None else outer
        folded = t.emitter.without_kernels(lambda: fold_of(t, operator, space, lengths, domain, elements, asked))
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
    return (length if isinstance(length, int) else t.emitter.known.get(length, ANY).most) <= MOST_ROUNDS


def fold_of(t: Translator, operator: str, space: Domain, lengths: tuple[ir.Size, ...], domain: Domain,
            elements: Callable[[], Value], asked: list[ir.Size]) -> Scalar:
    """Return the reduction as an expression of the element's thread. `asked`: the lengths that must be short."""
    asked += lengths
    outer, t.asked = t.asked, asked
    try:
        value = scalar(elements())
    finally:
        t.asked = outer
    short = all([is_short(t, length) for length in lengths])
    if len(lengths) == 1 and isinstance(lengths[0], int) and lengths[0] <= FEW:
        found = written_out(t, operator, value, space, lengths[0], domain)
        if found is not None:
            return found

    def folded(at: At, context: Context) -> ir.Exp:
        index, before = t.emitter.fresh("j"), t.emitter.fresh("x")
        count = count_at(space, at.i, t.emitter.names)
        inner = Context(t.emitter, outer=context, rounds=space, index=index, count=count)
        here = element_at(space, at, ir.Var(index), inner)
        body = inner.close(combined(operator, ir.Var(before), exp_of(pull(value, space, here, inner))))
        if not short and reads_rows(body, inner, space, here.i):
            raise NeedsKernel("rows are in memory")
        context.failing |= inner.failing
        return resized(context.let(ir.Fold(index, count, (before,), identity(operator, value.base), body), "sum"),
                       value.base, context)

    return in_thread(domain, value.base, folded, probed(t, domain, folded)[0])


def written_out(t: Translator, operator: str, value: Scalar, space: Domain, length: int,
                domain: Domain) -> Scalar | None:
    """Return the reduction as one expression without a loop, if that is no long one."""
    def reduced(at: At, context: Context) -> ir.Exp:
        result: ir.Exp = identity(operator, value.base)
        for k in range(length):
            found = exp_of(pull(value, space, element_at(space, at, ir.Const(k, "int"), context), context))
            result = combined(operator, result, found)
        return context.let(resized(result, value.base, context), "sum")

    probe, found = probed(t, domain, reduced)
    return None if parts_up_to(probe.close(found), LARGE) > LARGE else in_thread(domain, value.base, reduced, probe)


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


def combined(operator: str, before: ir.Exp, element: ir.Exp) -> ir.Exp:
    both = monoid(operator)
    return substitute(both.body, dict(zip(both.params, (before, element), strict=True)))


def probed(t: Translator, domain: Domain, find: Find) -> tuple[Context, ir.Exp]:
    """Return the value that is found at an element, and the bindings that it takes."""
    probe = Context(t.emitter, domain)
    return probe, find(domain.here(), probe)


def in_thread(domain: Domain, base: str, find: Find, probe: Context) -> Scalar:
    """Return the value that is found, once per index and thunk. Raise NeedsKernel where it can fail, as the probe says:
    failures are told by the elements' own indices."""
    if probe.failing:
        raise NeedsKernel
    return Scalar(domain, base, lambda at, context: context.remember((find, at), lambda: find(at, context)))


def either(t: Translator, lengths: list[ir.Size], folded: Scalar, segmented: Callable[[], Value], domain: Domain,
           hint: str) -> Scalar:
    """Return what one of the two forms makes: the host asks whether all these lengths are short."""
    emitter = t.emitter
    short = functools.reduce(lambda a, b: op("and", a, b),
                             [op("<=", atom_of(length), ir.Const(MOST_ROUNDS, "int")) for length in lengths])
    condition = emitter.host().name(short, "bool", "short")
    rounds, segments = emitter.part(), emitter.part()
    of_rounds = emitter.into(rounds, kept, t, folded, domain, hint)
    of_segments = emitter.into(segments, lambda: kept(t, scalar(segmented()), domain, hint))
    result = emitter.declare(hint, ir.Array(folded.base, domain.size))
    blocks = [ir.Block(tuple(part.statements), (ir.Var(name),))
              for part, name in ((rounds, of_rounds), (segments, of_segments))]
    emitter.emit(ir.Branch((result,), condition, *blocks, origin=emitter.origin))
    return stored(domain, result.name, folded.base)


def kept(t: Translator, value: Scalar, domain: Domain, hint: str) -> str:
    """Return the array over the domain that holds the value."""
    found = solid(t.emitter, value, domain, hint)
    assert isinstance(found, Scalar)
    if found.home is domain and found.name is not None:
        return found.name
    context = Context(t.emitter, domain)
    exp = exp_of(pull(found, domain, domain.here(), context))
    return store(t.emitter, domain, context, [(exp, found.base)], hint)[0]


def holds_rows(source: Sequence, domain: Domain) -> bool:
    """Are the sequences over the domain rows of an array?"""
    leaf = source.leaves[0].value
    return source.dense and source.home is domain and isinstance(leaf, Scalar) and leaf.name is not None
