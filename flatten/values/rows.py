"""Lengths that depend on the row and on the place in it: polynomials of s and j.

    {{{k : k in [0:j+1]} : j in [0:i+1]} : i in [0:n]}      j + 1, in row s where j < s + 1

How many elements all segments of a row have is a step polynomial of the row: the sum of the length's C(j,k) up to the
row's own length L is C(L,k+1).
"""
from __future__ import annotations

from functools import reduce
from math import factorial

from nessie.lambda_cu.spaces.polynomials import Polynomial, binomials, name, names, number, polynomial, replaced
from nessie.lambda_cu.spaces.steps import INDEX, ONE, PLAIN, NoForm, Steps, lift, minus, plus, times

ROW, PLACE = "s", "j"           # the parameters of thunks over rows
IN_ROW = (ROW, PLACE)
MOST_POWER = 2


def in_row(form: Steps) -> bool:
    """Does the length mention the row or the place in it?"""
    mentioned = {named for exp in form.values() for named in names(exp)}
    places = {named for kind in form for place in kind.places for named in names(place.offset)}
    quotients = {named for kind in form if kind.quotient for named in names(kind.quotient.offset)}
    return not (mentioned | places | quotients).isdisjoint(IN_ROW)


def by_place(form: Steps) -> list[list[Polynomial]]:
    """Return the coefficients, whole numbers, of C(j,l), each as those of C(s,k); raise NoForm if there are none."""
    if any(kind != PLAIN for kind in form) or INDEX in names(form[PLAIN]):
        raise NoForm("below rows, only a polynomial of the row and the place in it is found")
    found = [binomials(c, ROW) for c in binomials(form[PLAIN], PLACE)]
    if len(found) > MOST_POWER + 1 or any(len(row) > MOST_POWER + 1 for row in found):
        raise NoForm(f"below rows, the row or the place in it has a power beyond {MOST_POWER}")
    if any(c.divisor > 1 for row in found for c in row):
        raise NoForm("below rows, a factor is no whole number")
    return found


def sums_of_rows(form: Steps, rows: Steps) -> Steps:
    """Return how many elements the segments of row i have together, where the rows have these lengths."""
    by_place(form)
    found: Steps = {}
    for k, coefficient in enumerate(binomials(form[PLAIN], PLACE)):
        found = plus(found, times(lift(replaced(coefficient, {ROW: name(INDEX)})), chosen(rows, k + 1)))
    return found


def chosen(exp: Steps, k: int) -> Steps:
    """Return C(exp, k)."""
    falling = reduce(times, [minus(exp, lift(number(below))) for below in range(k)], lift(ONE))
    return times(falling, lift(polynomial([((), 1)], factorial(k))))
