"""Lays out a dependence graph and its schedule. Kernels are boxes around their nodes; arrays that go through memory
are boxes of their own below the kernel that writes them; lines lead from the maker of a name to its users.

Inside a kernel, nodes stand in rows below the nodes that they use. Kernels stand in rows below those whose results they
read, in the first row with room. Both are layered sketches: a drawn kernel is one box of the whole. Lines enter a
kernel through gates at its top, one for each name, and leave it through exits at its bottom, which are the arrays.
"""
from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import field
from functools import lru_cache

from nessie.base.records import dataclass
from nessie.schedule.draw.boxes import Area, BoxDrawing, Points, moved
from nessie.schedule.draw.drawing import (
    LETTER,
    ORDER,
    Drawing,
    DrawnArray,
    DrawnKernel,
    DrawnNode,
    Line,
    array_text,
    launches,
    node_lines,
    region_title,
    title,
    width_of,
)
from nessie.schedule.graph.nodes import Graph, Index, Node
from nessie.schedule.nodes import RegionSchedule, kernels

NODE_HEIGHT, ARRAY_HEIGHT, TITLE_HEIGHT, PAD = 40.0, 18.0, 14.0, 10.0
INSIDE, OUTSIDE = 26.0, 40.0            # the least height between rows
ROW, ROWS = 620.0, 1500.0               # the widths at which a kernel, and the whole, begin another row


@lru_cache(maxsize=64)          # after an edit most regions are as they were
def draw_region(graph: Graph, region: RegionSchedule) -> Drawing:
    """Draw a region's graph with its schedule; the left top corner is (0, 0)."""
    index = Index(graph)
    computed = [sorted((*cluster, *again), key=index.position.__getitem__) for cluster, again in kernels(region)]
    return Whole(Arrangement(index, computed)).drawing(region_title(graph, region))


# What is to be drawn --------------------------------------------------------------------------------


@dataclass(frozen=True)
class Gate:
    """The place where a name enters a kernel, or, with `before`, an order after that node."""
    kernel: int
    name: str
    before: int | None = None


@dataclass(frozen=True)
class Exit:
    """The place where a node's result leaves its kernel, or, without a name, an order after the node."""
    node: int
    name: str


@dataclass(frozen=True)
class Use:
    """The node at `target` uses a result of the node at `source`, or an input if that is None. An order has no name;
    only orders between kernels are drawn."""
    source: int | None
    target: int
    name: str
    mode: str


@dataclass
class Arrangement:
    """The nodes in the order of the kernels; `home` is the kernel of each. A node that several kernels compute is there
    once for each, all but the first as copies. Only the first writes memory; a reader uses the one in its kernel, if
    any."""
    index: Index
    clusters: Sequence[Sequence[str]]
    nodes: list[Node] = field(default_factory=list)
    home: list[int] = field(default_factory=list)
    copies: list[bool] = field(default_factory=list)
    uses: list[Use] = field(default_factory=list)
    exits: list[Exit] = field(default_factory=list)

    def __post_init__(self) -> None:
        first: dict[str, int] = {}
        here: dict[tuple[int, str], int] = {}
        for kernel, cluster in enumerate(self.clusters):
            for name in cluster:
                here[kernel, name] = len(self.nodes)
                self.copies.append(name in first)
                first.setdefault(name, len(self.nodes))
                self.nodes.append(self.index.nodes[self.index.position[name]])
                self.home.append(kernel)
        for target, node in enumerate(self.nodes):
            for use in node.uses:
                if use.name in self.index.maker:
                    made = self.index.nodes[self.index.maker[use.name]].name
                    source = here.get((self.home[target], made), first[made])
                    self.uses.append(Use(source, target, use.name, use.mode))
                elif self.index.bytes(use.name):
                    self.uses.append(Use(None, target, use.name, use.mode))
        orders = [Use(first[before], first[after], "", ORDER) for before, after in self.index.graph.order]
        self.uses += [order for order in orders if not self.inside(order)]
        outside = {use.name for use in self.uses if use.name and not self.inside(use)} | {*self.index.graph.outputs}
        self.exits = [Exit(place, name) for place, node in enumerate(self.nodes) if not self.copies[place]
                      for name in node.results if name in outside]
        self.exits += dict.fromkeys(Exit(use.source, "") for use in self.uses
                                    if use.mode == ORDER and use.source is not None and not self.inside(use))

    def inside(self, use: Use) -> bool:
        """Is the use within one kernel?"""
        return use.source is not None and self.home[use.source] == self.home[use.target]

    def gate(self, use: Use) -> Gate:
        return Gate(self.home[use.target], use.name, use.source if use.mode == ORDER else None)


def rows(widths: Sequence[float], before: Sequence[Collection[int]], limit: float) -> list[int]:
    """A row for each box: the first row with room below the boxes before it. Boxes with more boxes after them than
    before then move down as far as those after allow, if there is room."""
    found: list[int] = []
    taken: dict[int, float] = {}
    after: list[list[int]] = [[] for _ in widths]

    def room(row: int, width: float) -> bool:
        return not taken.get(row) or taken[row] + width <= limit

    for one, width in enumerate(widths):
        row = 1 + max((found[other] for other in before[one]), default=-1)
        while not room(row, width):
            row += 1
        found.append(row)
        taken[row] = taken.get(row, 0.0) + width
        for other in before[one]:
            after[other].append(one)
    for one in reversed(range(len(widths))):
        lowest = min((found[other] for other in after[one]), default=0) - 1
        if len(after[one]) > len(before[one]) and lowest > found[one] and room(lowest, widths[one]):
            taken[found[one]] -= widths[one]
            taken[lowest] = taken.get(lowest, 0.0) + widths[one]
            found[one] = lowest
    return found


# One kernel -----------------------------------------------------------------------------------------


class Inner:
    """A kernel, drawn by itself. Its sketch holds a title, gates and exits under themselves as keys, and nodes under
    their places. `bottom`: that of the kernel's own box; arrays stand below it."""

    def __init__(self, plan: Arrangement, kernel: int, title: str) -> None:
        self.sketch = sketch = BoxDrawing()
        members = [k for k, home in enumerate(plan.home) if home == kernel]
        own = [use for use in plan.uses if plan.home[use.target] == kernel]
        self.gates = list(dict.fromkeys(plan.gate(use) for use in own if not plan.inside(use)))
        self.exits = [leave for leave in plan.exits if plan.home[leave.node] == kernel]
        number = {k: n for n, k in enumerate(members)}
        widths = [width_of(*node_lines(plan.nodes[k])) for k in members]
        before = [{number[use.source] for use in own if use.target == k and plan.inside(use) and use.source is not None}
                  for k in members]
        row = rows(widths, before, ROW)
        sketch.box("title", len(title) * LETTER, TITLE_HEIGHT, 0, True)
        for gate in self.gates:
            sketch.box(gate, 0.0, 0.0, 0)
        for k, width, at in zip(members, widths, row, strict=True):
            sketch.box(k, width, NODE_HEIGHT, 1 + at)
        for leave in self.exits:
            width = width_of(array_text(leave.name, plan.index)) if leave.name else 0.0
            sketch.box(leave, width, ARRAY_HEIGHT, max(row) + 2)
            sketch.line(leave, leave.node, leave)
        for use in own:
            source = use.source if plan.inside(use) else plan.gate(use)
            sketch.line((source, use.target), source, use.target)
        sketch.draw(INSIDE)
        self.width = sketch.width + 2 * PAD
        self.bottom = max(sketch.areas[k].bottom for k in members) + 2 * PAD
        self.height = max([self.bottom, *(sketch.areas[leave].bottom + PAD for leave in self.exits)])

    def gate(self, gate: Gate) -> float:
        return self.sketch.areas[gate].x + PAD

    def exit(self, leave: Exit) -> float:
        area = self.sketch.areas[leave]
        return area.x + area.width / 2 + PAD


# The whole ------------------------------------------------------------------------------------------


class Whole:
    """The whole drawing: all kernels and the arrays that they find in memory."""

    def __init__(self, plan: Arrangement) -> None:
        self.plan, self.sketch = plan, BoxDrawing()
        self.launches = launches(plan.index.graph, plan.clusters)
        self.inner = [Inner(plan, kernel, title(launch)) for kernel, launch in enumerate(self.launches)]
        outer = [use for use in plan.uses if not plan.inside(use)]
        before = [{plan.home[use.source] for use in outer if plan.home[use.target] == kernel and use.source is not None}
                  for kernel in range(len(self.inner))]
        self.inputs = list(dict.fromkeys(use.name for use in outer if use.source is None))
        row = [bool(self.inputs) + at for at in rows([inner.width for inner in self.inner], before, ROWS)]
        for kernel, inner in enumerate(self.inner):
            self.sketch.box(kernel, inner.width, inner.height, row[kernel])
        for name in self.inputs:
            first = min(row[plan.home[use.target]] for use in outer if use.source is None and use.name == name) - 1
            self.sketch.box(name, width_of(array_text(name, plan.index)), ARRAY_HEIGHT, first)
        for use in outer:
            self.connect(use)
        self.sketch.draw(OUTSIDE)

    def connect(self, use: Use) -> None:
        """Draw the line from an exit or an input to the kernel's gate; like uses share one."""
        gate = self.plan.gate(use)
        enters = self.inner[gate.kernel].gate(gate)
        if use.source is None:
            self.sketch.line(gate, use.name, gate.kernel, enters=enters)
            return
        home = self.plan.home[use.source]
        self.sketch.line(gate, home, gate.kernel, self.inner[home].exit(Exit(use.source, use.name)), enters)

    def drawing(self, heading: str) -> Drawing:
        kernels = tuple(self.kernel(kernel) for kernel in range(len(self.inner)))
        nodes = tuple(DrawnNode(node.name, self.plan.home[k], self.plan.copies[k], node_lines(node),
                                self.inside(self.plan.home[k], k), node.by) for k, node in enumerate(self.plan.nodes))
        return Drawing(heading, kernels, nodes, (*self.found(), *self.left()), tuple(self.lines()), self.sketch.width,
                       self.sketch.height)

    def kernel(self, kernel: int) -> DrawnKernel:
        area, inner = self.sketch.areas[kernel], self.inner[kernel]
        return DrawnKernel(self.launches[kernel], tuple(self.plan.clusters[kernel]),
                           Area(area.x, area.y, inner.width, inner.bottom))

    def inside(self, kernel: int, key: int | Exit) -> Area:
        """The area of a kernel's box in the whole."""
        area = self.sketch.areas[kernel]
        return self.inner[kernel].sketch.areas[key].moved(area.x + PAD, area.y + PAD)

    def path(self, kernel: int, key: object) -> Points:
        """A kernel's path in the whole."""
        area = self.sketch.areas[kernel]
        return moved(self.inner[kernel].sketch.paths[key], area.x + PAD, area.y + PAD)

    def found(self) -> Iterable[DrawnArray]:
        for name in self.inputs:
            yield DrawnArray(name, None, array_text(name, self.plan.index), False, self.sketch.areas[name])

    def left(self) -> Iterable[DrawnArray]:
        for leave in self.plan.exits:
            if leave.name:
                kernel = self.plan.home[leave.node]
                yield DrawnArray(leave.name, leave.node, array_text(leave.name, self.plan.index),
                                 leave.name in self.plan.index.graph.outputs, self.inside(kernel, leave),
                                 self.path(kernel, leave))

    def lines(self) -> Iterable[Line]:
        """Yield one line for all that a node uses of another in its kernel, and one for each name between kernels."""
        together: dict[tuple[object, int], list[Use]] = {}
        for use in self.plan.uses:
            source = use.source if self.plan.inside(use) else self.plan.gate(use)
            together.setdefault((source, use.target), []).append(use)
        for key, uses in together.items():
            first, memory = uses[0], not self.plan.inside(uses[0])
            points = self.path(self.plan.home[first.target], key)
            if memory:
                gate = self.plan.gate(first)
                order = self.path(self.plan.home[first.source], Exit(first.source, "")) \
                    if first.mode == ORDER and first.source is not None else ()
                points = (*order, *self.sketch.paths[gate], *points)
            yield Line(first.source, first.target, tuple(dict.fromkeys(use.name for use in uses if use.name)),
                       tuple(dict.fromkeys(use.mode for use in uses)), memory, points)
