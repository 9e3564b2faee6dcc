"""Dependence graphs as SVG: kernels one below another in the order of their launches, their nodes side by side."""
from __future__ import annotations

from collections.abc import Sequence
from html import escape

from nessie.schedule.pdg import Graph, Index
from nessie.schedule.schedule_form import RegionSchedule
from nessie.schedule.view import COLOURS, edges, megabytes

WIDTH, HEIGHT, GAP, MARGIN = 150, 44, 24, 16
ROW = HEIGHT + 2 * GAP + 20


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
        (x, y), (u, v) = place[edge["from"]], place[edge["to"]]
        ends = (x + WIDTH, y + HEIGHT // 2, u, v + HEIGHT // 2) if y == v else \
            (x + WIDTH // 2, y + HEIGHT, u + WIDTH // 2, v)
        text = escape(f"{edge['name']}: {edge['mode']} {megabytes(edge['bytes'])}".strip())
        parts.append(f'<path d="M{ends[0]},{ends[1]} L{ends[2]},{ends[3]}" stroke="#555" fill="none" '
                     f'marker-end="url(#arrow)"><title>{text}</title></path>')
    for name, (x, y) in place.items():
        parts.append(f'<rect x="{x}" y="{y}" width="{WIDTH}" height="{HEIGHT}" rx="4" fill="white" stroke="#555"/>'
                     f'<text x="{x + WIDTH // 2}" y="{y + 19}" text-anchor="middle">{escape(name)}</text>'
                     f'<text x="{x + WIDTH // 2}" y="{y + 35}" text-anchor="middle" fill="#777">{ops[name]}</text>')
    width = max((len(cluster) for cluster in region.clusters), default=0) * (WIDTH + GAP) + GAP
    return parts, 24 + len(region.clusters) * ROW, width
