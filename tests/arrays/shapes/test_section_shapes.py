"""Shapes, axes and ragged rows within host sections: the function itself, which NumPy runs, is the oracle."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import nessie

TABLE = np.random.default_rng(5).random((4, 6))
CUBE = np.random.default_rng(6).integers(-9, 9, (2, 3, 4))


def standard(a: Any) -> Any:
    return (a - a.mean(axis=1, keepdims=True)) / a.std(axis=1, keepdims=True)


def spread(a: Any) -> Any:
    return a.var(), a.std(axis=0), np.median(a, axis=1), np.var(a, axis=0, keepdims=True), a.max(axis=None)


def several_axes(a: Any) -> Any:
    return a.sum(axis=(0, 2)), a.max(axis=(1, -1), keepdims=True), np.sum(a, axis=(0, 1, 2)), a.sum(keepdims=True)


def other_shapes(a: Any) -> Any:
    return a.reshape(6, 4), a.reshape(-1), np.reshape(a, (3, -1)) * 2, a.reshape((2, 2, 6)), np.expand_dims(a, 1)


def joined(a: Any) -> Any:
    return (np.concatenate([a, a * 2]), np.concatenate([a, a + 1, a], axis=-1), np.stack([a, a], axis=1),
            np.stack((a, a + 1), axis=2), np.concatenate([a[0, 0] * a, a]))


def limits(a: Any) -> Any:
    return a.clip(0.2, 0.6), np.clip(a, 0.5, a * 2), a.round(2), np.round(a), (a * 1000).round(-1), np.around(a, 1)


def centred(a: Any) -> Any:
    for k in range(3):
        a = a - a.mean(axis=0, keepdims=True) if k < 2 else np.concatenate([a, a.sum(axis=1, keepdims=True)], axis=1)
        if a.max() > 0.3:
            a = a.reshape(-1, 4).T
            a = a.reshape(4, -1)
        else:
            a = a * 2
    return a


def outer(a: Any, b: Any) -> Any:
    return a * b, a + b.sum(), np.where(a > b, a, b), (a < b).sum(axis=0)


def same(found: Any, expected: Any) -> None:
    if isinstance(expected, tuple):
        for one, other in zip(found, expected, strict=True):
            same(one, other)
        return
    assert np.shape(found) == np.shape(expected) and np.asarray(found).dtype == np.asarray(expected).dtype
    assert np.allclose(np.asarray(found), expected, rtol=1e-12)


@pytest.mark.parametrize("target", ["cpu", "reference"])
@pytest.mark.parametrize("function, given", [
    (standard, TABLE), (spread, TABLE), (several_axes, CUBE), (other_shapes, TABLE), (joined, TABLE), (limits, TABLE),
    (centred, TABLE)], ids=lambda one: getattr(one, "__name__", ""))
def test_sections_have_numpys_shapes(function: Callable[..., Any], given: Any, target: str) -> None:
    same(nessie.host_section(function)(given, target=target), function(given))


@pytest.mark.parametrize("shapes", [((4, 1), (4, 6)), ((1, 6), (4, 1)), ((4, 1), (1, 6)), ((4, 6), (6,)),
                                    ((1, 1), (3, 1)), ((2, 1, 3), (2, 4, 1)), ((5,), (5,))], ids=str)
def test_axes_of_length_one_in_sections(shapes: Any) -> None:
    x, y = [np.random.default_rng(k).integers(-9, 9, shape) for k, shape in enumerate(shapes)]
    section = nessie.host_section(outer)
    same(section(x, y), outer(x, y))
    same(section(y, x), outer(y, x))
    column = nessie.array(x)
    same(nessie.host_section(lambda b: column * b)(y), x * y)
    column = nessie.array(np.broadcast_to(x, np.broadcast_shapes(*shapes)))
    same(nessie.host_section(lambda b: column * b)(y), column.to_numpy() * y)


ROWS = [[3, 1, 2], [], [5, 4]]


@nessie.host_section
def of_rows(rows: Any, each: Any) -> Any:
    more = np.concatenate([rows, rows * 2], axis=1)
    return (rows + 1, rows * rows, rows + each, rows.sum(axis=1), rows.sum(), more, np.where(rows > 2, rows, 0),
            rows - rows.sum(axis=1, keepdims=True), rows.cumsum(axis=1), rows.cumsum(), (rows > 2).any(axis=1),
            np.concatenate([rows, rows]), np.sqrt(rows), rows.any(axis=-1), rows.clip(2, 4))


def test_ragged_rows_in_sections() -> None:
    found = of_rows(nessie.nest(ROWS), np.array([10, 20, 30]))
    assert [one if np.ndim(one) == 0 and not hasattr(one, "tolist") else one.tolist() for one in found] == [
        [[4, 2, 3], [], [6, 5]], [[9, 1, 4], [], [25, 16]], [[13, 11, 12], [], [35, 34]], [6, 0, 9], 15,
        [[3, 1, 2, 6, 2, 4], [], [5, 4, 10, 8]], [[3, 0, 0], [], [5, 4]], [[-3, -5, -4], [], [-4, -5]],
        [[3, 4, 6], [], [5, 9]], [3, 4, 6, 11, 15], [True, False, True], [*ROWS, *ROWS],
        [np.sqrt(np.array(row, float)).tolist() for row in ROWS], [True, False, True], [[3, 2, 2], [], [4, 4]]]


@pytest.mark.parametrize("function, message", [
    (lambda a, n: a.sum(axis=n), "the axis of an array of float of 2 dimensions is a constant here, of -2 to 1"),
    (lambda a, n: a.sum(axis=2), "is a constant here, of -2 to 1"),
    (lambda a, n: a.sum(axis=0, keepdims=n > 1), "keepdims is True or False here"),
    (lambda a, n: a.var(axis=(0, 1)), "var goes along one axis"), (lambda a, n: a.sum(axis=(0, 0)), "named once"),
    (lambda a, n: a.var(ddof=1), "var takes no ddof in a section"),
    (lambda a, n: a.reshape(n, n), "not as many as the 2 lengths say"),
    (lambda a, n: a.reshape(-1, -1), "one length may be -1"),
    (lambda a, n: a.reshape(0.5), "lengths, which are ints"), (lambda a, n: a.round(n), "digits is a constant int"),
    (lambda a, n: np.concatenate(a), "a list of arrays that is written here"),
    (lambda a, n: np.concatenate([a, a], axis=n), "the axis is a constant here"),
    (lambda a, n: np.concatenate([a, n]), "takes arrays of one kind"),
    (lambda a, n: np.concatenate([a, a.reshape(6, 4)], axis=1), "of different lengths"),
    (lambda a, n: np.expand_dims(a, n), "the new axis is a constant here"),
    (lambda a, n: np.expand_dims(n, 0), "expand_dims takes an array")])
def test_what_sections_refuse_of_shapes(function: Callable[..., Any], message: str) -> None:
    with pytest.raises(nessie.NessieError, match=message) as failed:
        nessie.host_section(function)(TABLE, 3)
    assert "test_section_shapes.py:" in str(failed.value)
