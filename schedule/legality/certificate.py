"""The certificate: checks that clusters may be kernels, and that there is an order to run them in.

  in    a graph, and clusters of its nodes by name
  out   complaints; none, if they can be run
  how   A simulation of the walk. A kernel walks one root space in index order, tile by tile; a tile may wait once for
        all earlier tiles (the look-back). The simulation tries each space as the root and gives every node the moment
        at which its value exists:

            element, 0 or 1 look-backs     segment start     segment end     kernel end

        A cluster is a kernel if under some root every space is walked and every use finds its value made in time. A
        node of another cluster that it computes again is walked like its own, and must be a MAP that cannot fail.
  why   It reads the graph's data and nothing else: no verdict, no index of the graph, no code or table of the solver.
        So a mistake in what those share shows here.
"""
from __future__ import annotations

from collections.abc import Collection, Sequence

from nessie.lambda_cu.mappings.nodes import Cases
from nessie.lambda_cu.mappings.owners import is_of_owners
from nessie.lambda_cu.mappings.text import parse_mapping
from nessie.schedule.graph.nodes import Elements, Flat, Graph, Node, Size, Space, Survivors, Unit, of_one_length

BEFORE, AFTER, SEGMENT_START, SEGMENT_END, KERNEL_END = range(5)


def complaints(graph: Graph, clusters: Sequence[Sequence[str]], again: Sequence[Sequence[str]] = ()) -> list[str]:
    """Return the faults of the schedule, none if it can be run. `again`: per cluster, what it computes again."""
    nodes = {node.name: node for node in graph.nodes}
    if sorted(name for cluster in clusters for name in cluster) != sorted(nodes):
        return ["the clusters do not hold every node once"]
    if again and len(again) != len(clusters):
        return ["what is computed again is not told of every kernel"]
    copies = again or [()] * len(clusters)
    found = [f"{name} cannot be computed again" for repeated in copies for name in repeated
             if not repeatable(nodes[name])]
    for members, repeated in zip(clusters, copies, strict=True):
        if len({*members, *repeated}) < len(members) + len(repeated):
            found.append("a kernel computes a node twice")
        elif not one_pass(graph, [*members, *repeated]):
            found.append(f"one walk cannot compute {', '.join((*members, *repeated))}")
    if not runs(graph, clusters, copies):
        found.append("the kernels wait for each other")
    return found


def repeatable(node: Node) -> bool:
    """Does the node compute the same, without failing, wherever it is computed?"""
    return node.op == "MAP" and not node.fails


def runs(graph: Graph, clusters: Sequence[Sequence[str]], again: Sequence[Sequence[str]] = ()) -> bool:
    """Do all kernels run in the end, each when what it needs from others is there? A node must have been computed
    before it is computed again."""
    maker = {name: node.name for node in graph.nodes for name in node.results if name != "_"}
    needs = {node.name: {maker[use.name] for use in node.uses if use.name in maker} for node in graph.nodes}
    for before, after in graph.order:
        needs[after].add(before)
    waiting = []
    for members, copies in zip(clusters, again or [()] * len(clusters), strict=True):
        here = {*members, *copies}
        waiting.append((members, set().union(*(needs[name] for name in here)) - here | set(copies)))
    done: set[str] = set()
    while waiting:
        left = []
        for members, missing in waiting:
            if missing <= done:
                done.update(members)
            else:
                left.append((members, missing))
        if len(left) == len(waiting):
            return False
        waiting = left
    return True


def one_pass(graph: Graph, members: Collection[str]) -> bool:
    """Can one kernel compute these nodes, if everything outside is complete?"""
    nodes = [node for node in graph.nodes if node.name in members]
    if len(nodes) == 1:
        return True
    mappings = {node.by for node in nodes if node.by}
    if mappings:
        held = [is_of_owners(parse_mapping(by)) for by in mappings]
        if any([isinstance(parse_mapping(by), Cases) for by in mappings]):
            return False
        return len(held) == 1 and (one_owner(nodes) if held[0] else any_order(nodes))
    if any(node.op in ("HOST", "ORDER") for node in nodes):
        return False
    roots = dict.fromkeys(node.space for node in nodes if node.space != Unit()) or (Unit(),)
    return any(Walk(graph, root, nodes).computes_all() for root in roots)


def one_owner(nodes: Sequence[Node]) -> bool:
    """Can one owner compute these nodes for its segment, one after another, going through it as often as it takes? All
    that it reads of them must then be its own: an element's, the segment's, or an element's of the same row."""
    roots = {node.space for node in nodes if node.by}
    root = next(iter(roots))
    if len(roots) > 1 or not isinstance(root, Elements) or root.segments == root.total:
        return False
    per: dict[str, str] = {}                    # what each array has one of: an element, a segment
    for node in nodes:
        walks = "segment" if node.space == Flat(root.segments) else "element"
        if node.space not in (root, Flat(root.total), Flat(root.segments)) or node.serial or not (
                node.op == "MAP" or (node.by and node.op in ("SEG_REDUCE", "SEG_SCAN", "ORDER", "PERMUTE"))):
            return False
        for use in node.uses:
            near = [(walks, "own"), ("segment", "seg"), *([("element", "gather")] if use.name in node.rows else [])]
            if use.name in per and (per[use.name], use.mode) not in near:
                return False
        made = {"SEG_REDUCE": "segment", "PERMUTE": "anywhere"}.get(node.op, walks)
        per.update((name, made) for name in node.results if name != "_")
    return True


def any_order(nodes: Sequence[Node]) -> bool:
    """Can threads that have an index each, of the mapped nodes' axes, compute these nodes, whoever comes first?"""
    root, *others = {node.space for node in nodes if node.by}
    made = {name: node for node in nodes for name in node.results if name != "_"}
    return not others and all(
        [(node.op in ("MAP", "PERMUTE") or (node.op == "REDUCE" and node.by != "")) and not node.serial
         and (node.space == root or (not node.by and isinstance(root, Elements) and node.space == Flat(root.total)))
         and all([use.mode == "own" and made[use.name].op == "MAP" for use in node.uses if use.name in made])
         for node in nodes])


def size_of(space: Space) -> Size:
    """The number of the space's indices."""
    match space:
        case Flat(size) | Elements(_, _, size) | Survivors(_, size):
            return size
    return 1


def by_segments(space: Space) -> bool:
    """Does the space know its segments?"""
    return isinstance(space, Elements) or (isinstance(space, Survivors) and space.segments is not None)


class Walk:
    """One walk of `root` by these nodes; `moment` tells when each node's value exists."""

    def __init__(self, graph: Graph, root: Space, nodes: Sequence[Node]) -> None:
        self.root, self.nodes = root, nodes
        self.hosts = {node.name: node for node in graph.nodes}
        self.members = {node.name for node in nodes}
        self.inside = {name: node for node in nodes for name in node.results if name != "_"}
        self.segments = self.segments_walked(root)
        self.moment: dict[str, int] = {}
        self.levels: dict[Space, str | None] = {}

    def segments_walked(self, root: Space) -> Size | None:
        """The number of segments that begin and end in the walk. None if the root has no segments, or as many as
        elements, counted before any filter."""
        if not isinstance(root, Elements | Survivors) or not by_segments(root):
            return None
        return None if size_of(self.source(root)) == root.segments else root.segments

    def source(self, space: Space) -> Space:
        """What filters have left the space of, one after another."""
        while isinstance(space, Survivors):
            space = self.hosts[space.filter].space
        return space

    def computes_all(self) -> bool:
        levels = {self.level(node.space) for node in self.nodes}
        if {"twin", "segment"} <= levels:           # a twin would not see where segments end
            return False
        above = {node.space for node in self.nodes if self.level(node.space) == "segment" and by_segments(node.space)}
        if len(above) > 1:                          # the segments are elements of others in one way
            return False
        return all(self.step(node) for node in self.nodes)

    def hosted(self, space: Space) -> bool:
        """Does the space consist of survivors of this kernel?"""
        return isinstance(space, Survivors) and space.filter in self.members

    def level(self, space: Space) -> str | None:
        """The place in the walk where it meets the space's indices: element, segment, end; None if it does not. A twin
        has the elements' indices, but knows no segments."""
        if space not in self.levels:
            self.levels[space] = self.find_level(space)
        return self.levels[space]

    def find_level(self, space: Space) -> str | None:
        if space == Unit():
            return "end"
        if space == self.root:
            return "element"
        if isinstance(space, Survivors) and self.hosted(space):
            parent = self.level(self.hosts[space.filter].space)
            return parent if parent in ("element", "twin") else None
        if isinstance(space, Elements):
            root = self.source(self.root)
            counted = of_one_length(space) and of_one_length(root) and space.segments != size_of(root)
            return "segment" if counted and space.total == self.segments else None
        if by_segments(space):
            return None
        if by_segments(self.root) and size_of(space) == size_of(self.root):
            return "twin"
        return "segment" if size_of(space) == self.segments else None

    def step(self, node: Node) -> bool:
        """Note when the node's value exists; False if this walk cannot compute it."""
        level = self.level(node.space)
        if level is None:
            return False
        if level == "end":
            self.moment[node.name] = KERNEL_END
            return all(use.mode == "scalar" for use in node.uses if use.name in self.inside)
        if level == "segment" and node.op not in ("MAP", "REDUCE", "PERMUTE", "REDUCE_BY_INDEX"):
            return False
        needs = [self.arrival(node, use.mode, use.name, level) for use in node.uses if use.name in self.inside]
        hosted = self.hosted(node.space)
        if None in needs or (hosted and node.place):
            return False
        looked = AFTER in needs or (hosted and node.rank)
        self.moment[node.name] = self.result_moment(node.op, level, looked, SEGMENT_END in needs)
        return not (looked and node.op in ("SCAN", "SEG_SCAN", "SEG_REDUCE", "FILTER", "SEG_FILTER", "PARTITION"))

    def arrival(self, node: Node, mode: str, name: str, level: str) -> int | None:
        """The moment at which the used value exists; None if that is too late."""
        if mode == "member":
            return BEFORE
        if mode not in ("own", "seg"):
            return None
        moment = self.value_moment(self.inside[name], name)
        if mode == "seg":
            return BEFORE if level == "element" and moment == SEGMENT_START else None
        in_time = (SEGMENT_START, SEGMENT_END) if level == "segment" else (BEFORE, AFTER)
        return moment if moment in in_time else None

    def value_moment(self, maker: Node, name: str) -> int:
        """The moment at which an element of the array exists. A survivor is known at its element, its place among all
        after the look-back, offsets at the end."""
        if maker.op == "SEG_FILTER" and name == maker.results[-1]:
            return KERNEL_END
        if maker.op == "PARTITION" and name == maker.results[-1]:
            return AFTER
        return BEFORE if maker.op in ("FILTER", "SEG_FILTER", "PARTITION") else self.moment[maker.name]

    def result_moment(self, op: str, level: str, looked: bool, segment_over: bool) -> int:
        if op in ("REDUCE", "PERMUTE", "ONCE"):
            return KERNEL_END
        if level == "segment":
            return SEGMENT_END if segment_over else SEGMENT_START
        if op == "SEG_REDUCE":
            return SEGMENT_END
        if op in ("SCAN", "SEG_SCAN"):
            return AFTER
        return AFTER if looked else BEFORE
