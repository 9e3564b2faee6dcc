"""Sums of neighbouring segments in one row of a nest, sixteen at a time: a lane for each.

    elements of segments j, j+1, ... by k:          a round for each k, in which lane l is at element k - l of its own

        j    0 1 2 3 4 5 6 7 8                      for (k = 0; k < most; k += 1) {
        j+1    0 1 2 3 4 5 6 7                        float a_at = a[row_start + k];              alike in all lanes
        j+2      0 1 2 3 4 5 6                        for (lane = 0; lane < 16; lane += 1) {
             k ->                                       sums[k % 8 * 16 + lane] = ... + a_at * b[k * n + j + lane];
                                                      }
                                                    }

Each segment is summed in its own order (skeletons.cpu.lanes), whoever is beside it: element e joins sum e % 8, of which
each lane has its own. Where lane l is l elements behind the first, sum e % 8 of all lanes lies on a diagonal. Whichever
way lanes go along, what they read must be one element or neighbours: so a triangle's product reads both its factors in
order, though each of its sums goes down a column; and eight sums do not wait for each other's additions.

Rounds in which only some lanes have an element test that; those between them go by eights, whose sums are registers.
What lanes have in common is computed once a round (skeletons.cpu.alike): so some lane must have an element in each,
which is so where all end in the same round, or none before the sixteenth. The last few segments of a row go alone, and
those that chunks cut.
"""
from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import field
from functools import partial

from nessie.base.records import dataclass
from nessie.cudagen.kernels.code import Value, integer, op
from nessie.cudagen.kernels.walk import ROOT, SEGMENT, UNIT
from nessie.cudagen.loops.marks import all_marked
from nessie.cudagen.loops.nodes import Exp, For, If, Let, Load, Name, Set, Stmt, Store
from nessie.cudagen.loops.walk import all_parts, statements
from nessie.cudagen.skeletons.chunks import Bounds, Span, position
from nessie.cudagen.skeletons.cpu.alike import ALIKE, MOVES, TOGETHER, Sure, change, changes, split
from nessie.cudagen.skeletons.cpu.lanes import LANES, rounds
from nessie.cudagen.skeletons.elements import Sweep
from nessie.cudagen.skeletons.nested import RowsWalked, rows_known
from nessie.cudagen.skeletons.states import identity
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu.spaces.rows import PLACE, ROW
from nessie.lambda_cu.spaces.segments import within

SUMS = LANES * TOGETHER         # eight of each lane
WAYS = (0, 1, -1)               # by how many elements each lane is behind the one before it

Ends = Callable[[Exp], None]    # writes what happens at a segment's end
Arrays = dict[str, tuple[str, ...]]         # by states, those of its components


def neighbours(run: Sweep, root: ir.Space) -> Neighbours | None:
    """How to sum neighbouring segments together, if that can be. Called while the function's own statements are
    written (Code.shared)."""
    if not isinstance(root, ir.Nested) or not only_sums(run):
        return None
    found = Neighbours(run, root)
    with run.code.block():
        ways = [way for way in WAYS if found.reads_in_order(way)]
    if not ways:
        return None
    found.way = ways[0]
    found.sums, found.totals = found.arrays("sums", SUMS), found.arrays("totals", TOGETHER)
    found.joined = found.arrays("joined", TOGETHER)
    found.inner = [found.arrays(f"sum{number}", TOGETHER) for number in range(LANES)]
    found.counts, found.wholes = [run.code.shared(name, "int", TOGETHER) for name in ("counts", "wholes")]
    found.halves = [run.code.shared(name, "int", TOGETHER // 2) for name in ("least", "most")]
    return found


def only_sums(run: Sweep) -> bool:
    """Does the walk nothing but to sum segments in lanes, and to compute something of the sums?"""
    if run.walk.prologue or not run.states or not all(
            state.name in run.lanes and rounds(state)
            for state in run.states.values()):
        return False
    for step in run.walk.steps:
        soac = step.bind.soac
        if step.place == ROOT:
            if not isinstance(soac, ir.Reduce) or soac.interior is not None or step.name not in run.states:
                return False
        elif step.place == SEGMENT:
            if not isinstance(soac, ir.Map):
                return False
        elif step.place != UNIT:
            return False
    return True


@dataclass(frozen=True)
class Place:
    """A segment, its row, where this begins, and where the segment's elements do."""
    segment: Exp
    row: Exp
    row_start: Exp
    start: Exp


@dataclass
class Neighbours:
    """Writes the walk of sixteen segments, each in a lane.

    way        by how many elements each lane is behind the one before it
    sums       the arrays that hold the eight sums of each lane, by states
    inner      those sums, one after the other, in rounds in which all lanes have an element
    joined     one of them, in other rounds
    totals     those of lanes
    counts     how many elements each lane has
    wholes     how many that are in eights
    halves     of lanes, while the least and the greatest is found
    done       the first segment that is not summed yet
    """
    run: Sweep
    root: ir.Nested
    way: int = 0
    sums: Arrays = field(default_factory=dict)
    inner: list[Arrays] = field(default_factory=list)
    joined: Arrays = field(default_factory=dict)
    totals: Arrays = field(default_factory=dict)
    counts: str = ""
    wholes: str = ""
    halves: list[str] = field(default_factory=list)
    done: str = ""

    def reads_in_order(self, way: int) -> bool:
        """Do lanes read one element, or neighbours, if each is so far behind?"""
        self.way = way
        self.sums = {name: tuple([f"{array}'" for array in arrays]) for name, arrays in self.run.lanes.items()}
        place = Place(Name("segment'"), Name("row'"), Name("row_start'"), Name("start'"))
        with self.held_in(self.sums, Name("lane'")):
            _, varying = self.round(place, Name("round'"), Name("lane'"))
        own = {array for arrays in self.sums.values() for array in arrays}
        moves = changes(varying, Name("lane'"), ())
        return moves is not None and all(
            part.array in own or change(part.index, moves) in (-MOVES, ALIKE, MOVES)
            for part in all_parts(varying) if isinstance(part, Load))

    # What is written ----------------------------------------------------------------------------

    def begin(self, part: Span) -> None:
        self.done = self.run.code.var("done", "int", part.s0)

    def walk(self, part: Span, end: Ends, rows: Bounds, segment: Exp, alone: Sequence[Stmt]) -> None:
        """The segment, and fifteen after it if they are in its row and in this chunk; else itself `alone`, unless it is
        done."""
        assert isinstance(rows, RowsWalked)
        code, done = self.run.code, Name(self.done)
        beyond = op("+", segment, integer(TOGETHER))
        place = Place(segment, Name(rows.row), Name(rows.start), Name(rows.begins))
        with code.block() as together:
            self.together(place, end)
        here = op("and", op("<=", beyond, op("min", Name(rows.stop), part.s1)), op("<=", part.i0, place.start))
        code.add(If(op("<=", done, segment), (
            If(here, tuple(together)), If(op("<=", done, segment), tuple(alone)))))

    def together(self, place: Place, end: Ends) -> None:
        """Sixteen segments from this one on: their lengths, then rounds, then their ends."""
        code, lanes = self.run.code, integer(TOGETHER)
        last = self.way * (TOGETHER - 1)
        with self.each_lane() as lane:
            count = code.let_int("count", self.length(place, lane))
            code.add(Store(self.counts, lane, count))
            fewest = op("<", count, integer(2 * LANES))
            code.add(Store(self.wholes, lane, op("select", fewest, integer(0), op("and", count, integer(-LANES)))))
        least, most = self.extremes(self.wholes)
        shortest, longest = self.extremes(self.counts)
        with code.block() as found:
            code.add(Set(self.done, op("+", place.segment, lanes)))
            self.clear(self.totals, TOGETHER)
            with code.block() as eights:
                self.clear(self.sums, SUMS)
                self.eights(place, least, most)
                self.join()
            code.add(If(op("<", integer(max(0, last)), most), tuple(eights)))
            self.rounds(place, least, longest, self.wholes, self.counts, self.totals)
            with self.each_lane() as lane:
                self.end(place, lane, end)
        if self.way:
            every = op("or", op("==", shortest, longest), op("<=", lanes, shortest))
            code.add(If(every, tuple(found)))
        else:
            code.statements += found

    def eights(self, place: Place, least: Exp, most: Exp) -> None:
        """The elements that are in eights: rounds before all lanes have one, while all do, and after that."""
        code, part = self.run.code, Name(self.run.code.fresh("part"))
        first, all_there = integer(min(0, self.way * (TOGETHER - 1))), integer(TOGETHER if self.way > 0 else 0)
        some_left = code.let_int("left", op("+", all_there, op("and", op("max", op("-", least, all_there), integer(0)),
                                                                   integer(-LANES))))
        before = op("==", part, integer(0))
        with code.block() as within_:
            eight = Name(code.fresh("eight"))
            with code.block() as several:
                for number in range(LANES):
                    lane = Name(code.fresh("lane"))
                    index = code.let_int("round", op("+", eight, integer(number)))
                    with self.held_in(self.inner[number], lane):
                        alike, varying = self.round(place, index, lane)
                    code.statements += alike
                    self.each(lane, varying, list)
            for number, arrays in enumerate(self.inner):
                self.copy(arrays, integer(number * TOGETHER), into=True)
            code.add(For(eight.name, all_there, some_left, tuple(several), integer(LANES)))
            for number, arrays in enumerate(self.inner):
                self.copy(arrays, integer(number * TOGETHER), into=False)
        with code.block() as border:
            self.rounds(place, op("select", before, first, some_left),
                        op("select", before, op("min", all_there, most), most), "", self.wholes, self.joined)
        code.add(For(part.name, integer(0 if self.way else 1), integer(3), (
            If(op("==", part, integer(1)), tuple(within_), tuple(border)),)))

    def rounds(self, place: Place, low: Exp, high: Exp, begins: str, ends: str, arrays: Arrays) -> None:
        """Rounds in which lanes take part that have an element between these two, by arrays of lanes. They join their
        totals, or else one of their eight sums."""
        code, index = self.run.code, Name(self.run.code.fresh("round"))
        lane = Name(code.fresh("lane"))
        element = op("-", index, op("*", lane, integer(self.way))) if self.way else index
        begin: Exp = Load(begins, lane) if begins else integer(0)
        takes_part = op("and", op("<=", begin, element), op("<", element, Load(ends, lane)))
        with code.block() as body:
            first = code.let_int("first", op("*", op("and", index, integer(LANES - 1)), integer(TOGETHER)))
            if arrays is self.joined:
                self.copy(arrays, first, into=True)
            with code.block() as held, self.kept_in(arrays, lane):
                alike, varying = self.round(place, index, lane)
                between = len(held)
            code.statements += alike
            self.each(lane, varying, lambda body: [*held[:between], If(takes_part, tuple(body)), *held[between:]])
            if arrays is self.joined:
                self.copy(arrays, first, into=False)
        code.add(For(index.name, low, high, tuple(body)))

    def round(self, place: Place, index: Exp, lane: Name) -> tuple[list[Stmt], list[Stmt]]:
        """What is done for an element of a lane: what is alike in all lanes, and the rest."""
        run, code = self.run, self.run.code
        with code.block() as body:
            segment = self.known(place, lane)
            run.segment(segment, prologue=True)
            element = code.let_int("element", op("-", index, op("*", lane, integer(self.way))) if self.way else index)
            before = op("-", self.length(place, lane, 1), self.length(place, integer(0), 1))
            start = op("+", place.start, before)
            run.root(code.let_int("i", op("+", start, element)), segment, start, element)
        return split(body, lane, self.own(), code.fresh)

    def each(self, lane: Name, element: list[Stmt], around: Callable[[list[Stmt]], list[Stmt]]) -> None:
        """Do it in each lane, with what is around it; without its checks where they hold in all lanes."""
        code = self.run.code

        def loop(body: list[Stmt]) -> For:
            return For(lane.name, integer(0), integer(TOGETHER), tuple(around(body)))

        lets = {s.name: s for s in statements(element) if isinstance(s, Let)}
        sure = Sure(changes(element, lane, self.own()) or {}, lets)
        plain = sure.taken(element)
        if not sure.holds:
            code.add(loop(element))
            return
        before, holds = sure.in_all(lane, code.fresh)
        code.statements += before
        code.add(If(holds, all_marked((loop(plain),), f"_{code.fresh('sure')}"), (loop(element),)))

    def own(self) -> list[str]:
        """The variables of each lane."""
        return [name for held in self.run.variables.values() for name in held]

    def known(self, place: Place, lane: Exp) -> Exp:
        """The lane's segment, whose row is known."""
        code = self.run.code
        segment = code.let_int("beside", op("+", place.segment, lane))
        rows_known(code, self.root, partial(position, code), segment, place.row, place.row_start)
        return segment

    def length(self, place: Place, lane: Exp, more: int = 0) -> Exp:
        """How many elements the lane has; with one more, how many there are before them in its row."""
        known = {ROW.name: place.row, PLACE.name: op("+", op("-", place.segment, place.row_start), lane)}
        return position(self.run.code, within(self.root.lengths, more), known)

    def join(self) -> None:
        """The eight sums of a lane, in order, are its total. On a diagonal they come by steps of one, two and four."""
        code, states = self.run.code, list(self.run.states.values())
        with self.each_lane() as lane, self.kept_in(self.totals, lane):
            with code.block() as joined:
                places = [op("+", lane, integer(number * TOGETHER)) for number in range(LANES)]
                rows = [[self.straight([Value(Load(array, at), type_) for at in places], lane)
                         for array, type_ in zip(self.sums[state.name], state.monoid.types, strict=True)]
                        for state in states]
                for number in range(LANES):
                    for state, components in zip(states, rows, strict=True):
                        self.run.accumulate(state, tuple([row[number] for row in components]))
            code.add(If(op("<", integer(0), Load(self.wholes, lane)), tuple(joined)))

    def straight(self, row: list[Value], lane: Exp) -> list[Value]:
        """What is so many places further in each lane as its number says."""
        code = self.run.code
        row = [code.let("part", part) for part in row]
        for step in (1, 2, 4) if self.way else ():
            moves = op("/=", op("and", lane, integer(step)), integer(0))
            others = [row[(at + step * self.way) % LANES] for at in range(LANES)]
            row = [code.let("part", Value(op("select", moves, other.exp, part.exp), part.type))
                   for part, other in zip(row, others, strict=True)]
        return row

    def end(self, place: Place, lane: Exp, end: Ends) -> None:
        segment = self.known(place, lane)
        with self.held_in(self.totals, lane):
            self.run.segment(segment, prologue=True)
            end(segment)

    # Arrays of lanes ----------------------------------------------------------------------------

    @contextmanager
    def each_lane(self, lanes: int = TOGETHER) -> Iterator[Exp]:
        """Do what is written meanwhile for each lane in turn."""
        code, lane = self.run.code, Name(self.run.code.fresh("lane"))
        with code.block() as body:
            yield lane
        code.add(For(lane.name, integer(0), integer(lanes), tuple(body)))

    @contextmanager
    def held_in(self, arrays: Arrays, at: Exp) -> Iterator[None]:
        """Meanwhile, these arrays hold the states, at this index."""
        run = self.run
        before = run.lanes
        run.lanes, run.lane = arrays, at
        yield
        run.lanes, run.lane = before, None

    @contextmanager
    def kept_in(self, arrays: Arrays, at: Exp) -> Iterator[None]:
        """As held_in, of what only some lanes do: variables hold the states, since processors do not see at once what
        a part of a vector was stored."""
        run, code = self.run, self.run.code
        before, run.variables = run.variables, {}
        for state in run.states.values():
            run.variables[state.name] = tuple([
                code.var("joined", type_, Load(array, at))
                for array, type_ in zip(arrays[state.name], state.monoid.types, strict=True)])
        yield
        for name, variables in run.variables.items():
            for array, variable in zip(arrays[name], variables, strict=True):
                code.add(Store(array, at, Name(variable)))
        run.variables = before

    def clear(self, arrays: Arrays, size: int) -> None:
        with self.each_lane(size) as lane, self.held_in(arrays, lane):
            for state in self.run.states.values():
                self.run.become(state, identity(self.run.code, self.run.tables, state))

    def arrays(self, hint: str, size: int) -> Arrays:
        """Arrays of so many elements for each component."""
        return {state.name: tuple([self.run.code.shared(f"{name}_{hint}", type_, size) for name, type_ in
                                   zip(state.components, state.monoid.types, strict=True)])
                for state in self.run.states.values()}

    def copy(self, arrays: Arrays, first: Exp, into: bool) -> None:
        """Copies a sum of each lane, from the first on, to these arrays, or back."""
        with self.each_lane() as lane:
            at = op("+", first, lane)
            for name, own in arrays.items():
                for array, sums in zip(own, self.sums[name], strict=True):
                    self.run.code.add(Store(array, lane, Load(sums, at)) if into
                                      else Store(sums, at, Load(array, lane)))

    def extremes(self, array: str) -> tuple[Exp, Exp]:
        """The first round before which a lane has no more of these, and the first before which none has."""
        least, most = self.halves
        return self.extreme("min", array, least), self.extreme("max", array, most)

    def extreme(self, operator: str, array: str, halves: str) -> Exp:
        """The least or the greatest round, by halves of the lanes, which are vectors, too."""
        def there(lane: Exp) -> Exp:
            return op("+", Load(array, lane), op("*", lane, integer(self.way))) if self.way else Load(array, lane)

        half = TOGETHER // 2
        with self.each_lane(half) as lane:
            other = op("+", lane, integer(half))
            self.run.code.add(Store(halves, lane, op(operator, there(lane), there(other))))
        while half > 2:
            half //= 2
            with self.each_lane(half) as lane:
                self.run.code.add(Store(halves, lane, op(operator, Load(halves, lane),
                                                         Load(halves, op("+", lane, integer(half))))))
        return self.run.code.let_int("most", op(operator, Load(halves, integer(0)), Load(halves, integer(1))))
