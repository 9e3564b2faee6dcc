"""Decides for two nodes, of which one at least has an owner for its segments (lambda_cu.mappings.owners), whether they
may share a kernel, or why not.

An owner holds a whole segment, so what a walk of all segments has too late it has in time: a row's sum where the row's
elements are computed, a second scan, a sort, an element that lies elsewhere in the own row. It sees no other segments.
MAPs that have no owner go with those that have one; otherwise both have the same.
"""
from __future__ import annotations

from nessie.schedule.graph.nodes import GATHER, HOST, OWN, SEG, Elements, Flat, Index, Node, Space

HELD = ("MAP", "SEG_REDUCE", "SEG_SCAN", "ORDER", "PERMUTE")
ELEMENT, SEGMENT = "element", "segment"


def owner_reason(index: Index, first: Node, second: Node) -> str | None:
    """The reason why the two nodes may not share a kernel; None if they may."""
    if HOST in (first.op, second.op):
        return "host"
    if (first.by and second.by and first.by != second.by) or not (may_be_held(first) and may_be_held(second)):
        return "mapping"
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


def may_be_held(node: Node) -> bool:
    """Can an owner do this for its segment by itself?"""
    if not node.by:
        return node.op == "MAP"
    return isinstance(node.space, Elements) and node.op in HELD and not node.serial


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
