"""Dependence graphs as SVG: kernels one below another in the order of their launches, their nodes side by side."""
from __future__ import annotations

from collections.abc import Sequence
from html import escape

from nessie.schedule.pdg import Graph, Index
from nessie.schedule.schedule_form import RegionSchedule
from nessie.schedule.view import COLOURS, edges, megabytes

WIDTH, HEIGHT, GAP, MARGIN = 150, 44, 24, 16
ROW = HEIGHT + 2 * GAP + 20
BEND = 56                       # how far an edge leaves the column to pass the rows between its ends
LETTER = 7                      # the width of one, about


def svg(graphs: Sequence[Graph], regions: Sequence[RegionSchedule]) -> str:
    """One drawing of all regions, one below another."""
    parts: list[str] = []
    top, width = MARGIN, 0
    for graph, region in zip(graphs, regions, strict=True):
        drawn, height, wide = svg_region(graph, region, top)
        parts += drawn
        top, width = top + height + GAP, max(width, wide)
    head = f'<svg xmlns="http://www.w3.org/2000/svg" width="{width + 2 * MARGIN}" height="{top + MARGIN}" ' \
           'font-family="Helvetica, sans-serif" font-size="12">\n' \
           '<defs><marker id="arrow" markerWidth="8" markerHeight="8" refX="7" refY="3" orient="auto">' \
           '<path d="M0,0 L7,3 L0,6 z" fill="#555"/></marker></defs>\n'
    return head + "".join(f"{part}\n" for part in parts) + "</svg>\n"


def svg_region(graph: Graph, region: RegionSchedule, top: int) -> tuple[list[str], int, int]:
    """The region's drawing, its height and its width."""
    ops = {node.name: node.op for node in graph.nodes}
    place = {name: (MARGIN + GAP + column * (WIDTH + GAP), top + 40 + row * ROW)
             for row, cluster in enumerate(region.clusters) for column, name in enumerate(cluster)}
    title = f"{graph.name}, region {graph.region}: {len(region.clusters)} kernels, {region.status}"
    parts = [f'<text x="{MARGIN}" y="{top + 12}" font-weight="bold">{escape(title)}</text>']
    for row, cluster in enumerate(region.clusters):
        parts.append(f'<rect x="{MARGIN}" y="{top + 24 + row * ROW}" width="{len(cluster) * (WIDTH + GAP) + GAP}" '
                     f'height="{HEIGHT + 32}" rx="8" fill="{COLOURS[row % len(COLOURS)]}" fill-opacity="0.4"/>')
    for edge in edges(Index(graph)):
        start, end = place[edge["from"]], place[edge["to"]]
        path, (x, y) = path_between(start, end)
        text = escape(f"{edge['name']}: {edge['mode']} {megabytes(edge['bytes'])}".strip(": "))
        dotted = ' stroke-dasharray="2,3"' if edge["mode"] == "order" else ""
        parts.append(f'<path d="{path}" stroke="#555"{dotted} fill="none" marker-end="url(#arrow)">'
                     f'<title>{text}</title></path>')
        if edge["bytes"] and start[1] != end[1]:        # within a kernel nothing goes through memory
            parts.append(f'<text x="{x}" y="{y}" font-size="10" fill="#555">{megabytes(edge["bytes"])}</text>')
    for name, (x, y) in place.items():
        parts.append(f'<rect x="{x}" y="{y}" width="{WIDTH}" height="{HEIGHT}" rx="4" fill="white" stroke="#555"/>'
                     f'<text x="{x + WIDTH // 2}" y="{y + 19}" text-anchor="middle">{escape(name)}</text>'
                     f'<text x="{x + WIDTH // 2}" y="{y + 35}" text-anchor="middle" fill="#777">{ops[name]}</text>')
    columns = max((len(cluster) for cluster in region.clusters), default=0)
    return parts, 24 + len(region.clusters) * ROW, max(columns * (WIDTH + GAP) + GAP + BEND, LETTER * len(title))


def path_between(start: tuple[int, int], end: tuple[int, int]) -> tuple[str, tuple[int, int]]:
    """From the node at `start` to the one at `end`, and where its label goes: straight to a neighbour, around the rows
    in between to others."""
    (x, y), (u, v) = start, end
    if y == v:
        return f"M{x + WIDTH},{y + HEIGHT // 2} L{u},{v + HEIGHT // 2}", (x + WIDTH + 2, y + HEIGHT // 2 - 4)
    if abs(v - y) == ROW:
        a, b = x + WIDTH // 2, u + WIDTH // 2
        return f"M{a},{y + HEIGHT} L{b},{v}", ((a + b) // 2 + 4, (y + HEIGHT + v) // 2)
    a, b, side = x + WIDTH, u + WIDTH, max(x, u) + WIDTH + BEND
    middle = y + HEIGHT // 2, v + HEIGHT // 2
    return (f"M{a},{middle[0]} C{side},{middle[0]} {side},{middle[1]} {b},{middle[1]}",
            (side - BEND // 4 + 2, sum(middle) // 2))
