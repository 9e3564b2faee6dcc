"""The text, in loops, of the functions that sort on a GPU (skeletons.cuda.order), with holes for what differs.

`counts` has, one after another, how often each digit has each value, from `starts` on where these elements go; the
tickets of the passes; whether a digit is alike in all elements; how many passes before each have moved the elements,
which says in which half they lie; how many in all.
"""
from __future__ import annotations

BITS = {
    "int": "key xor least",
    "float": "key == least ? least : (key and most) > infinite ? -1 : key < 0 ? not(key) : key xor least",
    "bool": "btoi(key)",
    "char": "char_code(key)",
}

ENCODE = """
cuda {name}_encode(int n, {type}[] keys, writable int[] bits, writable int[] counts, int[] errors) {{
  shared int digits[{bins}];
  {unless_stopped}
  int least = -9223372036854775808;
  int most = 9223372036854775807;
  int infinite = 9218868437227405312;
  int stride = gridDim * {threads};
  for (c = threadIdx; c < {bins}; c += {threads}) {{
    digits[c] = 0;
  }}
  barrier;
  for (i = blockIdx * {threads} + threadIdx; i < n; i += stride) {{
    {type} key = keys[i];
    int code = {code};
    int turned = {turned};
    bits[i] = turned;
    {counted}
  }}
  barrier;
  for (d = threadIdx; d < {bins}; d += {threads}) {{
    if (digits[d] /= 0) {{
      atomic add(counts[d], digits[d]);
    }}
  }}
}}
"""

SCAN = """for (k = 0; k < 5; k += 1) {{
    int step = lshift(1, k);
    int below = shuffle up(through, step);
    if (lane >= step) {{
      through = through + below;
    }}
  }}
  if (lane == {warp} - 1) {{
    warps[threadIdx / {warp}] = through;
  }}"""                                 # of each warp; its last lane leaves what the warp comes to

STARTS = """
cuda {name}_starts(int n, int first, int last, writable int[] counts, int[] errors) {{
  shared int warps[{warps}];
  {unless_stopped}
  int lane = threadIdx and {warp} - 1;
  var int moves = counts[{total}];
  for (p = first; p < last; p += 1) {{
    int count = counts[p * {values} + threadIdx];
    var int through = count;
    {scan}
    if (count == n) {{
      counts[{alike} + p] = 1;
    }}
    barrier;
    var int before = through - count;
    for (w = 0; w < threadIdx / {warp}; w += 1) {{
      before = before + warps[w];
    }}
    counts[p * {values} + threadIdx] = before;
    if (threadIdx == 0) {{
      counts[{moves} + p] = moves;
      moves = moves + (counts[{alike} + p] == 0 ? 1 : 0);
    }}
    barrier;
  }}
  if (threadIdx == 0) {{
    counts[{total}] = moves;
  }}
}}
"""

PASS = """
cuda {name}_pass(int number, int shift, int n, writable int[] bits, writable int[] order, writable int[] counts,
                   writable int[] status, int[] errors) {{
  shared int counters[{counters}];
  shared int held[{tile}];
  shared int begins[{values}];
  shared int goes[{values}];
  shared int warps[{warps}];
  shared int drawn[1];
  {unless_stopped}
  if (counts[{alike} + number] /= 0) {{
    return;
  }}
  if (threadIdx == 0) {{
    ticket = atomic add(counts[{tickets} + number], 1);
    drawn[0] = ticket;
  }}
  for (c = threadIdx; c < {counters}; c += {threads}) {{
    counters[c] = 0;
  }}
  barrier;
  int tile = drawn[0];
  int low = tile * {tile};
  int moves = counts[{moves} + number];
  int here = (moves and 1) * n;
  int there = n - here;
  int lane = threadIdx and {warp} - 1;
  int row = threadIdx / {warp} * {values};
  int base = low + threadIdx / {warp} * {run} + lane;
  int lower = lshift(1, lane) - 1;
  note "each warp has {run} elements side by side, each lane one of {warp}";
  {loads}
  note "the rank of each element among those of its warp with its digit: lanes vote on its bits";
  {ranks}
  barrier;
  note "each thread has a value of the digit: how often the warps have it, one after another";
  var int total = 0;
  for (w = 0; w < {warps}; w += 1) {{
    int of_warp = counters[w * {values} + threadIdx];
    counters[w * {values} + threadIdx] = total;
    total = total + of_warp;
  }}
  int tag = lshift(4 * (number + 1), 48);
  int place = tile * {values} + threadIdx;
  atomic exchange(status[place], tag + lshift(1, 48) + total);
  var int through = total;
  {scan}
  barrier;
  var int before = through - total;
  for (v = 0; v < threadIdx / {warp}; v += 1) {{
    before = before + warps[v];
  }}
  note "how often the tiles before have the value: each one's own count, up to one that knows all before it";
  var int earlier = 0;
  var int look = tile - 1;
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
  begins[threadIdx] = before;
  goes[threadIdx] = counts[number * {values} + threadIdx] + earlier - before;
  barrier;
  note "the elements go by way of shared memory, where equal digits lie side by side; first their bits";
  {puts}
  barrier;
  {stores}
  barrier;
  note "then their positions";
  {puts_of_order}
  barrier;
  {stores_of_order}
}}
"""

LOAD = """int at{k} = base + {off};
  var int key{k} = -1;
  if (at{k} < n) {{
    key{k} = bits[here + at{k}];
  }}
  int digit{k} = rshift(key{k}, shift) and 255;"""

VOTE = """bool bit{k}_{b} = (rshift(digit{k}, {b}) and 1) /= 0;
  int votes{k}_{b} = vote(bit{k}_{b});
  peers{k} = peers{k} and (bit{k}_{b} ? votes{k}_{b} : not(votes{k}_{b}));"""

RANK = """var int peers{k} = 4294967295;
  {votes}
  int under{k} = ones(peers{k} and lower);
  var int begun{k} = 0;
  if (under{k} == 0) {{
    found{k} = atomic add(counters[row + digit{k}], ones(peers{k}));
    begun{k} = found{k};
  }}
  int leader{k} = ones((peers{k} and neg(peers{k})) - 1);
  int led{k} = shuffle index(begun{k}, leader{k});
  int rank{k} = led{k} + under{k};"""

PUT = """int slot{k} = begins[digit{k}] + counters[row + digit{k}] + rank{k};
  held[slot{k}] = key{k};"""

STORE = """int from{k} = {off} + threadIdx;
  var int target{k} = 0;
  if (low + from{k} < n) {{
    int bits{k} = held[from{k}];
    target{k} = goes[rshift(bits{k}, shift) and 255] + from{k};
    bits[there + target{k}] = bits{k};
  }}"""

PUT_OF_ORDER = """if (at{k} < n) {{
    var int position{k} = at{k};
    if (moves > 0) {{
      position{k} = order[here + at{k}];
    }}
    held[slot{k}] = position{k};
  }}"""

STORE_OF_ORDER = """if (low + from{k} < n) {{
    order[there + target{k}] = held[from{k}];
  }}"""


def pass_holes(each: int, warp: int, warps: int) -> dict[str, object]:
    """What stands in the holes of a pass whose threads have so many elements each."""
    def lines(text: str, step: int) -> str:
        return "\n  ".join([text.format(k=k, off=k * step, votes="\n  ".join([VOTE.format(k=k, b=b) for b in range(8)]))
                            for k in range(each)])

    threads = warp * warps
    return {"counters": 256 * warps, "run": warp * each, "most": 2 ** 48 - 1, "loads": lines(LOAD, warp),
            "ranks": lines(RANK, warp), "puts": lines(PUT, warp), "stores": lines(STORE, threads),
            "puts_of_order": lines(PUT_OF_ORDER, warp), "stores_of_order": lines(STORE_OF_ORDER, threads)}


SEGMENTS = """
cuda {name}_segments(int n, int segments, int[] offsets, int[] order, writable int[] bits, writable int[] counts,
                     int[] errors) {{
  shared int digits[{bins}];
  {unless_stopped}
  int moves = counts[{total}];
  int here = (moves and 1) * n;
  int stride = gridDim * {threads};
  for (c = threadIdx; c < {bins}; c += {threads}) {{
    digits[c] = 0;
  }}
  barrier;
  for (i = blockIdx * {threads} + threadIdx; i < n; i += stride) {{
    var int position = i;
    if (moves > 0) {{
      position = order[here + i];
    }}
    var int least = 0;
    var int most = segments - 1;
    while (least < most) {{
      int middle = rshift(least + most + 1, 1);
      if (offsets[middle] <= position) {{
        least = middle;
      }} else {{
        most = middle - 1;
      }}
    }}
    bits[here + i] = least;
    {counted}
  }}
  barrier;
  for (d = threadIdx; d < {bins}; d += {threads}) {{
    if (digits[d] /= 0) {{
      atomic add(counts[{first} * {values} + d], digits[d]);
    }}
  }}
}}
"""

GATHER = """
cuda {name}_gather(int n, {parameters}int[] order, int[] counts, writable {type}[] result, int[] errors) {{
  {unless_stopped}
  int moves = counts[{total}];
  int here = (moves and 1) * n;
  int stride = gridDim * {threads};
  for (i = blockIdx * {threads} + threadIdx; i < n; i += stride) {{
    var int position = i;
    if (moves > 0) {{
      position = order[here + i];
    }}
    result[i] = {value};
  }}
}}
"""

ABOUT = {
    "encode": "Each key becomes bits that order as it does; how often has each digit, eight bits, each value?",
    "starts": "Where elements with each value of these digits go; which digits all elements have alike.",
    "pass": "Elements go where their digit's begin: a stable sort by the digit at `shift`.",
    "segments": "The segment of each element, by which the elements are sorted last, so that segments stay apart.",
    "gather": "What is wanted of the elements, in their order.",
    "small": "Few elements: one block sorts them, in shared memory.",
}
