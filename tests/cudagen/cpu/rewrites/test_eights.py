"""Short rows go by eights, of which the last is in part behind the row's end, and come to the same bits."""
from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

import nessie
from nessie.cudagen.cpu import llvm
from nessie.cudagen.cpu.machine_code import features
from nessie.cudagen.cpu.rewrites.eights import few_in_eights, in_eights
from nessie.cudagen.loops.interpreter import run
from nessie.cudagen.loops.module import Module
from nessie.cudagen.loops.nodes import For, Function, Prefetch
from nessie.cudagen.loops.text import parse
from nessie.cudagen.loops.walk import statements

ROWS = """
host f(int first_chunk, int last_chunk, int m, int limit, int[] offsets, int[] at, float[] xs, writable float[] out) {
  shared float sum_lanes[8];
  shared float most_lanes[8];
  var float sum = 0.0;
  var float most = -inf;
  for (s = 0; s < m; s += 1) {
    int first = offsets[s];
    int beyond = min(offsets[s + 1], limit);
    int length = beyond - first;
    int whole = first + (length < 16 ? 0 : length and -8);
    if (first < whole) {
      for (lane = 0; lane < 8; lane += 1) {
        sum_lanes[lane] = 0.0;
        most_lanes[lane] = -inf;
      }
      for (eight = first; eight < whole; eight += 8) {
        for (lane_2 = 0; lane_2 < 8; lane_2 += 1) {
          float x = xs[eight + lane_2];
          sum_lanes[lane_2] = sum_lanes[lane_2] + x;
          most_lanes[lane_2] = max(most_lanes[lane_2], x);
        }
      }
      for (lane_3 = 0; lane_3 < 8; lane_3 += 1) {
        float sum_at = sum_lanes[lane_3];
        float most_at = most_lanes[lane_3];
        sum = sum + sum_at;
        most = max(most, most_at);
      }
    }
    for (i = whole; i < beyond; i += 1) {
      READ
      sum = sum + y;
      most = max(most, y);
    }
    out[2 * s] = sum;
    out[2 * s + 1] = most;
    sum = 0.0;
    most = -inf;
  }
}
"""
TAKEN = {"as it is": "float y = xs[i];", "of two": "float y = xs[i] * xs[i];", "alike": "float y = xs[i] - xs[s];",
         "a choice": "var float y = 1.5; if (xs[i] < 0.25) { y = xs[i]; }"}
STAYS = {"gathered": "float y = xs[at[i]];", "costly": "float y = exp(xs[i]);",
         "stored": "float y = xs[i]; out[0] = y;", "joined to more": "float y = xs[i]; last = y;"}


def function_of(read: str) -> Function:
    text = ROWS.replace("READ", read).replace("var float sum", "var float last = 0.0;\n  var float sum", 1)
    (function,) = parse(text).functions
    return function


def outcome(function: Function, lengths: list[int], limit: int) -> bytes:
    random = np.random.default_rng(1)
    offsets = np.cumsum([0, *lengths])
    xs = random.standard_normal(offsets[-1] + 1) * 10.0 ** random.integers(-3, 4, offsets[-1] + 1)
    xs[::7] = -0.0
    at, out = random.permutation(len(xs)), np.zeros(2 * len(lengths))
    run(Module((function,)), "f", [0, 1, len(lengths), limit, offsets, at, xs, out])
    return out.tobytes()


@pytest.mark.parametrize("name", TAKEN)
def test_what_is_left_of_rows_goes_by_eights(name: str) -> None:
    function = function_of(TAKEN[name])
    found = in_eights(function)
    assert any([isinstance(s, Prefetch) and s.array == "xs" for s in statements(found.body)])
    for lengths in ([], [0], [1], [7, 8, 9], [15, 16, 17], [0, 3, 23, 24, 0], [*range(40)]):
        for limit in (1000, 5):
            assert outcome(found, lengths, limit) == outcome(function, lengths, limit)


@pytest.mark.parametrize("name", STAYS)
def test_other_rows_stay(name: str) -> None:
    function = function_of(STAYS[name])
    assert in_eights(function) == function


def test_rows_of_a_known_length_stay() -> None:
    """Their ends are foreseen."""
    text = ROWS.replace("READ", "float y = xs[i];").replace("min(offsets[s + 1], limit)", "limit")
    (function,) = parse(text).functions
    assert in_eights(function) == function


@pytest.mark.parametrize("joins, taken", [
    ("sum = sum + xs[i];", True), ("sum = min(xs[i], sum);", True), ("sum = sum + xs[i]; n = max(n, xs[i]);", True),
    ("sum = sum + xs[i]; n = n + sum;", False), ("sum = sum + xs[i]; sum = max(sum, 3);", False)])
def test_states_are_joined_by_one_operation_each_and_do_nothing_else(joins: str, taken: bool) -> None:
    text = """
host f(int first_chunk, int last_chunk, int n_1, int[] xs, writable int[] out) {
  var int sum = 0;
  var int n = 0;
  for (i = 3; i < n_1; i += 1) { JOINS }
  out[0] = sum;
  out[1] = n;
}
"""
    (function,) = parse(text.replace("JOINS", joins)).functions
    (loop,) = [s for s in function.body if isinstance(s, For)]
    few = few_in_eights(loop, {"sum": "int", "n": "int"}, ".m")
    assert (few is not None) == taken
    if few is not None:
        at = function.body.index(loop)
        other = Function(function.name, function.kind, function.parameters,
                         (*function.body[:at], *few, *function.body[at + 1:]))
        for length in (0, 3, 4, 11, 12, 40):
            xs, outs = np.random.default_rng(length).integers(-9, 9, 40), [np.zeros(2, np.int64) for _ in range(2)]
            for each, out in zip((function, other), outs, strict=True):
                run(Module((each,)), "f", [0, 1, length, xs, out])
            assert outs[0].tolist() == outs[1].tolist()


PROGRAM = """
function sums(rows) : [[float]] -> [float] = {sum(r) : r in rows};
function products(rows) : [[float]] -> [float] = {product(r) : r in rows};
function spread(rows) : [[float]] -> [(float, float, float)] = {(sum(r), min_val(r), max_val(r)) : r in rows};
function places(rows) : [[float]] -> [int] = {if #r == 0 then -1 else max_index(r) : r in rows};
function least(rows) : [[int]] -> [int] = {if #r == 0 then -1 else min_index(r) : r in rows};
"""
ODD = [0.0, -0.0, np.inf, -np.inf, 1e300, -1.5, 3.25, 7.0]


@cache
def program(masks: bool) -> nessie.Program:
    return nessie.compile(f"{PROGRAM}% masks: {masks} %")


@pytest.mark.skipif(llvm.MASKS not in features(), reason="this processor has no masks for lanes")
@pytest.mark.parametrize("seed", range(3))
def test_bits_are_those_without_masks(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(seed)
    lengths = random.permutation([*range(70), 0, 0, 127, 128, 129, 40_000, 1])
    offsets, total = np.cumsum([0, *lengths]), int(np.sum(lengths))
    ints = nessie.Nested(offsets, random.integers(0, 9, total))
    floats = [random.choice(ODD, total), random.choice([*ODD, np.nan], total, p=[0.12] * 8 + [0.04]),
              random.standard_normal(total) * 10.0 ** random.integers(-3, 4, total)]
    found = []
    for masks in (True, False):
        if not masks:
            monkeypatch.setattr(llvm, "features", lambda: features() - {llvm.MASKS})
        compiled = program(masks)
        results: list[Any] = [compiled.least(ints)]
        for xs in floats:
            rows = nessie.Nested(offsets, xs)
            results += [compiled.sums(rows), compiled.products(rows), compiled.places(rows)]
            results += [np.asarray(column) for column in zip(*compiled.spread(rows), strict=True)]
        found.append([np.asarray(r) for r in results])
    for with_masks, without in zip(*found, strict=True):
        assert np.array_equal(with_masks, without, equal_nan=with_masks.dtype.kind == "f")
        numbers = ~np.isnan(without)            # no program sees the sign of what is no number
        assert np.array_equal(np.signbit(with_masks)[numbers], np.signbit(without)[numbers])
