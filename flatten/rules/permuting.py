"""Rules for writes by known bijections: every place is written exactly once, so no write competes and none can miss.

    p = ORDER .. n                               permutes the positions of its space within each segment
    q = PERMUTE {i => i} {i => p[i]} n all       is the inverse of p, as p is that of q
    n - 1 - i, and i                             are their own inverses

PERMUTE-PERMUTE, where d has as many elements as there are pairs:

    d <- {(p[i], x[i])}     ==>     {i => x[q[i]]}                          the inverse q is known: a gather
                            ==>     PERMUTE {i => x[i]} {i => p[i]} n       else, if the x are scalars
                            ==>     q = PERMUTE {i => i} {i => p[i]} n, and the gather

So permute(v, rank(w)) gathers by the order of w, and one permutation after another is a gather of a gather, which
schedule.pull makes one.

The rules are sound after failures elsewhere, too: an ORDER is a permutation whatever its keys are. Two sizes are equal
if they are the same name or the host has found them equal (flatten.ranges.ranges says why this is reliable).
"""
from __future__ import annotations

from collections.abc import Callable

from nessie.base.records import dataclass
from nessie.flatten.ranges.proofs import holds
from nessie.flatten.ranges.ranges import index_below
from nessie.flatten.values.contexts import Context
from nessie.flatten.values.domains import HOST, ONE, At, Domain, atom_of, minus, op, plus
from nessie.flatten.values.emitter import Emitter
from nessie.flatten.values.materialise import filled, solid
from nessie.flatten.values.values import Both, Scalar, Term, Value, components, delayed, pull, zero_at
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu import scope

INT = "int"
SourceOf = Callable[[At, Context], At]


@dataclass(frozen=True)
class Bijection:
    """A bijection of the positions of a space. `place`: the flat index to which an element goes. `array`: the array
    that holds these indices, if there is one. `source`: the element that comes to an index, if the inverse is known."""
    place: ir.Exp
    array: str = ""
    source: SourceOf | None = None


def permuted(emitter: Emitter, position: ir.Exp, context: Context, values: Value, space: Domain, target: Domain,
             hint: str) -> Value | None:
    """Return the elements of the target after those of the space have gone to these positions in their segments; None
    where it is not known that this fills the target. `context` is where the position is computed."""
    if context.failing or not same_bounds(emitter, space, target):
        return None
    found = bijection(emitter, position, context, space)
    if found is None:
        return None
    source = found.source
    if source is None:
        parts = components(pull(values, space, space.here(), context))
        if all_scalars(values) and not any(is_position(exp, context, space) for exp, _ in parts):
            return filled(values, target, iter(scatter(emitter, found, context, parts, space, target, hint)), {})
        source = by_array(inverse(emitter, found, context, space, target))

    def term_at(at: At, c: Context) -> Term:
        return pull(values, space, source(at, c), c)

    value = delayed(target, term_at, term_at(target.here(), Context(emitter, target)))
    return solid(emitter, value, target, hint, light=True)


def same_bounds(emitter: Emitter, space: Domain, target: Domain) -> bool:
    """Do both have the same number of elements, segment by segment?"""
    if space is target or space.parent is not HOST or target.parent is not HOST:
        return space is target
    return holds(emitter.host().ranges, op("==", atom_of(space.size), atom_of(target.size)))


def all_scalars(value: Value) -> bool:
    return isinstance(value, Scalar) or (isinstance(value, Both)
                                         and all_scalars(value.first) and all_scalars(value.second))


def is_position(exp: ir.Exp, context: Context, space: Domain) -> bool:
    return context.ranges.defined(exp) == context.within(space, space.here())


# Finding a bijection ----------------------------------------------------------------------------


def bijection(emitter: Emitter, position: ir.Exp, context: Context, space: Domain) -> Bijection | None:
    """Return the bijection that takes each element of the space to this position in its segment."""
    at = space.here()
    start, length = bounds(space, at, context)
    ranges = context.ranges
    array = held_positions(ranges.defined, position, start, space)
    if array is not None and emitter.permutations.get(array) is space:
        known = emitter.tables.inverses.get(array)
        return Bijection(ir.Read(array, at.i), array, by_array(known) if known else None)
    own = context.within(space, at)
    if ranges.form(position) == ranges.form(own):
        return Bijection(at.i, source=lambda at, c: at)
    if ranges.form(position) == ranges.form(turned(own, length)):
        return Bijection(plus(start, position), source=reversal(space))
    return None


def held_positions(defined: Callable[[ir.Exp], ir.Exp], position: ir.Exp, start: ir.Exp, space: Domain) -> str | None:
    """Return the array of flat indices from which the positions come."""
    position = defined(position)
    if space.parent is not HOST:
        if not isinstance(position, ir.Op) or position.op != "-" or position.arguments[1] != start:
            return None
        position = defined(position.arguments[0])
    return position.array if isinstance(position, ir.Read) and position.index == space.here().i else None


def bounds(space: Domain, at: At, context: Context) -> tuple[ir.Exp, ir.Exp]:
    """Return the start and length of the element's segment."""
    assert space.parent is not None
    segment = context.climb(space, space.parent, at).i
    return space.start(segment), space.length(segment)


def turned(position: ir.Exp, length: ir.Exp) -> ir.Exp:
    """Return the position counted from the other end."""
    return minus(minus(length, ONE), position)


def reversal(space: Domain) -> SourceOf:
    def source(at: At, context: Context) -> At:
        start, length = bounds(space, at, context)
        position = turned(context.within(space, at), length)
        context.note(position, lambda: index_below(context.ranges.form(length)))
        return At(plus(start, position), at.s, None if at.j is None else position)
    return source


def by_array(inverse: str) -> SourceOf:
    return lambda at, context: At(context.let(ir.Read(inverse, at.i), "w"), at.s)


# Applying it ------------------------------------------------------------------------------------


def scatter(emitter: Emitter, found: Bijection, context: Context, parts: list[tuple[ir.Exp, str]], space: Domain,
            target: Domain, hint: str) -> list[str]:
    """Emit one PERMUTE of all these parts; return their arrays over the target."""
    results = [emitter.declare(hint, ir.Array(base, target.size)) for _, base in parts]
    value, index = (scope.thunk(space.params, context.elements(given)) for given in (parts, [(found.place, INT)]))
    nothing = tuple(zero_at(base) for _, base in parts)
    emitter.run(ir.Permute(value, index, emitter.walked(space), target.size, nothing, "all"), results)
    return [result.name for result in results]


def inverse(emitter: Emitter, found: Bijection, context: Context, space: Domain, target: Domain) -> str:
    """Return the array that gives, for each index of the target, the index that comes to it."""
    (result,) = scatter(emitter, found, context, [(space.here().i, INT)], space, target, "from")
    emitter.permute(result, target)
    emitter.tables.inverses[found.array], emitter.tables.inverses[result] = result, found.array
    return result
