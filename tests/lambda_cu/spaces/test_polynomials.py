"""Polynomials: their arithmetic, their text, and what their validator says."""
from __future__ import annotations

from math import comb

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nessie.base.source import IllFormed
from nessie.base.system.deadline import Deadline
from nessie.base.system.deep import run_deep
from nessie.lambda_cu.spaces import polynomials
from nessie.lambda_cu.spaces.polynomials import (
    Polynomial,
    add,
    binomials,
    constant,
    multiply,
    number,
    polynomial,
    split,
    subtract,
)

NAMES = ("n", "k", "i", "n_2", "c'2")
numbers = st.integers(-9, 9)
values = st.fixed_dictionaries({name: st.integers(0, 12) for name in NAMES})
factors = st.sampled_from(NAMES)
whole = st.lists(st.tuples(st.lists(factors, max_size=3).map(lambda f: tuple(sorted(f))), numbers), max_size=5).map(
    polynomial)
quotients = st.builds(polynomial, whole.map(lambda p: p.terms), st.integers(1, 6))


@given(whole, whole, values)
def test_arithmetic(a: Polynomial, b: Polynomial, at: dict[str, int]) -> None:
    x, y = polynomials.value(a, at), polynomials.value(b, at)
    assert polynomials.value(add(a, b), at) == x + y
    assert polynomials.value(add(a, b, -3), at) == x - 3 * y
    assert polynomials.value(subtract(a, b), at) == x - y
    assert polynomials.value(multiply(a, b), at) == x * y
    assert subtract(a, a) == number(0)
    assert add(a, b) == add(b, a)


@given(whole, st.sampled_from(NAMES), values)
def test_split(a: Polynomial, name: str, at: dict[str, int]) -> None:
    inside, rest = split(a, name)
    assert add(multiply(inside, polynomials.name(name)), rest) == a
    assert all(name not in monomial for monomial, _ in rest.terms)


@given(whole, values)
def test_binomials(a: Polynomial, at: dict[str, int]) -> None:
    found = binomials(a, "i")
    assert sum(polynomials.value(c, at) * comb(at["i"], k) for k, c in enumerate(found)) == polynomials.value(a, at)
    assert all("i" not in polynomials.names(c) for c in found)


def test_binomials_of_a_high_power() -> None:
    """By sums of what is known of lower ones: there are 2^60 ways down."""
    found = run_deep(lambda: binomials(polynomial([(("i",) * 60, 1), (("i",), -7)]), "i"), Deadline(60, ""))
    for i in (0, 1, 2, 61):
        assert sum((constant(c) or 0) * comb(i, k) for k, c in enumerate(found)) == i ** 60 - 7 * i


@given(quotients)
def test_text_reads_back(a: Polynomial) -> None:
    polynomials.check(a)
    assert polynomials.parse(polynomials.show(a)) == a


def test_texts() -> None:
    n, i = polynomials.name("n"), polynomials.name("i")
    assert polynomials.show(subtract(add(n, i, 3), number(1))) == "3*i + n - 1"
    assert polynomials.show(polynomial([(("n", "n"), 2), (("n",), -2)], 4)) == "(n*n - n)/2"
    assert polynomials.show(number(0)) == "0"
    assert constant(number(-7)) == -7
    assert constant(n) is None


@pytest.mark.parametrize("text", ["", "n +", "2n", "n*", "3**n", "(n)/0x", "n n", "*n", "3 3", "n^2"])
def test_no_polynomial(text: str) -> None:
    with pytest.raises(ValueError, match="is no polynomial"):
        polynomials.parse(text)


@pytest.mark.parametrize(("broken", "invariant"), [
    (Polynomial(((("n-1",), 1),)), "a factor is a name"),
    (Polynomial(((("n", "k"), 1),)), "the factors of a term are in order"),
    (Polynomial(((("n",), 1), (("k",), 1))), "the terms are in order"),
    (Polynomial(((("n",), 1), (("n",), 2))), "the terms are in order"),
    (Polynomial(((("n",), 0),)), "no coefficient is 0"),
    (Polynomial(((("n",), 1),), -2), "the divisor is positive"),
    (Polynomial(((("n",), 4),), 2), "in lowest terms"),
])
def test_validator(broken: Polynomial, invariant: str) -> None:
    with pytest.raises(IllFormed, match=invariant):
        polynomials.check(broken)
