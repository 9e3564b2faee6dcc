"""Evaluates expressions of index arithmetic (lambda_cu.spaces.closed): ints that wrap, and floats."""
from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from nessie.lambda_cu import nodes as ir

WORD = 2 ** 64
Env = Mapping[str, int]


def wrapped(exact: int) -> int:
    return (exact + WORD // 2) % WORD - WORD // 2


MEANINGS: dict[str, Callable[..., int]] = {
    "+": lambda a, b: a + b, "-": lambda a, b: a - b, "*": lambda a, b: a * b, "min": min, "max": max,
    "/": lambda a, b: abs(a) // b * (1 if a >= 0 else -1), "rshift": lambda a, b: a >> b, "lshift": lambda a, b: a << b,
    "or": lambda a, b: a | b, ">=": lambda a, b: a >= b, "float": float, "trunc": int, "floor": math.floor,
    "<=": lambda a, b: a <= b, "<": lambda a, b: a < b, "btoi": int, "sqrt": math.sqrt,
}


def evaluated(exp: ir.Exp, env: Env) -> Any:
    """Evaluate an expression of ints that wrap."""
    match exp:
        case ir.Const(number_):
            return number_
        case ir.Var(named):
            return env[named]
        case ir.Let((named,), value, body):
            return evaluated(body, {**env, named: evaluated(value, env)})
        case ir.If(condition, then, orelse):
            return evaluated(then if evaluated(condition, env) else orelse, env)
        case ir.Op(operator, arguments):
            values = [evaluated(argument, env) for argument in arguments]
            if operator == "/" and isinstance(values[0], float):
                return values[0] / values[1]
            result = MEANINGS[operator](*values)
            return wrapped(result) if isinstance(result, int) else result
    raise TypeError(exp)
