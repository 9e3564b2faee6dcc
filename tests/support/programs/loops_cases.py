"""Loops programs and values that several tests share."""
from __future__ import annotations

import itertools
import math

from hypothesis import strategies as st

from nessie.cudagen.loops import nodes as loops
from nessie.cudagen.loops.module import Module
from nessie.cudagen.loops.nodes import Const, Load, Name, Op
from nessie.lambda_cu.ops import ROWS, result_type

EDGES = {
    "int": [0, 1, -1, 2, 3, -7, 63, 2**31, -2**32, 2**52 + 1, 2**63 - 1, -2**63, -2**63 + 1],
    "float": [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, -2.5, 0.49999999999999994, 3.75, 1e300, -1e300, 5e-324, 2.0**62,
              4503599627370497.5, math.inf, -math.inf, math.nan],
    "bool": [False, True],
    "char": ["\0", "a", "z", "é", "\U0001f600", "\U0010ffff"],
}

VALUES = {
    "int": st.integers(-2**63, 2**63 - 1) | st.sampled_from(EDGES["int"]),
    "float": st.floats(width=64) | st.sampled_from(EDGES["float"]),
    "bool": st.booleans(),
    "char": st.characters(min_codepoint=0, max_codepoint=0x10FFFF),
}

CASES = [(row.name, type_) for row in ROWS for type_ in row.types]          # every operator at every type

EVERYTHING = """
host sums(int first_chunk, int last_chunk, int n, float[] xs, writable float[] parts) {
  shared float sum[2];
  shared bool some[1];
  some[0] = false;
  for (c = first_chunk; c < last_chunk; c += 1) {
    for (lane = 0; lane < 2; lane += 1) {
      sum[lane] = 0.0;
    }
    for (i = c * 64; i < min(n, (c + 1) * 64); i += 1) {
      float x = xs[i];
      sum[i and 1] = sum[i and 1] + x * x;
      some[0] = true;
    }
    parts[c] = some[0] ? sum[0] + sum[1] : 0.0;
  }
}

host gather(int n, int m, int[] at, float[] xs, writable float[] out, writable int[] errors) {
  var int failed = 9223372036854775807;
  for (i = 0; i < n; i += 1) {
    int k = at[i];
    bool inside = k >= 0 and k < m;
    var float x = 0.0;
    if (inside) {
      x = xs[k];
    } else {
      failed = min(failed, 1099511627776 + i);
    }
    out[i] = x * 2.0;
  }
  if (failed < 9223372036854775807) {
    atomic min(errors[0], failed);
  }
}

device collatz(int n, int[] errors) -> int, bool {
  var int steps = 0;
  var int k = n;
  while (k > 1 and volatile errors[1] == 0) {
    k = k rem 2 == 0 ? k / 2 : 3 * k + 1;
    steps = steps + 1;
  }
  return steps, k == 1;
}

device power(float x, int n) -> float {
  if (n <= 0) {
    return 1.0;
  }
  rest = call power(x, n - 1);
  return rest * x;
}

host scalars(bool negate, char c, int n, float x, int[] errors, writable float[] out, writable bool[] flags,
             writable char[] chars) {
  steps, done = call collatz(n, errors);
  p = call power(x, steps);
  out[0] = negate ? neg(p) : p;
  flags[0] = done;
  flags[1] = not(flags[0]);
  chars[0] = code_char(char_code(c) + 1);
}

host counters(writable int[] cells, writable float[] sums) {
  old = atomic add(cells[0], 5);
  most = atomic max(cells[1], old);
  was = atomic cas(cells[2], most, 77);
  before = atomic exchange(cells[3], was);
  cells[4] = before;
  atomic add(sums[0], 2.5);
  last = atomic exchange(sums[1], -0.0);
  sums[2] = last;
}
"""

BLOCK_SUM = """
cuda block_sum(int n, float[] xs, writable float[] parts, writable int[] tickets) {
  shared float tile[2];
  shared int ticket[1];
  if (threadIdx == 0) {
    drawn = atomic add(tickets[0], 1);
    ticket[0] = drawn;
  }
  int stride = gridDim * blockDim;
  var float sum = 0.0;
  for (i = blockIdx * blockDim + threadIdx; i < n; i += stride) {
    sum = sum + xs[i];
  }
  var int offset = 16;
  while (offset > 0) {
    sum = sum + shuffle down(sum, offset);
    offset = offset / 2;
  }
  if (threadIdx rem 32 == 0) {
    tile[threadIdx / 32] = sum;
  }
  barrier;
  note "the block's sum, told by \\"release\\"";
  if (threadIdx == 0) {
    parts[ticket[0]] = tile[0] + tile[1];
    release tickets[1] = 1;
    while (acquire tickets[1] == 0) { pause; }
  }
}
"""


def operator_module(op: str, type_: str, kind: str = "host") -> Module:
    """A function f(n, x0.., out) that applies the operator to each element."""
    arity = next(row.arity for row in ROWS if row.name == op)
    result = result_type(op, (type_,) * arity)
    assert result is not None
    inputs = [loops.Parameter(f"x{k}", type_, array=True) for k in range(arity)]
    value = Op(op, tuple(Load(p.name, Name("i")) for p in inputs))
    body = loops.For("i", Const(0, "int"), Name("n"), (loops.Store("out", Name("i"), value),))
    parameters = (loops.Parameter("n", "int"), *inputs, loops.Parameter("out", result, array=True, writable=True))
    return Module((loops.Function("f", kind, parameters, (body,)),))


def in_domain(op: str, arguments: tuple[object, ...]) -> bool:
    """Does the table of operators say what the result is?"""
    last = arguments[-1]
    match op:
        case "/" | "rem" | "mod":
            return last != 0
        case "lshift" | "rshift":
            return isinstance(last, int) and 0 <= last < 64
        case "trunc" | "floor" | "ceil" | "round":
            return isinstance(last, float) and abs(last) < 2.0**63
        case "code_char":
            return isinstance(last, int) and 0 <= last <= 0x10FFFF
    return True


def edge_arguments(op: str, type_: str) -> list[tuple[object, ...]]:
    """All combinations of edge values in the operator's domain."""
    arity = next(row.arity for row in ROWS if row.name == op)
    return [a for a in itertools.product(EDGES[type_], repeat=arity) if in_domain(op, a)]
