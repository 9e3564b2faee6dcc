"""The items of a tile on the GPU, and of each thread of its block.

Where a carry restarts with segments, a segment is cut at whole tiles from its own start, and in a tile at whole runs
from there (chunks.py). So the order in which its elements are added up does not depend on where it starts, nor on what
is beside it. A tile that is cut so has twice as many items at most: the second half of its threads is for these.
"""
from __future__ import annotations

from collections import Counter

from nessie.base.records import dataclass
from nessie.base.values import DTYPES
from nessie.cudagen.kernels.code import Code, identifier, integer, op
from nessie.cudagen.loops import nodes as loops
from nessie.cudagen.loops.plan import THREADS
from nessie.cudagen.skeletons.chunks import Chunks, Span, border, cut, last, segmented, start_of
from nessie.cudagen.skeletons.counted import count_of
from nessie.cudagen.skeletons.cuda.blocks import HALF, THREAD, WARP, last_by_halves, threads_below
from nessie.cudagen.skeletons.cuda.staging import FEW, ROOM, ended_stores, fitting
from nessie.cudagen.skeletons.cuda.sums import AT_A_TIME, Variable
from nessie.cudagen.skeletons.kernel import Kernel
from nessie.lambda_cu import nodes as ir

SHARED = 46 << 10               # bytes of shared memory for a tile; 2 KB more are for sums of warps and the like,
FEW_ASIDE = 5                   # and for so many variables that a look-back sets aside
ENDS = ("tile_s", "tile_i", "tile_start")       # of a tile's ends: segment, element, where the segment starts
ENDS_OF_RUN = ("s0", "i0", "s1", "i1")
WORD = 8                        # bytes of a number
STARTS = "int16"                # holds the start of a segment in its tile


@dataclass(frozen=True)
class Runs(Chunks):
    """The threads' runs, `width` items each; and tiles. `cuts`: segments are cut at whole tiles and runs.
    `room`: bytes for slots."""
    cuts: bool = False
    room: int = 0

    @property
    def tile(self) -> int:
        """Items of a tile."""
        return self.width * THREADS // (2 if self.cuts else 1)

    def tiles(self, items: loops.Exp) -> loops.Exp:
        """The number of blocks that so many items take."""
        return count_of(items, self.tile)


@dataclass(frozen=True)
class Tile:
    """The items of a block, from `low` to before `high`, and their elements: `many`, from `first` on. Of a segmented
    space the `span`, too; `starts`: the shared array in which the starts of its segments after the first stand."""
    low: loops.Exp
    high: loops.Exp
    first: loops.Exp
    many: loops.Exp
    span: Span | None = None
    starts: str = ""


@dataclass(frozen=True)
class Run:
    """The items of a thread: from element `low` to before `high` of a flat space, or a span of a segmented one."""
    low: loops.Exp
    high: loops.Exp
    span: Span | None
    tile: Tile


def ends_of(run: Run) -> list[Variable]:
    """The variables that say where the run's span begins and ends."""
    span = run.span
    return [(end.name, "int") for end in (span.s0, span.i0, span.s1, span.i1) if isinstance(end, loops.Name)
            ] if span else []


def runs_of(kernel: Kernel, root: ir.Space, width: int) -> Runs:
    room = room_for_slots(kernel, root, width)
    return Runs(root, fitting(kernel.walk, root, width, room), f"{identifier(kernel.walk.kernel.name)}_border",
                cuts=any(state.restarts for state in kernel.carries), room=room)


def room_for_slots(kernel: Kernel, root: ir.Space, width: int) -> int:
    """Bytes of shared memory that are left by what else a block keeps there."""
    relayed = Counter(type_ for state in kernel.carries if state.restarts for type_ in state.monoid.types)
    if relayed:
        relayed["int"] += 1                             # whether the last segment begins in the run
    taken = sum(min(count, AT_A_TIME) * THREADS * WORD for count in relayed.values())
    goes_on = sum(len(state.monoid.types) for state in kernel.carries if not state.restarts)
    if goes_on:                                         # what look-backs set aside
        goes_on += max(relayed.total(), len(ENDS_OF_RUN)) if relayed else 0
        taken += max(goes_on - FEW_ASIDE, 0) * WARP * WORD
    taken += width * THREADS * DTYPES[STARTS].itemsize if isinstance(root, ir.Irregular) else 0
    taken += len(ended_stores(kernel.walk)) * FEW * WORD
    return max(min(ROOM, SHARED - taken), 0)


# The tile -----------------------------------------------------------------------------------------


def tile_of(code: Code, runs: Runs, tile: loops.Exp) -> Tile:
    """The tile's items. Where its segments are irregular, their starts are there after a barrier. Its ends are in
    shared memory, where threads look when they need them: in registers they would stay all the time."""
    items = code.let_int("items", runs.items(code))
    low, high = some(code, op("*", tile, integer(runs.tile)), runs.tile, items)
    if isinstance(runs.root, ir.Flat):
        return Tile(low, high, low, code.let_int("many", op("-", high, low)))
    ends = [code.shared(hint, "int", 2) for hint in ENDS[:3 if isinstance(runs.root, ir.Irregular) else 2]]
    if runs.cuts:
        code.note("the tile: segments are cut at whole tiles from their own starts")
    if isinstance(runs.root, ir.Irregular):
        find_ends(code, runs, runs.root, (low, high, items), ends)
    else:
        compute_ends(code, runs, (low, high), ends)
    code.add(loops.Barrier())
    begin, end = [[loops.Load(array, integer(number)) for array in ends] for number in (0, 1)]
    span, starts = Span(begin[0], begin[1], end[0], end[1]), ""
    if isinstance(runs.root, ir.Irregular):
        starts = load_starts(code, runs, runs.root, span, begin[2])
    if runs.cuts:
        low, high = op("+", span.s0, span.i0), op("+", span.s1, span.i1)
    return Tile(low, high, span.i0, op("-", span.i1, span.i0), span, starts)


def compute_ends(code: Code, runs: Runs, items: tuple[loops.Exp, loops.Exp], ends: list[str]) -> None:
    """A thread for each of the tile's ends computes it."""
    with threads_below(code, 2):
        item = code.let_int("item", op("select", op("==", THREAD, integer(0)), *items))
        block, segments = integer(runs.tile if runs.cuts else 1), (integer(0), code.size(segmented(runs.root).segments))
        tell_end(code, ends, THREAD, border(code, runs, item, block, segments, "segment", "element"))


def find_ends(code: Code, runs: Runs, root: ir.Irregular, items: tuple[loops.Exp, loops.Exp, loops.Exp],
              ends: list[str]) -> None:
    """The halves of a warp look for an end each, of a tile from an item to before another, of so many in all."""
    low, high, all_ = items
    code.note("its ends, each by half a warp: the last segment s with start(s) + s <= item, near where it is if "
              "segments are equally long")
    with threads_below(code, WARP):
        item = code.let_int("item", op("select", op("<", THREAD, integer(HALF)), low, high))
        found = last_by_halves(code, code.size(root.segments), item, all_,
                               lambda s: op("+", start_of(code, root, s), s))
        segment = code.var("segment", "int", found)
        element = code.var("element", "int", op("-", item, found))
        cut(code, root, found, loops.Name(element), integer(runs.tile if runs.cuts else 1),
            lambda s, i: (loops.Set(segment, s), loops.Set(element, i)))
        end = loops.Name(segment), loops.Name(element), start_of(code, root, loops.Name(segment))
        with code.block() as told:
            tell_end(code, ends, op("/", THREAD, integer(HALF)), end)
        code.add(loops.If(op("==", op("and", THREAD, integer(HALF - 1)), integer(0)), tuple(told)))


def tell_end(code: Code, ends: list[str], number: loops.Exp, values: tuple[loops.Exp, ...]) -> None:
    code.statements += [loops.Store(array, number, value) for array, value in zip(ends, values, strict=False)]


def load_starts(code: Code, runs: Runs, root: ir.Irregular, span: Span, start: loops.Exp) -> str:
    """The array in which the starts of the tile's segments are, from its first element on, none before it, nor beyond
    what it may have at most."""
    starts = code.shared("starts", STARTS, runs.width * THREADS + 3)
    code.note("where the tile's segments start, from its first element on")
    place, beyond = code.fresh("place"), op("min", op("+", span.s1, integer(1)), code.size(root.segments))
    with code.block() as body:
        offset = op("-", start_of(code, root, op("+", span.s0, loops.Name(place))), span.i0)
        code.add(loops.Store(starts, loops.Name(place), op("max", op("min", offset, integer(2 * runs.width * THREADS)),
                                                                integer(0))))
    code.add(loops.For(place, THREAD, op("+", op("-", beyond, span.s0), integer(1)), tuple(body), integer(THREADS)))

    def start_here(segment: loops.Exp) -> loops.Exp:
        return op("select", op("==", segment, span.s0), start,
                  op("+", span.i0, loops.Load(starts, op("-", segment, span.s0))))

    code.starts[root.offsets] = start_here
    return starts


# The threads' runs --------------------------------------------------------------------------------


def run_of(code: Code, runs: Runs, tile: Tile) -> Run:
    low, high = some(code, op("+", tile.low, op("*", THREAD, integer(runs.width))), runs.width, tile.high)
    if tile.span is None:
        return Run(low, high, None, tile)
    block = runs.width if runs.cuts else 1
    if not tile.starts:
        return Run(low, high, bounded(code, runs, low, high, block, (tile.span.s0, tile.span.s1)), tile)
    code.note("the thread's segments, by bisection of the tile's")
    near = Near(segmented(runs.root), tile.span, tile.starts, block)
    low_place, high_place = [code.let_int("place", op("max", op("-", item, op("+", tile.span.s0, tile.span.i0)),
                                                      integer(0))) for item in (low, high)]
    segments = code.let_int("segments", op("-", tile.span.s1, tile.span.s0))
    first = near.segment(code, low_place, integer(0), segments)
    last_one = near.segment(code, high_place, first, op("min", op("+", first, integer(runs.width)), segments))
    return Run(low, high, Span(*near.border(code, low_place, first, "s0", "i0"),
                               *near.border(code, high_place, last_one, "s1", "i1")), tile)


@dataclass(frozen=True)
class Near:
    """The segments of a tile, the first of which is number 0 here, and its first item."""
    root: ir.Segmented
    span: Span
    starts: str
    block: int                  # elements between two places at which a segment is cut

    def segment(self, code: Code, place: loops.Exp, least: loops.Exp, most: loops.Exp) -> loops.Exp:
        """The segment that has the item."""
        return last(code, least, most, lambda s: op("<=", op("+", loops.Load(self.starts, s), s), place))

    def border(self, code: Code, place: loops.Exp, near: loops.Exp, *hints: str) -> tuple[loops.Exp, loops.Exp]:
        """The segment and the element at which begins what is cut at the item, as chunks.border has it."""
        segment = code.var(hints[0], "int", op("+", self.span.s0, near))
        element = code.var(hints[1], "int", op("+", self.span.i0, op("-", place, near)))
        cut(code, self.root, loops.Name(segment), loops.Name(element), integer(self.block),
            lambda s, i: (loops.Set(segment, s), loops.Set(element, i)))
        return loops.Name(segment), loops.Name(element)


def some(code: Code, low: loops.Exp, width: int, end: loops.Exp) -> tuple[loops.Exp, loops.Exp]:
    """The range of so many items from the first, none beyond the end."""
    low = code.let_int("low", op("min", low, end))
    return low, code.let_int("high", op("min", op("+", low, integer(width)), end))


def bounded(code: Code, runs: Runs, low: loops.Exp, high: loops.Exp, block: int,
            segments: tuple[loops.Exp, loops.Exp]) -> Span:
    found = [*border(code, runs, low, integer(block), segments, "segment", "element"),
             *border(code, runs, high, integer(block), segments, "segment", "element")]
    s0, i0, s1, i1 = [loops.Name(code.var(hint, "int", end)) for hint, end in zip(ENDS_OF_RUN, found, strict=True)]
    return Span(s0, i0, s1, i1)


def begins_within(code: Code, root: ir.Segmented, part: Span) -> loops.Exp:
    """Does the last segment of the span begin in it?"""
    return op(">=", start_of(code, root, part.s1), part.i0)
