"""What goes along axes of an array: reductions and running sums.

An array of several dimensions is in NESL what an array of rows is. So an operation along the last axis is a map of
rows; for another axis, that one becomes the last. Ragged rows have an axis of their own, which is the last.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from nessie.arrays import array as arrays
from nessie.arrays import nodes, recorded
from nessie.arrays.bodies.expressions.reductions import NONE_GIVEN, OF_SOME, ONE_BY_ONE, gives
from nessie.arrays.bodies.kinds import Kind, Rows, is_number, shown
from nessie.arrays.bodies.outside import see
from nessie.arrays.errors import caller
from nessie.arrays.shapes.reshaping import axes_of, axis_of, empty, expanded, known, reshaped, transposed
from nessie.base.source import NessieError

ROWS: dict[str, Callable[[Any], Any]] = {
    "sum": lambda row: row.sum(), "prod": lambda row: row.prod(), "min": lambda row: row.min(),
    "max": lambda row: row.max(), "any": lambda row: row.any(), "all": lambda row: row.all(),
    "mean": lambda row: row.mean(), "argmin": lambda row: row.argmin(), "argmax": lambda row: row.argmax(),
    "var": lambda row: row.var(), "std": lambda row: row.std(), "median": lambda row: row.median(),
    "cumsum": lambda row: row.prefix_sum()}
OF_NONE = ("sum", "prod", "any", "all", "cumsum")               # of no elements, they are something
BY_COLUMNS = ("sum", "prod", "min", "max", "any", "all", "mean")


def reduction(a: arrays.Array, how: str, axis: Any, keepdims: bool) -> arrays.Array:
    """Return the reduction of all elements, or along an axis or several. With `keepdims`, these have length 1 then."""
    rank = a.ndim + levels(a._nessie_node.kind)
    at = list(range(rank)) if axis is None else axes_of(a, axis, max(rank, 1))
    if how in ("argmin", "argmax") and axis is not None and len(at) > 1:
        raise NessieError(f"{how} goes along one axis, or through all elements, and this is {axis}")
    found = arrays.Array(recorded.named_reduction(a._nessie_node, how)) if len(at) == rank else along(a, how, at)
    return expanded(found, tuple(at)) if keepdims and at else found


def levels(kind: Kind) -> int:
    """How many axes do ragged rows have?"""
    return 1 + levels(kind.element) if isinstance(kind, Rows) else 0


def running_sum(a: arrays.Array, axis: Any = None) -> arrays.Array:
    """Return NumPy's cumsum."""
    node = a._nessie_node
    if axis is None:
        while node.shape and (len(node.shape) > 1 or isinstance(node.kind, Rows)):
            node = recorded.flattened(node)
        return arrays.Array(node).prefix_sum()
    return along(a, "cumsum", [axis_of(a, axis, a.ndim + levels(node.kind))])


def along(a: arrays.Array, how: str, axes: Sequence[int]) -> arrays.Array:
    """Return the reduction along some axes, or the running sums along one."""
    node = a._nessie_node
    if isinstance(node.kind, Rows):
        return inside_rows(a, how, axes)
    if not is_number(node.kind):
        raise NessieError(f"{how} takes numbers, and these are {shown(node.kind)}")
    if how in OF_SOME and 0 in [node.shape[at] for at in axes]:
        raise NessieError(f"there is no {OF_SOME[how]} of no elements", hint=NONE_GIVEN)
    if 0 in node.shape:                     # of rows without elements, NESL does not know how many there are
        if how in OF_NONE:
            return known(getattr(np, how)(empty(node), axis=tuple(axes) if len(axes) > 1 else axes[0]), a)
        shape = [n or 0 for k, n in enumerate(node.shape) if k not in axes]
        return known(np.zeros(shape, nodes.DTYPES[str(gives(how, node.kind))]), a)
    if len(axes) > 1 and how in ONE_BY_ONE:
        for at in reversed(axes):
            a = along(a, how, [at])
        return a
    if a.ndim == 1:
        return a.prefix_sum()
    if list(axes) == [0] and a.ndim > 2 and how in BY_COLUMNS and node.operation is None:
        columns = along(reshaped(a, (a.shape[0], -1)), how, axes)       # which a core adds up beside each other
        return reshaped(columns, node.shape[1:])
    order = [*[k for k in range(a.ndim) if k not in axes], *axes]
    last = transposed(a, order)
    if len(axes) > 1:
        last = reshaped(last, (*last._known_shape()[:-len(axes)], -1))
    mapped = of_each_row(rows(last), how)
    if how != "cumsum":
        return mapped
    at, = axes
    back = [*order[:at], a.ndim - 1, *range(at, a.ndim - 1)]
    return transposed(grid(mapped, [node.shape[k] for k in order]), back)


def inside_rows(a: arrays.Array, how: str, axes: Sequence[int]) -> arrays.Array:
    """Return what goes along the rows' own axis, the last one."""
    kind = a._nessie_node.kind
    last = a.ndim + levels(kind) - 1
    if list(axes) != [last]:
        raise NessieError(f"{how} of ragged rows goes along their own axis, {last}, and this is "
                          f"{axes[0] if len(axes) == 1 else tuple(axes)}",
                          hint=f"{how}() goes through all elements" if how != "cumsum" else "")
    if levels(kind) > 1:
        method = "prefix_sum" if how == "cumsum" else how
        raise NessieError(f"{how} goes along rows, and these are rows of rows",
                          hint=f"a.map(lambda rows: [row.{method}() for row in rows]) has them")
    return of_each_row(a, how)


def of_each_row(a: arrays.Array, how: str) -> arrays.Array:
    """Return the reduction of each row, or its running sums; errors are told where the user's code has asked for it."""
    return arrays.Array(recorded.combined(how, [a], see(ROWS[how]).called_by(caller()), False))


def rows(a: arrays.Array) -> arrays.Array:
    """Return the array as one of rows, along the last axis."""
    node = a._nessie_node
    return arrays.Array(nodes.Node(node.shape[:-1], Rows(node.kind), nodes.Regarded(node)))


def grid(a: arrays.Array, shape: Sequence[int | None]) -> arrays.Array:
    """Return an array of rows of one length as one of a dimension more."""
    node = a._nessie_node
    assert isinstance(node.kind, Rows)
    return arrays.Array(nodes.Node(tuple(shape), node.kind.element, nodes.Regarded(node)))


def spread(a: arrays.Array, how: str, axis: Any, ddof: float, keepdims: bool) -> arrays.Array:
    """Return the variance, or the standard deviation. It is divided by `ddof` less than how many there are."""
    found = reduction(a, how, axis, keepdims)
    if ddof == 0:
        return found
    ones = arrays.Array(recorded.elementwise(how, [a], see(lambda x: 1)))
    count = reduction(ones, "sum", axis, keepdims)
    if how == "std":
        return found.combine(count, lambda v, n: v * np.sqrt(np.divide(n, max(n - ddof, 0))))
    return found.combine(count, lambda v, n: v * np.divide(n, max(n - ddof, 0)))

