"""Reductions along axes, transpositions and products of matrices, against NumPy."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import nessie

SHAPES = [(5,), (2, 3), (3, 1), (2, 3, 4), (2, 1, 3, 2), (0, 3), (3, 0), (2, 0, 3), (0,)]
REDUCTIONS = ["sum", "prod", "min", "max", "any", "all", "mean", "argmin", "argmax", "cumsum"]
PRODUCTS = [((3,), (3,)), ((2, 3), (3,)), ((3,), (3, 4)), ((2, 3), (3, 4)), ((2, 0), (0, 4)), ((0, 3), (3, 2)),
            ((0,), (0,)), ((2, 3), (3, 0))]


def samples(shape: tuple[int, ...], seed: int = 0) -> list[np.ndarray[Any, Any]]:
    random = np.random.default_rng(seed)
    return [random.integers(-5, 9, shape), random.random(shape), random.random(shape) > 0.5]


def same(found: nessie.Array, expected: Any, target: str = "cpu") -> None:
    value = np.asarray(found.evaluate(target).to_numpy())
    assert value.shape == np.shape(expected) and value.dtype == np.asarray(expected).dtype
    assert np.allclose(value, expected, rtol=1e-12)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("how", REDUCTIONS)
def test_reductions_along_axes(shape: tuple[int, ...], how: str) -> None:
    for data in samples(shape):
        for axis in (None, *range(-len(shape), len(shape))):
            if (data.size if axis is None else shape[axis]) == 0 and how in ("min", "max", "argmin", "argmax", "mean"):
                with pytest.raises(nessie.NessieError):
                    getattr(nessie.array(data), how)(axis=axis).evaluate()
                continue
            function = getattr(np, how)
            same(function(nessie.array(data), axis=axis), function(data, axis=axis))


@pytest.mark.parametrize("target", ["cpu", "reference"])
def test_axes_of_expressions(target: str) -> None:
    data = samples((4, 3))[0]
    a = nessie.array(data).map(lambda x: x * 2)
    same(a.sum(axis=0) + a.T.map(lambda x: x + 1).max(axis=1), (data * 2).sum(0) + (data * 2 + 1).max(0), target)
    same(np.add.reduce(a, axis=1), (data * 2).sum(1), target)
    same(np.transpose(nessie.array(samples((2, 3, 4))[1])), samples((2, 3, 4))[1].T, target)


@pytest.mark.parametrize("shapes", PRODUCTS, ids=str)
def test_products(shapes: tuple[tuple[int, ...], tuple[int, ...]]) -> None:
    for x, y in zip(samples(shapes[0], 1), samples(shapes[1], 2)):
        same(nessie.array(x) @ nessie.array(y), x @ y)
        same(nessie.array(x) @ y, x @ y)
        same(x @ nessie.array(y), x @ y)


def test_places_of_extremes() -> None:
    v = np.array([1.0, np.nan, -np.inf, np.nan])
    same(nessie.array(v).argmin(), v.argmin())
    same(nessie.array(v).argmax(), v.argmax())
    assert nessie.nest([[3, 1, 2], [5]]).map(lambda row: row.argmin() + np.argmax(row)).tolist() == [1, 0]


@pytest.mark.parametrize("call, message", [
    (lambda: nessie.array([1, 2]) @ nessie.array([1]), "rows as long as columns"),
    (lambda: nessie.array([[1]]).sum(axis=2), "has no axis 2"),
    (lambda: nessie.array([[1]]).sum(axis=(0, 1)), "an axis is one int"),
    (lambda: nessie.array([[[1]]]) @ nessie.array([1]), "multiplies vectors and matrices"),
    (lambda: nessie.array(np.zeros((0, 2))).min(axis=0), "no least of no elements")])
def test_what_is_refused(call: Any, message: str) -> None:
    with pytest.raises(nessie.NessieError, match=message):
        call()
