"""Thread expressions for the reference executor: one expression, evaluated for all its lanes at once in NumPy.

A lane is one index for which a thunk runs. A value is a NumPy scalar, the same in all lanes, or an array with one
element per lane; a tuple expression gives a tuple of values. An `if` evaluates each branch for the lanes that take it
and for no others, and nothing is ever evaluated for no lanes at all.
"""
from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nessie.base.values import DTYPES
from nessie.lambda_cu import ir
from nessie.lambda_cu.reference_context import SCALAR_DEPTH, Context
from nessie.lambda_cu.reference_ops import MEANINGS, Value

Indices = NDArray[np.int64]
Values = tuple[Value, ...]


class Lanes:
    """The lanes for which an expression is evaluated and the values of its local names there. `index` holds what
    a failure reports. Lanes of a branch are `chosen` among `outer` ones, whose locals are taken over when needed."""
    __slots__ = ("chosen", "index", "names", "outer")

    def __init__(self, index: Indices, names: dict[str, Value], outer: Lanes | None = None,
                 chosen: Indices | None = None) -> None:
        self.index, self.names, self.outer, self.chosen = index, names, outer, chosen

    def local(self, name: str) -> Value | None:
        value = self.names.get(name)
        if value is None and self.outer is not None:
            value = self.outer.local(name)
            if value is not None:
                value = self.names[name] = pick(value, self.chosen)
        return value

    def choose(self, chosen: Indices) -> Lanes:
        return Lanes(self.index[chosen], {}, self, chosen)


def pick(value: Value, chosen: Any) -> Value:
    return value if value.ndim == 0 else value[chosen]


class Evaluator:
    """Evaluates expressions where the names of `outside` (a kernel's or a host function's) are in scope."""

    def __init__(self, context: Context, outside: Mapping[str, Any]) -> None:
        self.context, self.outside = context, outside
        self.depth = 0

    def components(self, exp: ir.Exp, lanes: Lanes) -> Values:
        """The values of all components, of one too."""
        value = self.value(exp, lanes)
        return value if isinstance(value, tuple) else (value,)

    def value(self, exp: ir.Exp, lanes: Lanes) -> Any:
        match exp:
            case ir.Const():
                return constant(exp)
            case ir.Var(name):
                value = lanes.local(name)
                return self.outside[name] if value is None else value
            case ir.Op(op, parts):
                return MEANINGS[op](*[self.value(part, lanes) for part in parts])
            case ir.Read(array, index):
                return self.read(array, self.value(index, lanes))
            case ir.If(condition, then, orelse):
                return self.conditional(self.value(condition, lanes), then, orelse, lanes)
            case ir.Let(names, value, body):
                lanes.names.update(zip(names, self.components(value, lanes), strict=True))
                return self.value(body, lanes)
            case ir.Tuple(items):
                return tuple([self.value(item, lanes) for item in items])
            case ir.Fail(site, type_):
                self.context.record(site, int(lanes.index.min()))
                return DTYPES[type_].type(0)
            case ir.CallScalar(function, parts):
                results = self.call(function, tuple([self.value(part, lanes) for part in parts]), lanes.index)
                return results[0] if len(results) == 1 else results
        raise TypeError(exp)

    def read(self, name: str, index: Value) -> Value:
        """After a failure an index may be wrong; it is clamped then. Before, it is an error of the compiler."""
        array = self.outside[name]
        if np.any(index < 0) or np.any(index >= len(array)):
            if self.context.error is None:
                self.context.inconsistent(f"an index is out of the range of {name}")
            if len(array) == 0:
                return array.dtype.type(0)
            index = np.clip(index, 0, len(array) - 1)
        return array[index]

    def conditional(self, condition: Value, then: ir.Exp, orelse: ir.Exp, lanes: Lanes) -> Any:
        parts = list(split(condition, then, orelse, lanes))
        if len(parts) == 1:
            return self.value(parts[0][0], parts[0][1])
        branches = [(self.value(branch, some), some.chosen) for branch, some in parts]
        if isinstance(branches[0][0], tuple):
            return tuple([merge([(value[at], chosen) for value, chosen in branches], len(lanes.index))
                         for at in range(len(branches[0][0]))])
        return merge(branches, len(lanes.index))

    def call(self, name: str, arguments: Values, index: Indices) -> Values:
        """A scalar function for all lanes. Lanes that end in a tail call go round again, together; other calls
        inside calls nest."""
        self.depth += 1
        if self.depth > min(self.context.limits.depth, SCALAR_DEPTH):
            self.context.raise_pending()
            self.context.too_deep("a scalar function recurs too deeply")
        count = len(index)
        results = tuple(np.zeros(count, DTYPES[type_]) for type_ in self.context.scalar_functions[name].results)
        waiting: dict[str, list[tuple[Values, Indices]]] = {name: [(arguments, np.arange(count))]}
        rounds = 0
        while waiting:
            self.context.poll()
            rounds += 1
            if rounds > self.context.limits.depth:
                self.context.raise_pending()
                self.context.too_deep(f"recursion is deeper than {self.context.limits.depth:,} calls")
            name = next(iter(waiting))
            arguments, places = joined(waiting.pop(name))
            function = self.context.scalar_functions[name]
            names = {param.name: value for param, value in zip(function.params, arguments, strict=True)}
            self.tail(function.body, Lanes(index[places], names), places, results, waiting)
        self.depth -= 1
        return results

    def tail(self, exp: ir.Exp, lanes: Lanes, places: Indices, results: tuple[NDArray[Any], ...],
             waiting: dict[str, list[tuple[Values, Indices]]]) -> None:
        """Evaluate in tail position: results go to their places, tail calls to those that wait."""
        while isinstance(exp, ir.Let):
            lanes.names.update(zip(exp.names, self.components(exp.value, lanes), strict=True))
            exp = exp.body
        match exp:
            case ir.If(condition, then, orelse):
                for branch, some in split(self.value(condition, lanes), then, orelse, lanes):
                    inner = places if some is lanes else places[some.chosen]
                    self.tail(branch, some, inner, results, waiting)
            case ir.CallScalar(function, parts):
                arguments = tuple([self.value(part, lanes) for part in parts])
                waiting.setdefault(function, []).append((arguments, places))
            case _:
                for result, value in zip(results, self.components(exp, lanes), strict=True):
                    result[places] = value


def split(condition: Value, then: ir.Exp, orelse: ir.Exp, lanes: Lanes) -> Iterator[tuple[ir.Exp, Lanes]]:
    """Each branch that some lanes take, with those lanes; the same lanes where all of them take it."""
    if np.all(condition):
        yield then, lanes
    elif not np.any(condition):
        yield orelse, lanes
    else:
        yield then, lanes.choose(np.flatnonzero(condition))
        yield orelse, lanes.choose(np.flatnonzero(~condition))


def merge(branches: list[tuple[Value, Any]], count: int) -> Value:
    """One value from those of the branches, each in its lanes."""
    result = np.empty(count, branches[0][0].dtype)
    for value, chosen in branches:
        result[chosen] = value
    return result


def joined(calls: list[tuple[Values, Indices]]) -> tuple[Values, Indices]:
    """The arguments and places of several calls of one function as those of one."""
    if len(calls) == 1:
        return calls[0]
    columns = zip(*[[np.broadcast_to(value, len(places)) for value in arguments] for arguments, places in calls],
                  strict=True)
    return tuple(np.concatenate(column) for column in columns), np.concatenate([places for _, places in calls])


def constant(const: ir.Const) -> Value:
    """The constant as a NumPy scalar; a char is its code point."""
    return DTYPES[const.type].type(ord(const.value) if isinstance(const.value, str) else const.value)
