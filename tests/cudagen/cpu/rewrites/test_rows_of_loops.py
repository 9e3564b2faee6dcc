"""Loops that divide their index by what does not change go by rows, and compute the same."""
from __future__ import annotations

import re
from functools import cache

import numpy as np
import pytest
from built import generated

import nessie
from nessie.cudagen.cpu import llvm
from nessie.cudagen.cpu import machine_code as building

PROGRAM = """
function columns(n, w) = {(rem(i, w), i / w, mod(i, w)) : i in [0:n]};
function squares(n, w) = {rem(i / w, w) * 100 + rem(i, w) : i in [0:n]};
function by_constant(n) = {rem(i, 37) + i / 37 : i in [0:n]};
function chosen(xs, w) = {if rem(i, w) == 0 then x else x + xs[i - 1] : x in xs; i in [0:#xs]};
function stencil(xs, w) =
  {if (rem(i, w) == 0) or (rem(i, w) == w - 1) then x else xs[i - 1] + xs[i + 1] : x in xs; i in [0:#xs]};
"""


@cache
def program() -> nessie.Program:
    return nessie.compile(PROGRAM)


@pytest.mark.parametrize("width", [1, 2, 15, 16, 17, 500, 32_768, 10**6, 2**62, -1, -3, -100])
@pytest.mark.parametrize("n", [0, 1, 1000, 200_001])
def test_the_same_is_computed(n: int, width: int) -> None:
    i = np.arange(n)
    rest, quotient, modulus = program().columns(n, width).columns
    assert np.array_equal(rest, np.fmod(i, width))
    assert np.array_equal(quotient, np.trunc(i / width) if abs(width) < 2**50 else i * 0)
    assert np.array_equal(modulus, np.mod(i, width))
    xs = np.cos(i)
    expected = np.where(np.fmod(i, width) == 0, xs, xs + np.append(xs[:1], xs[:-1]))
    assert np.array_equal(program().chosen(xs, width), expected)


def test_several_divisors() -> None:
    i = np.arange(100_000)
    assert np.array_equal(program().squares(100_000, 40), i // 40 % 40 * 100 + i % 40)
    assert np.array_equal(program().by_constant(100_000), i % 37 + i // 37)


def test_a_failure_is_told() -> None:
    with pytest.raises(nessie.NessieError, match="Divide by zero"):
        program().columns(1000, 0)


def test_loops_by_rows_are_vectors() -> None:
    module = generated(PROGRAM, "stencil", "([float], int)")
    assert re.search("store <[248] x double>", building.optimised(llvm.llvm(module)))
