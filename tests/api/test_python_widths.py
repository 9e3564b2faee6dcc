"""Programs of 32-bit numbers from Python, and narrower arrays."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import nessie

TEXT = """function scaled(v) = {x * 0.5 : x in v}; function total(v) = sum(v); function same(v) = v;
function squares(v) : [int] -> [int] = {i * i : i in v}; function rows(m) = {sum(r) : r in m};
function picked(v, w) : ([float], [int]) -> [float] = w_of(v, w); function next(i) = i + 1;
""".replace("w_of(v, w)", "v -> w")
TARGETS = ("cpu", "reference", "cudasim")


def test_results_have_the_program_s_numbers() -> None:
    program = nessie.compile(TEXT, float=32, int=32)
    given = np.array([0.1, 0.2], np.float32)
    for target in TARGETS:
        found = program.scaled(given, target=target)
        assert found.dtype == np.float32 and np.array_equal(found, given * np.float32(0.5))
        assert program.squares([70000, 3], target=target).tolist() == [70000 ** 2 - 2 ** 32, 9]
        assert program.squares(np.array([5], np.int8), target=target).dtype == np.int32
        assert program.total([16777216.0, 1.0, 1.0], target=target) == 16777218.0
    assert program.next(2 ** 31 - 1) == -2 ** 31
    assert program.same(0.1) == float(np.float32(0.1))


@pytest.mark.parametrize("dtype", ["float32", "int32", "int16", "int8", "uint8", "uint16", "uint32"])
def test_narrower_arrays_are_read_where_they_lie(dtype: str) -> None:
    program = nessie.compile(TEXT)
    array = np.array([3, 1, 2], dtype)
    name, expected = ("scaled", [1.5, 0.5, 1.0]) if dtype == "float32" else ("squares", [9, 1, 4])
    for target in TARGETS:
        found = program[name](array, target=target)
        assert found.tolist() == expected and found.dtype.itemsize == 8
        assert program.rows(array.reshape(3, 1), target=target).tolist() == [3, 1, 2]
        assert program.same(array, target=target).dtype.itemsize == 8
    assert not program[name].explain(array).conversions


def test_positions_may_be_narrow_too() -> None:
    program = nessie.compile(TEXT)
    v, at = np.array([0.5, 1.5, 2.5], np.float32), np.array([2, 0], np.uint8)
    for target in TARGETS:
        assert program.picked(v, at, target=target).tolist() == [2.5, 0.5]


WRONG: dict[str, Any] = {
    "argument 1: there are integers beyond 32 bits": lambda p: p.squares(np.array([2 ** 31])),
    "argument 1: there are integers beyond 32 bits ": lambda p: p.squares([2 ** 31]),
    "argument 1: 2147483648 is beyond 32 bits": lambda p: p.next(2 ** 31),
    "float is 32 or 64, not 16": lambda p: nessie.compile("", float=16),        # type: ignore[arg-type]
    "int is 32 or 64, not True": lambda p: nessie.compile("", int=True),        # type: ignore[arg-type]
}


@pytest.mark.parametrize("message", WRONG)
def test_what_does_not_fit(message: str) -> None:
    program = nessie.compile(TEXT, int=32)
    with pytest.raises(nessie.NessieError) as error:
        WRONG[message](program)
    assert error.value.message == message.strip()
