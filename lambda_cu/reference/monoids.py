"""Segmented reductions and scans with any associative operator, in order, in NumPy.

Neighbours are combined pair by pair, in rounds, for all segments at once. An operator always gets elements in their
order, so it need not commute. Known operators on ints go to NumPy's own reductions.
"""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nessie.base.system.forking import cached_property
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu.reference.lanes import Indices, Lanes, Values
from nessie.lambda_cu.reference.operators import MONOIDS
from nessie.lambda_cu.reference.thunks import Evaluator

Arrays = tuple[NDArray[Any], ...]


class Segments:
    """The segments of a space: segment s is offsets[s] .. offsets[s+1]-1. A flat space is one segment. `outer`: several
    axes of which the segments are the indices."""

    def __init__(self, offsets: Indices, outer: tuple[int, ...] = ()) -> None:
        self.offsets, self.outer = offsets, outer
        self.total = int(offsets[-1])
        self.lengths: Indices = np.diff(offsets)

    @cached_property
    def segment(self) -> Indices:
        """Each element's segment."""
        return np.repeat(np.arange(len(self.lengths)), self.lengths)

    @cached_property
    def position(self) -> Indices:
        """Each element's position in its segment."""
        return np.arange(self.total) - self.offsets[self.segment]

    def parameters(self, chosen: Indices, count: int) -> tuple[Indices, ...]:
        """Return the arguments of a thunk of `count` parameters at the chosen indices: (i) or (s, j, i), before which
        are the indices of outer axes."""
        if count == 1:
            return (chosen,)
        segment = self.segment[chosen]
        return (*(self.axes(segment) if self.outer else ()), segment, self.position[chosen], chosen)

    def axes(self, segments: Indices) -> tuple[Indices, ...]:
        """Return the segments' indices of the axes outside of them."""
        if not len(segments):
            return (segments,) * max(len(self.outer), 1)
        return tuple(np.unravel_index(segments, self.outer)) if self.outer else (segments,)


def reduce_segments(items: Arrays, identity: Values, operator: ir.Thunk, over: Segments,
                    evaluator: Evaluator) -> Arrays:
    """Return one element per segment: the identity, combined with all elements in order."""
    known = known_monoid(operator)
    results = tuple(np.full(len(over.lengths), value) for value in identity)
    full = np.flatnonzero(over.lengths)
    if len(full) == 0:
        return results
    if known is not None and items[0].dtype.kind != "f":
        results[0][full] = known.reduceat(items[0], over.offsets[full], dtype=items[0].dtype)
        return results
    items = join_segments(items, over.lengths[full], operator, evaluator)
    items = combine(operator, [result[full] for result in results], items, evaluator)
    for result, item in zip(results, items, strict=True):
        result[full] = item
    return results


def join_segments(items: Arrays, lengths: Indices, operator: ir.Thunk, evaluator: Evaluator) -> Arrays:
    """Return one element per segment: all of its elements combined, in order. No segment is empty."""
    while len(lengths) and lengths.max() > 1:
        items, lengths = halve(items, lengths, operator, evaluator)
    return items


def halve(items: Arrays, lengths: Indices, operator: ir.Thunk, evaluator: Evaluator) -> tuple[Arrays, Indices]:
    """Combine the elements 2k and 2k+1 of each segment; a last element without a neighbour stays."""
    ends = np.cumsum(lengths)
    position = np.arange(ends[-1]) - np.repeat(ends - lengths, lengths)
    left = np.flatnonzero((position % 2 == 0) & (position + 1 < np.repeat(lengths, lengths)))
    combined = combine(operator, [item[left] for item in items], [item[left + 1] for item in items], evaluator)
    kept = np.flatnonzero(position % 2 == 0)
    items = tuple(item.copy() for item in items)
    for item, value in zip(items, combined, strict=True):
        item[left] = value
    return tuple(item[kept] for item in items), (lengths + 1) // 2


def scan_segments(items: Arrays, identity: Values, operator: ir.Thunk, over: Segments, total: bool,
                  evaluator: Evaluator) -> Arrays:
    """Return the reduction of all earlier elements of the segment; with `total`, also that of all elements, at the
    end."""
    sums = inclusive(items, operator, over, evaluator)
    if over.total:
        sums = combine(operator, [np.full(over.total, value) for value in identity], sums, evaluator)
    results = tuple(np.full(over.total + total, value) for value in identity)
    later = np.flatnonzero(over.position)
    for result, column in zip(results, sums, strict=True):
        result[later] = column[later - 1]
        if total and over.total:
            result[-1] = column[-1]
    return results


def inclusive(items: Arrays, operator: ir.Thunk, over: Segments, evaluator: Evaluator) -> Arrays:
    """Combine each element with all before it in its segment: in rounds of doubling distance."""
    known = known_monoid(operator)
    if known is not None and len(over.lengths) == 1 and items[0].dtype.kind != "f":
        return (known.accumulate(items[0], dtype=items[0].dtype),)
    items = tuple(item.copy() for item in items)
    distance, longest = 1, int(over.lengths.max(initial=0))
    while distance < longest:
        right = np.flatnonzero(over.position >= distance)
        combined = combine(operator, [item[right - distance] for item in items], [item[right] for item in items],
                           evaluator)
        for item, value in zip(items, combined, strict=True):
            item[right] = value
        distance *= 2
    return items


def combine(operator: ir.Thunk, left: Sequence[NDArray[Any]], right: Sequence[NDArray[Any]],
            evaluator: Evaluator) -> Values:
    """Return left operator right, for all pairs. A failure in an operator has no index of its own: it reports 0."""
    names = dict(zip(operator.params, [*left, *right], strict=True))
    return evaluator.components(operator.body, Lanes(np.zeros(len(left[0]), np.int64), names))


def known_monoid(operator: ir.Thunk) -> np.ufunc | None:
    """Return NumPy's operator if the thunk is (x, y) => x op y."""
    match operator:
        case ir.Thunk((x, y), ir.Op(op, (ir.Var(left), ir.Var(right)))) if (left, right) == (x, y):
            return MONOIDS.get(op)
    return None
