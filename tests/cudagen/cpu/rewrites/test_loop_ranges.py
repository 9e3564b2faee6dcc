"""Checks that hold in a range of indices are taken out of loops, and fail as before where they fail."""
from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import nessie
from nessie.base.source import Source
from nessie.cudagen.cpu.rewrites.ranges import in_ranges
from nessie.cudagen.generate import generate
from nessie.cudagen.loops.nodes import For, Function, Var
from nessie.cudagen.loops.walk import statements
from nessie.driver import compile_program
from nessie.forms import TEXT
from nessie.pipeline import Job, pass_named
from nessie.syntax.parser import parse_type

PROGRAM = """
function next(xs, k) : ([float], int) -> [float] = {xs[i + k] : i in [0:#xs]};
function inner(xs, k) : ([float], int) -> [float] =
  {if (i >= k) and (i < #xs - k) then xs[i - k] + xs[i + k] else xs[i] : i in [0:#xs]};
function kept(xs, k) : ([int], int) -> [int] = {xs[i + k] : i in [0:#xs - k] | xs[i + k] > 0};
function sums(xs, k) : ([int], int) -> [int] = plus_scan({if i < k then 0 else xs[i - k] : i in [0:#xs]});
function total(xs, k) : ([float], int) -> float = sum({if i + k < #xs then xs[i + k] else 0.0 : i in [0:#xs]});
function but_one(xs, k) : ([float], int) -> [int] = {i in [0:#xs] | if i == k then t else xs[i] > 0.5};
function begun(xs, k) : ([float], int) -> [int] = {i in [0:#xs] | if i <= k then f else xs[i - 1] > xs[i]};
function by_index(xs, is) : ([float], [int]) -> [float] = {xs[i] : i in is};
"""


@cache
def program() -> nessie.Program:
    return nessie.compile(PROGRAM)


@cache
def sweep(entry: str) -> Function:
    job = Job(entry=entry, argument=parse_type(Source("type", "([float], [int])" if entry == "by_index" else
                                                      "([int], int)" if entry in ("kept", "sums") else
                                                      "([float], int)")))
    fused = compile_program(job, TEXT, Source("program", PROGRAM), pass_named("append"))      # no interiors
    module = generate(fused, "cpu")
    return next(f for f in module.functions if f.name.endswith("_sweep"))


def loops_of(function: Function) -> int:
    return sum(isinstance(s, For) for s in statements(function.body))


@pytest.mark.parametrize("entry", ["next", "inner", "kept", "sums", "but_one", "begun"])
def test_checks_are_taken_out(entry: str) -> None:
    before, after = sweep(entry), in_ranges(sweep(entry))
    assert loops_of(after) == loops_of(before) + 2          # one of three parts, which are of two kinds


def test_where_a_condition_does_not_hold_values_are_no_variables() -> None:
    """So LLVM gets a filter that moves the lanes of vectors (cudagen.cpu.text.compaction)."""
    (loop,) = [s for s in statements(in_ranges(sweep("but_one")).body) if isinstance(s, For) and s.index == "i"]
    assert not any([isinstance(s, Var) for s in loop.body])


def test_what_depends_on_elements_stays() -> None:
    assert in_ranges(sweep("by_index")) is sweep("by_index")


@pytest.mark.parametrize("n", [1, 5, 1000, 100_000])
@pytest.mark.parametrize("k", [0, 1, 3, 999, 40_000, 2**59, 2**61])
def test_the_same_is_computed(n: int, k: int) -> None:
    xs = np.cos(np.arange(n))
    expected = xs.copy()
    if 2 * k < n:
        middle = slice(k, n - k)
        expected[middle] = xs[:n - 2 * k] + xs[2 * k:] if k else xs + xs
    assert np.array_equal(program().inner(xs, k), expected)
    ints = np.arange(n) % 7 - 3
    if k <= n:
        assert np.array_equal(program().kept(ints, k), ints[k:][ints[k:] > 0])
    moved = np.concatenate([np.zeros(min(k, n), np.int64), ints[:max(n - k, 0)]])
    assert np.array_equal(program().sums(ints, k), np.cumsum(moved) - moved)
    assert np.isclose(program().total(xs, k), xs[min(k, n):].sum())
    assert np.array_equal(program().but_one(xs, k), np.flatnonzero((xs > 0.5) | (np.arange(n) == k)))
    assert np.array_equal(program().begun(xs, k), 1 + np.flatnonzero((xs[:-1] > xs[1:]) & (np.arange(1, n) > k)))


@pytest.mark.parametrize(("k", "element"), [(1, 99_999), (40_000, 60_000), (-1, 0), (-70_000, 0), (2**62, 0),
                                            (-2**62, 0), (2**63 - 1, 0)])
def test_the_first_failure_is_told(k: int, element: int) -> None:
    with pytest.raises(nessie.NessieError, match="out of bounds") as caught:
        program().next(np.zeros(100_000), k)
    assert str(caught.value).endswith(f"at element {element}")
    assert len(program().next(np.zeros(100_000), 0)) == 100_000
