"""The operations of arrays, each with its name, against NumPy: in 1 to 4 dimensions, of all small sizes, on every
executor."""
from __future__ import annotations

import operator
import sys
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pytest
from amounts import PROFILE

import nessie
from nessie.arrays import running
from nessie.arrays.array import Array

TARGETS = ("cpu", "reference") if PROFILE == "quick" else ("cpu", "reference", "cudasim")
SHAPES = [(0,), (1,), (2,), (1000,), (0, 3), (2, 0), (1, 1), (2, 3), (20, 50), (2, 1, 3), (0, 2, 2), (4, 5, 6),
          (1, 2, 0, 2), (2, 3, 2, 3)]
LINES = [shape for shape in SHAPES if len(shape) == 1]


def numbers(shape: tuple[int, ...], dtype: type = int) -> np.ndarray[Any, Any]:
    count = int(np.prod(shape))
    found = ((np.arange(count) * 7919 + 3) % 101 - 50).reshape(shape)
    return found if dtype is int else found / 4


def same(array: Array, expected: Any, target: str) -> None:
    found = array.evaluate(target).to_numpy()
    if np.ndim(expected):
        assert found.shape == expected.shape and found.dtype == expected.dtype
    assert np.allclose(found, expected, rtol=1e-12, atol=0, equal_nan=True) if np.asarray(expected).dtype.kind == "f" \
        else np.array_equal(found, expected)


each_shape = pytest.mark.parametrize("shape", SHAPES, ids=str)
each_line = pytest.mark.parametrize("shape", LINES, ids=str)
each_target = pytest.mark.parametrize("target", TARGETS)


@each_shape
@each_target
def test_map(shape: tuple[int, ...], target: str) -> None:
    a = numbers(shape)
    same(nessie.array(a).map(lambda x: x * 2 + 1), a * 2 + 1, target)
    same(nessie.array(a).map(lambda x: x / 2), a / 2, target)
    same(nessie.array(a).map(lambda x: x > 3), a > 3, target)


@each_shape
@each_target
def test_combine(shape: tuple[int, ...], target: str) -> None:
    a, b, c = numbers(shape), numbers(shape, float), numbers(shape)[::-1]
    same(nessie.array(a).combine(b, c, lambda x, y, z: x * y + z), a * b + c, target)


@each_shape
@each_target
def test_with_index(shape: tuple[int, ...], target: str) -> None:
    a, at = numbers(shape), np.indices(shape)
    weights = [1, 10, 100, 1000]
    expected = a + sum(w * i for w, i in zip(weights, at))
    if len(shape) == 1:
        mapped = nessie.array(a).map(lambda x, i: x + i, with_index=True)
    elif len(shape) == 2:
        mapped = nessie.array(a).map(lambda x, i: x + i[0] + 10 * i[1], with_index=True)
    elif len(shape) == 3:
        mapped = nessie.array(a).map(lambda x, i: x + i[0] + 10 * i[1] + 100 * i[2], with_index=True)
    else:
        mapped = nessie.array(a).map(lambda x, i: x + i[0] + 10 * i[1] + 100 * i[2] + 1000 * i[3], with_index=True)
    same(mapped, expected, target)


@each_shape
@each_target
def test_pnew(shape: tuple[int, ...], target: str) -> None:
    if len(shape) == 1:
        same(nessie.pnew(shape, lambda i: i * i), np.arange(shape[0]) ** 2, target)
        same(nessie.pnew(shape[0], lambda i: i * 0.5), np.arange(shape[0]) * 0.5, target)
    else:
        same(nessie.pnew(shape, lambda i: i[0] * 10 + i[-1]), np.indices(shape)[0] * 10 + np.indices(shape)[-1], target)


@each_shape
@each_target
def test_zip(shape: tuple[int, ...], target: str) -> None:
    a, b = numbers(shape), numbers(shape, float)
    zipped = nessie.array(a).zip(nessie.array(b).map(lambda x: x + 1))
    same(zipped.map(lambda p: p[0] * p[1]), a * (b + 1), target)
    found = zipped.evaluate(target).to_numpy()
    assert np.array_equal(found["f0"], a.reshape(found.shape)) and np.array_equal(found["f1"], (b + 1))
    inner = nessie.array(a).zip(zipped)
    found = inner.evaluate(target).to_numpy()
    assert np.array_equal(found["f1"]["f1"], b + 1) and np.array_equal(found["f0"], a.reshape(found.shape))
    inner = nessie.array(a).zip(zipped)
    same(inner.map(lambda p: p[0] + p[1][0] * p[1][1]), a + a * (b + 1), target)


def padded_sum(a: np.ndarray[Any, Any], offsets: list[tuple[int, ...]], outside: float) -> np.ndarray[Any, Any]:
    result = np.full(a.shape, outside, np.result_type(a.dtype, type(outside)))
    for at in np.ndindex(*a.shape):
        places = [tuple(i + by for i, by in zip(at, offset)) for offset in offsets]
        if all(0 <= i < n for place in places for i, n in zip(place, a.shape)):
            result[at] = sum(k * a[place] for k, place in enumerate(places, 1))
    return result


@each_shape
@each_target
def test_stencil(shape: tuple[int, ...], target: str) -> None:
    a = numbers(shape)
    rank = len(shape)
    back, forth = (-1,) * rank, (0,) * (rank - 1) + (1,)
    expected = padded_sum(a, [back, (0,) * rank, forth], -1)
    given = nessie.array(a)
    apart = given.stencil([back, (0,) * rank, forth], -1, lambda x, y, z: x + 2 * y + 3 * z)
    same(apart, expected, target)
    if rank == 1:
        same(given.stencil([-1, 0, 1], -1, lambda v: v[-1] + 2 * v[0] + 3 * v[1]), expected, target)
        same(given.map(lambda x: x + 1).stencil([-2, 2], 0.5, lambda v: v[-2] - v[2]),
             np.where((np.arange(shape[0]) >= 2) & (np.arange(shape[0]) < shape[0] - 2),
                      np.roll(a, 2) - np.roll(a, -2), 0.5), target)
    if rank == 2:
        same(given.stencil([(-1, -1), (0, 0), (0, 1)], -1, lambda v: v[-1, -1] + 2 * v[0, 0] + 3 * v[0][1]), expected,
             target)
        same(given.stencil([(i, j) for i in (-1, 0, 1) for j in (-1, 0, 1)], 0, lambda v: sum(v)),
             padded_sum_all(a), target)


def padded_sum_all(a: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    result = np.zeros_like(a)
    if min(a.shape) > 2:
        result[1:-1, 1:-1] = sum(a[1 + i:a.shape[0] - 1 + i, 1 + j:a.shape[1] - 1 + j]
                                 for i in (-1, 0, 1) for j in (-1, 0, 1))
    return result


@each_target
def test_stencil_with_index(target: str) -> None:
    a = numbers((30,))
    same(nessie.array(a).stencil([-1, 1], 0, lambda v, i: v[-1] * i + v[1], with_index=True),
         np.concatenate([[0], a[:-2] * np.arange(1, 29) + a[2:], [0]]), target)


@each_shape
@each_target
def test_reduce(shape: tuple[int, ...], target: str) -> None:
    a, b = numbers(shape), numbers(shape, float)
    same(nessie.array(a).sum(), a.sum(), target)
    same(nessie.array(b).reduce(operator.add), b.sum(), target)
    same(nessie.array(a).reduce(lambda x, y: x + y, 0), a.sum(), target)
    same(nessie.array(a > 0).any(), (a > 0).any(), target)
    same(nessie.array(a).all(), a.all(), target)
    if a.size:
        same(nessie.array(b).mean(), b.mean(), target)
        same(nessie.array(a).reduce(lambda x, y: x if x > y else y), a.max(), target)
        same(nessie.array(b).reduce(min), b.min(), target)
        same(nessie.array(a).max(), a.max(), target)
    else:
        with pytest.raises(nessie.NessieError, match="needs an identity"):
            nessie.array(a).reduce(lambda x, y: x if x > y else y)


@each_target
def test_reduce_of_nothing_is_an_error_where_it_runs(target: str) -> None:
    nothing = nessie.array([1, 2]).select(lambda x: x > 5)
    with pytest.raises(nessie.NessieError):
        nothing.reduce(lambda x, y: x * y).evaluate(target)
    assert nothing.reduce(lambda x, y: x * y, 1).evaluate(target).item() == 1


@each_line
@each_target
def test_select(shape: tuple[int, ...], target: str) -> None:
    a = numbers(shape)
    selected = nessie.array(a).select(lambda x: x % 3 == 0)
    assert selected.shape == (None,)
    same(selected, a[a % 3 == 0], target)
    assert len(selected) == (a % 3 == 0).sum() and selected.shape == (len(selected),)


@each_line
@each_target
def test_prefix_sum(shape: tuple[int, ...], target: str) -> None:
    a = numbers(shape)
    same(nessie.array(a).prefix_sum(), a.cumsum(), target)
    same(nessie.array(a > 0).prefix_sum(), (a > 0).cumsum(), target)
    same(nessie.array(a).scan(lambda x, y: max(x, y), -100), np.maximum.accumulate(a), target)


@each_line
@each_target
def test_sort(shape: tuple[int, ...], target: str) -> None:
    a, b = numbers(shape), numbers(shape, float)
    same(nessie.array(a).sort(), np.sort(a), target)
    same(nessie.array(b).sort(key=lambda x: -x), -np.sort(-b), target)


@each_line
@each_target
def test_unique(shape: tuple[int, ...], target: str) -> None:
    a = numbers(shape)
    _, first = np.unique(a, return_index=True)
    same(nessie.array(a).unique(), a[np.sort(first)], target)


@each_shape
@each_target
def test_flatten(shape: tuple[int, ...], target: str) -> None:
    a = numbers(shape)
    same(nessie.array(a).flatten(), a.reshape(-1), target)
    same(nessie.array(a).map(lambda x: x + 1).flatten(), a.reshape(-1) + 1, target)


@each_shape
@each_target
def test_operators(shape: tuple[int, ...], target: str) -> None:
    a, b = numbers(shape), numbers(shape, float)
    x, y = nessie.array(a), nessie.array(b)
    with np.errstate(divide="ignore", invalid="ignore"):
        for op in (operator.add, operator.sub, operator.mul, operator.truediv, operator.lt, operator.ge, operator.eq):
            same(op(x, y), op(a, b), target)
            same(op(x, 3), op(a, 3), target)
            same(op(2.5, y), op(2.5, b), target)
    same(x % 7 + x // 5, a % 7 + a // 5, target)
    same(-x ** 2 & 15 | abs(x), -a ** 2 & 15 | abs(a), target)
    same(np.sqrt(abs(y)) + np.where(x > 0, x, y), np.sqrt(abs(b)) + np.where(a > 0, a, b), target)


@each_target
def test_fewer_dimensions(target: str) -> None:
    a, b = numbers((4, 5)), numbers((5,), float)
    same(nessie.array(a) + nessie.array(b), a + b, target)
    same(nessie.array(a).combine(b, nessie.array(a).sum(), lambda x, y, z: x * y + z), a * b + a.sum(), target)


@each_target
def test_nest(target: str) -> None:
    rows = [[1, 2, 3], [], [4], [5, 6]]
    nested = nessie.nest(rows)
    assert nested.map(lambda row: row.sum()).evaluate(target).tolist() == [6, 0, 4, 11]
    assert nested.map(lambda row: [x * x for x in row if x % 2]).evaluate(target).tolist() == [[1, 9], [], [], [25]]
    assert nested.map(lambda row: row.map(lambda x: x + len(row))).evaluate(target).tolist() == [
        [4, 5, 6], [], [5], [7, 8]]
    assert nested.flatten().evaluate(target).tolist() == [1, 2, 3, 4, 5, 6]
    assert nested.map(lambda row: sum(x * y for x, y in zip(row, row))).evaluate(target).tolist() == [14, 0, 16, 61]


@each_target
def test_tuples_and_records(target: str) -> None:
    records = np.array([(1, 2.5), (3, 4.5)], [("k", "i8"), ("v", "f8")])
    a = nessie.array(records)
    same(a.map(lambda p: p.k * p.v), records["k"] * records["v"], target)
    found = a.map(lambda p: (p.v, p.k + 1)).evaluate(target).to_numpy()
    assert found.tolist() == [(2.5, 2), (4.5, 4)]


class Point(NamedTuple):
    x: int
    y: float


@dataclass(frozen=True)
class Box:
    low: Point
    high: Point


@each_target
def test_one_value_of_several_parts(target: str) -> None:
    """It has the parts that Python's has, and can be used again."""
    a = nessie.array([1, 2, 3])
    pairs = a.zip(a.zip(a + 1)).reduce(lambda p, q: (p[0] + q[0], (p[1][0] * q[1][0], q[1][1]))).evaluate(target)
    assert pairs.item() == pairs.to_numpy() == (6, (6, 4))
    assert a.combine(pairs, lambda x, p: x * p[1][1]).evaluate(target).tolist() == [4, 8, 12]
    points = nessie.array([Point(1, 2.0), Point(3, 4.0)])
    box = points.map(lambda p: Box(p, p)).reduce(lambda p, q: Box(
        Point(min(p.low.x, q.low.x), min(p.low.y, q.low.y)), Point(max(p.high.x, q.high.x), p.high.y + q.high.y)))
    assert box.evaluate(target).item() == Box(Point(1, 2.0), Point(3, 6.0))
    same(a.combine(box, lambda x, b: x + b.high.y), np.array([7.0, 8.0, 9.0]), target)
    assert box.to_device("cudasim").item() == box.item()


@each_target
def test_records_of_sections(target: str) -> None:
    @nessie.host_section
    def ends(a):
        return Point(a.size, a.sum() / 2.0)
    for given in (np.array([1, 2]), np.zeros((2, 0), int)):
        found = ends(given, target=target)
        assert found == Point(given.size, given.sum() / 2) and isinstance(found, Point)


def test_an_array_never_changes() -> None:
    source = np.array([1, 2])
    for array in (nessie.array(source), nessie.asarray(source), nessie.array(source).map(lambda x: x)):
        with pytest.raises(ValueError, match="read-only"):
            array.to_numpy()[0] = 9
    source[0] = 5                       # it stays the caller's


def test_values_are_those_at_the_call() -> None:
    """Also what is changed in place, and what attributes and default arguments hold."""
    class Settings:
        rate: float = 2
    settings, table = Settings(), np.array([1, 2])
    a = nessie.array([0, 1])
    looked_up, scaled = a.map(lambda i: table[i]), a.map(lambda x: x * settings.rate)
    table[0], settings.rate = 99, 2.5
    assert looked_up.tolist() == [1, 2] and scaled.tolist() == [0, 2]
    assert a.map(lambda x: x * settings.rate).tolist() == [0.0, 2.5]
    assert [a.map(add).tolist() for add in [lambda x, k=k: x + k for k in range(3)]] == [[0, 1], [1, 2], [2, 3]]


def test_means_of_large_ints_and_extremes_of_nothing() -> None:
    assert nessie.array([2 ** 62] * 4).mean().item() == 2.0 ** 62
    for extreme in (nessie.Array.min, nessie.Array.max):
        with pytest.raises(nessie.NessieError, match="of no elements"):
            extreme(nessie.array(np.zeros(0)))


def test_a_long_chain() -> None:
    a = nessie.array([1.0])
    for _ in range(1500):
        a = a + 1
    assert a.tolist() == [1501.0]


@each_target
def test_captured_values(target: str) -> None:
    table, k = np.array([10, 20, 30]), 4
    lazy = nessie.array([1, 2]).map(lambda x: x + 100)
    a = nessie.array([0, 2, 1])
    same(a.map(lambda i: table[i] + k), table[[0, 2, 1]] + 4, target)
    same(a.map(lambda i: lazy[i % 2]), np.array([101, 101, 102]), target)


def test_lengths_are_compared_before_the_kernels() -> None:
    """A stencil, an array from outside and places of one shape: two kernels, with nothing between them."""
    def made(a: np.ndarray[Any, Any], b: np.ndarray[Any, Any]) -> Array:
        around = nessie.array(a).stencil([(0, -1), (0, 1)], 0, lambda x, y: x + y)
        across = around.stencil([(-1, 0), (1, 0)], 0, lambda x, y: x + y)
        seen = nessie.pnew(a.shape, lambda at: at[0] > at[1])
        return across.combine(b, seen, lambda x, y, where: x * y if where else y)
    a, b = numbers((5, 7)), numbers((5, 7), float)
    _, host = str(made(a, b).kernels()).split("function expression")
    runs = [line for line in host.splitlines() if " = " in line]
    assert ["run K" in line for line in runs[-2:]] == [True, True] and host.count("run K") == 2
    where = np.indices(a.shape)[0] > np.indices(a.shape)[1]
    around = np.zeros_like(a)
    around[:, 1:-1] = a[:, :-2] + a[:, 2:]
    across = np.zeros_like(a)
    across[1:-1] = around[:-2] + around[2:]
    same(made(a, b), np.where(where, across * b, b), "cpu")
    compiled = running.COUNTS.compiled
    same(made(a[:4], b[:4]).map(lambda x: x), made(a[:4], b[:4]).to_numpy(), "cpu")
    assert running.COUNTS.compiled == compiled + 1


@each_target
def test_places_of_a_shape_that_an_array_has(target: str) -> None:
    """Their lengths are the array's, in rows without elements, too."""
    for shape in SHAPES:
        a = numbers(shape)
        places = nessie.pnew(shape, lambda at: at) if len(shape) == 1 else nessie.pnew(shape, lambda at: at[-1])
        same(nessie.array(a).combine(places, places, lambda x, y, z: x + y * z), a + np.indices(shape)[-1] ** 2, target)
        same(nessie.pnew(shape, lambda at: at) * a if len(shape) == 1 else places * a, a * np.indices(shape)[-1],
             target)


def test_neighbours_of_zipped_arrays() -> None:
    a, b = numbers((4, 5)), numbers((4, 5), float)
    both = nessie.array(a).zip(b)
    found = both.stencil([(0, -1), (0, 0)], 0.0, lambda v: v[0, -1][0] * v[0][0][1])
    expected = np.zeros((4, 5))
    expected[:, 1:] = a[:, :-1] * b[:, 1:]
    same(found, expected, "cpu")


@each_target
def test_items_by_computed_indices(target: str) -> None:
    """They are chosen, not read from memory: one kernel, in a branch, too. An index beyond the tuple is an error."""
    a = numbers((20,)) % 3
    within = nessie.array(a).stencil([-1, 0], 9, lambda v, i: (v[0], i)[v[-1] % 2], with_index=True)
    assert str(within.kernels()).count(" = run K") == 1
    same(within, np.array([9, *[(a[i], i)[a[i - 1] % 2] for i in range(1, 20)]]), target)
    found = nessie.array(a).map(lambda x, i: (x, i, x * i)[x] + (i, x, 7)[-x - 1], with_index=True)
    assert str(found.kernels()).count(" = run K") == 1
    same(found, np.array([(x, i, x * i)[x] + (i, x, 7)[-x - 1] for i, x in enumerate(a.tolist())]), target)
    for index in (3, -4):
        with pytest.raises(nessie.NessieError, match="this tuple has 3 items") as error:
            nessie.array([0, index]).map(lambda x: (1, 2, 3)[x]).evaluate(target)
        assert "lambda x: (1, 2, 3)[x]" in str(error.value)


def test_arrays_of_one_shape_are_read_without_a_check() -> None:
    """Of zipped arrays, too, only what is used is read, and nothing fails at an element."""
    a, b, c = numbers((4, 5)), numbers((4, 5), float), numbers((4, 5)).astype(np.int16)
    found = nessie.array(a).zip(b, c).stencil([(-1, 0), (0, 1)], 0.0, lambda v: v[-1, 0][1] * v[0, 1][2])
    kernel, _, _ = str(found.kernels()).partition("function expression")
    assert "fail" not in kernel and kernel.count("a_1[") == 0 and kernel.count("kernel ") == 1
    expected = np.zeros((4, 5))
    expected[1:, :-1] = b[:-1, :-1] * c[1:, 1:]
    same(found, expected, "cpu")


def test_operators_fail_at_the_lines_that_call_them() -> None:
    """Also where one program serves two lines."""
    a, found = nessie.array([1, 2, 3]), []
    first = a % (a - 2) + 1
    second = a % (a - 3) + 2
    for one in (first, second):
        with pytest.raises(nessie.NessieError, match="Modulo by zero") as failed:
            one.evaluate()
        assert failed.value.span is not None
        found.append((failed.value.span.line, failed.value.span.source.text[
            failed.value.span.start:failed.value.span.end]))
        assert failed.value.span.source.name.endswith("test_arrays.py")
    assert found[1][0] == found[0][0] + 1
    if sys.version_info >= (3, 11):
        assert [text for _, text in found] == ["a % (a - 2)", "a % (a - 3)"]
    with pytest.raises(nessie.NessieError, match="a number is needed") as failed:
        a.zip(a) + 1
    assert failed.value.span is not None and failed.value.span.source.name.endswith("test_arrays.py")


def test_reductions_by_bits() -> None:
    """Those of ints are of their bits; those of truth values, any and all."""
    a, b = nessie.array([6, 4]), nessie.array([True, False])
    assert (a.reduce(operator.and_).item(), a.reduce(operator.or_).item()) == (4, 6)
    assert (b.reduce(operator.and_).item(), b.reduce(operator.or_).item()) == (False, True)


def test_shapes_that_are_the_same_by_chance() -> None:
    """What is computed may have an array's shape, or another one."""
    a = nessie.array([[1, 2, 3], [4, 5, 6]])
    for count in (6, 7):
        flat, other = nessie.evaluate(a.flatten().map(lambda x: x + 1),
                                      nessie.array(np.arange(count)).map(lambda x: x * 2))
        assert flat.tolist() == [2, 3, 4, 5, 6, 7] and other.tolist() == [2 * n for n in range(count)]


def test_functions_of_two_without_a_text() -> None:
    a = nessie.array([3, 1, 2])
    assert a.reduce(operator.add, 10).item() == 16 and a.reduce(np.maximum).item() == 3
    assert a.scan(max, -100).tolist() == [3, 3, 3] and a.scan(np.add, 0).tolist() == [3, 4, 6]


@pytest.mark.parametrize(("wrong", "said"), [
    (lambda a: a.stencil([-0.5], 0, lambda v: v[0]), "an offset is made of ints, and this is -0.5"),
    (lambda a: a.stencil(None, 0, lambda v: v[0]), "the offsets of a stencil are a list, not None"),
    (lambda a: nessie.pnew(2.5, lambda i: i), "a shape is made of ints, and this is 2.5"),
    (lambda a: nessie.pnew(None, lambda i: i), "a shape is made of ints, and this is None"),
    (lambda a: nessie.array("abc"), "a text is no array"), (lambda a: a + "abc", "a text is no array"),
    (lambda a: a.map(lambda x: x, dtype="foo"), "'foo' is no dtype")])
def test_what_is_no_number(wrong: Any, said: str) -> None:
    with pytest.raises(nessie.NessieError, match=said):
        wrong(nessie.array([1, 2, 3]))


@each_target
def test_the_least_of_no_elements(target: str) -> None:
    """Where only the run knows that there are none, it says so."""
    none = nessie.array([1.0, 2.0]).select(lambda x: x > 9)
    for how, word in (("min", "least"), ("max", "greatest"), ("argmin", "least")):
        with pytest.raises(nessie.NessieError, match=f"(?i)there is no {word} of no elements"):
            getattr(none, how)().evaluate(target)
    some = nessie.array([3.0, 2.0]).select(lambda x: x < 9)
    assert (some.min().evaluate(target).item(), some.max().evaluate(target).item()) == (2.0, 3.0)
    assert none.sum().evaluate(target).item() == 0.0


def test_a_total_beside_elements_of_three_axes() -> None:
    given = np.arange(24).reshape(2, 3, 4)
    a = nessie.asarray(given)
    total, more = a.sum(), a + 1
    nessie.evaluate(total, more)
    assert int(total) == 276 and np.array_equal(np.asarray(more.to_numpy()), given + 1)


def test_truth_values_are_ints_in_arithmetic() -> None:
    """As in Python; NumPy's are truth values there."""
    a, b = np.array([True, True, False]), np.array([True, False, False])
    for of in (operator.add, operator.mul, operator.sub):
        found = of(nessie.array(a), b)
        assert found.dtype == np.int64 and found.tolist() == of(a.astype(int), b.astype(int)).tolist()
    assert (-nessie.array(a)).tolist() == [-1, -1, 0]
    for of in (operator.and_, operator.or_, operator.xor):
        assert of(nessie.array(a), b).tolist() == of(a, b).tolist()
