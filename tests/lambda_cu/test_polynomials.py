"""Polynomials and sums: their arithmetic, their text, their closed forms, and what their validators say."""
from __future__ import annotations

import pytest
from amounts import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from nessie.base.source import IllFormed
from nessie.lambda_cu.spaces import polynomials, sums
from nessie.lambda_cu.spaces.polynomials import Polynomial, add, constant, multiply, number, polynomial, split, subtract
from nessie.lambda_cu.spaces.sums import Sum

NAMES = ("n", "k", "i", "n_2", "c'2")
numbers = st.integers(-9, 9)
values = st.fixed_dictionaries({name: st.integers(0, 12) for name in NAMES})
factors = st.sampled_from([*NAMES, "2^n", "2^i"])
whole = st.lists(st.tuples(st.lists(factors, max_size=3).map(lambda f: tuple(sorted(f))), numbers), max_size=5).map(
    polynomial)
quotients = st.builds(polynomial, whole.map(lambda p: p.terms), st.integers(1, 6))
bounds = st.one_of(st.integers(0, 9).map(number), st.sampled_from(["n", "k"]).map(polynomials.name),
                   st.builds(lambda k: add(polynomials.name("n"), number(k)), st.integers(0, 5)))
MONOMIALS = ((), ("i",), ("2^i",), ("k",), ("i", "k"), ("2^i", "k"), ("k", "k"))
bodies = st.lists(st.tuples(st.sampled_from(MONOMIALS), numbers), max_size=5).map(polynomial)


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


# Sums -------------------------------------------------------------------------------------------


@settings(max_examples=examples(300))
@given(bounds, bodies, values)
def test_closed_form_is_the_sum(bound: Polynomial, body: Polynomial, at: dict[str, int]) -> None:
    total = Sum("i", bound, body)
    sums.check(total)
    form = sums.closed(total)
    if form is None:            # 2^i up to what is neither a name nor a number
        assert any("2^i" in m for m, _ in body.terms)
        assert len(bound.terms) == 2
        return
    polynomials.check(form)
    assert "i" not in polynomials.names(form)
    assert polynomials.value(form, at) == sums.value(total, at)


@given(bounds, bodies)
def test_text_of_sums_reads_back(bound: Polynomial, body: Polynomial) -> None:
    total = Sum("i", bound, body)
    assert sums.parse(sums.show(total)) == total


@pytest.mark.parametrize(("text", "form"), [
    ("sum(i < n : c)", "c*n"),
    ("sum(i < n : i)", "(n*n - n)/2"),
    ("sum(i < n : 2^i)", "2^n - 1"),
    ("sum(s < n : 3*s + k)", "(2*k*n + 3*n*n - 3*n)/2"),
    ("sum(i < n : i + 1)", "(n*n + n)/2"),
    ("sum(i < 4 : 5*2^i)", "75"),
    ("sum(i < 0 : i + 7)", "0"),
])
def test_rules(text: str, form: str) -> None:
    closed = sums.closed(sums.parse(text))
    assert closed is not None
    assert polynomials.show(closed) == form


@pytest.mark.parametrize("text", ["sum(i < n : i*i)", "sum(i < n : i*2^i)", "sum(i < n + 1 : 2^i)"])
def test_no_rule(text: str) -> None:
    assert sums.closed(sums.parse(text)) is None


@pytest.mark.parametrize(("text", "invariant"), [
    ("sum(i < i : 1)", "does not mention its index"), ("sum(i < -1 : 1)", "is not negative")])
def test_validator_of_sums(text: str, invariant: str) -> None:
    with pytest.raises(IllFormed, match=invariant):
        sums.check(sums.parse(text))


@pytest.mark.parametrize("text", ["sum(i < n)", "i < n : 3", "sum(2 < n : 3)", "sum(i < n : )"])
def test_no_sum(text: str) -> None:
    with pytest.raises(ValueError, match="is no"):
        sums.parse(text)
