"""How the GPU walks a space in order: tiles of a block each, in which each thread has a run of neighbouring items.

Items are what chunks.py says: the elements and, after the elements of each segment, its end. So threads have equal work
however long segments are. A kernel without carries walks its tiles once. With carries it is one launch, too:

    ticket      a block draws the number of its tile, so that all tiles before it have been begun
    summary     each thread walks its run for what carries come to, and stores nothing
    scan        the threads' totals, by shuffles within warps, then over the warps' totals in shared memory
    look-back   what the tile comes to is published; then the first thread goes back over earlier tiles until one has
                published what it and all before it come to (Merrill and Garland, Single-pass Parallel Prefix Scan with
                Decoupled Look-back, 2016)
    sweep       each thread walks its run again, from what comes before it: all elements, all stores

Where elements read how many survivors there are, a launch that ends with the look-back comes first.

A SEG_REDUCE is a carry that restarts with each segment: its result is known at the segment's end. Of values that
restart, `ended` says whether a segment has ended in what has been summed up: then what was before plays no part.
"""
from __future__ import annotations

from dataclasses import dataclass, replace

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
    reduce_block,
    shared_array,
    unless_stopped,
)
from nessie.cudagen.skeletons.elements import Sweep
from nessie.cudagen.skeletons.kernel import (
    Kernel,
    all_steps,
    counts,
    early_scalars,
    items_exp,
    state_buffers,
)
from nessie.cudagen.skeletons.phases import needed_by_carries
from nessie.cudagen.skeletons.segments import results, survivors_offsets
from nessie.cudagen.skeletons.states import State, assign, combine, current, declare, identity, keep
from nessie.cudagen.walk import UNIT, Walk, using
from nessie.lambda_cu import ir

AGGREGATE, PREFIX = integer(1), integer(2)          # what of a tile is published; 0: nothing yet
COUNTING = "counting_"                              # begins the names of what the launch that only counts publishes


@dataclass(frozen=True)
class Runs(Chunks):
    """The threads' runs, `width` items each; all items are the first thread's where the walk must be sequential."""

    def bounds(self, code: Code, chunk: loops.Exp) -> tuple[loops.Exp, loops.Exp]:
        items = code.let_int("items", self.items(code))
        if self.sequential:
            return code.let_int("low", op("select", op("==", chunk, integer(0)), integer(0), items)), items
        low = code.let_int("low", op("min", op("*", chunk, integer(self.width)), items))
        return low, code.let_int("high", op("min", op("+", low, integer(self.width)), items))

    def tiles(self, items: loops.Exp) -> loops.Exp:
        """How many blocks so many items take."""
        if self.sequential:
            return op("min", items, integer(1))
        tile = self.width * THREADS
        return op("/", op("+", items, integer(tile - 1)), integer(tile))


def runs_of(root: ir.Space, width: int, sequential: bool, kernel: str) -> Runs:
    return Runs(root, width, sequential, f"{identifier(kernel)}_segment_of")


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
    walk_run(kernel, sweep, runs, run)
    totals = [state for state in kernel.states.values() if state.kind == "total"]
    reduce_block(kernel, code, sweep, totals)
    with code.block() as first:
        for state in totals:
            keep(code, state, "parts", tile, sweep.now(state))
    if first:
        code.add(loops.If(op("==", THREAD, integer(0)), tuple(first)))
    for state in totals:
        buffers += state_buffers(state, "parts", tiles)
    unless_stopped(code)
    kernel.phase("sweep", code, tiles, buffers + published_buffers(kernel, "", tiles), "cuda")
    return tiles


def count_tiles(kernel: Kernel, runs: Runs) -> loops.Exp:
    """Adds a phase that does no more than find out what carries come to, in buffers of its own; its blocks."""
    code = kernel.code()
    tiles, tile, run = begin_tiles(kernel, code, runs, COUNTING)
    sum_up_tile(kernel, code, runs, run, tile, COUNTING)
    unless_stopped(code)
    kernel.phase("count", code, tiles, published_buffers(kernel, COUNTING, tiles), "cuda")
    return tiles


def begin_tiles(kernel: Kernel, code: Code, runs: Runs, prefix: str = "") -> tuple[loops.Exp, loops.Exp, loops.Exp]:
    """The number of tiles for the host; the block's tile and the thread's run."""
    early_scalars(kernel, code)
    tile = ticket(code, prefix) if kernel.carries else BLOCK
    run = code.let_int("run", op("+", op("*", tile, integer(THREADS)), THREAD))
    return runs.tiles(items_exp(kernel, runs.root)), tile, run


def published_buffers(kernel: Kernel, prefix: str, tiles: loops.Exp) -> tuple[Buffer, ...]:
    """What tiles tell each other."""
    carries = kernel.carries
    if not carries:
        return ()
    buffers: tuple[Buffer, ...] = (Buffer(f"{prefix}status", "int", tiles, 0),
                                   Buffer(f"{prefix}tickets", "int", integer(1), 0))
    for use in ("aggregates", "prefixes"):
        for state in carries:
            buffers += state_buffers(state, prefix + use, tiles)
        if restarting(carries):
            buffers += (Buffer(f"ended_{prefix}{use}", "int", tiles),)
    return buffers


def known_counts(kernel: Kernel, code: Code, root: ir.Space) -> None:
    """How many survivors there are, where that has been found out; else scatters to them have room for all."""
    for name in counts(kernel.walk):
        if elements_read_counts(kernel.walk):
            code.values[name] = Value(loops.Load(code.array("cells", "int"), integer(kernel.slot(name))), "int")
        elif any(isinstance(step.bind.soac, ir.Permute) and step.bind.soac.size == name for step in kernel.walk.steps):
            code.values[name] = Value(code.size(root.size if isinstance(root, ir.Flat) else root.total), "int")


def elements_read_counts(walk: Walk) -> bool:
    return any(using(step.bind.soac) & counts(walk) for step in walk.steps if step.place != UNIT)


def ticket(code: Code, prefix: str) -> loops.Exp:
    """The number of the tile: blocks that have drawn smaller ones are running or done."""
    drawn, shared = code.fresh("drawn"), shared_array(code, "ticket", "int", 1)
    code.add(loops.If(op("==", THREAD, integer(0)), (
        loops.Atomic("add", code.array(f"{prefix}tickets", "int", writable=True), integer(0), integer(1), drawn),
        loops.Store(shared, integer(0), loops.Name(drawn)))))
    code.add(loops.Barrier())
    return code.let_int("tile", loops.Load(shared, integer(0)))


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


@dataclass(frozen=True)
class Sums:
    """Variables that hold what some items come to, state by state; `ended`: whether a segment ended among them."""
    states: tuple[State, ...]
    names: dict[str, tuple[str, ...]]
    ended: str | None

    def values(self, state: State) -> tuple[Value, ...]:
        return current(state, self.names[state.name])


def restarting(states: list[State]) -> bool:
    return any(state.restarts for state in states)


def prefixes(kernel: Kernel, code: Code, runs: Runs, run: loops.Exp, tile: loops.Exp,
             published: str) -> dict[str, tuple[str, ...]]:
    """Variables with what each carry is before the thread's run."""
    inclusive, warps, tile_prefix = sum_up_tile(kernel, code, runs, run, tile, published)
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
    own = summary(kernel, code, runs, run)
    warps = Parked(code, own, "warps", WARPS)
    inclusive = scan_warp(kernel, code, own)
    with code.block() as last_lane:
        warps.store(code, op("/", THREAD, integer(WARP)), inclusive)
    code.add(loops.If(op("==", LANE, integer(WARP - 1)), tuple(last_lane)))
    code.add(loops.Barrier())
    tile_prefix = Parked(code, own, "earlier", 1)
    with code.block() as first:
        total = sums(kernel, code, own, "total")
        fold_warps(kernel, code, total, warps, integer(WARPS))
        tile_prefix.store(code, integer(0), look_back(kernel, code, total, tile, published))
    code.add(loops.If(op("==", THREAD, integer(0)), tuple(first)))
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


def sums(kernel: Kernel, code: Code, like: Sums, hint: str) -> Sums:
    """Those of no items."""
    names = {state.name: declare(code, kernel.tables, state, f"_{hint}") for state in like.states}
    return Sums(like.states, names, code.var(f"{hint}_ended", "int", integer(0)) if like.ended else None)


def append(kernel: Kernel, code: Code, left: Sums, right: Sums) -> None:
    """left becomes what left and then right come to."""
    join(kernel, code, left, left, right)


def prepend(kernel: Kernel, code: Code, left: Sums, right: Sums) -> None:
    """right becomes what left and then right come to."""
    join(kernel, code, right, left, right)


def join(kernel: Kernel, code: Code, into: Sums, left: Sums, right: Sums) -> None:
    with code.block() as goes_on:
        for state in into.states:
            if state.restarts:
                assign(code, into.names[state.name],
                       combine(code, kernel.tables, state, left.values(state), right.values(state)))
    with code.block() as starts_afresh:
        for state in into.states:
            if state.restarts and into is not right:
                assign(code, into.names[state.name], right.values(state))
    for state in into.states:
        if not state.restarts:
            assign(code, into.names[state.name],
                   combine(code, kernel.tables, state, left.values(state), right.values(state)))
    if into.ended and left.ended and right.ended:
        unbroken = op("==", loops.Name(right.ended), integer(0))
        code.add(loops.If(unbroken, tuple(goes_on), tuple(starts_afresh)))
        code.add(loops.Set(into.ended, op("or", loops.Name(left.ended), loops.Name(right.ended))))


def scan_warp(kernel: Kernel, code: Code, own: Sums) -> Sums:
    """Variables that hold what the lanes up to this one come to."""
    for offset in (1, 2, 4, 8, 16):
        left = shuffled(code, own, integer(offset), "left")
        with code.block() as others:
            prepend(kernel, code, left, own)
        code.add(loops.If(op(">=", LANE, integer(offset)), tuple(others)))
    return own


def shuffled(code: Code, own: Sums, offset: loops.Exp, hint: str) -> Sums:
    """What the lane so far below holds."""
    def look(name: str, type_: str) -> str:
        found = code.fresh(hint)
        code.add(loops.Let(found, type_, loops.Shuffle(name, offset, "up")))
        return found

    names = {state.name: tuple([look(name, type_) for name, type_ in
                                zip(own.names[state.name], state.monoid.types, strict=True)]) for state in own.states}
    return Sums(own.states, names, look(own.ended, "int") if own.ended else None)


def fold_warps(kernel: Kernel, code: Code, into: Sums, warps: Parked, count: loops.Exp) -> None:
    """Appends what so many warps, from the first, come to."""
    warp = code.fresh("warp")
    with code.block() as body:
        append(kernel, code, into, warps.load(code, loops.Name(warp)))
    code.add(loops.For(warp, integer(0), count, tuple(body)))


class Parked:
    """Sums in shared memory."""

    def __init__(self, code: Code, like: Sums, hint: str, size: int) -> None:
        self.like = like
        self.arrays = {state.name: [shared_array(code, f"{state.name}_{hint}", type_, size)
                                    for type_ in state.monoid.types] for state in like.states}
        self.ended = shared_array(code, f"{hint}_ended", "int", size) if like.ended else None

    def store(self, code: Code, at: loops.Exp, found: Sums) -> None:
        for state in self.like.states:
            for array, name in zip(self.arrays[state.name], found.names[state.name], strict=True):
                code.add(loops.Store(array, at, loops.Name(name)))
        if self.ended and found.ended:
            code.add(loops.Store(self.ended, at, loops.Name(found.ended)))

    def load(self, code: Code, at: loops.Exp) -> Sums:
        def element(array: str, type_: str) -> str:
            name = code.fresh(f"{array}_at")
            code.add(loops.Let(name, type_, loops.Load(array, at)))
            return name

        names = {state.name: tuple([element(array, type_) for array, type_ in
                                    zip(self.arrays[state.name], state.monoid.types, strict=True)])
                 for state in self.like.states}
        return Sums(self.like.states, names, element(self.ended, "int") if self.ended else None)


# Look-back --------------------------------------------------------------------------------------


def look_back(kernel: Kernel, code: Code, total: Sums, tile: loops.Exp, prefix: str) -> Sums:
    """Publishes what the tile comes to, finds what all tiles before it come to, and publishes both together."""
    status = code.array(f"{prefix}status", "int", writable=True)
    with code.block() as published:
        publish(code, f"{prefix}aggregates", tile, total)
        code.add(loops.Store(status, tile, AGGREGATE, release=True))
    code.add(loops.If(op(">", tile, integer(0)), tuple(published)))
    earlier = sums(kernel, code, total, "earlier")
    at = code.var("at", "int", op("-", tile, integer(1)))
    with code.block() as body:
        found = code.var("found", "int", loops.Load(status, loops.Name(at), "acquire"))
        code.add(loops.While(op("==", loops.Name(found), integer(0)), (
            loops.Pause(), loops.Set(found, loops.Load(status, loops.Name(at), "acquire")))))
        whole = op("==", loops.Name(found), PREFIX)
        for use, condition in ((f"{prefix}prefixes", whole), (f"{prefix}aggregates", op("not", whole))):
            with code.block() as taken:
                prepend(kernel, code, published_sums(code, total, use, loops.Name(at)), earlier)
            code.add(loops.If(condition, tuple(taken)))
        code.add(loops.Set(at, op("select", whole, integer(-1), op("-", loops.Name(at), integer(1)))))
    code.add(loops.While(op(">=", loops.Name(at), integer(0)), tuple(body)))
    through = sums(kernel, code, total, "through")
    append(kernel, code, through, earlier)
    append(kernel, code, through, total)
    publish(code, f"{prefix}prefixes", tile, through)
    code.add(loops.Store(status, tile, PREFIX, release=True))
    return earlier


def publish(code: Code, use: str, tile: loops.Exp, found: Sums) -> None:
    for state in found.states:
        keep(code, state, use, tile, found.values(state))
    if found.ended:
        code.store(f"ended_{use}", tile, Value(loops.Name(found.ended), "int"))


def published_sums(code: Code, like: Sums, use: str, tile: loops.Exp) -> Sums:
    def element(array: str, type_: str) -> str:
        name = code.fresh(f"{array}_at")
        code.add(loops.Let(name, type_, loops.Load(code.array(array, type_, writable=True), tile, "volatile")))
        return name

    names = {state.name: tuple([element(array, type_) for array, type_ in
                                zip(state.buffers(use), state.monoid.types, strict=True)]) for state in like.states}
    return Sums(like.states, names, element(f"ended_{use}", "int") if like.ended else None)
