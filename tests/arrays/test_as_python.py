"""What users of Python write without thinking means in bodies and in host sections what it means in Python."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

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


OF_NUMBERS: list[Callable[..., Any]] = [
    parts_of_lists, repeated_lists, lists_behind_lists,
    only_a_return_ends_it, a_break_within, a_return_on_one_path, a_return_in_a_round, a_call_of_itself, no_round]
OF_ROWS: list[Callable[..., Any]] = [
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
    (lambda row: sum(i for i, x in enumerate(row, 1.5)), "the first number is an int, and this is float"),
    (lambda row: sum(i for i, x in enumerate(row, begin=1)), "enumerate takes a sequence, and the int"),
    (lambda row: sum(x for x, _ in zip(row, row, strict=True)), "zip takes sequences, and nothing else")])
def test_what_bodies_of_rows_refuse(wrong: Any, said: str) -> None:
    with pytest.raises(nessie.NessieError, match=said) as failed:
        nessie.nest(ROWS).map(wrong)
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
