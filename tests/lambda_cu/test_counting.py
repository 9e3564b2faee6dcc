"""What benchmarks/counting.py counts of a launch, which predictions of times are made from."""
from __future__ import annotations

import sys
from importlib import import_module
from typing import Any

import numpy as np
import pytest
from kernel_runs import program_of
from paths import BENCHMARKS

from nessie.lambda_cu.reference.context import Context, EvaluationLimits
from nessie.lambda_cu.running.stats import Stats
from nessie.lambda_cu.text.parser import parse_kernel

sys.path.append(str(BENCHMARKS))
counting = import_module("counting")
N = 1000


def counted(text: str, *arguments: Any, in_place: frozenset[str] = frozenset()) -> Any:
    kernel = parse_kernel(text)
    values = [np.int64(a) if isinstance(a, int) else a for a in arguments]
    return counting.counted(kernel, values, Context(program_of(kernel), EvaluationLimits(), Stats()), in_place)


def flat(body: str, result: str = "[int; n]", *arguments: Any, more: str = "") -> Any:
    return counted(f"kernel K (n : int, xs : [int; n]{more}) -> {result} {{ {body} }}", N, np.arange(N), *arguments)


def test_an_expression_counts_once_and_what_all_elements_share_not_at_all() -> None:
    found = flat("let ys = MAP { i => (xs[i] + 1) * (xs[i] + 1) + n * n using xs, n } (n) return ys")
    assert found["operations"] == 3 * N and found["reads"] == N and found["gathers"] == found["branches"] == 0
    assert found["read"] == found["stored"] == 8 * N and found["held"] == 16 * N and found["words"] == 3


def test_branches_count_what_is_taken() -> None:
    found = flat("let ys = MAP { i => if xs[i] < 100 then xs[i] * 3 / 2 else 0 using xs } (n) return ys")
    assert found["branches"] == N and found["turns"] == 1
    assert found["operations"] == N + 100 and found["quotients"] == 100


def test_survivors() -> None:
    found = flat("let (k, ys) = FILTER { i => xs[i] + 1 using xs } { i => xs[i] > 899 using xs } (n) return (k, ys)",
                 "(int, [int; k])")
    assert found["filtered"] == N and found["chosen"] == 1 and found["operations"] == N + 100
    assert found["stored"] == 800


@pytest.mark.parametrize("step, far", [(1, 0), (64, 1)])
def test_reads_at_computed_indices_jump_or_not(step: int, far: int) -> None:
    size = 1 << 20
    table = np.zeros(size)
    places = np.arange(N) * step % size
    found = counted("kernel K (n : int, m : int, t : [float; m], is : [int; n]) -> [float; n] {"
                    " let ys = MAP { i => t[is[i]] using t, is } (n) return ys }", N, size, table, places)
    assert found["gathers"] == far * (N - 1)
    assert found["jumps_l2"] == pytest.approx(far * N * (1 - counting.CACHES["l2"] / (8 * size)), abs=2)
    assert found["jumps_far"] == 0


def test_rows_share_what_depends_on_the_row() -> None:
    lengths = np.array([0, 500, 0, 0, 500])
    offsets = np.append(0, np.cumsum(lengths))
    found = counted("kernel K (m : int, n : int, xs : [int; n], ws : [int; m], offs : [int; m+1]) -> [int; m] {"
                    " let ys = SEG_REDUCE { (s, j, i) => xs[i] * (ws[s] + 7) using xs, ws } (0) { (x, y) => x + y }"
                    " irregular(offs, m, n) return ys }", 5, N, np.arange(N), np.arange(5), offsets)
    assert (found["rows"], found["empty"], found["uneven"], found["inside"]) == (2, 3, 3, N)
    assert found["operations"] == 2 * N + 2


def test_writes_in_place_store_nothing_in_order() -> None:
    text = ("kernel K (n : int, m : int, t : [int; m], is : [int; n]) -> [int; m] {"
            " let ys = PERMUTE { i => i } { i => is[i] using is } (n) into m (t) last return ys }")
    size = 1 << 20
    places = np.arange(N) * 1000
    for in_place, stored in ((frozenset(("ys",)), 0), (frozenset[str](), 8 * size)):
        found = counted(text, N, size, np.zeros(size, np.int64), places, in_place=in_place)
        assert found["writes"] == N and found["stored"] == stored and found["stores_l2"] > 0.9 * N


@pytest.mark.parametrize("keys, digits", [(np.arange(256), 1), (np.arange(3000) % 257, 2), (np.zeros(5), 0),
                                          (np.array([1.0, 2.0]), 2), (np.array([0, -1]), 8)])
def test_digits_in_which_keys_differ(keys: Any, digits: int) -> None:
    assert counting.digits_of(keys) == digits


def test_orders_count_words_by_how_rows_are_sorted() -> None:
    text = ("kernel K (m : int, n : int, xs : [int; n], offs : [int; m+1]) -> [int; n] {"
            " let ys = SEG_ORDER { (s, j, i) => xs[i] using xs } irregular(offs, m, n) return ys }")
    found = counted(text, 3, N, np.arange(N) % 256, np.array([0, 20, 20, N]))
    assert found["ordered rows"] == 3 and found["inserted"] == 100 and found["moved"] == N - 20
    assert found["alone"] == (N - 20) / N
