"""Scalar functions that are loops run for eight elements at a time: each has its own result, or failure."""
from __future__ import annotations

import re
from functools import cache

import numpy as np
import pytest
from built import generated

import nessie
from nessie.cudagen.cpu import llvm
from nessie.cudagen.cpu import machine_code as building

PROGRAM = """
function steps(c, x, n) : (float, float, int) -> int =
  if (n == 100) or (abs(x) > 4.0) then n else steps(c, x * x + c, n + 1);
function root(a, x, n) : (float, float, int) -> float =
  if n == 0 then x
  else let y = 0.5 * (x + a / x) in if abs(y - x) < 1e-12 * abs(y) then y else root(a, y, n - 1);
function collatz(n, k) : (int, int) -> int =
  if n == 1 then k
  else let m = (if (n and 1) == 0 then rshift(n, 1) else 3 * n + 1) in collatz(m, k + 1);
function turn(x, c, b, n) : (float, char, bool, int) -> (float, char, bool) =
  if n < 1 then (x, c, b) else let d = (if b then `z else c) in turn(x + 0.5, d, not b, n - 3);
function greatest(a, b) : (int, int) -> int = if b == 0 then a else greatest(b, rem(a, b));

function counts(xs) = {steps(x, 0.0, 0) : x in xs};
function roots(xs) = {root(x, x, 40) : x in xs};
function lengths(ns) = {collatz(n, 0) : n in ns};
function turned(xs, ns) = {turn(x, `a, n > 5, n) : x in xs; n in ns};
function divisors(as, bs) = {greatest(a, b) : a in as; b in bs};
function longest(ns) = max_val({collatz(n, 0) : n in ns});
function sum_of_roots(xs) = sum({root(x, x, 40) : x in xs});
function row_sums(rows) = {sum({root(x, 1.0, 40) : x in r}) : r in rows};
function slow(xs) = {x in xs | steps(x, 0.0, 0) == 100};
function before(xs) = {steps(s, x, 0) : x in xs; s in plus_scan(xs)};
function counted_from(ss, xs) = {steps(s, x, 0) : x in xs; s in ss};
function thrice(xs) = {(steps(x, 0.0, steps(x, x, 90)), root(x + 3.0, 1.0, 5)) : x in xs};
"""

READING = """
function climb(parents, node, k) : ([int], int, int) -> int =
  if parents[node] == node then k else climb(parents, parents[node], k + 1);
function find(v, x, low, high) : ([float], float, int, int) -> int =
  if low >= high then low
  else let middle = (low + high) / 2 in if v[middle] < x then find(v, x, middle + 1, high) else find(v, x, low, middle);
function differ(a, b, i) : ([char], [char], int) -> int =
  if (i == #a) or (i == #b) then i else if a[i] == b[i] then differ(a, b, i + 1) else i;
function first_true(v, i) : ([bool], int) -> int = if v[i] then i else first_true(v, i + 1);

function heights(parents) = {climb(parents, node, 0) : node in [0:#parents]};
function places(v, xs) = {find(v, x, 0, #v) : x in xs};
function row_places(rows, xs) = {{find(r, x, 0, #r) : x in xs} : r in rows};
function agreeing(texts, pattern) = {differ(s, pattern, 0) : s in texts};
function nexts(v) = {first_true(v, i) : i in [0:#v]};
function last_of(v, xs) = {v[find(v, x, 0, #v) - 1] : x in xs};
"""


@cache
def reading() -> nessie.Program:
    return nessie.compile(READING)


@cache
def program() -> nessie.Program:
    return nessie.compile(PROGRAM)


def numbers(n: int) -> np.ndarray:
    return np.random.default_rng(n).uniform(-2.0, 1.0, n)


def alone(entry: str, *columns: np.ndarray) -> list[object]:
    """What the function makes of each element by itself: of so few elements there is no strip."""
    call = getattr(program(), entry)
    found: list[object] = []
    for at in range(len(columns[0])):
        found += list(call(*[c[at:at + 1] for c in columns]))
    return found


@pytest.mark.parametrize("n", [0, 1, 7, 8, 9, 100, 5000])
def test_each_element_has_its_own_result(n: int) -> None:
    xs, ns = numbers(n), np.random.default_rng(n).integers(1, 3000, n)
    few = slice(0, 300)
    assert list(program().counts(xs))[few] == alone("counts", xs[few])
    assert list(program().roots(xs * xs + 0.1))[few] == alone("roots", (xs * xs + 0.1)[few])
    assert list(program().lengths(ns))[few] == alone("lengths", ns[few])
    assert list(program().divisors(ns, ns[::-1])) == np.gcd(ns, ns[::-1]).tolist()
    assert list(program().turned(xs, ns % 17))[few] == alone("turned", xs[few], ns[few] % 17)
    assert list(program().thrice(xs))[few] == alone("thrice", xs[few])


def test_what_else_the_loop_does() -> None:
    xs, ns = numbers(5000), np.random.default_rng(3).integers(1, 3000, 5000)
    counts, squares = program().counts(xs), xs * xs + 0.1
    assert program().longest(ns) == max(program().lengths(ns))
    assert np.array_equal(program().slow(xs), xs[counts == 100])
    assert np.isclose(program().sum_of_roots(squares), sum(program().roots(squares)), rtol=1e-13)
    rows = nessie.Nested(np.array([0, 3, 3, 40, 41, 5000]), squares)
    assert np.allclose(program().row_sums(rows), np.add.reduceat(np.sqrt(squares), [0, 3, 3, 40, 41]) * [1, 0, 1, 1, 1])
    sums = np.array(nessie.compile("function scan(xs) = plus_scan(xs);").scan(xs))
    assert [program().before(xs)[0]] == alone("counted_from", sums[:1], xs[:1])
    assert list(program().before(xs)[:300]) == alone("counted_from", sums[:300], xs[:300])


@pytest.mark.parametrize("failing", [[0], [7], [8, 9], [4999], [513, 512], [300, 4000]])
def test_a_failure_in_a_strip_is_told(failing: list[int]) -> None:
    xs = numbers(5000) ** 2 + 0.1
    xs[failing] = 0.0
    with pytest.raises(nessie.NessieError, match="Divide by zero"):
        program().roots(xs)


@pytest.mark.parametrize(("entry", "type_"), [("counts", "[float]"), ("roots", "[float]"), ("sum_of_roots", "[float]")])
def test_strips_are_vectors_in_registers(entry: str, type_: str) -> None:
    module = generated(PROGRAM, entry, type_)
    text = building.optimised(llvm.llvm(module))        # type: ignore[arg-type]
    assert re.search("fmul <[248] x double>", text)


@pytest.mark.parametrize("n", [1, 7, 8, 9, 100, 5000])
def test_strips_that_read_arrays(n: int) -> None:
    random = np.random.default_rng(n)
    parents = np.maximum(0, np.arange(n) - random.integers(1, 50, n))
    heights = np.zeros(n, np.int64)
    for node in range(1, n):
        heights[node] = heights[parents[node]] + 1
    assert np.array_equal(reading().heights(parents), heights)
    for size in (0, 1, 2, 1000):
        v, xs = np.sort(random.random(size)), random.uniform(-0.1, 1.1, n)
        assert np.array_equal(reading().places(v, xs), np.searchsorted(v, xs))
        rows = nessie.Nested(np.array([0, 0, size // 2, size // 2, size]), v)
        cuts = (v[:0], v[:size // 2], v[:0], v[size // 2:])
        found = [list(row) for row in reading().row_places(rows, xs[:50])]
        assert found == [np.searchsorted(row, xs[:50]).tolist() for row in cuts]
    flags = random.random(n) < 0.1
    flags[-1] = True
    ahead = np.flatnonzero(flags)
    assert np.array_equal(reading().nexts(flags), ahead[np.searchsorted(ahead, np.arange(n))])


def test_strips_that_compare_rows_of_their_own() -> None:
    texts = ["", "a", "ab", "abc", "abd", "b", "abcdefgh", "abcdefgi", "xbc", "abc"] * 30
    expected = [next((i for i, (a, b) in enumerate(zip(s, "abcdefgh", strict=False)) if a != b), min(len(s), 8))
                for s in texts]
    assert list(reading().agreeing(texts, "abcdefgh")) == expected


@pytest.mark.parametrize("failing", [0, 7, 8, 4990, 4999])
def test_an_index_out_of_range_in_a_strip_is_told(failing: int) -> None:
    flags = np.zeros(5000, bool)
    flags[:failing] = True
    with pytest.raises(nessie.NessieError, match="out of bounds"):
        reading().nexts(flags)
    v, xs = np.arange(10.0), np.full(5000, 5.5)
    assert list(reading().last_of(v, xs)) == [5.0] * 5000
    xs[failing] = -1.0
    with pytest.raises(nessie.NessieError, match="out of bounds"):
        reading().last_of(v, xs)


@pytest.mark.skipif("avx512f" not in building.features(), reason="needs a processor that loads from eight places")
def test_strips_that_read_are_vectors() -> None:
    module = generated(READING, "places", "([float], [float])")
    assert re.search("masked.gather.v[48]f64", building.optimised(llvm.llvm(module)))       # type: ignore[arg-type]
