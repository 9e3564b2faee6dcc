"""A loop that reads one array after another is a loop for each, with the same results."""
from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from built import generated

import nessie
from nessie.cudagen.cpu.rewrites.cuts import in_cuts
from nessie.cudagen.loops.nodes import For, Function
from nessie.cudagen.loops.walk import statements

PROGRAM = """
function two(xs, k) : ([float], int) -> [float] = xs ++ drop(xs, 3);
function three(xs, k) : ([float], int) -> [float] = drop(xs, 1) ++ xs ++ take(xs, 5);
function chosen(xs, k) : ([float], int) -> [float] =
  {if i + k < #xs - k then xs[rem(i, 2)] else xs[#xs - 1 - i] : i in [0:#xs]};
function turned(xs, k) : ([float], int) -> [float] = {if i >= k then xs[i] + 1.0 else xs[#xs - 1 - i] : i in [0:#xs]};
function scanned(xs, k) : ([float], int) -> [float] = plus_scan(xs ++ xs);
function kept(xs, k) : ([float], int) -> [float] = {x in xs ++ xs | x > 3.0};
function by_value(xs, k) : ([float], int) -> [float] = {if x > 0.5 then x else xs[0] : x in xs};
"""
CUT = ["two", "three", "chosen", "turned", "kept"]


@cache
def program() -> nessie.Program:
    return nessie.compile(PROGRAM)


def sweep(entry: str) -> Function:
    module = generated(PROGRAM, entry, "([float], int)")
    return [f for f in module.functions if f.name.endswith("_sweep")][-1]


def loops_of(function: Function) -> int:
    return sum(isinstance(s, For) for s in statements(function.body))


@pytest.mark.parametrize("entry", CUT)
def test_a_loop_is_cut(entry: str) -> None:
    assert loops_of(in_cuts(sweep(entry))) >= loops_of(sweep(entry)) + 2


def test_what_depends_on_elements_is_not() -> None:
    assert loops_of(in_cuts(sweep("by_value"))) == loops_of(sweep("by_value"))


@pytest.mark.parametrize("entry", [*CUT, "scanned", "by_value"])
@pytest.mark.parametrize("n", [5, 14, 15, 16, 17, 40, 33_000])
def test_results_are_the_same(entry: str, n: int) -> None:
    xs = np.random.default_rng(n).integers(0, 7, n).astype(float)
    call = getattr(program(), entry)
    for k in (0, 1, n // 2, n, -1, -n, 2**62, -2**62, 2**63 - 1, -2**63):
        assert np.array_equal(call(xs, k), call(xs, k, target="reference")), (n, k)
