"""Hoists divisions and roots that are alike for all elements of a segment: they are computed once a segment.

    for (s = ...) {
      int once = s / n;
      int once_2 = s - s / n * n;
      for (i = ...) { y = a[once] * b[once_2] + c[i - start]; }
    }

So a nest of regular sequences is nested loops: where a segment lies in the sequences around it costs a division a
segment, and none an element; in a triangle, a square root. Operators are total: it does no harm to divide for a segment
that has no elements.
"""
from __future__ import annotations

from collections.abc import Iterator

from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu.parts import children, subexpressions
from nessie.lambda_cu.scope import bound_names

COSTLY = ("/", "rem", "mod", "sqrt")


def divisions(thunk: ir.Thunk) -> Iterator[tuple[str, ir.Exp]]:
    """The greatest expressions that divide, and depend on the segment and on scalars of the kernel alone, each with the
    name that it is bound to, '' where there is none; what they mention of each other comes first."""
    if not is_costly(thunk.body):
        return
    varying, hoisted = {*thunk.params[-2:], *bound_names(thunk.body)}, set[str]()
    waiting = [thunk.body]
    while waiting:
        exp = waiting.pop()
        if isinstance(exp, ir.Let) and len(exp.names) == 1 and fixed(exp.value, varying) and (
                is_costly(exp.value) or mentions(exp.value, hoisted)):
            yield exp.names[0], exp.value
            varying.remove(exp.names[0])
            hoisted.add(exp.names[0])
            waiting.append(exp.body)
        elif isinstance(exp, ir.Op) and fixed(exp, varying):
            if is_costly(exp):
                yield "", exp
        else:
            waiting += children(exp)[::-1]


def is_costly(exp: ir.Exp) -> bool:
    return any(isinstance(e, ir.Op) and e.op in COSTLY for e in subexpressions(exp))


def mentions(exp: ir.Exp, names: set[str]) -> bool:
    return any(isinstance(e, ir.Var) and e.name in names for e in subexpressions(exp))


def fixed(exp: ir.Exp, varying: set[str]) -> bool:
    return all(isinstance(e, ir.Op | ir.Const) or (isinstance(e, ir.Var) and e.name not in varying)
               for e in subexpressions(exp))
