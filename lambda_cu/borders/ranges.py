"""Where decisions are settled: from which index on, or before which, for each axis of a thunk.

A decision asks whether a form is negative. If an index is in it once, it changes at a place: i - r is not negative from
r on, n - 1 - i before n. The interior begins at the greatest place near the beginning, and ends at the least near the
end. A place is near the end if it grows with a size. Where the decision does not depend on the index, but on scalars
that only a run knows, the interior asks that first: where the answer is another one, all is border.
"""
from __future__ import annotations

from collections.abc import Collection
from dataclasses import field

from nessie.base.records import dataclass
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu.borders.forms import MOST, Form, expression, minus, moved, plus, scaled, sign
from nessie.lambda_cu.scope import free_names

TRUE = ir.Const(True, "bool")
ZERO = ir.Const(0, "int")


@dataclass
class Axis:
    """An index, and the places found so far: the interior is from all `lows` on and before all `highs`, if all
    `conditions` hold."""
    index: ir.Var
    lows: list[Form] = field(default_factory=list)
    highs: list[Form] = field(default_factory=list)
    conditions: list[ir.Exp] = field(default_factory=list)


@dataclass
class Ranges:
    """The axes of a thunk, the inner one last. `sizes`: the kernel's scalars that are sizes of something; `extents`:
    those of the space that it walks; `rounds`: the numbers of rounds of folds, and the folds' counts."""
    axes: tuple[Axis, ...]
    sizes: Collection[ir.Exp]
    extents: set[ir.Exp]
    rounds: dict[ir.Exp, Form] = field(default_factory=dict)

    @property
    def natural(self) -> set[ir.Exp]:
        return {*self.sizes, *[axis.index for axis in self.axes], *self.rounds}

    def settle(self, form: Form, wanted: bool | None) -> bool | None:
        """Is the form not negative in the interior? `wanted`: what the answer should be; None: whatever suits. None:
        it is left open."""
        known = sign(form, self.natural)
        if known is not None:
            return known
        axis = next((axis for axis in reversed(self.axes) if axis.index in form.terms), None)
        if axis is None:
            return None if wanted is None else self.ask(self.hardest(form, wanted), wanted)
        forms = [(truth, self.hardest(form, truth)) for truth in (True, False) if wanted in (None, truth)]
        if abs(form.multiple(axis.index)) != 1 or not all(
                axis.index in form.terms and self.outside(form.without(axis.index), axis) for _, form in forms):
            return None
        found = [(truth, *place(form, axis.index, truth)) for truth, form in forms]
        fitting = [(truth, at, begins) for truth, at, begins in found if self.suits(at, begins)]
        if not fitting:
            return None
        truth, at, begins = next((f for f in fitting if f[2] != self.near_end(f[1])), fitting[0])
        (axis.lows if begins else axis.highs).append(at)
        self.ask_small(at)                              # a fold's count
        return truth

    def hardest(self, form: Form, truth: bool) -> Form:
        """The form in the round of folds around in which it is least, or greatest, for it not to be negative, or to
        be, in all of them."""
        while (exp := next((exp for exp in form.terms if exp in self.rounds), None)) is not None:
            rises = form.multiple(exp)
            last = scaled(moved(self.rounds[exp], -1), rises)
            form = form.without(exp) if (rises > 0) == truth else plus(form.without(exp), last)
        return form

    def outside(self, form: Form, axis: Axis) -> bool:
        """Is the form known before the axis is walked? Of the inner one all others are; these are known of all."""
        inner = {a.index.name for a in (self.axes[-1:] if axis is self.axes[-1] else self.axes)}
        return all(inner.isdisjoint(free_names(exp)) for exp in form.terms)

    def suits(self, at: Form, begins: bool) -> bool:
        """Can an interior begin, or end, there? One that ends at a constant would be small."""
        return not self.near_end(at) if begins else bool(at.terms)

    def near_end(self, at: Form) -> bool:
        return any(c > 0 and exp in self.sizes for exp, c in at.terms.items())

    def ask(self, form: Form, wanted: bool) -> bool:
        """The form has no index: the interior depends on it."""
        self.condition(ir.Op(">=" if wanted else "<", (expression(form), ZERO)), form)
        return wanted

    def ask_not_zero(self, form: Form) -> bool:
        """The form has no index: the interior depends on that it is not 0. False: it is not 0."""
        positive = form if any(c > 0 for c in form.terms.values()) else scaled(form, -1)
        self.condition(ir.Op("/=", (expression(positive), ZERO)), form)
        return False

    def condition(self, exp: ir.Exp, form: Form) -> None:
        """Ask this of what is known outside of the inner axis, or of all."""
        axis = self.axes[-1] if not self.outside(form, self.axes[0]) else self.axes[0]
        if exp not in axis.conditions:
            axis.conditions.append(exp)
        self.ask_small(form)

    def ask_small(self, form: Form) -> None:
        """Ask that atoms which may be any int are no larger than sizes."""
        for exp in form.terms:
            if exp not in self.natural:
                where = self.axes[-1 if not self.outside(Form({exp: 1}), self.axes[0]) else 0]
                for test in (ir.Op("<=", (ir.Const(-MOST, "int"), exp)), ir.Op("<=", (exp, ir.Const(MOST, "int")))):
                    if test not in where.conditions:
                        where.conditions.append(test)


def place(form: Form, index: ir.Exp, truth: bool) -> tuple[Form, bool]:
    """Where the form is not negative, or is: from the place on (True), or before it."""
    rest, up = form.without(index), form.multiple(index) > 0
    if truth:
        return (scaled(rest, -1), True) if up else (moved(rest, 1), False)
    return (scaled(rest, -1), False) if up else (moved(rest, 1), True)


def bounds(axis: Axis, extent: ir.Exp, natural: Collection[ir.Exp]) -> ir.Tuple:
    """(from, before): where the interior lies on the axis, which has this extent."""
    lows = [expression(form) for form in outermost(axis.lows, 1) if sign(scaled(form, -1), natural) is not True]
    highs = [expression(form) for form in outermost(axis.highs, -1)]
    low = joined("max", lows) if lows else ZERO
    high = joined("min", highs) if highs else extent
    conditions = joined("and", axis.conditions) if axis.conditions else TRUE
    return ir.Tuple((low, high if conditions == TRUE else ir.If(conditions, high, ZERO)))


def outermost(forms: list[Form], direction: int) -> list[Form]:
    """The forms without those that another is always beyond: greater, or less where the direction is -1."""
    kept: list[Form] = []
    for form in forms:
        beyond = [other for other in kept if not minus(form, other).terms]
        if not beyond:
            kept.append(form)
        elif direction * (form.number - beyond[0].number) > 0:
            kept[kept.index(beyond[0])] = form
    return kept


def joined(op: str, exps: list[ir.Exp]) -> ir.Exp:
    result = exps[0]
    for exp in exps[1:]:
        result = ir.Op(op, (result, exp))
    return result
