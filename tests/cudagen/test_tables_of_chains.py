"""REDUCE_BY_INDEX in chains of chunks, each with a table: many elements and few places."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from executors import Compiled, agree, assert_all_agree, outcome

import nessie

KEYS = [(7 * i * i + i // 3) % 5 for i in range(500)]
XS = [(13 * i) % 101 - 50 for i in range(500)]
CASES: dict[str, str] = {               # of keys below 5, and as many values
    "sums": "write_add(dist(0, 5), zip(ks, xs))",
    "sums into what is there": "write_add([1, 2, 3, 4, 5], zip(ks, xs))",
    "the greatest": "write_max([0, 60, -60, 0, 0], zip(ks, xs))",
    "the least of some": "write_min(dist(7, 5), {(k, x) : k in ks; x in xs | x > -20 and k /= 3})",
    "sums beside a count": "let s = write_add(dist(0, 5), zip(ks, xs)) in s ++ [sum({x in xs | x > 0})]",
    "two tables": "write_add(dist(0, 5), zip(ks, xs)) ++ write_max(dist(0, 6), {(k, x) : k in ks; x in xs})",
    "a write in order besides": "write_add(dist(0, 5), zip(ks, xs)) ++ (dist(0, 5) <- zip(ks, xs))",
    "a place that does not exist": "write_add(dist(0, 4), zip(ks, xs))",
    "rows": "write_add(dist(0, 5), flatten({{(k, x * j) : j in [0:k]} : k in ks; x in xs}))",
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("count", [0, 40, 200, 500])
def test_executors_agree(name: str, count: int) -> None:
    program = Compiled(f"function main(ks, xs) : ([int], [int]) -> [int] = {CASES[name]};")
    assert_all_agree(program, (KEYS[:count], XS[:count]), count > 0 and "does not exist" in name)


def test_floats_have_the_same_bits_on_any_number_of_threads() -> None:
    program = Compiled("function main(ks, xs) : ([int], [float]) -> [float] = write_add(dist(0.1, 5), zip(ks, xs));")
    arguments: Any = (KEYS, [x / 7.0 for x in XS])
    found = [outcome(program, executor, arguments) for executor in ("cpu ilp", "cpu3 ilp", "loops ilp")]
    assert found[0] == found[1] == found[2]
    assert np.allclose(found[0], np.bincount(KEYS, arguments[1]) + 0.1)


def test_zeros_and_what_is_no_number() -> None:
    """A place to which nothing is written keeps its bits, however many chains there are."""
    adds = nessie.compile("function adds(d, ks, xs) = write_add(d, zip(ks, xs));").adds
    for count in (1000, 1_000_000):
        keys, before = np.arange(count) % 4 + 3, np.array([-0.0, np.nan, np.inf, -0.0, 1.0, 2.0, -0.0, 0.0])
        found = adds(before, keys, np.full(count, -0.0))
        assert found.tobytes() == before.tobytes()
        assert adds(before, keys, np.where(keys == 4, np.inf, -0.0))[4] == np.inf


@pytest.mark.parametrize("target", ["cpu", "cuda"])
def test_a_negative_zero_stays_one(target: str) -> None:
    """GPUs sum what goes to a place before they add it to what is there, which no elements change, nor do -0.0."""
    program = Compiled("function main(d, ps) : ([float], [(int, float)]) -> [float] = write_add(d, ps);", target=target)
    for before in ([-0.0, 0.0, -0.0], [-0.0]):
        arguments = before, [(0, -0.0)] * (len(before) > 1)
        found = outcome(program, "reference ilp", arguments)
        assert agree(found, outcome(program, "interpreter", arguments)) and str(found) == str(before)


def test_large_ones() -> None:
    sums = nessie.compile("function sums(v, n) = write_add(dist(0, n), {(x, 1) : x in v});").sums
    for n, places in ((10_000, 10), (2_000_000, 1000), (1_000_000, 200_000), (1_000_000, 499_998), (1_000_000, 500_000),
                      (600_000, 3)):
        v = np.random.default_rng(n).integers(0, places, n)
        assert np.array_equal(sums(v, places), np.bincount(v, minlength=places))
