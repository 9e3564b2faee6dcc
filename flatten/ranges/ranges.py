"""Range analysis of int expressions, so that conditions that cannot fail (flatten.ranges.proofs) need no check.

An int is described by two numbers that it lies between, by its form (a polynomial over names, if no step of it can
wrap), and by polynomials that it is at most (`above`) or at least (`below`):

    i over v's elements        0 .. 2^48      at most n - 1
    i / 2                      0 .. 2^47      at most i
    n - 1 - i                  its form is n - i - 1

The analysis is sound for int64 that wraps: a sum, difference or product that may leave int64 is any int. Sizes, and so
indices, are at most 2^48. The analysis uses only facts that hold even after a failure elsewhere: indices of walks,
sizes of arrays, elements of arrays that flattening makes itself, the test around a branch. It never assumes that a
check in a kernel has passed, because other kernels run before anybody looks.

Only sizes that the host has found equal (Emitter.require) and ints that it has found small enough for a length
(flatten.rules.lengths) rest on a check, a `_` of the host's. No launch moves before this check:
lambda_cu.passes.device_scalars leaves it to the host; simplify and schedule.pull keep statements in order, and pull
takes an element to a later launch only; schedule.graph.build orders all of a region after it, and schedule.check
verifies this of graphs and schedules. A host that fails launches nothing more, so the order also holds on a device
whose kernels nobody waits for.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from nessie.flatten.ranges.intervals import BETWEEN, EXACT, INTS, Interval, inside_ints, product, wrapped
from nessie.flatten.values.domains import ZERO, Domain, size_form
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu.rename import rename
from nessie.lambda_cu.spaces.polynomials import Monomial, Polynomial, add, multiply, name, number, polynomial, subtract

MOST_BITS = 48                  # bits of the size of a sequence that takes no memory: days of work, beyond any memory
MOST = 2 ** MOST_BITS
DEEPEST = 24                    # the greatest depth of definitions within definitions that is followed
MOST_TERMS = 8                  # the greatest number of terms of a polynomial that is kept


class Range(NamedTuple):
    """The range of a name or a noted expression."""
    least: int = INTS[0]
    most: int = INTS[1]
    above: tuple[Polynomial, ...] = ()
    below: tuple[Polynomial, ...] = ()


ANY = Range()
SIZE = Range(0, MOST)
BOUNDED = Range(-2 ** 61, 2 ** 61)      # an int in a length: no sum of a few wraps
COUNTED = Range(0, 2 ** 31)             # a size whose indices are multiplied in a length
FACTOR = Range(-2 ** 31, 2 ** 31)       # an int that multiplies them
DOUBLED = Range(0, 56)                  # a size for whose indices i there is 2^i, in products with i, too
SOME = Range(1, MOST)           # the size of a domain that has an element
Note = Callable[[], Range]
COMBINED: dict[str, Callable[[Polynomial, Polynomial], Polynomial]] = {"+": add, "-": subtract, "*": multiply}


def exactly(form: Polynomial) -> Range:
    """Return the range of a size that is this polynomial."""
    return Range(0, MOST, (form,), (form,))


def index_below(size: Polynomial) -> Range:
    """Return the range of an index into so many elements."""
    return Range(0, MOST, (subtract(size, number(1)),))


def meet(a: Range, b: Range) -> Range:
    """Return the range of what both describe."""
    return Range(max(a.least, b.least), min(a.most, b.most), a.above + b.above, a.below + b.below)


def index_range(domain: Domain, index: str, ranges: Ranges) -> Range:
    """Return the range of a parameter of the domain's thunks."""
    parent = domain.parent
    if domain.is_flat or index == "i":
        return index_below(size_form(domain.size))
    assert parent is not None
    if index == "s":
        return index_below(size_form(parent.size))
    if index != "j":
        assert isinstance(domain.space, ir.Uniform)
        return index_below(size_form(domain.space.outer[domain.params.index(index)]))
    if isinstance(domain.space, ir.Nested):         # by its row (flatten.values.contexts)
        return Range(0, MOST)
    lengths = [domain.length(ir.Var("s"))]
    if domain.lengths is not None and parent.is_flat:
        lengths.append(rename(domain.lengths, {"i": "s"}))
    return Range(0, MOST, tuple(subtract(ranges.form(length), number(1)) for length in lengths))


def items(exp: ir.Exp, count: int) -> list[ir.Exp] | None:
    """Return the items of a tuple, or of a choice of tuples, of so many."""
    match exp:
        case _ if count == 1:
            return [exp]
        case ir.Tuple(found):
            return list(found)
        case ir.Let(names, value, body):
            inside = items(body, count)
            return None if inside is None else [ir.Let(names, value, item) for item in inside]
        case ir.If(condition, then, orelse):
            these, those = items(then, count), items(orelse, count)
            if these is not None and those is not None:
                return [ir.If(condition, a, b) for a, b in zip(these, those, strict=True)]
    return None


def over(exp: Polynomial, divisor: int) -> Polynomial:
    return multiply(exp, polynomial([((), 1)], divisor))


def is_named(exp: Polynomial) -> bool:
    """Does the polynomial mention names only, not numbers of expressions?"""
    return not any("#" in factor for monomial, _ in exp.terms for factor in monomial)


class Ranges:
    """The ranges at one place. Expressions that are not polynomials get names of their own, `#1`, `#2`, ..., by which
    polynomials can mention them.

    look        the definition of a let-bound name, else the name's range; None if it may not be an int
    noted       the range noted for an expression, beyond what its operators tell
    element     the range of an array's elements; None if they are not ints
    assumed     polynomials that are not negative here
    numbers     the names of expressions, for all places of one thunk
    most        the greatest size of the program, for which ranges say MOST
    """

    def __init__(self, look: Callable[[str], ir.Exp | Range | None], noted: Callable[[ir.Exp], Note | None],
                 element: Callable[[str], Range | None], assumed: Callable[[], tuple[Polynomial, ...]],
                 numbers: dict[ir.Exp, str], most: int = MOST) -> None:
        self.look, self.noted, self.element, self.assumed = look, noted, element, assumed
        self.most = most
        self.numbers = numbers
        self.names: dict[str, Range] = {}                       # ranges of names in polynomials
        self.intervals: dict[str, Interval | None] = {}         # intervals of names
        self.forms: dict[str, Polynomial] = {}                  # forms of let-bound names
        self.lets: dict[str, ir.Exp] = {}                       # definitions of lets inside expressions
        self.depth = 0

    # Numbers

    def interval(self, exp: ir.Exp) -> Interval | None:
        """Return the interval of the expression; None where it may not be an int."""
        match exp:
            case ir.Const(int(value), "int"):
                return value, value
            case ir.Var(named):
                if named not in self.intervals:
                    found = self.definition(named)
                    if isinstance(found, Range):
                        self.intervals[named] = found.least, self.capped(found.most)
                    else:
                        self.intervals[named] = None if found is None else self.interval(found)
                return self.intervals[named]
            case ir.Let() if self.enters(exp):
                return self.interval(exp.body)
            case ir.Read(array):
                element = self.element(array)
                return None if element is None else self.with_note(exp, (element.least, self.capped(element.most)))
            case ir.CallScalar():
                return self.with_note(exp, None)
            case ir.Op(operator) if (operator in EXACT or operator in BETWEEN) and self.depth <= DEEPEST:
                self.depth += 1
                result = self.operation(exp)
                self.depth -= 1
                return self.with_note(exp, result)
            case ir.If(_, then, orelse):
                a, b = (self.interval(ZERO if isinstance(e, ir.Fail) else e) for e in (then, orelse))
                return None if a is None or b is None else (min(a[0], b[0]), max(a[1], b[1]))
        return None

    def enters(self, let: ir.Let) -> bool:
        """Note what the let binds its names to; return whether that is known, and all that they stand for."""
        values = items(let.value, len(let.names))
        return values is not None and all(
            [self.lets.setdefault(named, value) == value for named, value in zip(let.names, values, strict=True)])

    def definition(self, named: str) -> ir.Exp | Range | None:
        return self.lets.get(named) or self.look(named)

    def defined(self, exp: ir.Exp) -> ir.Exp:
        """Return the definition of a let-bound name, followed to its end; any other expression is itself."""
        while isinstance(exp, ir.Var):
            found = self.definition(exp.name)
            if found is None or isinstance(found, Range):
                break
            exp = found
        return exp

    def with_note(self, exp: ir.Exp, found: Interval | None) -> Interval | None:
        note = self.noted(exp)
        if note is None:
            return found
        known, (least, most) = note(), found or INTS
        return max(known.least, least), min(self.capped(known.most), most)

    def capped(self, most: int) -> int:
        return self.most if most == MOST else most

    def operation(self, exp: ir.Op) -> Interval | None:
        between = BETWEEN.get(exp.op)
        if between is not None:
            return between
        intervals = [self.interval(argument) for argument in exp.arguments]
        known = [found for found in intervals if found is not None]
        if not known:
            return None
        return wrapped(EXACT[exp.op](*(found or INTS for found in intervals)))

    # Polynomials

    def form(self, exp: ir.Exp) -> Polynomial:
        """Return the int expression as a polynomial."""
        match exp:
            case ir.Const(int(value), "int"):
                return number(value)
            case ir.Var(named):
                if named not in self.forms:
                    found = self.definition(named)
                    is_name = found is None or isinstance(found, Range)
                    self.forms[named] = name(named) if is_name else self.form(found)  # type: ignore[arg-type]
                return self.forms[named]
            case ir.Let() if self.enters(exp):
                return self.form(exp.body)
            case ir.Op("+" | "-" | "*" as operator, (a, b)) if self.noted(exp) is None and self.depth <= DEEPEST:
                x, y = self.interval(a) or INTS, self.interval(b) or INTS
                if inside_ints(EXACT[operator](x, y)):
                    self.depth += 1
                    found_form = COMBINED[operator](self.form(a), self.form(b))
                    self.depth -= 1
                    if len(found_form.terms) <= MOST_TERMS:
                        return found_form
        return name(self.numbers.setdefault(exp, f"#{len(self.numbers) + 1}"))

    def of_factor(self, factor: str) -> Range:
        """Return the range of a name in a polynomial."""
        if factor not in self.names:
            self.names[factor] = ANY
            if factor.startswith("#"):
                exp = next(exp for exp, given in self.numbers.items() if given == factor)
                self.names[factor] = self.of_expression(exp)
            else:
                found = self.look(factor)
                self.names[factor] = found if isinstance(found, Range) else ANY
        return self.names[factor]

    def computed(self, exp: ir.Exp) -> Range:
        """Return the range of a name of the host for the expression."""
        form, found = self.form(exp), self.of_expression(exp)
        return Range(*(self.interval(exp) or INTS), tuple(filter(is_named, (form, *found.above))),
                     tuple(filter(is_named, (form, *found.below))))

    def where_positive(self, exp: ir.Exp) -> Polynomial | None:
        """Return what the expression is at most where it is positive, if it is max(0, e), or such a one divided by a
        number: e, or its part."""
        match exp:
            case ir.Op("max", (ir.Const(0), e)) | ir.Op("max", (e, ir.Const(0))):
                found: Polynomial | None = self.form(e)
            case ir.Op("/", (a, ir.Const(int(divisor)))) if divisor > 0:
                found = self.where_positive(a)
                found = None if found is None else over(found, divisor)
            case _:
                return None
        return found if found is not None and is_named(found) else None

    def of_expression(self, exp: ir.Exp) -> Range:
        """Return the range of an expression that has a name `#k`."""
        found = Range(*(self.interval(exp) or INTS))
        note = self.noted(exp)
        if note is not None:
            found = meet(found, note())
        match exp:
            case ir.Read(array):
                element = self.element(array)
                return found if element is None else meet(found, element)
            case ir.If():
                return found._replace(above=(*found.above, *self.tops(exp)))
            case ir.Op("-" | "+" as operator, (a, b)):              # noted
                if inside_ints(EXACT[operator](self.interval(a) or INTS, self.interval(b) or INTS)):
                    form = COMBINED[operator](self.form(a), self.form(b))
                    return found._replace(above=(*found.above, form), below=(*found.below, form))
            case ir.Op("min", (a, b)):
                return found._replace(above=(*found.above, self.form(a), self.form(b)))
            case ir.Op("max", (a, b)):
                return found._replace(below=(*found.below, self.form(a), self.form(b)))
            case ir.Op("/", (a, ir.Const(int(divisor)))) if divisor > 0 and (self.interval(a) or INTS)[0] >= 0:
                less = subtract(self.form(a), number(divisor - 1))
                return found._replace(above=(*found.above, over(self.form(a), divisor), self.form(a)),
                                      below=(*found.below, over(less, divisor)))
            case ir.Op("/" | "rshift" | "rem" | "mod" as operator, (a, b)):
                x, y = self.interval(a) or INTS, self.interval(b) or INTS
                above = found.above
                if operator in ("rem", "mod") and y[0] > 0:
                    above += (subtract(self.form(b), number(1)),)
                if x[0] >= 0 and y[0] >= (operator != "rshift"):
                    above += (self.form(a),)
                return found._replace(above=above)
        return found

    def tops(self, exp: ir.Exp) -> list[Polynomial]:
        """Return polynomials that the expression is at most; a choice is at most what both parts are."""
        if isinstance(exp, ir.Let) and self.enters(exp):
            return self.tops(exp.body)
        if isinstance(defined := self.defined(exp), ir.If):
            exp = defined
        if not isinstance(exp, ir.If):
            return [number(0) if isinstance(exp, ir.Fail) else self.form(exp)]
        one, other = self.tops(exp.then), self.tops(exp.orelse)
        return [p for these, those in ((one, other), (other, one)) for p in these
                if any(self.least(subtract(p, q)) >= 0 for q in those)]

    def least(self, exp: Polynomial) -> int:
        total = 0
        for monomial, c in exp.terms:
            low, high = self.product(monomial)
            total += c * (low if c > 0 else high)
        return total

    def product(self, monomial: Monomial) -> Interval:
        found = 1, 1
        for factor in monomial:
            known = self.of_factor(factor)
            found = product(found, (known.least, known.most))
        return found
