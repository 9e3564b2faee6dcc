"""What goes along one axis of an array: reductions, running sums, transpositions and products of matrices.

An array of several dimensions is in NESL what an array of rows is. So an operation along the last axis is a map of
rows; for another axis, that one becomes the last.
"""
from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from nessie.arrays import array as arrays
from nessie.arrays import nodes, recorded
from nessie.arrays.bodies.kinds import BOOL, Rows, is_number, shown
from nessie.arrays.bodies.outside import see
from nessie.arrays.bodies.reductions import OF_SOME
from nessie.arrays.errors import caller
from nessie.base.source import NessieError

ROWS: dict[str, Callable[[Any], Any]] = {
    "sum": lambda row: row.sum(), "prod": lambda row: row.prod(), "min": lambda row: row.min(),
    "max": lambda row: row.max(), "any": lambda row: row.any(), "all": lambda row: row.all(),
    "mean": lambda row: row.mean(), "argmin": lambda row: row.argmin(), "argmax": lambda row: row.argmax(),
    "cumsum": lambda row: row.prefix_sum()}


def along(a: arrays.Array, how: str, axis: Any) -> arrays.Array:
    """Return the reduction, or the running sums, along one axis."""
    node, at = a._nessie_node, axis_of(a, axis)
    if not is_number(node.kind):
        raise NessieError(f"{how} takes numbers, and these are {shown(node.kind)}")
    if how in OF_SOME and node.shape[at] == 0:
        raise NessieError(f"there is no {OF_SOME[how]} of no elements")
    if 0 in node.shape:                     # of rows without elements, NESL does not know how many there are
        return known(getattr(np, how)(empty(node), axis=at), a)
    order = [*[k for k in range(a.ndim) if k != at], at]
    mapped = rows(transposed(a, order)).map(ROWS[how])
    if how != "cumsum":
        return mapped
    back = [*order[:at], a.ndim - 1, *range(at, a.ndim - 1)]
    return transposed(grid(mapped, [node.shape[k] for k in order]), back)


def axis_of(a: arrays.Array, axis: Any) -> int:
    try:
        at = operator.index(axis)
    except TypeError:
        raise NessieError(f"an axis is one int here, and this is {axis!r}") from None
    if not -a.ndim <= at < a.ndim:
        raise NessieError(f"an array of {a.ndim} dimension{'s' * (a.ndim != 1)} has no axis {at}")
    return at % a.ndim


def empty(node: nodes.Node) -> Any:
    return np.zeros(tuple([n or 0 for n in node.shape]), nodes.DTYPES[str(node.kind)])


def known(value: Any, of: arrays.Array) -> arrays.Array:
    """Return the array of a value that needs no computing. It lies where the array does that it is made of."""
    return arrays.asarray(value, of.device)


def rows(a: arrays.Array) -> arrays.Array:
    """Return the array as one of rows, along the last axis."""
    node = a._nessie_node
    return arrays.Array(nodes.Node(node.shape[:-1], Rows(node.kind), nodes.Regarded(node)))


def grid(a: arrays.Array, shape: Sequence[int | None]) -> arrays.Array:
    """Return an array of rows of one length as one of a dimension more."""
    node = a._nessie_node
    assert isinstance(node.kind, Rows)
    return arrays.Array(nodes.Node(tuple(shape), node.kind.element, nodes.Regarded(node)))


def transposed(a: arrays.Array, order: Sequence[int]) -> arrays.Array:
    """Return the array whose axes are those of this, in the order: made of swaps of neighbours."""
    if 0 in a.shape and list(order) != sorted(order):
        return known(np.transpose(empty(a._nessie_node), order), a)
    left = list(order)
    for at in range(len(left)):             # the axis that is the result's `at` comes there from the right
        for k in range(left[at], at, -1):
            a = swapped(a, k - 1)
        left[at + 1:] = [n + (n < left[at]) for n in left[at + 1:]]
    return a


def swapped(a: arrays.Array, at: int) -> arrays.Array:
    """Return the array with this axis and the next exchanged."""
    node = a._nessie_node
    shape = [*node.shape[:at], node.shape[at + 1], node.shape[at], *node.shape[at + 2:]]
    return arrays.Array(nodes.Node(tuple(shape), node.kind, nodes.Swapped(node, at)))


def product(x: Any, y: Any) -> arrays.Array:
    """Return the product of matrices and vectors, as NumPy's matmul has it."""
    a, b = arrays.asarray(x), arrays.asarray(y)
    if not (1 <= a.ndim <= 2 and 1 <= b.ndim <= 2):
        raise NessieError(f"@ multiplies vectors and matrices, and these have {a.ndim} and {b.ndim} dimensions")
    for one in (a, b):
        if not is_number(one._nessie_node.kind):
            raise NessieError(f"@ takes numbers, and these are {shown(one._nessie_node.kind)}")
    inner = a.shape[-1], b.shape[0]
    if None not in inner and inner[0] != inner[1]:
        raise NessieError(f"@ takes rows as long as columns, and these have {inner[0]} and {inner[1]} elements")
    if 0 in (*a.shape, *b.shape):
        return known(empty(a._nessie_node) @ empty(b._nessie_node), a)
    if a.ndim == b.ndim == 1:
        if both_bool(a, b):
            return a.combine(b, lambda x, y: x and y).any()
        return a.combine(b, lambda x, y: x * y).sum()
    if a.ndim == 1:
        return product(transposed(b, [1, 0]), a)
    vector, columns = b, transposed(b, [1, 0]) if b.ndim == 2 else b
    if b.ndim == 1:
        found = of_rows(a, lambda row: sum(x * y for x, y in zip(row, vector, strict=True)))
    else:
        multiplied = of_rows(a, lambda row: [
            sum(x * y for x, y in zip(row, column, strict=True)) for column in columns])
        found = grid(multiplied, [a.shape[0], b.shape[1]])
    return found.map(lambda x: x > 0) if both_bool(a, b) else found


def of_rows(a: arrays.Array, function: Callable[[Any], Any]) -> arrays.Array:
    """Return what the function makes of each row; its errors are told where the user's code has asked for it."""
    body = see(function)
    body.caller = caller()
    return arrays.Array(recorded.combined("@", [rows(a)], body, False))


def both_bool(a: arrays.Array, b: arrays.Array) -> bool:
    return a._nessie_node.kind == b._nessie_node.kind == BOOL


def running_sum(a: arrays.Array, axis: Any = None) -> arrays.Array:
    """Return NumPy's cumsum."""
    return a.flatten().prefix_sum() if axis is None else along(a, "cumsum", axis)


def reduction(a: arrays.Array, how: str, axis: Any) -> arrays.Array:
    """Return the reduction of all elements, or along an axis."""
    if axis is None or a.ndim <= 1:
        if axis is not None:
            axis_of(a, axis)
        return arrays.Array(recorded.named_reduction(a._nessie_node, how))
    return along(a, how, axis)


