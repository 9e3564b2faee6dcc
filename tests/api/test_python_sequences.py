"""Nested, Tuples, DeviceArrays and datatypes' values behave like Python's sequences, and hold Python's numbers."""
from __future__ import annotations

import copy
import pickle
from functools import cache
from typing import Any

import awkward as ak
import numpy as np
import pytest

import nessie
from nessie.api.values.device import DeviceArray
from nessie.base.values import OnDevice

PROGRAM = """
function same(x) = x;
datatype point(float, int);
function swap(point(x, n)) = point(float(n), round(x));
"""


@cache
def program() -> nessie.Program:
    return nessie.compile(PROGRAM)


class Owner:
    """Of memory that stands for a GPU's, which a driver reads."""
    known = False

    def __init__(self, array: Any) -> None:
        self.array, self.gpu, self.driver = array, self, self

    def wait_for_others(self) -> None:
        """Nobody is at work on it."""

    def read(self, address: int, values: Any) -> None:
        start = (address - self.array.ctypes.data) // self.array.itemsize
        values[:] = self.array[start:start + len(values)]


def on_device(array: Any) -> DeviceArray:
    base = {"f": "float", "i": "int", "b": "bool"}[array.dtype.kind]
    return DeviceArray(OnDevice(base, len(array), array.ctypes.data, Owner(array)))


def test_tuples_are_columns() -> None:
    columns = nessie.Tuples(np.arange(3), np.arange(3) / 2, ["a", "b", "c"])
    result = program().same(columns)
    assert list(result) == [(0, 0.0, "a"), (1, 0.5, "b"), (2, 1.0, "c")] and type(result[0][0]) is int
    assert result.columns[0].dtype == np.int64 and result[1:].to_list() == list(result)[1:] and result == columns
    assert result[-1] == (2, 1.0, "c") and "a" in repr(result)


def test_nested_behaves_like_a_sequence() -> None:
    result = program().same([[1, 2], [], [3]])
    assert len(result) == 3 and result[0].tolist() == [1, 2] and result[-1].tolist() == [3]
    assert [row.tolist() for row in result] == [[1, 2], [], [3]] == result.to_list()
    assert result[1:].to_list() == [[], [3]] and result[3:].to_list() == []
    assert repr(result) == "<nessie.Nested of 3: [[1, 2], [], [3]]>"
    assert "..." in repr(program().same([[i] for i in range(100)]))
    with pytest.raises(IndexError):
        result[3]
    for offsets in ([1, 3], [0, 2], [0, 3, 2, 3], []):
        with pytest.raises(nessie.NessieError, match="offsets"):
            nessie.Nested(offsets, np.arange(3))


@pytest.mark.parametrize("index", [0.9, "1", None])
def test_indices_are_integers(index: Any) -> None:
    for sequence in (nessie.Nested([0, 1], [1]), nessie.Tuples([1], [2])):
        with pytest.raises(TypeError):
            sequence[index]
        assert sequence[np.int32(0)] is not None


def test_elements_are_found() -> None:
    rows = nessie.Nested([0, 2, 2, 3], np.arange(3))
    assert [0, 1] in rows and np.array([0, 1]) in rows and [1] not in rows and rows.index([2]) == 2
    assert rows.count([]) == 1 and nessie.Nested([0, 1, 3], rows).count([[0, 1]]) == 1
    pairs = nessie.Tuples(rows, [1, 2, 3])
    assert ([0, 1], 1) in pairs and (np.array([2]), 3) in pairs and pairs.index(([], 2)) == 1
    with pytest.raises(ValueError):
        rows.index([7])


@pytest.mark.parametrize("part", [slice(None, None, 2), slice(None, None, -1), slice(3, 0, -2), slice(2, 1),
                                  slice(1, 3), slice(0, 0), slice(5, 9, 3)])
def test_parts(part: slice) -> None:
    rows = nessie.Nested([0, 2, 2, 5, 6], np.arange(6))
    deep = nessie.Nested([0, 1, 1, 3, 4], rows)
    pairs = nessie.Tuples(rows, deep, np.array(list("abcd")))
    inside = nessie.Nested([0, 1, 1, 3, 4], pairs)
    for sequence in (rows, deep, pairs, inside):
        assert sequence[part].to_list() == sequence.to_list()[part]


@pytest.mark.parametrize("index", [[2, 0], [], [-1, -1, 1], [True, False, False, True], np.array([3, 0], np.uint8),
                                   np.array([False, True, True, False]), np.zeros(0, int)])
def test_lists_of_indices_and_masks_choose(index: Any) -> None:
    rows = nessie.Nested([0, 2, 2, 5, 6], np.arange(6))
    deep = nessie.Nested([0, 1, 1, 3, 4], rows)
    pairs = nessie.Tuples(rows, deep, np.array(list("abcd")))
    inside = nessie.Nested([0, 1, 1, 3, 4], pairs)
    numbers = np.arange(4)[np.asarray(index, None if len(index) else int)]
    for sequence in (rows, deep, pairs, inside):
        part = sequence[index]
        assert type(part) is type(sequence) and part.to_list() == [sequence.to_list()[i] for i in numbers]


@pytest.mark.parametrize(("index", "kind", "said"), [
    ([4], IndexError, "index 4 of 4"), ([0, -5], IndexError, "index -5 of 4"), ([True], IndexError, "1 bools for 4"),
    ([0.5], TypeError, "sequence of indices"), ([[0], [1, 2]], TypeError, "sequence of indices"),
    (np.array([[True]]), TypeError, "sequence of indices"), (["a"], TypeError, "sequence of indices"),
    ((0, 1), TypeError, r"x\[i\]\[j\]")])
def test_what_chooses_nothing_is_told(index: Any, kind: type[Exception], said: str) -> None:
    rows = nessie.Nested([0, 2, 2, 5, 6], np.arange(6))
    for sequence in (rows, nessie.Tuples(rows, rows)):
        with pytest.raises(kind, match=said):
            sequence[index]


def test_a_part_shares_its_content() -> None:
    rows = nessie.Nested([0, 2, 2, 5, 6], np.arange(6))
    assert np.shares_memory(rows[1:3].content, rows.content)


def test_pythons_numbers_and_characters() -> None:
    numbers = on_device(np.arange(3.0))
    assert all(type(x) is float for x, _ in nessie.Tuples(numbers, numbers)) and type(numbers[1]) is np.float64
    assert type(nessie.Tuples(numbers, numbers)[0][0]) is float
    pairs = nessie.Tuples(np.array(["a", "\0"]), [1, 2])
    assert list(pairs) == pairs.to_list() == [("a", 1), ("\0", 2)] and pairs[1] == ("\0", 2)


def test_arrays_on_a_gpu_become_awkward() -> None:
    numbers, offsets = on_device(np.arange(3.0)), on_device(np.array([0, 2, 3]))
    for given, expected in [(numbers, [0.0, 1.0, 2.0]), (nessie.Nested(offsets, numbers), [[0.0, 1.0], [2.0]]),
                            (nessie.Tuples(numbers, numbers), [(0.0, 0.0), (1.0, 1.0), (2.0, 2.0)])]:
        made = nessie.as_awkward(given)
        assert isinstance(made, ak.Array) and made.to_list() == expected
    with pytest.raises(nessie.NessieError, match="has no steps"):
        numbers[::2]
    with pytest.raises(nessie.NessieError, match="in the computer's memory"):
        nessie.Nested(offsets, numbers)[::-1]
    with pytest.raises(nessie.NessieError, match="in the computer's memory"):
        nessie.Nested(offsets, numbers)[[1, 0]]
    assert nessie.Nested(offsets, numbers).to_numpy()[[1, 0]].to_list() == [[2.0], [0.0, 1.0]]


def test_texts_become_awkward() -> None:
    texts = ["a", "", "\u00e9\u20ac"]
    made = nessie.as_awkward(program().same(texts))
    assert made.to_list() == texts and program().same(made).to_list() == texts
    assert str(made.type) == "3 * string" and (made == "a").to_list() == [True, False, False]


def test_pickles_and_copies() -> None:
    point = program().point(1.5, 2)
    assert type(copy.copy(point)) is type(copy.deepcopy(point)) is type(point)
    back = pickle.loads(pickle.dumps(point))
    assert back == point and repr(back) == repr(point) and program().swap(back) == (2.0, 2)
    for value in (program().same([point]), nessie.Nested([0, 1], nessie.Tuples([1], [2.5]))):
        assert pickle.loads(pickle.dumps(value)).to_list() == copy.deepcopy(value).to_list() == value.to_list()
