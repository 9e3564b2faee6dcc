"""Draws dependence graphs and their schedules: as DOT and SVG for people, as JSON for programs. A node that a kernel
computes again is drawn in that kernel too, dashed.
"""
from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from nessie.schedule.cost.profiles import CPU, Profile
from nessie.schedule.draw.boxes import Area, Points
from nessie.schedule.draw.drawing import COLOURS, ORDER, Drawing, amount, launches, title
from nessie.schedule.draw.layout import draw_region
from nessie.schedule.graph.nodes import GATHER, SCALAR, SIZE, Graph, Index, Node
from nessie.schedule.nodes import NEVER, RegionSchedule, kernels


def draw(graphs: Sequence[Graph], kind: str = "dot", mode: str = "ilp", profile: Profile = CPU) -> str:
    """Draw the graphs with the schedules of a mode, as `dot`, `svg` or `json`."""
    regions = scheduled(graphs, mode, profile)
    match kind:
        case "dot":
            return dot(graphs, regions)
        case "svg":
            from nessie.schedule.draw.svg import svg
            return svg(graphs, regions)
        case "json":
            return json_text(graphs, regions)
    raise ValueError(f"no format of graphs: {kind}")


def scheduled(graphs: Sequence[Graph], mode: str, profile: Profile) -> list[RegionSchedule]:
    """The graphs' schedules."""
    from nessie.schedule.cost.problem import Problem
    from nessie.schedule.schedule import region_schedule, solve_once
    problems = [Problem(graph, profile) for graph in graphs]
    return [region_schedule(problem, solve_once(problem, mode)) for problem in problems]


def dot(graphs: Sequence[Graph], regions: Sequence[RegionSchedule]) -> str:
    """GraphViz text: nodes in a box for each kernel, edges with the names that they carry. An edge is dashed if its
    value must be complete before, dotted if it is only an order."""
    parts = [dot_region(graph, region, f"r{number}")
             for number, (graph, region) in enumerate(zip(graphs, regions, strict=True))]
    return "digraph schedule {\n  rankdir=TB; node [shape=box, style=filled, fontname=Helvetica];\n" \
        + "".join(parts) + "}\n"


def dot_region(graph: Graph, region: RegionSchedule, prefix: str) -> str:
    nodes = {node.name: node for node in graph.nodes}
    lines = []
    for number, ((cluster, again), launch) in enumerate(zip(kernels(region), launches(graph, region.clusters),
                                                            strict=True)):
        fill = f"fillcolor={quoted(COLOURS[number % len(COLOURS)])}"
        inside = " ".join(
            [f"{quoted(prefix + name)} [label={quoted(label(nodes[name]))}, {fill}];" for name in cluster]
            + [f"{quoted(prefix + copy_name(name, number))} [label={quoted(label(nodes[name]))}, {fill}, "
               'style="filled,dashed"];' for name in again])
        lines.append(f"  subgraph {quoted(f'cluster_{prefix}_{number}')} "
                     f"{{ label={quoted(f'{graph.name} {graph.region}: {title(launch)}')}; {inside} }}\n")
    for edge in edges_between(Index(graph), region):
        style = ", style=dotted" if edge["mode"] == ORDER else \
            ", style=dashed" if edge["mode"] in (GATHER, SIZE, SCALAR) else ""
        text = f"{edge['name']} {amount(edge['bytes'])}".strip()
        lines.append(f"  {quoted(prefix + edge['from'])} -> {quoted(prefix + edge['to'])} "
                     f"[label={quoted(text)}{style}];\n")
    return "".join(lines)


def label(node: Node) -> str:
    return f"{node.name}\n{node.op}" + (f"\nby {node.by}" if node.by else "")


def quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


def copy_name(name: str, kernel: int) -> str:
    return f"{name}@{kernel + 1}"


def edges_between(index: Index, region: RegionSchedule) -> list[dict[str, Any]]:
    """The edges in the schedule: a copy uses what its node uses, and is used in its own kernel."""
    copies = [set(again) for _, again in kernels(region)]
    home = {name: number for number, cluster in enumerate(region.clusters) for name in cluster}
    found = []
    for edge in edges(index):
        ends = [(home[edge["to"]], edge["to"])] + [(number, copy_name(edge["to"], number))
                                                   for number, again in enumerate(copies) if edge["to"] in again]
        for kernel, end in ends:
            copied = edge["mode"] != ORDER and edge["from"] in copies[kernel]
            found.append({**edge, "from": copy_name(edge["from"], kernel) if copied else edge["from"], "to": end})
    return found


def edges(index: Index) -> list[dict[str, Any]]:
    """One edge for each name that a node makes and another uses, and for each order of two nodes."""
    uses = [{"from": index.nodes[index.maker[use.name]].name, "to": node.name, "name": use.name, "mode": use.mode,
             "bytes": index.bytes(use.name)}
            for node in index.nodes for use in node.uses if use.name in index.maker]
    return uses + [{"from": before, "to": after, "name": "", "mode": ORDER, "bytes": 0.0}
                   for before, after in index.graph.order]


def data(graph: Graph, region: RegionSchedule) -> dict[str, Any]:
    """A region's graph, schedule and drawing as JSON data. Lines and stems name nodes by their places in `nodes`,
    nodes name kernels by their places in `kernels`."""
    drawing = draw_region(graph, region)
    pairs = [{"first": pair.first, "second": pair.second, "verdict": pair.verdict,
              ("reason" if pair.verdict == NEVER else "rule"): pair.reason} for pair in region.pairs]
    return {"function": graph.name, "region": graph.region, "title": drawing.title, "status": region.status,
            "cost": region.cost, "bytes": region.bytes, "width": round(drawing.width, 1),
            "height": round(drawing.height, 1), "nodes": nodes_data(graph, drawing), **boxes_data(drawing),
            "edges": edges(Index(graph)), "pairs": pairs}


def nodes_data(graph: Graph, drawing: Drawing) -> list[dict[str, Any]]:
    index = Index(graph)
    found = []
    for drawn in drawing.nodes:
        node = index.nodes[index.position[drawn.name]]
        found.append({"name": node.name, "op": node.op, "kernel": drawn.kernel, "copy": drawn.copy,
                      "results": list(node.results), "lines": list(drawn.lines),
                      "inputs": [use.name for use in node.uses if use.name not in index.maker], **place(drawn.area),
                      **({"by": node.by} if node.by else {})})
    return found


def boxes_data(drawing: Drawing) -> dict[str, Any]:
    """The kernels, the arrays in memory and the lines, as JSON data."""
    return {"kernels": [{"title": kernel.title, "launch": kernel.launch, "nodes": list(kernel.nodes),
                         **place(kernel.area)} for kernel in drawing.kernels],
            "arrays": [{"name": array.name, "node": array.node, "text": array.text, "output": array.output,
                        **place(array.area), "stem": rounded(array.stem)} for array in drawing.arrays],
            "lines": [{"from": line.source, "to": line.target, "names": list(line.names), "modes": list(line.modes),
                       "memory": line.memory, "points": rounded(line.points)} for line in drawing.lines]}


def place(area: Area) -> dict[str, float]:
    return {name: round(number, 1) for name, number in vars(area).items()}


def rounded(points: Points) -> list[list[float]]:
    return [[round(x, 1), round(y, 1)] for x, y in points]


def json_text(graphs: Sequence[Graph], regions: Sequence[RegionSchedule]) -> str:
    return json.dumps([data(graph, region) for graph, region in zip(graphs, regions, strict=True)], indent=1) + "\n"
