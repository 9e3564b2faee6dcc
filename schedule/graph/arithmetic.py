"""Counts the arithmetic of expressions: the cost of computing an element once more."""
from __future__ import annotations

from collections.abc import Iterator

from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu.ops import FUNCTION, OPS
from nessie.lambda_cu.parts import children

OPERATIONS_AGAIN, FUNCTIONS_AGAIN = 8, 1        # the most that may be done again
ROUNDS = 16                     # of a fold whose count only the run knows


def operation_counts(exp: ir.Exp) -> tuple[int, int] | None:
    """The number of operations and of functions in the expression, with both branches of conditions and all rounds of
    folds; None if it calls scalar functions, which may take any time."""
    operations = functions = 0
    for part, times in evaluated(exp):
        match part:
            case ir.CallScalar():
                return None
            case ir.Op(op, _) if OPS[op].cost == FUNCTION:
                functions += times
            case ir.Op() | ir.If():
                operations += times
    return operations, functions


def evaluated(exp: ir.Exp) -> Iterator[tuple[ir.Exp, int]]:
    """Yield the expression's parts, each with how often it is evaluated, both branches of conditions."""
    waiting = [(exp, 1)]
    while waiting:
        part, times = waiting.pop()
        yield part, times
        if isinstance(part, ir.Fold):
            rounds = part.count.value if isinstance(part.count, ir.Const) else ROUNDS
            assert isinstance(rounds, int)
            waiting += [(part.body, times * max(rounds, 0)), (part.start, times), (part.count, times)]
        else:
            waiting += [(inner, times) for inner in reversed(children(part))]


def cheap_work(exp: ir.Exp) -> tuple[int, int] | None:
    """The work of the expression, if it is little; else None."""
    found = operation_counts(exp)
    return found if found and found[0] <= OPERATIONS_AGAIN and found[1] <= FUNCTIONS_AGAIN else None
