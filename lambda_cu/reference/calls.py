"""Calls of scalar functions in the reference executor, for many lanes at once, on a stack of their own.

An activation is a generator: it yields the calls that it makes, and is sent their results. A tail call of the function
itself is a round: the lanes that end in one go round again, together. Other calls nest, as deep as memory and the limit
allow. A lane that has failed makes no further call. A lane ends where a call in it fails: it records nothing after
that, and its results are zeros.
"""
from __future__ import annotations

from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from nessie.base.records import dataclass
from nessie.base.values import DTYPES
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu.reference.lanes import Ends, Indices, Lanes, Values, joined, merged, pick, split
from nessie.lambda_cu.reference.operators import MEANINGS
from nessie.lambda_cu.running.recursion import counts_up, going_round

if TYPE_CHECKING:
    from nessie.lambda_cu.reference.thunks import Evaluator

ACTIVATION = 3000               # bytes, besides some words per lane for each name of an activation
WORDS = 8

Arrays = tuple[NDArray[Any], ...]
Request = tuple[ir.CallScalar, "Called", Indices]           # a call, what is called, the index of each lane
Answer = tuple[tuple[NDArray[Any], ...], NDArray[np.bool_]]     # the results, and which lanes have failed
Steps = Generator[Request, Answer, Any]


@dataclass(frozen=True, eq=False)
class Called:
    """A scalar function with its arguments, and the arrays that it reads, which are the same in all lanes."""
    function: str
    arguments: Values
    arrays: Arrays


def run_calls(evaluator: Evaluator, called: Called, index: Indices) -> Values:
    """Return the function's results for all lanes. Failures report the lanes' indices."""
    context = evaluator.context
    stack: list[tuple[Steps, int]] = []

    def enter(called: Called, index: Indices) -> None:
        size = ACTIVATION + WORDS * 8 * len(index)
        context.begin_call(called.function, size)
        inside = evaluator.inside(context.scalar_functions[called.function], called.arrays)
        stack.append((activation(inside, called.function, called.arguments, index), size))

    try:
        enter(called, index)
        return run_stack(evaluator, stack, enter)
    finally:
        stack.clear()                           # a kept error also keeps whatever its traceback holds


def run_stack(evaluator: Evaluator, stack: list[tuple[Steps, int]],
              enter: Callable[[Called, Indices], None]) -> Values:
    """Run the activations until the first ends, and return its results."""
    context = evaluator.context
    answer: Answer | None = None
    while True:
        try:
            call, called, index = stack[-1][0].send(answer)  # type: ignore[arg-type]
        except StopIteration as end:
            context.end_call(stack.pop()[1])
            answer = end.value
            if not stack:
                results: Values = end.value[0]
                return results
            continue
        if context.running.beyond(call.function, len(stack)) is None:
            enter(called, index)
            answer = None
        else:
            context.record_too_deep(call, int(index.min()))
            answer = zeros(evaluator, call.function, len(index)), np.ones(len(index), np.bool_)


def zeros(evaluator: Evaluator, function: str, count: int) -> tuple[NDArray[Any], ...]:
    return tuple([np.zeros(count, DTYPES[type_]) for type_ in evaluator.context.scalar_functions[function].results])


def activation(evaluator: Evaluator, name: str, arguments: Values, index: Indices) -> Steps:
    """Run one call, for all its lanes. The tail positions of a round are visited one after another."""
    context, function = evaluator.context, evaluator.context.scalar_functions[name]
    ends = Ends(len(index))
    results = zeros(evaluator, name, len(index))
    waiting: list[tuple[Values, Indices]] = [(arguments, np.arange(len(index)))]
    rounds, ends_by_itself = 0, counts_up(function)
    while waiting:
        context.poll()
        rounds += 1
        if not ends_by_itself and rounds > context.running.most(name):
            context.raise_pending()
            again = going_round(function)
            assert again is not None
            context.too_many_calls(again)
        arguments, places = joined(waiting)
        waiting = []
        names = {param.name: value for param, value in zip(function.params, arguments, strict=True)}
        pending: list[tuple[ir.Exp, Lanes]] = [(function.body, Lanes(index[places], names, place=places, ends=ends))]
        while pending:
            exp, lanes = pending.pop()
            while isinstance(exp, ir.Let):
                value = yield from steps(evaluator, exp.value, lanes)
                lanes.names.update(zip(exp.names, value if isinstance(value, tuple) else (value,), strict=True))
                exp = exp.body
            match exp:
                case ir.If(condition, then, orelse):
                    test = yield from steps(evaluator, condition, lanes)
                    pending += reversed(list(split(test, then, orelse, lanes)))
                case ir.CallScalar(called, parts) if called == name:
                    arguments = yield from several(evaluator, parts, lanes)
                    going = ends.going(lanes)
                    if len(going):
                        waiting.append((tuple([pick(a, going) for a in arguments]), lanes.place[going]))
                case _:
                    value = yield from steps(evaluator, exp, lanes)
                    for result, column in zip(results, value if isinstance(value, tuple) else (value,), strict=True):
                        result[lanes.place] = column
    for result in results:
        result[ends.ended] = 0
    return results, ends.failed


def steps(evaluator: Evaluator, exp: ir.Exp, lanes: Lanes) -> Steps:
    """Evaluate the expression, yielding the calls on the way."""
    if id(exp) not in evaluator.context.calling:
        return evaluator.value(exp, lanes)
    match exp:
        case ir.CallScalar(_, parts):
            arguments = yield from several(evaluator, parts, lanes)
            results = yield from nested(evaluator, exp, arguments, lanes)
            return results[0] if len(results) == 1 else results
        case ir.Let(names, value, body):
            found = yield from steps(evaluator, value, lanes)
            lanes.names.update(zip(names, found if isinstance(found, tuple) else (found,), strict=True))
            return (yield from steps(evaluator, body, lanes))
        case ir.If(condition, then, orelse):
            test = yield from steps(evaluator, condition, lanes)
            branches = []
            for branch, some in split(test, then, orelse, lanes):
                branches.append(((yield from steps(evaluator, branch, some)), some))
            return merged(branches, lanes)
        case ir.Op(op, parts):
            return MEANINGS[op](*(yield from several(evaluator, parts, lanes)))
        case ir.Read(array, at):
            return evaluator.element(array, (yield from steps(evaluator, at, lanes)))
        case ir.Tuple(items):
            return (yield from several(evaluator, items, lanes))
    raise TypeError(exp)


def several(evaluator: Evaluator, exps: tuple[ir.Exp, ...], lanes: Lanes) -> Steps:
    values = []
    for exp in exps:
        values.append((yield from steps(evaluator, exp, lanes)))
    return tuple(values)


def nested(evaluator: Evaluator, call: ir.CallScalar, arguments: Values, lanes: Lanes) -> Steps:
    """Make the call for the lanes that have not failed, and return its results; the others get zeros."""
    assert lanes.ends is not None
    arrays = tuple([evaluator.outside[array] for array in call.arrays])
    going = lanes.ends.going(lanes)
    if len(going) == len(lanes.index):
        results, failed = yield call, Called(call.function, arguments, arrays), lanes.index
    else:
        results, failed = zeros(evaluator, call.function, len(lanes.index)), np.zeros(len(going), np.bool_)
        if len(going):
            some = tuple([pick(a, going) for a in arguments])
            some, failed = yield call, Called(call.function, some, arrays), lanes.index[going]
            for result, column in zip(results, some, strict=True):
                result[going] = column
    lanes.ends.end(lanes.place[going[failed]])
    return results
