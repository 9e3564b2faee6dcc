"""The GPU's walk of a space in order: tiles of a block each, in which each thread has a run of neighbouring items.

Items are what chunks.py says: the elements and, after the elements of each segment, its end. So threads have equal work
however long segments are. A kernel without carries walks its tiles once. With carries it is one launch, too:

    ticket      a block draws the number of its tile, so that all tiles before it have been begun
    summary     each thread walks its run for what carries come to, and stores nothing
    scan        the threads' totals, by shuffles within warps or in shared memory (skeletons.cuda.carries)
    look-back   the first warp finds out what the tiles before this one come to (skeletons.cuda.look_back)
    sweep       each thread walks its run again, from what comes before it: all elements, all stores

Where elements read how many survivors there are, a launch that ends with the look-back comes first.

A SEG_REDUCE is a carry that restarts with each segment: its result is known at the segment's end.
"""
from __future__ import annotations

from dataclasses import replace
from textwrap import fill

from nessie.cudagen.kernels.code import Code, Value, integer, op
from nessie.cudagen.kernels.walk import ROOT, Walk
from nessie.cudagen.loops import nodes as loops
from nessie.cudagen.loops.plan import THREADS, Buffer
from nessie.cudagen.skeletons.chunks import border_function, last, segmented, segmented_chunk, start_of
from nessie.cudagen.skeletons.cpu.walk import needed_by_carries
from nessie.cudagen.skeletons.cuda.blocks import BLOCK, blocks_here, keep_parts, launch
from nessie.cudagen.skeletons.cuda.carries import SEGMENTS, before_run, before_segments_run, sum_up_tile
from nessie.cudagen.skeletons.cuda.finish import finish_walk, last_block, through_last, totals_of
from nessie.cudagen.skeletons.cuda.look_back import published_buffers, publishing, ticket
from nessie.cudagen.skeletons.cuda.runs import Run, Runs, Tile, begins_within, ends_of, run_of, tile_of
from nessie.cudagen.skeletons.cuda.staging import NONE_ENDS, Staging, base_of, ended_in, read_at, slots_of, staging
from nessie.cudagen.skeletons.cuda.sums import Aside, Sums, Variable, append, sums
from nessie.cudagen.skeletons.elements import Here, Sweep, rank_of, scalar_value
from nessie.cudagen.skeletons.ends import results, survivors_offsets
from nessie.cudagen.skeletons.interiors import fixed_interior, inside_or_not, loop
from nessie.cudagen.skeletons.kernel import (
    Kernel,
    all_steps,
    counts,
    early_scalars,
    elements_read_counts,
    items_exp,
    to_cell,
)
from nessie.cudagen.skeletons.states import State, assign, current, declare, identity
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu.parts import INDEX_THUNKS

ABOUT = "All elements, in tiles of a block each, of which each thread has neighbouring items."
ITEMS = """
Items: the elements in order and, after the elements of each segment, its end."""
WIDE = 110                      # characters of a line
COUNTING = "counting_"                              # begins the names of what the launch that only counts publishes
ABOUT_COUNT = """\
How many elements survive, which elements of this kernel read: the sweep's walk for that alone. The block that ends
last leaves it in cells."""


def sweep_tiles(kernel: Kernel, runs: Runs, buffers: tuple[Buffer, ...], ends: bool) -> loops.Exp:
    """Adds the phase that walks, and `ends` the kernel, perhaps; the number of its blocks."""
    code, carries = kernel.code(), kernel.carries
    if kernel.walk.segmented and not isinstance(runs.root, ir.Irregular):
        kernel.functions.append(border_function(runs))
    tiles, tile, run, slots = begin_tiles(kernel, code, runs, all_steps(kernel), True)
    known_counts(kernel, code, runs.root)
    sweep = kernel.sweep(code, list(kernel.states.values()), all_steps(kernel))
    sweep.slots = slots
    before = prefixes(kernel, code, runs, run, tile, slots) if carries and not sums_alone(kernel) else {}
    for state in sweep.states.values():
        if state.name in before:
            sweep.variables[state.name] = before[state.name]
        else:
            sweep.declare(state)
    if sums_alone(kernel):
        walk_once(kernel, sweep, runs, run, tile)
    else:
        code.note(f"{'again ' if carries else ''}the {runs.width} items of this thread: all results are stored")
        walk_run(kernel, sweep, runs, run)
    slots.save(code)
    room = op("max", tiles, integer(1))
    buffers += keep_parts(kernel, sweep, totals_of(kernel), tile, room)
    about = ABOUT
    for prefix in ("", SEGMENTS):
        if published := [state for state in carries if state.restarts == (prefix == SEGMENTS)]:
            buffers += published_buffers(kernel, published, prefix, room)
            about += f"\n{about_tiles(published, prefix)}"
    about += ITEMS if kernel.walk.segmented else ""
    launched, more = finish_walk(kernel, code, tiles) if ends else (tiles, "")
    launch(kernel, "sweep", code, launched, buffers, numbered=bool(carries), about=about + more)
    return tiles


def about_tiles(published: list[State], prefix: str) -> str:
    """How a tile learns what comes before it."""
    status, one, all_ = publishing(published, prefix).names
    where, has, have = "", "comes to", "come to"
    if prefix == SEGMENTS:
        where, has, have = " in its first segment", "has of its last segment", "have of that"
    return fill(f"What comes before a tile{where} it learns from the tiles before it, while they may be at work: "
                f"{status} is no more than the epoch at first, 1 more when what the tile {has} stands {one}, 2 more "
                f"when what all tiles up to it {have} stands {all_}.", WIDE)


def count_tiles(kernel: Kernel, runs: Runs) -> None:
    """Adds a phase that does no more than find out what carries come to, in buffers of its own; its last block leaves
    the counts in cells."""
    code = kernel.code()
    tiles, tile, run, slots = begin_tiles(kernel, code, runs, needed_by_carries(kernel), False)
    own = summary(kernel, code, runs, run, slots).of(restarts=False)
    sum_up_tile(kernel, code, own, tile, COUNTING, Aside(code))
    launched = op("max", tiles, integer(1))
    with code.block() as last:
        counted(kernel, code, tiles)
    last_block(kernel, code, launched, last, together=False)
    buffers = published_buffers(kernel, own.states, COUNTING, launched)
    launch(kernel, "count", code, launched, buffers, numbered=True, about=ABOUT_COUNT)


def counted(kernel: Kernel, code: Code, tiles: loops.Exp) -> None:
    """How many have survived goes to cells."""
    ranks = {name: kernel.states[rank_of(step, side)] for step in kernel.walk.steps
             for side, name in enumerate(step.bind.names[:2]) if name in counts(kernel.walk) and name != "_"}
    now = {name: declare(code, kernel.tables, state) for name, state in ranks.items()}
    through_last(code, [(state, now[name]) for name, state in ranks.items()], COUNTING, blocks_here(code, tiles))
    for name, state in ranks.items():
        (count,) = current(state, now[name])
        to_cell(kernel, code, name, count)


def begin_tiles(kernel: Kernel, code: Code, runs: Runs, active: frozenset[str], writing: bool
                ) -> tuple[loops.Exp, loops.Exp, Run, Staging]:
    """The number of tiles for the host; the block's tile, the thread's run, and the slots of these steps, filled."""
    early_scalars(kernel, code)
    if kernel.carries:
        code.note("tiles are numbered as their blocks begin: all tiles before this one are at work or done")
    tiles = runs.tiles(items_exp(kernel, runs.root))
    tile = ticket(code, op("max", tiles, integer(1))) if kernel.carries else BLOCK
    part = tile_of(code, runs, tile)
    ended = ended_in(code, kernel.walk, part.span) if part.span is not None and writing else NONE_ENDS
    wanted = slots_of(kernel.walk, runs.root, runs.width * THREADS, active, writing, runs.room)
    slots = staging(code, wanted, runs.width, part.first, part.many, ended, isinstance(runs.root, ir.Flat))
    if part.starts and wanted.computed:
        code.add(loops.Barrier())
    slots.load(code, lambda step, index: term(kernel, code, runs.root, part, step, index))
    if part.starts or slots.slots.filled:
        code.add(loops.Barrier())
    return tiles, tile, run_of(code, runs, part), slots


def term(kernel: Kernel, code: Code, root: ir.Space, tile: Tile, name: str, index: loops.Exp) -> Value:
    """What the thunk of the step comes to at an element of the tile."""
    (soac,) = [step.bind.soac for step in kernel.walk.steps if step.name == name]
    assert isinstance(soac, ir.Map | ir.Reduce | ir.Scan)
    here = Here(ROOT, index)
    if tile.span is not None:
        segment = last(code, tile.span.s0, tile.span.s1, lambda s: op("<=", start_of(code, segmented(root), s), index))
        segment = code.let_int("s", segment)
        here = Here(ROOT, index, segment, code.let_int("start", start_of(code, segmented(root), segment)))
    return code.let("term", scalar_value(kernel.sweep(code, [], frozenset()).values(soac.thunk, here)))


def known_counts(kernel: Kernel, code: Code, root: ir.Space) -> None:
    """Bind the numbers of survivors, where they have been found out; else scatters to them have room for all."""
    for name in sorted(counts(kernel.walk)):
        if elements_read_counts(kernel.walk):
            code.values[name] = Value(loops.Load(code.array("cells", "int"), integer(kernel.slot(name))), "int")
        elif any(isinstance(step.bind.soac, ir.Write) and step.bind.soac.size == name for step in kernel.walk.steps):
            code.values[name] = Value(code.size(root.size if isinstance(root, ir.Flat) else root.total), "int")


# The walk of one thread -------------------------------------------------------------------------


def walk_run(kernel: Kernel, sweep: Sweep, runs: Runs, run: Run) -> None:
    """The run's elements, and what happens at the ends of segments."""
    if run.span is None:
        elements(sweep, run.low, run.high)
        return
    segmented_chunk(sweep.code, segmented(runs.root), run.span, lambda s: begin(sweep, s),
                    lambda low, high, s, start: elements(sweep, low, high, s, start), lambda s: end(kernel, sweep, s))


def elements(sweep: Sweep, low: loops.Exp, high: loops.Exp, segment: loops.Exp | None = None,
             start: loops.Exp | None = None) -> None:
    """Neighbouring elements; where there are segments, all of one."""
    inner = None if sweep.walk.segmented else fixed_interior(sweep)

    def walk() -> None:
        if whole := loop(sweep, low, high, "i", lambda index: sweep.root(index, segment, start)):
            sweep.code.add(whole)

    inside_or_not(sweep, inner, low, op("-", high, integer(1)), walk)


def begin(sweep: Sweep, segment: loops.Exp) -> None:
    """Every thread that has a part of the segment computes what its elements need; who has its end stores that."""
    writing, sweep.writing = sweep.writing, False
    for array in read_by_segment(sweep.walk, sweep.active):
        sweep.code.load(array, base_of(sweep.walk, array), segment)
    sweep.segment(segment, prologue=True)
    sweep.writing = writing


def read_by_segment(walk: Walk, active: frozenset[str]) -> list[str]:
    """The kernel's arrays, with an element for each segment, that elements read at their segment's number."""
    assert isinstance(walk.root, ir.Segmented)
    thunks = [thunk for step in walk.steps if step.place.kind in ("root", "residual") and step.name in active
              for thunk in INDEX_THUNKS.of(step.bind.soac) if len(thunk.params) > 1]
    return sorted(read_at(walk, walk.root.segments, thunks, -3))


def end(kernel: Kernel, sweep: Sweep, segment: loops.Exp) -> None:
    store_ended(kernel, sweep, segment)
    restart(kernel, sweep)


def store_ended(kernel: Kernel, sweep: Sweep, segment: loops.Exp) -> None:
    for name in sorted(kernel.walk.prologue & kernel.walk.stored):
        sweep.store(name, segment, sweep.code.known[name, segment])
    survivors_offsets(kernel, sweep, segment)
    results(kernel, sweep, segment, {state.name: sweep.now(state) for state in segment_totals(kernel)})


def restart(kernel: Kernel, sweep: Sweep) -> None:
    for state in sweep.states.values():
        if state.restarts:
            assign(sweep.code, sweep.variables[state.name], identity(sweep.code, kernel.tables, state))


def segment_totals(kernel: Kernel) -> list[State]:
    """The SEG_REDUCEs."""
    reduced = {step.name for step in kernel.walk.steps if isinstance(step.bind.soac, ir.Reduce)}
    return [state for state in kernel.carries if state.name in reduced]


# The one walk of sums -----------------------------------------------------------------------------


def sums_alone(kernel: Kernel) -> bool:
    """Are SEG_REDUCEs all that is carried? No element needs to know what they are before it."""
    return bool(kernel.carries) and len(segment_totals(kernel)) == len(kernel.carries)


def walk_once(kernel: Kernel, sweep: Sweep, runs: Runs, run: Run, tile: loops.Exp) -> None:
    """The run's elements, and what happens at the ends of segments. What the run has of a segment that began before it
    waits until it is known what that came to."""
    code, root, span = sweep.code, segmented(runs.root), run.span
    assert span is not None
    code.note(f"the {runs.width} items of this thread: all results are stored but of a segment that began before")
    now = Sums(tuple(kernel.carries), {state.name: sweep.variables[state.name] for state in kernel.carries},
               code.var("begins", "int", op("btoi", begins_within(code, root, span))))
    first = sums(kernel, code, now, "first")
    goes_on = code.let("goes_on", Value(op("<", start_of(code, root, span.s0), span.i0), "bool")).exp

    def ended(segment: loops.Exp) -> None:
        with code.block() as waits:
            for state in kernel.carries:
                assign(code, first.names[state.name], now.values(state))
        with code.block() as here:
            store_ended(kernel, sweep, segment)
        code.add(loops.If(op("and", goes_on, op("==", segment, span.s0)), tuple(waits), tuple(here)))
        restart(kernel, sweep)

    segmented_chunk(code, root, span, lambda s: begin(sweep, s),
                    lambda low, high, s, start: elements(sweep, low, high, s, start), ended)
    before = before_segments_run(kernel, code, runs, run, now, tile, Aside(code))
    code.note("the segment that began before")
    with code.block() as last:
        append(kernel, code, before, first)
        sweep.variables |= before.names
        begin(sweep, span.s0)
        store_ended(kernel, sweep, span.s0)
    code.add(loops.If(op("and", goes_on, op("<", span.s0, span.s1)), tuple(last)))


# What comes before a thread's run -----------------------------------------------------------------


def prefixes(kernel: Kernel, code: Code, runs: Runs, run: Run, tile: loops.Exp,
             slots: Staging) -> dict[str, tuple[str, ...]]:
    """Variables with what each carry is before the thread's run. What is before the tile, ranks are counted from."""
    own = summary(kernel, code, runs, run, slots)
    goes_on, restarts = own.of(restarts=False), own.of(restarts=True)
    before, aside, held = dict[str, tuple[str, ...]](), Aside(code), list[Variable]()
    if goes_on.states:
        start, earlier = before_run(kernel, code, goes_on, tile, aside, restarts)
        held = [*start.variables, *ends_of(run)]
        before |= start.names
        slots.firsts = {state: loops.Name(names[0]) for state, names in earlier.names.items()}
    if restarts.states:
        before |= before_segments_run(kernel, code, runs, run, restarts, tile, aside, held).names
    return before


def summary(kernel: Kernel, code: Code, runs: Runs, run: Run, slots: Staging) -> Sums:
    """The sums of the thread's run. Where every carry restarts, only its last segment plays a part."""
    carried = " and ".join(component for state in kernel.carries for component in state.components)
    code.note(f"{carried}: what the {runs.width} items of this thread come to; nothing is stored")
    sweep = kernel.sweep(code, kernel.carries, needed_by_carries(kernel), writing=False)
    sweep.slots = slots
    for state in kernel.carries:
        sweep.declare(state)
    begins, code.recording = None, False
    if run.span is None:
        elements(sweep, run.low, run.high)
    else:
        span, root = run.span, segmented(runs.root)
        if runs.cuts:
            begins = code.var("begins", "int", op("btoi", begins_within(code, root, span)))
        if all(state.restarts for state in kernel.carries):
            span = replace(span, s0=span.s1)
        segmented_chunk(code, root, span, lambda s: begin(sweep, s),
                        lambda low, high, s, start: elements(sweep, low, high, s, start),
                        lambda s: restart(kernel, sweep))
    code.recording = True
    return Sums(tuple(kernel.carries), dict(sweep.variables), begins)
