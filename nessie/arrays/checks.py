"""What operations check at the call: shapes, and the kinds that bodies give.

A body is translated for the kinds of the elements before it is needed, so that what it cannot do is told in the user's
line. Kinds are kept by the body's code.
"""
from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any

from nessie.arrays import devices, nodes, operations, running
from nessie.arrays.bodies.expressions.values import Window
from nessie.arrays.bodies.functions import Module
from nessie.arrays.bodies.kinds import Kind, Rows, has_single, joined, shown
from nessie.arrays.bodies.outside import Seen, is_lazy, kind_of
from nessie.arrays.bodies.statements import Statements
from nessie.arrays.bodies.trees import Made, name
from nessie.base.source import NessieError

UNITS = "an array of fewer dimensions lies along the last ones; an axis of length 1 stands for any length"
_kinds: dict[Hashable, Kind] = {}


def same_shape(what: str, of: Sequence[nodes.Node]) -> tuple[nodes.Shape, tuple[nodes.Axes, ...]]:
    """The shape of arrays side by side, and for each array the axes, counted from the last, along which its one element
    stands at all places. An array of fewer dimensions has the last ones. Numbers lie everywhere."""
    shape: list[int | None] = []
    for k in range(1, max([len(node.shape) for node in of]) + 1):
        found = {node.shape[-k] for node in of if len(node.shape) >= k}
        lengths = found - {1, None}
        if len(lengths) > 1:
            devices.device_of(nodes.in_order(of))           # what is wrong with these is told first
            told = " and ".join([nodes.shown_shape(one.shape) for one in of if one.shape])
            raise NessieError(f"{what} takes arrays of one shape, and these are of {told}", hint=UNITS)
        shape.append(lengths.pop() if lengths else None if None in found else 1)
    stretched = tuple([tuple([k for k, length in enumerate(shape, 1) if len(node.shape) >= k and node.shape[-k] == 1
                              and length != 1]) for node in of])
    return tuple(reversed(shape)), stretched if any(stretched) else ()


def one_dimension(what: str, node: nodes.Node) -> nodes.Node:
    if len(node.shape) != 1:
        raise NessieError(f"{what} takes an array of one dimension, and this has {len(node.shape)}",
                          hint=f"flatten().{what}(...) goes through all elements")
    return node


def outside_kind(value: Any, seen: Seen, text: str) -> Kind:
    if is_lazy(value):
        return nodes.kind_of_value(value._nessie_node)
    try:
        return kind_of(value)
    except NessieError as error:
        place = seen.span(seen.written.tree)
        raise NessieError(f"{text}: {error.message}", (place, ""), hint=error.hint) from None


def prepared(body: Seen, kind: Callable[[Any, Seen, str], Kind] = outside_kind,
             translator: type[Statements] = Statements) -> Module:
    """A module in which what the body sees outside is known, by any names; `kind` says of what kind it is."""
    module = Module(translator)
    for seen, text, value in body.captured:
        module.capture(seen, text, Made(name(module.fresh(text)), kind(value, seen, text)))
    return module


def result_kind(body: Seen, kinds: tuple[Kind, ...]) -> Kind:
    """The kind that the body gives for elements of these kinds. Most bodies are called again and again."""
    key = body.whole_key, kinds, ()
    return _kinds.get(key) or remember(key, of_several(body, prepared(body).function(body, kinds).gives))


def inside_kind(body: Seen, kinds: tuple[Kind, ...]) -> Kind:
    """The kind that the body gives, inside of rows, for their elements."""
    if not any([isinstance(kind, Rows) for kind in kinds]):
        return result_kind(body, kinds)
    return Rows(inside_kind(body, tuple([kind.element if isinstance(kind, Rows) else kind for kind in kinds])))


def of_several(body: Seen, kind: Kind) -> Kind:
    """The kind that the body gives, in which tuples are of two items at least."""
    if has_single(kind):
        raise NessieError(f"a tuple of one item is no element of an array, and this gives {shown(kind)}",
                          (body.span(body.written.tree), ""), hint="the item itself is: x instead of (x,)")
    return kind


def remember(key: Hashable, kind: Kind) -> Kind:
    if len(_kinds) >= running.MOST:
        _kinds.clear()
    return _kinds.setdefault(key, kind)


def stencil_kind(body: Seen, kind: Kind, offsets: tuple[tuple[int, ...], ...], apart: bool, with_index: bool) -> Kind:
    """The kind that the body gives for neighbours of this kind, which are so many parameters or one."""
    places: list[Kind] = [operations.place_kind(len(offsets[0]))] if with_index else []
    if apart:
        return result_kind(body, (*[kind] * len(offsets), *places))
    key = body.whole_key, (kind, *places), offsets
    if (found := _kinds.get(key)) is not None:
        return found
    module = prepared(body)
    env: dict[str, Any] = {body.parameters[0]: Window(
        {offset: Made(name(module.fresh("v")), kind) for offset in offsets})}
    if with_index:
        env[body.parameters[1]] = Made(name(module.fresh("at")), places[0])
    return remember(key, of_several(body, Statements(module, body).body(env).kind))


def fixed_kind(body: Seen, *kinds: Kind) -> Kind:
    """The kind that a function of two, of these kinds, gives and takes."""
    kind = joined_kinds(body, kinds)
    for _ in range(len("boolintfloat")):
        both = joined_kinds(body, (kind, result_kind(body, (kind, kind))))
        if both == kind:
            return kind
        kind = both
    raise NessieError("what this function gives is never what it takes", (body.span(body.written.tree), ""))


def joined_kinds(body: Seen, kinds: Sequence[Kind]) -> Kind:
    result = kinds[0]
    for kind in kinds[1:]:
        both = joined(result, kind)
        if both is None:
            raise NessieError(f"this function gives {shown(kind)}, and takes {shown(result)}",
                              (body.span(body.written.tree), ""),
                              hint="of two elements, it gives one more of their kind")
        result = both
    return result
