"""A mapping of a space: what the host computes, what is launched, and how a thread finds its index.

The last axes of `GridBlock(b, m)` are threads of a block, x the innermost; those before are blocks of the grid,
likewise (section 5.2). `Levels` says so for each axis; `serial` axes are loops of the thread. Steps that are left are
guards.
"""
from __future__ import annotations

from collections.abc import Mapping

from nessie.base.names import Names
from nessie.base.records import dataclass
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu.mappings import nodes as maps
from nessie.lambda_cu.mappings.axes import Space, many, value
from nessie.lambda_cu.mappings.combinators import (
    Index,
    Lets,
    TooLarge,
    Unmappable,
    WrongRank,
    are,
    back,
    begins_at_0,
    chain,
    demands,
    forward,
    is_independent,
    steps_left,
)
from nessie.lambda_cu.mappings.levels import GPU, LEVELS, TABLE, Limits, beyond
from nessie.lambda_cu.parts import subexpressions
from nessie.lambda_cu.scope import free_names
from nessie.lambda_cu.spaces.closed import ONE, ZERO

DIRECTIONS = "xyz"
ORDER = {"grid": 0, "block": 1, "serial": 2}


@dataclass(frozen=True)
class Mapped:
    """`stages`: the space, and what each combinator makes of it; `host`: what is computed before the launch, by name;
    `grid` and `block`: how many blocks and threads there are, in the directions x, y, z; `loops`: what a thread goes
    through, by name; `code`: how a thread finds its index; `guards`: when it has one; `index`: it."""
    mapping: maps.Top
    stages: tuple[Space, ...]
    host: Mapping[str, ir.Exp]
    grid: Index
    block: Index
    loops: Mapping[str, ir.Exp]
    code: Mapping[str, ir.Exp]
    guards: Index
    index: Index

    @property
    def passed(self) -> list[str]:
        """The names of the host that a thread needs: they are passed, not computed again (section 6.3)."""
        used = {name for exp in (*self.code.values(), *self.guards, *self.index, *self.loops.values())
                for name in free_names(exp)}
        return sorted(used - set(self.code) - set(self.loops) - set(PLACES))


PLACES = [f"{what}_{direction}" for what in ("blockIdx", "threadIdx") for direction in DIRECTIONS]


def mapped(mapping: maps.Top, space: Space, taken: Names | None = None) -> Mapped:
    """Return the mapping of the space; raise Unmappable where the space has none. `taken`: names that stay free."""
    names = taken or Names({name for axis in space for exp in (axis.low, axis.high, axis.step, axis.width)
                            for name in free_names(exp)})
    host, code = Lets.of("", names), Lets.of("", names)
    steps, stages = chain(mapping), [space]
    for step in steps:
        demands(step, stages[-1])
        stages.append(forward(step, stages[-1], host))
    last = stages[-1]
    levels = levels_of(mapping, last)
    where = places(levels)
    loops = {place: axis.high for place, axis in zip(where, last) if place not in PLACES}
    shape = {place: axis.high for place, axis in zip(where, last) if place in PLACES}
    at: Index = tuple([ZERO if axis.high == ONE else ir.Var(place) for place, axis in zip(where, last)])
    guards = steps_left(last, at)
    for step, before in reversed(list(zip(steps, stages))):
        at, more = back(step, before, at, code)
        guards += more
    grid, block = [tuple([shape.get(f"{what}_{direction}", ONE) for direction in DIRECTIONS])
                   for what in ("blockIdx", "threadIdx")]
    return Mapped(mapping, tuple(stages), host.bound, grid, block, loops, code.bound, tuple(dict.fromkeys(guards)), at)


def launchable(made: Mapped) -> Mapped:
    """The mapping; raise Unmappable where its blocks have more threads than there can be, whatever the sizes are."""
    known = tuple([int(exp.value) if isinstance(exp, ir.Const) else 1 for exp in made.block])
    if over := beyond((1, 1, 1), known):
        long = [step for step in chain(made.mapping) if length_in(step) > max(Limits().block)]
        raise TooLarge(long[-1] if long else made.mapping, over)
    return made


def length_in(step: maps.Combinator) -> int:
    """How long an axis is that the combinator makes, if it says so."""
    match step:
        case maps.SplitLast(by=length) | maps.Split(by=length) | maps.PadLast(to=length):
            return length
    return 0


def levels_of(mapping: maps.Top, space: Space) -> tuple[str, ...]:
    """Return the level of each axis, and check that there are enough directions."""
    rank = len(space)
    begins_at_0(mapping, space)
    is_independent(mapping, space)
    match mapping:
        case maps.GridBlock(block):
            if not 0 <= block <= 3:
                raise Unmappable(mapping, f"a block has at most 3 directions, not {block}")
            if block > rank:
                raise WrongRank(mapping, f"GridBlock({block}, ...) takes {block} axes, and here {are(rank)}: "
                                         "SplitLast(32, ...) makes one more")
            levels = ("grid",) * (rank - block) + ("block",) * block
        case maps.Levels(levels):
            if len(levels) != rank:
                raise WrongRank(levels, f"Levels names {many(len(levels), 'level')}, and here {are(rank)}")
            if missing := [level for level in levels if not set(GPU) <= set(LEVELS[level].targets)]:
                raise Unmappable(levels, f"{missing[0]} is a level of CPUs, which mappings do not change; GPUs have "
                                          f"{', '.join([level.name for level in TABLE if 'cuda' in level.targets])}")
            levels = tuple(["serial" if level == "thread" else level for level in levels])
            if strange := [level for level in levels if level not in ORDER]:
                if strange[0] == "lane":
                    raise Unmappable(mapping.levels, "lane stands behind who owns a segment, as warp, lane; axes of "
                                                     "one length go to grid, block and thread")
                raise Unmappable(mapping.levels, f"{strange[0]} walks segments, as {strange[0]} or {strange[0]}, lane; "
                                                 "axes of one length go to grid, block and thread")
            if list(levels) != sorted(levels, key=ORDER.__getitem__):
                raise Unmappable(mapping.levels, "levels go from grid over block to thread: Permute orders axes")
    for level in ("grid", "block"):
        if levels.count(level) > 3:
            raise Unmappable(mapping, f"{levels.count(level)} axes are left for the {level}, which has 3 directions: "
                                      "FoldLast2 first")
    return levels


def places(levels: tuple[str, ...]) -> list[str]:
    """Return the names of the axes' indices in a thread: of the grid and of the block, x is the innermost."""
    count = {level: levels.count(level) for level in ORDER}
    found, seen = [], dict.fromkeys(ORDER, 0)
    for level in levels:
        at = count[level] - 1 - seen[level]
        seen[level] += 1
        found.append({"grid": "blockIdx_", "block": "threadIdx_", "serial": "loop_"}[level] +
                     (DIRECTIONS[at] if level != "serial" else str(seen[level] - 1)))
    return found


def operations(made: Mapped) -> tuple[int, int]:
    """Return how many divisions, and how many other operations, find an index."""
    found = [part.op for exp in (*made.code.values(), *made.guards, *made.index) for part in subexpressions(exp)
             if isinstance(part, ir.Op)]
    divisions = sum([op in ("/", "rem") for op in found])
    return divisions, len(found) - divisions


def shown_operations(divisions: int, others: int) -> str:
    return f"{divisions or 'no'} division{'s' * (divisions > 1)}, {others} other operation{'s' * (others != 1)}"


def sizes_of(made: Mapped, sizes: Mapping[str, int]) -> dict[str, int]:
    """Return the sizes, and what the host computes of them."""
    known = dict(sizes)
    for name, exp in made.host.items():
        known[name] = value(exp, known)
    return known


def launch_of(made: Mapped, sizes: Mapping[str, int]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the blocks and the threads of the launch for these sizes."""
    known = sizes_of(made, sizes)
    return tuple([value(exp, known) for exp in made.grid]), tuple([value(exp, known) for exp in made.block])
