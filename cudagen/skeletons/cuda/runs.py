"""The items of a tile on the GPU, and of each thread of its block.

Where a carry restarts with segments, a segment is cut at whole tiles from its own start, and in a tile at whole runs
from there (chunks.py). So the order in which its elements are added up does not depend on where it starts, nor on what
is beside it. A tile that is cut so has twice as many items at most: the second half of its threads is for these.
"""
from __future__ import annotations

from nessie.base.records import dataclass
from nessie.cudagen.kernels.code import Code, identifier, integer, op
from nessie.cudagen.loops import nodes as loops
from nessie.cudagen.loops.plan import THREADS
from nessie.cudagen.skeletons.chunks import Chunks, Span, border, start_of
from nessie.cudagen.skeletons.cuda.blocks import THREAD
from nessie.cudagen.skeletons.cuda.staging import fitting
from nessie.cudagen.skeletons.kernel import Kernel
from nessie.lambda_cu import nodes as ir


@dataclass(frozen=True)
class Runs(Chunks):
    """The threads' runs, `width` items each; and tiles. `cut`: segments are cut at whole tiles and runs."""
    cut: bool = False

    @property
    def tile(self) -> int:
        """Items of a tile."""
        return self.width * THREADS // (2 if self.cut else 1)

    def tiles(self, items: loops.Exp) -> loops.Exp:
        """The number of blocks that so many items take."""
        return op("/", op("+", items, integer(self.tile - 1)), integer(self.tile))


@dataclass(frozen=True)
class Run:
    """The items of a thread: from element `low` to before `high` of a flat space, or a span of a segmented one. Where
    segments are cut, `tile` is the span of all threads of the block. The tile has `many` elements, from `first` on."""
    low: loops.Exp
    high: loops.Exp
    first: loops.Exp | None = None
    many: loops.Exp | None = None
    span: Span | None = None
    tile: Span | None = None


def runs_of(kernel: Kernel, root: ir.Space, width: int) -> Runs:
    return Runs(root, fitting(kernel.walk, root, width), f"{identifier(kernel.walk.kernel.name)}_border",
                cut=any(state.restarts for state in kernel.carries))


def run_of(code: Code, runs: Runs, tile: loops.Exp) -> Run:
    items = code.let_int("items", runs.items(code))
    low, high = some(code, op("*", tile, integer(runs.tile)), runs.tile, items)
    if isinstance(runs.root, ir.Flat):
        many = code.let_int("many", op("-", high, low))
        return Run(*some(code, op("+", low, op("*", THREAD, integer(runs.width))), runs.width, items), low, many)
    whole, block, first, many = None, 1, None, None
    segments: tuple[loops.Exp, loops.Exp] = integer(0), code.size(runs.root.segments)
    if runs.cut:
        code.note("the tile: segments are cut at whole tiles from their own starts")
        whole, block = bounded(code, runs, low, high, runs.tile, segments, "tile_"), runs.width
        segments, first, many = (whole.s0, whole.s1), whole.i0, code.let_int("many", op("-", whole.i1, whole.i0))
        low, high = (code.let_int(hint, op("+", s, i)) for hint, s, i in
                     (("low", whole.s0, whole.i0), ("high", whole.s1, whole.i1)))
        items = high
    low, high = some(code, op("+", low, op("*", THREAD, integer(runs.width))), runs.width, items)
    return Run(low, high, first, many, bounded(code, runs, low, high, block, segments, ""), whole)


def some(code: Code, low: loops.Exp, width: int, end: loops.Exp) -> tuple[loops.Exp, loops.Exp]:
    """The range of so many items from the first, none beyond the end."""
    low = code.let_int("low", op("min", low, end))
    return low, code.let_int("high", op("min", op("+", low, integer(width)), end))


def bounded(code: Code, runs: Runs, low: loops.Exp, high: loops.Exp, block: int,
            segments: tuple[loops.Exp, loops.Exp], hint: str) -> Span:
    return Span(*border(code, runs, low, integer(block), segments, f"{hint}s0", f"{hint}i0"),
                *border(code, runs, high, integer(block), segments, f"{hint}s1", f"{hint}i1"))


def begins_within(code: Code, root: ir.Segmented, part: Span) -> loops.Exp:
    """Does the last segment of the span begin in it?"""
    return op(">=", start_of(code, root, part.s1), part.i0)
