"""Rows that are joined by masked vectors where they are short, and as before where they are long."""
from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

import nessie
from nessie.cudagen.cpu import llvm
from nessie.cudagen.cpu.machine_code import features
from nessie.cudagen.cpu.row_loops import FEW

PROGRAM = """
function greatest(rows) : [[float]] -> [float] = {max_val(r) : r in rows | #r > 0};
function least(rows) : [[int]] -> [int] = {min_val(r) : r in rows | #r > 0};
function sums(rows) : [[int]] -> [int] = {sum(r) : r in rows};
function chosen(rows) : [[int]] -> [int] = {sum({if x > 9 then x else -1 : x in r}) : r in rows};
function whole(rows) : [[int]] -> [bool] = {all({x /= 7 : x in r}) : r in rows};
function some(rows) : [[int]] -> [bool] = {any({x == 7 : x in r}) : r in rows};
function blank(rows) : [[char]] -> [bool] = {any({c == space : c in r}) : r in rows};
function quotients(rows) : [[int]] -> [int] = {sum({100 / x : x in r}) : r in rows};
"""
LENGTHS = [*range(70), 0, 0, FEW - 1, FEW, FEW + 1, 127, 128, 129, 1000, 40_000, 1]


@cache
def program(masks: bool) -> nessie.Program:
    return nessie.compile(f"{PROGRAM}% masks: {masks} %")


def rows_of(kind: str, seed: int) -> list[Any]:
    random = np.random.default_rng(seed)
    lengths = random.permutation(LENGTHS)
    if kind == "float":
        return [random.choice([-2.5, 0.0, -0.0, 1e300, -np.inf, 3.25], n) for n in lengths]
    return [random.integers(1, 100, n) for n in lengths]


@pytest.mark.parametrize("masks", [True, False])
@pytest.mark.parametrize("seed", [1, 2])
def test_rows_are_joined_as_numpy_does(masks: bool, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    if not masks:
        monkeypatch.setattr(llvm, "features", lambda: features() - {"avx512vl"})
    compiled, ints, floats = program(masks), rows_of("int", seed), rows_of("float", seed)
    given = nested(ints)
    assert np.array_equal(compiled.greatest(nested(floats)), [max(r) for r in floats if len(r)])
    assert np.array_equal(compiled.least(given), [r.min() for r in ints if len(r)])
    assert np.array_equal(compiled.sums(given), [r.sum() for r in ints])
    assert np.array_equal(compiled.chosen(given), [np.where(r > 9, r, -1).sum() for r in ints])
    assert np.array_equal(compiled.whole(given), [(r != 7).all() for r in ints])
    assert np.array_equal(compiled.some(given), [(r == 7).any() for r in ints])
    assert np.array_equal(compiled.quotients(given), [(100 // r).sum() for r in ints])
    texts = ["".join(map(chr, r + 31)) for r in ints]
    assert np.array_equal(compiled.blank(texts), [" " in text for text in texts])


def test_a_check_that_fails_in_a_masked_vector_is_told_of_its_element() -> None:
    rows = [[1] * 12, [5] * 9 + [0], [3, 0]]
    with pytest.raises(nessie.NessieError, match=r"at element \[1\]\[9\]: 100 / 0"):
        program(True).quotients(rows)


def nested(rows: list[Any]) -> nessie.Nested:
    offsets = np.concatenate([[0], np.cumsum([len(r) for r in rows])])
    return nessie.Nested(offsets, np.concatenate(rows))
