"""The terms of step polynomials, and their sums, as expressions of a segment's number.

The sum of a term that counts from `first` on is F(s) - F(min(s, first)), where F(x) is the sum for i = 0 .. x-1:

    C(i,k)          C(x,k+1)
    C(i,k)*2^i      D(k) = C(x,k)*2^x - 2*D(k-1); D(0) = 2^x - 1
    (i + b) / m     G(x + b) - G(b)                                     G(y) = m*C(q,2) + (y - m*q)*q with q = y/m

Starts are exact as long as they are ints, however large parts of them grow: sums and products wrap, and C(x,k) is
computed without a division. One of each two neighbours is halved before they are multiplied, and division by an odd
number is multiplication by its inverse modulo 2^64:

    C(x,2)    = (x/2) * ((x - 1) or 1)                  the even one of x and x - 1, halved, times the other
    C(x,2k)   = C(x/2,k) * ((x - 1) or 1) * ((x - 3) or 1) * ... / (1*3*...*(2k - 1))
    C(x,2k+1) = C(x,2k) * (x - 2k) / (2k + 1)

A total is exact if it is an int, which its value in floats tells (`about`): it is wrong by less than a word.

These are the rules of Pizzuti, Steuwer and Dubach, *Position-Dependent Arrays* (FHPNC 2019), section 5.3, corrected
(docs/errata.md), and with the sums that they lack.
"""
from __future__ import annotations

import operator
from collections.abc import Callable
from functools import reduce
from math import comb, factorial, prod
from typing import Any

from nessie.lambda_cu import nodes as ir

WORD = 2 ** 64
MOST_SHIFT = 63


def value_at(terms: tuple[ir.Term, ...], segment: ir.Exp) -> ir.Exp:
    """Return what the terms together are at a segment: its number of elements."""
    return INTS.sum([counted_from(term, segment, term_at(term, segment)) for term in terms])


def sum_at(terms: tuple[ir.Term, ...], segment: ir.Exp) -> ir.Exp:
    """Return the sum of the terms for the segments before this one: where it starts."""
    return INTS.sum([sum_before(INTS, term, segment) for term in terms])


def about(space: ir.Closed) -> ir.Exp:
    """Return the number of elements, as a float."""
    return FLOATS.sum([sum_before(FLOATS, term, FLOATS.size(space.segments)) for term in space.terms])


# Numbers ------------------------------------------------------------------------------------------


class Ints:
    """Ints that wrap, as expressions; what is known is computed."""
    type = "int"

    def number(self, value: int) -> ir.Const:
        """Return the int that the value is modulo 2^64."""
        return ir.Const((value + WORD // 2) % WORD - WORD // 2, "int")

    def folded(self, of: Callable[[Any, Any], Any], a: ir.Const, b: ir.Const) -> ir.Const:
        """Return the result on constants."""
        return self.number(of(a.value, b.value))

    def size(self, size: ir.Size) -> ir.Exp:
        return self.number(size) if isinstance(size, int) else ir.Var(size)

    def plus(self, a: ir.Exp, b: ir.Exp) -> ir.Exp:
        if isinstance(a, ir.Const) and isinstance(b, ir.Const):
            return self.folded(operator.add, a, b)
        if a == self.number(0):
            return b
        return a if b == self.number(0) else op("+", a, b)

    def minus(self, a: ir.Exp, b: ir.Exp) -> ir.Exp:
        if isinstance(a, ir.Const) and isinstance(b, ir.Const):
            return self.folded(operator.sub, a, b)
        if b == self.number(0):
            return a
        return self.number(0) if isinstance(a, ir.Var) and a == b else op("-", a, b)

    def times(self, a: ir.Exp, b: ir.Exp) -> ir.Exp:
        if isinstance(a, ir.Const) and isinstance(b, ir.Const):
            return self.folded(operator.mul, a, b)
        if self.number(0) in (a, b):
            return self.number(0)
        if a == self.number(1):
            return b
        return a if b == self.number(1) else op("*", a, b)

    def sum(self, exps: list[ir.Exp]) -> ir.Exp:
        none: ir.Exp = self.number(0)
        return reduce(self.plus, exps, none)

    def power_of_two(self, x: ir.Exp) -> ir.Exp:
        """Return 2^x; beyond what ints hold, one number for all."""
        return op("lshift", ONE, op("min", x, self.number(MOST_SHIFT)))

    def quotient(self, a: ir.Exp, divisor: int) -> ir.Exp:
        """Return a/divisor, rounded down, for a >= 0."""
        return self.number(int(a.value) // divisor) if isinstance(a, ir.Const) else op("/", a, self.number(divisor))

    def floor_sum(self, y: ir.Exp, divisor: int) -> ir.Exp:
        """Return the sum of i/divisor, rounded down, for i = 0 .. y-1."""
        whole = self.quotient(y, divisor)
        rest = self.minus(y, self.times(self.number(divisor), whole))
        return self.plus(self.times(self.number(divisor), self.binomial(whole, 2)), self.times(rest, whole))

    def binomial(self, x: ir.Exp, k: int) -> ir.Exp:
        """Return C(x, k) for x >= 0."""
        if isinstance(x, ir.Const):
            return self.number(comb(int(x.value), k))
        if k <= 1:
            return x if k else ONE
        if k % 2:
            return self.divided(self.times(self.binomial(x, k - 1), self.minus(x, self.number(k - 1))), k)
        half = self.binomial(op("rshift", x, ONE), k // 2)
        odd = [op("or", self.minus(x, self.number(below)), ONE) for below in range(1, k, 2)]
        return self.divided(reduce(self.times, odd, half), prod(range(1, k, 2)))

    def divided(self, exp: ir.Exp, odd: int) -> ir.Exp:
        """Return a multiple of an odd number, divided by it."""
        return self.times(exp, self.number(pow(odd, -1, WORD)))


class Floats(Ints):
    """Floats that are about what the ints would be if they did not wrap."""
    type = "float"

    def number(self, value: int) -> ir.Const:
        return ir.Const(float(value), "float")

    def size(self, size: ir.Size) -> ir.Exp:
        return self.number(size) if isinstance(size, int) else op("float", ir.Var(size))

    def folded(self, of: Callable[[Any, Any], Any], a: ir.Const, b: ir.Const) -> ir.Const:
        return ir.Const(float(of(a.value, b.value)), "float")

    def quotient(self, a: ir.Exp, divisor: int) -> ir.Exp:
        if isinstance(a, ir.Const):
            return self.folded(operator.floordiv, a, self.number(divisor))
        return op("float", op("floor", op("/", a, self.number(divisor))))

    def power_of_two(self, x: ir.Exp) -> ir.Exp:
        last = op("min", op("trunc", x), ir.Const(MOST_SHIFT - 1, "int"))
        return op("float", op("lshift", ONE, last))

    def binomial(self, x: ir.Exp, k: int) -> ir.Exp:
        one: ir.Exp = self.number(1)
        falling = reduce(self.times, [self.minus(x, self.number(below)) for below in range(k)], one)
        return self.times(falling, ir.Const(1 / factorial(k), "float"))


def op(name: str, *arguments: ir.Exp) -> ir.Exp:
    return ir.Op(name, arguments)


INTS, FLOATS = Ints(), Floats()
ZERO, ONE = INTS.number(0), INTS.number(1)


# Terms --------------------------------------------------------------------------------------------


def counted_from(term: ir.Term, segment: ir.Exp, value: ir.Exp) -> ir.Exp:
    return value if term.first == 0 else ir.If(op(">=", segment, INTS.size(term.first)), value, ZERO)


def term_at(term: ir.Term, segment: ir.Exp) -> ir.Exp:
    match term:
        case ir.Binomial(_, coefficients, doubling):
            value = combined(INTS, coefficients, [INTS.binomial(segment, k) for k in range(len(coefficients))])
            return INTS.times(value, INTS.power_of_two(segment)) if doubling else value
        case ir.Floor(_, factor, offset, divisor):
            return INTS.times(INTS.size(factor), INTS.quotient(INTS.plus(segment, INTS.size(offset)), divisor))
    raise TypeError(term)


def combined(numbers: Ints, coefficients: tuple[ir.Size, ...], values: list[ir.Exp]) -> ir.Exp:
    return numbers.sum([numbers.times(numbers.size(c), value) for c, value in zip(coefficients, values, strict=True)])


def sum_before(numbers: Ints, term: ir.Term, segment: ir.Exp) -> ir.Exp:
    """Return the sum of the term for the segments before this one."""
    until = sum_to(numbers, term, segment)
    if term.first == 0:
        return until
    return numbers.minus(until, sum_to(numbers, term, op("min", segment, numbers.size(term.first))))


def sum_to(numbers: Ints, term: ir.Term, x: ir.Exp) -> ir.Exp:
    """Return the sum of the term for i = 0 .. x-1, wherever it counts."""
    match term:
        case ir.Binomial(_, coefficients, doubling):
            count = len(coefficients)
            sums = doubled_sums(numbers, x, count) if doubling else [numbers.binomial(x, k + 1) for k in range(count)]
            return combined(numbers, coefficients, sums)
        case ir.Floor(_, factor, offset, divisor):
            b = numbers.size(offset)
            sums = [numbers.floor_sum(y, divisor) for y in (numbers.plus(x, b), b)]
            return numbers.times(numbers.size(factor), numbers.minus(*sums))
    raise TypeError(term)


def doubled_sums(numbers: Ints, x: ir.Exp, count: int) -> list[ir.Exp]:
    """Return the sums of C(i,k)*2^i for i = 0 .. x-1, k = 0 .. count-1."""
    power = numbers.power_of_two(x)
    found = [numbers.minus(power, numbers.number(1))]
    for k in range(1, count):
        twice = numbers.times(numbers.number(2), found[-1])
        found.append(numbers.minus(numbers.times(numbers.binomial(x, k), power), twice))
    return found
