"""Proves conditions by range analysis (flatten.ranges.ranges), and gives the assumptions that a condition justifies
where it holds.

A condition a <= b is proved by the intervals of a and b. Otherwise the proof shows that b - a, a polynomial, is not
negative: by its interval, after a name in it is replaced by its bound, or after as much of an assumption, which is not
negative, has been taken away as makes a name vanish. For example, n - i - 1 is at least n - (n - 1) - 1 = 0. A
comparison of float(a) with a small whole number is one of a: float(max(d, 1)) /= 0.0 holds.
"""
from __future__ import annotations

from collections.abc import Container, Iterator

from nessie.flatten.ranges.intervals import COMPARED
from nessie.flatten.ranges.ranges import DEEPEST, MOST_TERMS, Ranges
from nessie.flatten.values.domains import TRUE, ZERO, op
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu.spaces.polynomials import Monomial, Polynomial, add, multiply, name, number, polynomial, subtract

STEPS = 5                       # replacements in a proof, one after another
MOST_TRIED = 100                # polynomials in a proof
MOST_BOUNDS = 8                 # polynomials that are kept as bounds of what is stored
FAR = 2 ** 61                   # a number that bounds nothing
EXACT_FLOATS = 2 ** 24          # below it ints are floats of 32 bits, too


def nonnegative(ranges: Ranges, exp: Polynomial) -> bool:
    """Is it certain that exp >= 0? The proof tries exp, then the results of one replacement, then those of a second,
    and so on, each once."""
    tried, latest = {exp}, [exp]
    for _ in range(STEPS + 1):
        if any(surely_nonnegative(ranges, tried_now) for tried_now in latest):
            return True
        made = [new for old in latest if len(old.terms) <= MOST_TERMS for new in replaced(ranges, old)]
        latest = [new for new in dict.fromkeys(made) if new not in tried][:MOST_TRIED - len(tried)]
        tried.update(latest)
    return False


def lasting_bounds(ranges: Ranges, exp: Polynomial, lasting: Container[str]) -> list[Polynomial]:
    """Return polynomials over lasting names that exp is at least: what comes of a few replacements, or of other names'
    numbers."""
    found = [exp]
    for old in found:
        if len(found) < MOST_BOUNDS and len(old.terms) <= MOST_TERMS:
            found += [new for new in replaced(ranges, old) if new not in found]
    by_number = [with_numbers(ranges, bound, lasting) for bound in found[:MOST_BOUNDS]]
    return list(dict.fromkeys([bound for bound in by_number if bound is not None]))


def with_numbers(ranges: Ranges, exp: Polynomial, lasting: Container[str]) -> Polynomial | None:
    """Return exp with the least that monomials with other names may be; None where nothing is known of one."""
    terms = list[tuple[Monomial, int]]()
    for monomial, c in exp.terms:
        if all([factor in lasting for factor in monomial]):
            terms.append((monomial, c))
            continue
        low, high = ranges.product(monomial)
        least = c * (low if c > 0 else high)
        if abs(least) > FAR:
            return None
        terms.append(((), least))
    return polynomial(terms, exp.divisor)


def surely_nonnegative(ranges: Ranges, exp: Polynomial) -> bool:
    """Test exp, which an int is at least, by its numbers, or by those of its difference to a polynomial that is not
    negative: an int above -1 is not negative."""
    return any(ranges.least(bound) > -bound.divisor
               for bound in (exp, *(subtract(exp, given) for given in ranges.assumed())))


def replaced(ranges: Ranges, exp: Polynomial) -> Iterator[Polynomial]:
    """Yield the polynomial with one name replaced by a bound, and without as much of an assumption as makes a monomial
    vanish; the polynomial is no less than any of these."""
    for monomial, c in exp.terms:
        if len(monomial) == 1:
            known = ranges.of_factor(monomial[0])
            for bound in known.above if c < 0 else known.below:
                yield add(exp, multiply(subtract(bound, name(monomial[0])), polynomial([((), c)], exp.divisor)))
    own = dict(exp.terms)
    for given in ranges.assumed():
        for monomial, c in given.terms:
            if monomial and own.get(monomial, 0) * c > 0:
                part = polynomial([((), abs(own[monomial]) * given.divisor)], exp.divisor * abs(c))
                yield subtract(exp, multiply(given, part))


def holds(ranges: Ranges, condition: ir.Exp) -> bool:
    """Is it certain that the condition holds?"""
    match condition:
        case ir.Op("and", (a, b)):
            return holds(ranges, a) and holds(ranges, b)
        case ir.Op("<=", (ir.Op("*", (ir.Op("float", (a,)), ir.Op("float", (b,)))), ir.Const(limit, "float"))):
            x, y = ranges.interval(a), ranges.interval(b)           # rounding is monotonic
            return x is not None and y is not None and min(x[0], y[0]) >= 0 and x[1] * y[1] <= float(limit)
        case ir.Op(operator, (a, b)) if operator in COMPARED:
            if (same := of_ints(ranges, operator, a, b)) is not None:
                return holds(ranges, same)
            decided = by_numbers(ranges, condition)
            if decided is not None or not is_int(ranges, a, b):
                return decided is True
            return by_polynomials(ranges, operator, a, b)
    return by_numbers(ranges, condition) is True


def of_ints(ranges: Ranges, operator: str, a: ir.Exp, b: ir.Exp) -> ir.Exp | None:
    """Return the comparison of ints that says the same as one of float(a) with a whole number. An int that is rounded
    to a float stays on its side of the whole numbers that are floats themselves."""
    match ranges.defined(a), b:
        case ir.Op("float", (given,)), ir.Const(float(value), "float") if (
                abs(value) < EXACT_FLOATS and value == int(value) and ranges.interval(given) is not None):
            return op(operator, given, ir.Const(int(value), "int"))
    return None


def by_polynomials(ranges: Ranges, operator: str, a: ir.Exp, b: ir.Exp) -> bool:
    """Is it certain that the comparison of ints holds? Of a choice, either part must hold where it is chosen."""
    for at, side in enumerate((a, b)):
        choice = ranges.defined(side)
        if isinstance(choice, ir.If) and ranges.depth <= DEEPEST:
            parts = [ZERO if isinstance(part, ir.Fail) else part for part in (choice.then, choice.orelse)]
            pairs = [(part, b) if at == 0 else (a, part) for part in parts]
            return all([holds_where(ranges, choice.condition, truth, op(operator, *pair))
                        for pair, truth in zip(pairs, (True, False), strict=True)])
    if operator in ("<", "<="):
        low, high = ranges.defined(a), ranges.defined(b)
        if isinstance(low, ir.Op) and low.op == "max":
            return all(holds(ranges, op(operator, part, b)) for part in low.arguments)
        if isinstance(high, ir.Op) and high.op == "min":
            return all(holds(ranges, op(operator, a, part)) for part in high.arguments)
    up = subtract(ranges.form(b), ranges.form(a))
    down, one = negated(up), number(1)
    match operator:
        case "<=":
            return nonnegative(ranges, up)
        case "<":
            return nonnegative(ranges, subtract(up, one))
        case ">=":
            return nonnegative(ranges, down)
        case ">":
            return nonnegative(ranges, subtract(down, one))
        case "==":
            return nonnegative(ranges, up) and nonnegative(ranges, down)
    return nonnegative(ranges, subtract(up, one)) or nonnegative(ranges, subtract(down, one))


def holds_where(ranges: Ranges, given: ir.Exp, truth: bool, condition: ir.Exp) -> bool:
    """Is it certain that the condition holds where the given one does, or does not? So it is where that is never."""
    assumed, more = ranges.assumed, assumptions(ranges, given, truth)
    if any([ranges.least(negated(polynomial)) > 0 for polynomial in more]):
        return True
    ranges.assumed, ranges.depth = lambda: (*assumed(), *more), ranges.depth + 1
    try:
        return holds(ranges, condition)
    finally:
        ranges.assumed, ranges.depth = assumed, ranges.depth - 1


def is_int(ranges: Ranges, a: ir.Exp, b: ir.Exp) -> bool:
    """Are both ints? One decides for both."""
    return ranges.interval(a) is not None or ranges.interval(b) is not None


def by_numbers(ranges: Ranges, condition: ir.Exp) -> bool | None:
    """Return whether the condition holds, if intervals tell; else None."""
    match condition:
        case ir.Const(bool(value)):
            return value
        case ir.Var():
            found = ranges.defined(condition)
            return None if isinstance(found, ir.Var) else by_numbers(ranges, found)
        case ir.Op("not", (a,)):
            holds = by_numbers(ranges, a)
            return None if holds is None else not holds
        case ir.Op(operator, (a, b)) if operator in COMPARED:
            x, y = ranges.interval(a), ranges.interval(b)
            return None if x is None or y is None else COMPARED[operator](x, y)
    return None


def doubtful(ranges: Ranges, condition: ir.Exp) -> ir.Exp:
    """Return the condition without the parts that certainly hold."""
    match condition:
        case ir.Op("and", (a, b)):
            first, second = doubtful(ranges, a), doubtful(ranges, b)
            if TRUE in (first, second):
                return second if first == TRUE else first
            return condition if first is a and second is b else op("and", first, second)
        case ir.Op("or", (a, b)):
            for one, other in ((a, b), (b, a)):
                if by_numbers(ranges, one) is False:
                    return doubtful(ranges, other)
            return TRUE if holds(ranges, a) or holds(ranges, b) else condition
    return TRUE if holds(ranges, condition) else condition


def assumptions(ranges: Ranges, condition: ir.Exp, holds: bool = True) -> tuple[Polynomial, ...]:
    """Return polynomials that are not negative where the condition holds (or, with `holds` false, where it does
    not)."""
    match condition:
        case ir.Var():
            found = ranges.defined(condition)
            return () if isinstance(found, ir.Var) else assumptions(ranges, found, holds)
        case ir.Op("and" | "or" as operator, (a, b)) if (operator == "and") == holds:
            return assumptions(ranges, a, holds) + assumptions(ranges, b, holds)
        case ir.Op("not", (a,)):
            return assumptions(ranges, a, not holds)
        case ir.Op("==", (a, b)) if holds and is_int(ranges, a, b):
            up = subtract(ranges.form(b), ranges.form(a))
            return up, negated(up)
        case ir.Op("==", (a, b)) if not holds and is_int(ranges, a, b):
            up = subtract(ranges.form(b), ranges.form(a))
            return tuple([subtract(side, number(1)) for side in (up, negated(up)) if nonnegative(ranges, side)])
        case ir.Op("<" | "<=" | ">" | ">=" as operator, (a, b)) if is_int(ranges, a, b):
            up = subtract(ranges.form(b), ranges.form(a))
            if (operator in ("<", "<=")) != holds:
                up = negated(up)
            return (subtract(up, number((operator in ("<", ">")) == holds)),)
    return ()


def negated(exp: Polynomial) -> Polynomial:
    return subtract(number(0), exp)
