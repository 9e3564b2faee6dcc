"""ORDER on the GPU: a walk computes the keys, unless an array has them; a stable radix sort of their bits, eight at a
time, gives the order.

    encode     each key becomes bits that order as it does, without sign; how often has each digit each value?
    starts     where the elements with each value of each digit go, the SCAN of the counts; a digit that all elements
               have alike needs no pass
    pass       a tile's elements go where their digit's go, after those of all tiles before it
    gather     of segments: the keys in that order, or the order itself, to the result
    alike      the result, if no pass has moved anything
    small      all of this at once, of few elements without segments: then nothing else is launched

A pass reads and writes each element once. A tile draws its number, publishes how many elements it has of each value
(256 words, of a thread each), ranks them into shared memory, where equal digits lie side by side, adds up what the
tiles before it have published meanwhile, and stores them from there. Words hold a count, the pass, and whether it is
the tile's own or of all tiles up to it, so that one load tells all and no pass finds what another has left. Ints are
added, so the order in which tiles are seen does not matter. (Adinets and Merrill: Onesweep, 2022.)

Where keys are wanted, not positions, keys alone are moved. The first pass that moves takes them as they are given, the
last leaves what is wanted. Between, each moves from one half of `bits` and `order` to the other, unless its digit is
the same in all elements: `counts` tells which half. Of segments, the elements' segments are sorted by afterwards, by as
many digits as there are: stability keeps each segment's own order. The host leaves out what has no blocks.
"""
from __future__ import annotations

import re
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
from nessie.cudagen.skeletons.counted import count_of
from nessie.cudagen.skeletons.cpu.order import keys_as_given, order_of, walks_of_keys
from nessie.cudagen.skeletons.cuda.blocks import WARP, WARPS, grid
from nessie.cudagen.skeletons.cuda.order_pass import DIGIT, PASS, VALUES, Keys, pass_holes
from nessie.cudagen.skeletons.cuda.order_text import (
    ABOUT,
    ALIKE,
    BACK,
    BITS,
    ENCODE,
    GATHER,
    KEPT,
    LIMITS,
    SCAN,
    SEGMENTS,
    STARTS,
)
from nessie.cudagen.skeletons.cuda.small_order import FEW, SMALL
from nessie.cudagen.skeletons.cuda.walk import plan_cuda
from nessie.lambda_cu import nodes as ir

EACH = 16                                   # elements a thread
TILE = THREADS * EACH
KEY_PASSES = {"int": 8, "float": 8, "bool": 1, "char": 3}       # digits of a key
SEGMENT_PASSES = 6                          # digits of a segment's number, which is less than 2**48

UNLESS_STOPPED = f"if (errors[{STOPPED}] /= 0) {{ return; }}"       # as blocks.unless_stopped says it

assert THREADS == VALUES


def plan_cuda_order(kernel: ir.Kernel, program: ir.Program, tables: Tables, width: int) -> Module:
    """The plan of a kernel that is an ORDER and nothing else. `width`: items a thread in the walks."""
    soac, result = order_of(kernel)
    if soac.firsts:
        raise Unsupported("GPUs find equal keys by sorting: --target cuda says how")
    walks, keys, offsets = walks_of_keys(kernel, soac, result, (ir.Uniform, ir.Closed, ir.Nested))
    made = [plan_cuda(walk_of(walk, program), tables, width) for walk in walks]
    [size] = [b.size for phase in made[0].plans[0].phases for b in phase.buffers if b.name == keys]
    base = walk_of(walks[0], program).bases[keys][0]
    given = keys_as_given(kernel, soac)
    keys, modules = given or keys, made[1:] if given else made
    phases = [phase for module in modules for phase in module.plans[0].phases]
    segments = None if isinstance(soac.space, ir.Flat) else soac.space.segments
    sort = Sort(identifier(kernel.name), size, base, keys, result, soac.descending, soac.values, segments is not None)
    if segments is None:
        sort.small()
    sort.encode()
    for number in range(sort.key_passes):
        sort.digit(number, number, sort.tiles)
    if segments is not None:
        sort.by_segment(offsets, integer(segments) if isinstance(segments, int) else loops.Name(segments))
    sort.finish()
    cells = max([module.plans[0].cells for module in made])
    plan = replace(made[0].plans[0], phases=(*phases, *sort.phases), cells=cells,
                   results=(ArrayResult(result),) * len(kernel.returns))
    return Module((*(f for module in modules for f in module.functions), *sort.functions), (plan,))


class Sort:
    """The phases of a sort of `size` elements while they are made: of their `values`, or else of positions. Its passes
    are numbered: those of the keys first."""

    def __init__(self, name: str, size: loops.Exp, base: str, keys: str, result: str, descending: bool, values: bool,
                 segmented: bool) -> None:
        self.name, self.size, self.base, self.keys, self.result = name, size, base, keys, result
        self.values, self.segmented, self.alone = values, segmented, values and not segmented
        self.key_passes = KEY_PASSES[base]
        self.passes = self.key_passes + (SEGMENT_PASSES if segmented else 0)
        self.many: loops.Exp = size             # elements that the passes sort
        if not segmented:
            self.many = op("*", size, op("min", integer(1), op("/", size, integer(FEW + 1))))
        self.tiles = count_of(self.many, TILE)
        self.places = {"tickets": self.passes * VALUES, "alike": self.passes * (VALUES + 1),
                       "moves": self.passes * (VALUES + 2)}
        self.type, self.turned = bits_type(base), turned(base, descending)
        scan = SCAN.format(warp=WARP)
        moved = Keys(self.type, (KEPT if self.alone else BITS)[base], self.turned,
                     plain(base, descending) if self.alone else "bits", back(base, descending))
        self.functions = [*self.parsed(STARTS, scan=scan),
                          *self.parsed(PASS, scan=scan, **pass_holes(EACH, WARP, WARPS, moved, self.alone, segmented))]
        self.phases: list[Phase] = []
        self.bits, self.order, self.counts, self.status = [
            f"{name}_{use}" for use in ("bits", "order", "counts", "status")]

    def parsed(self, text: str, **holes: object) -> tuple[loops.Function, ...]:
        functions = parse(text.format(name=self.name, tile=TILE, threads=THREADS, values=VALUES, warp=WARP, warps=WARPS,
                                      unless_stopped=UNLESS_STOPPED, limits=LIMITS,
                                      total=self.places["moves"] + self.passes, **self.places, **holes)).functions
        return tuple(replace(f, about=ABOUT[f.name.removeprefix(f"{self.name}_")]) for f in functions)

    def phase(self, use: str, arguments: tuple[str | loops.Exp, ...], blocks: loops.Exp,
              buffers: tuple[Buffer, ...] = ()) -> None:
        given = tuple([loops.Name(a) if isinstance(a, str) else a for a in (*arguments, "errors")])
        self.phases.append(Phase(f"{self.name}_{use}", given, blocks, buffers))

    def small(self) -> None:
        """The launch that does all where there are few elements, before those that do nothing then."""
        made = self.type if self.values else "int"
        self.functions += self.parsed(
            SMALL, type=self.type, code=BITS[self.base], turned=self.turned, few=FEW, rounds=FEW.bit_length(),
            result=made, value="keys[position]" if self.values else "position")
        blocks = op("-", op("min", self.size, integer(1)), op("min", self.many, integer(1)))
        self.phase("small", (self.size, self.keys, self.result), blocks, (self.result_buffer(),))

    def result_buffer(self) -> Buffer:
        return Buffer(self.result, self.base if self.values else "int", self.size)

    def encode(self) -> None:
        self.functions += self.parsed(
            ENCODE, type=self.type, code=BITS[self.base], turned=self.turned,
            parameters="writable int[] bits, " if self.segmented else "",
            store="bits[i] = turned;" if self.segmented else "",
            counted=counted("turned", self.key_passes), bins=self.key_passes * VALUES)
        moved = (self.bits,) if self.alone else (self.bits, self.order)
        buffers = (*[Buffer(name, "int", op("*", integer(2), self.many)) for name in moved],
                   Buffer(self.counts, "int", op("*", integer(self.places["moves"] + self.passes + 1),
                                                 op("min", self.many, integer(1))), 0),
                   Buffer(self.status, "int", op("*", integer(VALUES), self.tiles), 0))
        arguments = (self.size, self.keys, *((self.bits,) if self.segmented else ()), self.counts)
        self.phase("encode", arguments, grid(self.many), buffers)
        self.starts(integer(0), integer(self.key_passes))

    def starts(self, first: loops.Exp, last: loops.Exp) -> None:
        """Where elements go in these passes, from the first to before the last."""
        self.phase("starts", (self.size, first, last, self.counts), op("min", self.tiles, integer(1)))

    def digit(self, number: int, place: int, blocks: loops.Exp) -> None:
        """The pass of this number sorts by the digit at this place, if there are blocks."""
        given, made = ((), ()) if self.segmented else ((self.keys,), (self.result,))
        order = () if self.alone else (self.order,)
        arguments = (integer(number), integer(DIGIT * place), self.size, *given, self.bits, *order, self.counts,
                     self.status, *made)
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

    def finish(self) -> None:
        """Of segments the keys or their positions, in order; else what is wanted where no pass has left it."""
        text, value = (GATHER, "position") if self.segmented else (ALIKE, "i")
        type_, parameters = ("int", "")
        if self.values:
            type_, parameters, value = self.base, f"{self.base}[] keys, ", f"keys[{value}]"
        self.functions += self.parsed(text, type=type_, parameters=parameters, value=value)
        arguments = (self.size, *((self.keys,) if self.values else ()), *((self.order,) if self.segmented else ()),
                     self.counts, self.result)
        self.phase("gather" if self.segmented else "alike", arguments, grid(self.many),
                   (self.result_buffer(),) if self.segmented else ())


def bits_type(base: str) -> str:
    """As what a key of the type is read."""
    return "int" if base == "float" else base


def turned(base: str, descending: bool) -> str:
    """Descending order is that of the complements; what is not a number stays last."""
    last = "code == -1 ? -1 : not(code)" if base == "float" else "not(code)"
    return last if descending else "code"


def plain(base: str, descending: bool) -> str:
    """The bits of which digits are: those of negative zeros are as those of others."""
    zeros = ("least", "most") if descending else ("most", "least")
    return "(bits == {} ? {} : bits)".format(*zeros) if base == "float" else "bits"


def back(base: str, descending: bool) -> str:
    return re.sub(r"\bcode\b", "not(bits)" if descending else "bits", BACK[base])


def counted(word: str, passes: int, least: str = "") -> str:
    """Statements that count the word's digits; of those of numbers below `least` only as many as these can have."""
    lines = []
    for place in range(passes):
        add = f"atomic add(digits[{place * VALUES} + (rshift({word}, {8 * place}) and {VALUES - 1})], 1);"
        lines.append(f"if ({least} > {VALUES ** place}) {{ {add} }}" if least else add)
    return "\n    ".join(lines)
