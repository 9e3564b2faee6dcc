"""Polynomials over names: the form in which lengths, starts and totals of segments are compared and summed.

    3*i + n - 1        (n*n - n)/2

A factor is a name. Coefficients are ints over one common divisor. As text:

    polynomial   sum | "(" sum ")/" number
    sum          ["-"] term { (" + " | " - ") term }
    term         number { "*" factor } | factor { "*" factor }

Invariants (checked by `check`): the factors of a term and the terms are in order, no term stands twice, no
coefficient is 0, and the divisor is positive and has no factor in common with all coefficients. So equal polynomials
are equal data.
"""
from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import reduce
from math import gcd, prod

from nessie.base.records import dataclass
from nessie.base.source import IllFormed

Monomial = tuple[str, ...]
NAME = r"[^\W\d][\w']*"
FACTOR = re.compile(NAME)
SIGN = re.compile("([+-])")


@dataclass(frozen=True)
class Polynomial:
    """The sum of coefficient * product of factors, divided by `divisor`."""
    terms: tuple[tuple[Monomial, int], ...]
    divisor: int = 1


def polynomial(terms: Iterable[tuple[Monomial, int]], divisor: int = 1) -> Polynomial:
    """Return the sum of these terms, in order, over the divisor in lowest terms."""
    found: dict[Monomial, int] = {}
    for monomial, coefficient in terms:
        found[monomial] = found.get(monomial, 0) + coefficient
    kept = sorted((monomial, coefficient) for monomial, coefficient in found.items() if coefficient)
    if divisor == 1:
        return Polynomial(tuple(kept))
    common = gcd(divisor, *(coefficient for _, coefficient in kept))
    return Polynomial(tuple((monomial, coefficient // common) for monomial, coefficient in kept), divisor // common)


def number(value: int) -> Polynomial:
    return Polynomial((((), value),) if value else ())


def name(factor: str) -> Polynomial:
    """Return a name as a polynomial."""
    return Polynomial((((factor,), 1),))


def add(a: Polynomial, b: Polynomial, times: int = 1) -> Polynomial:
    """Return a + times * b."""
    if a.divisor == b.divisor == 1:
        return polynomial([*a.terms, *((monomial, c * times) for monomial, c in b.terms)])
    return polynomial([*((monomial, c * b.divisor) for monomial, c in a.terms),
                       *((monomial, c * a.divisor * times) for monomial, c in b.terms)], a.divisor * b.divisor)


def subtract(a: Polynomial, b: Polynomial) -> Polynomial:
    return add(a, b, -1)


def multiply(a: Polynomial, b: Polynomial) -> Polynomial:
    return polynomial([(tuple(sorted((*m, *n))), c * d) for m, c in a.terms for n, d in b.terms], a.divisor * b.divisor)


def split(exp: Polynomial, factor: str) -> tuple[Polynomial, Polynomial]:
    """Return (a, b) such that exp = a * factor + b, where a has all terms with the factor."""
    inside = [(without(m, factor), c) for m, c in exp.terms if factor in m]
    return (polynomial(inside, exp.divisor),
            polynomial([(m, c) for m, c in exp.terms if factor not in m], exp.divisor))


def powers(exp: Polynomial, factor: str) -> list[Polynomial]:
    """Return the coefficients of the factor's powers, from that of 1 on."""
    higher, lower = split(exp, factor)
    return [lower, *(powers(higher, factor) if higher.terms else ())]


def binomials(exp: Polynomial, factor: str) -> list[Polynomial]:
    """Return c0, c1, ... such that exp = c0 + c1*x + c2*C(x,2) + ..., x being the factor. x^k is the sum of
    S(k,j)*j! * C(x,j), with Stirling's numbers S(k,j)."""
    found = powers(exp, factor)
    ways = surjections(len(found))
    return [total([multiply(number(ways[k][j]), found[k]) for k in range(j, len(found))]) for j in range(len(found))]


def surjections(count: int) -> list[list[int]]:
    """Return S(k,j)*j! for k and j below `count`: in how many ways k things go into j boxes, none of them empty."""
    rows = [[1, *[0] * count]]
    for _ in range(count - 1):
        rows.append([0, *[j * (rows[-1][j] + rows[-1][j - 1]) for j in range(1, count + 1)]])
    return rows


def total(exps: Iterable[Polynomial]) -> Polynomial:
    return reduce(add, exps, number(0))


def without(monomial: Monomial, factor: str) -> Monomial:
    at = monomial.index(factor)
    return monomial[:at] + monomial[at + 1:]


def replaced(exp: Polynomial, mapping: Mapping[str, Polynomial]) -> Polynomial:
    """Return the polynomial with these for its names."""
    return total([reduce(multiply, [mapping.get(factor, name(factor)) for factor in monomial],
                         polynomial([((), c)], exp.divisor)) for monomial, c in exp.terms])


def names(exp: Polynomial) -> set[str]:
    return {factor for monomial, _ in exp.terms for factor in monomial}


def constant(exp: Polynomial) -> int | None:
    """Return the polynomial as a whole number, if it is one."""
    if not exp.terms:
        return 0
    return exp.terms[0][1] if exp.divisor == 1 and len(exp.terms) == 1 and not exp.terms[0][0] else None


def value(exp: Polynomial, values: Mapping[str, int]) -> int:
    """Return the value where names have these values; the division must come out even."""
    total = sum(c * prod(values[factor] for factor in monomial) for monomial, c in exp.terms)
    quotient, rest = divmod(total, exp.divisor)
    if rest:
        raise ValueError(f"{show(exp)} is no whole number")
    return quotient


# Text ---------------------------------------------------------------------------------------------


def show(exp: Polynomial) -> str:
    """Return the polynomial as text, greater terms first."""
    terms = sorted(exp.terms, key=lambda term: (-len(term[0]), term[0]))
    text = "".join(show_term(monomial, c, at == 0) for at, (monomial, c) in enumerate(terms)) or "0"
    return text if exp.divisor == 1 else f"({text})/{exp.divisor}"


def show_term(monomial: Monomial, coefficient: int, first: bool) -> str:
    sign = ("-" if coefficient < 0 else "") if first else (" - " if coefficient < 0 else " + ")
    shown = [] if abs(coefficient) == 1 and monomial else [str(abs(coefficient))]
    return sign + "*".join([*shown, *monomial])


def parse(text: str) -> Polynomial:
    """Return the polynomial of a text like those of `show`; raise ValueError for another."""
    if quotient := re.fullmatch(r"\((.*)\)/([1-9]\d*)", text.strip()):
        return polynomial(parse_terms(quotient[1]), int(quotient[2]))
    return polynomial(parse_terms(text))


def parse_terms(text: str) -> list[tuple[Monomial, int]]:
    terms = SIGN.split(text if text.lstrip().startswith("-") else f"+{text}")
    if terms[0].strip():
        raise ValueError(f"{text!r} is no polynomial")
    return [parse_term(term, -1 if sign == "-" else 1) for sign, term in zip(terms[1::2], terms[2::2], strict=True)]


def parse_term(text: str, sign: int) -> tuple[Monomial, int]:
    first, *others = text.strip().split("*")
    factors, coefficient = ([first, *others], 1) if not first.isdigit() else (others, int(first))
    if not all(FACTOR.fullmatch(factor) for factor in factors):
        raise ValueError(f"{text!r} is no polynomial")
    return tuple(sorted(factors)), sign * coefficient


# Validator ----------------------------------------------------------------------------------------


def check(exp: Polynomial) -> None:
    """Check a Polynomial made outside this module. This module's functions keep the invariants, so passes, which build
    polynomials and pass none on, need no check; the tests of code that makes them do."""
    def require(holds: bool, invariant: str) -> None:
        if not holds:
            raise IllFormed(f"{invariant}: {exp}")

    monomials = [monomial for monomial, _ in exp.terms]
    require(all(FACTOR.fullmatch(f) for m in monomials for f in m), "a factor is a name")
    require(all(list(m) == sorted(m) for m in monomials), "the factors of a term are in order")
    require(all(a < b for a, b in zip(monomials, monomials[1:])), "the terms are in order, each once")
    require(all(c for _, c in exp.terms), "no coefficient is 0")
    require(exp.divisor >= 1, "the divisor is positive")
    require(gcd(exp.divisor, *(c for _, c in exp.terms)) == 1, "the fraction is in lowest terms")
