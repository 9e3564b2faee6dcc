"""Reductions and scans of sequences: a table of those that have names, and what they are in NESL."""
from __future__ import annotations

import builtins
import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from nessie.arrays.bodies.kinds import BOOL, FLOAT, INT, Kind, Rows
from nessie.arrays.bodies.outside import looked_up
from nessie.arrays.bodies.trees import Fresh, Made, become, binary, call, let, name, number, pattern, zero
from nessie.base.records import dataclass
from nessie.base.source import Span
from nessie.syntax import nodes as syntax

Body = Callable[[list[Made]], Made]         # what is computed of these


@dataclass(frozen=True)
class Reduction:
    """A reduction, by the name that it has as a method: the function of NESL's library, Python's and NumPy's functions
    of sequences, the function of two that it applies, and the ufunc whose `reduce` it is."""
    name: str
    library: str
    functions: tuple[Any, ...]
    of_two: Any = None
    ufunc: str = ""


REDUCTIONS = {row.name: row for row in (
    Reduction("sum", "sum", (builtins.sum, np.sum), operator.add, "add"),
    Reduction("prod", "product", (math.prod, np.prod), operator.mul, "multiply"),
    Reduction("min", "min_val", (builtins.min, np.min), builtins.min, "minimum"),
    Reduction("max", "max_val", (builtins.max, np.max), builtins.max, "maximum"),
    Reduction("any", "any", (builtins.any, np.any), operator.or_, "logical_or"),
    Reduction("all", "all", (builtins.all, np.all), operator.and_, "logical_and"),
    Reduction("mean", "", (np.mean,)),
    Reduction("var", "", (np.var,)),
    Reduction("std", "", (np.std,)),
    Reduction("median", "", (np.median,)),
    Reduction("argmin", "min_index", (np.argmin,)),
    Reduction("argmax", "max_index", (np.argmax,)))}
OF_SOME = {"min": "least", "argmin": "least", "max": "greatest", "argmax": "greatest", "mean": "mean",
           "var": "variance", "std": "standard deviation", "median": "median"}
NONE_GIVEN = "max(row, default=0), reduce(f, identity) and a test of the length give a value for them"
OF_FLOATS = ("mean", "var", "std", "median")
BY_FUNCTION = {function: row.name for row in REDUCTIONS.values() for function in row.functions}
BY_OPERATOR = {row.of_two: row.name for row in REDUCTIONS.values() if row.of_two is not None}
ONE_BY_ONE = tuple(BY_OPERATOR.values())        # along several axes: along one, and along the next
BY_UFUNC = {row.ufunc: row.name for row in REDUCTIONS.values() if row.ufunc}


def of_operator(function: Any, element: Kind) -> str:
    """Return the reduction that a function of two means for such elements: `|` and `&` of ints are of their bits."""
    how = looked_up(BY_OPERATOR, function, "")
    return "" if how in ("any", "all") and element != BOOL else how


def gives(how: str, element: Kind) -> Kind:
    """Return the kind that a reduction of such numbers gives."""
    if how in ("any", "all") or (how in ("min", "max") and element == BOOL):
        return BOOL
    return FLOAT if how in OF_FLOATS else INT if element == BOOL or how in ("argmin", "argmax") else element


def reduced_by_name(how: str, made: Made, fresh: Fresh) -> Made:
    """Return the reduction of a sequence of numbers; for `any` and `all`, of truth values."""
    assert isinstance(made.kind, Rows)
    kind = gives(how, made.kind.element)
    if how in OF_FLOATS:
        v = fresh("v")
        found = STATISTICS[how](v, fresh)
        return Made(let([v], become(made, Rows(FLOAT), fresh), found), kind)
    if how in ("argmin", "argmax"):
        return Made(place_of_extreme(REDUCTIONS[how].library, made, fresh), kind)
    if kind == BOOL:                    # the least truth value is true where all are
        how = {"min": "all", "max": "any"}.get(how, how)
    return Made(call(REDUCTIONS[how].library, become(made, Rows(kind), fresh)), kind)


def mean_of(v: str, fresh: Fresh) -> syntax.Exp:
    return binary("/", call("sum", name(v)), call("float", syntax.Unary("#", name(v))))


def variance_of(v: str, fresh: Fresh) -> syntax.Exp:
    """Return the mean of the squares of distances from the mean."""
    mean, x, d, squares = [fresh(hint) for hint in ("mean", "x", "d", "squares")]
    square = let([d], binary("-", name(x), name(mean)), binary("*", name(d), name(d)))
    each = syntax.Each(square, (syntax.Generator(syntax.NamePattern(x), name(v)),), None)
    return let([mean], mean_of(v, fresh), let([squares], each, mean_of(squares, fresh)))


def median_of(v: str, fresh: Fresh) -> syntax.Exp:
    """Return the middle number in order, of two their mean; NaN if there is one, which is behind all others."""
    s, n, half, low, high = [fresh(hint) for hint in ("s", "n", "half", "low", "high")]
    last = syntax.Index(name(s), binary("-", name(n), number(1)))
    middle = syntax.If(binary("==", call("rem", name(n), number(2)), number(1)), name(high),
                       binary("/", binary("+", name(low), name(high)), number(2.0)))
    found = let([half], binary("/", name(n), number(2)), let(
        [high], syntax.Index(name(s), name(half)), let(
            [low], syntax.Index(name(s), call("max", number(0), binary("-", name(half), number(1)))), middle)))
    return let([s], call("sort", name(v)), let([n], syntax.Unary("#", name(v)), syntax.If(
        call("_isnan", last), last, found)))


STATISTICS: dict[str, Callable[[str, Fresh], syntax.Exp]] = {
    "mean": mean_of, "var": variance_of, "std": lambda v, fresh: call("sqrt", variance_of(v, fresh)),
    "median": median_of}


def of_some(how: str, sequence: syntax.Exp, reduced: syntax.Exp, span: Span | None = None) -> syntax.Exp:
    """Return the reduction of what this name has; of no elements, those that there is none of are an error."""
    if how not in OF_SOME:
        return reduced
    some = binary(">", syntax.Unary("#", sequence), number(0))
    return call("_check", some, syntax.String(f"There is no {OF_SOME[how]} of no elements."), reduced, span=span)


def place_of_extreme(function: str, made: Made, fresh: Fresh) -> syntax.Exp:
    """Return where the least or the greatest number stands first; of floats, a NaN before all others. Of no elements,
    there is an error."""
    assert isinstance(made.kind, Rows)
    v, at, x, i = fresh("v"), fresh("at"), fresh("x"), fresh("i")
    numbers = become(made, Rows(INT), fresh) if made.kind.element == BOOL else made.exp
    found = call(function, name(v))
    if made.kind.element == FLOAT:
        missing = syntax.Each(name(i), (syntax.Generator(syntax.NamePattern(x), name(v)), syntax.Generator(
            syntax.NamePattern(i), call("index", syntax.Unary("#", name(v))))), call("_isnan", name(x)))
        first = syntax.Index(missing, number(0))
        found = let([at], found, syntax.If(binary("<", name(at), syntax.Unary("#", name(v))), name(at), first))
    return let([v], numbers, found)


def of_two(body: Body, kind: Kind, fresh: Fresh) -> syntax.Lambda:
    """Return the body as a function of two elements of the kind."""
    a, b = fresh("a"), fresh("b")
    made = body([Made(name(a), kind), Made(name(b), kind)])
    return syntax.Lambda(pattern([a, b]), become(made, kind, fresh))


def reduced(body: Body, made: Made, kind: Kind, identity: Made | None, fresh: Fresh) -> syntax.Exp:
    """Return the elements reduced by the body. Without an identity, each has a truth value beside it, that there is
    one: none is the identity."""
    elements = become(made, Rows(kind), fresh)
    if identity is not None:
        return call("reduce", of_two(body, kind, fresh), become(identity, kind, fresh), elements)
    p, q, a, b, v, w, x = [fresh(hint) for hint in "pqabvwx"]
    both = become(body([Made(name(a), kind), Made(name(b), kind)]), kind, fresh)
    taken = syntax.PairPattern(syntax.PairPattern(syntax.NamePattern(p), syntax.NamePattern(a)),
                               syntax.PairPattern(syntax.NamePattern(q), syntax.NamePattern(b)))
    combined = syntax.Lambda(taken, syntax.Pair(
        binary("or", name(p), name(q)), syntax.If(name(p), syntax.If(name(q), both, name(a)), name(b))))
    pairs = syntax.Each(syntax.Pair(syntax.Bool(True), name(x)),
                        (syntax.Generator(syntax.NamePattern(x), elements),), None)
    total = call("reduce", combined, syntax.Pair(syntax.Bool(False), zero(kind)), pairs)
    message = syntax.String("A reduction of no elements needs an identity.")
    return let([v, w], total, call("_check", name(v), message, name(w)))


def scanned(body: Body, made: Made, kind: Kind, identity: Made, fresh: Fresh) -> syntax.Exp:
    """Return each element combined with all before it."""
    return call("inclusive_scan", of_two(body, kind, fresh), become(identity, kind, fresh),
                become(made, Rows(kind), fresh))


def prefix_sum(made: Made, fresh: Fresh) -> Made:
    """Return the sum of each element and all before it."""
    assert isinstance(made.kind, Rows)
    kind = gives("sum", made.kind.element)

    def plus(given: list[Made]) -> Made:
        return Made(binary("+", given[0].exp, given[1].exp), kind)
    return Made(scanned(plus, made, kind, Made(zero(kind), kind), fresh), Rows(kind))
