"""NumPy's functions of arrays that are made of other operations."""
from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from nessie.arrays import array as arrays
from nessie.arrays import nodes, recorded
from nessie.arrays.bodies.kinds import BOOL, FLOAT, INT, Items, Rows, is_number, shown
from nessie.arrays.bodies.outside import see
from nessie.arrays.checks import one_dimension
from nessie.arrays.shapes.axes import grid, rows
from nessie.arrays.shapes.joining import concatenated, stacked
from nessie.arrays.shapes.reshaping import axis_of
from nessie.base.source import NessieError


def mapped(what: str, a: Any, function: Callable[[Any], Any]) -> arrays.Array:
    """Return what the function makes of each element; its errors are told where the user's code has asked for it."""
    return arrays.Array(recorded.asked_for(what, [a], function))


# Elements by keys -------------------------------------------------------------------------------


def by_keys(how: str, keys: Any, values: Any, least: Any) -> arrays.Array:
    """Return what is made of the values of each key, from 0 to the greatest: their sum, or the row of them. There are
    `least` keys or more."""
    of = one_dimension(how, recorded.node_of(keys))
    if of.kind != INT:
        raise NessieError(f"{how} takes ints as keys, and these are {shown(of.kind)}",
                          hint="a.astype(int) leaves out what is behind the point")
    pairs = recorded.zipped([of, values]) if recorded.node_of(values).shape else \
        recorded.combined(how, [of, values], see(lambda key, value: (key, value)), False)
    assert isinstance(pairs.kind, Items)
    size = recorded.node_of(least)
    if size.kind != INT or size.shape:
        raise NessieError(f"{how}: minlength is an int, and this is {shown(size.kind)}")
    value = pairs.kind.items[1]
    gives = Rows(value) if how == "group_by" else INT if value == BOOL else value
    return arrays.Array(nodes.Node((None,), gives, nodes.Changed(pairs, how, identity=size)))


def bincount(x: Any, weights: Any = None, minlength: Any = 0) -> arrays.Array:
    """How often each int occurs, from 0 to the greatest; the sums of their weights."""
    return by_keys("bincount", x, 1 if weights is None else arrays.asarray(weights).astype(float), minlength)


def histogram(a: Any, bins: Any = 10, range: Any = None, *, weights: Any = None) -> tuple[arrays.Array, Any]:
    """How many elements are in each bin, and the edges of bins, of which the last one contains its upper edge."""
    of = arrays.asarray(a).reshape(-1) if arrays.asarray(a).ndim > 1 else arrays.asarray(a).flatten()
    edges = edges_of(of, bins, range) if np.ndim(bins) == 0 else np.asarray(bins)
    count, low, high = len(edges) - 1, edges[0], edges[-1]

    def of_edges(x: float) -> int:
        return count - 1 if x == high else place(edges, x, True) - 1

    def of_one_width(x: float) -> int:
        if not low <= x <= high:
            return -1
        near = min(int((x - low) / (high - low) * count), count - 1)
        return near - 1 if x < edges[near] else near + 1 if near < count - 1 and x >= edges[near + 1] else near
    at = of.map(of_one_width if np.ndim(bins) == 0 else of_edges)
    if weights is None:
        return bincount(at.select(lambda n: 0 <= n < count), None, count), edges
    inside = at.zip(weights).select(lambda pair: 0 <= pair[0] < count)
    found = bincount(inside.map(lambda pair: pair[0]), inside.map(lambda pair: pair[1]), count)
    return found.astype(arrays.asarray(weights).dtype), edges


def edges_of(a: arrays.Array, bins: Any, limits: Any) -> Any:
    """Return the edges of so many bins of one width, between limits, or between the least element and the greatest."""
    if limits is None and len(a):
        least, most = a.min(), a.max()
        arrays.evaluate(least, most)
        limits = float(least), float(most)
    low, high = limits or (0.0, 1.0)
    if not (math.isfinite(low) and math.isfinite(high)):
        raise NessieError("bins have finite edges, and these elements have not",
                          hint="range=(low, high) says where bins are; np.isfinite(a) where elements are finite")
    if low == high:
        low, high = low - 0.5, high + 0.5
    return np.linspace(low, high, bins + 1)


def place(edges: Any, x: Any, behind: Any) -> Any:
    """The place of x among ascending edges; behind those that are equal to it, or before them."""
    low, high = 0, len(edges)
    while low < high:
        middle = (low + high) // 2
        if edges[middle] < x or (behind and edges[middle] == x) or x != x:
            low = middle + 1
        else:
            high = middle
    return low


def searchsorted(a: Any, v: Any, side: str = "left") -> arrays.Array:
    """The places of elements in an ascending array."""
    edges, behind = arrays.asarray(a), side == "right"
    return mapped("searchsorted", v, lambda x: place(edges, x, behind))


def take(a: Any, indices: Any) -> arrays.Array:
    """The elements at these places."""
    of = one_dimension("take", recorded.node_of(a))
    table = arrays.Array(of)
    return mapped("take", indices, lambda at: table[at])


def unique(ar: Any) -> Any:
    """The different elements in ascending order; one NaN of several."""
    found = ar.flatten().unique().sort()
    if found._nessie_node.kind != FLOAT:
        return found
    marked = found.map(lambda x, at: (x, at == 0 or found[at - 1] == found[at - 1]), with_index=True)
    return marked.select(lambda pair: pair[1]).map(lambda pair: pair[0])


# Orders -----------------------------------------------------------------------------------------


def argsort(a: Any) -> Any:
    """The places of the elements in ascending order; of equal ones, in theirs."""
    node = one_dimension("argsort", recorded.node_of(a))
    placed = arrays.Array(node).map(lambda x, at: (x, at), with_index=True)
    return placed.sort(key=lambda pair: pair[0]).map(lambda pair: pair[1])


def ascending(a: Any, axis: Any = -1) -> Any:
    """The elements in ascending order, along an axis or all of them."""
    if axis is None:
        return a.flatten().sort()
    node = a._nessie_node
    if a.ndim == 1 and is_number(node.kind):
        axis_of(a, axis)
        return a.sort()
    if not is_number(node.kind):
        return mapped("sort", a, lambda row: sorted(row))
    at, last = axis_of(a, axis), a.ndim - 1
    turned = a.swapaxes(at, last)
    found = grid(mapped("sort", rows(turned), lambda row: sorted(row)), turned.shape)
    return found.swapaxes(at, last)


# Differences and products -----------------------------------------------------------------------


def diff(a: Any) -> arrays.Array:
    """The differences of neighbours along the last axis."""
    if a.ndim == 1:
        return arrays.pnew(max(len(a) - 1, 0), lambda i: a[i + 1] - a[i])
    *outer, last = [length or 0 for length in a._known_shape()]
    if a.ndim != 2:
        raise NessieError(f"diff takes an array of one dimension or two, and this has {a.ndim}",
                          hint="a.stencil(offsets, outside, f) has differences of any neighbours")
    return arrays.pnew((*outer, max(last - 1, 0)), lambda at: a[at[0], at[1] + 1] - a[at[0], at[1]])


def dot(a: Any, b: Any) -> Any:
    """The product of vectors and matrices; of numbers, theirs."""
    one, other = arrays.asarray(a), arrays.asarray(b)
    return one @ other if one.ndim and other.ndim else np.multiply(one, other)


def outer(a: Any, b: Any) -> Any:
    one, other = arrays.asarray(a).reshape(-1, 1), arrays.asarray(b)
    return np.multiply(one, other.reshape(-1))


def norm(x: Any, ord: None = None, axis: Any = None, keepdims: bool = False) -> Any:
    """The root of the sum of squares."""
    if ord is not None:
        raise TypeError(ord)
    return np.sqrt((x * x).sum(axis=axis, keepdims=keepdims))


def average(a: Any, axis: Any = None, weights: Any = None) -> Any:
    if weights is None:
        return arrays.asarray(a).mean(axis=axis)
    a = arrays.asarray(a)
    return (a * weights).sum(axis=axis) / (0 * a + weights).sum(axis=axis)


def cumprod(a: Any) -> Any:
    """Running products of all elements."""
    one = 1.0 if a._nessie_node.kind == FLOAT else 1
    return a.flatten().scan(lambda x, y: x * y, one)


# Without NaN ------------------------------------------------------------------------------------


def nansum(a: Any, axis: Any = None) -> Any:
    return np.where(np.isnan(a), 0, a).sum(axis=axis)


def nanmean(a: Any, axis: Any = None) -> Any:
    return nansum(a, axis) / (~np.isnan(a)).sum(axis=axis)


def without_nan(how: str, instead: float) -> Callable[..., Any]:
    """The least or greatest element that is no NaN; NaN where all are."""
    def of_array(a: Any, axis: Any = None) -> Any:
        some = (~np.isnan(a)).any(axis=axis)
        found = np.where(some, getattr(np.where(np.isnan(a), instead, a), how)(axis=axis), math.nan)
        return found if a._nessie_node.kind == FLOAT else getattr(a, how)(axis=axis)
    return of_array


# Side by side -----------------------------------------------------------------------------------


def vstack(given: Sequence[Any]) -> arrays.Array:
    """Arrays of one dimension as rows, others one behind another."""
    of = [arrays.asarray(one) for one in given]
    return stacked(of, 0) if of and all([one.ndim == 1 for one in of]) else concatenated(of, 0)


def hstack(given: Sequence[Any]) -> arrays.Array:
    of = [arrays.asarray(one) for one in given]
    return concatenated(of, 0 if of and of[0].ndim == 1 else 1)


def column_stack(given: Sequence[Any]) -> arrays.Array:
    """Arrays of one dimension as columns, beside others."""
    return concatenated([one.reshape(-1, 1) if one.ndim == 1 else one for one in map(arrays.asarray, given)], 1)


def like(value: Any) -> Callable[..., arrays.Array]:
    """An array of one value that has the shape, and the dtype, of another."""
    def of_array(a: Any, *given: Any) -> arrays.Array:
        one, = given or (value,)
        found: arrays.Array = a.combine(one, lambda x, y: y).astype(a.dtype)
        return found
    return of_array


FUNCTIONS: dict[Any, Callable[..., Any]] = {
    np.bincount: bincount, np.histogram: histogram, np.searchsorted: searchsorted,
    np.digitize: lambda x, bins, right=False: searchsorted(bins, x, "left" if right else "right"),
    np.argsort: argsort, np.sort: ascending, np.unique: unique,
    np.diff: diff, np.dot: dot, np.outer: outer, np.linalg.norm: norm, np.average: average, np.cumprod: cumprod,
    np.nansum: nansum, np.nanmean: nanmean, np.nanmin: without_nan("min", math.inf),
    np.nanmax: without_nan("max", -math.inf), np.ptp: lambda a, axis=None: a.max(axis=axis) - a.min(axis=axis),
    np.take: take,
    np.vstack: vstack, np.hstack: hstack, np.column_stack: column_stack, np.copy: lambda a: a,
    np.zeros_like: like(0), np.ones_like: like(1), np.full_like: like(None)}
