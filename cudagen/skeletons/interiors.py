"""Where the interior of a walk lies (lambda_cu.borders), and how threads of the GPU walk it.

Of the elements of a flat space that a thread is about to walk, it asks whether all are in the interior:

    int from = 1, to = n - 1;                               once a thread
    for (i = thread; i < n; i += threads) {
      if (from <= i && i < to) { ... }                      no decision about where the element is
      else { ... as it was ... }
    }

Threads of a warp have neighbouring elements, so all but the few warps at the border do one or the other. Of segments,
neighbours lie in different ones, which begin anywhere: there all is walked as it was.
"""
from __future__ import annotations

from collections.abc import Callable
from functools import reduce

from nessie.cudagen.kernels.code import Value, integer, op
from nessie.cudagen.kernels.thunks import apply
from nessie.cudagen.kernels.walk import ROOT
from nessie.cudagen.loops import nodes as loops
from nessie.cudagen.skeletons.elements import Sweep
from nessie.lambda_cu import nodes as ir

Range = tuple[loops.Exp, loops.Exp]                 # from one element on, before another


def interiors(run: Sweep) -> list[ir.Interior]:
    """Those of the bindings at elements."""
    soacs = [step.bind.soac for step in run.walk.at(ROOT) if step.name in run.active]
    return [soac.interior for soac in soacs if isinstance(soac, ir.Map | ir.Reduce) and soac.interior is not None]


def bounds(run: Sweep, found: list[ir.Interior], segment: loops.Exp | None = None, start: loops.Exp | None = None
           ) -> tuple[list[loops.Exp], list[loops.Exp]]:
    """From which elements on the interiors lie, and before which; of a segment, which begins at `start`."""
    given = () if segment is None else (Value(segment, "int"),)
    pairs = [apply(run.code, run.tables, interior.range, given) for interior in found]
    return [moved(begin.exp, start) for begin, _ in pairs], [moved(end.exp, start) for _, end in pairs]


def extreme(name: str, exps: list[loops.Exp]) -> loops.Exp:
    return reduce(lambda a, b: op(name, a, b), exps)


def moved(place: loops.Exp, start: loops.Exp | None) -> loops.Exp:
    return place if start is None else op("+", start, place)


def flat_interior(run: Sweep) -> Range | None:
    """Where all interiors of a flat space lie, under names; None: there is none."""
    found = interiors(run)
    if not found:
        return None
    lows, highs = bounds(run, found)
    return run.code.let_int("from", extreme("max", lows)), run.code.let_int("to", extreme("min", highs))


def inside_or_not(run: Sweep, inner: Range | None, first: loops.Exp, last: loops.Exp,
                  write: Callable[[], None]) -> None:
    """What is written for the elements from the first to the last: for all in the interior, and for any."""
    if inner is None:
        write()
        return
    run.inside = True
    with run.code.block() as within:
        write()
    run.inside = False
    with run.code.block() as anywhere:
        write()
    lies = op("and", op("<=", inner[0], first), op("<", last, inner[1]))
    run.code.add(loops.If(lies, tuple(within), tuple(anywhere)))


def loop(run: Sweep, low: loops.Exp, high: loops.Exp, hint: str, write: Callable[[loops.Exp], None],
         step: int = 1) -> loops.For | None:
    index = loops.Name(run.code.fresh(hint))
    with run.code.block() as body:
        write(index)
    return loops.For(index.name, low, high, tuple(body), integer(step)) if body else None
