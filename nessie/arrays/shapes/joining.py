"""Several arrays as one: one behind another along an axis, or side by side along a new one."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from nessie.arrays import array as arrays
from nessie.arrays import devices, nodes, recorded
from nessie.arrays.bodies.kinds import Kind, Rows, joined, shown
from nessie.arrays.shapes.reshaping import axis_of
from nessie.base.source import NessieError


def several(what: str, given: Any) -> list[nodes.Node]:
    if not isinstance(given, Sequence) or not given:
        raise NessieError(f"{what} takes a list of arrays, of one at least")
    return [recorded.node_of(one) for one in given]


def concatenated(given: Any, axis: Any = 0) -> arrays.Array:
    """Return the arrays one behind another along an axis; without one, all of their elements."""
    of = several("concatenate", given)
    if axis is None:
        of, axis = [recorded.flattened(node) for node in of], 0
    kind, rank = kind_of_all("concatenate", of), len(of[0].shape)
    if not rank or any([len(node.shape) != rank for node in of]):
        raise NessieError(f"concatenate takes arrays of as many dimensions, and these are of {shapes(of)}")
    at = axis_of(arrays.Array(of[0]), axis, rank + isinstance(kind, Rows))
    if at == rank:                          # each row behind another
        return made(of, merged("concatenate", of, [node.shape for node in of]), kind, at, False)
    lengths = [node.shape[at] for node in of]
    total = None if None in lengths else sum([n for n in lengths if n is not None])
    shape = merged("concatenate", of, [(*node.shape[:at], None, *node.shape[at + 1:]) for node in of])
    return made(of, (*shape[:at], total, *shape[at + 1:]), kind, at, False)


def stacked(given: Any, axis: Any = 0) -> arrays.Array:
    """Return the arrays, which are of one shape, side by side along a new axis."""
    of = several("stack", given)
    kind, rank = kind_of_all("stack", of), len(of[0].shape)
    if isinstance(kind, Rows):
        raise NessieError("stack takes arrays of numbers, and these are of rows", hint="concatenate joins them")
    if rank == recorded.MOST_DIMENSIONS:
        raise NessieError(f"an array has at most {rank} dimensions, and this would have one more")
    at = axis_of(arrays.Array(of[0]), axis, rank + 1)
    shape = merged("stack", of, [node.shape for node in of])
    return made(of, (*shape[:at], len(of), *shape[at:]), kind, at, True)


def made(of: list[nodes.Node], shape: nodes.Shape, kind: Kind, at: int, new: bool) -> arrays.Array:
    devices.device_of(nodes.in_order(of))
    return arrays.Array(recorded.of_none(nodes.Node(shape, kind, nodes.Joined(tuple(of), at, new, recorded.met(of)))))


def kind_of_all(what: str, of: Sequence[nodes.Node]) -> Kind:
    kind = of[0].kind
    for node in of[1:]:
        both = joined(kind, node.kind)
        if both is None:
            raise NessieError(f"{what} takes arrays of one kind, and these are {shown(kind)} and {shown(node.kind)}")
        kind = both
    return kind


def merged(what: str, of: Sequence[nodes.Node], all_: Sequence[nodes.Shape]) -> nodes.Shape:
    """Return the shape of arrays whose shapes are all the same, as far as they are known."""
    shape: list[int | None] = []
    if len({len(one) for one in all_}) > 1:
        raise NessieError(f"{what} takes arrays of one shape, and these are of {shapes(of)}")
    for lengths in zip(*all_):
        found = set(lengths) - {None}
        if len(found) > 1:
            raise NessieError(f"{what} takes arrays of one shape, and these are of {shapes(of)}",
                              hint="they may differ along the axis of concatenate" if what == "concatenate" else "")
        shape.append(found.pop() if found else None)
    return tuple(shape)


def shapes(of: Sequence[nodes.Node]) -> str:
    return " and ".join([nodes.shown_shape(node.shape) for node in of])
