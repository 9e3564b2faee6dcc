"""The text, in loops, of a sort's pass on a GPU (skeletons.cuda.order), with holes for what differs.

Each warp has elements of the tile side by side, each lane one of 32. Counts of a tile fit 32 bits: words of shared
memory, to which a GPU can add at once. First each warp counts its digits, so that the tile can tell the others early;
then `counters` become the place at which the next element of a warp with each value goes. The warp's lanes find by
votes on the digit's bits who has the same, and the first of these moves the place on behind them all.
"""
from __future__ import annotations

import re
from functools import partial

from nessie.base.records import dataclass

DIGIT = 8                       # bits
VALUES = 1 << DIGIT

PASS = """
cuda {name}_pass(int number, int shift, int n, {given}writable int[] bits, {order}writable int[] counts,
                   writable int[] status, {made}int[] errors) {{
  shared uint32 counters[{counters}];
  shared int held[{tile}];
  shared int goes[{values}];
  shared uint32 warps[{warps}];
  shared int drawn[2];
  {unless_stopped}
  if (counts[{alike} + number] /= 0) {{
    return;
  }}
  if (threadIdx == 0) {{
    ticket = atomic add(counts[{tickets} + number], 1);
    drawn[0] = ticket;
    drawn[1] = shift;
  }}
  for (c = threadIdx; c < {counters}; c += {threads}) {{
    counters[c] = 0;
  }}
  barrier;
  int tile = drawn[0];
  int low = tile * {tile};
  int moves = counts[{moves} + number];
  bool last = moves + 1 == counts[{total}];
  int here = (moves and 1) * n;
  int there = n - here;
  {limits}
  int lane = threadIdx and {warp} - 1;
  int row = threadIdx / {warp} * {values};
  int lower = lshift(1, lane) - 1;
  int begin = threadIdx / {warp} * {run} + lane;
  int base = low + begin;
  int many = min(n - low, {tile});
  int left = int32(many - begin);
  int rest = int32(many - threadIdx);
  note "each warp has {run} elements side by side, each lane one of {warp}; what is beyond the end comes last";
  {loads}
  note "how often the warp has each value of the digit";
  {counted}
  barrier;
  note "each thread has a value of the digit: how often the tile has it";
  var int total = 0;
  for (w = 0; w < {warps}; w += 1) {{
    total = int32(total + counters[w * {values} + threadIdx]);
  }}
  int tag = lshift(4 * (number + 1), 48);
  atomic exchange(status[tile * {values} + threadIdx], tag + lshift(1, 48) + total);
  var int through = total;
  {scan}
  barrier;
  var int before = through - total;
  for (v = 0; v < threadIdx / {warp}; v += 1) {{
    before = int32(before + warps[v]);
  }}
  note "where those of each warp go in shared memory";
  var int next = before;
  for (u = 0; u < {warps}; u += 1) {{
    int of_warp = counters[u * {values} + threadIdx];
    counters[u * {values} + threadIdx] = next;
    next = int32(next + of_warp);
  }}
  goes[threadIdx] = counts[number * {values} + threadIdx] - before;
  barrier;
  note "there equal digits lie side by side: lanes vote on the digit's bits, who has the same";
  note "(of keys anew, by a shift that compilers do not know: threads would keep their digits in registers till here)";
  int again = drawn[1];
  {puts}
  note "how often the tiles before have the value: each one's own count, up to one that knows all before it";
  var int earlier = 0;
  int place = drawn[0] * {values} + threadIdx;
  var int look = drawn[0] - 1;
  while (look >= 0) {{
    int told = relaxed status[look * {values} + threadIdx];
    int what = rshift(told, 48) - 4 * (number + 1);
    if (what == 1 or what == 2) {{
      earlier = earlier + (told and {most});
      look = what == 2 ? -1 : look - 1;
    }} else {{
      pause;
    }}
  }}
  atomic exchange(status[place], tag + lshift(2, 48) + earlier + total);
  goes[threadIdx] = goes[threadIdx] + earlier;
  barrier;
  note "from there neighbours go to neighbours";
  {stores}
}}
"""

# Of one of a thread's elements:

GIVEN = """var {type} given{k} = {none};
    if ({off} < left) {{
      given{k} = keys[base + {off}];
    }}"""

ENCODED = """int code{k} = {code};
    key{k} = {off} < left ? ({turned}) : -1;"""

LOAD = """if ({off} < left) {{
      key{k} = bits[here + base + {off}];
    }}"""

COUNT = """int digit{k} = rshift({plain}, shift) and 255;
  atomic add(counters[row + digit{k}], 1);"""

PUT = """int value{k} = rshift({plain}, again) and 255;
  int peers{k} = peers(value{k}, 8);
  int under{k} = ones(peers{k} and lower);
  int found{k} = counters[row + value{k}];
  barrier warp;
  if (under{k} == 0) {{
    counters[row + value{k}] = found{k} + ones(peers{k});
  }}
  int slot{k} = found{k} + under{k};
  held[slot{k}] = key{k};"""

STORE_KEY = """if ({off} < rest) {{
      int {bits}{k} = held[{off} + threadIdx];
      int target_{bits}{k} = goes[rshift({plain}, shift) and 255] + {off} + threadIdx;
      {to} = {value};
    }}"""

TARGET = """var int target{k} = 0;
  if ({off} < rest) {{
    int bits{k} = held[{off} + threadIdx];
    target{k} = goes[rshift(bits{k}, shift) and 255] + {off} + threadIdx;
    {store}
  }}"""

PUT_ORDER = """if ({off} < left) {{
    var int position{k} = base + {off};
    if (moves > 0) {{
      position{k} = order[here + base + {off}];
    }}
    held[slot{k}] = position{k};
  }}"""

STORE_ORDER = """if ({off} < rest) {{
      {to} = held[{off} + threadIdx];
    }}"""


@dataclass(frozen=True)
class Keys:
    """How keys become bits: expressions of `key`, which is of `type`, of its `code` without sign, or of the `bits` of
    that which are moved: `turned` as the order is, `plain` is what a digit is of, and `back` the key."""
    type: str
    code: str
    turned: str
    plain: str
    back: str


NONE = {"int": "0", "bool": "false", "char": "'a'"}         # some key


def pass_holes(each: int, warp: int, warps: int, keys: Keys, values: bool, segmented: bool) -> dict[str, object]:
    """What stands in the holes of a pass whose threads have so many elements each. Where `values` are wanted the keys
    are moved alone, else positions, too. The first pass has keys as they are given, and the last leaves what is wanted,
    unless elements are sorted by segments afterwards."""
    threads = warp * warps
    order = "" if values else "writable int[] order, "
    given = "" if segmented else f"{keys.type}[] keys, "
    made = "" if segmented else f"writable {keys.type if values else 'int'}[] result, "
    declared = "\n  ".join([f"var int key{k} = -1;" for k in range(each)])
    later = lines(each, warp, LOAD, "    ")
    first = [lines(each, warp, GIVEN, "    ", type=keys.type, none=NONE[keys.type]),
             lines(each, warp, ENCODED, "    ", code=(keys.code, "key", "given"), turned=(keys.turned, "code", "code"))]
    loads = later if segmented else branches("moves == 0", "\n    ".join(first), later)
    return {"counters": VALUES * warps, "run": warp * each, "most": 2 ** 48 - 1, "order": order, "given": given,
            "made": made, "loads": f"{declared}\n  {loads}",
            "counted": lines(each, warp, COUNT, plain=(keys.plain, "bits", "key")),
            "puts": lines(each, warp, PUT, "  barrier warp;\n  ", plain=(keys.plain, "bits", "key")),
            "stores": (stores_of_keys(each, threads, keys) if values else
                       stores_of_both(each, warp, threads, "" if segmented else "not(last)"))}


def stores_of_keys(each: int, threads: int, keys: Keys) -> str:
    """What the last pass and the others do with keys in shared memory."""
    def stored(bits: str, to: str, value: str) -> str:
        code = f"{bits}{{k}}"
        return lines(each, threads, STORE_KEY, "    ", bits=bits, plain=(keys.plain, "bits", bits),
                     to=to.format(f"target_{code}"), value=(value, "bits", bits))

    return branches("last", stored("made", "result[{}]", keys.back), stored("moved", "bits[there + {}]", "bits"))


def stores_of_both(each: int, warp: int, threads: int, unless_last: str) -> str:
    """What passes do with bits in shared memory, and with positions then, which the last pass leaves as result."""
    store = "bits[there + target{k}] = bits{k};"
    order = partial(lines, each, threads, STORE_ORDER, to="order[there + target{k}]")
    return "\n  ".join([
        lines(each, threads, TARGET, store=f"if ({unless_last}) {{ {store} }}" if unless_last else store),
        "barrier;", 'note "then their positions";', lines(each, warp, PUT_ORDER), "barrier;",
        branches("last", lines(each, threads, STORE_ORDER, "    ", to="result[target{k}]"), order("    "))
        if unless_last else order()])


def branches(condition: str, then: str, orelse: str) -> str:
    return f"if ({condition}) {{\n    {then}\n  }} else {{\n    {orelse}\n  }}"


def lines(each: int, step: int, text: str, indent: str = "  ", **holes: str | tuple[str, str, str]) -> str:
    """The text for each of a thread's elements, which are so far apart. A hole may have an expression, a word in it,
    and the word that stands for it, with the element's number. `indent`: what stands between two, on a new line."""
    def filled(k: int, hole: str | tuple[str, str, str]) -> str:
        if isinstance(hole, str):
            return hole.replace("{k}", str(k))
        return re.sub(rf"\b{hole[1]}\b", f"{hole[2]}{k}", hole[0])

    return f"\n{indent}".join([text.format(k=k, off=k * step, **{name: filled(k, hole) for name, hole in holes.items()})
                               for k in range(each)])
