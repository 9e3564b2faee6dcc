"""Scalar expressions of lambda_cu, evaluated in Python for the host level.

A scalar function that calls itself last goes round a loop here. A failing check raises HostFailure at once.
"""
from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace
from operator import itemgetter
from typing import Any

from nessie.base.records import dataclass
from nessie.cudagen.host.device import POLL_EVERY
from nessie.cudagen.loops.meanings import MEANINGS
from nessie.lambda_cu import nodes as ir

Value = Any                             # int, float, bool or a one-character str
Values = tuple[Value, ...]


class HostFailure(Exception):
    """The check of this site does not hold."""

    def __init__(self, site: str) -> None:
        super().__init__(site)
        self.site = site


@dataclass
class Surroundings:
    """`read` an element of an array by its name; `poll` is called now and then by many rounds, with their
    number and the call that goes round. In a scalar function `arrays` has what its arrays are called outside."""
    functions: Mapping[str, ir.ScalarFunction]
    read: Callable[[str, int], Value]
    poll: Callable[[int, ir.CallScalar], None]
    arrays: Mapping[str, str] = field(default_factory=dict)

    def inside(self, function: ir.ScalarFunction, arrays: tuple[str, ...]) -> Surroundings:
        """Return the surroundings of the function's body when it is called with these arrays."""
        given = [self.arrays.get(array, array) for array in arrays]
        return replace(self, arrays=dict(zip([p.name for p in function.arrays], given, strict=True)))


def plain(exp: ir.Exp, slots: Mapping[str, int]) -> Callable[[Sequence[Value]], Value] | None:
    """The function that computes the expression from what is in slots, if it is made of names, constants and operators
    alone. None: it is not."""
    match exp:
        case ir.Const(value):
            return lambda frame: value
        case ir.Var(name):
            return itemgetter(slots[name])
        case ir.Op(op, arguments):
            given = [plain(a, slots) for a in arguments]
            meaning = MEANINGS[op]
            match given:
                case [None, *_] | [_, None, *_]:
                    return None
                case [only] if only is not None:
                    return lambda frame: meaning(only(frame))
                case [left, right] if left is not None and right is not None:
                    return lambda frame: meaning(left(frame), right(frame))
    return None


# Expressions ------------------------------------------------------------------------------------

def evaluate(exp: ir.Exp, names: dict[str, Value], around: Surroundings) -> Values:
    """The expression's components. `names` is added to: a name is bound once in its expression."""
    rounds = 0
    while True:
        match exp:
            case ir.Let(bound, value, body):
                names.update(zip(bound, evaluate(value, names, around), strict=True))
                exp = body
            case ir.If(condition, then, orelse):
                exp = then if scalar(condition, names, around) else orelse
            case ir.CallScalar(name, arguments) as call:
                function = around.functions[name]
                values = [scalar(a, names, around) for a in arguments]
                names = {p.name: v for p, v in zip(function.params, values, strict=True)}
                exp, around = function.body, around.inside(function, call.arrays)
                rounds += 1
                if rounds % POLL_EVERY == 0:
                    around.poll(rounds, call)
            case ir.Tuple(items):
                return tuple([scalar(item, names, around) for item in items])
            case _:
                return (simple(exp, names, around),)


def scalar(exp: ir.Exp, names: dict[str, Value], around: Surroundings) -> Value:
    match exp:
        case ir.Let() | ir.If() | ir.CallScalar():
            return evaluate(exp, names, around)[0]
    return simple(exp, names, around)


def simple(exp: ir.Exp, names: dict[str, Value], around: Surroundings) -> Value:
    """An expression of one component that is no let, conditional or call."""
    match exp:
        case ir.Const(value):
            return value
        case ir.Var(name):
            return names[name]
        case ir.Op(op, arguments):
            return MEANINGS[op](*[scalar(a, names, around) for a in arguments])
        case ir.Read(array, index):
            return around.read(around.arrays.get(array, array), scalar(index, names, around))
        case ir.Fail(site):
            raise HostFailure(site)
    raise TypeError(exp)
