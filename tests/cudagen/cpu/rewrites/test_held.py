"""Rounds without branches for their checks do the same, and all is done again where a check fails."""
from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import nessie
from nessie.cudagen.cpu.checks import editions
from nessie.cudagen.cpu.rewrites.held import held, is_failure
from nessie.cudagen.host.device import NO_FAILURE
from nessie.cudagen.loops.interpreter import run
from nessie.cudagen.loops.module import Module
from nessie.cudagen.loops.nodes import Call, For, Function, If, Load, Op
from nessie.cudagen.loops.text import parse
from nessie.cudagen.loops.walk import expressions, parts, statements

HEADER = ("host f(int first_chunk, int last_chunk, int n, int m, int[] at, float[] xs, writable float[] out, "
          "writable int[] errors)")
SUMS = HEADER + """ {
  shared float sums[8];
  var int failed = 9223372036854775807;
  for (lane = 0; lane < 8; lane += 1) {
    sums[lane] = 0.0;
  }
  for (eight = 0; eight < n; eight += 8) {
    for (lane_2 = 0; lane_2 < 8; lane_2 += 1) {
      int i = eight + lane_2;
      int j = at[i];
      bool test = 0 <= j and j < m;
      var float branch = 0.0;
      if (test) {
        float x = xs[j];
        branch = x;
      } else {
        failed = min(failed, 0 + i);
        branch = 0.0;
      }
      float before = sums[lane_2];
      sums[lane_2] = before + branch;
    }
  }
  for (lane_3 = 0; lane_3 < 8; lane_3 += 1) {
    float sum = sums[lane_3];
    out[lane_3] = sum;
  }
  if (failed < 9223372036854775807) {
    atomic min(errors[0], failed);
  }
}
"""
QUOTIENTS = HEADER + """ {
  var int failed = 9223372036854775807;
  for (i = 0; i < n; i += 1) {
    float x = xs[i];
    bool test = x /= 0.0;
    if (not(test)) {
      failed = min(failed, 1099511627776 + i);
    }
    float quotient = test ? 1.0 / x : 0.0;
    var float root = 0.0;
    if (x < 5.0) {
      bool test_2 = not(quotient < 0.0);
      if (test_2) {
        root = sqrt(quotient);
      } else {
        failed = min(failed, 2199023255552 + i);
        root = 0.0;
      }
    }
    out[i] = root;
  }
  if (failed < 9223372036854775807) {
    atomic min(errors[0], failed);
  }
}
"""


def outcome(functions: tuple[Function, ...], n: int, at: list[int], xs: list[float]) -> tuple[list[float], int]:
    out, errors = np.full(max(8, len(xs)), -1.0), np.array([NO_FAILURE])
    run(Module(functions), "f", [0, 1, n, len(xs), np.array(at, np.int64), np.array(xs, float), out, errors])
    return out.tolist(), int(errors[0])


def branches(function: Function) -> list[If]:
    """Those of innermost loops that do more than to note a failure."""
    loops = [s for s in statements(function.body) if isinstance(s, For)]
    return [s for loop in loops if not any(isinstance(s, For) for s in loop.body)
            for s in statements(loop.body) if isinstance(s, If) and len(s.then) + len(s.orelse) > 1]


@pytest.mark.parametrize("at", [[], [0, 1, 2, 0, 1, 2, 0, 1], [3, 0, 0, 0, 0, 0, 0, 0], [0, 0, -1, 9, 0, 0, 0, 0] * 2])
@pytest.mark.parametrize("xs", [[], [0.5, 0.25, 4.0]])
def test_lanes_gather_without_branches(at: list[int], xs: list[float]) -> None:
    (plain,) = parse(SUMS).functions
    fast, again = editions(plain, plain)
    assert not branches(fast) and branches(again)
    loads = [e for s in statements(fast.body) for part in expressions(s) for e in parts(part) if isinstance(e, Load)]
    assert {load.array for load in loads} >= {"xs", "at"}
    told = replace(again, body=parse(HEADER + " { errors[0] = -1; }").functions[0].body)
    out, failed = outcome((plain,), len(at), at, xs)
    if xs and failed == NO_FAILURE:
        assert outcome((told, fast), len(at), at, xs) == (out, failed)
    else:
        assert outcome((told, fast), len(at), at, xs)[1] == -1


@pytest.mark.parametrize("xs", [[], [2.0, 0.5, 9.0], [1.0, 0.0, 1.0], [1.0, -4.0, 0.0], [7.0, 6.0, -1.0], [-0.0]])
def test_what_holds_is_not_chosen(xs: list[float]) -> None:
    (plain,) = parse(QUOTIENTS).functions
    fast, again = editions(plain, plain)
    selects = [e for s in statements(fast.body) for part in expressions(s) for e in parts(part)
               if isinstance(e, Op) and e.op == "select"]
    assert not selects
    assert outcome((again, fast), len(xs), [], xs) == outcome((plain,), len(xs), [], xs)


def test_a_loop_that_calls_stays() -> None:
    (plain,) = parse(QUOTIENTS).functions
    loop = next(s for s in plain.body if isinstance(s, For))
    calling = For(loop.index, loop.low, loop.high, (*loop.body, Call((), "g", ())), loop.step)
    assert held(calling, frozenset(), False) == (calling, frozenset())
    assert held(loop, frozenset(), False)[0] != loop
    assert sum(map(is_failure, statements(held(loop, frozenset(), False)[0].body))) == 2


def test_the_place_of_a_bad_index_is_told_and_empty_arrays_are_not_read() -> None:
    program = nessie.compile("function mxv(m, v) = {sum({a * v[j] : (j, a) in row}) : row in m} $")
    lengths = np.array([0, 3, 40, 0, 17])
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    at = np.arange(60) % 7
    rows = nessie.Nested(offsets, nessie.Tuples(at, np.ones(60)))
    v = np.arange(7.0)
    expected = [float(v[at[a:b]].sum()) for a, b in zip(offsets, offsets[1:], strict=False)]
    assert program.mxv(rows, v).tolist() == expected
    for place in (0, 30, 59):
        bad = at.copy()
        bad[place] = -1
        with pytest.raises(nessie.NessieError, match="index is -1, the length 7"):
            program.mxv(nessie.Nested(offsets, nessie.Tuples(bad, np.ones(60))), v)
    with pytest.raises(nessie.NessieError, match="index is 0, the length 0"):
        program.mxv(rows, v[:0])
    assert program.mxv(nessie.Nested(np.zeros(3, int), nessie.Tuples(at[:0], np.ones(0))), v[:0]).tolist() == [0.0, 0.0]
