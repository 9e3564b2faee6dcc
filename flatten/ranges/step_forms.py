"""The step polynomial of a length (lambda_cu.spaces.steps), where range analysis shows that no part of it wraps.

    i / 2                                   (i)/2, rounded down
    min(n, i + b + 1) - max(0, i - b)       places n - b - 1 and b
    min(i + 1, n), where i < n              i + 1: what always holds needs no place
"""
from __future__ import annotations

from collections.abc import Callable, Collection

from nessie.flatten.ranges.intervals import EXACT, INTS, inside_ints
from nessie.flatten.ranges.proofs import holds, nonnegative
from nessie.flatten.ranges.ranges import DEEPEST, Range, Ranges
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu.parts import EXPRESSIONS, children
from nessie.lambda_cu.spaces import steps
from nessie.lambda_cu.spaces.polynomials import name, number
from nessie.lambda_cu.spaces.steps import INDEX, ONE, ZERO, MayWrap, NoForm, Steps, lift, minus, plus, times


def step_form(ranges: Ranges, exp: ir.Exp, host: Collection[str], bind: Callable[[ir.Exp], str],
              others: Collection[str] = ()) -> Steps:
    """Return the form of an int expression over the index i, these other indices and names of the host; raise NoForm if
    it has none. `bind` gives the name of an expression of the host that is no polynomial: n/2."""
    return Former(ranges, host, bind, others).form(exp)


def has_step_form(ranges: Ranges, exp: ir.Exp, host: Collection[str]) -> bool:
    """Has the expression a form? Parts of it get numbers in the ranges."""
    try:
        numbered_form(ranges, exp, host)
    except NoForm:
        return False
    return True


def numbered_form(ranges: Ranges, exp: ir.Exp, host: Collection[str], others: Collection[str] = ()) -> Steps:
    """Return the expression's form. Its parts get numbers in the ranges, and no names of the host."""
    return step_form(ranges, exp, host,
                     lambda part: ranges.numbers.setdefault(part, f"#{len(ranges.numbers) + 1}"), others)


class Former:
    def __init__(self, ranges: Ranges, host: Collection[str], bind: Callable[[ir.Exp], str],
                 others: Collection[str] = ()) -> None:
        self.ranges, self.host, self.bind, self.others = ranges, host, bind, others
        self.depth = 0

    def form(self, exp: ir.Exp) -> Steps:
        self.depth += 1
        if self.depth > DEEPEST:
            raise NoForm("the expression is too deep")
        found = self.of_host(exp)
        found = self.form_of(exp) if found is None else found
        self.depth -= 1
        return found

    def of_host(self, exp: ir.Exp) -> Steps | None:
        """Return an expression of the host alone as a name of it, unless it is a polynomial."""
        if not isinstance(exp, ir.If | ir.Op) or (isinstance(exp, ir.Op) and exp.op in ("+", "-", "*", "neg")):
            return None
        hosted = self.hosted(exp)
        return None if hosted is None else lift(name(self.bind(hosted)))

    def hosted(self, exp: ir.Exp) -> ir.Exp | None:
        """Return the expression by names of the host alone, if it is one."""
        match exp:
            case ir.Const():
                return exp
            case ir.Var(named):
                found = self.ranges.definition(named)
                if found is None or isinstance(found, Range):
                    return exp if named in self.host else None
                return self.hosted(found)
            case ir.Op() | ir.If():
                parts = [self.hosted(part) for part in children(exp)]
                known = [part for part in parts if part is not None]
                return EXPRESSIONS.with_parts(exp, iter(known)) if len(known) == len(parts) else None
        return None

    def form_of(self, exp: ir.Exp) -> Steps:
        match exp:
            case ir.Const(int(value), "int"):
                return lift(number(value))
            case ir.Var(named):
                return self.named(named)
            case ir.Let() if self.ranges.enters(exp):
                return self.form(exp.body)
            case ir.If(condition, then, orelse):
                return self.choice(self.ranges.defined(condition), then, orelse)
            case ir.Op(operator, (a, b)):
                return self.operation(exp, operator, a, b)
            case ir.Op("neg", (a,)):
                return self.form(ir.Op("-", (ir.Const(0, "int"), a)))
            case ir.Read():
                raise NoForm("a length depends on elements of a sequence", exp)
        raise NoForm("a length is computed by more than arithmetic", exp)

    def choice(self, condition: ir.Exp, then: ir.Exp, orelse: ir.Exp) -> Steps:
        match condition, then, orelse:
            case ir.Op("<", (i, ir.Const(64))), ir.Op("lshift", (ir.Const(1, "int"), power)), ir.Const(0) if i == power:
                return steps.doubled(self.form(power))              # the library's 2^i
        return steps.choose(self.truth(condition), self.form(then), self.form(orelse))

    def named(self, named: str) -> Steps:
        if named == INDEX or named in self.others:
            return lift(name(named))
        found = self.ranges.definition(named)
        if found is not None and not isinstance(found, Range):
            return self.form(found)
        if named not in self.host or not isinstance(found, Range):
            raise NoForm("a length depends on what its element alone knows", ir.Var(named))
        return lift(name(named))

    def operation(self, exp: ir.Op, operator: str, a: ir.Exp, b: ir.Exp) -> Steps:
        match operator:
            case "+" | "-" | "*":
                combined = plus if operator == "+" else minus if operator == "-" else times
                found = combined(self.form(a), self.form(b))
                if not self.stays_inside(operator, a, b):
                    raise MayWrap(f"a {'product' if operator == '*' else 'sum'} may be beyond the ints")
                return found
            case "min" | "max":
                lesser, greater = (a, b) if operator == "min" else (b, a)
                if self.at_most(lesser, greater):
                    return self.form(a)
                if self.at_most(greater, lesser):
                    return self.form(b)
                return (steps.least if operator == "min" else steps.greatest)(self.form(a), self.form(b))
            case "lshift" if self.shifts(b) and self.stays_inside(operator, a, b):
                return times(self.form(a), steps.doubled(self.form(b)))
            case "/" | "rem" | "mod" | "rshift":
                return self.divided(exp, operator, a, b)
            case "lshift":
                raise NoForm("a shift may be by more than 63 bits, or leave the ints")
        raise NoForm(f"a length is computed by {operator}")

    def divided(self, exp: ir.Op, operator: str, a: ir.Exp, b: ir.Exp) -> Steps:
        divisor = self.ranges.defined(b)
        if not isinstance(divisor, ir.Const) or int(divisor.value) < 1:
            raise NoForm("a divisor is not positive" if isinstance(divisor, ir.Const) else
                         "a divisor is a name or an expression, not a number", exp)
        if operator in ("/", "rem") and self.interval(a)[0] < 0 and not nonnegative(self.ranges, self.ranges.form(a)):
            raise NoForm("what is divided may be negative")
        by = int(divisor.value) if operator != "rshift" else 2 ** int(divisor.value)
        dividend = self.form(a)
        whole = steps.quotient(dividend, by) if by > 1 else dividend
        return whole if operator in ("/", "rshift") else minus(dividend, times(lift(number(by)), whole))

    def truth(self, condition: ir.Exp) -> Steps:
        """Return 1 where the condition holds, else 0."""
        match self.ranges.defined(condition):
            case ir.Const(bool(holds)):
                return lift(ONE if holds else ZERO)
            case ir.Op("and", (a, b)):
                return times(self.truth(a), self.truth(b))
            case ir.Op("or", (a, b)):
                return minus(lift(ONE), times(self.falsehood(a), self.falsehood(b)))
            case ir.Op("not", (a,)):
                return self.falsehood(a)
            case ir.Op("<=", (a, b)) | ir.Op(">=", (b, a)):
                return steps.not_negative(minus(self.form(b), self.form(a)))
            case ir.Op("<", (a, b)) | ir.Op(">", (b, a)):
                return steps.not_negative(minus(minus(self.form(b), self.form(a)), lift(ONE)))
            case ir.Op("==" | "/=" as operator, (a, ir.Const(int(value), "int"))) if found := self.remainder(a):
                dividend, divisor = found
                equal = steps.residue(dividend, divisor, value) if 0 <= value < divisor else {}
                return equal if operator == "==" else minus(lift(ONE), equal)
            case ir.Op("==" | "/=" as operator, (a, b)) if self.ranges.interval(a) is not None:
                apart = minus(self.form(b), self.form(a))
                equal = times(steps.not_negative(apart), steps.not_negative(minus({}, apart)))
                return equal if operator == "==" else minus(lift(ONE), equal)
        raise NoForm("a condition is no comparison of such formulas", condition)

    def remainder(self, exp: ir.Exp) -> tuple[Steps, int] | None:
        """Return dividend and divisor of a remainder that is not negative."""
        match self.ranges.defined(exp):
            case ir.Op("rem" | "mod" as operator, (a, ir.Const(int(divisor), "int"))) if divisor > 1:
                return (self.form(a), divisor) if operator == "mod" or self.interval(a)[0] >= 0 else None
            case ir.Op("and", (a, ir.Const(1, "int"))):
                return self.form(a), 2
        return None

    def falsehood(self, condition: ir.Exp) -> Steps:
        return minus(lift(ONE), self.truth(condition))

    def at_most(self, a: ir.Exp, b: ir.Exp) -> bool:
        """Is a <= b everywhere?"""
        match self.ranges.defined(a), self.ranges.defined(b):
            case ir.Const(0), ir.Op("-", (more, less)) if self.stays_inside("-", more, less):
                return self.at_most(less, more)
            case ir.Op("-", (more, less)), ir.Const(0) if self.stays_inside("-", more, less):
                return self.at_most(more, less)
        return holds(self.ranges, ir.Op("<=", (a, b)))

    def shifts(self, count: ir.Exp) -> bool:
        low, high = self.interval(count)
        return low >= 0 and high <= 63

    def stays_inside(self, operator: str, a: ir.Exp, b: ir.Exp) -> bool:
        """Is the result never beyond the ints?"""
        return inside_ints(EXACT[operator](self.interval(a), self.interval(b)))

    def interval(self, exp: ir.Exp) -> tuple[int, int]:
        return self.ranges.interval(exp) or INTS
