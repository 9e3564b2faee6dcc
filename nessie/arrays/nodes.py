"""Expressions of parallel arrays: a graph of nodes, each the result of an operation.

A node has a shape, of which a length that is known only when it has run is None, and the kind of its elements. A node
of shape () is one value. Nodes are compared by identity: what two expressions share is computed once.
"""
from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import field
from typing import Any

from nessie.arrays.bodies.kinds import BOOL, FLOAT, INT, Items, Kind, Rows, rows_of
from nessie.arrays.bodies.outside import Seen, is_lazy
from nessie.base.records import dataclass

Shape = tuple[int | None, ...]


@dataclass(eq=False)
class Node:
    """`value`: the result, once there is one; `device`: where it lies (nessie.arrays.devices), '' for a number and for
    what is not computed."""
    shape: Shape
    kind: Kind
    value: Any = field(default=None, kw_only=True)
    device: str = field(default="", kw_only=True)

    @property
    def inputs(self) -> tuple[Node, ...]:
        return ()

    def key(self) -> Hashable:
        """Return what the code depends on, besides the inputs."""
        return type(self).__name__, len(self.shape), self.kind


@dataclass(eq=False)
class Leaf(Node):
    """An array, or a number, that is there. Its value is `value`."""


@dataclass(eq=False)
class Index(Node):
    """At each place, the place: an int, or of several dimensions a tuple of ints. `device`: where it is computed."""


@dataclass(eq=False)
class Mapped(Node):
    """The body of the elements at the same place, and of the place `with_index`."""
    of: tuple[Node, ...]
    body: Seen
    with_index: bool = False

    @property
    def inputs(self) -> tuple[Node, ...]:
        return self.of

    def key(self) -> Hashable:
        return *super().key(), self.body.key(), self.with_index     # type: ignore[misc]


@dataclass(eq=False)
class Stencil(Node):
    """The body of the neighbours at `offsets`; `outside` where one of them is none. `apart`: each neighbour is a
    parameter of the body; else one parameter has them all."""
    of: Node
    offsets: tuple[tuple[int, ...], ...]
    outside: Node
    body: Seen
    apart: bool
    with_index: bool

    @property
    def inputs(self) -> tuple[Node, ...]:
        return self.of, self.outside

    def key(self) -> Hashable:
        return *super().key(), self.offsets, self.body.key(), self.apart, self.with_index   # type: ignore[misc]


@dataclass(eq=False)
class Zipped(Node):
    """Tuples of the elements at the same place."""
    of: tuple[Node, ...]

    @property
    def inputs(self) -> tuple[Node, ...]:
        return self.of


@dataclass(eq=False)
class Reduced(Node):
    """All elements reduced to one, by a function of the library (`how`), or by a body, with an identity or for one
    element at least."""
    of: Node
    how: str = ""
    body: Seen | None = None
    identity: Node | None = None

    @property
    def inputs(self) -> tuple[Node, ...]:
        return (self.of,) if self.identity is None else (self.of, self.identity)

    def key(self) -> Hashable:
        return *super().key(), self.how, self.body and self.body.key()         # type: ignore[misc]


@dataclass(eq=False)
class Changed(Node):
    """A sequence made of a sequence: `how` is select, prefix_sum, scan, sort, unique or flatten."""
    of: Node
    how: str
    body: Seen | None = None
    identity: Node | None = None

    @property
    def inputs(self) -> tuple[Node, ...]:
        return (self.of,) if self.identity is None else (self.of, self.identity)

    def key(self) -> Hashable:
        return *super().key(), self.how, self.body and self.body.key()         # type: ignore[misc]


def in_order(results: tuple[Node, ...]) -> list[Node]:
    """Return all nodes that must be computed or given, each behind its inputs."""
    found: dict[Node, None] = {}
    stack: list[tuple[Node, bool]] = [(node, False) for node in reversed(results)]
    while stack:
        node, ready = stack.pop()
        if ready:
            found[node] = None
        elif node not in found:
            stack.append((node, True))
            stack += [(part, False) for part in reversed(parts(node)) if part not in found]
    return list(found)


def parts(node: Node) -> tuple[Node, ...]:
    """Return what the node is computed from: its inputs, and the arrays that its body sees."""
    if node.value is not None:
        return ()
    return (*node.inputs, *[seen for _, _, seen in captured_arrays(node)])


def captured_arrays(node: Node) -> Iterator[tuple[Seen, str, Node]]:
    body: Seen | None = getattr(node, "body", None)
    if body is not None:
        for seen, text, value in body.captured():
            if is_lazy(value):
                yield seen, text, value._nessie_node


def kind_of_value(node: Node) -> Kind:
    """Return the kind of the node's value: of several dimensions, rows of rows."""
    return rows_of(node.kind, len(node.shape))


def columns(kind: Kind) -> list[str]:
    """Return the kinds of the columns that elements of a kind have."""
    match kind:
        case Items(items):
            return [column for one in items for column in columns(one)]
        case Rows(element):
            return columns(element)
    return [str(kind)]


DTYPES = {INT: "int64", FLOAT: "float64", BOOL: "bool"}
