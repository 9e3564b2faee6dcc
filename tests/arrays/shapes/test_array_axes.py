"""Reductions along axes, transpositions and products of matrices, against NumPy."""
from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import nessie
from nessie.cudagen.kernels.walk import walk_of
from nessie.cudagen.skeletons.cpu.tiles import is_tiled
from nessie.lambda_cu.text.parser import parse

SHAPES = [(5,), (2, 3), (3, 1), (2, 3, 4), (2, 1, 3, 2), (0, 3), (3, 0), (2, 0, 3), (0,)]
REDUCTIONS = ["sum", "prod", "min", "max", "any", "all", "mean", "argmin", "argmax", "var", "std", "median", "cumsum"]
OF_SOME = ("min", "max", "argmin", "argmax", "mean", "var", "std", "median")
PRODUCTS = [((3,), (3,)), ((2, 3), (3,)), ((3,), (3, 4)), ((2, 3), (3, 4)), ((2, 0), (0, 4)), ((0, 3), (3, 2)),
            ((0,), (0,)), ((2, 3), (3, 0)), ((0, 2, 0), (0, 2)), ((2, 0, 3), (3,)), ((2, 3, 4), (4, 2))]


def samples(shape: tuple[int, ...], seed: int = 0) -> list[np.ndarray[Any, Any]]:
    random = np.random.default_rng(seed)
    return [random.integers(-5, 9, shape), random.random(shape), random.random(shape) > 0.5]


def same_all(expressions: list[tuple[nessie.Array, Any]]) -> None:
    """Are these, computed in one pass, NumPy's?"""
    nessie.evaluate(*[found for found, _ in expressions])
    for found, expected in expressions:
        same(found, expected)


def same(found: nessie.Array, expected: Any, target: str = "cpu") -> None:
    value = np.asarray(found.evaluate(target).to_numpy())
    assert value.shape == np.shape(expected) and value.dtype == np.asarray(expected).dtype
    assert np.allclose(value, expected, rtol=1e-12, equal_nan=True)


@pytest.mark.sampled(quick=6, ci=3)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("how", REDUCTIONS)
def test_reductions_along_axes(shape: tuple[int, ...], how: str) -> None:
    function = getattr(np, how)
    for data in samples(shape):
        expressions = []
        for axis in (None, *range(len(shape))):
            if (data.size if axis is None else shape[axis]) == 0 and how in OF_SOME:
                with pytest.raises(nessie.NessieError):
                    getattr(nessie.array(data), how)(axis=axis).evaluate()
                continue
            expressions.append((function(nessie.array(data), axis=axis), function(data, axis=axis)))
        same_all(expressions)


@pytest.mark.parametrize("shape", [(5, 7), (2, 3, 4), (2, 3, 4, 5)], ids=str)
@pytest.mark.parametrize("how", ["sum", "prod", "min", "max", "any", "all", "mean"])
def test_reductions_along_the_first_axis_go_column_by_column(shape: tuple[int, ...], how: str) -> None:
    """A core has a band of columns beside each other, whatever the dimensions."""
    kernels = getattr(nessie.array(samples(shape)[1]), how)(axis=0).kernels()
    program = parse(str(kernels))
    assert is_tiled(walk_of(program.kernels[0], program)), kernels


@pytest.mark.parametrize("shape, axis", [((2, 3, 4), 0), ((2, 3, 4), 1), ((2, 3, 4, 5), 2)])
@pytest.mark.parametrize("how", ["sum", "prod", "any", "all"])
def test_reductions_of_what_is_computed_do_so_along_any_axis_but_the_last(shape: tuple[int, ...], axis: int,
                                                                          how: str) -> None:
    kernels = getattr(nessie.array(samples(shape)[1]).map(lambda x: x * 2 - 1), how)(axis=axis).kernels()
    program = parse(str(kernels))
    assert [is_tiled(walk_of(kernel, program)) for kernel in program.kernels] == [True], kernels


@pytest.mark.sampled(quick=6, ci=3)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("how", [how for how in REDUCTIONS if how != "cumsum"])
def test_axes_that_are_kept(shape: tuple[int, ...], how: str) -> None:
    function, data = getattr(np, how), samples(shape)[1]
    axes = [axis for axis in (None, -1, 0) if (data.size if axis is None else shape[axis]) or how not in OF_SOME]
    same_all([(function(nessie.array(data), axis=axis, keepdims=True), function(data, axis=axis, keepdims=True))
              for axis in axes])


@pytest.mark.sampled(quick=6, ci=3)
@pytest.mark.parametrize("shape", [shape for shape in SHAPES if len(shape) > 1], ids=str)
@pytest.mark.parametrize("how", [how for how in REDUCTIONS if how not in ("argmin", "argmax", "cumsum")])
def test_reductions_along_several_axes(shape: tuple[int, ...], how: str) -> None:
    function = getattr(np, how)
    for data in samples(shape)[1:]:
        for axes in [(0, 1), (-1, 0), tuple(range(len(shape)))]:
            if how in OF_SOME and 0 in shape:           # NumPy has no median of these
                continue
            same_all([(function(nessie.array(data), axis=axes, keepdims=keepdims),
                       function(data, axes, keepdims=keepdims)) for keepdims in (False, True)])


@pytest.mark.parametrize("shape", [(1,), (2,), (5,), (3, 4), (2, 3, 4)], ids=str)
def test_fewer_degrees_of_freedom(shape: tuple[int, ...]) -> None:
    data = samples(shape)[1]
    for ddof in (0, 1, 2):
        for axis in (None, *range(len(shape))):
            with np.errstate(all="ignore"), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                expected = [function(data, axis=axis, ddof=ddof, keepdims=True) for function in (np.var, np.std)]
            same(nessie.array(data).var(axis, ddof, keepdims=True), expected[0])
            same(np.std(nessie.array(data), axis=axis, ddof=ddof, keepdims=True), expected[1])


NAN, INF = np.nan, np.inf


@pytest.mark.parametrize("values", [[1.0, NAN, 2.0], [NAN], [INF, 1.0], [INF, INF], [-INF, INF], [INF, INF, INF],
                                    [1e308, 1e308, -1e308], [1e308], [2.0, 1.0], [-0.0, 0.0], [1e-320, 3e-320]])
def test_statistics_of_floats_at_the_ends(values: list[float]) -> None:
    data = np.array(values)
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for how in ("var", "std", "median", "mean", "max", "min", "sum"):
            same(getattr(np, how)(nessie.array(data)), getattr(np, how)(data))
            same(nessie.array(data.reshape(1, -1)).map(lambda x: x).sum(axis=1), data.reshape(1, -1).sum(axis=1))


@pytest.mark.parametrize("decimals", [-2, -1, 0, 1, 3])
def test_round_and_clip(decimals: int) -> None:
    for data in [*samples((7,)), np.array([0.5, 1.5, 2.5, -0.5, 15.0, 25.0, NAN, INF, 1e300]), np.arange(-60, 60, 5)]:
        if data.dtype != bool:
            same(np.round(nessie.array(data), decimals), np.round(data, decimals))
            same(nessie.array(data).round(decimals), np.round(data, decimals))
            for least, most in ((2, 5), (None, 3), (-1, None), (np.zeros(len(data)), 7.5), (5, 2)):
                same(nessie.array(data).clip(least, most), np.clip(data, least, most))
                same(np.clip(nessie.array(data), least, most), np.clip(data, least, most))


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
        same(np.dot(nessie.array(x), y), np.dot(x, y))


def test_places_of_extremes() -> None:
    v = np.array([1.0, np.nan, -np.inf, np.nan])
    same(nessie.array(v).argmin(), v.argmin())
    same(nessie.array(v).argmax(), v.argmax())
    assert nessie.nest([[3, 1, 2], [5]]).map(lambda row: row.argmin() + np.argmax(row)).tolist() == [1, 0]


@pytest.mark.parametrize("call, message", [
    (lambda: nessie.array([1, 2]) @ nessie.array([1]), "rows as long as columns"),
    (lambda: nessie.array([[1]]).sum(axis=2), "has no axis 2"),
    (lambda: nessie.array([[1]]).sum(axis=(0, 0)), "each axis is named once"),
    (lambda: nessie.array([[1]]).sum(axis="x"), "an axis is an int"),
    (lambda: nessie.array([[1]]).argmax(axis=(0, 1)), "argmax goes along one axis"),
    (lambda: nessie.array(np.zeros((0, 2))).var(axis=0), "no variance of no elements"),
    (lambda: nessie.array([1]) @ nessie.array([[[1]]]), "multiplies vectors and matrices"),
    (lambda: nessie.array(np.zeros((0, 2))).min(axis=0), "no least of no elements")])
def test_what_is_refused(call: Any, message: str) -> None:
    with pytest.raises(nessie.NessieError, match=message):
        call()
