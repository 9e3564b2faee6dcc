"""The GPU's walk by owners: a block, a warp, a part of a warp or a thread holds a segment, and takes another when it is
done with that (lambda_cu.mappings.owners says in which sweeps).

    for (s = owner; s < segments; s += owners) {
      what is done for the segment before its elements
      for (i = start + lane; i < stop; i += lanes) { ... }      a sweep: lanes take neighbouring elements
      the lanes add up what they have                           (skeletons.owners.teams)
      what is done for the segment with that; the next sweep ...
    }

Where lanes have to know what comes before their elements, a SCAN or a sum in order, they go through the segment chunk
by chunk together. An element's values are in registers within a sweep and in memory between sweeps, where the lane
finds those of its own elements by itself; the team meets before lanes read what others have left.

One template serves all owners: of one lane nothing is left of what lanes do together. Sums are added up in an order
that depends on the number of lanes and on the segment's length.
"""
from __future__ import annotations

from collections.abc import Sequence

from nessie.cudagen.kernels.code import Code, Value, integer, op, zero
from nessie.cudagen.kernels.thunks import Tables
from nessie.cudagen.kernels.walk import ROOT, UNIT, Place, Step, own_name, walk_at
from nessie.cudagen.kernels.walk import SEGMENT as AT_SEGMENT
from nessie.cudagen.loops import nodes as loops
from nessie.cudagen.loops.module import Module
from nessie.cudagen.loops.plan import THREADS
from nessie.cudagen.skeletons.chunks import segmented, start_of
from nessie.cudagen.skeletons.counted import count_of
from nessie.cudagen.skeletons.cuda.blocks import MOST_BLOCKS, launch
from nessie.cudagen.skeletons.cuda.finish import finish_walk
from nessie.cudagen.skeletons.elements import Here, states_of
from nessie.cudagen.skeletons.kernel import (
    Kernel,
    all_steps,
    early_scalars,
    elements_exp,
    result_buffers,
    result_of,
    size_exp,
)
from nessie.cudagen.skeletons.owners.row_order import Room, Sorted, note_key, sort_row
from nessie.cudagen.skeletons.owners.teams import Names, Team, before, meet, team_of, total
from nessie.cudagen.skeletons.states import State, commutative, identity
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu.mappings import owners
from nessie.lambda_cu.parts import INDEX_THUNKS

ABOUT = {256: "A block of threads", 32: "A warp", 8: "Eight lanes of a warp", 4: "Four lanes of a warp", 1: "A thread"}


def plan_owners(kernel: ir.Kernel, program: ir.Program, tables: Tables) -> Module:
    found = owners.owned(kernel)
    walk = walk_at(kernel, program, found.root, places_of(kernel, found), found.kept)
    states = {name: state for name, state in states_of(walk).items() if name in {step.name for step in walk.steps}}
    made = Kernel(walk, tables, None, states)
    code = made.code()
    code.arrays |= {name: type_ for name in found.kept if isinstance(type_ := walk.types[name], ir.Array)}
    code.left = frozenset(found.kept)
    early_scalars(made, code)
    team, owner, many = team_of(code, found.lanes)
    segment = loops.Name(code.fresh("s"))
    with code.block() as body:
        held = Segment(made, found, code, team, segment)
        held.walk()
    code.add(loops.For(segment.name, owner, code.size(found.root.segments), tuple(body), many))
    code.statements = [*code.above, *code.statements]
    each, segments = THREADS // found.lanes, size_exp(made, found.root.segments)
    blocks = op("min", count_of(segments, each), integer(MOST_BLOCKS))
    launched, more = finish_walk(made, code, blocks)
    size = size_exp(made, found.root.total)
    buffers = (*result_buffers(made), *[buffer for row in held.sorted.values() for buffer in row.buffers(size)])
    launch(made, "sweep", code, launched, buffers, about=f"{ABOUT[found.lanes]} holds a segment.{more}")
    return made.module(tuple([result_of(made, name) for name in kernel.returns]), elements_exp(made))


def places_of(kernel: ir.Kernel, found: owners.Owned) -> list[Place]:
    kinds = {owners.ELEMENT: ROOT, owners.SEGMENT: AT_SEGMENT, owners.ONCE: UNIT}
    return [kinds[place] if place in kinds else
            Place("residual", own_name(kernel.binds[found.filters[number]], found.filters[number]))
            for number, place in enumerate(found.places)]


def bounds_of(code: Code, root: ir.Segmented, segment: loops.Exp) -> tuple[loops.Exp, loops.Exp]:
    return (code.let_int("start", start_of(code, root, segment)),
            code.let_int("stop", start_of(code, root, op("+", segment, integer(1)))))


class Segment:
    """Writes the walk of one segment. `now`: the variables of sums; `sorted`: the arrays of ORDERs; `meetings`: how
    often the lanes meet at least; `parked`: whether sums are in shared memory then. `bounds`: where the segment begins
    and ends, if its space does not say it."""

    def __init__(self, kernel: Kernel, found: owners.Owned, code: Code, team: Team, segment: loops.Exp,
                 bounds: tuple[loops.Exp, loops.Exp] | None = None) -> None:
        self.kernel, self.plan, self.found, self.code, self.team = kernel, kernel.walk, found, code, team
        self.segment, root = segment, segmented(found.root)
        self.sweep = kernel.sweep(code, list(kernel.states.values()), all_steps(kernel))
        self.now: Names = {}
        self.sorted: dict[str, Sorted] = {}
        self.room: Room = {}
        self.meetings, self.parked = 0, False
        self.start, self.stop = bounds or bounds_of(code, root, segment)

    def walk(self) -> None:
        code = self.code
        self.sweep.divide(self.segment)
        for number in range(self.found.many):
            self.for_segment(number)
            self.elements(number)
        self.for_segment(self.found.many)
        if self.parked and self.meetings == 1:
            code.note("the next segment's sums go where these are, which all have read then")
            code.add(loops.Barrier())

    def steps(self, sweep: int, *places: str) -> list[tuple[int, Step]]:
        """The bindings that run in a sweep, with their layers."""
        return [(self.found.layers[number], step) for number, step in enumerate(self.plan.steps)
                if self.found.sweeps[number] == sweep and self.found.places[number] in places]

    # Segments -------------------------------------------------------------------------------

    def for_segment(self, sweep: int) -> None:
        """What is done for the segment before this sweep: by all lanes, of which the first stores it."""
        for _, step in self.steps(sweep, owners.SEGMENT):
            self.code.order_index, self.sweep.writing = self.segment, False
            self.sweep.step(step, self.sweep.within(step, Here(AT_SEGMENT, self.segment)))
            self.sweep.writing = True
            self.store(step)

    def store(self, step: Step) -> None:
        with self.code.block() as stored:
            for name in step.bind.names:
                if name != "_":
                    self.sweep.store(name, self.segment, self.code.known[name, self.segment])
        self.code.statements += self.team.first(stored)

    # Elements -------------------------------------------------------------------------------

    def elements(self, number: int) -> None:
        code, steps = self.code, self.steps(number, owners.ELEMENT)
        survivors = self.steps(number, owners.SURVIVOR)
        filters = {step.place.filter for _, step in survivors}
        self.sweep.active = frozenset({step.name for _, step in (*steps, *survivors)} | filters)
        steps = [(layer, step) for layer, step in steps if step.name not in filters]
        steps += [(0, step) for step in self.plan.steps if step.name in filters and step.place == ROOT]
        steps.sort(key=lambda found: self.plan.steps.index(found[1]))
        states = [self.kernel.states[step.name] for _, step in (*steps, *survivors)
                  if step.name in self.kernel.states]
        for state in states:
            self.sweep.declare(state)
        self.now = self.sweep.variables
        together = [state for state in states if self.together(state)]
        if together:
            self.chunks(steps, together)
        else:
            self.lane_by_lane(steps)
        self.sums([state for state in states if state.kind == "segment"], together)
        orders = [step for _, step in steps if isinstance(step.bind.soac, ir.Order)]
        if orders:
            self.meetings += 1
            for step in orders:
                seen = not self.found.exchanged.isdisjoint(step.bind.names)
                sort_row(code, self.team, self.sorted[step.name], self.start, self.stop, self.room, seen)
        elif self.exchanged(steps) and not (self.team.whole and len(states) > len(together)):
            code.note("lanes read what others have left")
            meet(code, self.team)
            self.meetings += 1

    def together(self, state: State) -> bool:
        """Do the lanes have to go through the segment chunk by chunk?"""
        return self.team.lanes > 1 and (state.kind == "carry" or not commutative(state))

    def exchanged(self, steps: Sequence[tuple[int, Step]]) -> bool:
        return any([not self.found.exchanged.isdisjoint(step.bind.names) for _, step in steps])

    def lane_by_lane(self, steps: Sequence[tuple[int, Step]]) -> None:
        code, index = self.code, loops.Name(self.code.fresh("i"))
        with code.block() as body:
            for _, step in steps:
                self.element(step, self.here(index))
        first = self.start if self.team.lanes == 1 else op("+", self.start, self.team.lane)
        if body:
            code.add(loops.For(index.name, first, self.stop, tuple(body), integer(self.team.lanes)))

    def here(self, index: loops.Exp) -> Here:
        return Here(ROOT, index, self.segment, self.start)

    def element(self, step: Step, here: Here) -> None:
        self.code.order_index = here.index
        if isinstance(step.bind.soac, ir.Order):
            self.sorted[step.name] = note_key(self.sweep, step, step.bind.soac, here)
        else:
            self.sweep.step(step, here)

    def sums(self, states: Sequence[State], together: Sequence[State]) -> None:
        """SEG_REDUCEs' results: all lanes know them, the first stores them."""
        apart = [state for state in states if state not in together]
        if apart:
            self.code.note("what the lanes have is added up; all of them know what it comes to")
            total(self.kernel, self.code, self.team, self.now, apart)
            self.meetings, self.parked = self.meetings + self.team.whole, self.team.whole
        for step in self.plan.steps:
            if step.name in {state.name for state in states}:
                for name, value in zip(step.bind.names, self.sweep.now(self.kernel.states[step.name]), strict=True):
                    if name != "_":
                        kept = self.sweep.keep_now(name, value)
                        self.code.learn(name, self.segment, Value(kept.exp, kept.type, self.code.fails))
                self.store(step)

    # Chunk by chunk -------------------------------------------------------------------------

    def chunks(self, steps: Sequence[tuple[int, Step]], together: Sequence[State]) -> None:
        """The lanes take a chunk of neighbouring elements at a time, in which each learns what comes before its own."""
        code, base = self.code, loops.Name(self.code.fresh("first"))
        with code.block() as body:
            index = code.let_int("i", op("+", base, self.team.lane))
            inside = code.let("inside", Value(op("<", index, self.stop), "bool")).exp
            last = max([layer for layer, _ in steps]) + 1
            names = {state.name for state in together}
            scanned = [sum(step.name in names for at, step in steps if at == layer) for layer in range(last + 1)]
            rounds = sum(map(bool, scanned))
            ready: list[tuple[Step, tuple[Value, ...]]] = []
            for layer in range(last + 1):
                here = [step for at, step in steps if at == layer]
                ready = self.layer(here, steps, names, index, inside, ready, rounds == 1)
        code.add(loops.For(base.name, self.start, self.stop, tuple(body), integer(self.team.lanes)))

    def layer(self, here: Sequence[Step], steps: Sequence[tuple[int, Step]], names: set[str], index: loops.Exp,
              inside: loops.Exp, ready: list[tuple[Step, tuple[Value, ...]]],
              alone: bool) -> list[tuple[Step, tuple[Value, ...]]]:
        """What is done at the element between two times at which lanes add up: first what they have found out is
        stored (`ready`). Gives what they find out then."""
        code, states = self.code, [self.kernel.states[step.name] for step in here if step.name in names]
        terms = {state.name: tuple([code.var(hint, value.type, value.exp) for hint, value in
                                    zip(state.buffers("term"), self.identity(state), strict=True)]) for state in states}
        later = self.handed([step for step in here if step.name not in names], steps)
        handed = {name: code.var(f"{name}_here", type_, zero(type_)) for name, type_ in later.items()}
        tainted = set[str]()
        with code.block() as guarded:
            for step, values in ready:
                for name, value in zip(step.bind.names, values, strict=True):
                    if name != "_":
                        self.sweep.store(name, index, value)
            for step in here:
                if step.name in names:
                    code.order_index = index
                    soac = step.bind.soac
                    assert isinstance(soac, ir.Reduce | ir.Scan)
                    values = self.sweep.values(soac.thunk, self.here(index))
                    code.statements += [loops.Set(term, value.exp)
                                        for term, value in zip(terms[step.name], values, strict=True)]
                else:
                    self.element(step, self.here(index))
            for name, variable in handed.items():
                value = code.known[name, index]
                tainted |= {name} if value.tainted else set()
                code.add(loops.Set(variable, value.exp))
        if guarded:
            code.add(loops.If(inside, tuple(guarded)))
        for name, variable in handed.items():
            code.learn(name, index, Value(loops.Name(variable), later[name], name in tainted))
        if not states:
            return []
        found = before(self.kernel, code, self.team, self.now, terms, states, alone)
        result = []
        for step in here:
            if isinstance(step.bind.soac, ir.Scan) and step.name in names:
                state = self.kernel.states[step.name]
                values = tuple([Value(loops.Name(name), type_, code.fails)
                                for name, type_ in zip(found[step.name], state.monoid.types, strict=True)])
                for name, value in zip(step.bind.names, values, strict=True):
                    code.learn(name, index, value)
                result.append((step, values))
        return result

    def identity(self, state: State) -> tuple[Value, ...]:
        return identity(self.code, self.kernel.tables, state)

    def handed(self, here: Sequence[Step], steps: Sequence[tuple[int, Step]]) -> dict[str, str]:
        """What these bindings make and others read behind the next sum, with its type."""
        read = {name for _, step in steps if step not in here
                for thunk in INDEX_THUNKS.of(step.bind.soac) for name in thunk.using}
        return {name: base for step in here if isinstance(step.bind.soac, ir.Map)
                for name, base in zip(step.bind.names, self.plan.bases[step.name], strict=True) if name in read}
