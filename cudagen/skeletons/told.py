"""What the CPU's first sweep tells the second: which elements survive a FILTER of the root, or what they are.

Chunks count their survivors in a first sweep and store them in a second, so a predicate would be computed twice. Where
it reads elements that lie anywhere, each of them a wait for memory, the first sweep keeps what it finds, a byte an
element, and records the predicate's failures.

Where the second sweep has nothing to do but for survivors, the first one keeps their values: those of a chunk follow
each other from the place of its first element. The second sweep walks what is kept, and no other elements.

Elsewhere, results of a MAP that the predicate reads are computed in both sweeps: behind the branch of a survivor that
is hard to foretell, loads would not overlap.
"""
from __future__ import annotations

from nessie.cudagen.kernels.walk import ROOT, SEGMENT, Place, Step, Walk, using
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu.parts import INDEX_THUNKS, subexpressions
from nessie.lambda_cu.selection import selection


def told(walk: Walk, counted: frozenset[str]) -> frozenset[str]:
    """The names of the FILTERs that are told. `counted`: the steps of the first sweep."""
    return frozenset(step.name for step in walk.at(ROOT) if step.name in counted
                     and isinstance(step.bind.soac, ir.Filter) and gathers(step.bind.soac.predicate))


def kept(walk: Walk, counted: frozenset[str]) -> Step | None:
    """The FILTER whose survivors' values the first sweep keeps, because what it counts by is gathered. `counted`: the
    steps of the first sweep."""
    steps = walk.at(ROOT)
    found = next((step for step in steps if isinstance(step.bind.soac, ir.Filter)), None)
    selected = selection(found.bind) if found is not None else None
    far = any([gathers(thunk) for step in steps if step.name in counted for thunk in counted_by(step)])
    if found is None or selected is None or not far or walk.positioned or walk.at(SEGMENT):
        return None
    others = [step for step in steps if step is not found]
    made = {name for step in others for name in step.bind.names}
    alone = (all([isinstance(step.bind.soac, ir.Map) for step in others]) and made.isdisjoint(walk.stored)
             and not any([made & using(step.bind.soac) for step in walk.steps if step.place != ROOT]))
    flat = all([len(thunk.params) == 1 for step in walk.steps if step.place.kind == "residual"
                for thunk in INDEX_THUNKS.of(step.bind.soac)])
    ranked = Place("residual", found.name) in walk.ranked and walk.stored.isdisjoint(selected.offsets)
    return found if alone and flat and ranked else None


def counted_by(step: Step) -> tuple[ir.Thunk, ...]:
    match step.bind.soac:
        case ir.Filter(predicate=predicate):
            return (predicate,)
        case ir.Map(thunk):
            return (thunk,)
    return ()


def gathers(thunk: ir.Thunk) -> bool:
    """Does the thunk read elements at places that it has read? What it reads is alike for all elements of a segment
    where the place is: such a row begins somewhere, and its elements follow each other."""
    varying = {*thunk.params[-2:]}      # names of what differs from element to element
    loaded: set[str] = set()            # of what is made of elements

    def mentions(exp: ir.Exp, names: set[str]) -> bool:
        return any(isinstance(e, ir.Var) and e.name in names for e in subexpressions(exp))

    def is_loaded(exp: ir.Exp) -> bool:
        return mentions(exp, loaded) or any(isinstance(e, ir.Read) and mentions(e.index, varying)
                                            for e in subexpressions(exp))

    for exp in subexpressions(thunk.body):
        match exp:
            case ir.Let(names, value):
                varying.update(names if mentions(value, varying) else ())
                loaded.update(names if is_loaded(value) else ())
            case ir.Read(_, index) if is_loaded(index):
                return True
    return False
