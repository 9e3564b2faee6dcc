"""ORDER on the GPU: a walk computes the keys, unless an array has them; a stable radix sort of their bits, eight at a
time, gives the order.

    encode     each key becomes bits that order as it does, without sign; how often has each digit each value?
    starts     where the elements with each value of each digit go, the SCAN of the counts; a digit that all elements
               have alike needs no pass
    pass       a tile's elements go where their digit's go, after those of all tiles before it
    gather     the keys in that order, or the order itself, to the result
    small      all of this at once, of few elements without segments: then nothing else is launched

A pass reads and writes each element once. A tile draws its number, ranks its elements, publishes how many it has of
each value (256 words, of a thread each), adds up what the tiles before it have published, and stores its elements by
way of shared memory, so that equal digits lie side by side. Words hold a count, the pass, and whether it is the tile's
own or of all tiles up to it, so that one load tells all and no pass finds what another has left. Ints are added, so
the order in which tiles are seen does not matter. (Adinets and Merrill: Onesweep, 2022.)

Each pass moves from one half of `bits` and `order` to the other, unless its digit is the same in all elements: `counts`
tells which half. Of segments, the elements' segments are sorted by afterwards, by as many digits as there are:
stability keeps each segment's own order. The host leaves out what has no blocks.
"""
from __future__ import annotations

from dataclasses import replace

from nessie.base.source import Unsupported
from nessie.cudagen.host.device import STOPPED
from nessie.cudagen.kernels.code import identifier, integer, op
from nessie.cudagen.kernels.thunks import Tables
from nessie.cudagen.kernels.walk import walk_of
from nessie.cudagen.loops import nodes as loops
from nessie.cudagen.loops.module import Module
from nessie.cudagen.loops.plan import THREADS, ArrayResult, Buffer, Phase
from nessie.cudagen.loops.text import parse
from nessie.cudagen.skeletons.cpu.order import keys_as_given, order_of, walks_of_keys
from nessie.cudagen.skeletons.cuda.blocks import WARP, WARPS, grid
from nessie.cudagen.skeletons.cuda.order_text import (
    ABOUT,
    BITS,
    ENCODE,
    GATHER,
    PASS,
    SCAN,
    SEGMENTS,
    STARTS,
    pass_holes,
)
from nessie.cudagen.skeletons.cuda.small_order import FEW, SMALL
from nessie.cudagen.skeletons.cuda.walk import plan_cuda
from nessie.lambda_cu import nodes as ir

EACH = 8                                    # elements a thread
TILE = THREADS * EACH
VALUES = 256                                # of a digit; a thread each
KEY_PASSES = {"int": 8, "float": 8, "bool": 1, "char": 3}       # digits of a key
SEGMENT_PASSES = 6                          # digits of a segment's number, which is less than 2**48

UNLESS_STOPPED = f"if (errors[{STOPPED}] /= 0) {{ return; }}"       # as cuda_blocks.unless_stopped says it

assert THREADS == VALUES


def plan_cuda_order(kernel: ir.Kernel, program: ir.Program, tables: Tables, width: int) -> Module:
    """The plan of a kernel that is an ORDER and nothing else. `width`: items a thread in the walks."""
    soac, result = order_of(kernel)
    if soac.firsts:
        raise Unsupported("GPUs find equal keys by sorting: --target cuda says how")
    walks, keys, offsets = walks_of_keys(kernel, soac, result)
    made = [plan_cuda(walk_of(walk, program), tables, width) for walk in walks]
    [size] = [b.size for phase in made[0].plans[0].phases for b in phase.buffers if b.name == keys]
    base = walk_of(walks[0], program).bases[keys][0]
    given = keys_as_given(kernel, soac)
    keys, modules = given or keys, made[1:] if given else made
    phases = [phase for module in modules for phase in module.plans[0].phases]
    segments = None if not offsets or isinstance(soac.space, ir.Flat) else soac.space.segments
    sort = Sort(identifier(kernel.name), size, KEY_PASSES[base], 0 if segments is None else SEGMENT_PASSES)
    if segments is None:
        sort.small(base, keys, result, soac.descending, soac.values)
    sort.encode(base, keys, soac.descending)
    for number in range(sort.key_passes):
        sort.digit(number, number, sort.tiles)
    if segments is not None:
        sort.by_segment(offsets, integer(segments) if isinstance(segments, int) else loops.Name(segments))
    sort.result(base, keys, result, soac.values)
    cells = max([module.plans[0].cells for module in made])
    plan = replace(made[0].plans[0], phases=(*phases, *sort.phases), cells=cells,
                   results=(ArrayResult(result),) * len(kernel.returns))
    return Module((*(f for module in modules for f in module.functions), *sort.functions), (plan,))


class Sort:
    """The phases of a sort of `size` elements while they are made. Its passes are numbered: those of the keys first."""

    def __init__(self, name: str, size: loops.Exp, key_passes: int, segment_passes: int) -> None:
        self.name, self.size, self.key_passes, self.passes = name, size, key_passes, key_passes + segment_passes
        self.many: loops.Exp = size             # elements that the passes sort
        self.segmented = segment_passes > 0
        if not self.segmented:
            self.many = op("*", size, op("min", integer(1), op("/", size, integer(FEW + 1))))
        self.tiles = op("/", op("+", self.many, integer(TILE - 1)), integer(TILE))
        self.places = {"tickets": self.passes * VALUES, "alike": self.passes * (VALUES + 1),
                       "moves": self.passes * (VALUES + 2)}
        scan = SCAN.format(warp=WARP)
        self.functions = [*self.parsed(STARTS, scan=scan),
                          *self.parsed(PASS, scan=scan, **pass_holes(EACH, WARP, WARPS))]
        self.phases: list[Phase] = []
        self.bits, self.order, self.counts, self.status = [
            f"{name}_{use}" for use in ("bits", "order", "counts", "status")]

    def parsed(self, text: str, **holes: object) -> tuple[loops.Function, ...]:
        functions = parse(text.format(name=self.name, tile=TILE, threads=THREADS, values=VALUES, warp=WARP, warps=WARPS,
                                      unless_stopped=UNLESS_STOPPED, total=self.places["moves"] + self.passes,
                                      **self.places, **holes)).functions
        return tuple(replace(f, about=ABOUT[f.name.removeprefix(f"{self.name}_")]) for f in functions)

    def phase(self, use: str, arguments: tuple[str | loops.Exp, ...], blocks: loops.Exp,
              buffers: tuple[Buffer, ...] = ()) -> None:
        given = tuple([loops.Name(a) if isinstance(a, str) else a for a in (*arguments, "errors")])
        self.phases.append(Phase(f"{self.name}_{use}", given, blocks, buffers))

    def small(self, base: str, keys: str, result: str, descending: bool, values: bool) -> None:
        """The launch that does all where there are few elements, before those that do nothing then."""
        type_ = bits_type(base)
        made = type_ if values else "int"
        self.functions += self.parsed(
            SMALL, type=type_, code=BITS[base], turned=turned(base, descending), few=FEW, rounds=FEW.bit_length(),
            result=made, value="keys[position]" if values else "position")
        blocks = op("-", op("min", self.size, integer(1)), op("min", self.many, integer(1)))
        self.phase("small", (self.size, keys, result), blocks,
                   (Buffer(result, base if values else "int", self.size),))

    def encode(self, base: str, keys: str, descending: bool) -> None:
        self.functions += self.parsed(
            ENCODE, type=bits_type(base), code=BITS[base], turned=turned(base, descending),
            counted=counted("turned", self.key_passes), bins=self.key_passes * VALUES)
        buffers = (*[Buffer(name, "int", op("*", integer(2), self.many)) for name in (self.bits, self.order)],
                   Buffer(self.counts, "int", op("*", integer(self.places["moves"] + self.passes + 1),
                                                 op("min", self.many, integer(1))), 0),
                   Buffer(self.status, "int", op("*", integer(VALUES), self.tiles), 0))
        self.phase("encode", (self.size, keys, self.bits, self.counts), grid(self.many), buffers)
        self.starts(integer(0), integer(self.key_passes))

    def starts(self, first: loops.Exp, last: loops.Exp) -> None:
        """Where elements go in these passes, from the first to before the last."""
        self.phase("starts", (self.size, first, last, self.counts), op("min", self.tiles, integer(1)))

    def digit(self, number: int, place: int, blocks: loops.Exp) -> None:
        """The pass of this number sorts by the digit at this place, if there are blocks."""
        arguments = (integer(number), integer(8 * place), self.size, self.bits, self.order, self.counts, self.status)
        self.phase("pass", arguments, blocks)

    def by_segment(self, offsets: str, segments: loops.Exp) -> None:
        needed = [op("min", integer(1), op("max", integer(0), op("/", op("-", segments, integer(1)),
                                                                  integer(VALUES ** place))))
                  for place in range(SEGMENT_PASSES)]
        self.functions += self.parsed(
            SEGMENTS, counted=counted("least", SEGMENT_PASSES, "segments"), first=self.key_passes,
            bins=SEGMENT_PASSES * VALUES)
        self.phase("segments", (self.size, segments, offsets, self.order, self.bits, self.counts), grid(self.size))
        last: loops.Exp = integer(self.key_passes)
        for needs in needed:
            last = op("+", last, needs)
        self.starts(integer(self.key_passes), last)
        for place, needs in enumerate(needed):
            self.digit(self.key_passes + place, place, op("*", self.tiles, needs))

    def result(self, base: str, keys: str, result: str, values: bool) -> None:
        """The keys, or their positions, in order."""
        self.functions += (
            self.parsed(GATHER, type=base, parameters=f"{base}[] keys, ", value="keys[position]") if values else
            self.parsed(GATHER, type="int", parameters="", value="position"))
        arguments = (self.size, *((keys,) if values else ()), self.order, self.counts, result)
        buffers = (Buffer(result, base if values else "int", self.size),) if self.segmented else ()
        self.phase("gather", arguments, grid(self.many), buffers)


def bits_type(base: str) -> str:
    """As what a key of the type is read."""
    return "int" if base == "float" else base


def turned(base: str, descending: bool) -> str:
    """Descending order is that of the complements; what is not a number stays last."""
    last = "code == -1 ? -1 : not(code)" if base == "float" else "not(code)"
    return last if descending else "code"


def counted(word: str, passes: int, least: str = "") -> str:
    """Statements that count the word's digits; of those of numbers below `least` only as many as these can have."""
    lines = []
    for place in range(passes):
        add = f"atomic add(digits[{place * VALUES} + (rshift({word}, {8 * place}) and {VALUES - 1})], 1);"
        lines.append(f"if ({least} > {VALUES ** place}) {{ {add} }}" if least else add)
    return "\n    ".join(lines)
