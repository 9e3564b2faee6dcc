"""Proofs that an index lies in the row of the segment at which a thunk runs.

    offsets[s] + k,  s*m + k,  (i - j) + k        where 0 <= k < the length of row s

k is the own position j, the length less one less j, 0, a remainder by the length, or what a condition around the read
compares with 0 and the length. A row at which a thunk runs for an element has elements; at a segment that has to be
tested, too.
"""
from __future__ import annotations

from collections.abc import Iterator, Mapping

from nessie.base.records import dataclass
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu.parts import children
from nessie.lambda_cu.scope import binds
from nessie.lambda_cu.spaces.closed import ONE
from nessie.lambda_cu.spaces.segments import length_at, start_at

ZERO = ir.Const(0, "int")


@dataclass(frozen=True)
class Index:
    """Where an array is read: an expression without lets, and the conditions that hold there."""
    array: str
    exp: ir.Exp
    holds: frozenset[ir.Exp]


def indices(exp: ir.Exp, known: Mapping[str, ir.Exp] | None = None,
            holds: frozenset[ir.Exp] = frozenset()) -> Iterator[Index]:
    """Yield the reads in an expression, each with its index. What a fold binds, or a let of several, stays a name."""
    known = known or {}
    match exp:
        case ir.Let((name,), value, body):
            yield from indices(value, known, holds)
            yield from indices(body, {**known, name: resolved(value, known)}, holds)
            return
        case ir.If(condition, then, orelse):
            test = resolved(condition, known)
            yield from indices(condition, known, holds)
            yield from indices(then, known, holds | conjuncts(test))
            yield from indices(orelse, known, holds)
            return
        case ir.Read(array, index):
            yield Index(array, resolved(index, known), holds)
    inner = {name: value for name, value in known.items() if name not in binds(exp)}
    for part in children(exp):
        yield from indices(part, inner, holds)


def resolved(exp: ir.Exp, known: Mapping[str, ir.Exp]) -> ir.Exp:
    """The expression with lets of one name put where they are used; of a checked value it is that value."""
    match exp:
        case ir.Var(name):
            return known.get(name, exp)
        case ir.Let((name,), value, body):
            return resolved(body, {**known, name: resolved(value, known)})
        case ir.Op(name, arguments):
            return ir.Op(name, tuple([resolved(part, known) for part in arguments]))
        case ir.Read(array, index):
            return ir.Read(array, resolved(index, known))
    return exp


def conjuncts(test: ir.Exp) -> frozenset[ir.Exp]:
    match test:
        case ir.Op("and", (left, right)):
            return conjuncts(left) | conjuncts(right)
    return frozenset((test,))


def segment_of(params: tuple[str, ...]) -> ir.Var:
    """The segment's number among the parameters of a thunk."""
    return ir.Var(params[-3] if len(params) > 1 else params[0])


def in_own_row(index: Index, params: tuple[str, ...], root: ir.Segmented) -> bool:
    """`params`: those of the thunk: (.., s, j, i) at an element, (s) at a segment."""
    segment, at_element = segment_of(params), len(params) > 1
    length, starts = length_at(root, segment), [start_at(root, segment), times(root, segment)]
    if at_element:
        position, own = map(ir.Var, params[-2:])
        if index.exp == own:
            return True
        starts.append(ir.Op("-", (own, position)))
    for start in starts:
        for place in places(index.exp, start):
            if within(place, length, ir.Var(params[-2]) if at_element else None, index.holds):
                return True
    return False


def times(root: ir.Segmented, segment: ir.Exp) -> ir.Exp | None:
    if not isinstance(root, ir.Uniform):
        return None
    size = ir.Const(root.length, "int") if isinstance(root.length, int) else ir.Var(root.length)
    return ir.Op("*", (size, segment))


def places(exp: ir.Exp, start: ir.Exp | None) -> Iterator[ir.Exp]:
    """What is added to the start of the row."""
    if exp == start:
        yield ZERO
    match exp:
        case ir.Op("+", (left, right)) if start in (left, right):
            yield right if left == start else left


def within(place: ir.Exp, length: ir.Exp, position: ir.Exp | None, holds: frozenset[ir.Exp]) -> bool:
    """Is it at least 0, and less than the length?"""
    some = position is not None or ir.Op("<", (ZERO, length)) in holds
    last = ir.Op("-", (length, ONE))
    if place == position or (some and place in (ZERO, last)):
        return True
    match place:
        case ir.Op("-", (before, at)) if before == last and at == position and position is not None:
            return True
        case ir.Op("mod", (_, by)) if some and by == length:
            return True
    low = ir.Op("<=", (ZERO, place)) in holds or ir.Op(">=", (place, ZERO)) in holds
    return low and (ir.Op("<", (place, length)) in holds or ir.Op(">", (length, place)) in holds)
