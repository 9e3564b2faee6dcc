"""The places at which endless recursion of scalar functions is told: the call that is too much, and at those that led
into it from a kernel."""
from __future__ import annotations

from collections.abc import Iterable, Mapping

from nessie.base.source import Origin, user_span
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu.scope import calls_in, soac_expressions


def tail_calls(exp: ir.Exp) -> list[ir.CallScalar]:
    """The calls that are its last step, in the order of the text."""
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
    """The place where a function that loops goes round: the first call of itself as its last step."""
    return next((call for call in tail_calls(function.body) if call.function == function.name), None)


def origin_of(call: ir.CallScalar, kernel: ir.Kernel | None, launched: Origin,
              functions: Mapping[str, ir.ScalarFunction]) -> Origin:
    """The places to tell for a call too much in a scalar function, run by this kernel, which is launched there."""
    way = way_to(call, calls_of(kernel) if kernel else [], functions)
    return way if user_span(way) else call.origin + launched


def calls_of(kernel: ir.Kernel) -> list[ir.CallScalar]:
    """The calls of scalar functions in a kernel."""
    return [call for bind in kernel.binds for exp in soac_expressions(bind.soac) for call in calls_in(exp)]


def way_to(call: ir.CallScalar, start: Iterable[ir.CallScalar], functions: Mapping[str, ir.ScalarFunction]) -> Origin:
    """The place of the call, and the fewest calls that lead there from one of `start`, innermost first, if any do."""
    ways = [(first, first.origin) for first in start]
    entered = set[str]()
    for last, way in ways:
        if last is call:
            return way
        if last.function not in entered:
            entered.add(last.function)
            ways += [(inner, inner.origin + way) for inner in calls_in(functions[last.function].body)]
    return ()
