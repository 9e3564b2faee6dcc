"""What the CPU's first sweep tells the second: which elements survive a FILTER of the root.

Chunks count their survivors in a first sweep and store them in a second, so a predicate would be computed twice. Where
it reads elements that lie anywhere, each of them a wait for memory, the first sweep keeps what it finds, a byte an
element. What such a predicate is made of, and what else only survivors need, is *put off*: the second sweep computes
it for survivors alone. Its failures are recorded by the first sweep, at all elements.
"""
from __future__ import annotations

from nessie.base.records import dataclass
from nessie.cudagen.kernels.walk import ROOT, Step, Walk, using
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu.parts import subexpressions
from nessie.lambda_cu.scope import soac_can_fail


@dataclass(frozen=True)
class Told:
    """`put_off`: by the names of the FILTERs that are told, the MAPs that only their survivors need."""
    put_off: dict[str, tuple[Step, ...]]

    @property
    def maps(self) -> frozenset[str]:
        return frozenset(step.name for steps in self.put_off.values() for step in steps)


NOTHING = Told({})


def told(walk: Walk, counted: frozenset[str]) -> Told:
    """`counted`: the steps of the first sweep."""
    found: dict[str, tuple[Step, ...]] = {}
    for step in walk.at(ROOT):
        soac = step.bind.soac
        if isinstance(soac, ir.Filter) and step.name in counted:
            steps = needed_by_survivors(walk, step, counted)
            if gathers(soac.predicate) or any(s.name in counted for s in steps):
                found[step.name] = steps
    return Told(found)


def needed_by_survivors(walk: Walk, chosen: Step, counted: frozenset[str]) -> tuple[Step, ...]:
    """The root's MAPs that wait for memory, and those made of them, whose results only survivors of this FILTER need
    once it is told. What can fail is one that the first sweep computes."""
    users = {step.name for step in walk.steps if step.place.filter == chosen.name} | {chosen.name}
    able: list[Step] = []
    for step in reversed(walk.at(ROOT)):
        names = set(step.bind.names) - {"_"}
        if isinstance(step.bind.soac, ir.Map) and names and names.isdisjoint(walk.stored) and (
                step.name in counted or not soac_can_fail(step.bind.soac)) and all(
                other.name in users for other in walk.steps if names & using(other.bind.soac)):
            able.append(step)
            users.add(step.name)
    kept: list[Step] = []
    late: set[str] = set()
    for step in reversed(able):
        if gathers(step.bind.soac.thunk) or late & using(step.bind.soac):
            kept.append(step)
            late |= set(step.bind.names)
    return tuple(kept)


def gathers(thunk: ir.Thunk) -> bool:
    """Does the thunk read elements at places that it has read?"""
    loaded: set[str] = set()            # names of what is made of elements

    def is_loaded(exp: ir.Exp) -> bool:
        return any(isinstance(e, ir.Read) or (isinstance(e, ir.Var) and e.name in loaded) for e in subexpressions(exp))

    for exp in subexpressions(thunk.body):
        match exp:
            case ir.Let(names, value) if is_loaded(value):
                loaded.update(names)
            case ir.Read(_, index) if is_loaded(index):
                return True
    return False
