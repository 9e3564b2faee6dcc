"""Joins elements of short rows by eights, of which the last has lanes behind the row's end: for processors with masks.

    for (i = whole; i < beyond; i += 1) {           for (eight = whole; eight < beyond; eight += 8) {
      float x = xs[i];                                prefetch xs[eight + 256];
      sum = sum + x;                                  for (lane = 0; lane < 8; lane += 1) { lanes[lane] = 0.0; }
    }                                                 for (lane = 0; lane < 8; lane += 1) {
                                                        var float sum.lane = lanes[lane];
                                                        if (eight + lane < beyond) {
                                             ->           int i = eight + lane;
                                                          float x = xs[i];
                                                          sum.lane = sum.lane + x;
                                                        }
                                                        lanes[lane] = sum.lane;
                                                      }
                                                      for (lane = 0; lane < 8; lane += 1) { sum = sum + lanes[lane]; }
                                                    }

An end of a row that nobody can foresee costs a processor as much as ten elements, and so does an operation that waits
for the one before it. A vector has the same end for all rows that it has room for.

What rounds is joined in the order that it was: lanes without an element are neutral. What does not (a maximum, and
where it is) goes round in the lanes until the row ends, and then a half of the lanes is joined to the other, and so on.
Masked vectors that a loop reads are not foreseen as other elements are, so it asks for them.
"""
from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from itertools import count

from nessie.base.parts import updated
from nessie.base.records import dataclass
from nessie.cudagen.cpu.rewrites.rows_ahead import replaced
from nessie.cudagen.cpu.row_loops import depends, divides, gathers, names_of_read, slow
from nessie.cudagen.kernels.code import integer, op
from nessie.cudagen.loops.marks import all_marked
from nessie.cudagen.loops.nodes import (
    Const,
    Exp,
    For,
    Function,
    If,
    Let,
    Load,
    Name,
    Op,
    Prefetch,
    Set,
    Shared,
    Stmt,
    Store,
    Var,
)
from nessie.cudagen.loops.walk import (
    EXPRESSIONS,
    all_parts,
    bound_names,
    expressions,
    names,
    statements,
    with_blocks,
)
from nessie.cudagen.skeletons.cpu.lanes import LANES
from nessie.lambda_cu.ops import OPS

AHEAD = 256                     # elements before one that is asked for
TWO = 2 * LANES                 # elements of two eights
EXACT = frozenset({"max", "min", "and", "or", "xor", "==", "/=", "<", "<=", ">", ">=", "not", "select"})
LANE = Name("lane")


@dataclass(frozen=True)
class State:
    """A variable that elements are joined to, its type, what is neutral, and the array that holds its lanes. `exact`:
    in any order it comes to the same."""
    name: str
    type: str
    neutral: Exp
    lanes: str
    exact: bool = True


@dataclass(frozen=True)
class Joined:
    """A loop that joins elements to states; `join` does it with the lanes of number LANE."""
    loop: For
    states: tuple[State, ...]
    join: tuple[Stmt, ...]


# What is left of rows after whole eights (skeletons.cpu.lanes) --------------------------------------


def in_eights(function: Function) -> Function:
    """The function, in which what is left of an irregular row is eights, too."""
    if function.kind != "host":
        return function
    types = {s.name: s.type for s in statements(function.body) if isinstance(s, Var)}
    rewriter = Rewriter(names_of_read(function, by_others=False), types)
    return updated(function, body=tuple([new for s in function.body for new in rewriter.changed(s)]))


@dataclass
class Rewriter:
    """`loaded`: the names that hold what the function has loaded; `types`: those of its variables; `walks`: where
    whole eights end, what begins the lanes and what joins them."""
    loaded: frozenset[str]
    types: Mapping[str, str]
    walks: dict[Exp, tuple[For, For]] = field(default_factory=dict)
    numbers: Iterator[int] = field(default_factory=count)

    def changed(self, statement: Stmt) -> list[Stmt]:
        match statement:
            case If(Op("<", (_, Name() as whole)), (For() as begin, For(), For() as join), ()):
                self.walks[whole] = begin, join
            case For(low=whole) if whole in self.walks and depends(statement.high, self.loaded):
                if (rest := in_lanes(statement, *self.walks[whole], self.types)) is not None:
                    return by_eights(rest, f".e{next(self.numbers)}")
        return [with_blocks(statement, self.changed)]


def in_lanes(loop: For, begin: For, join: For, types: Mapping[str, str]) -> Joined | None:
    """The loop, if it may go on with the lanes."""
    sets = [s for s in join.body if isinstance(s, Set)]
    stores = [s for s in begin.body if isinstance(s, Store)]
    inside = list(statements(loop.body))
    changed = {s.name for s in inside if isinstance(s, Set)} - set(bound_names(loop.body))
    simple = all([isinstance(s, Let | Set) for s in join.body]) and all(
        [isinstance(s, Let | Var | If | Set) for s in inside])
    if not simple or changed != {s.name for s in sets} or len(sets) != len(stores) \
            or gathers(loop.body, set()) or slow(loop.body) or divides(loop.body):
        return None
    operators = {s.name: joined_by(s.value) for s in sets}
    every = {part.op for part in all_parts(join.body) if isinstance(part, Op)}
    once = [s.name for s in inside if isinstance(s, Set) and s.name in changed]
    if not every <= EXACT and (None in operators.values() or len(once) > len(changed)):
        return None
    states = [State(s.name, types[s.name], store.value, store.array, every <= EXACT or operators[s.name] in EXACT)
              for s, store in zip(sets, stores, strict=True)]
    with_lane = [EXPRESSIONS.map(s, lambda e: replaced(e, {Name(join.index): LANE})) for s in join.body]
    return Joined(loop, tuple(states), tuple(with_lane))


def joined_by(value: Exp) -> str | None:
    """The operator, if it joins two names."""
    match value:
        case Op("+" | "*" | "max" | "min" | "and" | "or" as operator, (Name(), Name())):
            return operator
    return None


# Rows that are joined by one exact operation for each state ------------------------------------------


def few_in_eights(loop: For, types: Mapping[str, str], mark: str) -> list[Stmt] | None:
    """What a loop does that joins a row so (cudagen.cpu.row_loops), by eights, if it does nothing else with its states.
    `types`: those of variables."""
    own = bound_names(loop.body)
    joins = [(s.name, s.value.op) for s in statements(loop.body)
             if isinstance(s, Set) and s.name not in own and isinstance(s.value, Op)]
    operators = dict(joins)
    reads = [name for s in statements(loop.body) for exp in expressions(s) for name in names(exp) if name in operators]
    if len(reads) != len(joins) or len(set(joins)) != len(operators):
        return None
    states = tuple([State(name, types[name], Const(OPS[operator].unit[types[name]], types[name]), f"{name}.lanes{mark}")
                    for name, operator in operators.items()])
    join = tuple([Set(s.name, op(operators[s.name], Name(s.name), Load(s.lanes, LANE))) for s in states])
    return [*[Shared(s.lanes, s.type, LANES) for s in states], *by_eights(Joined(loop, states, join), mark)]


# The text -----------------------------------------------------------------------------------------


def by_eights(joined: Joined, mark: str) -> list[Stmt]:
    """The loop, by eights; where they are joined in order always two, which is what most rows have that have no lanes,
    so that these end alike."""
    low, high, eight = [Name(f"{name}{mark}") for name in ("low", "high", "eight")]
    exact, rounded = [[s for s in joined.states if s.exact == same] for same in (True, False)]
    begin = [Store(s.lanes, LANE, op("select", op("==", LANE, integer(0)), Name(s.name), s.neutral)) for s in exact]
    empty = [Store(s.lanes, LANE, s.neutral) for s in rounded]
    asks = [Prefetch(array, op("+", eight, integer(AHEAD))) for array in arrays_at(joined.loop)]
    eights = For(eight.name, low, op("max", high, op("+", low, integer(TWO))) if rounded else high, (
        *each_lane(LANES, f"{mark}.empty", empty), *asks, *elements(joined, eight, high, mark),
        *each_lane(LANES, f"{mark}.join", joins(joined, rounded))), integer(LANES))
    halves = [s for half in (LANES // 2, LANES // 4, LANES // 8) for s in halved(joined, exact, half, f"{mark}.{half}")]
    end = [Set(s.name, Load(s.lanes, integer(0))) for s in exact]
    walk = (*each_lane(LANES, f"{mark}.begin", begin), eights, *halves, *end)
    bounds = (Let(low.name, "int", joined.loop.low), Let(high.name, "int", joined.loop.high))
    return [*bounds, *walk] if rounded else [*bounds, If(op("<", low, high), walk)]


def elements(joined: Joined, eight: Name, high: Name, mark: str) -> tuple[Stmt, ...]:
    """Eight elements, those before `high`, join a lane each."""
    index = op("+", eight, LANE)
    return each_lane(LANES, f"{mark}.lane", [
        *[Var(s.name, s.type, Load(s.lanes, LANE)) for s in joined.states],
        If(op("<", index, high), (Let(joined.loop.index, "int", index), *joined.loop.body)),
        *[Store(s.lanes, LANE, Name(s.name)) for s in joined.states]])


def joins(joined: Joined, states: Sequence[State]) -> list[Stmt]:
    """What joins lanes of these states."""
    names = {s.name for s in states}
    return [s for s in joined.join if names and not (isinstance(s, Set) and s.name not in names)]


def halved(joined: Joined, states: Sequence[State], half: int, mark: str) -> tuple[Stmt, ...]:
    """So many lanes are joined with as many after them. It is done with half a vector: lanes after these are written,
    too, and nobody reads them."""
    lanes = {s.name: s.lanes for s in states}

    def exp(found: Exp) -> Exp:
        match found:
            case Load(array, Name(LANE.name)):
                return Load(array, op("+", LANE, integer(half)))
            case Name(name) if name in lanes:
                return Load(lanes[name], LANE)
        return EXPRESSIONS.map(found, exp)

    body = [EXPRESSIONS.map(s, exp) for s in joins(joined, states)]
    return each_lane(LANES // 2, mark, [Store(lanes[s.name], LANE, s.value) if isinstance(s, Set) else s for s in body])


def each_lane(lanes: int, mark: str, body: Sequence[Stmt]) -> tuple[Stmt, ...]:
    return all_marked((For(LANE.name, integer(0), integer(lanes), tuple(body)),), mark) if body else ()


def arrays_at(loop: For) -> list[str]:
    """The arrays whose elements the loop reads at its index."""
    return sorted({part.array for part in all_parts(loop.body)
                   if isinstance(part, Load) and part.index == Name(loop.index)})
