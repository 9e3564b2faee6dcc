"""Names of host sections that are of one kind on one path and of another on the next: each path gives what Python
gives, of the same kind, and what it cannot do fails there, at its place."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from amounts import PROFILE

import nessie
from nessie.arrays.array import Array
from nessie.arrays.bodies.kinds import BOOL, FLOAT, INT, Grid, Items, Union, shown, united

TARGETS = ("cpu", "reference") if PROFILE == "quick" else ("cpu", "reference", "cudasim")


def slide(b, n):
    """The expression of the paper's slides: a is an int or a truth value."""
    a = 37
    if n > 0:
        a = True
    return a & 9, a, b


def array_or_number(a, n):
    b = a if n > 0 else 3
    c = b + 1
    return c, (a + b).sum(), -b


def added_up(a, n):
    x = 0
    for _ in range(n):
        x += a
    return x * 2


def fewer_dimensions(a, n):
    m = nessie.pnew((2, 3), lambda at: at[0] * 10 + at[1])
    for i in range(n):
        if i % 2 == 0:
            m = m.sum(axis=0)
    return m


def ints_or_truths(a, n):
    b = a
    for i in range(n):
        if i == 1:
            b = b > 1
        b = ~b
    return b


def whole_or_total(a, n):
    x = 0
    while n > 0:
        x = a.sum() if n % 2 else a
        n -= 1
    return x, n


def several_returns(a, n):
    for i in range(n):
        if i == 1:
            return a
        if a.sum() > 7:
            return a.sum()
        a = a + 1
    return a > 2


def picked(a, n):
    return a if n else 3


def of_calls(a, n):
    return picked(a, n) + 1, picked(a, n) * picked(a, not n), -picked(a, n)


def tuples(a, n):
    b = (a, 1, True) if n else a
    if n:
        return b[0] + b[1]
    return b * 2


def unpacked(a, n):
    x, y = (a, 1) if n else (2, a)
    return x + y, x, y


def conditions(a, n):
    b = a.any() if n > 1 else n
    if b and n < 3:
        return b
    return b or a


def left(a, n):
    r = 0
    for k in range(n):
        if k == 2:
            r = a
            break
    else:
        r = a.sum()
    return r


def set_in_a_loop(a, n):
    for k in range(n + 1):
        b = a if k % 2 else k
    return b


def of_two_names(a, n):
    x, y = 1, a
    for _ in range(n):
        x, y = y, x
    return x - y, x


def a_way_for_each(a, n):
    b = a if n else 3
    return b.sum() if n else b + 1


FUNCTIONS = [slide, array_or_number, added_up, fewer_dimensions, ints_or_truths, whole_or_total, several_returns,
             of_calls, tuples, unpacked, conditions, left, set_in_a_loop, of_two_names, a_way_for_each]


def plain(value: Any) -> Any:
    """Of an array, its dtype and elements."""
    if isinstance(value, tuple):
        return tuple(map(plain, value))
    if isinstance(value, Array):
        value = value.to_numpy()
    return (value.dtype, value.tolist()) if np.ndim(value) else value.item() if isinstance(value, np.generic) else value


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
@pytest.mark.parametrize("target", TARGETS)
def test_each_path_gives_what_python_gives(function: Callable[..., Any], target: str) -> None:
    section = nessie.host_section(function)
    for n in range(4):
        found, expected = plain(section([1, 4], n, target=target)), plain(function(nessie.array([1, 4]), n))
        assert found == expected and repr(found) == repr(expected), n
    assert len(section.kept) <= 2               # one for `n` an int, one for a truth value


def no_sum(a, n):
    b = a if n else 3
    return b.sum()


def no_truth(a, n):
    x = a.sum()
    while n > 0:
        n -= 1
        if x < 3:                               # noqa: SIM108
            x = a
        else:
            x = x - 1
    return x


def no_max_in_a_call(a, n):
    return greatest(a if n else 3)


def greatest(b):
    return b.max()


@pytest.mark.parametrize("function, good, bad, message, text", [
    (no_sum, 1, 0, r"Int has no method sum\.", "b.sum"),
    (no_truth, 1, 2, r"An array of elements is neither true nor false\.", "x < 3"),
    (no_max_in_a_call, 1, 0, r"Int has no method max\.", "b.max")])
@pytest.mark.parametrize("target", TARGETS)
def test_what_a_path_cannot_do(function: Any, good: int, bad: int, message: str, text: str, target: str) -> None:
    section = nessie.host_section(function)
    assert plain(section([1, 1], good, target=target)) == plain(function(nessie.array([1, 1]), good))
    with pytest.raises(nessie.NessieError, match=message) as failed:
        section([1, 1], bad, target=target)
    span = failed.value.span
    assert span is not None and span.source.text[span.start:span.end] == text


def test_what_no_path_can_do_is_refused_at_the_call() -> None:
    def misspelt(a, n):
        b = a if n else 3
        return b.smu()

    def on_one_side(a, n):
        if n:                                   # noqa: SIM108
            b = a.smu()
        else:
            b = a
        return b
    for function in (misspelt, on_one_side):
        with pytest.raises(nessie.NessieError, match=r"arrays have no smu with these arguments"):
            nessie.host_section(function)([1, 2], 0)


def test_elements_are_of_one_kind() -> None:
    def elements(a, n):
        return a.map(lambda x: x if x > 1 else (x, 1))
    with pytest.raises(nessie.NessieError, match="one branch is int, the other"):
        nessie.host_section(elements)([1, 2], 0)

    def promoted(a, n):
        return a.map(lambda x: x > 1 and x)
    assert plain(nessie.host_section(promoted)([1, 2], 0)) == (np.int64, [0, 2])


def test_many_kinds_at_once_are_refused() -> None:
    def many(a, n):
        p, q, r, s = 1, 2, 3, 4
        for _ in range(n):
            p, q, r, s = a, p, q, r
        return p, q, r, s
    with pytest.raises(nessie.NessieError, match="more than 8 combinations of kinds"):
        nessie.host_section(many)([1, 2], 2)


def test_too_many_kinds_are_told_before_what_is_wrong_with_few() -> None:
    """On the path of one round, `r` is 3, and nothing asks whether an array is true."""
    def changed(m, a, n):
        p, q, r = m < 2, n, m == 2
        for _ in range(n):
            q = (a - 2) * r
            r = p.sum()
        if n == 1:
            if r == 2:
                r = q
            if r == 2:
                p = r
        return p
    m, a = np.array([[1, -2, 3], [0, 4, 2]]), np.array([2, 0, 1])
    section = nessie.host_section(changed)
    assert plain(section(m, a, 2)) == plain(changed(m, a, 2))
    with pytest.raises(nessie.NessieError, match="more than 8 combinations of kinds"):
        section(m, a, 1)


def test_another_path_compiles_nothing() -> None:
    section = nessie.host_section(added_up)
    for n in range(3):
        section([1, 2], n)
    assert len(section.kept) == 1


def test_kinds() -> None:
    """Ints become floats; all else is a union, whose kinds are told apart."""
    assert united(INT, FLOAT) == FLOAT and united(Grid(INT, 1), Grid(FLOAT, 1)) == Grid(FLOAT, 1)
    assert united(INT, BOOL) == Union((INT, BOOL))
    both = united(Grid(BOOL, 1), INT)
    assert united(both, FLOAT) == united(both, Union((FLOAT, INT))) == Union((Grid(BOOL, 1), FLOAT))
    assert united(Items((INT, BOOL)), Items((FLOAT, BOOL))) == Items((FLOAT, BOOL))
    assert united(Items((INT, INT)), Items((INT, BOOL))) == Union((Items((INT, INT)), Items((INT, BOOL))))
    assert shown(both) == "an array of bool or int"
