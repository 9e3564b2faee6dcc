"""What the lanes of one owner do together: a block of threads, a warp, a part of a warp, or one thread, which need not
do anything for that. Others of the block or of the warp may be elsewhere meanwhile.

    meet        see what the others have written
    total       sums of what the lanes have; all lanes have them afterwards
    before      sums of what comes before each lane's element, chunk after chunk of the segment
"""
from __future__ import annotations

from collections.abc import Sequence

from nessie.base.records import dataclass
from nessie.cudagen.kernels.code import Code, Value, integer, op
from nessie.cudagen.loops import nodes as loops
from nessie.cudagen.loops.plan import THREADS
from nessie.cudagen.skeletons.cuda.blocks import BLOCK, BLOCKS, THREAD, WARP, WARPS
from nessie.cudagen.skeletons.kernel import Kernel
from nessie.cudagen.skeletons.states import State, assign, combine, current

Names = dict[str, tuple[str, ...]]              # variables, by state


@dataclass(frozen=True)
class Team:
    """An owner of so many lanes. `lane`: the number of the thread's among them."""
    lanes: int
    lane: loops.Exp

    @property
    def whole(self) -> bool:
        """Is it a block?"""
        return self.lanes == THREADS

    @property
    def together(self) -> int:
        """The number of lanes that shuffle."""
        return min(self.lanes, WARP)

    def first(self, body: Sequence[loops.Stmt]) -> tuple[loops.Stmt, ...]:
        """What the first lane does."""
        if self.lanes == 1 or not body:
            return tuple(body)
        return (loops.If(op("==", self.lane, integer(0)), tuple(body)),)


def team_of(code: Code, lanes: int) -> tuple[Team, loops.Exp, loops.Exp]:
    """The thread's team, its number among those of all blocks, and how many there are."""
    lane = integer(0) if lanes == 1 else THREAD if lanes == THREADS else code.let_int(
        "lane", op("and", THREAD, integer(lanes - 1)))
    many = THREADS // lanes
    if many == 1:
        return Team(lanes, lane), BLOCK, BLOCKS
    own = THREAD if lanes == 1 else op("/", THREAD, integer(lanes))
    return (Team(lanes, lane), code.let_int("owner", op("+", op("*", BLOCK, integer(many)), own)),
            code.let_int("owners", op("*", BLOCKS, integer(many))))


def meet(code: Code, team: Team) -> None:
    if team.lanes > 1:
        code.add(loops.Barrier() if team.whole else loops.Barrier(True, team.lanes))


def shuffled(code: Code, state: State, names: tuple[str, ...], offset: int, mode: str, lanes: int) -> tuple[Value, ...]:
    return tuple([code.let(hint, Value(loops.Shuffle(name, integer(offset), mode, lanes), type_))
                  for hint, name, type_ in zip(state.buffers("other"), names, state.monoid.types, strict=True)])


def offsets(team: Team) -> list[int]:
    return [1 << bit for bit in range(team.together.bit_length() - 1)]


# Totals -----------------------------------------------------------------------------------------


def total(kernel: Kernel, code: Code, team: Team, now: Names, states: Sequence[State]) -> None:
    """The variables become what those of all lanes come to. The operators commute."""
    if team.lanes == 1:
        return
    for state in states:
        names = now[state.name]
        for offset in offsets(team):
            assign(code, names, combine(code, kernel.tables, state, current(state, names),
                                        shuffled(code, state, names, offset, "down", team.together)))
        if not team.whole:
            assign(code, names, shuffled(code, state, names, 0, "index", team.together))
    if team.whole:
        parked = [park(code, state, now[state.name], 0) for state in states]
        code.add(loops.Barrier())
        for state, arrays in zip(states, parked, strict=True):
            assign(code, now[state.name], at_warp(code, state, arrays, integer(0)))
            warp = code.fresh("warp")
            with code.block() as rest:
                assign(code, now[state.name], combine(code, kernel.tables, state, current(state, now[state.name]),
                                                      at_warp(code, state, arrays, loops.Name(warp))))
            code.add(loops.For(warp, integer(1), integer(WARPS), tuple(rest)))


def park(code: Code, state: State, names: tuple[str, ...], lane: int) -> list[str]:
    """Arrays in shared memory with what this lane of each warp has."""
    arrays = [code.shared_above(name, type_, WARPS)
              for name, type_ in zip(state.buffers("warps"), state.monoid.types, strict=True)]
    own = op("==", op("and", THREAD, integer(WARP - 1)), integer(lane))
    code.add(loops.If(own, tuple([loops.Store(array, op("/", THREAD, integer(WARP)), loops.Name(name))
                                  for array, name in zip(arrays, names, strict=True)])))
    return arrays


def at_warp(code: Code, state: State, arrays: list[str], warp: loops.Exp) -> tuple[Value, ...]:
    return tuple([code.let(f"{array}_at", Value(loops.Load(array, warp), type_))
                  for array, type_ in zip(arrays, state.monoid.types, strict=True)])


# What comes before ------------------------------------------------------------------------------


def before(kernel: Kernel, code: Code, team: Team, now: Names, terms: Names, states: Sequence[State],
           alone: bool) -> Names:
    """Of a chunk of the segment, in which each lane has one element's terms: variables with what comes before each
    element. `now` is what the chunks before come to, and then this one, too. `alone`: no other lanes' sums follow in
    this round, so that they meet once more before the next."""
    found: Names = {}
    parked: list[list[str]] = []
    for state in states:
        names = terms[state.name]
        for offset in offsets(team):
            left = shuffled(code, state, names, offset, "up", team.together)
            with code.block() as others:
                assign(code, names, combine(code, kernel.tables, state, left, current(state, names)))
            code.add(loops.If(op(">=", in_warp(team), integer(offset)), tuple(others)))
        found[state.name] = tuple([code.var(hint, value.type, value.exp) for hint, value in
                                   zip(state.buffers("before"), current(state, now[state.name]), strict=True)])
        if team.whole:
            parked.append(park(code, state, names, WARP - 1))
    if team.whole:
        code.add(loops.Barrier())
        for state, arrays in zip(states, parked, strict=True):
            fold_warps(kernel, code, state, now[state.name], found[state.name], arrays)
    for state in states:
        left = shuffled(code, state, terms[state.name], 1, "up", team.together)
        with code.block() as others:
            assign(code, found[state.name],
                   combine(code, kernel.tables, state, current(state, found[state.name]), left))
        code.add(loops.If(op(">", in_warp(team), integer(0)), tuple(others)))
        if not team.whole:
            last = shuffled(code, state, terms[state.name], team.lanes - 1, "index", team.together)
            assign(code, now[state.name], combine(code, kernel.tables, state, current(state, now[state.name]), last))
    if team.whole and alone:
        code.add(loops.Barrier())
    return found


def in_warp(team: Team) -> loops.Exp:
    return op("and", THREAD, integer(WARP - 1)) if team.whole else team.lane


def fold_warps(kernel: Kernel, code: Code, state: State, now: tuple[str, ...], found: tuple[str, ...],
               arrays: list[str]) -> None:
    """Go through the warps; what comes before the thread's own is found on the way."""
    warp = code.fresh("warp")
    with code.block() as body:
        own = op("==", loops.Name(warp), op("/", THREAD, integer(WARP)))
        code.add(loops.If(own, tuple([loops.Set(name, value.exp) for name, value in
                                      zip(found, current(state, now), strict=True)])))
        assign(code, now, combine(code, kernel.tables, state, current(state, now),
                                  at_warp(code, state, arrays, loops.Name(warp))))
    code.add(loops.For(warp, integer(0), integer(WARPS), tuple(body)))
