"""Arrays in other shapes, several as one, axes of length 1 that stand for any length: against NumPy."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from amounts import PROFILE

import nessie
from nessie.arrays import running

TARGETS = ("cpu", "reference") if PROFILE == "quick" else ("cpu", "reference", "cudasim")
SHAPES = [(0,), (1,), (2,), (1000,), (0, 3), (3, 0), (1, 1), (2, 3), (3, 1), (1, 5), (2, 1, 3), (0, 2, 2), (4, 5, 6),
          (2, 3, 1, 3), (1, 2, 0, 2)]
Numbers = np.ndarray[Any, Any]
each_shape = pytest.mark.parametrize("shape", SHAPES, ids=str)
each_target = pytest.mark.parametrize("target", TARGETS)


def samples(shape: tuple[int, ...], seed: int = 0) -> list[Numbers]:
    random = np.random.default_rng(seed)
    floats = random.random(shape) * 40 - 20
    if floats.size > 2:
        floats.flat[1] = np.nan
    return [random.integers(-50, 90, shape), floats, random.random(shape) > 0.5]


def same(found: Any, expected: Any, target: str = "cpu") -> None:
    """Is the array this one of NumPy's?"""
    same_all([(found, expected)], target)


def same_all(pairs: list[tuple[Any, Any]], target: str = "cpu") -> None:
    """Are these arrays, computed in one pass, those of NumPy's?"""
    nessie.evaluate(*[found for found, _ in pairs], target=target)
    for found, expected in pairs:
        is_same(found, expected)


def is_same(found: nessie.Array, expected: Any) -> None:
    value = np.asarray(found.to_numpy())
    assert value.shape == np.shape(expected) and value.dtype == np.asarray(expected).dtype
    assert np.allclose(value, expected, rtol=1e-12, equal_nan=True)


def lazily(values: Numbers) -> nessie.Array:
    """An array that is not computed yet."""
    return nessie.array(values).map(lambda x: x)


# Other shapes -----------------------------------------------------------------------------------


def shapes_of(size: int, rank: int) -> list[tuple[int, ...]]:
    """Shapes of so many elements."""
    if rank == 1:
        return [(size,)]
    if size == 0:
        return [(0,) * rank, (*(2,) * (rank - 1), 0), (0, *(3,) * (rank - 1))]
    return [(n, *rest) for n in range(1, min(size, 40) + 1) if size % n == 0 for rest in shapes_of(size // n, rank - 1)]


@pytest.mark.sampled(quick=4, ci=2)
@each_shape
@each_target
def test_reshape(shape: tuple[int, ...], target: str) -> None:
    found = []
    for data in samples(shape)[:1 + (len(shape) < 3)]:
        for rank in range(1, 5):
            for wanted in shapes_of(data.size, rank)[:3]:
                found.append((nessie.array(data).reshape(wanted), data.reshape(wanted)))
                found.append((lazily(data).reshape(*wanted), data.reshape(wanted)))
        found.append((lazily(data).reshape(-1), data.reshape(-1)))
        if data.size:
            found.append((np.reshape(lazily(data), (-1, shape[-1])), data.reshape(-1, shape[-1])))
    same_all(found, target)


@pytest.mark.sampled(quick=4, ci=2)
@each_shape
def test_axes_of_length_one_come_and_go(shape: tuple[int, ...]) -> None:
    found = []
    for data in samples(shape):
        found.append((lazily(data).squeeze(), data.squeeze()))
        if len(shape) < 4:
            for at in range(-len(shape) - 1, len(shape) + 1):
                found.append((np.expand_dims(lazily(data), at), np.expand_dims(data, at)))
                found.append((np.squeeze(np.expand_dims(lazily(data), at), at), data))
    same_all([*found, (np.expand_dims(lazily(np.arange(3)), (0, 2)), np.arange(3).reshape(1, 3, 1))])


@pytest.mark.sampled(quick=4, ci=2)
@each_shape
def test_axes_in_another_order(shape: tuple[int, ...]) -> None:
    data, rank = samples(shape)[0], len(shape)
    order = [*range(1, rank), 0]
    found = [(lazily(data).transpose(), data.transpose()), (np.transpose(lazily(data)), data.T),
             (lazily(data).transpose(*order), data.transpose(order)),
             (lazily(data).transpose(order), data.transpose(order)),
             (np.transpose(lazily(data), order), data.transpose(order))]
    for i in range(rank):
        for j in (-1, 0, rank // 2):
            found.append((lazily(data).swapaxes(i, j), data.swapaxes(i, j)))
            found.append((np.moveaxis(lazily(data), i, j), np.moveaxis(data, i, j)))
    same_all(found)


# Several arrays as one --------------------------------------------------------------------------


@pytest.mark.sampled(quick=4, ci=2)
@each_shape
@each_target
def test_concatenate_and_stack(shape: tuple[int, ...], target: str) -> None:
    first, second, third = samples(shape, 1)
    found = []
    for given in ([first], [first, second, third], [third, third], [first] * 5):
        arrays = [lazily(given[0]), *[nessie.array(one) if k % 2 else one for k, one in enumerate(given[1:])]]
        for axis in range(-1, len(shape)):
            found.append((np.concatenate(arrays, axis=axis), np.concatenate(given, axis=axis)))
        if len(shape) < 4:
            for axis in range(-1, len(shape) + 1):
                found.append((np.stack(arrays, axis=axis), np.stack(given, axis=axis)))
        found.append((np.concatenate(arrays, axis=None), np.concatenate(given, axis=None)))
    same_all(found, target)


def test_arrays_of_several_lengths_one_behind_another() -> None:
    given = [np.arange(6).reshape(2, 3), np.arange(4).reshape(2, 2), np.zeros((2, 0), int)]
    same(np.concatenate([lazily(one) for one in given], axis=1), np.concatenate(given, axis=1))
    turned = [one.T for one in given]
    same(np.concatenate([lazily(one) for one in turned]), np.concatenate(turned))
    v = np.arange(9)
    few = nessie.array(v).select(lambda x: x > 5)
    same(np.concatenate([few, nessie.array(v), few]), np.concatenate([v[6:], v, v[6:]]))
    same(np.stack([few, few + 1], axis=1).sum(axis=0), np.array([6 + 7 + 8, 7 + 8 + 9]))
    records = np.concatenate([nessie.array([1, 2]).zip([1.5, 2.5]), nessie.array([3]).zip([3])])
    assert records.tolist() == [(1, 1.5), (2, 2.5), (3, 3.0)]


# Axes of length 1 -------------------------------------------------------------------------------

MEETING = [((3, 1), (3, 4)), ((1, 4), (3, 4)), ((3, 1), (1, 4)), ((1,), (5,)), ((1,), (3, 4)), ((4,), (3, 1)),
           ((2, 1, 3), (5, 1)), ((2, 1, 3), (2, 4, 1)), ((1, 1, 1), (2, 3)), ((1, 1), (1, 1)), ((0, 1), (1, 3)),
           ((1, 0), (3, 1)), ((2, 1, 3, 1), (4, 1, 5)), ((1, 3), (0, 1)), ((1,), (0,)), ((), (2, 1))]


@pytest.mark.sampled(quick=4, ci=2)
@pytest.mark.parametrize("shapes", MEETING, ids=str)
@each_target
def test_an_axis_of_length_one_stands_for_any_length(shapes: tuple[Any, Any], target: str) -> None:
    found = []
    for x, y in zip(samples(shapes[0], 1), samples(shapes[1], 2)):
        for a, b in ((nessie.array(x), lazily(y)), (lazily(x), y), (x, nessie.array(y))):
            found.append((a * b, x * y) if x.dtype != bool else (a | b, x | y))
        found.append((lazily(y) < x, y < x))
        found.append((np.where(nessie.array(x) > 0, y, x), np.where(x > 0, y, x)))
        found.append((nessie.array(x).combine(y, lambda p, q: p - 2 * q), x - 2 * y))
        zipped = nessie.array(x).zip(lazily(y))
        found.append((zipped.map(lambda p: p[0] + 3 * p[1]), x + 3 * y))
        found.append((zipped.combine(y, lambda p, q: p[0] + 3 * p[1] - q), x + 3 * y - (y + 0)))
        if (x - 2 * y).size:
            found.append(((nessie.array(x) - 2 * lazily(y)).max(), (x - 2 * y).max()))
    same_all(found, target)


def test_other_lengths_compile_nothing_anew_and_another_axis_does() -> None:
    def table(n: int, m: int) -> Any:
        return (nessie.array(np.arange(n).reshape(n, 1)) * nessie.array(np.arange(m).reshape(1, m))).tolist()
    assert table(2, 3) == [[0, 0, 0], [0, 1, 2]]
    before = running.COUNTS.compiled
    assert table(3, 4) == np.outer(np.arange(3), np.arange(4)).tolist()
    assert running.COUNTS.compiled == before
    assert table(3, 1) == [[0], [0], [0]] and table(1, 3) == [[0, 0, 0]]


def test_standardised_columns() -> None:
    data = np.random.default_rng(3).random((50, 4))
    a = nessie.array(data)
    same((a - a.mean(axis=0)) / a.std(axis=0), (data - data.mean(0)) / data.std(0))
    same((a - a.mean(axis=1, keepdims=True)) / a.std(axis=1, keepdims=True),
         (data - data.mean(1, keepdims=True)) / data.std(1, keepdims=True))


@pytest.mark.parametrize("call, message", [
    (lambda a: a + nessie.array([[1, 2], [3, 4]]), "takes arrays of one shape(.|\n)*an axis of length 1 stands"),
    (lambda a: a.reshape(2, 2), "3 elements are not 2 × 2"), (lambda a: a.reshape(2, -1), r"3 elements are not 2 × \?"),
    (lambda a: a.reshape(-1, -1), "one length may be -1"), (lambda a: a.reshape(1.5), "made of ints"),
    (lambda a: a.reshape(1, 1, 1, 3, 1), "at most 4 dimensions"),
    (lambda a: a.reshape(1, 1, 1, 3) .reshape(1, 1, 1, 1, 3), "at most 4 dimensions"),
    (lambda a: np.expand_dims(a.reshape(1, 1, 1, 3), 0), "at most 4 dimensions"),
    (lambda a: a.squeeze(0), "no length of 1"), (lambda a: a.transpose(0, 0), "names each of 1 once"),
    (lambda a: np.concatenate([a, [[1]]]), "as many dimensions"),
    (lambda a: np.concatenate([a.reshape(3, 1), [[1, 2]]]), "may differ along the axis"),
    (lambda a: np.concatenate([a, a.zip(a)]), "arrays of one kind"),
    (lambda a: np.stack([a, [1, 2]]), "arrays of one shape, and these are of 3 and 2"),
    (lambda a: np.stack([nessie.nest([[1]]), nessie.nest([[1]])]), "these are of rows"),
    (lambda a: np.stack([a, a], axis=2), "has no axis 2"),
    (lambda a: np.stack([a, a.select(lambda x: x > 1)]).tolist(), "of different lengths(.|\n)*are 3 and 2"),
    (lambda a: np.concatenate([a, a], axis=1), "has no axis 1"),
    (lambda a: nessie.nest([[1], [2, 3]]).reshape(2, 1), "ragged rows have no other shape")])
def test_what_is_refused_tells_the_line(call: Callable[[Any], Any], message: str) -> None:
    with pytest.raises(nessie.NessieError, match=message) as failed:
        call(nessie.array([1, 2, 3]))
    assert "test_array_shapes.py:" in str(failed.value)
