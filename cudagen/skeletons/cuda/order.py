"""ORDER on the GPU: a walk computes the keys; a stable radix sort of their bits, four at a time, gives the order.

    encode     each key becomes bits that order as it does, without sign; with them goes its flat index
    count      how often each tile has each digit
    starts     where a tile's elements with a digit go: the SCAN of the counts, digit by digit, then tile by tile
    scatter    a tile's elements go there, in the order that they have
    gather     the keys in that order, where they are wanted, not their positions

Of segments, the elements' segments are sorted by afterwards, by as many digits as there are: stability keeps each
segment's own order. The host leaves out what has no blocks. (Satish, Harris, Garland: Designing Efficient Sorting
Algorithms for Manycore GPUs, 2009, without its choice of digits by architecture.)
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
from nessie.cudagen.skeletons.cpu.order import order_of, walks_of_keys
from nessie.cudagen.skeletons.cuda.walk import plan_cuda
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu.text.parser import parse_kernel

EACH = 8                                    # elements a thread
TILE = THREADS * EACH
DIGITS = 16                                 # values of a digit
KEY_PASSES = 16                             # digits of a key
SEGMENT_PAIRS = 6                           # pairs of digits of a segment's number, which is less than 2**48

UNLESS_STOPPED = f"if (errors[{STOPPED}] /= 0) {{ return; }}"       # as cuda_blocks.unless_stopped says it

BITS = {
    "int": "key xor least",
    "float": "key == least ? least : (key and most) > infinite ? -1 : key < 0 ? not(key) : key xor least",
    "bool": "btoi(key)",
    "char": "char_code(key)",
}

ENCODE = """
cuda {name}_encode(int n, {type}[] keys, writable int[] bits, writable int[] order,
                   int[] errors) {{
  {unless_stopped}
  int least = -9223372036854775808;
  int most = 9223372036854775807;
  int infinite = 9218868437227405312;
  for (i = blockIdx * {tile} + threadIdx; i < min(n, (blockIdx + 1) * {tile}); i += {threads}) {{
    {type} key = keys[i];
    int code = {bits};
    bits[i] = {turned};
    order[i] = i;
  }}
}}
"""

PASSES = """
cuda {name}_count(int shift, int n, int[] bits, writable int[] counts, int[] errors) {{
  shared int digits[16];
  {unless_stopped}
  if (threadIdx < 16) {{
    digits[threadIdx] = 0;
  }}
  barrier;
  for (i = blockIdx * {tile} + threadIdx; i < min(n, (blockIdx + 1) * {tile}); i += {threads}) {{
    atomic add(digits[rshift(bits[i], shift) and 15], 1);
  }}
  barrier;
  if (threadIdx < 16) {{
    counts[threadIdx * gridDim + blockIdx] = digits[threadIdx];
  }}
}}

cuda {name}_scatter(int shift, int n, int[] bits, int[] order, int[] starts, writable int[] bits_out,
                    writable int[] order_out, int[] errors) {{
  shared int before[{counters}];
  shared int warps[{warps}];
  shared int first[16];
  {unless_stopped}
  int low = min(n, blockIdx * {tile} + threadIdx * {each});
  int high = min(n, low + {each});
  for (d = 0; d < 16; d += 1) {{
    before[d * {threads} + threadIdx] = 0;
  }}
  for (i = low; i < high; i += 1) {{
    int place = (rshift(bits[i], shift) and 15) * {threads} + threadIdx;
    before[place] = before[place] + 1;
  }}
  barrier;
  var int sum = 0;
  for (c = threadIdx * 16; c < threadIdx * 16 + 16; c += 1) {{
    sum = sum + before[c];
  }}
  var int through = sum;
  int lane = threadIdx and 31;
  {steps}
  if (lane == 31) {{
    warps[threadIdx / 32] = through;
  }}
  barrier;
  var int running = through - sum;
  for (w = 0; w < threadIdx / 32; w += 1) {{
    running = running + warps[w];
  }}
  for (e = threadIdx * 16; e < threadIdx * 16 + 16; e += 1) {{
    int here = before[e];
    before[e] = running;
    running = running + here;
  }}
  barrier;
  if (threadIdx < 16) {{
    first[threadIdx] = starts[threadIdx * gridDim + blockIdx] - before[threadIdx * {threads}];
  }}
  barrier;
  for (k = low; k < high; k += 1) {{
    int digit = rshift(bits[k], shift) and 15;
    int counter = digit * {threads} + threadIdx;
    int target = first[digit] + before[counter];
    before[counter] = before[counter] + 1;
    bits_out[target] = bits[k];
    order_out[target] = order[k];
  }}
}}
"""

STEP = """int below{k} = shuffle up(through, {k});
  if (lane >= {k}) {{
    through = through + below{k};
  }}"""

SEGMENTS = """
cuda {name}_segments(int n, int segments, int[] offsets, int[] order, writable int[] bits, int[] errors) {{
  {unless_stopped}
  for (i = blockIdx * {tile} + threadIdx; i < min(n, (blockIdx + 1) * {tile}); i += {threads}) {{
    var int least = 0;
    var int most = segments - 1;
    while (least < most) {{
      int middle = rshift(least + most + 1, 1);
      if (offsets[middle] <= order[i]) {{
        least = middle;
      }} else {{
        most = middle - 1;
      }}
    }}
    bits[i] = least;
  }}
}}
"""

GATHER = """
cuda {name}_gather(int n, {type}[] keys, int[] order, writable {type}[] values, int[] errors) {{
  {unless_stopped}
  for (i = blockIdx * {tile} + threadIdx; i < min(n, (blockIdx + 1) * {tile}); i += {threads}) {{
    values[i] = keys[order[i]];
  }}
}}
"""

ABOUT = {
    "encode": "Each key becomes bits that order as it does; with them goes its index.",
    "count": "How often each digit, four bits from `shift` on, is in each tile: counts[digit * tiles + tile].",
    "scatter": "Elements go where their digit's begin: a stable sort by this digit.",
    "segments": "The segment of each element, by which the elements are sorted last, so that segments stay apart.",
    "gather": "The keys in that order.",
}

STARTS = """kernel {name} (counters : int, counts : [int; counters]) {{
  let starts = SCAN {{ i => counts[i] using counts }} (0) {{ (x, y) => x + y }} (counters)
  return starts
}}"""


def plan_cuda_order(kernel: ir.Kernel, program: ir.Program, tables: Tables, width: int) -> Module:
    """The plan of a kernel that is an ORDER and nothing else. `width`: items a thread in the walks."""
    soac, result = order_of(kernel)
    if soac.firsts:
        raise Unsupported("GPUs find equal keys by sorting: --target cuda says how")
    walks, keys, offsets = walks_of_keys(kernel, soac, result)
    modules = [plan_cuda(walk_of(walk, program), tables, width) for walk in walks]
    phases = [phase for module in modules for phase in module.plans[0].phases]
    [size] = [b.size for phase in phases for b in phase.buffers if b.name == keys]
    sort = Sort(identifier(kernel.name), size, program, tables, width)
    order = f"{result}_order" if soac.values else result
    sort.encode(walk_of(walks[0], program).bases[keys][0], keys, order, soac.descending)
    for number in range(KEY_PASSES):
        sort.digit(number, sort.tiles)
    if offsets and not isinstance(soac.space, ir.Flat):
        sort.by_segment(offsets, soac.space.segments)
    if soac.values:
        sort.gather(walk_of(walks[0], program).bases[keys][0], keys, order, result)
    plan = replace(modules[0].plans[0], phases=(*phases, *sort.phases),
                   results=(ArrayResult(result),) * len(kernel.returns))
    return Module((*(f for module in modules for f in module.functions), *sort.functions), (plan,))


class Sort:
    """The phases of a sort while they are made. Bits and order lie in the first of two pairs of arrays before and after
    every two passes; the order's first array is the result."""

    def __init__(self, name: str, size: loops.Exp, program: ir.Program, tables: Tables, width: int) -> None:
        self.name, self.size = name, size
        self.tiles = op("/", op("+", size, integer(TILE - 1)), integer(TILE))
        starts = parse_kernel(STARTS.format(name=f"{name}_starts"))
        self.starts = plan_cuda(walk_of(starts, program), tables, width)
        self.functions = [*self.starts.functions, *self.parsed(
            PASSES, counters=DIGITS * THREADS, warps=THREADS // 32, each=EACH,
            steps="\n  ".join(STEP.format(k=k) for k in (1, 2, 4, 8, 16)))]
        self.phases: list[Phase] = []
        self.bits = (f"{name}_bits", f"{name}_bits_2")
        self.order = ("", f"{name}_order_2")
        self.passes = 0

    def parsed(self, text: str, **holes: object) -> tuple[loops.Function, ...]:
        functions = parse(text.format(name=self.name, tile=TILE, threads=THREADS, unless_stopped=UNLESS_STOPPED,
                                      **holes)).functions
        return tuple(replace(f, about=ABOUT[f.name.removeprefix(f"{self.name}_")]) for f in functions)

    def encode(self, base: str, keys: str, result: str, descending: bool) -> None:
        """Descending order is that of the complements; what is not a number stays last."""
        self.order = (result, self.order[1])
        last = "code == -1 ? -1 : not(code)" if base == "float" else "not(code)"
        self.functions += self.parsed(ENCODE, type="int" if base == "float" else base, bits=BITS[base],
                                      turned=last if descending else "code")
        buffers = tuple([Buffer(name, "int", self.size) for name in (*self.bits, *self.order)])
        arguments = (self.size, keys, self.bits[0], self.order[0], "errors")
        self.phases.append(Phase(f"{self.name}_encode", named(arguments), self.tiles, buffers))

    def gather(self, base: str, keys: str, order: str, result: str) -> None:
        self.functions += self.parsed(GATHER, type=base)
        self.phases.append(Phase(f"{self.name}_gather", named((self.size, keys, order, result, "errors")), self.tiles,
                                 (Buffer(result, base, self.size),)))

    def digit(self, number: int, blocks: loops.Exp) -> None:
        """Sorts by the digit, if there are blocks."""
        source, target = self.passes % 2, 1 - self.passes % 2
        counts, ends = f"{self.name}_counts_{self.passes}", op("*", integer(DIGITS), blocks)
        shift = integer(4 * number)
        self.phases.append(Phase(f"{self.name}_count", named((shift, self.size, self.bits[source], counts, "errors")),
                                 blocks, (Buffer(counts, "int", ends),)))
        renamed: dict[str, loops.Exp] = {"counters": ends, "counts": loops.Name(counts)}
        for phase in self.starts.plans[0].phases:
            self.phases.append(self.substituted(phase, renamed))
        arguments = (shift, self.size, self.bits[source], self.order[source], renamed["starts"], self.bits[target],
                     self.order[target], "errors")
        self.phases.append(Phase(f"{self.name}_scatter", named(arguments), blocks))
        self.passes += 1

    def substituted(self, phase: Phase, renamed: dict[str, loops.Exp]) -> Phase:
        """The phase for this pass's arrays and sizes."""
        def exp(found: loops.Exp) -> loops.Exp:
            match found:
                case loops.Name(name):
                    return renamed.get(name, found)
                case loops.Op(name, arguments):
                    return loops.Op(name, tuple([exp(a) for a in arguments]))
            return found

        names = {buffer.name: f"{self.name}_{buffer.name}_{self.passes}" for buffer in phase.buffers}
        renamed.update((old, loops.Name(new)) for old, new in names.items())
        return replace(phase, arguments=tuple([exp(a) for a in phase.arguments]),
                       chunks=None if phase.chunks is None else exp(phase.chunks),
                       buffers=tuple([replace(b, name=names[b.name], size=exp(b.size)) for b in phase.buffers]))

    def by_segment(self, offsets: str, segments: ir.Size) -> None:
        count = integer(segments) if isinstance(segments, int) else loops.Name(segments)
        self.functions += self.parsed(SEGMENTS)
        arguments = (self.size, count, offsets, self.order[0], self.bits[0], "errors")
        self.phases.append(Phase(f"{self.name}_segments", named(arguments), self.tiles))
        for pair in range(SEGMENT_PAIRS):
            left = op("/", op("-", count, integer(1)), integer((DIGITS * DIGITS) ** pair))
            blocks = op("*", self.tiles, op("min", integer(1), op("max", integer(0), left)))
            self.digit(2 * pair, blocks)
            self.digit(2 * pair + 1, blocks)


def named(arguments: tuple[str | loops.Exp, ...]) -> tuple[loops.Exp, ...]:
    return tuple([loops.Name(a) if isinstance(a, str) else a for a in arguments])
