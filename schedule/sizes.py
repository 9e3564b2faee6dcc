"""Estimates of sizes: what an array measures before it is known. Only ratios matter to a schedule.

Sizes that are given or computed from given ones are taken so; a filter leaves a share of its space that its
predicate's form suggests; an unknown segment has `profile.segment` elements, and any other size is `profile.size`.
"""
from __future__ import annotations

from collections.abc import Mapping, Sequence

from nessie.lambda_cu import ir
from nessie.schedule.profiles import Profile
from nessie.schedule.regions import Step
from nessie.schedule.uses import total

SHARES = {"==": 0.1, "/=": 0.9}             # of a filter's elements that survive such a test
SHARE = 0.5


class Estimates:
    def __init__(self, profile: Profile, given: Mapping[str, float] | None = None) -> None:
        self.profile = profile
        self.known: dict[str, float] = dict(given or {})

    def of(self, size: ir.Size) -> float:
        return float(size) if isinstance(size, int) else self.known.get(size, self.profile.size)

    def learn(self, statements: Sequence[ir.Statement], steps: Sequence[Step]) -> None:
        """What the statements of a region say about sizes."""
        for statement in statements:
            self.host_statement(statement)
        for step in steps:
            if step.bind is None:
                self.host_statement(step.statement)
            else:
                self.binding(step.bind)

    def host_statement(self, statement: ir.Statement) -> None:
        if isinstance(statement, ir.HostLet):
            value = self.value(statement.value)
            if value is not None:
                self.known.setdefault(statement.result.name, max(value, 0.0))

    def binding(self, bind: ir.Bind) -> None:
        if not isinstance(bind.soac, ir.Once):
            self.space(bind.soac.space)
        match bind.soac:
            case ir.Filter(_, predicate, space):
                self.known.setdefault(bind.names[0], self.of(total(space)) * share(predicate.body))
            case ir.Partition(_, predicate, space):
                survive = share(predicate.body)
                self.known.setdefault(bind.names[0], self.of(total(space)) * survive)
                self.known.setdefault(bind.names[1], self.of(total(space)) * (1 - survive))

    def space(self, space: ir.Space) -> None:
        """Elements from segments or the other way round, whichever is known."""
        if isinstance(space, ir.Flat):
            return
        length = self.profile.segment
        if isinstance(space, ir.Uniform) and (isinstance(space.length, int) or space.length in self.known):
            length = max(self.of(space.length), 1.0)
        segments, elements = space.segments, space.total
        if isinstance(elements, str) and elements not in self.known:
            known = isinstance(segments, int) or segments in self.known
            self.known[elements] = self.of(segments) * length if known else self.profile.size
        if isinstance(segments, str) and segments not in self.known:
            self.known[segments] = max(self.of(elements) / length, 1.0)

    def value(self, exp: ir.Exp) -> float | None:
        """The value of a host expression as far as it is known."""
        match exp:
            case ir.Const(value, "int"):
                return float(value)
            case ir.Var(name):
                return self.known.get(name)
            case ir.Op(op, (left, right)) if op in ("+", "-", "*", "/", "max", "min"):
                x, y = self.value(left), self.value(right)
                return None if x is None or y is None else arithmetic(op, x, y)
            case ir.If(_, then, orelse):
                values = [value for value in (self.value(then), self.value(orelse)) if value is not None]
                return max(values, default=None)
        return None


def arithmetic(op: str, x: float, y: float) -> float:
    match op:
        case "+":
            return x + y
        case "-":
            return x - y
        case "*":
            return x * y
        case "/":
            return x / y if y else 0.0
    return max(x, y) if op == "max" else min(x, y)


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
