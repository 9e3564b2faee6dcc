"""Hoists divisions that are alike for all elements of a segment: they are computed once a segment.

    for (s = ...) {
      int once = s / n;
      int once_2 = s - s / n * n;
      for (i = ...) { y = a[once] * b[once_2] + c[i - start]; }
    }

So a nest of regular sequences is nested loops: where a segment lies in the sequences around it costs a division a
segment, and none an element. Operators are total: it does no harm to divide for a segment that has no elements.
"""
from __future__ import annotations

from collections.abc import Iterator

from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu.parts import children, subexpressions
from nessie.lambda_cu.scope import bound_names

DIVISIONS = ("/", "rem", "mod")


def divisions(thunk: ir.Thunk) -> Iterator[ir.Exp]:
    """The greatest expressions that divide, and depend on the segment and on scalars of the kernel alone."""
    if not any(isinstance(e, ir.Op) and e.op in DIVISIONS for e in subexpressions(thunk.body)):
        return
    varying = {*thunk.params[1:], *bound_names(thunk.body)}
    waiting = [thunk.body]
    while waiting:
        exp = waiting.pop()
        if isinstance(exp, ir.Op) and fixed(exp, varying):
            if any(isinstance(e, ir.Op) and e.op in DIVISIONS for e in subexpressions(exp)):
                yield exp
        else:
            waiting += children(exp)[::-1]


def fixed(exp: ir.Exp, varying: set[str]) -> bool:
    return all(isinstance(e, ir.Op | ir.Const) or (isinstance(e, ir.Var) and e.name not in varying)
               for e in subexpressions(exp))
