"""ORDER of a row that an owner holds: its lanes sort it by Batcher's merge exchange (Knuth, The Art of Computer
Programming, volume 3, 5.2.2, algorithm M), which sorts any number of elements. Rows of up to so many elements as the
owner has room for are sorted in shared memory, longer ones where they lie.

    for p = the greatest power of 2 below n, ..., 4, 2, 1:
        d = p; r = 0; q = that power
        until q was p:
            each x < n - d with (x and p) = r, by turns of the lanes: exchange x and x + d if they stand wrongly
            the lanes meet
            d = q - p; q = q / 2; r = p

Keys move together with their positions; of equal keys the position decides, so the order is stable. What is not a
number stands last.
"""
from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from nessie.base.records import dataclass
from nessie.cudagen.kernels.code import Code, Value, integer, op
from nessie.cudagen.kernels.walk import Step
from nessie.cudagen.loops import nodes as loops
from nessie.cudagen.loops.plan import THREADS, Buffer
from nessie.cudagen.skeletons.cuda.blocks import THREAD
from nessie.cudagen.skeletons.elements import Here, Sweep, scalar_value
from nessie.cudagen.skeletons.owners.teams import Team, meet
from nessie.lambda_cu import nodes as ir

CAPACITY = 1024                 # elements that a block has room for; its owners share it


@dataclass(frozen=True)
class Sorted:
    """The arrays of an ORDER: keys of this type, and positions, unless nobody could tell equal keys apart. `result`:
    the one that it is asked for, the other is for the sort alone. `shared`: they lie in shared memory."""
    result: str
    base: str
    keys: str
    positions: str | None
    descending: bool
    shared: bool = False

    def arrays(self) -> list[tuple[str, str]]:
        """Each with its type."""
        return [(self.keys, self.base), *([(self.positions, "int")] if self.positions is not None else [])]

    def buffers(self, size: loops.Exp) -> Iterator[Buffer]:
        if self.keys != self.result:
            yield Buffer(self.keys, self.base, size)
        if self.positions not in (self.result, None):
            yield Buffer(self.positions, "int", size)


def note_key(sweep: Sweep, step: Step, soac: ir.Order, here: Here) -> Sorted:
    """The element's key stands where the element does, before the row is sorted."""
    code, (result,) = sweep.code, step.bind.names
    key = code.let("key", scalar_value(sweep.values(soac.thunk, here)))
    keys, positions = (result, f"{step.name}_places_written") if soac.values else (f"{step.name}_written", result)
    found = Sorted(result, key.type, keys, None if soac.values and key.type != "float" else positions, soac.descending)
    code.store(found.keys, here.index, key)
    if found.positions is not None:
        code.store(found.positions, here.index, Value(here.index, "int"))
    return found


Room = dict[str, str]           # arrays in shared memory, which all ORDERs of a kernel have, by type and use


def sort_row(code: Code, team: Team, row: Sorted, start: loops.Exp, stop: loops.Exp, room: Room, seen: bool) -> None:
    """Sort what the lanes have noted, each its own elements. `seen`: lanes read what others have of it. A row for which
    there is no room has so many elements that at first each lane exchanges its own."""
    code.note(f"{row.result}: the row, sorted by merge exchange, in shared memory if there is room for it")
    size = code.let_int("size", op("-", stop, start))
    each = CAPACITY * team.lanes // THREADS
    first = integer(0) if team.whole else code.let_int(
        "held_from", op("*", op("/", THREAD, integer(team.lanes)), integer(each)))
    near = replace(row, keys=held(code, room, row.base, "keys"), shared=True,
                   positions=None if row.positions is None else held(code, room, "int", "places"))
    with code.block() as here:
        copy_row(code, team, row, start, near, first, size)
        meet(code, team)
        merge_exchange(code, team, near, first, size)
        copy_row(code, team, near, first, row, start, size)
        if seen:
            meet(code, team)
    with code.block() as there:
        merge_exchange(code, team, row, start, size)
    code.add(loops.If(op("<=", size, integer(each)), tuple(here), tuple(there)))


def held(code: Code, room: Room, type_: str, use: str) -> str:
    if f"{type_} {use}" not in room:
        room[f"{type_} {use}"] = code.shared_above(f"held_{use}", type_, CAPACITY)
    return room[f"{type_} {use}"]


def copy_row(code: Code, team: Team, source: Sorted, low: loops.Exp, to: Sorted, at: loops.Exp,
             size: loops.Exp) -> None:
    """Copy a row that begins here to there, each lane its own elements."""
    index = loops.Name(code.fresh("x"))
    body = tuple([loops.Store(array, op("+", at, index), loops.Load(of, op("+", low, index)))
                  for (of, _), (array, _) in zip(source.arrays(), to.arrays(), strict=True)])
    code.add(loops.For(index.name, team.lane, size, body, integer(team.lanes)))


def merge_exchange(code: Code, team: Team, row: Sorted, start: loops.Exp, size: loops.Exp) -> None:
    """Sort so many elements that begin at `start` in the arrays."""
    top, half = code.var("top", "int", integer(1)), integer(1)
    code.add(loops.While(op("<", loops.Name(top), size), (loops.Set(top, op("lshift", loops.Name(top), half)),)))
    high = code.let_int("high", op("rshift", loops.Name(top), half))
    period, (distance, stride, rest) = code.var("period", "int", high), map(code.fresh, ("distance", "stride", "rest"))
    with code.block() as merges:
        code.add(loops.Var(distance, "int", loops.Name(period)))
        code.add(loops.Var(stride, "int", high))
        code.add(loops.Var(rest, "int", integer(0)))
        with code.block() as exchanges:
            place = loops.Name(code.fresh("x"))
            with code.block() as at:
                exchange(code, row, op("+", start, place), loops.Name(distance))
            wrong = op("==", op("and", place, loops.Name(period)), loops.Name(rest))
            code.add(loops.For(place.name, team.lane, op("-", size, loops.Name(distance)),
                               (loops.If(wrong, tuple(at)),), integer(team.lanes)))
            meet(code, team)
            goes_on = op("/=", loops.Name(stride), loops.Name(period))
            code.add(loops.Set(distance, op("select", goes_on, op("-", loops.Name(stride), loops.Name(period)),
                                            integer(0))))
            code.add(loops.Set(stride, op("rshift", loops.Name(stride), half)))
            code.add(loops.Set(rest, loops.Name(period)))
        code.add(loops.While(op(">", loops.Name(distance), integer(0)), tuple(exchanges)))
        code.add(loops.Set(period, op("rshift", loops.Name(period), half)))
    code.add(loops.While(op(">", loops.Name(period), integer(0)), tuple(merges)))


def exchange(code: Code, row: Sorted, low: loops.Exp, distance: loops.Exp) -> None:
    """Exchange two elements if the second comes before the first."""
    low = code.let_int("low", low)
    high = code.let_int("high", op("+", low, distance))
    first, second = [loaded(code, "key", row, row.keys, row.base, at) for at in (low, high)]
    wrong = precedes(row, second, first)
    stored: list[tuple[str, loops.Exp, loops.Exp]] = [(row.keys, first, second)]
    if row.positions is not None:
        places = [loaded(code, "place", row, row.positions, "int", at) for at in (low, high)]
        wrong = op("or", wrong, op("and", op("not", precedes(row, first, second)), op("<", places[1], places[0])))
        stored.append((row.positions, places[0], places[1]))
    code.add(loops.If(wrong, tuple([loops.Store(array, at, value) for array, below, above in stored
                                    for at, value in ((low, above), (high, below))])))


def loaded(code: Code, hint: str, row: Sorted, array: str, type_: str, at: loops.Exp) -> loops.Exp:
    """An element as it is now."""
    name = code.fresh(hint)
    code.add(loops.Let(name, type_, loops.Load(array if row.shared else code.array(array, type_, writable=True), at)))
    return loops.Name(name)


def precedes(row: Sorted, left: loops.Exp, right: loops.Exp) -> loops.Exp:
    """Does the left key come before the right one, whatever their positions?"""
    if row.base == "bool":
        left, right = op("btoi", left), op("btoi", right)
    less = op(">" if row.descending else "<", left, right)
    return op("or", less, op("and", op("isnan", right), op("not", op("isnan", left)))) if row.base == "float" else less
