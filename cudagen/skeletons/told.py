"""What the CPU's first sweep tells the second: which elements survive a FILTER of the root.

Chunks count their survivors in a first sweep and store them in a second, so a predicate would be computed twice. Where
it reads elements that lie anywhere, each of them a wait for memory, the first sweep keeps what it finds, a byte an
element, and records the predicate's failures.

Results of a MAP that the predicate reads are computed in both sweeps: behind the branch of a survivor that is hard to
foretell, loads would not overlap.
"""
from __future__ import annotations

from nessie.cudagen.kernels.walk import ROOT, Walk
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu.parts import subexpressions


def told(walk: Walk, counted: frozenset[str]) -> frozenset[str]:
    """The names of the FILTERs that are told. `counted`: the steps of the first sweep."""
    return frozenset(step.name for step in walk.at(ROOT) if step.name in counted
                     and isinstance(step.bind.soac, ir.Filter) and gathers(step.bind.soac.predicate))


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
