"""Step polynomials: the lengths of position-dependent arrays, closed under + - * min max, choices, floor quotients and
sums (lambda_cu.spaces.closed).

    min(n, i + b) - max(0, i - b)   ==>   (b + i) + [i + b >= n]*(n - i - b) - [i >= b]*(i - b)

A step polynomial of i is a sum of terms [places] * p(i), perhaps times 2^i or a floor quotient. p is a polynomial over
i and names of the host. A place is a condition slope*i + offset >= 0: from some i on it holds for good. A term counts
where all its places hold, which is from the last of them on; so the product of two terms is a term, too.

min, max and choices multiply by 1 or 0: min(a, b) = [b >= a]*a + (1 - [b >= a])*b. Where a difference is piecewise,
each combination of its places is a case of its own. What has no such form raises NoForm: squares in a condition, a
slope that is a name, a power within a power.
"""
from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import product

from nessie.base.records import dataclass
from nessie.lambda_cu.spaces import polynomials
from nessie.lambda_cu.spaces.polynomials import Polynomial, add, constant, multiply, name, number, split, subtract

INDEX = "i"
MOST_CASES = 5                  # places whose combinations are told apart
ONE, ZERO = number(1), number(0)


class NoForm(Exception):
    """The expression is no step polynomial; the message says why. `part`: what of it stands in the way."""

    def __init__(self, why: str, part: object = None) -> None:
        super().__init__(why)
        self.part = part


class MayWrap(NoForm):
    """As far as is known a part of it may be greater than an int can be."""


@dataclass(frozen=True)
class Place:
    """slope*i + offset >= 0, where slope >= 0 and the offset does not mention i. With slope 0 it holds everywhere or
    nowhere, as the host says."""
    slope: int
    offset: Polynomial


@dataclass(frozen=True)
class Quotient:
    """(slope*i + offset) / divisor, rounded down; 0 <= slope < divisor."""
    slope: int
    offset: Polynomial
    divisor: int


@dataclass(frozen=True)
class Kind:
    """What a term is besides its polynomial: where it counts, and by what it is multiplied."""
    places: frozenset[Place] = frozenset()
    doubling: bool = False
    quotient: Quotient | None = None


Steps = dict[Kind, Polynomial]
PLAIN = Kind()


# Building -----------------------------------------------------------------------------------------


def lift(exp: Polynomial) -> Steps:
    return {PLAIN: exp} if exp.terms else {}


def total(terms: Iterable[tuple[Kind, Polynomial]]) -> Steps:
    """Return the sum of the terms, those of one kind together."""
    found: Steps = {}
    for kind, exp in terms:
        found[kind] = add(found.get(kind, ZERO), exp)
    return {kind: exp for kind, exp in found.items() if exp.terms}


def plus(a: Steps, b: Steps, factor: int = 1) -> Steps:
    """Return a + factor * b."""
    return total([*a.items(), *[(kind, multiply(exp, number(factor))) for kind, exp in b.items()]])


def minus(a: Steps, b: Steps) -> Steps:
    return plus(a, b, -1)


def times(a: Steps, b: Steps) -> Steps:
    return total([(both(k, m), multiply(p, q)) for k, p in a.items() for m, q in b.items()])


def both(a: Kind, b: Kind) -> Kind:
    """Return the kind of the product of two terms."""
    if (a.doubling or a.quotient) and (b.doubling or b.quotient):
        raise NoForm("powers of 2, or quotients, are multiplied with each other")
    return Kind(last_places(a.places | b.places), a.doubling or b.doubling, a.quotient or b.quotient)


def last_places(places: Iterable[Place]) -> frozenset[Place]:
    """Return the places without those that hold wherever others do, or everywhere."""
    kept: list[Place] = []
    for place in places:
        value = constant(place.offset)
        if value is not None and value >= 0:
            continue
        if not any(implies(other, place) for other in kept):
            kept = [other for other in kept if not implies(place, other)] + [place]
    return frozenset(kept)


def implies(a: Place, b: Place) -> bool:
    """Does b hold wherever a holds? Known for places of one slope whose offsets differ by a number."""
    apart = constant(subtract(b.offset, a.offset))
    return a.slope == b.slope and apart is not None and apart >= 0


def step(place: Place) -> Steps:
    """Return 1 from the place on, 0 before it."""
    return {Kind(last_places([place])): ONE}


def on_host_only(exp: Steps) -> bool:
    """Is the expression the same for all i?"""
    return all(kind == PLAIN and all(INDEX not in monomial for monomial, _ in p.terms) for kind, p in exp.items())


# Conditions ---------------------------------------------------------------------------------------


def cases(exp: Steps) -> Iterator[tuple[Steps, Steps]]:
    """Yield, for each combination of the places, 1 where it is the one that holds, and what the expression is there."""
    places = sorted({place for kind in exp for place in kind.places}, key=repr)
    if len(places) > MOST_CASES:
        raise NoForm("there are too many cases, of min, max, if and remainders")
    for holding in product((False, True), repeat=len(places)):
        active = {place for place, holds in zip(places, holding, strict=True) if holds}
        where = lift(ONE)
        for place in places:
            where = times(where, step(place) if place in active else minus(lift(ONE), step(place)))
        if where:
            yield where, total([(Kind(doubling=kind.doubling, quotient=kind.quotient), p)
                                for kind, p in exp.items() if kind.places <= active])


def linear(exp: Steps) -> tuple[int, Polynomial]:
    """Return (slope, offset) of a case that is slope*i + offset."""
    if any(kind != PLAIN for kind in exp):
        raise NoForm("a power or a quotient is compared, as by min or max, or divided")
    slope, offset = split(exp.get(PLAIN, ZERO), INDEX)
    steps = constant(slope)
    if steps is None:
        square = INDEX in polynomials.names(slope)
        raise NoForm("a square of the position is compared, as by min or max, or divided" if square else
                     "the position times a name is compared, as by min or max, or divided")
    return steps, offset


def not_negative(exp: Steps) -> Steps:
    """Return 1 where the expression is at least 0, else 0."""
    found: Steps = {}
    for where, inside in cases(exp):
        slope, offset = linear(inside)
        if slope >= 0:
            truth = step(Place(slope, offset))
        else:                               # up to some i: not (-slope*i - offset - 1 >= 0)
            truth = minus(lift(ONE), step(Place(-slope, subtract(number(-1), offset))))
        found = plus(found, times(where, truth))
    return found


def choose(truth: Steps, then: Steps, orelse: Steps) -> Steps:
    """Return `then` where the truth is 1, `orelse` where it is 0."""
    return plus(orelse, times(truth, minus(then, orelse)))


def least(a: Steps, b: Steps) -> Steps:
    """Return min(a, b); at a tie, what stands first."""
    return choose(not_negative(minus(b, a)), a, b)


def greatest(a: Steps, b: Steps) -> Steps:
    return choose(not_negative(minus(a, b)), a, b)


# Quotients and powers -----------------------------------------------------------------------------


def quotient(exp: Steps, divisor: int) -> Steps:
    """Return exp / divisor, rounded down, for a divisor of at least 1."""
    found: Steps = {}
    for where, inside in cases(exp):
        if (exact := exact_quotient(inside, divisor)) is not None:
            found = plus(found, times(where, lift(exact)))
            continue
        slope, offset = linear(inside)
        whole, rest = divmod(slope, divisor)
        part = plus(lift(multiply(number(whole), name(INDEX))), rounded(rest, offset, divisor))
        found = plus(found, times(where, part))
    return found


def exact_quotient(exp: Steps, divisor: int) -> Polynomial | None:
    """Return exp / divisor if it is a polynomial whose values are whole: i*(i + 1)/2."""
    if any(kind != PLAIN for kind in exp):
        return None
    found = multiply(exp.get(PLAIN, ZERO), polynomials.polynomial([((), 1)], divisor))
    return found if all(c.divisor == 1 for c in polynomials.binomials(found, INDEX)) else None


def residue(exp: Steps, divisor: int, value: int) -> Steps:
    """Return 1 where the remainder of exp by the divisor, which is not negative, is this value, else 0."""
    rest = minus(exp, lift(number(value)))
    return minus(quotient(rest, divisor), quotient(minus(rest, lift(ONE)), divisor))


def rounded(slope: int, offset: Polynomial, divisor: int) -> Steps:
    """Return (slope*i + offset) / divisor, rounded down, where 0 <= slope < divisor. What the divisor divides needs no
    rounding."""
    whole = polynomials.polynomial([(m, c // divisor) for m, c in offset.terms])
    rest = subtract(offset, multiply(number(divisor), whole))
    if slope == 0 and not rest.terms:
        return lift(whole)
    if slope == divisor - 1 and divisor > 2:            # i + (b - i)/m, rounded down, is i - (i - b + m - 1)/m
        up = rounded(1, subtract(number(divisor - 1), rest), divisor)
        return minus(lift(add(name(INDEX), whole)), up)
    return plus(lift(whole), {Kind(quotient=Quotient(slope, rest, divisor)): ONE})


def doubled(exp: Steps) -> Steps:
    """Return 2 to the power of an expression that is i + c or c in each case, where c >= 0 is a number."""
    found: Steps = {}
    for where, inside in cases(exp):
        slope, offset = linear(inside)
        power = constant(offset)
        if slope not in (0, 1) or power is None or not 0 <= power < 63:
            raise NoForm("an exponent is other than the position plus a number")
        found = plus(found, times(where, {Kind(doubling=slope == 1): number(2 ** power)}))
    return found


# Text ---------------------------------------------------------------------------------------------


def show(exp: Steps) -> str:
    """Return the sum of the terms, a condition in brackets being 1 or 0: i + 1 + [i >= b]*(b - i)."""
    return " + ".join([show_term(kind, part) for kind, part in exp.items()]) or "0"


def show_term(kind: Kind, part: Polynomial) -> str:
    factors = [f"[{show_place(place)}]" for place in sorted(kind.places, key=repr)]
    if kind.doubling:
        factors.append(f"2^{INDEX}")
    if kind.quotient is not None:
        whole = add(multiply(number(kind.quotient.slope), name(INDEX)), kind.quotient.offset)
        factors.append(f"({polynomials.show(whole)})/{kind.quotient.divisor}")
    shown = polynomials.show(part)
    if factors and part == ONE:
        return "*".join(factors)
    return "*".join([*factors, f"({shown})" if factors and len(part.terms) > 1 else shown])


def show_place(place: Place) -> str:
    """Return i >= 3, 2*i >= n - b."""
    if place.slope == 0:
        return f"{polynomials.show(place.offset)} >= 0"
    index = INDEX if place.slope == 1 else f"{place.slope}*{INDEX}"
    return f"{index} >= {polynomials.show(subtract(ZERO, place.offset))}"
