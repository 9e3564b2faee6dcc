"""Operators, NumPy's functions and reductions of ragged rows, against Python's lists and NumPy's rows."""
from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from amounts import PROFILE

import nessie

TARGETS = ("cpu", "reference") if PROFILE == "quick" else ("cpu", "reference", "cudasim")
each_target = pytest.mark.parametrize("target", TARGETS)


def ragged(lengths: list[int], seed: int, kind: int) -> list[list[Any]]:
    random = np.random.default_rng(seed)
    return [[random.integers(-9, 9, n), random.random(n) * 8 - 4, random.random(n) > 0.5][kind].tolist()
            for n in lengths]


SIZES = [[], [0], [1], [3, 0, 2], [0, 0], [2, 2], [5, 1, 0, 0, 7], [1000, 0, 1], list(range(20))]
each_size = pytest.mark.parametrize("lengths", SIZES, ids=str)
each_kind = pytest.mark.parametrize("kind", [0, 1, 2], ids=["ints", "floats", "bools"])


def same(found: nessie.Array, expected: list[Any], target: str = "cpu") -> None:
    values = found.evaluate(target).tolist()
    assert len(values) == len(expected)
    for x, y in zip(values, expected):
        assert np.shape(x) == np.shape(y) and np.allclose(x, y, rtol=1e-12, equal_nan=True)
        assert all(type(p) is type(q) for p, q in zip(np.ravel(x).tolist(), np.ravel(y).tolist()))


@pytest.mark.sampled(quick=6, ci=3)
@each_size
@each_kind
@each_target
def test_operators_go_into_rows(lengths: list[int], kind: int, target: str) -> None:
    given, others = ragged(lengths, 1, kind), ragged(lengths, 2, kind)
    each, factors = np.arange(len(lengths)), np.arange(len(lengths)) / 2
    rows = nessie.nest([np.array(row, [int, float, bool][kind]) for row in given])
    beside = nessie.nest([np.array(row, [int, float, bool][kind]) for row in others])
    same(rows + 1, [[x + 1 for x in row] for row in given], target)
    same(2.5 * rows, [[2.5 * x for x in row] for row in given], target)
    same(rows > 0, [[x > 0 for x in row] for row in given], target)
    same(rows * beside, [[x * y for x, y in zip(*both)] for both in zip(given, others)], target)
    same(rows == beside, [[x == y for x, y in zip(*both)] for both in zip(given, others)], target)
    same(rows + nessie.array(each), [[x + int(k) for x in row] for row, k in zip(given, each)], target)
    same(rows * factors[:, None], [[x * float(k) for x in row] for row, k in zip(given, factors)], target)
    seven = [int, float, int][kind](7)
    same(np.where(rows > 0, rows, 7), [[x if x > 0 else seven for x in row] for row in given], target)
    same(np.cos(rows), [np.cos(np.array(row, float)).tolist() for row in given], target)
    same(rows.astype(float), [[float(x) for x in row] for row in given], target)
    if kind != 2:
        same(-rows, [[-x for x in row] for row in given], target)
        same(rows.clip(-1, 2), [np.clip(np.array(row, [int, float][kind]), -1, 2).tolist() for row in given], target)


@each_size
@each_kind
@pytest.mark.parametrize("how", ["sum", "prod", "min", "max", "any", "all", "mean", "var", "std", "median", "argmin",
                                 "argmax", "cumsum"])
def test_reductions_along_rows_and_of_all(lengths: list[int], kind: int, how: str) -> None:
    function, dtype = getattr(np, how), [int, float, bool][kind]
    of_none = how in ("min", "max", "mean", "var", "std", "median", "argmin", "argmax")
    given = [np.array(row, dtype)[:12] for row in ragged(lengths, 3, kind) if row or not of_none]
    if not any(map(len, given)):
        return                          # of what kind these are, nothing tells
    rows = nessie.nest(given)
    same(getattr(rows, how)(axis=1) if how not in ("median",) else np.median(rows, axis=-1),
         [function(row).tolist() for row in given])
    every = np.concatenate([*given, np.zeros(0, dtype)])
    if how == "cumsum":
        same(rows.cumsum(), function(every).tolist())
    elif every.size or not of_none:
        assert np.allclose(getattr(rows, how)().item(), function(every), rtol=1e-12)
        if how not in ("argmin", "argmax"):
            kept = getattr(rows, how)(axis=1, keepdims=True)
            assert kept.shape == (len(given), 1) or not len(given)


def test_rows_less_their_means() -> None:
    given = [[3, 1, 2], [5], [4, 8]]
    rows = nessie.nest(given)
    same(rows - rows.mean(axis=1), [[1.0, -1.0, 0.0], [0.0], [-2.0, 2.0]])
    same(rows - rows.mean(axis=1, keepdims=True), [[1.0, -1.0, 0.0], [0.0], [-2.0, 2.0]])
    same(nessie.nest([[1.0, 2.0], [3.0, 7.0, 8.0]]).var(axis=1, ddof=1), [0.5, 7.0])
    same(rows.round(-1), [[0, 0, 0], [0], [0, 10]])
    same((rows / 4).round(1), [np.round(np.array(row) / 4, 1).tolist() for row in given])


def test_rows_one_behind_another() -> None:
    rows, others = nessie.nest([[1, 2], [], [3]]), nessie.nest([[0.5], [1.5], []])
    same(np.concatenate([rows, others]), [[1.0, 2.0], [], [3.0], [0.5], [1.5], []])
    same(np.concatenate([rows, others, rows], axis=1), [[1.0, 2.0, 0.5, 1.0, 2.0], [1.5], [3.0, 3.0]])
    assert np.array_equal(rows, rows + 0) and not np.array_equal(rows, np.concatenate([rows, rows], axis=1))
    assert not np.array_equal(rows, nessie.array([1, 2, 3])) and not np.array_equal(rows, rows + 1)
    assert np.count_nonzero(rows > 1).item() == 2


def test_rows_of_rows() -> None:
    deep = nessie.nest([[[1], [2, 3]], [], [[]]])
    assert (deep * 2 + deep).tolist() == [[[3], [6, 9]], [], [[]]]
    assert (deep + nessie.nest([[10, 20], [], [30]])).tolist() == [[[11], [22, 23]], [], [[]]]
    assert deep.sum().item() == 6 and deep.max().item() == 3 and deep.cumsum().tolist() == [1, 3, 6]


@pytest.mark.parametrize("call, message", [
    (lambda rows: rows + nessie.nest([[1], [2]]), "different lengths(.|\n)*at element 0: the lengths are 2 and 1"),
    (lambda rows: rows + nessie.array([1, 2, 3]), "takes arrays of one shape"),
    (lambda rows: rows + np.array([[1, 2], [3, 4]]), "different lengths(.|\n)*at element 1: the lengths are 1 and 2"),
    (lambda rows: rows.sum(axis=0), "goes along their own axis, 1, and this is 0"),
    (lambda rows: rows.sum(axis=2), "has no axis 2"),
    (lambda rows: nessie.nest([[[1]]]).sum(axis=2), r"rows of rows(.|\n)*\[row.sum\(\) for row in rows\]"),
    (lambda rows: rows.select(lambda row: len(row) > 1).map(lambda row: row[2:]).max(axis=1),
     "There is no greatest of no elements"),
    (lambda rows: np.floor_divide(rows, 0), "Division by zero"),
    (lambda rows: rows.astype("int16"), "the elements are a sequence of int"),
    (lambda rows: rows.round(0.5), "decimals are an int"),
    (lambda rows: rows & 0.5, "ints have bits")])
def test_what_is_refused_tells_the_line_of_rows(call: Callable[[Any], Any], message: str) -> None:
    with pytest.raises(nessie.NessieError, match=message) as failed:
        call(nessie.nest([[1, 2], [3]])).evaluate()
    assert "test_ragged.py:" in str(failed.value)


def test_reductions_by_operators_still_take_elements() -> None:
    assert nessie.nest([[1, 2], [3]]).map(lambda row: row.var() + row.std() + np.median(row)).tolist() == [2.25, 3.0]
    assert nessie.array([1, 2]).reduce(operator.add).item() == 3
