"""Sums of the GPU's carries: what some items come to, held by threads, in shared memory, and joined in order.

Carries may restart with each segment: then what comes before the last segment plays no part, so that such sums say
whether the last segment begins in them. Joining is associative, but for the rounding of floats, and nothing more is
asked of it.
"""
from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from nessie.base.records import dataclass
from nessie.cudagen.kernels.code import Code, Value, integer, op
from nessie.cudagen.loops import nodes as loops
from nessie.cudagen.loops.plan import THREADS
from nessie.cudagen.skeletons.cuda.blocks import LANE, THREAD, WARP, first_warp
from nessie.cudagen.skeletons.kernel import Kernel
from nessie.cudagen.skeletons.states import State, assign, combine, current, declare

Variable = tuple[str, str]      # its name and type
Batch = list[tuple[int, Variable]]

AT_A_TIME = 6                   # variables that threads relay: of each type so many times THREADS words


@dataclass(frozen=True)
class Sums:
    """Variables that hold what some items come to, state by state; `begins`: where states restart, whether the last
    segment begins among them, unless that is known otherwise."""
    states: tuple[State, ...]
    names: dict[str, tuple[str, ...]]
    begins: str | None = None

    @property
    def variables(self) -> list[Variable]:
        """All of them."""
        found = [(name, type_) for state in self.states
                 for name, type_ in zip(self.names[state.name], state.monoid.types, strict=True)]
        return found + ([(self.begins, "int")] if self.begins else [])

    def values(self, state: State) -> tuple[Value, ...]:
        return current(state, self.names[state.name])

    def of(self, restarts: bool) -> Sums:
        """The carries that restart with segments, or those that do not."""
        states = tuple(state for state in self.states if state.restarts == restarts)
        return Sums(states, {state.name: self.names[state.name] for state in states}, self.begins if restarts else None)


def component_wise(like: Sums, component: Callable[[State, int], str]) -> Sums:
    """Sums whose variables are given by state and component."""
    return Sums(like.states, {state.name: tuple([component(state, c) for c in range(len(state.monoid.types))])
                              for state in like.states})


def sums(kernel: Kernel, code: Code, like: Sums, hint: str) -> Sums:
    """The sums of no items."""
    return Sums(like.states, {s.name: declare(code, kernel.tables, s, f"_{hint}") for s in like.states})


def append(kernel: Kernel, code: Code, left: Sums, right: Sums) -> None:
    """left becomes what left and then right come to."""
    join(kernel, code, left, left, right)


def prepend(kernel: Kernel, code: Code, left: Sums, right: Sums) -> None:
    """right becomes what left and then right come to."""
    join(kernel, code, right, left, right)


def joined(kernel: Kernel, code: Code, left: Sums, right: Sums, hint: str) -> Sums:
    """The sums of left and then right."""
    both = sums(kernel, code, left, hint)
    append(kernel, code, both, left)
    append(kernel, code, both, right)
    return both


def join(kernel: Kernel, code: Code, into: Sums, left: Sums, right: Sums) -> None:
    with code.block() as goes_on:
        for state in into.states:
            assign(code, into.names[state.name],
                   combine(code, kernel.tables, state, left.values(state), right.values(state)))
    if right.begins is None:
        code.statements += goes_on
        return
    with code.block() as starts_afresh:
        for state in into.states if into is not right else ():
            assign(code, into.names[state.name], right.values(state))
    unbroken = op("==", loops.Name(right.begins), integer(0))
    code.add(loops.If(unbroken, tuple(goes_on), tuple(starts_afresh)))
    if into.begins and left.begins:
        code.add(loops.Set(into.begins, op("or", loops.Name(left.begins), loops.Name(right.begins))))


def scan_warp(kernel: Kernel, code: Code, own: Sums) -> Sums:
    """Variables that hold what the lanes up to this one come to."""
    for offset in (1, 2, 4, 8, 16):
        left = shuffled(code, own, integer(offset), "left")
        with code.block() as others:
            prepend(kernel, code, left, own)
        code.add(loops.If(op(">=", LANE, integer(offset)), tuple(others)))
    return own


def scan_segments(kernel: Kernel, code: Code, own: Sums) -> Callable[[], Sums]:
    """The variables become what the runs up to each thread's own come to since the segment's begin; gives what loads
    what those before it do, after a barrier: till then no registers hold it.

    Each thread joins to its own what the thread `reach` before it has, if the segment began before its own, and then
    looks twice as far. So the joins are the same wherever in the block a segment begins: they depend on how many runs
    of it come before."""
    relay, reach = Relay(code, own), code.var("reach", "int", integer(1))
    with code.block() as further:
        before = relay.before(code, loops.Name(reach))
        with code.block() as others:
            prepend(kernel, code, before, own)
        code.add(loops.If(op(">=", THREAD, loops.Name(reach)), tuple(others)))
        code.add(loops.Set(reach, op("+", loops.Name(reach), loops.Name(reach))))
    code.add(loops.While(op("<", loops.Name(reach), integer(THREADS)), tuple(further)))
    return relay.last(code)


def join_lanes(kernel: Kernel, code: Code, own: Sums) -> None:
    """Afterwards the first lane holds what all come to, from the last lane to the first."""
    for offset in (1, 2, 4, 8, 16):
        prepend(kernel, code, shuffled(code, own, integer(offset), "above", "down"), own)


def chain_lanes(kernel: Kernel, code: Code, own: Sums, first: loops.Exp) -> None:
    """Afterwards the first lane holds what the lanes come to from the one with the bit `first` down to it, one joined
    after another."""
    reached = code.var("reached", "int", first)
    with code.block() as body:
        left = shuffled(code, own, integer(1), "left", "down")
        code.add(loops.Set(reached, op("rshift", loops.Name(reached), integer(1))))
        with code.block() as here:
            prepend(kernel, code, left, own)
        code.add(loops.If(op("==", op("lshift", integer(1), LANE), loops.Name(reached)), tuple(here)))
    code.add(loops.While(op(">", loops.Name(reached), integer(1)), tuple(body)))


def shuffled(code: Code, own: Sums, offset: loops.Exp, hint: str, mode: str = "up") -> Sums:
    """The values of the lane so far below; with 'down', of the one so far above."""
    def look(state: State, c: int) -> str:
        found = code.fresh(hint)
        code.add(loops.Let(found, state.monoid.types[c], loops.Shuffle(own.names[state.name][c], offset, mode)))
        return found

    return component_wise(own, look)


def fold_warps(kernel: Kernel, code: Code, into: Sums, warps: Parked, count: loops.Exp) -> None:
    """Appends what so many warps, from the first, come to."""
    warp = code.fresh("warp")
    with code.block() as body:
        append(kernel, code, into, warps.load(code, loops.Name(warp)))
    code.add(loops.For(warp, integer(0), count, tuple(body)))


class Parked:
    """Sums in shared memory."""

    def __init__(self, code: Code, like: Sums, hint: str, size: int) -> None:
        self.like = like
        self.arrays = {state.name: [code.shared(name, type_, size)
                                    for name, type_ in zip(state.buffers(hint), state.monoid.types, strict=True)]
                       for state in like.states}

    def store(self, code: Code, at: loops.Exp, found: Sums) -> None:
        for state in self.like.states:
            for array, name in zip(self.arrays[state.name], found.names[state.name], strict=True):
                code.add(loops.Store(array, at, loops.Name(name)))

    def load(self, code: Code, at: loops.Exp) -> Sums:
        def element(array: str, type_: str) -> str:
            name = code.fresh(f"{array}_at")
            code.add(loops.Let(name, type_, loops.Load(array, at)))
            return name

        return component_wise(self.like, lambda state, c: element(self.arrays[state.name][c], state.monoid.types[c]))


class Aside:
    """Shared memory for what the first warp's threads hold while they do what takes many registers."""

    def __init__(self, code: Code) -> None:
        self.code, self.arrays = code, dict[tuple[str, int], str]()

    @contextmanager
    def first_warp(self, held: Sequence[Variable]) -> Iterator[None]:
        """Let the first warp do what is written meanwhile, while these variables are there."""
        for place, (_, type_) in enumerate(held):
            if (type_, place) not in self.arrays:
                self.arrays[type_, place] = self.code.shared(f"{type_}_aside", type_, WARP)
        kept = [(name, self.arrays[type_, place]) for place, (name, type_) in enumerate(held)]
        with first_warp(self.code):
            self.code.statements += [loops.Store(array, THREAD, loops.Name(name)) for name, array in kept]
            yield
            self.code.statements += [loops.Set(name, loops.Load(array, THREAD)) for name, array in kept]


class Relay:
    """Shared memory through which threads see what others hold in these variables: some at a time, since there is not
    much of it."""

    def __init__(self, code: Code, own: Sums) -> None:
        self.own, self.arrays = own, dict[tuple[str, int], str]()
        held = own.variables
        self.batches = [list(enumerate(held[first:first + AT_A_TIME])) for first in range(0, len(held), AT_A_TIME)]
        for place, (_, type_) in [held for batch in self.batches for held in batch]:
            if (type_, place) not in self.arrays:
                self.arrays[type_, place] = code.shared(f"relayed_{type_}", type_, THREADS)

    def before(self, code: Code, distance: loops.Exp) -> Sums:
        """The values of the thread so far before this one; of the first where there is none. All have seen them when
        one goes on."""
        seen = dict[str, str]()
        for batch in self.batches:
            self.exchange(code, batch, distance, seen)
        return self.found(seen)

    def last(self, code: Code) -> Callable[[], Sums]:
        """Loads those of the thread before this one, after a barrier. Threads tell nothing any more, so that they may
        look late."""
        seen, (*full, rest) = dict[str, str](), self.batches
        for batch in full:
            self.exchange(code, batch, integer(1), seen)
        self.tell(code, rest)

        def load() -> Sums:
            self.look(code, rest, integer(1), seen)
            return self.found(seen)

        return load

    def exchange(self, code: Code, batch: Batch, distance: loops.Exp, seen: dict[str, str]) -> None:
        self.tell(code, batch)
        code.add(loops.Barrier())
        self.look(code, batch, distance, seen)
        code.add(loops.Barrier())

    def tell(self, code: Code, batch: Batch) -> None:
        for place, (name, type_) in batch:
            code.add(loops.Store(self.arrays[type_, place], THREAD, loops.Name(name)))

    def look(self, code: Code, batch: Batch, distance: loops.Exp, seen: dict[str, str]) -> None:
        at = code.let_int("at", op("max", op("-", THREAD, distance), integer(0)))
        for place, (name, type_) in batch:
            seen[name] = code.fresh("before")
            code.add(loops.Let(seen[name], type_, loops.Load(self.arrays[type_, place], at)))

    def found(self, seen: dict[str, str]) -> Sums:
        found = component_wise(self.own, lambda state, c: seen[self.own.names[state.name][c]])
        return replace(found, begins=seen[self.own.begins]) if self.own.begins else found
