"""The places at which endless recursion of scalar functions is reported: the call that is too deep, and the calls
that
led into it from a kernel."""
from __future__ import annotations

from collections.abc import Iterable, Mapping

from nessie.base.source import Origin, user_span
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu.scope import calls_in, soac_expressions


def tail_calls(exp: ir.Exp) -> list[ir.CallScalar]:
    """Return the calls that are the expression's last step, in the order of the text."""
    found, waiting = [], [exp]
    while waiting:
        match waiting.pop():
            case ir.Let(body=body):
                waiting.append(body)
            case ir.If(_, then, orelse):
                waiting += (orelse, then)
            case ir.CallScalar() as call:
                found.append(call)
    return found


def going_round(function: ir.ScalarFunction) -> ir.CallScalar | None:
    """Return the first tail call of the function to itself, by which it loops; None if there is none."""
    return next((call for call in tail_calls(function.body) if call.function == function.name), None)


def counts_up(function: ir.ScalarFunction) -> bool:
    """Is the function a loop that counts a parameter up to another, so that it ends after as many rounds?

        f(at, n, ..) = if at >= n then .. else .. f(at + 1, n, ..)
    """
    exp, bound = function.body, dict[str, ir.Exp]()
    while isinstance(exp, ir.Let):
        bound.update({exp.names[0]: exp.value} if len(exp.names) == 1 else {})
        exp = exp.body
    if not isinstance(exp, ir.If):
        return False
    condition = bound.get(exp.condition.name) if isinstance(exp.condition, ir.Var) else exp.condition
    params = [ir.Var(p.name) for p in function.params]
    match condition:
        case ir.Op(">=", (ir.Var() as at, ir.Var() as end)) if at in params and end in params:
            again = [call.arguments for call in calls_in(exp.orelse) if call.function == function.name]
            onwards = ir.Op("+", (at, ir.Const(1, "int")))
            steps = (onwards, ir.Op("int32", (onwards,)))
            return all([call.function != function.name for call in calls_in(exp.then)]) and all(
                [given[params.index(at)] in steps and given[params.index(end)] == end for given in again])
    return False


def origin_of(call: ir.CallScalar, kernel: ir.Kernel | None, launched: Origin,
              functions: Mapping[str, ir.ScalarFunction]) -> Origin:
    """Return the place at which a call in a scalar function is reported as too deep, when this kernel runs it, launched
    at `launched`."""
    way = way_to(call, calls_of(kernel) if kernel else [], functions)
    return way if user_span(way) else call.origin + launched


def calls_of(kernel: ir.Kernel) -> list[ir.CallScalar]:
    """The calls of scalar functions in a kernel."""
    return [call for bind in kernel.binds for exp in soac_expressions(bind.soac) for call in calls_in(exp)]


def way_to(call: ir.CallScalar, start: Iterable[ir.CallScalar], functions: Mapping[str, ir.ScalarFunction]) -> Origin:
    """Return the call's origin and the fewest calls that lead to it from one of `start`, innermost first; nothing if
    none lead to it."""
    ways = [(first, first.origin) for first in start]
    entered = set[str]()
    for last, way in ways:
        if last is call:
            return way
        if last.function not in entered:
            entered.add(last.function)
            ways += [(inner, inner.origin + way) for inner in calls_in(functions[last.function].body)]
    return ()
