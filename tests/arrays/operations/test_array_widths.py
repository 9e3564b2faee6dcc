"""Arrays of narrow dtypes are read at their own width; results have 64 bits, or the dtype that is asked for."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from amounts import PROFILE

import nessie

TARGETS = ("cpu", "reference") if PROFILE == "quick" else ("cpu", "reference", "cudasim")
INTS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32")
FLOATS = ("float16", "float32", "float64")
each_target = pytest.mark.parametrize("target", TARGETS)


def extremes(dtype: str) -> np.ndarray[Any, Any]:
    if dtype in INTS:
        info = np.iinfo(dtype)
        return np.array([info.min, info.min + 1, 0, 1, 7, info.max - 1, info.max], dtype)
    return np.array([0.1, -2.5, 0.0, 3e4, 1e-5], dtype)


@pytest.mark.parametrize("dtype", [*INTS, *FLOATS, "bool"])
@each_target
def test_narrow_arrays_are_read_as_they_are(dtype: str, target: str) -> None:
    given = extremes(dtype) if dtype != "bool" else np.array([True, False, True])
    a = nessie.asarray(given)
    wide = given.astype("float64" if dtype in FLOATS else "int64")
    found = a.map(lambda x: x + 1 if x < 100 else x).evaluate(target).to_numpy()
    assert found.dtype == wide.dtype and np.array_equal(found, np.where(wide < 100, wide + 1, wide))
    assert np.isclose(float(a.sum().evaluate(target)), wide.sum())
    assert np.array_equal(a.stencil([-1, 0], 0, lambda x, y: y).evaluate(target).to_numpy(), [0, *wide[1:]])
    if dtype not in ("bool", "float16"):
        assert f"[{dtype};" in str(a.map(lambda x: x * 2).kernels()).replace("[int;", "[int64;").replace(
            "[float;", "[float64;")


@pytest.mark.parametrize("dtype", INTS)
@each_target
def test_ints_of_a_dtype(dtype: str, target: str) -> None:
    given = extremes(dtype)
    a = nessie.array(given)
    found = a.map(lambda x: x // 2, dtype=dtype).evaluate(target)
    assert found.dtype == dtype and np.array_equal(found.to_numpy(), given // 2)
    assert found.map(lambda x: x * 2).evaluate(target).tolist() == (given.astype(object) // 2 * 2).tolist()
    if dtype != "int64":
        for index, by in ((0, -1), (6, 1)):
            with pytest.raises(nessie.NessieError, match=f"is no {dtype}") as error:
                a.map(lambda x, by=by: x + by, dtype=dtype).map(lambda x: x).evaluate(target)
            assert f"at element [{index}]" in str(error.value) and "lambda x, by=by: x + by" in str(error.value)


@each_target
def test_other_dtypes(target: str) -> None:
    a = nessie.array([[0, 1, 2], [3, 4, 300]])
    single = a.map(lambda x: x / 3, dtype=np.float32)
    assert single.dtype == np.float32 and single.ndim == 2
    thirds = np.float32(a.to_numpy() / 3).astype(float)
    assert np.array_equal(single.map(lambda x: x * 3).evaluate(target).to_numpy(), thirds * 3)
    assert a.astype(bool).evaluate(target).tolist() == [[False, True, True], [True, True, True]]
    assert a.astype(float).evaluate(target).to_numpy().dtype == np.float64
    assert nessie.pnew((2, 2), lambda at: at[0] - at[1], dtype="int8").evaluate(target).to_numpy().dtype == np.int8
    around = a.stencil([(0, -1), (0, 0)], 0, lambda x, y: y - x, dtype=np.int16)
    assert around.evaluate(target).tolist() == [[0, 1, 1], [0, 1, 296]]
    with pytest.raises(nessie.NessieError, match="300 is no uint8") as error:
        nessie.evaluate(a.sum(), a.map(lambda x: x, dtype="uint8"), target=target)
    assert "at element [1][2]" in str(error.value)


def test_what_dtypes_cannot_be() -> None:
    a = nessie.array([1.5])
    with pytest.raises(nessie.NessieError, match="the elements are float"):
        a.map(lambda x: x, dtype=np.int32)
    for dtype in (np.uint64, complex, "U3", object):
        with pytest.raises(nessie.NessieError, match="no type of an array's elements"):
            a.map(lambda x: x, dtype=dtype)


def test_what_is_narrowed_is_explained_as_what_it_is_made_of() -> None:
    a = nessie.array([1, 2, 3]).map(lambda x: x + 1, dtype=np.int8)
    assert str(a.kernels()).count(" = run K") == 1
    assert "int8" in str(a.map(lambda x: x * 2).kernels())


# Programs with floats of 32 bits ----------------------------------------------------------------------


def few_operations(x: Any, y: Any) -> Any:
    return (x * y + x) / (y * y + 3)


@each_target
def test_floats_of_32_bits_are_rounded_after_each_operation(target: str) -> None:
    random = np.random.default_rng(7)
    x, y = random.random((2, 1000)).astype(np.float32)
    a, b = nessie.asarray(x), nessie.asarray(y)
    for found, expected in ((a.combine(b, few_operations), few_operations(x, y)), (np.sqrt(a) - b, np.sqrt(x) - y),
                            (a % b, x % y), (a.map(lambda v: v / 3), x / np.float32(3)), (-a.sort(), -np.sort(x))):
        single = found.evaluate(target, float=32)
        assert single.dtype == np.float32 and single.to_numpy().tobytes() == expected.tobytes()
    total = float(a.sum().evaluate(target, float=32))
    assert total == np.float32(total) and np.isclose(total, x.sum(dtype=np.float64), rtol=1e-5)


@each_target
def test_what_else_is_computed_with_floats_of_32_bits(target: str) -> None:
    a, table = nessie.array([[0, 1], [2, 3]]), np.array([0.1, 0.2, 0.3, 0.4])
    thirds, doubled, places = nessie.evaluate(a / 3, a * 2, a.map(lambda i: table[i]), target=target, float=32)
    assert np.array_equal(thirds.to_numpy(), (np.arange(4) / np.float32(3)).astype(np.float32).reshape(2, 2))
    assert thirds.dtype == places.dtype == np.float32 and doubled.dtype == np.int64
    assert np.array_equal(places.to_numpy(), table.astype(np.float32).reshape(2, 2))
    wide = thirds.map(lambda v: v * 3).evaluate(target)             # 64 bits again, of what was rounded
    assert wide.dtype == np.float64 and wide.tolist()[0][1] == float(np.float32(1 / 3)) * 3
    pairs = nessie.array([1, 2]).map(lambda v: (v, v / 3)).evaluate(target, float=32)
    assert pairs.dtype == pairs.to_numpy().dtype == [("f0", np.int64), ("f1", np.float32)]
    rows = nessie.nest([[1.5], [], [1, 2]]).map(lambda row: [v / 3 for v in row]).evaluate(target, float=32)
    assert rows.dtype == np.float32 and rows.tolist() == [[0.5], [], [float(np.float32(v / 3)) for v in (1, 2)]]


@nessie.host_section(float=32)
def grown(a, rounds):
    for i in range(rounds):
        a = a * 1.1 + i
    return a, a.sum()


@each_target
def test_sections_with_floats_of_32_bits(target: str) -> None:
    x = np.linspace(0, 1, 5)
    found, total = grown(x, 3, target=target)
    expected = x.astype(np.float32)
    for i in range(3):
        expected = expected * np.float32(1.1) + np.float32(i)
    assert found.dtype == np.float32 and np.array_equal(found.to_numpy(), expected) and total == np.float32(total)


def test_floats_have_32_or_64_bits() -> None:
    halves = nessie.array([1, 2]).map(lambda x: x / 2)
    assert "float32" in str(halves.kernels(float=32)) and "float32" not in str(halves.kernels())
    assert "12*#a_1 bytes" in str(halves.explain(float=32)) and "16*#a_1 bytes" in str(halves.explain())
    for call in (lambda: nessie.array([1.5]).map(lambda x: x).evaluate(float=16),
                 lambda: nessie.host_section(float=True)(lambda a: a)):
        with pytest.raises(nessie.NessieError, match="float is 32 or 64, not"):
            call()
    assert nessie.array([1.5]).evaluate(float=32).dtype == np.float64       # it is computed already
