"""Operations as nodes: what the operations of arrays make of their arguments, which are checked at the call."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from nessie.arrays import devices, nodes, operations, operators, values
from nessie.arrays.bodies.expressions import reductions
from nessie.arrays.bodies.kinds import BOOL, FLOAT, INT, Items, Rows, is_number, joined, shown
from nessie.arrays.bodies.outside import KINDS, Seen, is_lazy, see
from nessie.arrays.checks import fixed_kind, inside_kind, one_dimension, result_kind, same_shape, stencil_kind
from nessie.arrays.errors import Caller, caller
from nessie.base.source import NessieError

MOST_DIMENSIONS = 4
MOST_ELEMENTS = 2 ** 48


def index_of(shape: tuple[int, ...], device: str | None = None) -> nodes.Node:
    index = nodes.Index(devices.device(device) if device else "")
    return nodes.Node(shape, operations.place_kind(len(shape)), index)


def node_of(value: Any) -> nodes.Node:
    """Return the node of an array, of one that is a node already, or of a value, which is not copied."""
    if isinstance(value, nodes.Node):
        return value
    return value._nessie_node if is_lazy(value) else checked(values.leaf(value, False))


def checked(leaf: nodes.Node) -> nodes.Node:
    if len(leaf.shape) > MOST_DIMENSIONS:
        raise NessieError(f"an array has at most {MOST_DIMENSIONS} dimensions, and this has {len(leaf.shape)}",
                          hint="x.reshape(n, -1) has the same elements in two dimensions")
    return leaf


def dtype_of(node: nodes.Node) -> np.dtype[Any]:
    """Return the dtype of the elements; of tuples, the one of records; of rows, that of their elements."""
    if isinstance(node.operation, nodes.Narrowed):
        return node.operation.dtype
    return values.dtype_of(node.value, node.kind)


def narrower(node: nodes.Node, dtype: Any, converts: bool = False) -> nodes.Node:
    """The elements in this dtype; floats as ints and truth values, if it `converts`."""
    try:
        wanted = np.dtype(dtype)
    except TypeError:
        raise NessieError(f"{dtype!r} is no dtype", hint="np.float32, 'int16'") from None
    kind = KINDS.get(wanted.kind)
    if kind is None or (wanted.kind == "u" and wanted.itemsize == 8) or wanted.itemsize > 8:
        raise NessieError(f"dtype={wanted} is no type of an array's elements", hint="int8 to int64, uint8 to uint32, "
                          "float16, float32, float64 and bool are")
    if isinstance(node.kind, Rows) and wanted == np.dtype(nodes.DTYPES[kind]):
        return elementwise("astype", [node], see(TO_KIND[kind]).called_by(caller()))
    if not is_number(node.kind) or (node.kind == FLOAT and kind != FLOAT and not converts):
        raise NessieError(f"dtype={wanted}: the elements are {shown(node.kind)}",
                          hint="int(x) makes ints of floats, x != 0 truth values" if node.kind == FLOAT else "")
    if dtype_of(node) == wanted:
        return node
    if kind != node.kind:
        node = combined("astype", [node], see(TO_KIND[kind]).called_by(caller()), False)
    if wanted == np.dtype(nodes.DTYPES[kind]):
        return node
    place = devices.device_of(nodes.in_order([node]))
    if place not in ("", devices.HOST):
        raise NessieError(f"dtype={wanted}: arrays on {place} are of int64, float64 and bool",
                          hint=f"a.to_device({devices.HOST!r}) has other dtypes")
    body = node.operation.seen if node.operation is not None else None
    return nodes.Node(node.shape, kind, nodes.Narrowed(node, wanted, body))


TO_KIND: dict[str, Callable[[Any], Any]] = {BOOL: lambda x: bool(x), INT: lambda x: int(x), FLOAT: lambda x: float(x)}


def combined(what: str, arrays: Sequence[Any], body: Seen, with_index: bool) -> nodes.Node:
    """What the body makes of the elements at the same place."""
    of = [node_of(one) for one in arrays]
    shape, stretched = same_shape(what, of)
    kinds = [node.kind for node in of]
    if with_index:
        kinds.append(operations.place_kind(len(shape)))
    kind = result_kind(body, tuple(kinds))
    return of_none(nodes.Node(shape, kind, nodes.Mapped(tuple(of), body, with_index, met(of), stretched=stretched)))


def elementwise(what: str, arrays: Sequence[Any], body: Seen) -> nodes.Node:
    """What the body makes of the numbers at the same place; of ragged rows, of those within them. Beside rows, another
    array has a number, or a row, for each row."""
    of = [node_of(one) for one in arrays]
    if not any([isinstance(node.kind, Rows) for node in of]):
        return combined(what, of, body, False)
    of = [as_rows(node) for node in of]
    shape, stretched = same_shape(what, of)
    several = sum([isinstance(node.kind, Rows) for node in of]) > 1
    operation = nodes.Mapped(tuple(of), body, met=caller() if several else met(of), inside=True, stretched=stretched)
    return nodes.Node(shape, inside_kind(body, tuple([node.kind for node in of])), operation)


def as_rows(node: nodes.Node) -> nodes.Node:
    """An array of several dimensions as one of rows; where they have one element each, as those elements."""
    while len(node.shape) > 1:
        one_each = node.shape[-1] == 1
        node = without_unit(node, len(node.shape) - 1) if one_each else \
            nodes.Node(node.shape[:-1], Rows(node.kind), nodes.Regarded(node))
    return node


def with_unit(node: nodes.Node, at: int) -> nodes.Node:
    """The array with an axis of length 1 more, which becomes the axis `at`."""
    if len(node.shape) == MOST_DIMENSIONS:
        raise NessieError(f"an array has at most {MOST_DIMENSIONS} dimensions, and this would have one more")
    return of_none(nodes.Node((*node.shape[:at], 1, *node.shape[at:]), node.kind, nodes.Unit(node, at, False)))


def without_unit(node: nodes.Node, at: int) -> nodes.Node:
    """The array without its axis `at`, of length 1."""
    return of_none(nodes.Node((*node.shape[:at], *node.shape[at + 1:]), node.kind, nodes.Unit(node, at, True)))


def of_none(node: nodes.Node) -> nodes.Node:
    """The node. If it has several dimensions and no elements, there is nothing to compute: its value is known."""
    if len(node.shape) == 1 or 0 not in node.shape or None in node.shape or not is_number(node.kind) or \
            devices.device_of(nodes.in_order([node])) not in ("", devices.HOST):
        return node
    return values.leaf(np.empty([n or 0 for n in node.shape], nodes.DTYPES[str(node.kind)]), False)


def zipped(arrays: Sequence[Any]) -> nodes.Node:
    of = [node_of(one) for one in arrays]
    shape, stretched = same_shape("zip", of)
    return nodes.Node(shape, Items(tuple([node.kind for node in of])), nodes.Zipped(tuple(of), met(of), stretched))


def met(of: Sequence[nodes.Node]) -> Caller | None:
    """Return what has let arrays meet that may turn out to be of different lengths."""
    shapes = [node.shape for node in of if node.shape]
    return caller() if len(shapes) > 1 and any([None in shape for shape in shapes]) else None


def asked_for(what: str, operands: Sequence[Any], function: Callable[..., Any]) -> nodes.Node:
    """What the function makes of elements; its errors are told where the user's code has asked for it."""
    body = see(function)
    body.caller = caller()
    return combined(what, operands, body, False)


def some_dimensions(node: nodes.Node) -> nodes.Node:
    """The array; of one value, that with one element."""
    return node if node.shape else with_unit(node, 0)


def named_reduction(node: nodes.Node, how: str) -> nodes.Node:
    node = some_dimensions(node)
    while isinstance(node.kind, Rows):
        node = flattened(node)
    if not is_number(node.kind):
        raise NessieError(f"{how} takes numbers, and these are {shown(node.kind)}",
                          hint="a.map(lambda x: ...) makes numbers of them")
    if how in reductions.OF_SOME and 0 in node.shape:
        raise NessieError(f"there is no {reductions.OF_SOME[how]} of no elements",
                          hint=reductions.NONE_GIVEN)
    if how in ("any", "all") and node.kind != BOOL:
        node = elementwise(how, [node], see(TO_KIND[BOOL]))
    return nodes.Node((), reductions.gives(how, node.kind), nodes.Reduced(node, how))


def reduced(node: nodes.Node, function: Any, identity: Any) -> nodes.Node:
    node = some_dimensions(node)
    how = reductions.of_operator(function, node.kind)
    if how and identity is None and is_number(node.kind):
        return named_reduction(node, how)
    body = see(operators.of_two(function), 2)
    if identity is None:
        if 0 in node.shape:
            raise NessieError("a reduction of no elements needs an identity", hint="reduce(f, identity)")
        return nodes.Node((), fixed_kind(body, node.kind), nodes.Reduced(node, body=body))
    first = node_of(identity)
    kind = fixed_kind(body, node.kind, first.kind)
    return nodes.Node((), kind, nodes.Reduced(node, body=body, identity=first))


def stencil(node: nodes.Node, offsets: Any, outside: Any, body: Seen, with_index: bool) -> nodes.Node:
    rank = len(node.shape)
    found = operations.offsets_of(offsets, rank)
    apart = operations.is_apart(len(body.parameters) - with_index, len(found), body.span(body.written.tree))
    other = node_of(outside)
    gives = stencil_kind(body, node.kind, tuple(found), apart, with_index)
    kind = joined(gives, other.kind)
    if other.shape:
        raise NessieError(f"outside is one value, and this is {nodes.shown_shape(other.shape)} of them",
                          hint="0, or what the function gives: a number, or a tuple (p, q) that pnew and map make")
    if kind is None:
        raise NessieError(f"outside is {shown(other.kind)}, and the function gives {shown(gives)}",
                          (body.span(body.written.tree), ""))
    return of_none(nodes.Node(node.shape, kind, nodes.Stencil(node, tuple(found), other, body, apart, with_index)))


def selected(node: nodes.Node, function: Any) -> nodes.Node:
    of, body = one_dimension("select", node), operators.body_of(function, 1)
    kind = result_kind(body, (of.kind,))
    if isinstance(kind, Items):
        raise NessieError(f"select takes a function that gives a truth value, and this gives {shown(kind)}",
                          (body.span(body.written.tree), ""))
    return nodes.Node((None,), of.kind, nodes.Changed(of, "select", body))


def scanned(node: nodes.Node, function: Any, identity: Any) -> nodes.Node:
    of, first = one_dimension("scan", node), node_of(identity)
    body = see(operators.of_two(function), 2)
    return nodes.Node(of.shape, fixed_kind(body, of.kind, first.kind), nodes.Changed(of, "scan", body, first))


def ordered(node: nodes.Node, key: Any) -> nodes.Node:
    of, body = one_dimension("sort", node), operators.body_of(key, 1) if key is not None else None
    by = of.kind if body is None else result_kind(body, (of.kind,))
    if by not in (INT, FLOAT):
        raise NessieError(f"numbers have an order, and this is {shown(by)}",
                          hint="sort(key=lambda x: ...) sorts by a number")
    return nodes.Node(of.shape, of.kind, nodes.Changed(of, "sort", body))


def flattened(node: nodes.Node) -> nodes.Node:
    if len(node.shape) == 1 and isinstance(node.kind, Rows):
        return nodes.Node((None,), node.kind.element, nodes.Changed(node, "flatten"))
    if len(node.shape) <= 1:
        return some_dimensions(node)
    total: int | None = 1
    for length in node.shape:
        total = None if length is None or total is None else total * length
    return nodes.Node((total,), node.kind, nodes.Changed(node, "flatten"))
