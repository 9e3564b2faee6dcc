"""The carries before a thread's items in the GPU's walk: the sums of its block, and those of the tiles before.

    carries that go on         the warp's lanes by shuffles, the block's warps in shared memory, all tiles before
    those that restart         runs that have parts of one segment, in shared memory; the tiles that have parts of it
"""
from __future__ import annotations

from collections.abc import Sequence

from nessie.cudagen.kernels.code import Code, Value, integer, op
from nessie.cudagen.loops import nodes as loops
from nessie.cudagen.skeletons.chunks import Span, segmented, start_of
from nessie.cudagen.skeletons.cuda.blocks import LANE, THREAD, WARP, WARPS, first_thread
from nessie.cudagen.skeletons.cuda.look_back import Line, look_back
from nessie.cudagen.skeletons.cuda.runs import Run, Runs, begins_within
from nessie.cudagen.skeletons.cuda.sums import (
    Aside,
    Parked,
    Sums,
    Variable,
    append,
    fold_warps,
    scan_segments,
    scan_warp,
    shuffled,
    sums,
)
from nessie.cudagen.skeletons.kernel import Kernel

SEGMENTS = "segment_"           # begins the names of what tiles tell each other of carries that restart


def before_run(kernel: Kernel, code: Code, own: Sums, tile: loops.Exp, aside: Aside, meanwhile: Sums
               ) -> tuple[Sums, Sums]:
    """The sums of all items before the thread's, and before the tile's. `meanwhile`: what threads hold till then."""
    inclusive, warps, tile_prefix = sum_up_tile(kernel, code, own, tile, "", aside, meanwhile.variables)
    code.note("what comes before this thread's items: the tiles before, then the warps before, then the lanes before")
    before = sums(kernel, code, inclusive, "before")
    fold_warps(kernel, code, before, warps, op("/", THREAD, integer(WARP)))
    left = shuffled(code, inclusive, integer(1), "left")
    with code.block() as others:
        append(kernel, code, before, left)
    code.add(loops.If(op(">", LANE, integer(0)), tuple(others)))
    code.add(loops.Barrier())
    start = sums(kernel, code, inclusive, "start")
    earlier = tile_prefix.load(code, integer(0))
    append(kernel, code, start, earlier)
    append(kernel, code, start, before)
    return start, earlier


def sum_up_tile(kernel: Kernel, code: Code, own: Sums, tile: loops.Exp, published: str, aside: Aside,
                meanwhile: Sequence[Variable] = ()) -> tuple[Sums, Parked, Parked]:
    """Publishes what the tile comes to; threads hold these `meanwhile`. Gives what the warp's runs up to the thread's
    come to, what each warp's do, and, after a barrier, what all earlier tiles do."""
    warps, tile_prefix = Parked(code, own, "warps", WARPS), Parked(code, own, "earlier", 1)
    code.note("what the lanes of the warp up to this one come to, by shuffles")
    inclusive = scan_warp(kernel, code, own)
    with code.block() as last_lane:
        warps.store(code, op("/", THREAD, integer(WARP)), inclusive)
    code.add(loops.If(op("==", LANE, integer(WARP - 1)), tuple(last_lane)))
    code.add(loops.Barrier())
    code.note("look-back: the first warp publishes what the tile comes to, and finds out what all tiles before it do")
    with aside.first_warp([*inclusive.variables, *meanwhile]):
        total = sums(kernel, code, own, "total")
        fold_warps(kernel, code, total, warps, integer(WARPS))
        earlier = look_back(kernel, code, total, Line(tile, integer(0), tile), published)
        with first_thread(code):
            tile_prefix.store(code, integer(0), earlier)
    return inclusive, warps, tile_prefix


def before_segments_run(kernel: Kernel, code: Code, runs: Runs, run: Run, own: Sums, tile: loops.Exp, aside: Aside,
                        meanwhile: Sequence[Variable] = ()) -> Sums:
    """The sums before the thread's items in the segment that goes on into them; threads hold these `meanwhile`."""
    span = run.tile.span
    assert run.span is not None and span is not None
    whole, tile_prefix = Parked(code, own, "whole", 1), Parked(code, own, "earlier", 1)
    code.note("what the tile's segments come to up to each run, from the first runs that they have in it")
    with first_thread(code):
        whole.store(code, integer(0), sums(kernel, code, own, "none"))
    before = scan_segments(kernel, code, own)
    with code.block() as ends_tile:
        whole.store(code, integer(0), own)
    code.add(loops.If(op("and", op("<", run.span.i0, run.span.i1), op("==", run.span.i1, span.i1)),
                      tuple(ends_tile)))
    code.add(loops.Barrier())
    code.note("look-back: the first warp publishes what the last segment comes to, and finds out what the first did")
    with aside.first_warp(meanwhile):
        total = whole.load(code, integer(0))
        earlier = look_back(kernel, code, total, line_of(code, runs, span, tile), SEGMENTS)
        with first_thread(code):
            tile_prefix.store(code, integer(0), earlier)
    code.add(loops.Barrier())
    code.note("what comes before this thread's items: the tiles before, then the runs before, unless a segment begins")
    start = sums(kernel, code, own, "start")
    append(kernel, code, start, tile_prefix.load(code, integer(0)))
    with code.block() as others:
        append(kernel, code, start, before())
    code.add(loops.If(op(">", THREAD, integer(0)), tuple(others)))
    return start


def line_of(code: Code, runs: Runs, tile: Span, number: loops.Exp) -> Line:
    """The tiles that the tile's first segment has had. Its last begins a line if it begins here."""
    root = segmented(runs.root)
    had = code.let_int("had", op("/", op("-", tile.i0, start_of(code, root, tile.s0)), integer(runs.tile)))
    begins = code.let("begins_here", Value(begins_within(code, root, tile), "bool")).exp
    return Line(number, op("-", number, had), had, begins)
