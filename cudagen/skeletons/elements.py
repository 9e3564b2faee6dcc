"""The work of each SOAC at one element of the walk, at the end of a segment, and at the end of the walk.

A `Sweep` writes one function. Registers of the current element are `Code.known` under (array, own index); a residual
place runs inside the guard of its FILTER, where its own index is the survivor's rank.
"""
from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import field
from typing import Protocol

from nessie.base.records import dataclass
from nessie.base.source import InternalError, Unsupported
from nessie.base.system.forking import cached_property
from nessie.cudagen.kernels.code import Code, Value, integer, op
from nessie.cudagen.kernels.hoisting import divisions
from nessie.cudagen.kernels.thunks import Tables, apply, compute_once
from nessie.cudagen.kernels.walk import ROOT, SEGMENT, Place, Step, Walk
from nessie.cudagen.loops import nodes as loops
from nessie.cudagen.skeletons.chunks import segment_of, start_of
from nessie.cudagen.skeletons.states import COUNT, ONE, Monoid, State, assign, combine, current, declare
from nessie.cudagen.skeletons.survivors import branch_free, stores, without_branch
from nessie.cudagen.skeletons.targets import target
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu.parts import INDEX_THUNKS
from nessie.lambda_cu.passes.sort_reductions import atomic_operation
from nessie.lambda_cu.scope import free_names, outer_axes, writes_in_order
from nessie.lambda_cu.selection import selection

AXIS = "#axis"                  # of a segment: in Code.known, its index of an axis


@dataclass
class Here:
    """The current element: its place's own index, and where segments are the segment and its start. `outer`: the
    segment's indices of outer axes, other than those of the root."""
    place: Place
    index: loops.Exp
    segment: loops.Exp | None = None
    start: loops.Exp | None = None
    position: loops.Exp | None = None
    outer: tuple[loops.Exp, ...] = ()


class ElementSlots(Protocol):
    """Memory of an element's own."""

    def begin(self, code: Code, index: loops.Exp) -> None:
        """The element comes next."""

    def computed(self, step: str) -> Value | None:
        """What the step's thunk comes to at the element, if there is a slot for that."""

    def survives(self, code: Code, place: Place, rank: loops.Exp) -> None:
        """It is this survivor at the place."""

    def leave(self, code: Code, name: str, index: loops.Exp, value: Value) -> bool:
        """Leaves what is stored in this array at the index, if there is a slot for it."""


@dataclass
class Sweep:
    """Writes one function.

    active     the bindings that take part: all, or in a summary those that carries need
    states     by name, and the variables that hold them
    lanes      arrays that hold some of them instead, while a `lane` is given (skeletons.cpu.lanes)
    writing    arrays are stored; a summary only computes
    unordered  elements are not walked in order, even where a PERMUTE's last write wins
    limits     the count of a FILTER when the chunk ends; None: whatever
    told       FILTERs whose summary tells the sweep, for each element, whether it survives
    kept       the FILTER whose survivors the summary keeps for the sweep instead, in the chunk's part of arrays that
               begins at `first`; of what it keeps, `doubtful` may be the zero that stands for a failed check
    combined   arrays in which a REDUCE_BY_INDEX combines instead of its results (skeletons.cpu.tables)
    part       the number of the part whose elements are walked (skeletons.mapped)
    inside     elements of the interior are walked, which its thunks are for (skeletons.cpu.interiors)
    slots      where elements are read and left instead of in memory (skeletons.cuda.staging)
    """
    code: Code
    tables: Tables
    walk: Walk
    states: dict[str, State]
    active: frozenset[str]
    writing: bool = True
    unordered: bool = False
    variables: dict[str, tuple[str, ...]] = field(default_factory=dict)
    lanes: dict[str, tuple[str, ...]] = field(default_factory=dict)
    lane: loops.Exp | None = None
    limits: dict[str, loops.Exp | None] = field(default_factory=dict)
    told: frozenset[str] = frozenset()
    kept: str = ""
    first: loops.Exp = field(default_factory=lambda: integer(0))
    doubtful: set[str] = field(default_factory=set)
    combined: dict[str, str] = field(default_factory=dict)
    part: int | None = None
    inside: bool = False
    slots: ElementSlots | None = None

    # Thunks and arrays ----------------------------------------------------------------------

    def element(self, step: Step, thunk: ir.Thunk, here: Here) -> tuple[Value, ...]:
        """The values of the step's thunk, which may have been computed already."""
        held = self.slots.computed(step.name) if self.slots is not None and here.place == ROOT else None
        return self.values(thunk, here) if held is None else (held,)

    def values(self, thunk: ir.Thunk, here: Here) -> tuple[Value, ...]:
        return apply(self.code, self.tables, thunk, self.arguments(thunk, here))

    def arguments(self, thunk: ir.Thunk, here: Here) -> tuple[Value, ...]:
        index = Value(here.index, "int")
        if len(thunk.params) == 1:
            return (index,)
        if here.segment is None or here.start is None:
            raise InternalError("a segmented thunk runs where there are no segments")
        position = here.position or op("-", here.index, here.start)
        segment = (*here.outer, here.segment) if here.outer else self.indices(here.segment, len(thunk.params) - 2)
        return *[Value(at, "int") for at in segment], Value(position, "int"), index

    def bind(self, names: tuple[str, ...], index: loops.Exp, values: tuple[Value, ...]) -> None:
        """These are the arrays' elements at this index: in registers, and in memory where they are kept."""
        for name, value in zip(names, values, strict=True):
            if name != "_":
                value = self.code.let(name, value)
                self.code.learn(name, index, value)
                self.store(name, index, value)

    def store(self, name: str, index: loops.Exp, value: Value) -> None:
        stored = self.writing and name in self.walk.stored
        if stored and not (self.slots and self.slots.leave(self.code, name, index, value)):
            self.code.store(name, index, value)

    # States ---------------------------------------------------------------------------------

    def declare(self, state: State) -> None:
        self.variables[state.name] = declare(self.code, self.tables, state)

    def now(self, state: State) -> tuple[Value, ...]:
        if self.lane is None or state.name not in self.lanes:
            return current(state, self.variables[state.name])
        return tuple(self.keep_now(f"{array}_at", Value(loops.Load(array, self.lane), type_))
                     for array, type_ in zip(self.lanes[state.name], state.monoid.types, strict=True))

    def become(self, state: State, values: tuple[Value, ...]) -> None:
        if self.lane is None or state.name not in self.lanes:
            assign(self.code, self.variables[state.name], values)
            return
        for array, value in zip(self.lanes[state.name], values, strict=True):
            self.code.add(loops.Store(array, self.lane, value.exp))

    def accumulate(self, state: State, values: tuple[Value, ...]) -> None:
        self.become(state, combine(self.code, self.tables, state, self.now(state), values))

    # Places ---------------------------------------------------------------------------------

    def place(self, here: Here, order_index: loops.Exp) -> None:
        """All that happens at one element of a place. Where a survivor's rank is not known its failures are told by
        the index outside, which comes in the same order."""
        for step in self.walk.at(here.place):
            if step.name in self.active:
                self.code.order_index = order_index
                self.step(step, here)

    def step(self, step: Step, here: Here) -> None:
        match step.bind.soac:
            case ir.Map():
                self.bind(step.bind.names, here.index, self.element(step, self.thunk(step.bind.soac, here), here))
            case ir.Reduce():
                if state := self.states.get(step.name):
                    self.accumulate(state, self.element(step, self.thunk(step.bind.soac, here), here))
            case ir.Scan():
                self.scan(step, step.bind.soac, here)
            case ir.Filter():
                self.filter(step, step.bind.soac, here)
            case ir.Partition():
                self.partition(step, step.bind.soac, here)
            case ir.Permute():
                self.permute(step, step.bind.soac, here)
            case ir.ReduceByIndex():
                self.reduce_by_index(step, step.bind.soac, here)
            case _:
                raise InternalError(f"{type(step.bind.soac).__name__} has no place in a walk")

    def thunk(self, soac: ir.Map | ir.Reduce, here: Here) -> ir.Thunk:
        """What is computed at the element: less, in a part or the interior."""
        if self.part is not None and soac.parts and here.place == ROOT:
            return soac.parts[self.part].inside.thunk
        return soac.interior.thunk if self.inside and soac.interior is not None and here.place == ROOT else soac.thunk

    def scan(self, step: Step, soac: ir.Scan, here: Here) -> None:
        """The prefix is the result here; the element joins the prefix for the next."""
        state = self.states[step.name]
        values = tuple(self.code.let("term", value) for value in self.element(step, soac.thunk, here))
        if self.writing:
            before = tuple(self.keep_now(name, value) for name, value in
                           zip(step.bind.names, self.now(state), strict=True))
            self.bind(step.bind.names, here.index, before)
        self.accumulate(state, values)

    def keep_now(self, hint: str, value: Value) -> Value:
        """A copy of a variable, which is about to change."""
        name = self.code.fresh("before" if hint == "_" else hint)
        self.code.add(loops.Let(name, value.type, value.exp))
        return Value(loops.Name(name), value.type)

    def filter(self, step: Step, soac: ir.Filter, here: Here) -> None:
        holds = self.holds(step, soac, here)
        with self.code.block() as survives:
            self.survivor(step, 0, soac.value, here)
        rank = rank_of(step, 0)
        if branch_free(survives, here.index) and (rank in self.limits or not stores(survives)):
            self.code.statements += without_branch(survives, holds, self.limits.get(rank))
        elif survives:
            self.code.add(loops.If(holds, tuple(survives)))

    def holds(self, step: Step, soac: ir.Filter, here: Here) -> loops.Exp:
        """Whether the element survives; failures of a predicate are recorded where it is computed."""
        code, told = self.code, step.name in self.told
        if told and self.writing:
            held = Value(loops.Load(code.array(told_by(step), "bool"), here.index), "bool")
            return code.let("holds", held).exp
        before, code.recording = code.recording, code.recording or told
        holds = code.let("holds", scalar_value(self.values(soac.predicate, here)))
        code.recording = before
        if told and step.name != self.kept:
            code.store(told_by(step), here.index, holds)
        return holds.exp

    def partition(self, step: Step, soac: ir.Partition, here: Here) -> None:
        """Both sides, each under its guard. Where the element goes is its rank on its side, before it counts there."""
        holds = self.code.let("holds", scalar_value(self.values(soac.predicate, here)))
        names = step.bind.names
        counted = self.writing and {Place("residual", step.name, side) for side in (0, 1)} <= self.walk.ranked
        sides = []
        if counted:
            yes, no = (self.now(self.states[rank_of(step, side)])[0].exp for side in (0, 1))
            position = self.keep_now(names[-1], Value(op("select", holds.exp, yes, no), "int"))
        for side in (0, 1):
            with self.code.block() as then:
                self.survivor(step, side, soac.value, here)
            sides.append(tuple(then))
        if any(sides):
            self.code.add(loops.If(holds.exp, *sides))
        if counted:
            self.bind(names[-1:], here.index, (position,))

    def survivor(self, step: Step, side: int, value: ir.Thunk, here: Here) -> None:
        """Under the guard: values, what runs on the residual space, and the counts."""
        place = Place("residual", step.name, side)
        outer_index = self.code.order_index
        inner = self.inner(step, place, here)
        selected = selection(step.bind)
        names = selected.values[side] if selected else ()
        keeps, before = step.name == self.kept, self.code.recording
        if self.writing or keeps or any(name in self.active for name in names):
            self.bind(names, inner.index, self.values(value, here))
        if keeps:
            self.keep_survivor(step, names, inner.index)
            self.code.recording = False
        self.place(inner, inner.index if self.writing and place in self.walk.ranked else outer_index)
        self.code.order_index, self.code.recording = outer_index, before
        for name in (rank_of(step, side), position_of(step, side)):
            if name in self.states:
                self.accumulate(self.states[name], ONE)

    def keep_survivor(self, step: Step, names: tuple[str, ...], rank: loops.Exp) -> None:
        """In a summary: store its values behind those of the chunk's survivors before it."""
        (count,) = self.now(self.states[rank_of(step, 0)])
        for name in names:
            if name != "_":
                value = self.code.known[name, rank]
                self.code.store(kept_of(name), op("+", self.first, count.exp), value)
                self.doubtful |= {name} if value.tainted else set()

    def survivors(self, step: Step, names: tuple[str, ...], low: loops.Exp, high: loops.Exp) -> None:
        """The walk of the survivors that the summary has kept from one place to before another."""
        code, index = self.code, loops.Name(self.code.fresh("i"))
        with code.block() as body:
            here = self.inner(step, Place("residual", step.name), Here(ROOT, index))
            for name, base in zip(names, self.walk.bases[step.name][1:], strict=False):
                if name != "_":
                    value = code.load(kept_of(name), base, index)
                    self.bind((name,), here.index, (Value(value.exp, value.type, name in self.doubtful),))
            self.place(here, here.index)
            self.accumulate(self.states[rank_of(step, 0)], ONE)
        code.add(loops.For(index.name, low, high, tuple(body)))

    def inner(self, step: Step, place: Place, here: Here) -> Here:
        """A survivor's index. Where nobody needs its number, it is a name that no code mentions."""
        rank: loops.Exp = loops.Name(f"rank of {step.name} {place.side}")
        if self.writing and place in self.walk.ranked:
            (count,) = self.now(self.states[rank_of(step, place.side)])
            rank = self.keep_now(f"{step.name}_rank", count).exp
            if self.slots is not None:
                self.slots.survives(self.code, place, rank)
        position = None
        if self.writing and place in self.walk.positioned:
            position = self.now(self.states[position_of(step, place.side)])[0].exp
        return Here(place, rank, here.segment, here.start, position or integer(0))

    @contextmanager
    def write(self, soac: ir.Write, here: Here) -> Iterator[tuple[loops.Exp, tuple[Value, ...]]]:
        """Do what is written meanwhile with the place and the values."""
        values = tuple([self.code.let("value", value) for value in self.values(soac.value, here)])
        with target(self.code, self.tables, soac, self.arguments(soac.index, here)) as place:
            yield place, values

    def permute(self, step: Step, soac: ir.Permute, here: Here) -> None:
        with self.write(soac, here) as (place, values):
            named = [(name, value) for name, value in zip(step.bind.names, values, strict=True) if name != "_"]
            competing = self.unordered and writes_in_order(soac)
            if competing and named:
                self.claim(step, place)
            for name, value in named:
                self.scatter(competing, name, place, value)

    def reduce_by_index(self, step: Step, soac: ir.ReduceByIndex, here: Here) -> None:
        """Combine the element with what its place has; by an atomic operation where elements come in any order."""
        with self.write(soac, here) as (place, values):
            names = step.bind.names
            if set(names) == {"_"}:
                return
            if self.unordered:
                operation = atomic_operation(soac)
                if not operation:
                    raise Unsupported("GPUs combine such values by sorting them: --target cuda says how")
                array = self.code.array(names[0], values[0].type, writable=True)
                self.code.add(loops.Atomic(operation, array, place, values[0].exp))
                return
            arrays = [self.combined.get(name) or self.code.array(name, value.type, writable=True)
                      for name, value in zip(names, values, strict=True)]
            before = tuple([Value(loops.Load(array, place), value.type)
                            for array, value in zip(arrays, values, strict=True)])
            combined = apply(self.code, self.tables, soac.operator, (*before, *values))
            for array, value in zip(arrays, combined, strict=True):
                self.code.add(loops.Store(array, place, value.exp))

    def scatter(self, competing: bool, name: str, target: loops.Exp, value: Value) -> None:
        if competing:
            self.code.store(written(name), self.code.order_index, value)
            return
        self.code.store(name, target, value)

    def claim(self, step: Step, target: loops.Exp) -> None:
        """The write that comes last in order has the greatest index, which grows from survivor to survivor, too."""
        claims = self.code.array(claims_of(step), "int", writable=True)
        self.code.add(loops.Atomic("max", claims, target, self.code.order_index))

    # Segments -------------------------------------------------------------------------------

    def segment(self, segment: loops.Exp, prologue: bool) -> None:
        """The bindings over the segments: those that elements read come before the elements, the rest after."""
        if prologue:
            self.divide(segment)
        here = Here(SEGMENT, segment)
        for step in self.walk.at(SEGMENT):
            early = bool(self.walk.prologue & set(step.bind.names))
            if step.name in self.active and early == prologue:
                self.code.order_index = segment
                self.step(step, self.within(step, here))

    @cached_property
    def axes(self) -> tuple[ir.Size, ...]:
        """The root's outer axes, if there are several and a binding asks for indices of theirs."""
        outer = outer_axes(self.walk.root) if self.walk.root is not None else ()
        return outer if outer and any([asks_for_axes(step, outer) for step in self.walk.steps]) else ()

    def axes_at(self, segment: loops.Exp) -> tuple[loops.Exp, ...]:
        """The segment's index of each outer axis: counted by the walk, or else divided for."""
        if (AXIS, segment) not in self.code.known:
            self.counted(segment, self.divided(segment, self.axes))
        return tuple([self.code.known[f"{AXIS}{number}", segment].exp for number, _ in enumerate(self.axes)])

    def divided(self, segment: loops.Exp, axes: tuple[ir.Size, ...]) -> tuple[loops.Exp, ...]:
        """The segment's index of each of these axes."""
        rest, found = segment, []
        for size in reversed(axes[1:]):
            length = self.code.size(size)
            quotient = self.code.let_int("axis", op("/", rest, length))
            found.append(self.code.let_int("axis", op("-", rest, op("*", quotient, length))))
            rest = quotient
        return (rest, *reversed(found))

    def indices(self, segment: loops.Exp, count: int) -> tuple[loops.Exp, ...]:
        """The arguments of a thunk that tell the segment: its indices of outer axes, if there are more than one, which
        are anything where no thunk asks for them, and its number."""
        if count > 1 and self.axes:
            return *self.axes_at(segment), segment
        return *[integer(0)] * (count - 1), segment

    def counted(self, segment: loops.Exp, indices: Iterable[loops.Exp]) -> None:
        """The segment is at these indices of the outer axes, as long as the block goes on."""
        for number, index in enumerate(indices):
            self.code.learn(f"{AXIS}{number}", segment, Value(index, "int"))
        self.code.learn(AXIS, segment, Value(segment, "int"))

    def divide(self, segment: loops.Exp) -> None:
        """Divisions whose outcome is the same for all elements of the segment, its indices of outer axes among them."""
        if self.axes:
            self.axes_at(segment)
        for step in self.walk.steps:
            if step.place.kind in ("root", "residual") and step.name in self.active:
                for thunk in INDEX_THUNKS.of(step.bind.soac):
                    for name, exp in divisions(thunk) if len(thunk.params) > 1 else ():
                        known = [Value(at, "int") for at in self.indices(segment, len(thunk.params) - 2)]
                        self.code.values.update(zip(thunk.params, known))
                        compute_once(self.code, self.tables, exp, name)

    def within(self, step: Step, here: Here) -> Here:
        """The step's place: where the root's segments are the elements of other segments, those are looked up."""
        space = None if isinstance(step.bind.soac, ir.Once) else step.bind.soac.space
        if not isinstance(space, ir.Segmented):
            return here
        if self.axes and isinstance(space, ir.Uniform) and space.axes == self.axes:
            *outer, position = self.axes_at(here.index)
            segment = self.code.let_int("row", number_at(outer, tuple(map(self.code.size, space.axes))))
            start = self.code.let_int("start", op("-", here.index, position))
            return Here(SEGMENT, here.index, segment, start, position, tuple(outer) if space.outer else ())
        segment = segment_of(self.code, space, here.index)
        axes = outer_axes(space) if reads_outer(step) else ()
        return Here(SEGMENT, here.index, segment, self.code.let_int("start", start_of(self.code, space, segment)),
                    outer=self.divided(segment, axes) if axes else ())

    def root(self, index: loops.Exp, segment: loops.Exp | None = None, start: loops.Exp | None = None,
             position: loops.Exp | None = None) -> None:
        if self.slots is not None:
            self.slots.begin(self.code, index)
        self.place(Here(ROOT, index, segment, start, position), index)


def number_at(indices: Sequence[loops.Exp], sizes: Sequence[loops.Exp]) -> loops.Exp:
    """The number of the index that is at these of axes of such sizes."""
    found = indices[0]
    for index, size in zip(indices[1:], sizes[1:], strict=False):
        found = op("+", op("*", found, size), index)
    return found


def asks_for_axes(step: Step, outer: tuple[ir.Size, ...]) -> bool:
    """Does the step ask at which indices of the root's outer axes a segment is?"""
    soac = step.bind.soac
    if isinstance(soac, ir.Once):
        return False
    if isinstance(soac, ir.Map | ir.Reduce) and soac.interior is not None:
        return True
    if step.place == SEGMENT:
        return isinstance(soac.space, ir.Uniform) and soac.space.axes == outer
    return reads_outer(step)


def reads_outer(step: Step) -> bool:
    """Does a thunk of the step read indices of axes outside of its segments?"""
    return any([not set(thunk.params[:-3]).isdisjoint(free_names(thunk.body))
                for thunk in INDEX_THUNKS.of(step.bind.soac)])


def scalar_value(values: tuple[Value, ...]) -> Value:
    (value,) = values
    return value


def rank_of(step: Step, side: int) -> str:
    return f"{step.name}_count{side}"


def told_by(step: Step) -> str:
    """The array that tells which elements survive a FILTER."""
    return f"{step.name}_told"


def kept_of(name: str) -> str:
    """The array in which a summary keeps survivors' values."""
    return f"{name}_kept"


def position_of(step: Step, side: int) -> str:
    return f"{step.name}_within{side}"


def claims_of(step: Step) -> str:
    """The buffer for the element that writes to a place, of those that have claimed it."""
    return f"{step.name}_claims"


def written(name: str) -> str:
    """The buffer for what each element would write."""
    return f"{name}_written"


# Which states a walk has ------------------------------------------------------------------------


def states_of(walk: Walk) -> dict[str, State]:
    """By name: a REDUCE's or SCAN's is its step's, a FILTER's or PARTITION's see rank_of and position_of."""
    states: list[State] = []
    for step in walk.steps:
        match step.bind.soac:
            case ir.Reduce(space=space) | ir.Scan(space=space):
                states.append(State(step.name, monoid(walk, step), *kind(step, space), components(step)))
        if selected := selection(step.bind):
            states += [state for side in range(len(selected.counts)) for state in counters(walk, step, side)]
    return {state.name: state for state in states}


def kind(step: Step, space: ir.Space) -> tuple[str, bool]:
    segmented = isinstance(space, ir.Segmented)
    if isinstance(step.bind.soac, ir.Scan):
        return "carry", segmented
    return ("segment" if segmented else "total"), False


def components(step: Step) -> tuple[str, ...]:
    """The names of several results; one that nobody reads has none of its own."""
    names = step.bind.names
    return tuple(f"{step.name}_component{c}" if name == "_" else name for c, name in enumerate(names)
                 if len(names) > 1)


def monoid(walk: Walk, step: Step) -> Monoid:
    soac = step.bind.soac
    if not isinstance(soac, (ir.Reduce, ir.Scan)):
        raise TypeError(soac)
    return Monoid(walk.bases[step.name], soac.identity, soac.operator)


def counters(walk: Walk, step: Step, side: int) -> list[State]:
    place = Place("residual", step.name, side)
    found = []
    if place in walk.ranked:
        found.append(State(rank_of(step, side), COUNT, "carry"))
    elif step.bind.names[side] != "_":
        found.append(State(rank_of(step, side), COUNT, "total"))
    if place in walk.positioned:
        found.append(State(position_of(step, side), COUNT, "carry", restarts=True))
    return found
