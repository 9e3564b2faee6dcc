"""How many elements rows have together whose lengths are formulas of their positions, without an array of the rows.

  in    the levels of rows, how many the outermost are, and what the names in their lengths stand for
  out   the number of elements; None if a length is negative, or a power of 2 leaves the ints (that another part of a
        length does so is told where lengths are computed). NoSum if there is no closed sum
  how   The rows are cut into parts. In a part each length is a polynomial of the place t: a minimum is one of its two,
        and a quotient is one value or has a remainder that goes round. The sum of C(t,k) for t = 0 .. w-1 is C(w,k+1).
        Bounds of polynomials decide; where they do not, the part is cut in two, at the place that matters if it is
        known. A part of one row has numbers for polynomials.

    min(i, 5), i < n        i, for i < 5; 5, from there on
    i / 2, i < n            (t - (t mod 2)) / 2; all remainders together are a sum like Euclid's

Lengths by several positions have a sum if they are polynomials of all but the outermost. Those of high powers have none
that would be found in some seconds.
"""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from functools import reduce
from math import comb, factorial, prod

from nessie.base.records import dataclass
from nessie.lambda_cu.spaces.polynomials import (
    Polynomial,
    add,
    binomials,
    constant,
    multiply,
    name,
    names,
    number,
    polynomial,
    replaced,
    split,
    subtract,
)
from nessie.lengths.formulas import MOST_SHIFT
from nessie.syntax import nodes as syntax

MOST_PARTS = 2 ** 8
MOST_DEGREE, MOST_TERMS = 30, 2 ** 10        # of a product, and before equal ones are added
MOST_BITS = 2 ** 12                         # of its coefficients
PLACE = "t"                     # in a part; "j1", "j2" are the positions in the levels below, "r1" is a remainder
NONE, ONE = number(0), number(1)


class NoSum(Exception):
    """No closed sum is known."""


class NoLength(Exception):
    """A length is negative, or a power leaves the ints."""


class Cut(Exception):
    """The part must be cut, at this place or in the middle."""

    def __init__(self, at: int | None = None) -> None:
        self.at = at


@dataclass(frozen=True)
class Remainder:
    """(slope*t + offset) mod divisor."""
    slope: int
    offset: int
    divisor: int


def closed_sum(levels: list[syntax.TypeSeq], count: int, numbers: Mapping[str, int]) -> int | None:
    """Return how many elements `count` rows have; the first of the levels is that of the rows."""
    total, waiting, parts = 0, [(0, count)] if count else [], 0
    while waiting:
        start, stop = waiting.pop()
        parts += 1
        if parts > MOST_PARTS:
            raise NoSum
        try:
            total += Part(start, stop - start, dict(numbers)).sum(levels)
        except Cut as cut:
            if stop - start == 1:
                raise NoSum from None
            at = start + cut.at if cut.at is not None and 0 < cut.at < stop - start else (start + stop) // 2
            waiting += [(start, at), (at, stop)]
        except NoLength:
            return None
    return total


@dataclass
class Part:
    """`size` rows, from `start` on. `most`: the greatest value of each variable, the least is 0; `within`: for the
    position in a level below, the length of the row."""
    start: int
    size: int
    numbers: Mapping[str, int]
    positions: dict[str, Polynomial] = field(default_factory=dict)
    most: dict[str, int] = field(default_factory=dict)
    within: dict[str, Polynomial] = field(default_factory=dict)
    remainders: dict[str, Remainder] = field(default_factory=dict)

    def sum(self, levels: list[syntax.TypeSeq]) -> int:
        """Return the number of elements of all rows together."""
        self.most[PLACE] = self.size - 1
        place = name(PLACE) if self.size > 1 else NONE
        self.positions[levels[0].index] = add(number(self.start), place)
        return self.summed(self.elements(levels[1:]))

    def elements(self, levels: list[syntax.TypeSeq]) -> Polynomial:
        """Return the number of elements of a row at these positions, which has these levels."""
        level, below = levels[0], levels[1:]
        assert level.length is not None
        length = self.value(level.length)
        low, high = self.bounds(length)
        if low < 0:
            if not self.within and (high < 0 or self.is_line(length)):      # a line comes as low as its bound
                raise NoLength
            raise self.cut(length)
        if not below or high == 0:
            return length
        own = f"j{len(self.within) + 1}"
        self.most[own], self.within[own] = high - 1, length
        self.positions[level.index] = name(own)
        inside = self.elements(below)
        del self.within[own]
        return reduce(add, [product(c, chosen(length, k + 1)) for k, c in enumerate(binomials(inside, own))])

    # Formulas -------------------------------------------------------------------------------------

    def value(self, exp: syntax.Exp) -> Polynomial:
        match exp:
            case syntax.Name(named):
                return self.positions[named] if named in self.positions else number(self.numbers[named])
            case syntax.Number(int(value)):
                return number(value)
            case syntax.Unary(_, a):
                return subtract(NONE, self.value(a))
            case syntax.Binary("^", syntax.Number(2), b):
                return self.power_of_two(self.value(b))
            case syntax.Binary("^", a, syntax.Number(int(power))):
                return reduce(product, [self.value(a)] * power, ONE)
            case syntax.Binary(operator, a, b) | syntax.Apply(syntax.Name(operator), syntax.Pair(a, b)):
                return self.operation(operator, self.value(a), self.value(b))
        raise TypeError(exp)

    def operation(self, operator: str, a: Polynomial, b: Polynomial) -> Polynomial:
        match operator:
            case "+":
                return add(a, b)
            case "-":
                return subtract(a, b)
            case "*":
                return product(a, b)
            case "min":
                return a if self.is_positive(subtract(b, a)) else b
            case "max":
                return a if self.is_positive(subtract(a, b)) else b
        divisor = constant(b)
        assert divisor is not None
        if operator == "mod":
            return self.remainder(a, divisor)
        below = not self.is_positive(a)             # a quotient is rounded towards 0
        size = subtract(NONE, a) if below else a
        found = self.remainder(size, divisor)
        if operator == "/":
            found = multiply(subtract(size, found), polynomial([((), 1)], divisor))
        return subtract(NONE, found) if below else found

    def is_positive(self, exp: Polynomial) -> bool:
        """Is the value at least 0 in all of the part? False: it is at most 0."""
        low, high = self.bounds(exp)
        if low < 0 < high:
            raise self.cut(exp)
        return low >= 0

    def power_of_two(self, power: Polynomial) -> Polynomial:
        low, high = self.bounds(power)
        if low > MOST_SHIFT or high < 0:
            raise NoLength
        if low != high:
            raise self.cut(power)
        return number(2 ** low)

    def remainder(self, exp: Polynomial, divisor: int) -> Polynomial:
        """Return exp mod divisor."""
        low, high = self.bounds(exp)
        if low // divisor == high // divisor:
            return subtract(exp, number(low // divisor * divisor))
        if is_whole(multiply(exp, polynomial([((), 1)], divisor)), sorted(names(exp))):
            return NONE
        if not self.is_line(exp):
            raise self.cut(exp)
        slope, offset = ((constant(c) or 0) % divisor for c in split(exp, PLACE))
        if slope == 0:
            return number(offset)
        found = Remainder(slope, offset, divisor)
        own = next((known for known, one in self.remainders.items() if one == found), f"r{len(self.remainders) + 1}")
        self.remainders[own], self.most[own] = found, divisor - 1
        return name(own)

    # Bounds ---------------------------------------------------------------------------------------

    def bounds(self, exp: Polynomial) -> tuple[int, int]:
        """Return whole numbers between which the value lies. Of positions, the distance from their last is tried, too:
        i - j, j < i, is 1 + (i - 1 - j)."""
        low, high = self.by_signs(exp)
        for own in names(exp) & self.within.keys():
            if degree(exp) * degree(self.within[own]) > MOST_DEGREE:
                continue
            turned = replaced(exp, {own: subtract(subtract(self.within[own], ONE), name(own))})
            other = self.by_signs(turned)
            low, high = max(low, other[0]), min(high, other[1])
        return low, high

    def by_signs(self, exp: Polynomial) -> tuple[int, int]:
        low = high = 0
        for monomial, c in exp.terms:
            value = c * prod([self.most[factor] for factor in monomial])
            low, high = low + (min(0, value) if monomial else value), high + (max(0, value) if monomial else value)
        return -(-low // exp.divisor), high // exp.divisor

    def is_line(self, exp: Polynomial) -> bool:
        """Is the value slope*t + offset, for whole numbers?"""
        return exp.divisor == 1 and all(monomial in ((), (PLACE,)) for monomial, _ in exp.terms)

    def cut(self, exp: Polynomial) -> Exception:
        """Return where the part is cut for an expression whose sign changes. NoSum: no cut helps."""
        variables = names(exp)
        if not variables or not variables <= {PLACE, *self.remainders}:
            return NoSum()
        if not self.is_line(exp):
            return Cut()
        slope, offset = (constant(c) or 0 for c in split(exp, PLACE))
        return Cut(-(offset // slope))

    # Sums -----------------------------------------------------------------------------------------

    def summed(self, exp: Polynomial) -> int:
        """Return the sum of the values at all places of the part."""
        plain = polynomial([(m, c) for m, c in exp.terms if self.remainders.keys().isdisjoint(m)])
        found = sum([(constant(c) or 0) * comb(self.size, k + 1) for k, c in enumerate(binomials(plain, PLACE))])
        for monomial, c in exp.terms:
            for remainder in [self.remainders[factor] for factor in monomial if factor in self.remainders][:1]:
                if len(monomial) > 1:
                    raise Cut(next_round(remainder))
                found += c * sum_of_remainders(remainder, self.size)
        return found // exp.divisor


def product(a: Polynomial, b: Polynomial) -> Polynomial:
    """Return a * b. NoSum if it is large."""
    if len(a.terms) * len(b.terms) > MOST_TERMS or degree(a) + degree(b) > MOST_DEGREE or bits(a) + bits(b) > MOST_BITS:
        raise NoSum
    return multiply(a, b)


def degree(exp: Polynomial) -> int:
    return max([len(monomial) for monomial, _ in exp.terms], default=0)


def bits(exp: Polynomial) -> int:
    return max([c.bit_length() for _, c in exp.terms], default=0)


def chosen(exp: Polynomial, k: int) -> Polynomial:
    """Return C(exp, k)."""
    falling = reduce(product, [subtract(exp, number(below)) for below in range(k)], ONE)
    return multiply(falling, polynomial([((), 1)], factorial(k)))


def is_whole(exp: Polynomial, variables: list[str]) -> bool:
    """Are all values whole numbers? They are if the coefficients by binomials are."""
    if exp.divisor == 1 or not variables:
        return exp.divisor == 1
    return all([is_whole(c, variables[1:]) for c in binomials(exp, variables[0])])


def next_round(remainder: Remainder) -> int:
    """Return the place at which the remainder has passed its divisor for the first time."""
    return -((remainder.offset - remainder.divisor) // remainder.slope)


def sum_of_remainders(remainder: Remainder, count: int) -> int:
    slope, offset, divisor = remainder.slope, remainder.offset, remainder.divisor
    all_of_it = slope * comb(count, 2) + offset * count
    return all_of_it - divisor * sum_of_quotients(slope, offset, divisor, count)


def sum_of_quotients(slope: int, offset: int, divisor: int, count: int) -> int:
    """Return the sum of (slope*t + offset) / divisor, rounded down, for t = 0 .. count-1. What is whole of both is a
    sum of its own; of the rest, points below a line are counted by columns, then by rows."""
    found = 0
    while count:
        found += slope // divisor * comb(count, 2) + offset // divisor * count
        slope, offset = slope % divisor, offset % divisor
        last = slope * count + offset
        count, offset, slope, divisor = last // divisor, last % divisor, divisor, slope
    return found
