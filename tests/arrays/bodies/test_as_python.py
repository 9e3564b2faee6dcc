"""What users of Python write without thinking means in bodies and in host sections what it means in Python."""
from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import pytest

import nessie

NUMBERS = [1, 2, 3, 5]
ROWS = [[1, 2, 5, 6], [1, 2], [], [4]]


# Bodies ---------------------------------------------------------------------------------------------


def numbered_from_one(row):
    return sum(i * x for i, x in enumerate(row, 1))


def numbered_from_the_length(row):
    total = 0
    for i, x in enumerate(row, start=len(row)):
        total += i * x
    return total


def differences(row):
    return [x - y for x, y in zip(row[1:], row)]


def the_shortest_of_three(row):
    return sum(x * y for _, x, y in zip(row[1:], row, range(2)))


def pairs_of_the_shorter(row):
    return len(list(zip(row, [7, 8])))


def only_a_return_ends_it(x):
    while True:
        x += 1
        if x % 5 == 0:
            return x


def a_break_within(x):
    while True:
        while True:
            x += 1
            if x % 3 == 0:
                break
        for i in range(3):
            if x > 7 + i:
                return x * 1.5


def a_return_on_one_path(x):
    if x > 2:
        while 1:
            x -= 1
            if x < 1:
                return x
    return 9


def a_return_in_a_round(x):
    for i in range(3):
        while True:
            x += 1
            if x > 5:
                return (x, i)
    return (0, 0)


def a_call_of_itself(x):
    while True:
        if x > 5:
            return x
        return a_call_of_itself(x + 1)


def no_round(x):
    while False:
        x += 1
    return x


def parts_of_lists(x):
    part = [x, 1, 2][1:3]
    return part[0], sum([x, 1, 2][x:]), sum([x, 4, 8][:x]), len([x, 1][5:]), (x, 1.5, True)[::-1][2]


def repeated_lists(x):
    return sum([x] * 3), len([0] * x), sum([x, 2] * (x - 2)), sum(2 * [x]), sum([x] * 100), len([x] * 0), len([x] * -1)


def lists_behind_lists(x):
    return sum([x] + [y * y for y in range(x)]), [y * 0.5 for y in range(x)] + [x] * x


class Point(NamedTuple):
    x: float
    y: float

    def norm(self):
        return math.sqrt(self.x ** 2 + self.y ** 2)

    @property
    def total(self):
        return self.x + self.y

    def scaled(self, by=2):
        return Point(self.x * by, self.y * by)

    def norm_of_three(self):
        return self.scaled(by=3).norm()

    @staticmethod
    def unit(n=1):
        return n

    def by_eight(self):
        return self.x * EIGHT


@dataclass(frozen=True)
class Place:
    at: Point
    number: int

    def is_far(self, most):
        return self.at.norm() * self.number > most


@dataclass(frozen=True)
class Around:
    inner: Point


EIGHT = 8
WIDE, NONE = np.ones((2, 4)), np.ones((0, 3))
PARALLEL = nessie.array(np.ones((2, 5)))


def records_within_records(x):
    place = Place(Point(x * 1.0, 2.0), x)
    return place, place.at.y + place.number, Around(Point(1.0, x * 2.0)).inner.y


def records_with_other_values(x):
    return Point(1.0, 2.0)._replace(y=5.0 * x), replace(Place(Point(1.0, 2.0), 2), number=x)


def methods_of_records(x):
    p = Point(x * 1.0, 2.0)
    return p.norm(), p.total, p.norm_of_three(), Point(1.0, 2.0).scaled().x, Place(p, x).is_far(8)


def shapes_from_outside(x):
    return WIDE.shape[1] + x, NONE.shape[1], WIDE.size * WIDE.ndim, PARALLEL.shape[x % 2], len(PARALLEL.shape)


def floats_by_their_names(x):
    return min(float("inf"), x * 1.0), float("-Infinity") + x


def held_by_tuples(x):
    return x in (1, 2), x not in [3, x], x in (1.0, True, 5.5)


def functions_of_ints(x):
    return (math.gcd(x * 6, -4), math.gcd(0, 0), math.isqrt(x * 17), math.isqrt(2 ** 62 - x),
            math.isqrt(2 ** 63 - 1 - x))


def close_numbers(x):
    return (math.isclose(x, x + 1e-12), math.isclose(x, 2.0, abs_tol=1.5), math.isclose(x, 9 * x, rel_tol=0.9),
            math.isclose(x, math.inf), float(np.clip(x, 2, 4.5)))


def assigned_in_expressions(x):
    if (n := x * 2) > 4 and n < 9:
        return n, (k := n + 1) + k
    total = (m := x + n) * (p := m + 1) + p
    return total, m


def assigned_in_a_loop(x):
    total = 0
    for i in range(x):
        if (square := i * i) % 2:
            continue
        total += square + (last := i)
    return total, last


OF_NUMBERS: list[Callable[..., Any]] = [
    assigned_in_expressions, assigned_in_a_loop, lambda x: (y := x + 1) * y, lambda x: (y := (z := x) + z) * y,
    floats_by_their_names, held_by_tuples, functions_of_ints, close_numbers,
    records_within_records, records_with_other_values, methods_of_records, shapes_from_outside,
    parts_of_lists, repeated_lists, lists_behind_lists,
    only_a_return_ends_it, a_break_within, a_return_on_one_path, a_return_in_a_round, a_call_of_itself, no_round]
def held_by_rows(row):
    return 3 in row, 4.0 not in row, len(row) in row


def places_in_rows(row):
    return row.count(2), row.count(2.5), row.index(2) if 2 in row else -1, (7, len(row), 1).index(1), [1, 1].count(1)


def sorted_in_any_order(row):
    return (sorted(row, reverse=True), sorted(row, key=lambda x: abs(x - 3)), sorted(row, key=lambda x: x % 2),
            sorted(row, key=lambda x: x % 2, reverse=True), sorted(row, key=abs))


def extremes_by_a_key(row):
    if not row:
        return 0, (0, 0)
    return max(row, key=lambda x: -abs(x - 3)), min(enumerate(row), key=lambda p: p[1] % 2)


OF_ROWS: list[Callable[..., Any]] = [
    held_by_rows, places_in_rows, sorted_in_any_order, extremes_by_a_key,
    numbered_from_one, numbered_from_the_length, differences, the_shortest_of_three, pairs_of_the_shorter]


@pytest.mark.parametrize("target", ["cpu", "reference"])
def test_bodies_of_numbers(target: str) -> None:
    for body in OF_NUMBERS:
        found = nessie.array(NUMBERS).map(body).evaluate(target).tolist()
        assert found == [body(x) for x in NUMBERS], body.__name__


@pytest.mark.parametrize("target", ["cpu", "reference"])
def test_bodies_of_rows(target: str) -> None:
    for body in OF_ROWS:
        found = nessie.nest(ROWS).map(body).evaluate(target).tolist()
        assert found == [body(row) for row in ROWS], body.__name__


@pytest.mark.parametrize(("wrong", "said"), [
    (lambda row: max(row, key=lambda x: (x, x)), r"a key gives a number, and this gives \(int, int\)"),
    (lambda row: max(row, key=abs, default=0), "max takes a default, or a key, for one sequence"),
    (lambda row: sorted(row, key=lambda x: (x, x)), "elements are sorted by a number"),
    (lambda row: row in 2, "a row or a tuple holds elements, and this is int"),
    (lambda row: math.gcd(1.5, 2), "math.gcd takes ints"),
    (lambda row: open(row), "open cannot be in a body"),        # noqa: SIM115
    (lambda row: sum(i for i, x in enumerate(row, 1.5)), "the first number is an int, and this is float"),
    (lambda row: sum(i for i, x in enumerate(row, begin=1)), "enumerate takes a sequence, and the int"),
    (lambda row: sum(x for x, _ in zip(row, row, strict=False)), "zip takes sequences, and nothing else")])
def test_what_bodies_of_rows_refuse(wrong: Any, said: str) -> None:
    with pytest.raises(nessie.NessieError, match=said) as failed:
        nessie.nest(ROWS).map(wrong)
    assert failed.value.span is not None


def reads_the_name_before(x):
    x += (x := 3)
    return x


@pytest.mark.parametrize("wrong", [
    reads_the_name_before, lambda x: x + (x := 3), lambda x: x > 1 and (y := x) > 2 > y,
    lambda x: [y for z in [x] if (y := z) > 1]])
def test_assignments_in_expressions_that_are_refused(wrong: Any) -> None:
    with pytest.raises(nessie.NessieError, match=":= stands only where it is surely computed") as failed:
        nessie.array(NUMBERS).map(wrong)
    assert failed.value.span is not None


def never_ends(x):
    while True:
        x += 1
        if x > 3:
            continue


def test_a_loop_without_a_way_out_never_ends() -> None:
    with pytest.raises(nessie.NessieError, match="this loop never ends") as failed:
        nessie.array(NUMBERS).map(never_ends)
    assert failed.value.span is not None


@pytest.mark.parametrize(("wrong", "said"), [
    (lambda x: (x, (x + 1, (x + 2.5,))), "a tuple of one item is no element of an array"),
    (lambda x: Around(Point(1.0, 2.0)), "a tuple of one item is no element of an array, and this gives Around"),
    (lambda x: Point(1.0, 2.0)._replace(z=x), "Point has no attribute z"),
    (lambda x: Point(1.0, 2.0).by_eight(), "by_eight uses what stands outside of its class"),
    (lambda x: Point(1.0, 2.0).unit(), "Point has no method unit"),
    (lambda x: Point(1.0, 2.0).count(x), "Point has no method count")])
def test_what_bodies_of_records_refuse(wrong: Any, said: str) -> None:
    with pytest.raises(nessie.NessieError, match=said) as failed:
        nessie.array(NUMBERS).map(wrong)
    assert failed.value.span is not None


def test_what_no_row_has_has_no_place() -> None:
    with pytest.raises(nessie.NessieError, match=r"no element of the row(.|\n)*element 1") as failed:
        nessie.nest([[1, 2], [1]]).map(lambda row: row.index(2)).evaluate()
    assert failed.value.span is not None


def test_arrays_of_records_have_methods() -> None:
    a = nessie.array([Point(1.0, 2.0), Point(3.0, 4.0)])
    assert a.map(lambda p: p.norm()).tolist()[1] == 5.0
    assert a.map(lambda p: p._replace(x=p.y)).tolist() == [Point(2.0, 2.0), Point(4.0, 4.0)]
    b = nessie.array([Place(Point(3.0, 4.0), 2)])
    assert b.map(lambda q: q.at.x + q.number).tolist() == [5.0] and b.map(lambda q: q.is_far(9)).tolist() == [True]


def test_lengths_of_arrays_that_are_not_computed_yet() -> None:
    some = nessie.array(NUMBERS).select(lambda x: x > 1)
    assert nessie.array([1]).map(lambda x: some.shape[0] + x).tolist() == [4]


# Host sections --------------------------------------------------------------------------------------


def until_it_is_large(a: Any) -> Any:
    while True:
        a = a + 1
        if a.sum() > 20:
            return a


def test_sections_end_within_loops() -> None:
    assert nessie.host_section(until_it_is_large)([1, 2]).tolist() == until_it_is_large(np.array([1, 2])).tolist()


@nessie.host_section
def all_elements(rows: Any) -> Any:
    return rows.flatten()


@nessie.host_section
def all_doubled(rows: Any) -> Any:
    return rows.map(lambda row: [2 * x for x in row]).flatten().sum()


@pytest.mark.parametrize("target", ["cpu", "reference"])
def test_sections_flatten_rows(target: str) -> None:
    rows = nessie.nest(ROWS)
    assert all_elements(rows, target=target).tolist() == rows.flatten().tolist() == [x for row in ROWS for x in row]
    assert all_doubled(rows, target=target) == 2 * sum(map(sum, ROWS))
    assert all_elements(nessie.nest([[[1], [2, 3]], [], [[4]]]), target=target).tolist() == [[1], [2, 3], [4]]
    assert all_elements([[1, 2], [3, 4]]).tolist() == [1, 2, 3, 4] and all_elements([1, 2]).tolist() == [1, 2]


async def later(x):
    return x


def appends(x):
    found = [x]
    found.append(x)
    return x


def opens(x):
    open("f")           # noqa: SIM115
    return x


# Arrays ---------------------------------------------------------------------------------------------


def test_masks_of_one_element_are_masks() -> None:
    a = nessie.array([0.8])
    assert a[a > 0].tolist() == [0.8] and a[a < 0].tolist() == []
    assert nessie.array([5])[nessie.array([False])].tolist() == []
    assert nessie.array([[1, 2]])[nessie.array([0]), nessie.array([1])].tolist() == [2]
    assert nessie.nest([[1, 2]])[nessie.array([False])].to_list() == []
    assert nessie.array([4, 5, 6])[nessie.array([0, 2]).sum()] == 6


@pytest.mark.parametrize(("wrong", "said"), [
    (lambda a: a * 1j, "a value of the class complex cannot be in an array"),
    (lambda a: nessie.array(1j), "a value of the class complex cannot be in an array"),
    (lambda a: nessie.array([1, None]), "None is no number(.|\n)*math.nan"),
    (lambda a: nessie.nest([[1, None]]), "None is no number"),
    (lambda a: nessie.array(None), "a value of the class NoneType cannot be in an array"),
    (lambda a: nessie.array({1, 2}), r"a value of the class set has no elements at places(.|\n)*list\(x\)"),
    (lambda a: nessie.array(x for x in [1]), "a value of the class generator has no elements at places"),
    (lambda a: nessie.array({1: 2}), r"list\(d.values\(\)\)"),
    (lambda a: nessie.array([10 ** 30]), "an int has 64 bits here"),
    (lambda a: a.stencil([], 0, lambda v: v[0]), "a stencil has one offset at least"),
    (lambda a: nessie.array([1, 2], device="cudasim") + a, "some lie on cudasim, others on cpu"),
    (lambda a: a.map(later), "a body is computed at once, and later is an async function"),
    (lambda a: a.map(Point(1.0, 2.0).scaled), "not scaled, a method that holds its object"),
    (lambda a: a.map(appends), r"the value of found.append\(...\) is taken by nobody"),
    (lambda a: a.map(opens), "open cannot be in a body"),
    (lambda a: a.map(lambda x: pow(x, 2, 3)), r"with 3 arguments(.|\n)*x \*\* y % m"),
    (lambda a: a.map(lambda x: EIHGT + x), "EIHGT is not defined here(.|\n)*is EIGHT meant?"),     # noqa: F821
    (lambda a: nessie.evaluate(a, 3), "evaluate takes arrays, and this is a value of the class int"),
    (lambda a: a.evaluate(float=33), "float is 32 or 64, not 33"),
    (lambda a: nessie.evaluate(a, float=33), "float is 32 or 64, not 33")])
def test_what_is_no_array(wrong: Any, said: str) -> None:
    with pytest.raises(nessie.NessieError, match=said):
        wrong(nessie.array([1, 2, 3]))


def test_sparse_matrices_are_rows() -> None:
    scipy = pytest.importorskip("scipy.sparse")
    given = np.array([[0, 1.5, 0], [0, 0, 0], [2, 0, 3]])
    rows = nessie.nest(scipy.csr_matrix(given))
    assert rows.tolist() == [[(1, 1.5)], [], [(0, 2.0), (2, 3.0)]]
    v = np.array([1.0, 10.0, 100.0])
    assert rows.map(lambda row: sum(x * v[i] for i, x in row)).tolist() == (given @ v).tolist()
    assert nessie.nest(scipy.coo_matrix(([1, 2], ([0, 0], [1, 1])))).tolist() == [[(1, 3)]]
