"""Loops with checks are vectors on the CPU, and the least failing element is told all the same."""
from __future__ import annotations

import re
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from built import generated

import nessie
from nessie.cudagen.cpu import llvm
from nessie.cudagen.cpu import machine_code as building
from nessie.cudagen.cpu.checks import editions
from nessie.cudagen.loops import text as loops_text
from nessie.cudagen.loops.check import check
from nessie.cudagen.loops.module import Module
from nessie.cudagen.loops.printer import show

DOTS = re.compile(r"(?<=[a-z])\.")            # in names that the text of loops does not take
PROGRAM = """
function roots(xs) = {sqrt(x) : x in xs};
function quotients(xs, ys) = {x / y : x in xs; y in ys};
function elements(xs, is) = {xs[i] : i in is};
function nested(xs, ys) = {if x > 0.0 then ln(y) / x else sqrt(y) : x in xs; y in ys};
function row_roots(rows) = {{sqrt(x) : x in r} : r in rows};
function sum_of_roots(xs) = sum({sqrt(x) : x in xs});
function counts(is, n) = write_add(dist(0, n), {(i, 1) : i in is});
"""
TYPES = {"roots": "[float]", "sum_of_roots": "[float]", "quotients": "([float], [float])",
         "elements": "([float], [int])", "nested": "([float], [float])", "counts": "([int], int)"}


@cache
def program() -> nessie.Program:
    return nessie.compile(PROGRAM)


@cache
def module(entry: str) -> Module:
    return generated(PROGRAM, entry, TYPES[entry])


@pytest.mark.parametrize("entry", ["roots", "quotients"])
def test_loops_with_checks_are_vectors(entry: str) -> None:
    text = building.optimised(llvm.llvm(module(entry)))
    assert re.search(r"<[248] x double>", text) and "vector.body" in text


@pytest.mark.parametrize("entry", TYPES)
def test_what_is_rewritten_is_well_formed(entry: str) -> None:
    for function in module(entry).functions:
        found = editions(function, function)
        called = [replace(f, body=()) for f in found[1:]]
        check(loops_text.parse(DOTS.sub("_of_", show(Module((*called, found[0]))))))
        rewritten = entry not in ("counts", "elements") and function.name.endswith("_sweep")    # those are no vectors
        assert len(found) == (2 if rewritten else 1)


def test_an_index_is_checked_by_one_comparison() -> None:
    """What is a size is not below 0: an index below that is beyond the size, as one without a sign."""
    text = building.optimised(llvm.llvm(module("elements")))
    sweep = text[text.index("@K1_sweep.call"):]
    assert re.search(r"icmp (ult|ugt) i64 %(is_at|value)", sweep) and not re.search(r"icmp s\w+ i64 %is_at", sweep)


def test_sums_with_checks_are_kept_in_registers() -> None:
    """Of the lanes, and of what tells that they fail, too."""
    text = building.optimised(llvm.llvm(module("sum_of_roots")))
    blocks = re.split(r"\n\n|\n(?=[\w.]+:)", text)
    loops = [block for block in blocks if re.search(r"call <[48] x double> @llvm.sqrt.v", block)]
    assert loops and not any(" store " in block for block in loops)


@pytest.mark.parametrize("failing", [[], [0], [69_999], [40_000, 123], [32_767, 32_768], [5, 6, 7, 8, 9]])
def test_the_first_failure_is_told(failing: list[int]) -> None:
    xs = np.linspace(0.5, 2.0, 70_000)
    xs[failing] = -1.0
    rows = nessie.Nested(np.arange(0, 70_001, 7), xs)
    for call in (lambda: program().roots(xs), lambda: program().row_roots(rows).content):
        if not failing:
            assert np.array_equal(call(), np.sqrt(xs))
            continue
        with pytest.raises(nessie.NessieError, match="Sqrt") as caught:
            call()
        assert f"at element {min(failing)}" in str(caught.value) or "row_roots" in str(caught.value)


def test_of_several_checks_the_first_that_fails_is_told() -> None:
    xs, ys = np.full(1000, 2.0), np.full(1000, 3.0)
    ys[[700, 800]] = -1.0
    with pytest.raises(nessie.NessieError, match="Ln"):
        program().nested(xs, ys)
    xs[650:] = -2.0
    with pytest.raises(nessie.NessieError, match="Sqrt"):
        program().nested(xs, ys)
    with pytest.raises(nessie.NessieError, match="index is 9, the length 5"):
        program().elements(xs[:5], np.array([0, 4, 9, -1]))


def test_counts_check_their_places() -> None:
    assert program().counts(np.array([2, 0, 2]), 3).tolist() == [1, 0, 2]
    with pytest.raises(nessie.NessieError, match="out of bounds"):
        program().counts(np.array([2, 3, 2]), 3)
