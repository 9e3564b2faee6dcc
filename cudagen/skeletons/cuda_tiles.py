"""How the GPU walks a space in order: tiles of a block each, in which each thread has a run of neighbouring items.

Items are what chunks.py says: the elements and, after the elements of each segment, its end. So threads have equal work
however long segments are. A kernel without carries walks its tiles once. With carries it is one launch, too:

    ticket      a block draws the number of its tile, so that all tiles before it have been begun
    summary     each thread walks its run for what carries come to, and stores nothing
    scan        the threads' totals, by shuffles within warps, then over the warps' totals in shared memory
    look-back   the first warp finds out what all tiles before this one come to (skeletons.cuda_look_back)
    sweep       each thread walks its run again, from what comes before it: all elements, all stores

Where elements read how many survivors there are, a launch that ends with the look-back comes first.

A SEG_REDUCE is a carry that restarts with each segment: its result is known at the segment's end.
"""
from __future__ import annotations

from dataclasses import replace

from nessie.base.records import dataclass
from nessie.cudagen import loops
from nessie.cudagen.code import Code, Value, identifier, integer, op
from nessie.cudagen.plan import THREADS, Buffer
from nessie.cudagen.skeletons.chunks import Chunks, flat_chunk, search_function, segmented_chunk, span
from nessie.cudagen.skeletons.cuda_blocks import (
    BLOCK,
    LANE,
    THREAD,
    WARP,
    WARPS,
    first_thread,
    first_warp,
    keep_parts,
    launch,
)
from nessie.cudagen.skeletons.cuda_look_back import look_back, published_buffers, ticket
from nessie.cudagen.skeletons.cuda_sums import Parked, Sums, append, fold_warps, restarting, scan_warp, shuffled, sums
from nessie.cudagen.skeletons.elements import Sweep
from nessie.cudagen.skeletons.kernel import (
    Kernel,
    all_steps,
    counts,
    early_scalars,
    items_exp,
)
from nessie.cudagen.skeletons.phases import needed_by_carries
from nessie.cudagen.skeletons.segments import results, survivors_offsets
from nessie.cudagen.skeletons.states import State, assign, identity
from nessie.cudagen.walk import UNIT, Walk, using
from nessie.lambda_cu import ir

ABOUT = "All elements, in tiles of a block each, of which each thread has neighbouring items."
IN_ORDER = """
What comes before a tile it learns from the tiles before it, while they may be at work: status[tile] is 0 at
first, 1 when what the tile comes to stands in aggregates[tile], 2 when what all tiles up to it come to stands
in prefixes[tile]."""
ITEMS = """
Items: the elements in order and, after the elements of each segment, its end; segment_of finds an item's
segment."""
COUNTING = "counting_"                              # begins the names of what the launch that only counts publishes


@dataclass(frozen=True)
class Runs(Chunks):
    """The threads' runs, `width` items each."""

    def bounds(self, code: Code, chunk: loops.Exp) -> tuple[loops.Exp, loops.Exp]:
        items = code.let_int("items", self.items(code))
        low = code.let_int("low", op("min", op("*", chunk, integer(self.width)), items))
        return low, code.let_int("high", op("min", op("+", low, integer(self.width)), items))

    def tiles(self, items: loops.Exp) -> loops.Exp:
        """How many blocks so many items take."""
        tile = self.width * THREADS
        return op("/", op("+", items, integer(tile - 1)), integer(tile))


def runs_of(root: ir.Space, width: int, kernel: str) -> Runs:
    return Runs(root, width, False, f"{identifier(kernel)}_segment_of")


def sweep_tiles(kernel: Kernel, runs: Runs, buffers: tuple[Buffer, ...]) -> loops.Exp:
    """Adds the phase that walks; the number of its blocks."""
    code, carries = kernel.code(), kernel.carries
    if kernel.walk.segmented:
        kernel.functions.append(search_function(runs))
    tiles, tile, run = begin_tiles(kernel, code, runs)
    known_counts(kernel, code, runs.root)
    sweep = kernel.sweep(code, list(kernel.states.values()), all_steps(kernel))
    before = prefixes(kernel, code, runs, run, tile, "") if carries else {}
    for state in sweep.states.values():
        if state.name in before:
            sweep.variables[state.name] = before[state.name]
        else:
            sweep.declare(state)
    code.note(f"{'again ' if carries else ''}the {runs.width} items of this thread: all results are stored")
    walk_run(kernel, sweep, runs, run)
    totals = [state for state in kernel.states.values() if state.kind == "total"]
    buffers += keep_parts(kernel, sweep, totals, tile, tiles)
    about = ABOUT + (IN_ORDER if carries else "") + (ITEMS if kernel.walk.segmented else "")
    launch(kernel, "sweep", code, tiles, buffers + published_buffers(kernel, "", tiles), about=about)
    return tiles


def count_tiles(kernel: Kernel, runs: Runs) -> loops.Exp:
    """Adds a phase that does no more than find out what carries come to, in buffers of its own; its blocks."""
    code = kernel.code()
    tiles, tile, run = begin_tiles(kernel, code, runs, COUNTING)
    sum_up_tile(kernel, code, runs, run, tile, COUNTING)
    launch(kernel, "count", code, tiles, published_buffers(kernel, COUNTING, tiles),
           about="How many elements survive, which elements of this kernel read: the sweep's walk for that alone.")
    return tiles


def begin_tiles(kernel: Kernel, code: Code, runs: Runs, prefix: str = "") -> tuple[loops.Exp, loops.Exp, loops.Exp]:
    """The number of tiles for the host; the block's tile and the thread's run."""
    early_scalars(kernel, code)
    if kernel.carries:
        code.note("tiles are numbered as their blocks begin: all tiles before this one are at work or done")
    tile = ticket(code, prefix) if kernel.carries else BLOCK
    run = code.let_int("run", op("+", op("*", tile, integer(THREADS)), THREAD))
    return runs.tiles(items_exp(kernel, runs.root)), tile, run


def known_counts(kernel: Kernel, code: Code, root: ir.Space) -> None:
    """How many survivors there are, where that has been found out; else scatters to them have room for all."""
    for name in sorted(counts(kernel.walk)):
        if elements_read_counts(kernel.walk):
            code.values[name] = Value(loops.Load(code.array("cells", "int"), integer(kernel.slot(name))), "int")
        elif any(isinstance(step.bind.soac, ir.Permute) and step.bind.soac.size == name for step in kernel.walk.steps):
            code.values[name] = Value(code.size(root.size if isinstance(root, ir.Flat) else root.total), "int")


def elements_read_counts(walk: Walk) -> bool:
    return any(using(step.bind.soac) & counts(walk) for step in walk.steps if step.place != UNIT)


# The walk of one thread -------------------------------------------------------------------------


def walk_run(kernel: Kernel, sweep: Sweep, runs: Runs, run: loops.Exp) -> None:
    """The run's elements, and what happens at the ends of segments."""
    code = sweep.code
    if not kernel.walk.segmented:
        flat_chunk(code, runs, run, sweep.root)
        return
    segmented_chunk(code, runs, span(code, runs, run), lambda s: begin(sweep, s),
                    lambda s, start, i: sweep.root(i, s, start), lambda s: end(kernel, sweep, s))


def begin(sweep: Sweep, segment: loops.Exp) -> None:
    """Every thread that has a part of the segment computes what its elements need; who has its end stores that."""
    writing, sweep.writing = sweep.writing, False
    sweep.segment(segment, prologue=True)
    sweep.writing = writing


def end(kernel: Kernel, sweep: Sweep, segment: loops.Exp) -> None:
    if sweep.writing:
        for name in sorted(kernel.walk.prologue & kernel.walk.stored):
            sweep.store(name, segment, sweep.code.known[name, segment])
        survivors_offsets(kernel, sweep, segment)
        results(kernel, sweep, segment, {state.name: sweep.now(state) for state in segment_totals(kernel)})
    restart(kernel, sweep)


def restart(kernel: Kernel, sweep: Sweep) -> None:
    for state in sweep.states.values():
        if state.restarts:
            assign(sweep.code, sweep.variables[state.name], identity(sweep.code, kernel.tables, state))


def segment_totals(kernel: Kernel) -> list[State]:
    """The SEG_REDUCEs."""
    reduced = {step.name for step in kernel.walk.steps if isinstance(step.bind.soac, ir.Reduce)}
    return [state for state in kernel.carries if state.name in reduced]


# What comes before a thread's run -----------------------------------------------------------------


def prefixes(kernel: Kernel, code: Code, runs: Runs, run: loops.Exp, tile: loops.Exp,
             published: str) -> dict[str, tuple[str, ...]]:
    """Variables with what each carry is before the thread's run."""
    inclusive, warps, tile_prefix = sum_up_tile(kernel, code, runs, run, tile, published)
    code.note("what comes before this thread's items: the tiles before, then the warps before, then the lanes before")
    before = sums(kernel, code, inclusive, "before")
    fold_warps(kernel, code, before, warps, op("/", THREAD, integer(WARP)))
    left = shuffled(code, inclusive, integer(1), "left")
    with code.block() as others:
        append(kernel, code, before, left)
    code.add(loops.If(op(">", LANE, integer(0)), tuple(others)))
    code.add(loops.Barrier())
    start = sums(kernel, code, inclusive, "start")
    append(kernel, code, start, tile_prefix.load(code, integer(0)))
    append(kernel, code, start, before)
    return start.names


def sum_up_tile(kernel: Kernel, code: Code, runs: Runs, run: loops.Exp, tile: loops.Exp,
                published: str) -> tuple[Sums, Parked, Parked]:
    """Publishes what the tile comes to. Gives what the warp's runs up to the thread's come to, what each warp's do,
    and, after a barrier, what all earlier tiles do."""
    carried = " and ".join(component for state in kernel.carries for component in state.components)
    code.note(f"{carried}: what the {runs.width} items of this thread come to; nothing is stored")
    own = summary(kernel, code, runs, run)
    warps = Parked(code, own, "warps", WARPS)
    code.note("what the lanes of the warp up to this one come to, by shuffles")
    inclusive = scan_warp(kernel, code, own)
    with code.block() as last_lane:
        warps.store(code, op("/", THREAD, integer(WARP)), inclusive)
    code.add(loops.If(op("==", LANE, integer(WARP - 1)), tuple(last_lane)))
    code.add(loops.Barrier())
    code.note("look-back: the first warp publishes what the tile comes to, and finds out what all tiles before it do")
    tile_prefix = Parked(code, own, "earlier", 1)
    with first_warp(code):
        total = sums(kernel, code, own, "total")
        fold_warps(kernel, code, total, warps, integer(WARPS))
        earlier = look_back(kernel, code, total, tile, published)
        with first_thread(code):
            tile_prefix.store(code, integer(0), earlier)
    return inclusive, warps, tile_prefix


def summary(kernel: Kernel, code: Code, runs: Runs, run: loops.Exp) -> Sums:
    """What the thread's run comes to. Where every carry restarts, only its last segment plays a part."""
    sweep = kernel.sweep(code, kernel.carries, needed_by_carries(kernel), writing=False)
    for state in kernel.carries:
        sweep.declare(state)
    ended, code.recording = None, False
    if not kernel.walk.segmented:
        flat_chunk(code, runs, run, sweep.root)
    else:
        part = span(code, runs, run)
        if restarting(kernel.carries):
            ended = code.var("ended", "int", op("btoi", op("<", part.s0, part.s1)))
        if all(state.restarts for state in kernel.carries):
            part = replace(part, s0=part.s1)
        segmented_chunk(code, runs, part, lambda s: begin(sweep, s),
                        lambda s, start, i: sweep.root(i, s, start), lambda s: restart(kernel, sweep))
    code.recording = True
    return Sums(tuple(kernel.carries), dict(sweep.variables), ended)
