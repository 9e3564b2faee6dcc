"""Sums of the GPU's carries: what some items come to, held by threads, in shared memory, and joined in order.

Carries may restart with each segment: then what comes before the last end of a segment plays no part, so that sums say
whether a segment has ended in them. Joining is associative, and nothing more is asked of it.
"""
from __future__ import annotations

from collections.abc import Callable

from nessie.base.records import dataclass
from nessie.cudagen import loops
from nessie.cudagen.code import Code, Value, integer, op
from nessie.cudagen.skeletons.cuda_blocks import LANE, shared_array
from nessie.cudagen.skeletons.kernel import Kernel
from nessie.cudagen.skeletons.states import State, assign, combine, current, declare


@dataclass(frozen=True)
class Sums:
    """Variables that hold what some items come to, state by state; `ended`: whether a segment ended among them."""
    states: tuple[State, ...]
    names: dict[str, tuple[str, ...]]
    ended: str | None

    def values(self, state: State) -> tuple[Value, ...]:
        return current(state, self.names[state.name])


def restarting(states: list[State]) -> bool:
    return any(state.restarts for state in states)


def all_restart(found: Sums) -> bool:
    return all(state.restarts for state in found.states)


def component_wise(like: Sums, component: Callable[[State, int], str], ended: Callable[[], str]) -> Sums:
    """Sums whose variables are given by state and component; and, if there is need, whether a segment ended."""
    names = {state.name: tuple([component(state, c) for c in range(len(state.monoid.types))]) for state in like.states}
    return Sums(like.states, names, ended() if like.ended else None)


def sums(kernel: Kernel, code: Code, like: Sums, hint: str) -> Sums:
    """Those of no items."""
    names = {state.name: declare(code, kernel.tables, state, f"_{hint}") for state in like.states}
    return Sums(like.states, names, code.var(f"{hint}_ended", "int", integer(0)) if like.ended else None)


def append(kernel: Kernel, code: Code, left: Sums, right: Sums) -> None:
    """left becomes what left and then right come to."""
    join(kernel, code, left, left, right)


def prepend(kernel: Kernel, code: Code, left: Sums, right: Sums) -> None:
    """right becomes what left and then right come to."""
    join(kernel, code, right, left, right)


def joined(kernel: Kernel, code: Code, left: Sums, right: Sums, hint: str) -> Sums:
    """What left and then right come to."""
    both = sums(kernel, code, left, hint)
    append(kernel, code, both, left)
    append(kernel, code, both, right)
    return both


def join(kernel: Kernel, code: Code, into: Sums, left: Sums, right: Sums) -> None:
    def combined(restarts: bool) -> None:
        for state in into.states:
            if state.restarts == restarts:
                assign(code, into.names[state.name],
                       combine(code, kernel.tables, state, left.values(state), right.values(state)))

    with code.block() as goes_on:
        combined(restarts=True)
    with code.block() as starts_afresh:
        for state in into.states:
            if state.restarts and into is not right:
                assign(code, into.names[state.name], right.values(state))
    combined(restarts=False)
    if into.ended and left.ended and right.ended:
        unbroken = op("==", loops.Name(right.ended), integer(0))
        code.add(loops.If(unbroken, tuple(goes_on), tuple(starts_afresh)))
        code.add(loops.Set(into.ended, op("or", loops.Name(left.ended), loops.Name(right.ended))))


def scan_warp(kernel: Kernel, code: Code, own: Sums) -> Sums:
    """Variables that hold what the lanes up to this one come to."""
    for offset in (1, 2, 4, 8, 16):
        left = shuffled(code, own, integer(offset), "left")
        with code.block() as others:
            prepend(kernel, code, left, own)
        code.add(loops.If(op(">=", LANE, integer(offset)), tuple(others)))
    return own


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
    """What the lane so far below holds; with 'down', what the one so far above does."""
    def look(name: str, type_: str) -> str:
        found = code.fresh(hint)
        code.add(loops.Let(found, type_, loops.Shuffle(name, offset, mode)))
        return found

    return component_wise(own, lambda state, at: look(own.names[state.name][at], state.monoid.types[at]),
                          lambda: look(str(own.ended), "int"))


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
        self.arrays = {state.name: [shared_array(code, name, type_, size)
                                    for name, type_ in zip(state.buffers(hint), state.monoid.types, strict=True)]
                       for state in like.states}
        self.ended = shared_array(code, f"{hint}_ended", "int", size) if like.ended else None

    def store(self, code: Code, at: loops.Exp, found: Sums) -> None:
        for state in self.like.states:
            for array, name in zip(self.arrays[state.name], found.names[state.name], strict=True):
                code.add(loops.Store(array, at, loops.Name(name)))
        if self.ended and found.ended:
            code.add(loops.Store(self.ended, at, loops.Name(found.ended)))

    def load(self, code: Code, at: loops.Exp) -> Sums:
        def element(array: str, type_: str) -> str:
            name = code.fresh(f"{array}_at")
            code.add(loops.Let(name, type_, loops.Load(array, at)))
            return name

        return component_wise(self.like, lambda state, c: element(self.arrays[state.name][c], state.monoid.types[c]),
                              lambda: element(str(self.ended), "int"))
