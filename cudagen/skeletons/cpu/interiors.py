"""Walks elements in three parts: the border before the interior, the interior, the border behind it.

    int from = max(low, 1), to = max(from, min(high, n - 1));           the interior's range, within the elements here
    for (part = 0; part < parts; part += 1) {                           one, if there is no interior; else three
      if (part == 1) { for (i = from; i < to; i += 1) { ... } }         no decision about where the element is
      else { for (i = part == 0 ? low : to; i < (part == 0 ? from : high); i += 1) { ... as it was ... } }
    }

So the order of elements stays, and code is there twice, not three times (lambda_cu.borders). Of a segment, the range is
computed where the segment begins, if it is one of the interior's rows; few elements are not worth that.
"""
from __future__ import annotations

from collections.abc import Callable

from nessie.base.records import dataclass
from nessie.cudagen.kernels.code import integer, op
from nessie.cudagen.loops import nodes as loops
from nessie.cudagen.skeletons.elements import Sweep
from nessie.cudagen.skeletons.interiors import bounds, extreme, interiors, loop, outer_ranges

FEW = 10                        # elements that are not worth an interior


@dataclass(frozen=True)
class Inner:
    """The interior: from one element to before another, and how many parts there are with it."""
    first: loops.Exp
    beyond: loops.Exp
    parts: loops.Exp


def inner_range(run: Sweep, low: loops.Exp, high: loops.Exp, segment: loops.Exp | None,
                start: loops.Exp | None) -> Inner | None:
    """The interior among the elements from low to before high, names or constants; None: there is none."""
    code, found = run.code, interiors(run)
    if not found:
        return None
    first, beyond = [code.var(name, "int", high) for name in ("from", "to")]
    parts = code.var("parts", "int", integer(1))
    with code.block() as long:
        holds: loops.Exp = loops.Const(True, "bool")
        for interior in found:
            if interior.rows is None or segment is None:
                continue
            indices = run.axes_at(segment) if run.axes else (segment,)
            for (begin, end), index in zip(outer_ranges(run, interior), indices, strict=True):
                holds = op("and", holds, op("and", op("<=", begin, index), op("<", index, end)))
        with code.block() as inside:
            lows, highs = bounds(run, [interior.range for interior in found], segment, start)
            code.add(loops.Set(first, op("min", extreme("max", [low, *lows]), high)))
            code.add(loops.Set(beyond, op("max", loops.Name(first), extreme("min", [high, *highs]))))
            code.add(loops.Set(parts, integer(3)))
        if segment is None:
            code.statements += inside
        else:
            code.add(loops.If(holds, tuple(inside)))
    code.add(loops.If(op("<=", op("+", low, integer(FEW)), high), tuple(long)))
    return Inner(loops.Name(first), loops.Name(beyond), loops.Name(parts))


def in_parts(run: Sweep, low: loops.Exp, high: loops.Exp, inner: Inner | None, hint: str,
             write: Callable[[loops.Exp], None], step: int = 1) -> None:
    """The loop over the elements. `write` writes its body for an index."""
    if inner is None:
        if whole := loop(run, low, high, hint, write, step):
            run.code.add(whole)
        return
    code, part = run.code, loops.Name(run.code.fresh("part"))
    before = op("==", part, integer(0))
    border = loop(run, op("select", before, low, inner.beyond), op("select", before, inner.first, high), hint, write,
                  step)
    run.inside = True
    within = loop(run, inner.first, inner.beyond, hint, write, step)
    run.inside = False
    if within and border:
        code.add(loops.For(part.name, integer(0), inner.parts, (
            loops.If(op("==", part, integer(1)), (within,), (border,)),)))
