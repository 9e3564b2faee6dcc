"""Views of dependence graphs and their schedules: DOT and SVG for people, JSON for programs."""
from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from nessie.schedule.cost import CPU, Profile
from nessie.schedule.pdg import GATHER, Graph, Index, Node
from nessie.schedule.schedule_form import NEVER, RegionSchedule

COLOURS = ("#9ecae1", "#fdd0a2", "#a1d99b", "#dadaeb", "#fbb4b9", "#d9d9d9", "#c7e9b4", "#fee391")


def draw(graphs: Sequence[Graph], kind: str = "dot", mode: str = "ilp", profile: Profile = CPU) -> str:
    """The graphs with the schedules of a mode, as `dot`, `svg` or `json`."""
    from nessie.schedule.problem import Problem
    from nessie.schedule.schedule import region_schedule, solve_once

    problems = [Problem(graph, profile) for graph in graphs]
    regions = [region_schedule(problem, solve_once(problem, mode)) for problem in problems]
    match kind:
        case "dot":
            return dot(graphs, regions)
        case "svg":
            from nessie.schedule.svg import svg
            return svg(graphs, regions)
        case "json":
            return json_text(graphs, regions)
    raise ValueError(f"no format of graphs: {kind}")


def dot(graphs: Sequence[Graph], regions: Sequence[RegionSchedule]) -> str:
    """GraphViz text: nodes in a box for each kernel, edges with what they carry; dashed where it must be
    complete, dotted where there is but an order."""
    scheduled = {(region.function, region.number): region for region in regions}
    parts = [dot_region(graph, scheduled.get((graph.name, graph.region)), f"r{number}")
             for number, graph in enumerate(graphs)]
    return "digraph schedule {\n  rankdir=TB; node [shape=box, style=filled, fontname=Helvetica];\n" \
        + "".join(parts) + "}\n"


def dot_region(graph: Graph, region: RegionSchedule | None, prefix: str) -> str:
    index = Index(graph)
    clusters = region.clusters if region else tuple((node.name,) for node in graph.nodes)
    nodes = {node.name: node for node in graph.nodes}
    lines = []
    for number, cluster in enumerate(clusters):
        colour = COLOURS[number % len(COLOURS)]
        inside = " ".join(f"{quoted(prefix + name)} [label={quoted(label(nodes[name]))}, fillcolor={quoted(colour)}];"
                          for name in cluster)
        lines.append(f"  subgraph {quoted(f'cluster_{prefix}_{number}')} "
                     f"{{ label={quoted(f'{graph.name} {graph.region}: kernel {number + 1}')}; {inside} }}\n")
    for edge in edges(index):
        style = ", style=dotted" if edge["mode"] == "order" else \
            ", style=dashed" if edge["mode"] in (GATHER, "size", "scalar") else ""
        text = f"{edge['name']} {megabytes(edge['bytes'])}".strip()
        lines.append(f"  {quoted(prefix + edge['from'])} -> {quoted(prefix + edge['to'])} "
                     f"[label={quoted(text)}{style}];\n")
    return "".join(lines)


def label(node: Node) -> str:
    return f"{node.name}\n{node.op}"


def quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


def megabytes(count: float) -> str:
    return f"{count / 1e6:.3g} MB" if count else ""


def edges(index: Index) -> list[dict[str, Any]]:
    """An edge for each name that a node makes and another uses, and for each order of two nodes."""
    uses = [{"from": index.nodes[index.maker[use.name]].name, "to": node.name, "name": use.name, "mode": use.mode,
             "bytes": index.bytes(use.name)}
            for node in index.nodes for use in node.uses if use.name in index.maker]
    return uses + [{"from": before, "to": after, "name": "", "mode": "order", "bytes": 0.0}
                   for before, after in index.graph.order]


def data(graph: Graph, region: RegionSchedule | None) -> dict[str, Any]:
    """A region's graph and schedule as JSON can hold them."""
    index = Index(graph)
    home = {name: number for number, cluster in enumerate(region.clusters) for name in cluster} if region else {}
    nodes = [{"name": node.name, "op": node.op, "kernel": home.get(node.name), "results": list(node.results),
              "inputs": [use.name for use in node.uses if use.name not in index.maker]} for node in graph.nodes]
    pairs = [{"first": pair.first, "second": pair.second, "verdict": pair.verdict,
              ("reason" if pair.verdict == NEVER else "rule"): pair.reason} for pair in region.pairs] if region else []
    return {"function": graph.name, "region": graph.region, "status": region.status if region else None,
            "cost": region.cost if region else None, "bytes": region.bytes if region else None,
            "nodes": nodes, "edges": edges(index), "pairs": pairs}


def json_text(graphs: Sequence[Graph], regions: Sequence[RegionSchedule]) -> str:
    scheduled = {(region.function, region.number): region for region in regions}
    return json.dumps([data(graph, scheduled.get((graph.name, graph.region))) for graph in graphs], indent=1) + "\n"
