"""Validators of graphs and of schedules: they raise IllFormed, naming the invariant that is broken."""
from __future__ import annotations

from nessie.base.source import IllFormed
from nessie.lambda_cu import ir
from nessie.schedule import certificate
from nessie.schedule.build import is_check
from nessie.schedule.pdg import FILTERS, MODES, OPS, Graph, Survivors
from nessie.schedule.profiles import CPU
from nessie.schedule.schedule import MODES as SCHEDULE_MODES
from nessie.schedule.schedule import graphs
from nessie.schedule.schedule_form import RegionSchedule, Schedule, kernels


def require(condition: bool, message: str) -> None:
    if not condition:
        raise IllFormed(message)


def check_graph(graph: Graph) -> None:
    """The invariants of schedule.pdg."""
    typed = {param.name for param in graph.types}
    sizes = {size for size, _ in graph.sizes}
    makers = [name for node in graph.nodes for name in node.results if name != "_"]
    require(len(set(makers)) == len(makers), "a name is made twice")
    names = [node.name for node in graph.nodes]
    require(len(set(names)) == len(names), "two nodes have one name")
    for param in graph.types:
        if isinstance(param.type, ir.Array) and isinstance(param.type.size, str):
            require(param.type.size in sizes, f"the size {param.type.size} has no estimate")
    seen: set[str] = set()
    filters: set[str] = set()
    for node in graph.nodes:
        require(node.op in OPS, f"{node.op} is no operation")
        for use in node.uses:
            require(use.mode in MODES, f"{use.mode} is no mode of use")
            require(use.name in typed, f"{use.name} has no type")
            require(use.name not in makers or use.name in seen, f"{use.name} is used before the node that makes it")
        require(all(name in typed for name in node.results if name != "_"), f"a result of {node.name} has no type")
        if isinstance(node.space, Survivors):
            require(node.space.filter in filters, f"{node.name} walks survivors of no filter before it")
        seen.update(node.results)
        filters.update({node.name} if node.op in FILTERS else ())
    position = {name: k for k, name in enumerate(names)}
    for before, after in graph.order:
        require(before in position and after in position and position[before] < position[after],
                f"the order of {before} and {after} does not point forwards")
    check_relied_on(graph)
    require(set(graph.outputs) <= set(makers), "an output is made nowhere")
    for first, second in (*graph.cuts, *graph.fused):
        require(first in position and second in position and first != second,
                f"the wish of {first} and {second} is not of two nodes")


def check_relied_on(graph: Graph) -> None:
    """What stands after a mere check of the host is ordered after it."""
    before: dict[str, set[str]] = {node.name: set() for node in graph.nodes}
    for earlier, later in graph.order:
        before[later].add(earlier)
    check, behind = "", set[str]()          # the last check so far, and what is known to come no earlier
    for node in graph.nodes:
        if check:
            require(not before[node.name].isdisjoint(behind), f"{node.name} is not ordered after the check {check}")
            behind.add(node.name)
        if is_check(node):
            check, behind = node.name, {node.name}


def check_schedule(program: ir.Program, schedule: Schedule) -> None:
    """The invariants of a schedule of this program, by the certificate."""
    require(schedule.mode in SCHEDULE_MODES, f"{schedule.mode} is no mode of scheduling")
    regions = {(region.function, region.number): region for region in schedule.regions}
    require(len(regions) == len(schedule.regions), "a region has two schedules")
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
    """Does every kernel come after those whose results it uses, or computes again?"""
    home = {name: number for number, cluster in enumerate(region.clusters) for name in cluster}
    maker = {name: node.name for node in graph.nodes for name in node.results if name != "_"}
    before: dict[str, set[str]] = {node.name: {maker[use.name] for use in node.uses if use.name in maker}
                                   for node in graph.nodes}
    for earlier, later in graph.order:
        before[later].add(earlier)
    return all(home[needed] <= number for number, nodes in enumerate(kernels(region))
               for name in (*nodes[0], *nodes[1]) for needed in {*before[name], *nodes[1]})
