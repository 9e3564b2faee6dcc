"""In which row an element lies, as an expression of the element's number: the last row that starts no later.

    uniform     q/m
    closed      solves start(r) = q, where lengths are linear: a*r + b*r*(r-1)/2 = q

of which the real solution, cut, is wrong by 1 at most, on either side: starts of ints tell. Where one of the terms
counts from a place on only, there are two pieces, each with a solution of its own. More places, other powers and
quotients have none here.
"""
from __future__ import annotations

from collections.abc import Callable
from functools import reduce

from nessie.base.names import Names
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu.spaces.closed import FLOATS, INTS, ONE, ZERO, op, sum_at, sum_to, term_at

ROW, PLACE = ir.Var("row'"), ir.Var("place'")      # no program has such names
STEEPEST = 2 ** 10              # of lengths, so that a solution in floats is near enough


def has_row(space: ir.Space | None) -> bool:
    """Is there an expression for the row of an element?"""
    match space:
        case ir.Uniform():
            return True
        case ir.Closed(_, terms, _):
            return all(map(is_linear, terms)) and len({term.first for term in terms} - {0}) <= 1
    return False


def is_linear(term: ir.Term) -> bool:
    """May the term be one of lengths that rise or fall by a number?"""
    if not isinstance(term, ir.Binomial) or term.doubling or len(term.coefficients) > 2:
        return False
    slope = term.coefficients[1] if len(term.coefficients) == 2 else 0
    return isinstance(slope, int) and abs(slope) <= STEEPEST


Bindings = list[tuple[str, ir.Exp]]
Fresh = Callable[[str], str]


def row_at(space: ir.Space, element: ir.Exp) -> ir.Exp:
    """Return the number of the row in which an element lies; for the number of elements, one at which none is left."""
    names = Names()
    bindings, row = row_in_parts(space, element, lambda hint: names.fresh(f"{hint}'"))
    return under(bindings, row)


def under(bindings: Bindings, exp: ir.Exp) -> ir.Exp:
    return reduce(lambda body, bound: ir.Let((bound[0],), bound[1], body), reversed(bindings), exp)


def row_in_parts(space: ir.Space, element: ir.Exp, fresh: Fresh) -> tuple[Bindings, ir.Exp]:
    """Return the row, and before it what names in it are bound to."""
    match space:
        case ir.Uniform(_, length):
            return [], op("/", element, INTS.size(length))
        case ir.Closed(rows, terms, _):
            places = {term.first for term in terms} - {0}
            always = tuple([term for term in terms if term.first == 0])
            if not places:
                return last_row(terms, always, (ZERO, INTS.size(rows)), element, fresh)
            (place,) = places
            at = INTS.size(place)
            bindings, before = last_row(terms, always, (ZERO, at), element, fresh)
            more, after = last_row(terms, terms, (at, INTS.size(rows)), element, fresh)
            first, second = fresh("before"), fresh("after")
            later = op("btoi", op("<=", sum_at(terms, at), element))
            return ([*bindings, *more, (first, before), (second, after)],
                    op("+", ir.Var(first), op("*", later, op("-", ir.Var(second), ir.Var(first)))))
    raise TypeError(space)


def last_row(terms: tuple[ir.Term, ...], counting: tuple[ir.Term, ...], rows: tuple[ir.Exp, ir.Exp],
             element: ir.Exp, fresh: Fresh) -> tuple[Bindings, ir.Exp]:
    """Return the row of an element among these rows, for which these terms count."""
    low, high = rows
    known = INTS.sum([sum_to(INTS, term, low) for term in counting if term.first != 0])
    guess, start = fresh("guess"), fresh("begin")
    near, begins = ir.Var(guess), ir.Var(start)
    length = INTS.sum([term_at(term, near) for term in counting])
    higher, lower = op("<=", op("+", begins, length), element), op("<", element, begins)
    found = op("max", low, op("min", high, solution(counting, INTS.plus(element, known))))
    moved = op("+", near, op("-", op("btoi", higher), op("btoi", lower)))
    return [(guess, found), (start, sum_at(terms, near))], op("min", high, moved)


def solution(terms: tuple[ir.Term, ...], value: ir.Exp) -> ir.Exp:
    """Return about the greatest r for which the sum of the terms' first r is the value."""
    first = INTS.sum([INTS.size(coefficients(term)[0]) for term in terms])
    slope = sum([int(coefficients(term)[1]) for term in terms])
    if slope == 0:
        return op("/", value, op("max", ONE, first))
    middle = FLOATS.minus(as_float(first), ir.Const(slope / 2, "float"))
    square = FLOATS.plus(FLOATS.times(middle, middle), FLOATS.times(FLOATS.number(2 * slope), as_float(value)))
    root = FLOATS.minus(op("sqrt", op("max", FLOATS.number(0), square)), middle)
    return op("trunc", root if slope == 1 else op("/", root, FLOATS.number(slope)))


def as_float(exp: ir.Exp) -> ir.Exp:
    return FLOATS.number(int(exp.value)) if isinstance(exp, ir.Const) else op("float", exp)


def coefficients(term: ir.Term) -> tuple[ir.Size, ir.Size]:
    assert isinstance(term, ir.Binomial)
    return (*term.coefficients, 0)[:2]  # type: ignore[return-value]


def in_row(rows: ir.Space, segment: ir.Exp, exp: ir.Exp) -> ir.Exp:
    """Return an expression of the row r and the place j in it at which the segment lies."""
    return ir.Let((ROW.name,), row_at(rows, segment), ir.Let((PLACE.name,), place_at(rows, segment, ROW), exp))


def place_at(rows: ir.Space, element: ir.Exp, row: ir.Exp) -> ir.Exp:
    """Return the element's place in its row."""
    match rows:
        case ir.Uniform(_, length):
            return INTS.minus(element, INTS.times(row, INTS.size(length)))
        case ir.Closed(_, terms, _):
            return INTS.minus(element, sum_at(terms, row))
    raise TypeError(rows)
