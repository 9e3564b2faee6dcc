"""The same elements in another shape, with more or fewer axes of length 1, or with their axes in another order."""
from __future__ import annotations

import math
import operator
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from nessie.api.values.device import DeviceArray
from nessie.arrays import array as arrays
from nessie.arrays import nodes, operations, recorded
from nessie.arrays.bodies.kinds import Rows
from nessie.base.source import NessieError

AXES = "axis=0 is the first, axis=-1 the last"


def axis_of(a: arrays.Array, axis: Any, rank: int = 0) -> int:
    """Return the number of an axis, of so many."""
    rank = rank or a.ndim
    try:
        at = operator.index(axis)
    except TypeError:
        raise NessieError(f"an axis is an int here, and this is {axis!r}", hint=AXES) from None
    if not -rank <= at < rank:
        raise NessieError(f"an array of {rank} dimension{'s' * (rank != 1)} has no axis {at}", hint=AXES)
    return at % rank


def axes_of(a: arrays.Array, axis: Any, rank: int = 0) -> list[int]:
    """Return the numbers of one axis or of several, ascending."""
    found = [axis_of(a, one, rank) for one in (axis if isinstance(axis, tuple) else (axis,))]
    if len(set(found)) < len(found):
        raise NessieError(f"each axis is named once, and these are {axis}")
    return sorted(found)


# Other shapes -----------------------------------------------------------------------------------


def reshaped(a: arrays.Array, shape: Sequence[Any]) -> arrays.Array:
    """Return the same elements, in the same order, in another shape. One length may be -1: it is what the others
    leave."""
    asked = shape[0] if len(shape) == 1 and isinstance(shape[0], Iterable) else shape
    lengths = operations.ints("a shape", asked)
    if lengths == (-1,):
        return a.flatten()
    if isinstance(a._nessie_node.kind, Rows):
        raise NessieError("ragged rows have no other shape", hint="a.flatten() has their elements in one dimension")
    if len(lengths) > recorded.MOST_DIMENSIONS:
        raise NessieError(f"an array has at most {recorded.MOST_DIMENSIONS} dimensions, and this would have "
                          f"{len(lengths)}")
    lengths = filled(a, lengths)
    node = a._nessie_node
    if lengths == node.shape:
        return a
    if node.operation is None and isinstance(node.value, np.ndarray | DeviceArray):
        return arrays.Array(nodes.leaf(lengths, node.kind, node.value.reshape(lengths), node.device))
    if math.prod(lengths) == 0 or same_but_units(node.shape, lengths):
        return by_units(a, lengths)
    if len(lengths) == 1:
        return a.flatten()
    return arrays.Array(recorded.of_none(nodes.Node(lengths, node.kind, nodes.Reshaped(node))))


def filled(a: arrays.Array, lengths: tuple[int, ...]) -> tuple[int, ...]:
    """Return the lengths, with what is left in place of -1."""
    told = nodes.shown_shape(tuple([None if n == -1 else n for n in lengths]))
    if any([n < -1 for n in lengths]) or lengths.count(-1) > 1:
        raise NessieError(f"the shape {lengths} is that of no array", hint="one length may be -1, for what is left")
    others = math.prod([n for n in lengths if n != -1])
    if lengths.count(-1) and others and a.size % others == 0:
        return tuple([a.size // others if n == -1 else n for n in lengths])
    if lengths.count(-1) or a.size != others:
        raise NessieError(f"{a.size} elements are not {told}")
    return lengths


def same_but_units(shape: nodes.Shape, lengths: tuple[int, ...]) -> bool:
    return [n for n in shape if n != 1] == [n for n in lengths if n != 1]


def by_units(a: arrays.Array, lengths: tuple[int, ...]) -> arrays.Array:
    """Return the array with axes of length 1 where the shape has them; one without elements is known."""
    node = a._nessie_node
    if math.prod(lengths) == 0:
        return known(np.zeros(lengths, nodes.DTYPES[str(node.kind)]), a)
    for at in reversed([k for k, n in enumerate(node.shape) if n == 1]):
        node = recorded.without_unit(node, at)
    for at, n in enumerate(lengths):
        if n == 1:
            node = recorded.with_unit(node, at)
    return arrays.Array(node)


def expanded(a: arrays.Array, axis: Any) -> arrays.Array:
    """Return the array with an axis of length 1 more at each of these places, counted in the result."""
    node, count = a._nessie_node, len(axis) if isinstance(axis, tuple) else 1
    for at in axes_of(a, axis, a.ndim + count):
        node = recorded.with_unit(node, at)
    return arrays.Array(node)


def squeezed(a: arrays.Array, axis: Any = None) -> arrays.Array:
    """Return the array without these axes, which have length 1; without all such axes, if none is given."""
    node = a._nessie_node
    chosen = [k for k, n in enumerate(a.shape) if n == 1] if axis is None else axes_of(a, axis)
    for at in reversed(chosen):
        if node.shape[at] != 1:
            raise NessieError(f"the axis {at} has no length of 1: the shape is {nodes.shown_shape(node.shape)}")
        node = recorded.without_unit(node, at)
    return arrays.Array(node)


def empty(node: nodes.Node) -> Any:
    return np.zeros(tuple([n or 0 for n in node.shape]), nodes.DTYPES[str(node.kind)])


def known(value: Any, of: arrays.Array) -> arrays.Array:
    """Return the array of a value that needs no computing. It lies where the array does that it is made of."""
    return arrays.asarray(value, of.device)


# Axes in another order --------------------------------------------------------------------------


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


def ordered(a: arrays.Array, axes: Any) -> arrays.Array:
    """Return the array with its axes in this order; in the opposite one, if none is given."""
    if axes is None or axes in ((), (None,)):
        return transposed(a, list(reversed(range(a.ndim))))
    order = axes[0] if len(axes) == 1 and isinstance(axes[0], Iterable) else axes
    found = [axis_of(a, one) for one in order]
    if sorted(found) != list(range(a.ndim)):
        raise NessieError(f"an order of axes names each of {a.ndim} once, and this is {tuple(order)}")
    return transposed(a, found)


def moved(a: arrays.Array, source: Any, destination: Any) -> arrays.Array:
    """Return the array with one axis at another place."""
    at, to = axis_of(a, source), axis_of(a, destination)
    order = [k for k in range(a.ndim) if k != at]
    return transposed(a, [*order[:to], at, *order[to:]])


def exchanged(a: arrays.Array, first: Any, second: Any) -> arrays.Array:
    """Return the array with two axes exchanged."""
    order = list(range(a.ndim))
    i, j = axis_of(a, first), axis_of(a, second)
    order[i], order[j] = j, i
    return transposed(a, order)
