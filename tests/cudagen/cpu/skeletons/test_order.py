"""Rows of all lengths and kinds of keys are sorted, stably, as NumPy sorts each."""
from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import nessie
from nessie.cudagen.cpu import sorting

PROGRAM = """
function orders(rows) = {rank(r) : r in rows};
function down(rows) = {rank_down(r) : r in rows};
function sorted(rows) = {sort(r) : r in rows};
function one(v) = rank(v);
function distinct(rows) = {remove_duplicates(r) : r in rows};
"""
LENGTHS = (0, 1, 2, 7, 8, 9, 31, 33, 63, 64, 65, 100, 2000, 0, 65_536, 65_537, 40_000, 5)


@cache
def program(threads: int = 2) -> nessie.Program:
    return nessie.compile(PROGRAM, threads=threads)


def rows_of(values: np.ndarray) -> nessie.Nested:
    return nessie.Nested(np.concatenate([[0], np.cumsum(LENGTHS)]), values)


def ranks(order: np.ndarray) -> np.ndarray:
    found = np.empty(len(order), np.int64)
    found[order] = np.arange(len(order))
    return found


N = sum(LENGTHS)
RANDOM = np.random.default_rng(5)
KEYS = {
    "uniform": RANDOM.random(N),
    "normal": RANDOM.normal(0.0, 1e100, N),
    "wide": RANDOM.normal(0.0, 1.0, N) * 10.0 ** RANDOM.integers(-300, 300, N),
    "special": RANDOM.choice([0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, 5e-324], N),
    "low bits": RANDOM.integers(0, 2**20, N).view(np.float64) + np.where(RANDOM.random(N) < 0.01, 1e300, 0.0),
    "near one": 1.0 + RANDOM.integers(0, 2**12, N) * 2.0**-52,
    "few": RANDOM.integers(-3, 4, N),
    "bytes": RANDOM.integers(0, 300, N),
    "ints": RANDOM.integers(-2**63, 2**63 - 1, N),
    "ends": RANDOM.choice([-2**63, 2**63 - 1, 0, -1], N),
    "pairs": RANDOM.integers(0, 2, N) * 2**62 + RANDOM.integers(0, 1000, N),
    "falling": np.arange(N, 0, -1) * 2**40 + RANDOM.integers(0, 5, N),
}


@pytest.mark.parametrize("kind", KEYS)
def test_rows_are_in_order(kind: str) -> None:
    keys = rows_of(KEYS[kind])
    orders, down, values = program().orders(keys), program().down(keys), program().sorted(keys)
    for row, (low, high) in enumerate(zip(keys.offsets, keys.offsets[1:], strict=False)):
        of = KEYS[kind][low:high]
        assert np.array_equal(orders[row], ranks(np.argsort(of, kind="stable"))), (kind, row)
        assert np.array_equal(np.asarray(values[row]), of[np.argsort(of, kind="stable")], equal_nan=True), (kind, row)
        if of.dtype == np.int64:
            assert np.array_equal(down[row], ranks(np.argsort(~of, kind="stable"))), (kind, row)
    assert np.array_equal(program().one(KEYS[kind]), ranks(np.argsort(KEYS[kind], kind="stable")))


@pytest.mark.parametrize("length", [0, 1, 2, 7, 8, 9, 16, 23, 63, 64, 65, 80])
@pytest.mark.parametrize("kind", ["special", "few", "ends"])
def test_rows_of_one_length(length: int, kind: str) -> None:
    """Zeros and NaNs stay as they are, whichever sign and bits they have."""
    keys = KEYS[kind][:150 * length].reshape(150, length)
    order = np.argsort(keys, axis=1, kind="stable")
    for threads in (1, 3):
        found = program(threads).sorted(keys)
        assert np.array(found.content).tobytes() == np.take_along_axis(keys, order, axis=1).tobytes()
    assert np.array_equal(program().orders(keys).content, np.argsort(order, axis=1).reshape(-1))


@pytest.mark.parametrize("rows", [0, 1, 63, 64, 65, 127, 128, 129, 4095, 4096, 4097, 10_000])
def test_any_number_of_rows(rows: int) -> None:
    """How many rows a chunk sorts depends on how many there are."""
    random = np.random.default_rng(rows)
    offsets = np.concatenate([[0], np.cumsum(random.integers(0, 4, rows))])
    keys = random.integers(0, 3, offsets[-1])
    given = nessie.Nested(offsets, keys)
    of = np.repeat(np.arange(rows), np.diff(offsets))
    assert np.array_equal(program().sorted(given).content, keys[np.lexsort((keys, of))])
    seen = sorted(np.unique(of * 3 + keys, return_index=True)[1])
    assert np.array_equal(program().distinct(given).content, keys[seen])


@pytest.mark.parametrize("kind", ["numbers", "few", "specials", "ints", "sorted"])
def test_values_of_any_number_of_threads(kind: str) -> None:
    """The same bits as a stable sort by one thread gives them: zeros and NaNs tell which is which."""
    n, random = 3 * sorting.EACH + 5, np.random.default_rng(1)
    ints = random.integers(-2**62, 2**62, n)
    nans = np.array([0x7ff8000000000001, 0x7ff8000000000002, 0, 1 << 63, 1], np.uint64).view(np.float64)
    values = {"numbers": random.random(n), "few": random.integers(0, 3, n) * 1.0, "ints": ints,
              "specials": np.where(random.random(n) < 0.7, random.choice(nans, n), random.random(n)),
              "sorted": np.arange(n) * 1.0}[kind]
    expected = values[np.argsort(values, kind="stable")]
    for threads in (1, 2, 3, 7):
        result = np.empty_like(values)
        sorting.sort_ascending(values, result, threads)
        assert (result.view(np.int64) == expected.view(np.int64)).all()
        sorting.sort_descending(values, result, threads)
        numbers = np.sum(values == values)
        assert (result[:numbers] == expected[:numbers][::-1]).all() and np.isnan(result[numbers:]).all()
