"""Folds of neighbouring elements that go round together compute the same, to the last bit, whatever is between them."""
from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from nessie.cudagen.cpu.rewrites.folds import STRIPS, in_lanes
from nessie.cudagen.loops import nodes as loops
from nessie.cudagen.loops.interpreter import run
from nessie.cudagen.loops.module import Module
from nessie.cudagen.loops.text import parse
from nessie.cudagen.loops.walk import statements

HEAD = """host f(int low, int high, int count, float[] xs, int[] ks, writable float[] out, writable int[] last) {
  var int failed = 9223372036854775807;
  var int seen = 0;
  var float total = 0.0;
"""
TAIL = """  last[0] = failed;
  last[1] = seen;
  out[0] = total;
}
"""
TAKEN = {                       # bodies of a loop over elements i
    "one": """
    var float x = 0.1;
    for (j = 0; j < count; j += 1) { float y = xs[i + j]; x = x * 0.7 + y; }
    out[i] = x;""",
    "nested": """
    int row = i - 1;
    var float x = 0.0;
    for (a = 0; a < 3; a += 1) {
      int at = a * count;
      var float y = -0.0;
      for (b = 0; b < count; b += 1) { int place = row + at + b; y = y + xs[place]; }
      x = x + y;
    }
    out[i] = x;""",
    "two folds, and what is between them": """
    int k = ks[i];
    bool odd = (k and 1) == 1;
    var int n = k;
    for (a = 0; a < count; a += 1) { n = n * 3 + (odd ? a : ks[i + a]); }
    float f = float(n);
    bool great = f > 50.0;
    var float x = f;
    for (b = 0; b < count + 1; b += 1) { if (great) { x = x + xs[b]; } else { x = x - f; } }
    out[i] = great ? x : f;""",
    "what elements have in common": """
    var bool any = false;
    for (a = 0; a < count; a += 1) { any = any or ks[i + a] > 90; }
    if (any) { seen = seen + 1; last[seen] = i; } else { failed = min(failed, 1000 + i); }
    total = total + xs[i];""",
    "a check before a fold": """
    int k = ks[i];
    if (k == 7) { failed = min(failed, 5000 + i); }
    var float x = float(k);
    if (count > 2) { for (a = 0; a < count; a += 1) { x = x / 2.0 + xs[i]; } } else { x = 3.0; }
    if (x > 40.0) { failed = min(failed, 4000 - i); }
    out[i] = x;""",
    "a number of rounds that each element computes": """
    int first = i - 1;
    int beyond = i + count + 1;
    int rounds = beyond - first;
    var float x = 0.1;
    for (j = 0; j < rounds; j += 1) {
      int more = first + j - i;
      float y = xs[first + j] + float(more);
      x = x * 0.7 + y;
    }
    out[i] = x;""",
    "a constant for all": """
    float y = xs[max(count, 0)] * 2.0;
    var float x = 0.0;
    for (a = 0; a < count; a += 1) { float z = xs[a] + y; x = x + z; }
    out[i] = x + y;""",
}
LEFT = {
    "a number of rounds that names the element": """
    var float x = 0.0;
    for (j = 0; j < i + count - i; j += 1) { x = x + xs[i + j]; }
    out[i] = x;""",
    "folds that differ": """
    var float x = 0.0;
    for (j = 0; j < ks[i]; j += 1) { x = x + xs[i + 1]; }
    out[i] = x;""",
    "no neighbours": """
    var float x = 0.0;
    for (j = 0; j < count; j += 1) { x = x + xs[max(0, i - j)]; }
    out[i] = x;""",
    "an order among folds": """
    for (j = 0; j < count; j += 1) { total = total * 0.5 + xs[i + j]; }
    out[i] = xs[i];""",
    "what was stored before": """
    var float x = out[i];
    for (j = 0; j < count; j += 1) { x = x + xs[i + j]; }
    out[i + 1] = x;""",
    "a number that changes": """
    var int n = 0;
    for (j = 0; j < count; j += 1) { n = n + seen; }
    seen = seen + n + 1;""",
    "a place that a variable tells": """
    var int n = i;
    for (j = 0; j < count; j += 1) { int k = ks[n]; n = k; }
    last[i] = n;""",
}


def module(body: str) -> Module:
    return parse(f"{HEAD}  for (i = low; i < high; i += 1) {{{body}\n  }}\n{TAIL}")


def results(function: loops.Function, low: int, high: int, count: int) -> list[bytes]:
    drawn = np.random.default_rng(high)
    xs, ks = drawn.normal(size=400), drawn.integers(0, 100, 400)
    out, last = np.zeros(400), np.zeros(400, int)
    run(Module((function,), ()), "f", (low, high, count, xs, ks, out, last))
    return [out.tobytes(), last.tobytes()]


@pytest.mark.parametrize("body", TAKEN)
def test_lanes_compute_the_same(body: str) -> None:
    (plain,) = module(TAKEN[body]).functions
    found = in_lanes(plain)
    assert {s.high for s in statements(found.body) if isinstance(s, loops.For)} >= {
        loops.Const(width, "int") for width in STRIPS}
    for low in (1, 5):
        for high in (0, 1, 2, 8, 9, 13, 40, 41, 100):
            for count in (-1, 0, 1, 3, 5):
                assert results(found, low, high, count) == results(plain, low, high, count), (low, high, count)


@pytest.mark.parametrize("body", LEFT)
def test_loops_that_stay_as_they_were(body: str) -> None:
    (plain,) = module(LEFT[body]).functions
    assert in_lanes(plain) == plain


def test_lanes_of_a_sum_are_one_strip() -> None:
    text = """host f(int low, int high, int count, float[] xs, int[] ks, writable float[] out, writable int[] last) {
  shared float sums[8];
  for (lane = 0; lane < 8; lane += 1) { sums[lane] = 0.0; }
  for (eight = low; eight < high; eight += 8) {
    for (lane_2 = 0; lane_2 < 8; lane_2 += 1) {
      int i = eight + lane_2;
      var float x = 0.0;
      for (j = 0; j < count; j += 1) { x = x + xs[i + j]; }
      sums[lane_2] = sums[lane_2] + x;
    }
  }
  for (lane_3 = 0; lane_3 < 8; lane_3 += 1) { out[lane_3] = sums[lane_3]; }
}
"""
    (plain,) = parse(text).functions
    found = in_lanes(plain)
    assert found != plain
    for high in (0, 8, 64):
        assert results(found, 0, high, 3) == results(plain, 0, high, 3)
    assert in_lanes(replace(plain, kind="device")) == replace(plain, kind="device")
