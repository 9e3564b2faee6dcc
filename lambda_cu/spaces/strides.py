"""How far a thunk's reads move in memory, from one segment to the next and from one element of a segment to the next.

    { (s, j, i) => a[offsets[j] + s] }          offsets: 0 and 1        a: 1 and unknown

None stands for what is unknown: a product of two names, what is read, what differs from one place to another.
"""
from __future__ import annotations

from collections.abc import Iterator, Mapping

from nessie.base.records import dataclass
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu.parts import children

Move = int | None
LINE = 8                        # elements of a line of the cache


@dataclass(frozen=True)
class Stride:
    """How much an int changes, from segment to segment and from element to element."""
    segment: Move = 0
    element: Move = 0

    @property
    def across(self) -> bool:
        """Do segments lie beside each other, and elements apart?"""
        return self.segment == 1 and (self.element is None or abs(self.element) >= LINE)


MOVES = (Stride(1, 0), Stride(0, 1), Stride(None, 1))           # of a segment, a position in it, an index


def strides(thunk: ir.Thunk) -> Iterator[Stride]:
    """Return those of all reads of a thunk that takes a segment, a position in it, and an index, or the last alone;
    before the segment, its indices of outer axes, of which the last moves from segment to segment."""
    outer = len(thunk.params) - len(MOVES)
    moves = (*[Stride()] * (outer - 1), *[Stride(1, 0)] * (outer > 0), *MOVES)
    known = dict(zip(thunk.params, moves[-len(thunk.params):], strict=True))
    return reads(thunk.body, known)


def reads(exp: ir.Exp, known: Mapping[str, Stride]) -> Iterator[Stride]:
    if isinstance(exp, ir.Let):
        yield from reads(exp.value, known)
        values = exp.value.items if isinstance(exp.value, ir.Tuple) else (exp.value,)
        if len(values) == len(exp.names):
            bound = [stride(value, known) for value in values]
        else:
            bound = [lost([exp.value], known)] * len(exp.names)
        yield from reads(exp.body, {**known, **dict(zip(exp.names, bound, strict=True))})
        return
    if isinstance(exp, ir.Read):
        yield stride(exp.index, known)
    if isinstance(exp, ir.Fold):
        known = {**known, exp.index: Stride(None, None), **dict.fromkeys(exp.names, Stride(None, None))}
    for child in children(exp):
        yield from reads(child, known)


def stride(exp: ir.Exp, known: Mapping[str, Stride]) -> Stride:
    match exp:
        case ir.Var(name):
            return known.get(name, Stride())
        case ir.Op("+" | "-" as sign, (a, b)):
            one, other = stride(a, known), stride(b, known)
            by = 1 if sign == "+" else -1
            return Stride(moved(one.segment, other.segment, by), moved(one.element, other.element, by))
        case ir.Op("*", (ir.Const(factor), a)) | ir.Op("*", (a, ir.Const(factor))) if isinstance(factor, int):
            one = stride(a, known)
            return Stride(times(one.segment, factor), times(one.element, factor))
        case ir.Op("min" | "max", (a, b)):
            one, other = stride(a, known), stride(b, known)
            return Stride(nearest(one.segment, other.segment), nearest(one.element, other.element))
    return lost(children(exp), known)


def moved(one: Move, other: Move, by: int) -> Move:
    return None if one is None or other is None else one + by * other


def nearest(one: Move, other: Move) -> Move:
    """Of two values, one of which is taken: what is fixed is taken at a border only."""
    if 0 in (one, other):
        return one or other
    return one if one == other else None


def times(one: Move, factor: int) -> Move:
    return None if one is None else one * factor


def lost(exps: list[ir.Exp] | tuple[ir.Exp, ...], known: Mapping[str, Stride]) -> Stride:
    """What is computed of these stays as it is where all of them do."""
    found = [stride(exp, known) for exp in exps]
    return Stride(*[0 if all(getattr(one, side) == 0 for one in found) else None for side in ("segment", "element")])
