"""Spaces whose lengths are step polynomials of the position: the names of the host that their terms mention, and the
least and the greatest length, which the host knows.

A place slope*i + offset >= 0 becomes the first segment from which on it holds, between 0 and the number of segments. A
name of the host that may be any int is taken as near as FAR there: a place that far away holds everywhere or nowhere.
A quotient keeps an offset between 0 and its divisor; what is whole of it joins the other coefficients.

The least and the greatest length lie at an end, or on either side of a place, if lengths are linear between places; at
an end if they only rise or only fall.
"""
from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from typing import TYPE_CHECKING

from nessie.flatten.ranges.intervals import INTS, Interval
from nessie.flatten.ranges.proofs import holds
from nessie.flatten.ranges.ranges import COUNTED, MOST, Ranges
from nessie.flatten.values.contexts import Context, where_some
from nessie.flatten.values.domains import ONE, ZERO, Domain, atom_of, expression, minus, op, plus, times
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu.rename import substitute
from nessie.lambda_cu.spaces.closed import INTS as ARITHMETIC
from nessie.lambda_cu.spaces.polynomials import (
    Monomial,
    Polynomial,
    binomials,
    constant,
    names,
    number,
    polynomial,
    powers,
    subtract,
)
from nessie.lambda_cu.spaces.segments import length_at
from nessie.lambda_cu.spaces.steps import INDEX, MOST_CASES, PLAIN, Kind, NoForm, Place, Steps, cases
from nessie.lambda_cu.spaces.steps import ZERO as NONE

if TYPE_CHECKING:
    from nessie.flatten.values.emitter import Emitter

TOO_MANY_ROWS = "a length multiplies positions, of which there are more than 2^31"
MOST_PLACES = 4                 # a space with more is irregular: each place is a part of every start
MOST_POWER = 3
NEAR, FAR, MOST_FAR = 2 ** 55, 2 ** 61, 2 ** 62         # of offsets: a place that is FAR holds everywhere or nowhere
STEEPEST = 2 ** 6               # since there are at most 2^48 segments


# Is it one? ---------------------------------------------------------------------------------------


def require_closed(form: Steps, ranges: Ranges) -> None:
    """Raise NoForm unless the host can compute all that the terms need, and the sums have a closed form."""
    places = {place for kind in form for place in kind.places}
    if len({kind.places for kind in form if kind.places}) > MOST_PLACES or len(places) > MOST_CASES:
        raise NoForm(f"the formula changes at more than {MOST_PLACES} places")
    if not all(place.slope < STEEPEST and is_exact(place.offset, ranges) for place in places):
        raise NoForm("where the formula changes may be beyond the ints")
    for kind, exp in form.items():
        if len(powers(exp, INDEX)) > MOST_POWER + 1 or not all(map(is_whole, binomials(exp, INDEX))):
            raise NoForm(f"the position has a power beyond {MOST_POWER}, or a factor that is no whole number")
        if kind.quotient and (kind.quotient.slope > 1 or len(powers(exp, INDEX)) > 1):
            raise NoForm("a quotient is of the position times a number, or is multiplied by the position")
        if kind.quotient and not is_near(bounds(ranges, kind.quotient.offset), MOST_FAR):
            raise NoForm("what is divided may be beyond the ints")


def is_exact(offset: Polynomial, ranges: Ranges) -> bool:
    """Does the host find the place of this offset, where names are as near as FAR?"""
    far = [monomial for monomial, _ in offset.terms if not is_near(ranges.product(monomial), FAR)]
    if not far:
        return is_near(bounds(ranges, offset), MOST_FAR)
    (monomial, *others), rest = far, polynomial([term for term in offset.terms if term[0] not in far])
    return (not others and len(monomial) == 1 and dict(offset.terms)[monomial] in (1, -1)
            and is_near(bounds(ranges, rest), NEAR))


def is_whole(exp: Polynomial) -> bool:
    """Are all values of the polynomial whole numbers? They are if its coefficients by binomials are."""
    mentioned = sorted(names(exp))
    if exp.divisor == 1 or not mentioned:
        return exp.divisor == 1
    return all(map(is_whole, binomials(exp, mentioned[0])))


def is_near(found: Interval, most: int) -> bool:
    return -most <= found[0] and found[1] <= most


def bounds(ranges: Ranges, exp: Polynomial) -> Interval:
    return ranges.least(exp), -ranges.least(subtract(number(0), exp))


def least_is_known(form: Steps, ranges: Ranges) -> bool:
    """Is the least length at an end or beside a place?"""
    return rises_or_falls(form, ranges) or all(
        rises_or_falls(inside, ranges) or is_linear(inside) for _, inside in cases(form))


def is_linear(form: Steps) -> bool:
    """Do the lengths rise by the same number from each position to the next, whatever its sign is?"""
    return all(kind == PLAIN and len(binomials(exp, INDEX)) <= 2 for kind, exp in form.items())


def rises_or_falls(form: Steps, ranges: Ranges) -> bool:
    """Do the lengths only rise, or only fall, from each position to the next?"""
    low, high = moves(form, ranges)
    return low >= 0 or high <= 0


def moves(form: Steps, ranges: Ranges) -> Interval:
    """Return bounds of the difference of two neighbouring lengths, on that side of 0 where it may lie on one side only.
    A quotient rises by 0 or 1; C(i,k) with k > 1, powers and terms with a place rise by any number."""
    found = [0, 0]
    for kind, exp in form.items():
        for power, coefficient in enumerate(binomials(exp, INDEX)):
            if power == 0 and kind == PLAIN:
                continue
            ends = bounds(ranges, coefficient)
            unlimited = kind.places or kind.doubling or power > 1
            jumps = unlimited or kind.quotient
            for side, pick in enumerate((min, max)):
                end = pick(ends[side], 0) if jumps else ends[side]
                found[side] += end * (INTS[1] if unlimited else 1)
    return found[0], found[1]


def doubles_everywhere(form: Steps, ranges: Ranges) -> bool:
    """Is each length at least 2^i, give or take a number, and does none fall? So of 56 segments the last alone has more
    elements than there can be."""
    doubling = [constant(c) or 0 for c in binomials(form.get(Kind(doubling=True), NONE), INDEX)]
    first = constant(binomials(form.get(PLAIN, NONE), INDEX)[0])
    return max(doubling) >= 1 and first is not None and abs(first) < MOST and moves(form, ranges)[0] >= 0


# Its terms ----------------------------------------------------------------------------------------


def terms_of(emitter: Emitter, domain: Domain, form: Steps) -> tuple[ir.Term, ...]:
    """Return the terms, and emit what the host computes for them, once."""
    key = domain, frozenset(form.items())
    if key not in emitter.tables.terms:
        places = {kind.places for kind in form}
        ranges = Context(emitter, domain).ranges
        check_products(emitter, domain, form)
        emitter.tables.terms[key] = new_terms(emitter, form, {
            of: first(emitter, domain.size, of, ranges) for of in sorted(places, key=repr)})
    return emitter.tables.terms[key]


def check_products(emitter: Emitter, domain: Domain, form: Steps) -> None:
    """Check that what is multiplied and divided, as in n*(n - 1)/2, is so small that no product wraps."""
    divided = [c for exp in form.values() for c in binomials(exp, INDEX) if c.divisor > 1]
    for named in sorted({named for c in divided for named in names(c)}):
        low, high = ir.Const(-COUNTED.most, "int"), ir.Const(COUNTED.most, "int")
        small = [op("<=", low, ir.Var(named)), op("<=", ir.Var(named), high)]
        wrong = [condition for condition in small if not holds(emitter.host().ranges, condition)]
        if wrong:
            emitter.require(where_some(domain, wrong), TOO_MANY_ROWS, emitter.origin)


def host_value(exp: Polynomial) -> ir.Exp:
    """Return a polynomial whose values are whole as an expression of the host: n*(n - 1)/2 as C(n,2)."""
    if exp.divisor == 1:
        return expression(exp)
    named = min(names(exp))
    found = [times(host_value(c), ARITHMETIC.binomial(ir.Var(named), k)) for k, c in enumerate(binomials(exp, named))]
    return reduce(plus, found)


def new_terms(emitter: Emitter, form: Steps, firsts: Mapping[frozenset[Place], ir.Size]) -> tuple[ir.Term, ...]:
    rows: dict[tuple[ir.Size, bool], list[list[ir.Exp]]] = {}
    floors: list[ir.Term] = []
    for kind, exp in form.items():
        place = firsts[kind.places]
        coefficients = [host_value(coefficient) for coefficient in binomials(exp, INDEX)]
        if (quotient := kind.quotient) is not None:
            whole, rest = divided(quotient.offset, quotient.divisor)
            if quotient.slope:
                floors.append(ir.Floor(place, emitter.size(coefficients[0]), emitter.size(rest), quotient.divisor))
            coefficients = [times(coefficients[0], whole)]
        rows.setdefault((place, kind.doubling), []).append(coefficients)
    found = [ir.Binomial(place, tuple([emitter.size(c) for c in summed(row)]), doubling)
             for (place, doubling), row in rows.items()]
    return (*[term for term in found if any(term.coefficients)], *floors) or (ir.Binomial(0, (0,)),)


def summed(rows: list[list[ir.Exp]]) -> list[ir.Exp]:
    """Return the sums of coefficients of one power."""
    return [reduce(plus, [row[power] for row in rows if power < len(row)]) for power in range(max(map(len, rows)))]


def divided(exp: Polynomial, divisor: int) -> tuple[ir.Exp, ir.Exp]:
    """Return exp/divisor, rounded down, and the remainder, which is not negative."""
    value = constant(exp)
    if value is not None:
        return ir.Const(value // divisor, "int"), ir.Const(value % divisor, "int")
    return floored(expression(exp), divisor)


def floored(exp: ir.Exp, divisor: int) -> tuple[ir.Exp, ir.Exp]:
    by = ir.Const(divisor, "int")
    rest = op("mod", exp, by)
    return op("/", minus(exp, rest), by), rest


def first(emitter: Emitter, segments: ir.Size, places: frozenset[Place], ranges: Ranges) -> ir.Size:
    """Return the first segment from which on all the places hold; the number of segments where there is none."""
    if not places:
        return 0
    later = [first_of(place, segments, ranges) for place in sorted(places, key=repr)]
    (last,) = later if len(later) == 1 else (reduce(lambda a, b: op("max", a, b), later),)
    return emitter.size(op("min", atom_of(segments), op("max", ZERO, last)), "first")


def first_of(place: Place, segments: ir.Size, ranges: Ranges) -> ir.Exp:
    """Return the first i with slope*i + offset >= 0."""
    far = {named for (named,), _ in linear_terms(place.offset) if not is_near(ranges.product((named,)), FAR)}
    within = {named: op("max", ir.Const(-FAR, "int"), op("min", ir.Const(FAR, "int"), ir.Var(named))) for named in far}
    if place.slope == 0:
        return ir.If(op("<=", ZERO, substitute(expression(place.offset), within)), ZERO, atom_of(segments))
    if place.slope == 1:
        return substitute(expression(subtract(number(0), place.offset)), within)
    value = constant(place.offset)
    if value is not None:
        return ir.Const(-(value // place.slope), "int")
    whole, _ = floored(substitute(expression(place.offset), within), place.slope)
    return minus(ZERO, whole)


def linear_terms(exp: Polynomial) -> list[tuple[Monomial, int]]:
    return [(monomial, c) for monomial, c in exp.terms if len(monomial) == 1]


# Its bounds ---------------------------------------------------------------------------------------


def lengths_at(emitter: Emitter, segments: ir.Size, terms: tuple[ir.Term, ...]) -> tuple[ir.Exp, ...]:
    """Return lengths among which are the least and the greatest, where there are segments."""
    key = "lengths", segments, terms
    if key not in emitter.tables.bounds:
        last = minus(atom_of(segments), ONE)
        places = [atom_of(place) for place in dict.fromkeys(term.first for term in terms) if place != 0]
        beside = [at for place in places for at in (minus(place, ONE), op("min", last, place))]
        space = ir.Closed(segments, terms, 0)
        emitter.tables.bounds[key] = tuple([
            atom_of(emitter.size(length_at(space, atom_of(emitter.size(at, "at"))), "length"))
            for at in (ZERO, *[op("max", ZERO, at) for at in (last, *beside)])])
    return emitter.tables.bounds[key]
