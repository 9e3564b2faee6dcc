"""Decides for two nodes, of which one at least has a mapping, whether they may share a kernel, or why not.

An owner of segments (lambda_cu.mappings.owners) holds a whole one, so what a walk of all segments has too late it has
in time: a row's sum where the row's elements are computed, a second scan, a sort, an element that lies elsewhere in the
own row. It sees no other segments. Threads that have an index each, in any order, have nothing but what is computed at
it. Beside owners, MAPs that have no mapping go with what has one; beside such threads, PERMUTEs do, too. Otherwise
both have the same. What has a mapping with cases shares nothing: its tests are its own.
"""
from __future__ import annotations

from functools import cache

from nessie.lambda_cu.mappings.nodes import Cases
from nessie.lambda_cu.mappings.owners import is_of_owners
from nessie.lambda_cu.mappings.text import parse_mapping
from nessie.schedule.graph.nodes import GATHER, HOST, OWN, SCALAR, SEG, Elements, Flat, Index, Node, Space

HELD = ("MAP", "SEG_REDUCE", "SEG_SCAN", "ORDER", "PERMUTE")
IN_ANY_ORDER = ("MAP", "PERMUTE")
LATE = {SEG: "gather", SCALAR: "kernel-end"}    # uses that are no element's own
ELEMENT, SEGMENT = "element", "segment"


def mapping_reason(index: Index, first: Node, second: Node) -> str | None:
    """The reason why the two nodes may not share a kernel; None if they may."""
    if HOST in (first.op, second.op):
        return "host"
    if (first.by and second.by and first.by != second.by) or is_cut(first.by) or is_cut(second.by):
        return "mapping"
    if not (may_be_walked(first, second) and may_be_walked(second, first)):
        return "mapping"
    return owner_reason(index, first, second) if is_held(first.by or second.by) else thread_reason(first, second)


@cache
def is_held(by: str) -> bool:
    """Is this a mapping by which segments have owners?"""
    return is_of_owners(parse_mapping(by))


@cache
def is_cut(by: str) -> bool:
    """Is this a mapping that has cases, so that partitions of the space have launches of their own?"""
    return bool(by) and isinstance(parse_mapping(by), Cases)


def may_be_walked(node: Node, other: Node) -> bool:
    """Can the mapping of the two walk this one?"""
    if not is_held(node.by or other.by):
        return (node.op in IN_ANY_ORDER and not node.serial) or (bool(node.by) and node.op == "REDUCE")
    if not node.by:
        return node.op == "MAP"
    return isinstance(node.space, Elements) and node.op in HELD and not node.serial


# Threads that have indices ----------------------------------------------------------------------


def thread_reason(first: Node, second: Node) -> str | None:
    """The same where threads have indices of the mapped node's axes."""
    root = first.space if first.by else second.space
    walked = [root] if (first.by and second.by) or not isinstance(root, Elements) else [root, Flat(root.total)]
    if first.space not in walked or second.space not in walked:
        return "space"
    for use in second.uses:
        if use.name in first.results and (first.op == "PERMUTE" or use.mode != OWN):
            return "scatter-order" if first.op == "PERMUTE" else LATE.get(use.mode, use.mode)
    return None


# Owners of segments -----------------------------------------------------------------------------


def owner_reason(index: Index, first: Node, second: Node) -> str | None:
    """The same where segments have owners."""
    root = first.space if first.by else second.space
    assert isinstance(root, Elements)
    if index.segments(root) is None:
        return "mapping"
    levels = [level(node.space, root) for node in (first, second)]
    if None in levels:
        return "space"
    for use in second.uses:
        if use.name in first.results and (reason := late(first, second, use.mode, use.name, levels)):
            return reason
    return None


def level(space: Space, root: Elements) -> str | None:
    """Say whether the space has the elements of the root's segments, or the segments."""
    if space in (root, Flat(root.total)):
        return ELEMENT
    return SEGMENT if space == Flat(root.segments) else None


def late(first: Node, second: Node, mode: str, name: str, levels: list[str | None]) -> str | None:
    """The reason why the owner has a value that the first makes too late for the second, which reads it so."""
    made = SEGMENT if first.op == "SEG_REDUCE" else levels[0]
    if first.op == "PERMUTE":
        return "scatter-order"
    if mode == OWN:
        return None if made == levels[1] else "gather"
    if mode == SEG:
        return None if made == SEGMENT else "gather"
    if mode == GATHER:
        return None if name in second.rows and made == ELEMENT else "gather"
    return mode
