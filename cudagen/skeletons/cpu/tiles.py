"""Walks by tiles, where segments lie beside each other in memory and the elements of one lie apart.

    { (s, j, i) => a[offsets[j] + s] }                  a transposition, a sum of columns

    for chunk:                                          a band of segments, a block of each
      for (group = low; group < high; group += 8)       a MAP: as many segments as a line of a cache has elements
        for (j = begin; j < end; j += 1)
          for (s = group; s < min(group + 8, high); s += 1)     ... element j of segment s

      for (j = begin; j < end; j += 1)                  a SEG_REDUCE: all segments of the band, each with its sum
        for (column = 0; column < width; column += 1)
          sums[column] = sums[column] + ...

Of segments that have several axes, a band lies along the last: the indices of the others are the same in all of it. So
what is read is walked by lines of the cache, as what is written is. Which walks gain is told by how their reads move
(lambda_cu.spaces.strides). A segment is cut into blocks at the same places as in other walks (skeletons.chunks), and
the elements of a block are added up in the same order (skeletons.cpu.lanes): the bits of sums stay the same.
"""
from __future__ import annotations

from nessie.base.records import dataclass
from nessie.cudagen.kernels.code import Code, integer, op
from nessie.cudagen.kernels.hoisting import divisions
from nessie.cudagen.kernels.thunks import Tables
from nessie.cudagen.kernels.walk import ROOT, SEGMENT, Walk
from nessie.cudagen.loops import nodes as loops
from nessie.cudagen.loops.module import Module
from nessie.cudagen.skeletons.chunks import each_chunk
from nessie.cudagen.skeletons.counted import count_of, loop
from nessie.cudagen.skeletons.cpu.lanes import LANES, gains
from nessie.cudagen.skeletons.elements import Sweep, states_of
from nessie.cudagen.skeletons.ends import results
from nessie.cudagen.skeletons.kernel import (
    Kernel,
    all_steps,
    items_exp,
    result_buffers,
    result_of,
    size_exp,
    state_buffers,
)
from nessie.cudagen.skeletons.states import State, commutative, held, identity, keep
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu.spaces.strides import LINE, strides

BAND = 64                       # segments
SHORT = 32                      # elements of a segment that are few rounds of a loop
HELD = 512                      # elements of a segment, of which a cache does not hold a line of each


def is_tiled(walk: Walk) -> bool:
    """Does a walk by tiles do all that there is to do, and do reads gain?"""
    if not isinstance(walk.root, ir.Uniform) or walk.prologue:
        return False
    elements = []
    for step in walk.steps:
        soac = step.bind.soac
        if step.place == SEGMENT and isinstance(soac, ir.Map) and isinstance(soac.space, ir.Flat):
            continue
        if step.place != ROOT or not isinstance(soac, ir.Map | ir.Reduce) or soac.interior is not None:
            return False
        elements.append(soac)
    states = states_of(walk).values()
    if any(state.kind != "segment" or not (commutative(state) or not gains(state)) for state in states):
        return False
    if not states and (walk.root.outer or len(elements) < len(walk.steps)):
        return False
    return (any(stride.across for soac in elements for stride in strides(soac.thunk))
            and not any(len(soac.thunk.params) >= 3 and any(True for _ in divisions(soac.thunk)) for soac in elements))


@dataclass(frozen=True)
class Tile:
    """Segments from `low` to before `high`, of each the elements from `begin` to before `end`, which are block number
    `block` of `blocks`. Where they have several axes, `outer` has their indices of all but the last, along which `base`
    is the first."""
    outer: tuple[loops.Exp, ...]
    base: loops.Exp
    low: loops.Exp
    high: loops.Exp
    begin: loops.Exp
    end: loops.Exp
    block: loops.Exp
    blocks: loops.Exp


def plan_tiles(walk: Walk, tables: Tables, width: int) -> Module:
    """The plan, with its functions; `width`: elements of a block of a sum."""
    root = walk.root
    assert isinstance(root, ir.Uniform)
    kernel = Kernel(walk, tables, None, states_of(walk))
    states = list(kernel.states.values())
    length = width if states else max(width // BAND, LINE)
    code = kernel.code()
    run = sweep_of(kernel, code, states)
    sums = {state.name: shared(code, state, "sums", BAND) for state in states}
    lanes = {state.name: shared(code, state, "lanes", BAND * LANES) for state in states if any(map(gains, states))}
    segments, each = size_exp(kernel, root.segments), size_exp(kernel, root.length)
    bands: loops.Exp = count_of(size_exp(kernel, root.axes[-2]), BAND)
    for size in root.axes[:-2]:
        bands = op("*", size_exp(kernel, size), bands)

    def chunk_body(chunk: loops.Exp) -> None:
        tile = tile_of(run, root, chunk, length)
        if states:
            summed(kernel, run, root, tile, sums, lanes)
        else:
            by_lines(run, root, tile)

    each_chunk(code, chunk_body)
    blocks = count_of(each, length)
    buffers = [*result_buffers(kernel)]
    for state in states:
        buffers += state_buffers(state, "parts", op("*", blocks, segments))
    kernel.phase("tiles", code, op("*", bands, blocks), tuple(buffers))
    if states:
        finish(kernel, root, length)
    return kernel.module(tuple([result_of(kernel, name) for name in walk.kernel.returns]), items_exp(kernel, root))


def sweep_of(kernel: Kernel, code: Code, states: list[State]) -> Sweep:
    return Sweep(code, kernel.tables, kernel.walk, {state.name: state for state in states}, all_steps(kernel))


def shared(code: Code, state: State, use: str, size: int) -> tuple[str, ...]:
    return tuple([code.shared(buffer, type_, size)
                  for buffer, type_ in zip(state.buffers(use), state.monoid.types, strict=True)])


def tile_of(run: Sweep, root: ir.Uniform, chunk: loops.Exp, length: int) -> Tile:
    """The chunk's tile: the blocks of a band come one after the other."""
    code = run.code
    *outer, last = root.axes[:-1]
    along, each = code.size(last), code.size(root.length)
    blocks = code.let_int("blocks", count_of(each, length))
    band = code.let_int("band", op("/", chunk, blocks))
    block = code.let_int("block", op("-", chunk, op("*", band, blocks)))
    low: loops.Exp = op("*", band, integer(BAND))
    base: loops.Exp = integer(0)
    indices: tuple[loops.Exp, ...] = ()
    if outer:
        bands = code.let_int("bands", count_of(along, BAND))
        row = code.let_int("row", op("/", band, bands))
        base = code.let_int("base", op("*", row, along))
        low = op("+", base, op("*", op("-", band, op("*", row, bands)), integer(BAND)))
        indices = run.divided(row, tuple(outer))
    low = code.let_int("low", low)
    begin = code.let_int("begin", op("*", block, integer(length)))
    return Tile(indices, base, low, code.let_int("high", op("min", op("+", low, integer(BAND)), op("+", base, along))),
                begin, code.let_int("end", op("min", op("+", begin, integer(length)), each)), block, blocks)



def axes_known(run: Sweep, tile: Tile, segment: loops.Exp) -> None:
    """Of a segment of the tile, the indices of its axes are known."""
    if run.axes:
        run.counted(segment, (*tile.outer, op("-", segment, tile.base)))


def element(run: Sweep, root: ir.Uniform, tile: Tile, segment: loops.Exp, position: loops.Exp) -> None:
    """Its index has a name only where one binding reads another's result: LLVM sees then that stores lie apart."""
    start = op("*", segment, run.code.size(root.length))
    index: loops.Exp = op("+", start, position)
    if len(run.walk.at(ROOT)) > 1:
        index = run.code.let_int("i", index)
    axes_known(run, tile, segment)
    run.root(index, segment, start, position)


# Maps -------------------------------------------------------------------------------------------


def by_lines(run: Sweep, root: ir.Uniform, tile: Tile) -> None:
    """Few segments lie beside each other in a line; of short ones a cache holds the lines of all elements: these go one
    after another, as other walks do. Of shortest ones, whole bands go together."""
    code = run.code
    segments, length = code.size(root.axes[-2]), code.size(root.length)
    with code.block() as together:
        short = op("<", length, integer(SHORT))
        width = code.let_int("width", op("select", short, integer(BAND), integer(LINE)))
        with loop(code, "group", tile.low, tile.high, width) as group:
            beyond = code.let_int("beyond", op("min", op("+", group, width), tile.high))
            with loop(code, "j", tile.begin, tile.end) as position, loop(
                    code, "s", group, beyond, surely=True) as segment:
                element(run, root, tile, segment, position)
    with code.block() as in_turn, loop(code, "s", tile.low, tile.high) as segment:
        start = code.let_int("start", op("*", segment, length))
        axes_known(run, tile, segment)
        with loop(code, "i", op("+", start, tile.begin), op("+", start, tile.end)) as index:
            run.root(index, segment, start)
    far = op("or", op("<", length, integer(SHORT)), op("<=", integer(HELD), length))
    code.add(loops.If(op("and", op("<=", integer(LINE), segments), far), tuple(together), tuple(in_turn)))


# Sums -------------------------------------------------------------------------------------------


Arrays = dict[str, tuple[str, ...]]         # of each state


def summed(kernel: Kernel, run: Sweep, root: ir.Uniform, tile: Tile, sums: Arrays, lanes: Arrays) -> None:
    """The block's sums of all segments of the tile: its eights in lanes, these in order, the elements that are left."""
    code = run.code
    width = code.let_int("width", op("-", tile.high, tile.low))
    with loop(code, "column", integer(0), width) as column:
        emptied(run, sums, column)
    whole = tile.begin
    if lanes:
        length = code.let_int("length", op("-", tile.end, tile.begin))
        eights = op("select", op("<", length, integer(2 * LANES)), integer(0), op("and", length, integer(-LANES)))
        whole = code.let_int("whole", op("+", tile.begin, eights))
        with code.block() as in_lanes:
            with loop(code, "lane", integer(0), integer(LANES)) as lane, loop(
                    code, "column", integer(0), width) as column:
                emptied(run, lanes, place_of(lane, column))
            with loop(code, "eight", tile.begin, whole, integer(LANES)) as eight, loop(
                    code, "lane", integer(0), integer(LANES)) as lane:
                joined(run, root, tile, width, code.let_int("j", op("+", eight, lane)), lanes, lane)
            with loop(code, "lane", integer(0), integer(LANES)) as lane, loop(
                    code, "column", integer(0), width) as column:
                run.lanes, run.lane = lanes, place_of(lane, column)
                found = [(state, run.now(state)) for state in run.states.values()]
                run.lanes, run.lane = sums, column
                for state, total in found:
                    run.accumulate(state, total)
        code.add(loops.If(op("<", tile.begin, whole), tuple(in_lanes)))
    with loop(code, "j", whole, tile.end) as position:
        joined(run, root, tile, width, position, sums, integer(0))
    with loop(code, "column", integer(0), width) as column:
        block_end(kernel, run, root, tile, sums, column)
    run.lane = None


def place_of(lane: loops.Exp, column: loops.Exp) -> loops.Exp:
    return op("+", op("*", lane, integer(BAND)), column)


def emptied(run: Sweep, arrays: Arrays, place: loops.Exp) -> None:
    run.lanes, run.lane = arrays, place
    for state in run.states.values():
        run.become(state, identity(run.code, run.tables, state))


def joined(run: Sweep, root: ir.Uniform, tile: Tile, width: loops.Exp, position: loops.Exp, arrays: Arrays,
           lane: loops.Exp) -> None:
    """The element at this position of each segment of the tile joins what the segment has."""
    with loop(run.code, "column", integer(0), width, surely=True) as column:
        run.lanes, run.lane = arrays, place_of(lane, column)
        element(run, root, tile, op("+", tile.low, column), position)


def block_end(kernel: Kernel, run: Sweep, root: ir.Uniform, tile: Tile, sums: Arrays, column: loops.Exp) -> None:
    """What the segment has is its result where it has one block, else it waits for the others."""
    code = run.code
    run.lanes, run.lane = sums, column
    segment = code.let_int("s", op("+", tile.low, column))
    found = {name: run.now(state) for name, state in run.states.items()}
    with code.block() as only:
        results(kernel, run, segment, found)
    with code.block() as one_of_many:
        for name, state in run.states.items():
            place = op("+", op("*", tile.block, code.size(root.segments)), segment)
            keep(code, state, "parts", place, found[name])
    code.add(loops.If(op("==", tile.blocks, integer(1)), tuple(only), tuple(one_of_many)))


def finish(kernel: Kernel, root: ir.Uniform, length: int) -> None:
    """Segments that have no block, or several: these in order."""
    code = kernel.code()
    code.arrays |= {name: type_ for name in kernel.walk.stored
                    if isinstance(type_ := kernel.walk.types[name], ir.Array)}
    states = list(kernel.states.values())
    run = sweep_of(kernel, code, states)
    blocks = code.let_int("blocks", count_of(code.size(root.length), length))
    segments = code.size(root.segments)
    with code.block() as several, loop(code, "s", integer(0), segments) as segment:
        for state in states:
            run.declare(state)
        with loop(code, "block", integer(0), blocks) as block:
            place = code.let_int("place", op("+", op("*", block, segments), segment))
            for state in states:
                run.accumulate(state, held(code, state, "parts", place))
        results(kernel, run, segment, {state.name: run.now(state) for state in states})
    code.add(loops.If(op("/=", blocks, integer(1)), tuple(several)))
    kernel.phase("finish", code, None)
