"""What bodies go through beside rows: lists that are written, ranges, and what Python's functions make of these."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import nessie

ROWS = [[3, 1, 2], [], [5, 4], [7]]
NUMBERS = [0, 1, 2, 5]


def backwards(n):
    total = 0
    for i in reversed(range(n)):
        total = total * 10 + i
    return total


def numbered(n):
    total = 0
    for i, x in enumerate([n, n + 1, 2.5]):
        total += i * x
    return total


def pairs_held(row):
    pairs = list(zip(row, range(len(row))))
    return sum([x * i for x, i in pairs]) + len(pairs)


def a_default_that_fails(row):
    return max(row, default=1 // (len(row) - 1))


OF_NUMBERS = [
    backwards, numbered, lambda n: list(range(n)), lambda n: len(list(range(1, n))), lambda n: sorted([n, 5 - n, 2]),
    lambda n: sorted((n, 0.5, -n))[1], lambda n: sum(x * x for x in [n, 5 - n, 2]), lambda n: list(reversed([n, 1])),
    lambda n: sum(i * x for i, x in zip(range(3), [n, n, 1])), lambda n: max([n, 2], default=0),
    lambda n: [x + 1 for x in reversed(range(n))], lambda n: len(list(enumerate(range(n))))]
OF_ROWS = [
    pairs_held, lambda row: max(row, default=0), lambda row: min(row, default=-1.5), lambda row: row[::-1],
    lambda row: list(reversed(row)), lambda row: sorted(row)[::-1], lambda row: list(row),
    lambda row: min([x for x in row if x > 2], default=len(row)), lambda row: max(x for x in [len(row), 1])]


@pytest.mark.parametrize("number", range(len(OF_NUMBERS)))
@pytest.mark.parametrize("target", ["cpu", "reference"])
def test_bodies_of_numbers(number: int, target: str) -> None:
    body: Callable[..., Any] = OF_NUMBERS[number]
    assert nessie.array(NUMBERS).map(body).evaluate(target).tolist() == [body(n) for n in NUMBERS]


@pytest.mark.parametrize("number", range(len(OF_ROWS)))
@pytest.mark.parametrize("target", ["cpu", "reference"])
def test_bodies_of_rows(number: int, target: str) -> None:
    body: Callable[..., Any] = OF_ROWS[number]
    assert nessie.nest(ROWS).map(body).evaluate(target).tolist() == [body(row) for row in ROWS]


def test_a_default_is_computed_in_any_case() -> None:
    with pytest.raises(ZeroDivisionError):
        a_default_that_fails([1])
    with pytest.raises(nessie.NessieError, match="by zero"):
        nessie.nest([[1]]).map(a_default_that_fails).evaluate()


def test_parameters_by_name_have_their_defaults() -> None:
    a = nessie.array([1, 2])
    assert a.map(lambda x, *, k=2: x * k).tolist() == [2, 4]

    def scaled(x, *, by=3):
        return x * by
    assert a.map(lambda x: scaled(x)).tolist() == [3, 6]
    found = [a.map(lambda x, *, k=k: x * k).tolist() for k in (4, 5)]
    assert found == [[4, 8], [5, 10]]


def test_sections_go_through_them_too() -> None:
    @nessie.host_section
    def grown(a):
        for k in reversed(range(3)):
            a = a * 10 + k
        return a
    assert grown([1, 2]).tolist() == [1210, 2210]


LISTS = [lambda row: [x + 1 for x in row] + [7, 8][1:3],
         lambda row: sorted(row) + [1],                         # noqa: RUF005      what users write
         lambda row: [0] + list(row) * 2,
         lambda row: ([1] * 2)[len(row):] + [9],                # noqa: RUF005
         lambda row: sorted(row)[1:] + list(range(2)), lambda row: [1, 2][len(row):],
         lambda row: [5, 6, 7][len(row) % 3:], lambda row: [x + 1 for x in row][1:] + [2] * len(row)]


@pytest.mark.parametrize("function", LISTS)
def test_parts_of_lists_are_lists(function: Any) -> None:
    rows = [[3, 1, 2], [], [5]]
    assert nessie.nest(rows).map(function).tolist() == [function(row) for row in rows]
