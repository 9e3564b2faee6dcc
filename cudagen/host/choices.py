"""Choices between versions, as the host decides them: conditions of cases, and the statistics that they ask for."""
from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu.ops import COMPARISONS
from nessie.lambda_cu.scope import is_tunable

Statistic = Callable[[str, Any], int]           # of a name, and of offsets


def holds(condition: ir.Exp, names: Mapping[str, Any], tunables: Mapping[str, int], statistic: Statistic) -> bool:
    """Does the condition of a case hold? `names`: what its names are."""
    match condition:
        case ir.Op("and" | "or" as op, parts):
            return (all if op == "and" else any)(holds(part, names, tunables, statistic) for part in parts)
        case ir.Op(op, (left, right)):
            known = {**names, **tunables}
            return bool(COMPARISONS[op](value(left, known, statistic), value(right, known, statistic)))
    raise TypeError(condition)


def value(exp: ir.Exp, names: Mapping[str, Any], statistic: Statistic) -> int:
    match exp:
        case ir.Const(int() as number):
            return number
        case ir.Var(name):
            return int(names[name])
        case ir.Op("+", (a, b)):
            return value(a, names, statistic) + value(b, names, statistic)
        case ir.Op("*", (a, b)):
            return value(a, names, statistic) * value(b, names, statistic)
        case ir.CallScalar(name, (), (array,)):
            return statistic(name, names[array])
    raise TypeError(exp)


def compared(condition: ir.Exp, names: Mapping[str, Any], statistic: Statistic) -> Iterator[tuple[str, int]]:
    """Yield what the tunables of the condition are compared with: the thresholds at which comparisons change."""
    match condition:
        case ir.Op("and" | "or", parts):
            for part in parts:
                yield from compared(part, names, statistic)
        case ir.Op(">=" | "<=", (x, ir.Var(name))) if is_tunable(name):
            yield name, value(x, names, statistic)
        case ir.Op("<=", (ir.Op("*", (few, ir.Var(name))), many)) if is_tunable(name):
            times = value(few, names, statistic)
            yield name, value(many, names, statistic) // times if times else ir.UNKNOWN


def resolved(condition: ir.Exp, names: Mapping[str, Any], statistic: Statistic) -> ir.Exp:
    """The condition, in which nothing is unknown but tunables."""
    match condition:
        case ir.Var(name) if not is_tunable(name):
            return ir.Const(int(names[name]), "int")
        case ir.CallScalar():
            return ir.Const(value(condition, names, statistic), "int")
        case ir.Op(op, parts):
            return ir.Op(op, tuple([resolved(part, names, statistic) for part in parts]))
    return condition


def measured(name: str, offsets: np.ndarray[Any, Any]) -> int:
    """A statistic of the segments with these offsets."""
    if len(offsets) < 2:
        return 0
    longest = int(np.diff(offsets).max())
    if name == "longest" or longest == 0:
        return longest
    return -(-longest * (len(offsets) - 1) // int(offsets[-1]))
