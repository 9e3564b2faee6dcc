"""Choices between versions, as the host decides them: conditions of cases, and the statistics that they ask for."""
from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from nessie.lambda_cu import nodes as ir

COMPARISONS: dict[str, Callable[[int, int], bool]] = {"<=": operator.le, ">=": operator.ge, "<": operator.lt,
                                                      ">": operator.gt}


def holds(condition: ir.Exp, names: Mapping[str, Any], tunables: Mapping[str, int],
          statistic: Callable[[str, Any], int]) -> bool:
    """Does the condition of a case hold? `names`: what its names are; `statistic(name, offsets)` asks for one."""
    def value(exp: ir.Exp) -> int:
        match exp:
            case ir.Const(int() as number):
                return number
            case ir.Var(name):
                return int(tunables[name] if name in tunables else names[name])
            case ir.Op("+", (a, b)):
                return value(a) + value(b)
            case ir.Op("*", (a, b)):
                return value(a) * value(b)
            case ir.CallScalar(name, (), (array,)):
                return statistic(name, names[array])
        raise TypeError(exp)

    match condition:
        case ir.Op("and", parts):
            return all(holds(part, names, tunables, statistic) for part in parts)
        case ir.Op(op, (left, right)):
            return COMPARISONS[op](value(left), value(right))
    raise TypeError(condition)


def measured(name: str, offsets: np.ndarray[Any, Any]) -> int:
    """A statistic of the segments with these offsets."""
    if len(offsets) < 2:
        return 0
    longest = int(np.diff(offsets).max())
    if name == "longest" or longest == 0:
        return longest
    return -(-longest * (len(offsets) - 1) // int(offsets[-1]))
