"""In which row an element lies, and lengths by row and place, equal what loops count."""
from __future__ import annotations

import random
from bisect import bisect_right
from itertools import accumulate
from math import comb

import pytest
from amounts import examples
from index_arithmetic import evaluated

from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu.spaces.rows import has_row, row_at
from nessie.lambda_cu.spaces.segments import length_at, start_at

Q = ir.Var("q")
ROWS = 12


def rows_of(rng: random.Random) -> tuple[ir.Space, list[int]]:
    """A space of rows, and their lengths: one slope, or two with a place between; some rows may be empty."""
    while True:
        first, slope = rng.randrange(-3, 30), rng.randrange(-3, 4)
        terms = [ir.Binomial(0, (first, slope))]
        lengths = [first + slope * r for r in range(ROWS)]
        if rng.random() < 0.6:
            place, more, steeper = rng.randrange(ROWS + 1), rng.randrange(-20, 20), rng.randrange(-3, 4)
            terms.append(ir.Binomial(place, (more, steeper)))
            lengths = [length + (more + steeper * r) * (r >= place) for r, length in enumerate(lengths)]
        if rng.random() < 0.1:
            return ir.Uniform(ROWS, 7, 7 * ROWS), [7] * ROWS
        if min(lengths) >= 0:
            return ir.Closed(ROWS, tuple(terms), sum(lengths)), lengths


@pytest.mark.sampled(quick=4, ci=2)
@pytest.mark.parametrize("seed", range(8))
def test_rows_of_elements(seed: int) -> None:
    """The row of each element; behind the last, one at which none is left."""
    rng = random.Random(seed)
    for _ in range(examples(120)):
        space, lengths = rows_of(rng)
        starts = [0, *accumulate(lengths)]
        row = row_at(space, Q)
        for q in range(starts[-1]):
            assert evaluated(row, {"q": q}) == bisect_right(starts, q) - 1, (space, q)
        if not isinstance(space, ir.Uniform):
            end = evaluated(row, {"q": starts[-1]})
            assert 0 <= end <= ROWS and starts[end] == starts[-1], space


@pytest.mark.sampled(quick=4, ci=2)
@pytest.mark.parametrize("seed", range(8))
def test_lengths_and_starts_by_row_and_place(seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(examples(30)):
        rows, counts = rows_of(rng)
        by = [[rng.randrange(0, 4) for _ in range(rng.randrange(1, 4))] for _ in range(rng.randrange(1, 4))]

        def length(r: int, j: int, by: list[list[int]] = by) -> int:
            return sum([c * comb(r, k) * comb(j, place) for place, row in enumerate(by) for k, c in enumerate(row)])

        expected = [[length(r, j) for j in range(count)] for r, count in enumerate(counts)]
        sums = differences([sum(row) for row in expected])
        space = ir.Nested(rows, tuple([ir.Binomial(0, tuple(row)) for row in by]), (ir.Binomial(0, sums),), 0)
        lengths, starts, start, q = length_at(space, Q), start_at(space, Q), 0, 0
        for row in expected:
            for one in row:
                assert evaluated(lengths, {"q": q}) == one and evaluated(starts, {"q": q}) == start, (space, q)
                start, q = start + one, q + 1
        if not isinstance(rows, ir.Uniform):
            assert evaluated(starts, {"q": q}) == start


def differences(values: list[int]) -> tuple[int, ...]:
    """The coefficients of C(r,0), C(r,1), ... of the polynomial with these values (Newton)."""
    found = []
    while values:
        found.append(values[0])
        values = [b - a for a, b in zip(values, values[1:])]
    return tuple(found)


@pytest.mark.parametrize("first", [1, 2, 1000, 2 ** 24, "n"])
@pytest.mark.parametrize("slope", [-1, 1, 2, 5])
def test_rows_of_large_spaces(first: int | str, slope: int) -> None:
    """Floats are near enough up to 2^48 elements: the row starts no later than the element, the next one later."""
    rng = random.Random(repr((first, slope)))
    n = 2 ** 24
    start = n if first == "n" else int(first)
    rows = start // -slope + 1 if slope < 0 else int((2 ** 49 / slope) ** 0.5 * 0.9)
    space = ir.Closed(rows, (ir.Binomial(0, (first, slope)),), "t")
    total = rows * start + slope * (rows * (rows - 1) // 2)
    assert total < 2 ** 50
    for _ in range(300):
        edge = rng.randrange(rows + 1)
        at = edge * start + slope * (edge * (edge - 1) // 2) + rng.choice([0, -1, 1])
        q = rng.choice([min(max(at, 0), total - 1), rng.randrange(total)])
        row = evaluated(row_at(space, Q), {"q": q, "n": n})
        begins = [r * start + slope * (r * (r - 1) // 2) for r in (row, row + 1)]
        assert begins[0] <= q < begins[1], (q, row)


@pytest.mark.parametrize("space", [
    ir.Irregular(3, "offsets", 9), ir.Flat(3), ir.Closed(3, (ir.Binomial(0, (1, 1, 1)),), 9),
    ir.Closed(3, (ir.Binomial(0, (1,), True),), 7), ir.Closed(3, (ir.Floor(0, 1, 0, 2),), 1),
    ir.Closed(3, (ir.Binomial(0, (1, "b")),), 9),
    ir.Closed("n", (ir.Binomial(0, (1,)), ir.Binomial("a", (1,)), ir.Binomial("b", (1,))), "t"),
])
def test_rows_that_have_no_expression(space: ir.Space) -> None:
    assert not has_row(space)
