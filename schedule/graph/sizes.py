"""Estimates the sizes of arrays before they are known. Only their ratios matter to a schedule.

Sizes that the user gives, or that the host computes from known ones, are taken as they are. A filter leaves a share of
its space that its predicate's form suggests. Segments whose lengths are a formula of their number have as many elements
as it says. Of others, an unknown segment has `profile.segment` elements, and any other size is `profile.size`.
"""
from __future__ import annotations

import math
import operator
from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence

from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu.ops import COMPARISONS
from nessie.lambda_cu.selection import selection
from nessie.lambda_cu.spaces.closed import about
from nessie.schedule.cost.profiles import Profile
from nessie.schedule.graph.regions import RegionStep
from nessie.schedule.graph.uses import total

SHARES = {"==": 0.1, "/=": 0.9}             # of a filter's elements that survive such a test
SHARE = 0.5
LARGEST = 2.0 ** 63             # the largest number that sizes are computed with


class Estimates:
    def __init__(self, profile: Profile, given: Mapping[str, float] | None = None) -> None:
        self.profile = profile
        self.known: dict[str, float] = dict(given or {})

    def of(self, size: ir.Size) -> float:
        return float(size) if isinstance(size, int) else max(float(self.known.get(size, self.profile.size)), 0.0)

    def knows(self, size: ir.Size) -> bool:
        return isinstance(size, int) or size in self.known

    def learn(self, statements: Sequence[ir.Statement], steps: Sequence[RegionStep]) -> None:
        """Learn sizes from the statements of a region."""
        for statement in statements:
            self.host_statement(statement)
        for step in steps:
            if step.bind is None:
                self.host_statement(step.statement)
            else:
                self.binding(step.bind)

    def host_statement(self, statement: ir.Statement) -> None:
        if isinstance(statement, ir.HostLet) and statement.result.type in ("int", "bool"):
            value = self.value(statement.value)
            if value is not None:
                self.known.setdefault(statement.result.name, value)

    def binding(self, bind: ir.Bind) -> None:
        if not isinstance(bind.soac, ir.Once):
            self.space(bind.soac.space)
        if selected := selection(bind):
            survive = share(selected.soac.predicate.body)
            for count, part in zip(selected.counts, (survive, 1 - survive), strict=False):
                self.known.setdefault(count, self.of(total(selected.soac.space)) * part)

    def space(self, space: ir.Space) -> None:
        """Estimate the elements from the segments, or the other way round, whichever is known."""
        if isinstance(space, ir.Flat):
            return
        if isinstance(space, ir.Closed) and self.closed(space):
            return
        length = self.profile.segment
        if isinstance(space, ir.Uniform) and self.knows(space.length):
            length = max(self.of(space.length), 1.0)
        segments, elements = space.segments, space.total
        if isinstance(elements, str) and elements not in self.known:
            self.known[elements] = self.of(segments) * length if self.knows(segments) else self.profile.size
        if isinstance(segments, str) and segments not in self.known:
            self.known[segments] = max(self.of(elements) / length, 1.0)

    def closed(self, space: ir.Closed) -> bool:
        """Estimate the elements from the segments, or both from about how many elements there are, by the formula. Is
        all known that it mentions?"""
        if not isinstance(space.segments, str):
            return False
        formula, most = about(space), self.of(space.total)

        def elements(segments: int) -> float | None:
            return self.value(formula, {str(space.segments): segments})

        if not self.knows(space.segments):
            if elements(1) is None:
                return False
            self.known[space.segments] = bisect_left(range(int(most)), most, 1, key=lambda n: elements(n) or 0.0)
        total = elements(int(self.known[space.segments]))
        if total is not None and isinstance(space.total, str):
            self.known.setdefault(space.total, total)
        return total is not None

    def value(self, exp: ir.Exp, local: Mapping[str, float] | None = None) -> float | None:
        """The value of a host expression, if known: an int or a bool if the expression is one."""
        local = local or {}
        match exp:
            case ir.Const(value) if isinstance(value, int | float):
                return value
            case ir.Var(name):
                return local[name] if name in local else int(self.known[name]) if name in self.known else None
            case ir.Op(op, arguments) if op in MEANINGS:
                values = [self.value(argument, local) for argument in arguments]
                return computed(op, [value for value in values if value is not None]) if None not in values else None
            case ir.Let((name,), value, body):
                known = self.value(value, local)
                return self.value(body, local if known is None else {**local, name: known})
            case ir.If(condition, then, orelse):
                return self.branch(self.value(condition, local), (then, orelse), local)
        return None

    def branch(self, condition: float | None, branches: tuple[ir.Exp, ir.Exp],
               local: Mapping[str, float]) -> float | None:
        """The value of the branch that is no failure, else of the one that the condition takes, else the greater."""
        values = [self.value(branch, local) for branch in branches]
        if condition is not None and not any(isinstance(branch, ir.Fail) for branch in branches):
            return values[0 if condition else 1]
        return max((value for value in values if value is not None), default=None)


def divide(x: float, y: float) -> float:
    """The quotient; of ints, rounded towards zero."""
    if isinstance(x, float):
        return x / y
    return abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)


MEANINGS: dict[str, Callable[..., float]] = {           # of the operators in sizes
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": divide, "neg": operator.neg,
    "rem": lambda x, y: x - y * divide(x, y), "max": max, "min": min,
    "mod": lambda x, y: x % y, "or": operator.or_, "and": operator.and_,
    "lshift": lambda x, y: x << min(y, 64), "rshift": operator.rshift, "float": float, "btoi": int,
    "trunc": math.trunc, "floor": math.floor, "ceil": math.ceil, "sqrt": math.sqrt, "ln": math.log,
    **COMPARISONS}


def computed(op: str, values: Sequence[float]) -> float | None:
    """The operator's result; None if it fails or is larger than LARGEST."""
    try:
        result = MEANINGS[op](*values)
    except (ArithmeticError, ValueError):
        return None
    return result if abs(result) <= LARGEST else None


def share(predicate: ir.Exp) -> float:
    """The share of elements for which the predicate is likely to hold."""
    while isinstance(predicate, ir.Let):
        predicate = predicate.body
    match predicate:
        case ir.Op("not", (part,)):
            return 1 - share(part)
        case ir.Op("and", (left, right)):
            return share(left) * share(right)
        case ir.Op(op, _):
            return SHARES.get(op, SHARE)
        case ir.Const(value, "bool"):
            return 1.0 if value else 0.0
    return SHARE
