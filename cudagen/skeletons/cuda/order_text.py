"""The text, in loops, of the functions that sort on a GPU around the passes (skeletons.cuda.order, order_pass), with
holes for what differs.

`counts` has, one after another, how often each digit has each value, from `starts` on where these elements go; the
tickets of the passes; whether a digit is alike in all elements; how many passes before each have moved the elements,
which says in which half they lie; how many in all.
"""
from __future__ import annotations

BITS = {                        # of a key, without sign, in the order of keys; equal ones have equal bits
    "int": "key xor least",
    "float": "key == least ? least : (key and most) > infinite ? -1 : key < 0 ? not(key) : key xor least",
    "bool": "btoi(key)",
    "char": "char_code(key)",
}
KEPT = {**BITS,                 # those from which the key comes back: zeros keep their signs
        "float": "(key and most) > infinite ? -1 : key < 0 ? not(key) : key xor least"}
BACK = {
    "int": "code xor least",
    "float": "code < 0 ? code xor least : not(code)",
    "bool": "code /= 0",
    "char": "code_char(code)",
}

LIMITS = """int least = -9223372036854775808;
  int most = 9223372036854775807;
  int infinite = 9218868437227405312;"""

ENCODE = """
cuda {name}_encode(int n, {type}[] keys, {parameters}writable int[] counts, int[] errors) {{
  shared uint32 digits[{bins}];
  {unless_stopped}
  {limits}
  int stride = gridDim * {threads};
  for (c = threadIdx; c < {bins}; c += {threads}) {{
    digits[c] = 0;
  }}
  barrier;
  for (i = blockIdx * {threads} + threadIdx; i < n; i += stride) {{
    {type} key = keys[i];
    int code = {code};
    int turned = {turned};
    {store}
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

SEGMENTS = """
cuda {name}_segments(int n, int segments, int[] offsets, int[] order, writable int[] bits, writable int[] counts,
                     int[] errors) {{
  shared uint32 digits[{bins}];
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

ALIKE = """
cuda {name}_alike(int n, {parameters}int[] counts, writable {type}[] result, int[] errors) {{
  {unless_stopped}
  if (counts[{total}] > 0) {{
    return;
  }}
  int stride = gridDim * {threads};
  for (i = blockIdx * {threads} + threadIdx; i < n; i += stride) {{
    result[i] = {value};
  }}
}}
"""

ABOUT = {
    "encode": "Each key becomes bits that order as it does; how often has each digit, eight bits, each value?",
    "starts": "Where elements with each value of these digits go; which digits all elements have alike.",
    "pass": "Elements go where their digit's begin: a stable sort by the digit at `shift`.",
    "alike": "If no pass has moved anything: all keys are alike.",
    "segments": "The segment of each element, by which the elements are sorted last, so that segments stay apart.",
    "gather": "What is wanted of the elements, in their order.",
    "small": "Few elements: one block sorts them, in shared memory.",
}
