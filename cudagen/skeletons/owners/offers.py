"""The plan of an offer over rows (lambda_cu.offers): each owner takes a row into shared memory, goes through the rounds
of a loop there (rounds), and leaves what it comes to where the row's results lie.

An owner whose row has no room, or who gives up, says so; so all is done otherwise. The block that ends last tells the
host whether all is done.
"""
from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from nessie.base.names import Names
from nessie.base.values import DTYPES
from nessie.cudagen.host.device import NO_FAILURE
from nessie.cudagen.kernels.code import RESERVED, Value, identifier, integer, op
from nessie.cudagen.kernels.thunks import Tables
from nessie.cudagen.loops import nodes as loops
from nessie.cudagen.loops.module import Module
from nessie.cudagen.loops.plan import (
    TICKETS,
    ArrayResult,
    Buffer,
    Phase,
    Plan,
    Result,
    ScalarResult,
    Shape,
)
from nessie.cudagen.skeletons.counted import count_of
from nessie.cudagen.skeletons.cuda.blocks import BLOCK, BLOCKS, ENDED, MOST_BLOCKS, THREAD, first_thread, unless_stopped
from nessie.cudagen.skeletons.kernel import CELLS, input_of
from nessie.cudagen.skeletons.owners.lanes import Needs
from nessie.cudagen.skeletons.owners.local import Declined, Held, LocalCode, Room, Slot
from nessie.cudagen.skeletons.owners.rounds import Rounds
from nessie.cudagen.skeletons.owners.teams import Team
from nessie.cudagen.skeletons.owners.walk import ABOUT, bounds_of
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu.mappings import nodes as maps
from nessie.lambda_cu.mappings.owners import LANES
from nessie.lambda_cu.offers.rows import Item, given, taken
from nessie.lambda_cu.rename import rename_param, rename_space

FEW = 64                        # threads of a block whose owners are no blocks
SHARED = 48 << 10               # bytes of shared memory that a block has
MOST = 1024                     # elements of a slot
GAVE = "gave_up"


def plan_offer(offer: ir.Function, program: ir.Program, tables: Tables) -> Module:
    return prepared(offer, program, tables).module()


def prepared(offer: ir.Function, program: ir.Program, tables: Tables) -> Offer:
    """The launch, written; Declined if no owner can go through the loop. A first try says how many slots it takes, and
    what lanes need."""
    owners = max(1, FEW // lanes_of(offer))
    tried = Offer(offer, program, tables, Room(MOST, owners))
    elements, each = MOST, tried.code.bytes_each
    others = sum([DTYPES[array.type].itemsize * array.size for array in tried.shared_memory()]) - MOST * each
    while elements * each > SHARED - others:
        elements //= 2
    if elements < owners:
        raise Declined("its rows take more shared memory than there is")
    return Offer(offer, program, tables, Room(elements, owners), tried.rounds.found)


def lanes_of(offer: ir.Function) -> int:
    assert isinstance(offer.by, maps.Levels)
    return LANES[offer.by.levels[0]]


class Offer:
    def __init__(self, offer: ir.Function, program: ir.Program, tables: Tables, room: Room,
                 needs: Needs | None = None) -> None:
        self.offer = offer = with_good_names(offer)
        self.called = next(f for f in program.functions if f.name == offer.apart)
        assert offer.over is not None and offer.by is not None
        self.over = offer.over
        scalars = {p.name: p.type for p in offer.params if not isinstance(p.type, ir.Array)}
        arrays = {p.name: p.type for p in (*offer.params, *offer.results) if isinstance(p.type, ir.Array)}
        self.code = code = LocalCode(scalars, arrays, [GAVE, "ended"], room)
        code.narrow = {name: type_.base for name, type_ in arrays.items()}
        lanes = lanes_of(offer)
        lane: loops.Exp = integer(0)
        if lanes > 1:
            lane = THREAD if room.owners == 1 else code.let_int("lane", op("and", THREAD, integer(lanes - 1)))
        code.team = self.team = Team(lanes, lane)
        code.own = integer(0) if room.owners == 1 else THREAD if lanes == 1 else code.let_int(
            "own", op("/", THREAD, integer(lanes)))
        self.rounds = Rounds(code, self.team, tables, program, offer.by, offer.apart, needs or Needs())
        self.segment = loops.Name(code.fresh("s"))
        with code.block() as body:
            self.row()
        first = op("+", op("*", BLOCK, integer(room.owners)), code.own)
        code.add(loops.For(self.segment.name, first, code.size(self.over.segments), tuple(body),
                           code.let_int("owners", op("*", BLOCKS, integer(room.owners)))))

    # A row ----------------------------------------------------------------------------------

    def row(self) -> None:
        code, rounds = self.code, self.rounds
        start, stop = bounds_of(code, self.over, self.segment)
        length = code.let_int("length", op("-", stop, start))
        rounds.begin(op("<=", length, integer(code.room.each)))
        rounds.bounded, rounds.read = {length}, []
        arguments: list[Held] = []
        with code.block() as inside:
            slots: list[Slot] = []
            for item, found in taken(self.offer, self.called):
                arguments += self.argument(item, found, start, length, slots)
            rounds.written = slots
            results = rounds.call(self.called, arguments)
            rounds.if_fine(lambda: self.begin_at_0(results))
            rounds.if_fine(lambda: self.leave(results, start))
        code.add(loops.If(loops.Name(rounds.fine), tuple(inside)))
        gave = loops.Atomic("exchange", code.array(GAVE, "int", writable=True), integer(0), integer(1))
        rounds.end(gave)

    def argument(self, item: Item, found: tuple[ir.Param, ...], start: loops.Exp, length: loops.Exp,
                 slots: list[Slot]) -> Iterator[Held]:
        """What the loop is given for a scalar or a sequence."""
        code = self.code
        if not item.arrays:
            (param,) = found
            if isinstance(param.type, ir.Array):
                yield code.load(param.name, param.type.base, self.segment)
            else:
                yield Value(code.scalar(param.name, param.type), param.type)
            return
        yield from (Value(integer(0), "int"), Value(length, "int"), Value(length, "int"))
        for param in found:
            assert isinstance(param.type, ir.Array)
            slots.append(code.free_slot(param.type.base, slots))
            index = loops.Name(code.fresh("x"))
            with code.block() as copied:
                code.put(slots[-1], index, loops.Load(code.array(param.name, param.type.base), op("+", start, index)))
            code.add(loops.For(index.name, self.team.lane, length, tuple(copied), integer(self.team.lanes)))
            yield slots[-1]

    def begin_at_0(self, results: list[Held]) -> None:
        """Give up if a sequence does not begin where its array does: lanes leave the elements that they have found."""
        starts = [held.exp for item, _ in given(self.offer, self.called) if item.arrays
                  for held in results[item.at:item.at + 1] if isinstance(held, Value) and held.exp != integer(0)]
        for start in starts:
            self.code.add(loops.Set(self.rounds.fine, op("and", loops.Name(self.rounds.fine),
                                                         op("==", start, integer(0)))))

    def leave(self, results: list[Held], start: loops.Exp) -> None:
        """Store the results."""
        code = self.code
        for item, found in given(self.offer, self.called):
            first, *others = results[item.at:item.at + len(item.params)]
            if not item.arrays:
                assert isinstance(first, Value)
                with code.block() as stored:
                    code.store(found[0].name, self.segment, first)
                code.statements += self.team.first(stored)
                continue
            assert isinstance(first, Value) and isinstance(others[0], Value)
            index = loops.Name(code.fresh("x"))
            with code.block() as copied:
                for param, slot in zip(found, others[2:], strict=True):
                    assert isinstance(slot, Slot)
                    code.store(param.name, op("+", start, index), Value(code.at(slot, index), slot.base))
            code.add(loops.For(index.name, self.team.lane, others[0].exp, tuple(copied), integer(self.team.lanes)))

    # The plan -------------------------------------------------------------------------------

    def shared_memory(self) -> list[loops.Shared]:
        """Of sums, rows and flags."""
        sums = [statement for statement in self.code.above if isinstance(statement, loops.Shared)]
        return [*sums, *self.rounds.shared_memory()]

    def module(self) -> Module:
        code, offer, name = self.code, self.offer, identifier(self.offer.name)
        self.tell()
        code.statements = [*self.shared_memory(), loops.Var("failed", "int", integer(NO_FAILURE)), *code.statements]
        unless_stopped(code)
        lanes, room = self.team.lanes, code.room
        about = f"{ABOUT[lanes]} holds a row of up to {room.each} elements, and goes through all rounds."
        function = replace(code.function(f"{name}_rounds", (), "cuda", offer.origin), about=about)
        segments = size_exp(self.over.segments)
        blocks = op("min", count_of(segments, room.owners), integer(MOST_BLOCKS))
        one = integer(1)
        buffers = (Buffer(GAVE, "int", one, 0), *[Buffer(r.name, r.type.base, size_exp(r.type.size))
                                                  for r in offer.results if isinstance(r.type, ir.Array)])
        arguments = tuple([loops.Name("cells" if p.name in CELLS.values() else p.name) for p in function.parameters])
        phase = Phase(function.name, arguments, None, buffers,
                      shape=Shape((blocks, one, one), (integer(room.owners * lanes), one, one)))
        results: list[Result] = [ScalarResult(offer.results[0].name, 0, "bool")]
        results += [ArrayResult(r.name) for r in offer.results[1:]]
        plan = Plan(self.offer.name, tuple(map(input_of, offer.params)), (phase,), tuple(results), 1,
                    size_exp(self.over.total), origin=offer.origin)
        return Module((function,), (plan,))

    def tell(self) -> None:
        """The last block tells whether all is done."""
        code = self.code
        if not self.team.whole:
            code.note("what the block's owners say is there before it says that it ends")
            code.add(loops.Barrier())
        tickets, gave = code.array(TICKETS, "int", writable=True), code.array(GAVE, "int", writable=True)
        code.note("the block that ends last goes on: it sees what all others have left")
        with first_thread(code):
            code.add(loops.Atomic("add", tickets, ENDED, integer(1), "ended", ordered=True))
            done = loops.Store(code.array(CELLS["bool"], "bool", writable=True), integer(0),
                               op("==", loops.Load(gave, integer(0)), integer(0)))
            code.add(loops.If(op("==", op("+", loops.Name("ended"), integer(1)), BLOCKS),
                              (loops.Atomic("exchange", tickets, ENDED, integer(0)), done)))


def size_exp(size: ir.Size) -> loops.Exp:
    return integer(size) if isinstance(size, int) else loops.Name(size)


def with_good_names(offer: ir.Function) -> ir.Function:
    """The offer whose parameters and results have names that every dialect takes."""
    names = Names({*RESERVED, GAVE, "ended", "failed"})
    good = {p.name: names.fresh(identifier(p.name)) for p in (*offer.params, *offer.results)}
    over = rename_space(offer.over, good) if offer.over is not None else None
    assert not isinstance(over, ir.Flat)
    return replace(offer, params=tuple([rename_param(p, good) for p in offer.params]), over=over,
                   results=tuple([rename_param(p, good) for p in offer.results]))
