"""A loop whose operations wait long for each other has two elements in sight, with the same results and failures."""
from __future__ import annotations

from functools import cache, reduce

import numpy as np
import pytest
from built import generated

import nessie
from nessie.base.source import NessieError
from nessie.cudagen.cpu.rewrites.pairs import in_pairs
from nessie.cudagen.loops.nodes import Const, For, Function
from nessie.cudagen.loops.walk import statements


def chain(steps: int, divisor: str = "k", first: str = "x") -> str:
    return reduce(lambda inner, step: f"(mod({inner}, {divisor}) * 5 + {step})", range(steps), first)


PROGRAM = f"""
function long(xs, k) : ([int], int) -> [int] = {{{chain(30)} : x in xs}};
function two_results(xs, k) : ([int], int) -> ([int], [int]) = (long(xs, k), {{x + 1 : x in xs}});
function of_rows(xs, k) : ([int], int) -> [[int]] = {{{{{chain(30, "(k - i)")} : i in [0:3]}} : x in xs}};
function short(xs, k) : ([int], int) -> [int] = {{{chain(3)} : x in xs}};
function sure(xs, k) : ([int], int) -> [int] = {{{chain(30, "97")} : x in xs}};
function wide(xs, k) : ([int], int) -> [int] =
  {{{" + ".join([f"mod(x + {step}, k)" for step in range(60)])} : x in xs}};
function summed(xs, k) : ([int], int) -> int = sum({{{chain(30)} : x in xs}});
function kept(xs, k) : ([int], int) -> [int] = {{x in xs | {chain(30)} > 9}};
"""
PAIRED = ["long", "two_results"]
OTHERS = ["of_rows", "short", "sure", "wide", "summed", "kept"]


@cache
def program() -> nessie.Program:
    return nessie.compile(PROGRAM)


def pairs_of(entry: str) -> int:
    module = generated(PROGRAM, entry, "([int], int)")
    return sum([pairs(in_pairs(f)) - pairs(f) for f in module.functions])


def pairs(function: Function) -> int:
    return sum([isinstance(s, For) and s.step == Const(2, "int") for s in statements(function.body)])


@pytest.mark.parametrize("entry", PAIRED)
def test_long_loops_take_two_elements(entry: str) -> None:
    assert pairs_of(entry) == 1


@pytest.mark.parametrize("entry", ["short", "sure", "wide", "summed", "kept"])
def test_loops_that_wait_little_or_remember_take_one(entry: str) -> None:
    assert pairs_of(entry) == 0


@pytest.mark.parametrize("entry", [*PAIRED, *OTHERS])
def test_results_are_the_same(entry: str) -> None:
    call = getattr(program(), entry)
    for n in (0, 1, 2, 3, 8, 32_768, 32_769):
        xs = np.random.default_rng(n).integers(-50, 50, n)
        for k in (89, -7):
            found, expected = call(xs, k), call(xs, k, target="reference")
            assert str(found) == str(expected) and np.array_equal(np.asarray(found, object), np.asarray(
                expected, object)), (n, k)


@pytest.mark.parametrize("at", [[0], [1], [6], [7, 6], [8], [3, 4], [32_768]])
def test_the_first_failure_is_told(at: list[int]) -> None:
    """Of the earliest element, though another's check is looked at before."""
    text = f"function long(xs) : [int] -> [int] = {{let k = x - 3 in {chain(30)} : x in xs}};"
    xs = np.full(32_769 if max(at) > 9 else 9, 50)
    xs[at] = 3
    told = []
    for target in ("cpu", "reference"):
        with pytest.raises(NessieError) as failed:
            nessie.compile(text).long(xs, target=target)
        told.append(str(failed.value))
    assert told[0] == told[1] and f"at element {min(at)}" in told[0]
