"""Sums over half-open ranges, and their closed forms. They give the starts and the total of segments of known lengths.

    sum(s < n : 3*s + k)    ==>    (2*k*n + 3*n*n - 3*n)/2

The rules, for N >= 0 (a sum from 0 to N - 1 has N terms):

    sum(i < N : c)          =  N*c                          c without i
    sum(i < N : i)          =  (N*N - N)/2
    sum(i < N : 2^i)        =  2^N - 1
    sum(i < N : c*f + g)    =  c*sum(i < N : f) + sum(i < N : g)
"""
from __future__ import annotations

import re
from collections.abc import Mapping

from nessie.base.records import dataclass
from nessie.base.source import IllFormed
from nessie.lambda_cu.spaces import polynomials
from nessie.lambda_cu.spaces.polynomials import Polynomial, add, multiply, name, number, split, subtract

SUM = re.compile(rf"\s*sum\(\s*(?P<index>{polynomials.NAME})\s*<(?P<bound>[^:]*):(?P<body>.*)\)\s*")


@dataclass(frozen=True)
class Sum:
    """The sum of the body for index = 0 .. bound - 1. Invariants: the bound does not mention the index and is not
    negative; bound and body are polynomials."""
    index: str
    bound: Polynomial
    body: Polynomial


def closed(exp: Sum) -> Polynomial | None:
    """Return the sum in closed form, or None where the rules give none (squares, i*2^i)."""
    linear, rest = split(exp.body, exp.index)
    doubling, rest = split(rest, f"2^{exp.index}")
    doubled = two_to(exp.bound)
    if exp.index in polynomials.names(linear) | polynomials.names(doubling) or (doubling.terms and doubled is None):
        return None
    n = exp.bound
    total = add(multiply(rest, n), multiply(linear, halved(subtract(multiply(n, n), n))))
    return total if doubled is None else add(total, multiply(doubling, subtract(doubled, number(1))))


def halved(exp: Polynomial) -> Polynomial:
    return polynomials.polynomial(exp.terms, 2 * exp.divisor)


def two_to(exp: Polynomial) -> Polynomial | None:
    """Return 2 to the power of a name or a whole number; None for other polynomials."""
    value = polynomials.constant(exp)
    if value is not None:
        return number(2 ** value)
    match exp.terms:
        case (((factor,), 1),) if exp.divisor == 1 and not factor.startswith("2^"):
            return name(f"2^{factor}")
    return None


def value(exp: Sum, values: Mapping[str, int]) -> int:
    """Evaluate the sum by adding up."""
    bound = polynomials.value(exp.bound, values)
    return sum(polynomials.value(exp.body, {**values, exp.index: i}) for i in range(bound))


def show(exp: Sum) -> str:
    return f"sum({exp.index} < {polynomials.show(exp.bound)} : {polynomials.show(exp.body)})"


def parse(text: str) -> Sum:
    found = SUM.fullmatch(text)
    if not found:
        raise ValueError(f"{text!r} is no sum")
    return Sum(found["index"], polynomials.parse(found["bound"]), polynomials.parse(found["body"]))


def check(exp: Sum) -> None:
    """Check a Sum from a text, or in tests of code that makes Sums, before it is closed or evaluated. `closed` and
    `value` assume the invariants."""
    polynomials.check(exp.bound)
    polynomials.check(exp.body)
    if exp.index in polynomials.names(exp.bound):
        raise IllFormed(f"the bound of a sum does not mention its index: {show(exp)}")
    value = polynomials.constant(exp.bound)
    if value is not None and value < 0:
        raise IllFormed(f"the bound of a sum is not negative: {show(exp)}")
