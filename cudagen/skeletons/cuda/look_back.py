"""Decoupled look-back: a tile finds what all tiles before it come to while these may still be at work.

Tiles come in groups of 32. A tile publishes what it comes to by itself: its *aggregate*; the last of a group, which
closes it, publishes what the group comes to instead, and then what all up to it come to: its *prefix*. Of carries that
restart, each segment has tiles and groups of its own, counted from the one in which it begins, which has its prefix at
once. The first warp of a tile's block looks twice:

    at the tiles of its own group before it     joined by shuffles, as a tree
    at those that close the 32 groups before    joined one after another, from the nearest that has its prefix on

How tiles are joined follows from these numbers alone, never from what had been published when somebody looked: sums of
floats have the same bits in every run. For a prefix is the one before it joined to its group's aggregate, wherever one
starts. (After Merrill and Garland, Single-pass Parallel Prefix Scan with Decoupled Look-back, 2016, who join what they
happen to find.) It ends because tiles draw their numbers when they begin, and wait for lesser ones alone.

How a tile publishes depends on what is carried (`publishing`):

    Descriptors     one component: a status and its value in 16 bytes, stored and loaded at once, ordering nothing else
    Arrays          more: a status, which a store releases when they are there, and they, beside it

Nobody needs a tile's aggregate any more once its prefix is there, which takes the place of it in a descriptor. Only who
closes a group publishes a prefix. What all tiles come to the last one stores where the end of the walk looks (`ALL`),
which an ordered atomic operation orders.

What it costs, reckoned, not measured: a look at descriptors takes one trip to memory of some 600 cycles once they are
there. One at arrays polls without order, as each load that acquires empties the first-level cache; then it acquires and
loads: three trips. The tree is five shuffles and joins, the chain one of some 40 cycles for each group whose prefix is
not there yet. At 5 TB/s about five groups begin while one trip or two are made, so the chain costs less than a trip.
The 32 groups are 1024 tiles, about what is at work at a time. To join tile by tile would need no groups, but 32 times
as many steps in a row, each of which waits for the last.
"""
from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from functools import partial

from nessie.base.records import dataclass
from nessie.cudagen.kernels.code import Code, Value, integer, op, zero
from nessie.cudagen.loops import nodes as loops
from nessie.cudagen.loops.plan import EPOCH, PAIR, TICKETS, Buffer
from nessie.cudagen.skeletons.cuda.blocks import (
    AFTER_FAILURE,
    BLOCKS,
    DRAWN,
    LANE,
    THREAD,
    WARP,
    blocks_here,
    first_thread,
    has_stopped,
)
from nessie.cudagen.skeletons.cuda.finish import ALL, wanted_at_end
from nessie.cudagen.skeletons.cuda.sums import Sums, append, chain_lanes, component_wise, join_lanes, joined, sums
from nessie.cudagen.skeletons.kernel import Kernel, state_buffers
from nessie.cudagen.skeletons.states import State, keep

GROUP = WARP                                        # tiles; a power of two, and a warp's lanes at most
AGGREGATE, PREFIX = integer(1), integer(2)          # what of a tile is published, after the epoch; nothing: no more
LANE_BIT = op("lshift", integer(1), LANE)


@dataclass(frozen=True)
class Line:
    """A tile, and the tiles before it that it looks at: all of them; where carries restart, those that have a part of
    the segment with which it begins. `first`: the first of these, `place`: how many there are. `begins`, where carries
    restart: does the tile's last segment begin in it? Then it knows what tiles after it look for, and is their first.
    """
    tile: loops.Exp
    first: loops.Exp
    place: loops.Exp
    begins: loops.Exp | None = None


def published_buffers(kernel: Kernel, states: Collection[State], prefix: str, tiles: loops.Exp) -> tuple[Buffer, ...]:
    """The buffers in which tiles leave what they and all tiles before them come to."""
    buffers = publishing(states, prefix).buffers(tiles)
    for state in read_at_end(kernel, states):
        buffers += state_buffers(state, prefix + ALL, integer(1))
    return buffers


def read_at_end(kernel: Kernel, states: Collection[State]) -> list[State]:
    """Those of the carries whose last values the end of the walk reads."""
    wanted = wanted_at_end(kernel)
    return [state for state in states if state.name in wanted]


def ticket(code: Code, tiles: loops.Exp) -> loops.Exp:
    """The number of the tile: blocks that have drawn smaller ones are running or done. Who draws the last of so many
    sets the counter back for the next launch. Who draws looks for earlier failures, too: it waits for both at once."""
    drawn, shared = code.fresh("drawn"), code.shared("ticket", "int", 1)
    tickets = code.array(TICKETS, "int", writable=True)
    with first_thread(code):
        stopped = code.let("stopped", Value(has_stopped(code), "bool")).exp
        code.add(loops.Atomic("add", tickets, DRAWN, integer(1), drawn))
        code.add(loops.If(op("==", op("+", loops.Name(drawn), integer(1)), blocks_here(code, tiles)),
                          (loops.Atomic("exchange", tickets, DRAWN, integer(0)),)))
        code.add(loops.Store(shared, integer(0), op("select", stopped, integer(-1), loops.Name(drawn))))
    code.add(loops.Barrier())
    tile = code.let_int("tile", loops.Load(shared, integer(0)))
    code.note(AFTER_FAILURE)
    code.add(loops.If(op("<", tile, integer(0)), (loops.Return(),)))
    return tile


def look_back(kernel: Kernel, code: Code, total: Sums, line: Line, prefix: str) -> Sums:
    """Publishes what the tile comes to, finds what all tiles before it in line come to, and publishes both together.
    The first warp does it, of which each lane has the total; what it finds, the first lane has."""
    tile, knows, way = line.tile, line.begins, publishing(total.states, prefix)
    place = code.let_int("place", op("and", line.place, integer(GROUP - 1)))
    closes = op("==", place, integer(GROUP - 1))
    looks = None if knows is None else op("not", knows)
    with first_thread_if(code, op("not", closes), looks):
        way.tell(code, tile, total, AGGREGATE)
    if knows is not None:
        with first_thread_if(code, knows):
            way.tell(code, tile, total, PREFIX)
    code.note(f"the tiles before this one in its group of {GROUP}: each lane one")
    start = code.let_int("start", op("-", tile, place))
    within, nearest = look(kernel, code, total, way, op("-", tile, integer(1)), 1, start)
    join_lanes(kernel, code, within)
    group = joined(kernel, code, within, total, "group")
    with first_thread_if(code, closes, looks):
        way.tell(code, tile, group, AGGREGATE)
    before = sums(kernel, code, total, "before_group")
    with code.block() as groups:
        code.note("the groups before, by the tiles that close them: each lane one")
        found, nearest_group = look(kernel, code, total, way, op("-", start, integer(1)), GROUP, line.first)
        chain_lanes(kernel, code, found, nearest_group)
        append(kernel, code, before, found)
    unknown = op("==", nearest, op("lshift", integer(1), place))           # the group's tiles do not know all before
    code.statements += groups if knows is None else [loops.If(unknown, tuple(groups))]
    through = joined(kernel, code, before, group, "through")
    with first_thread_if(code, closes, looks):
        way.tell(code, tile, through, PREFIX)
    if ended := read_at_end(kernel, total.states):
        with first_thread_if(code, op("==", op("+", tile, integer(1)), BLOCKS)):
            for state in ended:
                keep(code, state, prefix + ALL, integer(0), through.values(state))
    return joined(kernel, code, before, within, "earlier")


def look(kernel: Kernel, code: Code, like: Sums, way: Publishing, nearest: loops.Exp, step: int,
         first: loops.Exp) -> tuple[Sums, loops.Exp]:
    """Each lane looks at a tile, a step before the one of the lane below; those before the first know all before them,
    which is nothing. Waits until one knows and all nearer have published. Gives what the lane's comes to, nothing
    beyond the nearest that knows, and the bit of that one's lane."""
    at = code.let_int("at", op("-", nearest, op("*", LANE, integer(step))))
    there = code.let("there", Value(op(">=", at, first), "bool")).exp
    found = code.var("found", "int", op("select", there, integer(0), PREFIX))
    seen = way.seen(code)
    waits, known = code.var("waits", "bool", loops.Const(True, "bool")), code.var("known", "int", integer(0))
    with code.block() as poll:
        with code.block() as again:
            way.poll(code, at, found, seen)
        code.add(loops.If(op("/=", loops.Name(found), PREFIX), tuple(again)))
        code.add(loops.Set(known, lowest(lanes_of_prefixes(code, found))))
        begun = code.let("begun", Value(op(">", loops.Name(found), integer(0)), "bool"))
        missing = op("and", op("-", loops.Name(known), integer(1)), op("not", vote(code, begun)))
        code.add(loops.Set(waits, op("or", op("==", loops.Name(known), integer(0)), op("/=", missing, integer(0)))))
        code.add(loops.If(loops.Name(waits), (loops.Pause(),)))
    code.add(loops.While(loops.Name(waits), tuple(poll)))
    bit = way.settle(code, at, there, found, loops.Name(known))
    counts = code.let("counts", Value(op("and", there, op("<=", LANE_BIT, bit)), "bool")).exp
    here = sums(kernel, code, like, "here")
    for holds, values in way.values(code, at, found, seen):
        with code.block() as taken:
            append(kernel, code, here, values())
        code.add(loops.If(counts if holds is None else op("and", counts, holds), tuple(taken)))
    return here, bit


# How tiles publish ------------------------------------------------------------------------------


def publishing(states: Collection[State], prefix: str) -> Publishing:
    """How tiles tell each other of these carries, through buffers whose names begin so."""
    components = sum(len(state.components) for state in states)
    return (Descriptors if components == 1 else Arrays)(tuple(states), prefix)


@dataclass(frozen=True)
class Descriptors:
    """The carries have one component."""
    states: tuple[State, ...]
    prefix: str

    @property
    def type(self) -> str:
        return self.states[0].monoid.types[0]

    @property
    def names(self) -> tuple[str, str, str]:
        """For comments of the text: a tile's status, and where the text finds its aggregate, and its prefix."""
        return f"{self.prefix}descriptors[2 * tile]", "beside it", "there"

    def array(self, code: Code) -> str:
        return code.array(f"{self.prefix}descriptors", "int", writable=True)

    def buffers(self, tiles: loops.Exp) -> tuple[Buffer, ...]:
        return (Buffer(f"{self.prefix}descriptors", "int", op("*", integer(PAIR), tiles), kept=PAIR),)

    def tell(self, code: Code, tile: loops.Exp, found: Sums, what: loops.Exp) -> None:
        (value,) = found.values(self.states[0])
        code.add(loops.StorePair(self.array(code), tile, published_as(code, what), value.exp))

    def load(self, code: Code, tile: loops.Exp) -> tuple[loops.Exp, loops.Exp]:
        status, value = code.fresh("status"), code.fresh("published")
        code.add(loops.LoadPair((status, value), self.type, self.array(code), tile))
        return loops.Name(status), loops.Name(value)

    def seen(self, code: Code) -> str:
        """The variable for the value that is loaded with a status."""
        return code.var("seen", self.type, zero(self.type))

    def poll(self, code: Code, at: loops.Exp, found: str, seen: str) -> None:
        status, value = self.load(code, at)
        code.add(loops.Set(found, since_epoch(code, status)))
        code.add(loops.Set(seen, value))

    def settle(self, code: Code, at: loops.Exp, there: loops.Exp, found: str, known: loops.Exp) -> loops.Exp:
        return known

    def values(self, code: Code, at: loops.Exp, found: str, seen: str) -> Iterator[Taken]:
        yield None, lambda: component_wise(Sums(self.states, {}), lambda state, c: seen)


@dataclass(frozen=True)
class Arrays:
    """Carries with any components."""
    states: tuple[State, ...]
    prefix: str

    @property
    def names(self) -> tuple[str, str, str]:
        status, one, all_ = [f"{self.prefix}{use}[tile]" for use in ("status", "aggregates", "prefixes")]
        return status, f"in {one}", f"in {all_}"

    def status(self, code: Code) -> str:
        return code.array(f"{self.prefix}status", "int", writable=True)

    def use(self, what: loops.Exp) -> str:
        return self.prefix + ("prefixes" if what == PREFIX else "aggregates")

    def buffers(self, tiles: loops.Exp) -> tuple[Buffer, ...]:
        found: tuple[Buffer, ...] = (Buffer(f"{self.prefix}status", "int", tiles, kept=1),)
        for what in (AGGREGATE, PREFIX):
            for state in self.states:
                found += state_buffers(state, self.use(what), tiles)
        return found

    def tell(self, code: Code, tile: loops.Exp, found: Sums, what: loops.Exp) -> None:
        """Publishes, and says what."""
        for state in self.states:
            keep(code, state, self.use(what), tile, found.values(state))
        code.add(loops.Store(self.status(code), tile, published_as(code, what), release=True))

    def seen(self, code: Code) -> str:
        """The empty name: there is no such variable, as values are loaded when it is known which."""
        return ""

    def poll(self, code: Code, at: loops.Exp, found: str, seen: str) -> None:
        code.add(loops.Set(found, since_epoch(code, loops.Load(self.status(code), at, "relaxed"))))

    def settle(self, code: Code, at: loops.Exp, there: loops.Exp, found: str, known: loops.Exp) -> loops.Exp:
        """What is loaded next was there before the status. A tile that is nearer than `known` may know all by now."""
        acquired = loops.Set(found, since_epoch(code, loops.Load(self.status(code), at, "acquire")))
        code.add(loops.If(op("and", there, op("<=", LANE_BIT, known)), (acquired,)))
        return code.let_int("nearest", lowest(lanes_of_prefixes(code, found)))

    def values(self, code: Code, at: loops.Exp, found: str, seen: str) -> Iterator[Taken]:
        for what in (PREFIX, AGGREGATE):
            yield op("==", loops.Name(found), what), partial(self.loaded, code, at, self.use(what))

    def loaded(self, code: Code, at: loops.Exp, use: str) -> Sums:
        def element(array: str, type_: str) -> str:
            name = code.fresh(f"{array}_at")
            code.add(loops.Let(name, type_, loops.Load(code.array(array, type_, writable=True), at, "volatile")))
            return name

        return component_wise(Sums(self.states, {}),
                              lambda state, c: element(state.buffers(use)[c], state.monoid.types[c]))


Publishing = Descriptors | Arrays
Taken = tuple[loops.Exp | None, Callable[[], Sums]]      # when these values are what the lane's tile has published


def published_as(code: Code, what: loops.Exp) -> loops.Exp:
    """The status of a tile that has published this."""
    return op("+", code.scalar(EPOCH, "int"), what)


def since_epoch(code: Code, status: loops.Exp) -> loops.Exp:
    """What the tile has published in this launch; 0 or less if nothing: earlier launches have left no more than the
    epoch."""
    return op("-", status, code.scalar(EPOCH, "int"))


# Votes ------------------------------------------------------------------------------------------


def lanes_of_prefixes(code: Code, found: str) -> loops.Exp:
    """A bit for each lane whose tile knows all before it."""
    return vote(code, code.let("whole", Value(op("==", loops.Name(found), PREFIX), "bool")))


def vote(code: Code, value: Value) -> loops.Exp:
    assert isinstance(value.exp, loops.Name)
    return code.let_int("votes", loops.Vote(value.exp.name))


def lowest(bits: loops.Exp) -> loops.Exp:
    return op("and", bits, op("neg", bits))


@contextmanager
def first_thread_if(code: Code, *conditions: loops.Exp | None) -> Iterator[None]:
    """Let the first thread do what is written meanwhile, if all conditions hold that there are."""
    with code.block() as body:
        yield
    holds = op("==", THREAD, integer(0))
    for condition in conditions:
        holds = holds if condition is None else op("and", holds, condition)
    code.add(loops.If(holds, tuple(body)))
