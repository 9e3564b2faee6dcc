"""The order in which the CPU adds up the elements of a block: eight lanes, which vectors hold.

    for (i = low; i < whole; i += 8)                    whole: as many eights as there are
      for (lane = 0; lane < 8; lane += 1)
        sum_lanes[lane] = sum_lanes[lane] + xs[i + lane];
    for (lane = 0; lane < 8; lane += 1)
      sum_now = sum_now + sum_lanes[lane];
    for (i = whole; i < high; i += 1)                   the rest
      sum_now = sum_now + xs[i];

Floats round at each addition, so the order makes the bits. This one depends on the number of elements alone, and is no
compiler's choice: the lanes do not depend on each other, so that LLVM may compute them together, and cannot tell the
difference. Fewer than sixteen elements are added from left to right.

Of rows that are many elements together, what is read where these lie is asked for in advance: processors foresee the
next lines of memory, but none in another page, and the vectors of a row begin anywhere in a line, so that each waits
for two. Offsets say where irregular rows lie: those have their own way (cudagen.cpu.rewrites.rows_ahead).

A state is joined in lanes if its operator commutes, unless it has one exact operation for each component (a maximum, a
sum of ints), which LLVM joins by itself; all else is combined in order, element by element, in the same loops. Where no
state rounds, few elements are not worth the lanes.
"""
from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from nessie.cudagen.kernels.code import integer, op
from nessie.cudagen.kernels.walk import SEGMENT
from nessie.cudagen.loops import nodes as loops
from nessie.cudagen.loops.walk import all_parts
from nessie.cudagen.skeletons.cpu.interiors import Inner, in_parts, inner_range
from nessie.cudagen.skeletons.elements import Sweep
from nessie.cudagen.skeletons.interiors import interiors
from nessie.cudagen.skeletons.states import State, commutative, identity
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu.parts import subexpressions

LANES = 8                       # a power of two
AHEAD = 1024                    # elements before one that is asked for
MANY = 2 ** 20                  # elements that caches near the processor do not hold
LONG = 64                       # elements that are worth the lanes, where their order makes no bits
ROUNDED = frozenset({"+", "*"})


def use_lanes(run: Sweep, states: list[State]) -> None:
    """Has those of the states that are summed in lanes held by arrays, which last as long as the function."""
    of_elements = {step.name for step in run.walk.steps if step.place != SEGMENT}
    for state in states:
        if state.name in of_elements and gains(state) and commutative(state):
            run.lanes[state.name] = tuple([run.code.shared(buffer, type_, LANES) for buffer, type_ in
                                           zip(state.buffers("lanes"), state.monoid.types, strict=True)])


def rounds(state: State) -> bool:
    return "float" in state.monoid.types and any(isinstance(e, ir.Op) and e.op in ROUNDED
                                                 for e in subexpressions(state.monoid.operator.body))


def gains(state: State) -> bool:
    """Is there anything that a compiler does not join in lanes by itself, as it does one exact operation?"""
    body = state.monoid.operator.body
    alone = all(isinstance(e, ir.Op) for e in (body.items if isinstance(body, ir.Tuple) else (body,)))
    return rounds(state) or not alone


def elements(run: Sweep, low: loops.Exp, high: loops.Exp, segment: loops.Exp | None = None,
             start: loops.Exp | None = None) -> None:
    """The root's elements from low to before high; where there are segments, all of one."""
    code = run.code
    if run.lanes or interiors(run):
        low, high = code.let_int("first", low), code.let_int("beyond", high)
    inner = inner_range(run, low, high, segment, start)
    if run.lanes:
        length = code.let_int("length", op("-", high, low))
        rounding = any(rounds(state) for state in run.states.values() if state.name in run.lanes)
        fewest = 2 * LANES if rounding else LONG
        eights = op("select", op("<", length, integer(fewest)), integer(0), op("and", length, integer(-LANES)))
        whole = code.let_int("whole", op("+", low, eights))
        with code.block() as in_lanes:
            by_lanes(run, low, whole, segment, start, None if inner is None else eights_of(inner, low, whole))
        code.add(loops.If(op("<", low, whole), tuple(in_lanes)))
        low, inner = whole, None
    in_parts(run, low, high, inner, "i", lambda index: run.root(index, segment, start))


def eights_of(inner: Inner, low: loops.Exp, whole: loops.Exp) -> Inner:
    """The eights, counted from `low`, that lie in the interior."""
    before = op("-", op("+", inner.first, integer(LANES - 1)), low)
    first = op("min", whole, op("+", low, op("and", before, integer(-LANES))))
    beyond = op("+", low, op("and", op("-", inner.beyond, low), integer(-LANES)))
    return Inner(first, op("max", first, op("min", whole, beyond)), inner.parts)


def by_lanes(run: Sweep, low: loops.Exp, high: loops.Exp, segment: loops.Exp | None, start: loops.Exp | None,
             inner: Inner | None) -> None:
    """The walk of whole eights: lanes begin empty, and go to the states in order."""
    code = run.code
    summed = [state for state in run.states.values() if state.name in run.lanes]
    with each_lane(run):
        for state in summed:
            run.become(state, identity(code, run.tables, state))

    asked: list[str] = []

    def eight(first: loops.Exp) -> None:
        with code.block() as body, each_lane(run) as lane:
            index = code.let_int("i", op("+", first, lane))
            run.root(index, segment, start)
        code.statements += [loops.Prefetch(array, op("+", first, integer(AHEAD))) for array in asked]
        code.statements += body
        asked[:] = arrays_at(index, body)

    with code.block() as plain:
        in_parts(run, low, high, inner, "eight", eight, LANES)
    root = run.walk.root
    if inner is not None or not asked or not isinstance(root, ir.Uniform | ir.Closed | ir.Nested):
        code.statements += plain
    else:
        with code.block() as asking:
            in_parts(run, low, high, inner, "eight", eight, LANES)
        code.add(loops.If(op("<=", integer(MANY), code.size(root.total)), tuple(asking), tuple(plain)))
    with each_lane(run):
        totals = [(state, run.now(state)) for state in summed]
        run.lane = None
        for state, total in totals:
            run.accumulate(state, total)


def arrays_at(index: loops.Exp, body: Sequence[loops.Stmt]) -> list[str]:
    """The arrays whose elements the statements load at this index."""
    return sorted({part.array for part in all_parts(body) if isinstance(part, loops.Load) and part.index == index})


@contextmanager
def each_lane(run: Sweep) -> Iterator[loops.Exp]:
    """Do what is written meanwhile for each lane in turn."""
    lane = loops.Name(run.code.fresh("lane"))
    with run.code.block() as body:
        run.lane = lane
        yield lane
        run.lane = None
    run.code.add(loops.For(lane.name, integer(0), integer(LANES), tuple(body)))
