"""Expressions of parallel arrays: a graph of nodes, each the result of an operation.

A node has a shape, of which a length that is known only when it has run is None, and the kind of its elements. A node
of shape () is one value. Nodes are compared by identity: what two expressions share is computed once. A node that is
computed has its value in place of its operation, so that it keeps nothing of what it was computed from.
"""
from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, NamedTuple

import numpy as np

from nessie.arrays.bodies.kinds import BOOL, FLOAT, INT, Items, Kind, Rows, rows_of
from nessie.arrays.bodies.outside import Seen
from nessie.arrays.errors import Caller
from nessie.base.records import dataclass

Shape = tuple[int | None, ...]
Axes = tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Operation:
    """What a node is computed by. `key`: what the code depends on, besides the inputs."""

    @property
    def inputs(self) -> tuple[Node, ...]:
        return ()

    @property
    def seen(self) -> Seen | None:
        """The body, if there is one."""
        return None

    @property
    def caller(self) -> Caller | None:
        """What has called the operation, if errors are told there: of an operator, or where arrays meet."""
        return None if self.seen is None else self.seen.caller

    def key(self) -> Hashable:
        return type(self).__name__


@dataclass(frozen=True, eq=False)
class Index(Operation):
    """At each place, the place: an int, or of several dimensions a tuple of ints. `device`: where it is computed, ''
    for anywhere."""
    device: str = ""

    def key(self) -> Hashable:
        return Index, self.device


@dataclass(frozen=True, eq=False)
class Mapped(Operation):
    """The body of the elements at the same place, and of the place `with_index`; `inside` ragged rows, of theirs.
    `met`: what has called it, if lengths are not known before the arrays are computed. `stretched`: which axes of each
    array, counted from the last, have one element that stands at all places."""
    of: tuple[Node, ...]
    body: Seen
    with_index: bool = False
    met: Caller | None = None
    inside: bool = False
    stretched: tuple[Axes, ...] = ()

    @property
    def inputs(self) -> tuple[Node, ...]:
        return self.of

    @property
    def seen(self) -> Seen:
        return self.body

    @property
    def caller(self) -> Caller | None:
        return self.met or super().caller

    def key(self) -> Hashable:
        return Mapped, self.body.whole_key, self.with_index, self.inside, self.stretched


@dataclass(frozen=True, eq=False)
class Stencil(Operation):
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

    @property
    def seen(self) -> Seen:
        return self.body

    def key(self) -> Hashable:
        return Stencil, self.offsets, self.body.whole_key, self.apart, self.with_index


@dataclass(frozen=True, eq=False)
class Zipped(Operation):
    """Tuples of the elements at the same place. `met` and `stretched` as of Mapped."""
    of: tuple[Node, ...]
    met: Caller | None = None
    stretched: tuple[Axes, ...] = ()

    @property
    def inputs(self) -> tuple[Node, ...]:
        return self.of

    @property
    def caller(self) -> Caller | None:
        return self.met

    def key(self) -> Hashable:
        return Zipped, self.stretched


@dataclass(frozen=True, eq=False)
class OfOne(Operation):
    """What is made of one array."""
    of: Node

    @property
    def inputs(self) -> tuple[Node, ...]:
        return (self.of,)


@dataclass(frozen=True, eq=False)
class Regarded(OfOne):
    """The same, with its last axis as rows, or with rows of one length as an axis."""


@dataclass(frozen=True, eq=False)
class Swapped(OfOne):
    """The axis `at` and the next, exchanged."""
    at: int

    def key(self) -> Hashable:
        return Swapped, self.at


@dataclass(frozen=True, eq=False)
class Unit(OfOne):
    """The same with an axis of length 1 more, which becomes the axis `at`; or without the axis `at`, if it `goes`."""
    at: int
    goes: bool

    def key(self) -> Hashable:
        return Unit, self.at, self.goes


@dataclass(frozen=True, eq=False)
class Reshaped(OfOne):
    """The elements in the same order, in another shape of several axes."""


@dataclass(frozen=True, eq=False)
class Joined(Operation):
    """Arrays one behind another along the axis `at`; or side by side along a `new` one. `met` as of Mapped."""
    of: tuple[Node, ...]
    at: int
    new: bool
    met: Caller | None = None

    @property
    def inputs(self) -> tuple[Node, ...]:
        return self.of

    @property
    def caller(self) -> Caller | None:
        return self.met

    def key(self) -> Hashable:
        return Joined, self.at, self.new


@dataclass(frozen=True, eq=False)
class Whole(Operation):
    """What is made of a whole array, named `how`, perhaps by a body and its identity."""
    of: Node
    how: str = ""
    body: Seen | None = None
    identity: Node | None = None

    @property
    def inputs(self) -> tuple[Node, ...]:
        return (self.of,) if self.identity is None else (self.of, self.identity)

    @property
    def seen(self) -> Seen | None:
        return self.body

    def key(self) -> Hashable:
        return type(self), self.how, self.body and self.body.whole_key


class Reduced(Whole):
    """All elements reduced to one, by a reduction that has a name (bodies.reductions), or by the body, with an identity
    or for one element at least."""


class Changed(Whole):
    """A sequence made of a sequence: `how` is select, scan, sort, unique or flatten."""


@dataclass(frozen=True, eq=False)
class Narrowed(OfOne):
    """The elements as those of a narrower dtype. It is computed by itself, before what is made of it; errors are told
    of the body that made the elements."""
    dtype: np.dtype[Any]
    body: Seen | None


@dataclass(eq=False)
class Node:
    """An array or a value: the operation that gives it, or none, and then its value and the `device` where that lies,
    '' for a number. `computed`: it had an operation."""
    shape: Shape
    kind: Kind
    operation: Operation | None = None
    value: Any = None
    device: str = ""
    computed: bool = False

    def became(self, value: Any, device: str) -> None:
        """Let the value take the operation's place. Others may read the node meanwhile: without an operation, it has
        its value."""
        self.value, self.device, self.computed = value, device, True
        if None in self.shape:
            own: Shape = getattr(value, "shape", (len(value),))
            self.shape = own if len(own) == len(self.shape) else (len(value), *self.shape[1:])
        self.operation = None


def leaf(shape: Shape, kind: Kind, value: Any, device: str = "") -> Node:
    """Return the node of a value that is there."""
    return Node(shape, kind, None, value, device)


class Step(NamedTuple):
    """A node as it was when it was read, once: somebody else may compute it. `operation` None: it has its value.
    `parts`: what it is computed from."""
    node: Node
    operation: Operation | None
    parts: tuple[Node, ...]


def in_order(results: Sequence[Node]) -> list[Step]:
    """Return all nodes that must be computed or given, each behind what it is computed from."""
    found: dict[Node, Step] = {}
    stack: list[Node | Step] = list(reversed(results))
    while stack:
        item = stack.pop()
        if isinstance(item, Step):              # what it is computed from has been found
            found[item.node] = item
        elif item not in found:
            operation = item.operation
            if operation is None:
                found[item] = Step(item, None, ())
            else:
                step = Step(item, operation, parts(operation))
                stack.append(step)
                stack += reversed(step.parts)
    return list(found.values())


def parts(operation: Operation) -> tuple[Node, ...]:
    """Return what is computed from: the inputs, and the arrays that the body sees."""
    seen = operation.seen
    return operation.inputs if seen is None else (*operation.inputs, *seen.arrays)


def kind_of_value(node: Node) -> Kind:
    """Return the kind of the node's value: of several dimensions, rows of rows."""
    return rows_of(node.kind, len(node.shape))


def shown_shape(shape: Shape) -> str:
    return " × ".join(["?" if n is None else str(n) for n in shape]) or "one value"


def columns(kind: Kind) -> list[str]:
    """Return the kinds of the columns that elements of a kind have."""
    match kind:
        case Items(items):
            return [column for one in items for column in columns(one)]
        case Rows(element):
            return columns(element)
    return [str(kind)]


DTYPES = {INT: "int64", FLOAT: "float64", BOOL: "bool"}
