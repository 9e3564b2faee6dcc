"""The arithmetic of expressions: what computing an element once more would cost."""
from __future__ import annotations

from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu.ops import FUNCTION, OPS
from nessie.lambda_cu.parts import subexpressions

OPERATIONS_AGAIN, FUNCTIONS_AGAIN = 8, 1        # what may be done again, at most


def work(exp: ir.Exp) -> tuple[int, int] | None:
    """How many operations and functions it takes to evaluate the expression, both branches of conditions counted; None
    if it calls scalar functions, which may take any time."""
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
    """The same, if it is little."""
    found = work(exp)
    return found if found and found[0] <= OPERATIONS_AGAIN and found[1] <= FUNCTIONS_AGAIN else None
