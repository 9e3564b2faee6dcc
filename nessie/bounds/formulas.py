"""Formulas that bound a number from above: sums of products of sizes, with coefficients that are not negative.

    2*#v + 3        at most as much, whatever #v is

A size is the name of a number that is not negative, so every term is worth something, and the greater coefficients of
two formulas bound both. None is no bound.
"""
from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping

Monomial = tuple[str, ...]
Formula = Mapping[Monomial, int]
Bound = Formula | None
MOST_TERMS, MOST_FACTORS = 40, 8        # of a formula that a reader can still use


def number(value: int) -> Formula:
    return {(): value} if value else {}


def size(name: str) -> Formula:
    return {(name,): 1}


ZERO, ONE = number(0), number(1)


def kept(found: Formula) -> Bound:
    """The formula, unless it is too large for anybody."""
    return None if len(found) > MOST_TERMS or any([len(m) > MOST_FACTORS for m in found]) else found


def plus(*given: Bound) -> Bound:
    found: Counter[Monomial] = Counter()
    for one in given:
        if one is None:
            return None
        found.update(one)
    return kept(dict(found))


def times(a: Bound, b: Bound) -> Bound:
    """The product; nothing times what has no bound is nothing."""
    if a == ZERO or b == ZERO:
        return ZERO
    if a is None or b is None:
        return None
    found: Counter[Monomial] = Counter()
    for first, by in a.items():
        for second, also in b.items():
            found[tuple(sorted(first + second))] += by * also
    return kept(dict(found))


def greatest(*given: Bound) -> Bound:
    """A bound of each."""
    found: dict[Monomial, int] = {}
    for one in given:
        if one is None:
            return None
        for monomial, coefficient in one.items():
            found[monomial] = max(coefficient, found.get(monomial, 0))
    return kept(found)


def least(*given: Bound) -> Bound:
    """A bound of what each of these bounds: one of them, a constant if there is one."""
    known = [one for one in given if one is not None]
    constants = [one for one in known if all([not monomial for monomial in one])]
    return min(constants, key=lambda one: one.get((), 0)) if constants else known[0] if known else None


def shown(bound: Bound) -> str:
    """The formula as text, largest products first."""
    if bound is None:
        return "unknown"
    terms = [term(monomial, coefficient) for monomial, coefficient in
             sorted(bound.items(), key=lambda one: (-len(one[0]), one[0])) if coefficient]
    return " + ".join(terms) or "0"


def term(monomial: Monomial, coefficient: int) -> str:
    powers = [name if power == 1 else f"{name}^{power}" for name, power in Counter(monomial).items()]
    return "*".join([*([f"{coefficient:,}"] if coefficient != 1 or not monomial else []), *powers])


def value(bound: Formula, of: Callable[[str], int]) -> int:
    """What the formula is worth where sizes are these."""
    total = 0
    for monomial, coefficient in bound.items():
        for name in monomial:
            coefficient *= of(name)
        total += coefficient
    return total
