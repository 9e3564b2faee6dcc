"""Lanes of the reference executor: the indices for which a thread expression is evaluated, all at once.

A value is a NumPy scalar, the same in all lanes, or an array with one element per lane.
"""
from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu.reference.operators import Value

Indices = NDArray[np.int64]
Values = tuple[Value, ...]
NONE = np.zeros(0, np.int64)


class Ends:
    """The lanes of a scalar function's activation that have failed, and those that have ended because of it."""
    __slots__ = ("any", "ended", "failed")

    def __init__(self, count: int) -> None:
        self.failed, self.ended, self.any = np.zeros(count, np.bool_), np.zeros(count, np.bool_), False

    def fail(self, lanes: Lanes) -> Indices:
        """Let these lanes fail; return the indices of those that had not ended."""
        self.any = True
        self.failed[lanes.place] = True
        return lanes.index[~self.ended[lanes.place]]

    def going(self, lanes: Lanes) -> Indices:
        """Return the lanes that go on, before a call: those that have failed end."""
        if not self.any:
            return np.arange(len(lanes.index))
        self.ended[lanes.place] |= self.failed[lanes.place]
        return np.flatnonzero(~self.ended[lanes.place])

    def end(self, places: Indices) -> None:
        """Note that a call has failed in the lanes of these places."""
        if len(places):
            self.any = True
            self.failed[places] = self.ended[places] = True


class Lanes:
    """The lanes for which an expression is evaluated, and the values of its local names there. `index` holds the
    indices that failures report. The lanes of a branch are `chosen` among `outer` ones, whose locals are taken over
    when needed. In a scalar function, `place` holds each lane's place among the activation's lanes, whose failures
    `ends` tracks."""
    __slots__ = ("chosen", "ends", "index", "names", "outer", "place")

    def __init__(self, index: Indices, names: dict[str, Value], outer: Lanes | None = None,
                 chosen: Indices | None = None, place: Indices = NONE, ends: Ends | None = None) -> None:
        self.index, self.names, self.outer, self.chosen = index, names, outer, chosen
        self.place, self.ends = place, ends

    def local(self, name: str) -> Value | None:
        value = self.names.get(name)
        if value is None and self.outer is not None:
            value = self.outer.local(name)
            if value is not None:
                value = self.names[name] = pick(value, self.chosen)
        return value

    def choose(self, chosen: Indices) -> Lanes:
        place = self.place if self.ends is None else self.place[chosen]
        return Lanes(self.index[chosen], {}, self, chosen, place, self.ends)

    def fail(self) -> Indices:
        """Let the lanes fail; return the indices to report."""
        return self.index if self.ends is None else self.ends.fail(self)


def pick(value: Value, chosen: Any) -> Value:
    return value if value.ndim == 0 else value[chosen]


def replaced(value: Value, chosen: Any, new: Value, count: int) -> Value:
    """Return the value for so many lanes, with a new one in those chosen."""
    result = np.array(np.broadcast_to(value, count))
    result[chosen] = new
    return result


def split(condition: Value, then: ir.Exp, orelse: ir.Exp, lanes: Lanes) -> Iterator[tuple[ir.Exp, Lanes]]:
    """Yield each branch that some lanes take, with those lanes; `lanes` itself where all of them take it."""
    if np.all(condition):
        yield then, lanes
    elif not np.any(condition):
        yield orelse, lanes
    else:
        yield then, lanes.choose(np.flatnonzero(condition))
        yield orelse, lanes.choose(np.flatnonzero(~condition))


def merged(branches: list[tuple[Any, Lanes]], lanes: Lanes) -> Any:
    """Merge the branches' values, each in its lanes, into one value or a tuple of them."""
    first, some = branches[0]
    if some is lanes:
        return first
    if isinstance(first, tuple):
        return tuple([merged([(value[at], some) for value, some in branches], lanes) for at in range(len(first))])
    result = np.empty(len(lanes.index), first.dtype)
    for value, some in branches:
        result[some.chosen] = value
    return result


def joined(calls: list[tuple[Values, Indices]]) -> tuple[Values, Indices]:
    """Join the arguments and places of several calls of one function into those of one call."""
    if len(calls) == 1:
        return calls[0]
    columns = zip(*[[np.broadcast_to(value, len(places)) for value in arguments] for arguments, places in calls],
                  strict=True)
    return tuple(np.concatenate(column) for column in columns), np.concatenate([places for _, places in calls])


