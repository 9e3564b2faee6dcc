"""Where the interior of a walk lies (lambda_cu.borders), and how threads of the GPU walk it.

Of the elements of a flat space that a thread is about to walk, it asks whether all are in the interior:

    int from = 1, to = n - 1;                               once a thread
    for (i = thread; i < n; i += threads) {
      if (from <= i && i < to) { ... }                      no decision about where the element is
      else { ... as it was ... }
    }

Threads of a warp have neighbouring elements, so all but the few warps at the border do one or the other. Of a nest it
asks for the row, too, and for the place in it; where the interior is another one in each row, all is walked as it was.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce

from nessie.base.records import dataclass
from nessie.cudagen.kernels.code import Value, integer, op
from nessie.cudagen.kernels.thunks import apply
from nessie.cudagen.kernels.walk import ROOT
from nessie.cudagen.loops import nodes as loops
from nessie.cudagen.skeletons.elements import Sweep
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu.scope import free_names


def interiors(run: Sweep) -> list[ir.Interior]:
    """Those of the bindings at elements."""
    soacs = [step.bind.soac for step in run.walk.at(ROOT) if step.name in run.active]
    return [soac.interior for soac in soacs if isinstance(soac, ir.Map | ir.Reduce) and soac.interior is not None]


def bounds(run: Sweep, ranges: list[ir.Thunk], segment: loops.Exp | None = None, start: loops.Exp | None = None
           ) -> tuple[list[loops.Exp], list[loops.Exp]]:
    """From where on the interiors lie, and before where: places, or elements of a segment, which begins at `start`."""
    pairs = []
    for range_ in ranges:
        known = [integer(0)] * len(range_.params) if segment is None else run.indices(segment, len(range_.params))
        pairs.append(apply(run.code, run.tables, range_, tuple([Value(at, "int") for at in known])))
    return [moved(begin.exp, start) for begin, _ in pairs], [moved(end.exp, start) for _, end in pairs]


def moved(place: loops.Exp, start: loops.Exp | None) -> loops.Exp:
    return place if start is None else op("+", start, place)


def extreme(name: str, exps: list[loops.Exp]) -> loops.Exp:
    return reduce(lambda a, b: op(name, a, b), exps)


# As GPUs walk it --------------------------------------------------------------------------------


@dataclass(frozen=True)
class Range:
    """From a number on, before another."""
    low: loops.Exp
    high: loops.Exp

    def holds(self, first: loops.Exp, last: loops.Exp) -> loops.Exp:
        """Are the first and the last in it?"""
        return op("and", op("<=", self.low, first), op("<", last, self.high))


@dataclass(frozen=True)
class Inside:
    """Where all interiors lie: elements, or rows, by each of their axes, and places in each."""
    places: Range
    rows: tuple[Range, ...] = ()


def fixed_interior(run: Sweep) -> Inside | None:
    """Where all interiors lie, computed here and now; None: there are none, or it depends on the row."""
    found = interiors(run)
    ranges = [interior.range for interior in found]
    if not found or any(not set(range_.params).isdisjoint(free_names(range_.body)) for range_ in ranges):
        return None
    axes = zip(*[outer_ranges(run, interior) for interior in found], strict=True)
    places = within(run, "from", "to", *bounds(run, ranges))
    return Inside(places, tuple([within(run, "first_row", "last_row", *map(list, zip(*axis, strict=True)))
                                 for axis in axes]))


def outer_ranges(run: Sweep, interior: ir.Interior) -> list[tuple[loops.Exp, loops.Exp]]:
    """From where on the interior's rows lie and before where, for each of their axes."""
    if interior.rows is None:
        return []
    found = [value.exp for value in apply(run.code, run.tables, interior.rows, ())]
    return list(zip(found[::2], found[1::2], strict=True))


def within(run: Sweep, low: str, high: str, lows: list[loops.Exp], highs: list[loops.Exp]) -> Range:
    """What is in all of these, under names."""
    return Range(run.code.let_int(low, extreme("max", lows)), run.code.let_int(high, extreme("min", highs)))


def inside_or_not(run: Sweep, inner: Inside | None, first: loops.Exp, last: loops.Exp, write: Callable[[], None],
                  row: Sequence[loops.Exp] = ()) -> None:
    """What is written for the elements, or the places of a row, from the first to the last: for all of them in the
    interior, and for any."""
    if inner is None:
        write()
        return
    run.inside = True
    with run.code.block() as interior:
        write()
    run.inside = False
    with run.code.block() as anywhere:
        write()
    holds = inner.places.holds(first, last)
    for range_, index in reversed([*zip(inner.rows, row, strict=True)] if row else []):
        holds = op("and", range_.holds(index, index), holds)
    run.code.add(loops.If(holds, tuple(interior), tuple(anywhere)))


def loop(run: Sweep, low: loops.Exp, high: loops.Exp, hint: str, write: Callable[[loops.Exp], None],
         step: int = 1) -> loops.For | None:
    index = loops.Name(run.code.fresh(hint))
    with run.code.block() as body:
        write(index)
    return loops.For(index.name, low, high, tuple(body), integer(step)) if body else None
