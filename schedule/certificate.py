"""Certificate: may these clusters be kernels, and is there an order to run them in?

A simulation of the walk, which knows nothing of verdicts, pairs or programs of the solver. A kernel walks one root
space in index order, tile by tile; a tile may wait once for all earlier tiles (the look-back). The simulation tries
each space as the root and gives every node the moment at which its value exists:

    element, 0 or 1 look-backs     segment start     segment end     kernel end

A cluster is a kernel if under some root every space is walked and every use finds its value made in time. What it
computes again, though it is another's, is walked like its own, and must be a MAP that cannot fail.
"""
from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest

from nessie.schedule.pdg import (
    FILTERS,
    GATHER,
    HOST,
    MEMBER,
    ON_SEGMENTS,
    ONCE,
    ORDER,
    OWN,
    SCALAR,
    SEG,
    Elements,
    Flat,
    Graph,
    Index,
    Node,
    Space,
    Survivors,
    Unit,
    space_size,
)

BEFORE, AFTER, SEGMENT_START, SEGMENT_END, KERNEL_END = range(5)


def complaints(graph: Graph, clusters: Sequence[Sequence[str]], again: Sequence[Sequence[str]] = ()) -> list[str]:
    """What is wrong with the schedule: nothing, if it can be run. `again`: per cluster, what it computes again."""
    index = Index(graph)
    listed = sorted(index.position[name] for cluster in clusters for name in cluster)
    if listed != list(range(len(graph.nodes))):
        return ["the clusters do not hold every node once"]
    if again and len(again) != len(clusters):
        return ["what is computed again is not told of every kernel"]
    numbered = [[index.position[name] for name in cluster] for cluster in clusters]
    copies = [[index.position[name] for name in cluster] for cluster in again or [()] * len(clusters)]
    found = [f"{index.nodes[k].name} cannot be computed again" for nodes in copies for k in nodes
             if not repeatable(index.nodes[k])]
    for members, repeated in zip(numbered, copies, strict=True):
        if len({*members, *repeated}) < len(members) + len(repeated):
            found.append("a kernel computes a node twice")
        elif not one_pass(index, [*members, *repeated]):
            found.append(f"one walk cannot compute {', '.join(index.nodes[k].name for k in (*members, *repeated))}")
    if execution_order(index, numbered, copies) is None:
        found.append("the kernels wait for each other")
    return found


def repeatable(node: Node) -> bool:
    """Does it do the same, and no harm, wherever it is computed?"""
    return node.op == "MAP" and not node.fails


def execution_order(index: Index, clusters: Sequence[Sequence[int]],
                    again: Sequence[Sequence[int]] = ()) -> list[int] | None:
    """The clusters in an order of execution, the first in the program first; None if they wait for each other. What is
    computed again has been computed before."""
    import heapq

    cluster_of = {node: number for number, members in enumerate(clusters) for node in members}
    waits: list[set[int]] = [set() for _ in clusters]
    feeds: list[set[int]] = [set() for _ in clusters]
    for v, (members, copies) in enumerate(zip_longest(clusters, again, fillvalue=())):
        here = {*members, *copies}
        needed = {before for node in here for before in index.predecessors[node]} - here
        for u in map(cluster_of.__getitem__, needed.union(copies).difference(members)):
            waits[v].add(u)
            feeds[u].add(v)
    ready = [(min(members), number) for number, members in enumerate(clusters) if not waits[number]]
    heapq.heapify(ready)
    order: list[int] = []
    while ready:
        _, done = heapq.heappop(ready)
        order.append(done)
        for number in feeds[done]:
            waits[number].discard(done)
            if not waits[number]:
                heapq.heappush(ready, (min(clusters[number]), number))
    return order if len(order) == len(clusters) else None


def one_pass(index: Index, members: Sequence[int]) -> bool:
    """Can one kernel compute these nodes, everything outside being complete?"""
    members = sorted(members)
    nodes = [index.nodes[k] for k in members]
    if len(nodes) == 1:
        return True
    if any(node.op in (HOST, ORDER) for node in nodes):
        return False
    inside = {name: index.nodes[k] for k in members for name in index.nodes[k].results if name != "_"}
    roots = {node.space for node in nodes if node.space != Unit()}
    roots |= {Flat(0)} if not roots else set()
    return any(Walk(index, root, inside, {node.name for node in nodes}).run(nodes) for root in roots)


class Walk:
    """One walk of `root`: when each node's value exists. `inside` maps names to the members that make them."""

    def __init__(self, index: Index, root: Space, inside: dict[str, Node], members: set[str]) -> None:
        self.index, self.root, self.inside, self.members = index, root, inside, members
        self.moment: dict[str, int] = {}

    def run(self, nodes: Sequence[Node]) -> bool:
        levels = {self.level(node.space) for node in nodes}
        if {"twin", "segment"} <= levels:           # who walks the elements only would not see where segments end
            return False
        return all(self.step(node) for node in nodes)

    def level(self, space: Space) -> str | None:
        """Where in the walk the space's indices come by: element, segment, end; None if they do not. A twin has
        the elements' indices, but knows no segments."""
        if space == Unit():
            return "end"
        if space == self.root:
            return "element"
        if isinstance(space, Survivors) and space.filter in self.members:
            parent = self.level(self.index.parent(space))
            return parent if parent in ("element", "twin") else None
        if isinstance(space, Elements):
            return None
        if isinstance(self.root, Elements) and space_size(space) == self.root.total:
            return "twin"
        return "segment" if space_size(space) == self.index.segments(self.root) else None

    def step(self, node: Node) -> bool:
        """Note when the node's value exists; False if it can not be computed in this walk."""
        level = self.level(node.space)
        if level is None:
            return False
        if level == "end":
            self.moment[node.name] = KERNEL_END
            return all(use.mode == SCALAR for use in node.uses if use.name in self.inside)
        if level == "segment" and node.op not in ON_SEGMENTS:
            return False
        needs = [self.arrival(node, use.mode, use.name, level) for use in node.uses if use.name in self.inside]
        if None in needs:
            return False
        hosted = isinstance(node.space, Survivors) and node.space.filter in self.members
        if hosted and node.place:
            return False
        looked = AFTER in needs or (hosted and node.rank)
        self.moment[node.name] = self.result_moment(node.op, level, looked, SEGMENT_END in needs)
        return not (looked and node.op in ("SCAN", "SEG_SCAN", "SEG_REDUCE", *FILTERS))

    def arrival(self, node: Node, mode: str, name: str, level: str) -> int | None:
        """When the used value exists, if that is in time."""
        maker = self.inside[name]
        if mode == MEMBER:
            return BEFORE
        if mode in (GATHER, SCALAR) or mode not in (OWN, SEG):
            return None
        moment = self.moment[maker.name]
        if moment == KERNEL_END:
            return None
        if maker.op in FILTERS:
            moment = self.filter_result(maker, name)
        if mode == SEG:
            return BEFORE if level == "element" and moment == SEGMENT_START else None
        if level == "segment":
            return moment if moment in (SEGMENT_START, SEGMENT_END) else None
        return moment if moment in (BEFORE, AFTER) else None

    def filter_result(self, maker: Node, name: str) -> int:
        """A survivor is known at its element; its place among all, after the look-back; offsets at the end."""
        if maker.op == "SEG_FILTER" and name == maker.results[-1]:
            return KERNEL_END
        if maker.op == "PARTITION" and name == maker.results[-1]:
            return AFTER
        return BEFORE

    def result_moment(self, op: str, level: str, looked: bool, segment_over: bool) -> int:
        if op in ("REDUCE", "PERMUTE", ONCE):
            return KERNEL_END
        if level == "segment":
            return SEGMENT_END if segment_over else SEGMENT_START
        if op == "SEG_REDUCE":
            return SEGMENT_END
        if op in ("SCAN", "SEG_SCAN"):
            return AFTER
        return AFTER if looked else BEFORE
