"""Counts the arithmetic of expressions: the cost of computing an element once more."""
from __future__ import annotations

from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu.ops import FUNCTION, OPS
from nessie.lambda_cu.parts import subexpressions

OPERATIONS_AGAIN, FUNCTIONS_AGAIN = 8, 1        # the most that may be done again


def operation_counts(exp: ir.Exp) -> tuple[int, int] | None:
    """The number of operations and of functions in the expression, with both branches of conditions; None if it calls
    scalar functions, which may take any time."""
    operations = functions = 0
    for part in subexpressions(exp):
        match part:
            case ir.CallScalar():
                return None
            case ir.Op(op, _) if OPS[op].cost == FUNCTION:
                functions += 1
            case ir.Op() | ir.If():
                operations += 1
    return operations, functions


def cheap_work(exp: ir.Exp) -> tuple[int, int] | None:
    """The work of the expression, if it is little; else None."""
    found = operation_counts(exp)
    return found if found and found[0] <= OPERATIONS_AGAIN and found[1] <= FUNCTIONS_AGAIN else None
