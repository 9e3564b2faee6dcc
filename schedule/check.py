"""Validates graphs and schedules: raises IllFormed, which names the broken invariant."""
from __future__ import annotations

from collections.abc import Iterable
from dataclasses import field

from nessie.base.records import dataclass
from nessie.base.source import IllFormed
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu.typing import ELEMENTS
from nessie.schedule.cost.profiles import CPU
from nessie.schedule.graph.build import is_check
from nessie.schedule.graph.graph import graph as graphs
from nessie.schedule.graph.nodes import FILTERS, MODES, OPS, SEG, Graph, Node, Survivors, Use, segments_of
from nessie.schedule.legality import certificate
from nessie.schedule.nodes import RegionSchedule, Schedule, kernels
from nessie.schedule.schedule import MODES as SCHEDULE_MODES

LARGEST = 1e200                 # of estimates, so that what is computed from them is finite


def require(condition: bool, message: str) -> None:
    if not condition:
        raise IllFormed(message)


def check_graphs(graphs: Iterable[Graph]) -> None:
    for graph in graphs:
        check_graph(graph)


def check_graph(graph: Graph) -> None:
    """Check the invariants of schedule.graph.nodes."""
    found = Found({param.name for param in graph.types}, {size for size, _ in graph.sizes},
                  {name for node in graph.nodes for name in node.results if name != "_"})
    for pair in graph.sizes:
        check_estimate(pair)
    for param in graph.types:
        check_type(param, found)
    for node in graph.nodes:
        check_node(node, found)
    for ordered in graph.order:
        check_order(ordered, found)
    check_relied_on(graph)
    check_outputs(graph.outputs, found)
    for wished in (*graph.cuts, *graph.fused):
        check_wish(wished, found)


@dataclass
class Found:
    """A graph's names with types, sizes with estimates, and nodes' results. Of the nodes so far: their results in
    `seen`, their places by name, and the filters among them."""
    typed: set[str]
    sizes: set[ir.Size]
    makers: set[str]
    seen: set[str] = field(default_factory=set)
    position: dict[str, int] = field(default_factory=dict)
    filters: dict[str, Node] = field(default_factory=dict)


def check_estimate(estimated: tuple[ir.Size, float]) -> None:
    size, estimate = estimated
    require(0 <= estimate <= LARGEST, f"the estimate of {size} is {estimate}")


def check_type(param: ir.Param, found: Found) -> None:
    base = param.type.base if isinstance(param.type, ir.Array) else param.type
    require(base in ELEMENTS, f"{base} is no type of a scalar or element")
    if isinstance(param.type, ir.Array) and isinstance(param.type.size, str):
        require(param.type.size in found.sizes, f"the size {param.type.size} has no estimate")


def check_node(node: Node, found: Found) -> None:
    require(node.name not in found.position, "two nodes have one name")
    require(node.op in OPS, f"{node.op} is no operation")
    for use in node.uses:
        check_use(use, found)
    require(all(name in found.typed for name in node.results if name != "_"), f"a result of {node.name} has no type")
    if isinstance(node.space, Survivors):
        check_survivors(node, node.space, found)
    by_segments = node.op.startswith("SEG_") or node.place or any(use.mode == SEG for use in node.uses)
    require(not by_segments or segments_of(node.space) is not None, f"{node.name} walks no segments")
    for name in node.results:
        require(name not in found.seen, "a name is made twice")
        found.seen.update({name} - {"_"})
    found.position[node.name] = len(found.position)
    found.filters.update({node.name: node} if node.op in FILTERS else ())


def check_survivors(node: Node, space: Survivors, found: Found) -> None:
    require(space.filter in found.filters, f"{node.name} walks survivors of no filter before it")
    host = found.filters[space.filter]
    require(space.segments is None or (host.op, segments_of(host.space)) == ("SEG_FILTER", space.segments),
            f"{node.name} walks segments that {host.name} does not leave")


def check_use(use: Use, found: Found) -> None:
    require(use.mode in MODES, f"{use.mode} is no mode of use")
    require(use.name in found.typed, f"{use.name} has no type")
    require(use.name not in found.makers or use.name in found.seen, f"{use.name} is used before the node that makes it")


def check_order(pair: tuple[str, str], found: Found) -> None:
    before, after = (found.position.get(name, -1) for name in pair)
    require(0 <= before < after, f"the order of {' and '.join(pair)} does not point forwards")


def check_outputs(names: tuple[str, ...], found: Found) -> None:
    require(set(names) <= found.makers, "an output is made nowhere")


def check_wish(pair: tuple[str, str], found: Found) -> None:
    first, second = pair
    require(first in found.position and second in found.position and first != second,
            f"the wish of {first} and {second} is not of two nodes")


def check_relied_on(graph: Graph) -> None:
    """Check that every node after a mere check of the host is ordered after it."""
    before: dict[str, set[str]] = {node.name: set() for node in graph.nodes}
    for earlier, later in graph.order:
        before[later].add(earlier)
    check, behind = "", set[str]()          # the last check so far, and the nodes known to come no earlier
    for node in graph.nodes:
        if check:
            check_behind(node, before[node.name], check, behind)
            behind.add(node.name)
        if is_check(node):
            check, behind = node.name, {node.name}


def check_behind(node: Node, before: set[str], check: str, behind: set[str]) -> None:
    require(not before.isdisjoint(behind), f"{node.name} is not ordered after the check {check}")


# Schedules --------------------------------------------------------------------------------------


def check_alone(schedule: Schedule) -> None:
    """Check the invariants of a schedule that need no program."""
    require(schedule.mode in SCHEDULE_MODES, f"{schedule.mode} is no mode of scheduling")
    regions: set[tuple[str, int]] = set()
    for region in schedule.regions:
        check_region(region, regions)


def check_region(region: RegionSchedule, regions: set[tuple[str, int]]) -> None:
    """Check that each node is in one kernel, and that the region has one schedule."""
    require((region.function, region.number) not in regions, "a region has two schedules")
    regions.add((region.function, region.number))
    home: set[str] = set()
    for nodes in region.clusters:
        check_kernel(nodes, home)


def check_kernel(nodes: tuple[str, ...], home: set[str]) -> None:
    require(bool(nodes), "a kernel has no nodes")
    for name in nodes:
        require(name not in home, f"{name} is in two kernels")
        home.add(name)


def check_schedule(program: ir.Program, schedule: Schedule) -> None:
    """Check the invariants of a schedule of this program, with the certificate."""
    check_alone(schedule)
    regions = {(region.function, region.number): region for region in schedule.regions}
    for graph in graphs(program, CPU):
        check_graph(graph)
        region = regions.pop((graph.name, graph.region), None)
        if region is None:
            raise IllFormed(f"region {graph.region} of {graph.name} has no schedule")
        known = {node.name for node in graph.nodes}
        require(all(name in known for cluster in (*region.clusters, *region.again) for name in cluster),
                "a kernel has unknown nodes")
        found = certificate.complaints(graph, region.clusters, region.again)
        require(not found, "; ".join(found))
        require(in_order(graph, region), "a kernel needs what a later one makes")
    require(not regions, "there is a schedule of no region")


def in_order(graph: Graph, region: RegionSchedule) -> bool:
    """Does every kernel come after those whose results it uses or computes again?"""
    home = {name: number for number, cluster in enumerate(region.clusters) for name in cluster}
    maker = {name: node.name for node in graph.nodes for name in node.results if name != "_"}
    before: dict[str, set[str]] = {node.name: {maker[use.name] for use in node.uses if use.name in maker}
                                   for node in graph.nodes}
    for earlier, later in graph.order:
        before[later].add(earlier)
    return all(home[needed] <= number for number, nodes in enumerate(kernels(region))
               for name in (*nodes[0], *nodes[1]) for needed in {*before[name], *nodes[1]})
