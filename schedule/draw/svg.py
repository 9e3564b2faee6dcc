"""Writes dependence graphs and their schedules as SVG, one region below another, as schedule.draw.layout lays them
out."""
from __future__ import annotations

from collections.abc import Sequence
from html import escape

from nessie.schedule.draw.boxes import Area, Points
from nessie.schedule.draw.drawing import COLOURS, LETTER, ORDER, Drawing, DrawnArray, DrawnKernel, DrawnNode, Line
from nessie.schedule.draw.layout import draw_region
from nessie.schedule.graph.nodes import GATHER, Graph
from nessie.schedule.nodes import RegionSchedule

MARGIN, HEADING, LEGEND = 16.0, 26.0, 22.0
INSIDE, MEMORY = "#555", "#1f5fa8"      # lines within a kernel, and between them
STYLE = f"""<style>
text {{ font: 12px Helvetica, Arial, sans-serif; fill: #222 }} .small {{ font-size: 11px; fill: #555 }}
.heading {{ font-weight: bold }} .array text {{ font-size: 11px; fill: {MEMORY} }}
.node rect {{ fill: #fff; stroke: #555 }} .copy rect {{ stroke-dasharray: 4,3 }} .kernel rect {{ fill-opacity: .45 }}
.array rect {{ fill: #fff; stroke: {MEMORY} }} .output rect {{ stroke-width: 2.5 }}
.line {{ fill: none; stroke: {INSIDE}; stroke-width: 1.2 }} .memory {{ stroke: {MEMORY}; stroke-width: 1.6 }}
.gather {{ stroke-dasharray: 6,3 }} .order {{ stroke: #999; stroke-dasharray: 1.5,3 }}
</style>
<defs><marker id="tip" markerWidth="8" markerHeight="8" refX="7" refY="3" orient="auto"><path d="M0,0 L7,3 L0,6 z" \
fill="{INSIDE}"/></marker><marker id="memory-tip" markerUnits="userSpaceOnUse" markerWidth="10" markerHeight="10" \
refX="8" refY="4" orient="auto"><path d="M0,0 L9,4 L0,8 z" fill="{MEMORY}"/></marker></defs>
"""


def svg(graphs: Sequence[Graph], regions: Sequence[RegionSchedule]) -> str:
    """Draw all regions in one picture."""
    drawings = [draw_region(graph, region) for graph, region in zip(graphs, regions, strict=True)]
    parts: list[str] = []
    top = MARGIN
    for drawing in drawings:
        parts.append(text(drawing.title, MARGIN, top + 12, "heading"))
        parts += [f'<g transform="translate({MARGIN:g},{top + HEADING:g})">', *shapes(drawing), "</g>"]
        top += HEADING + drawing.height + 2 * MARGIN
    width = max([2 * MARGIN + ITEM * len(LEGENDS), *(2 * MARGIN + max(drawing.width, LETTER * len(drawing.title))
                                              for drawing in drawings)])
    height = top + LEGEND
    return f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" ' \
           f'height="{height:.0f}">\n{STYLE}<rect width="100%" height="100%" fill="#fff"/>\n' \
           + "".join(f"{part}\n" for part in [*parts, *legend(top)]) + "</svg>\n"


def shapes(drawing: Drawing) -> list[str]:
    """The shapes in drawing order: kernels' boxes, lines, then nodes and arrays with their texts."""
    return [*(kernel_shape(kernel, COLOURS[number % len(COLOURS)]) for number, kernel in enumerate(drawing.kernels)),
            *(f'<path class="line memory" d="{curve(array.stem)}"/>' for array in drawing.arrays if array.stem),
            *(line_shape(line) for line in drawing.lines),
            *map(node_shape, drawing.nodes), *map(array_shape, drawing.arrays)]


def kernel_shape(kernel: DrawnKernel, colour: str) -> str:
    area = kernel.area
    return f'<g class="kernel">{box(area, 8, colour)}{text(kernel.title, area.x + 10, area.y + 20, "small")}</g>'


def node_shape(node: DrawnNode) -> str:
    area, kind = node.area, "node copy" if node.copy else "node"
    walked = f", walked by {node.by}" if node.by else ""
    return f'<g class="{kind}"><title>{escape(node.name + walked)}</title>{box(area, 4)}' \
           f'{centred(node.lines[0], area, 17)}{centred(node.lines[1], area, 32, "small")}</g>'


def array_shape(array: DrawnArray) -> str:
    kind = "array output" if array.output else "array"
    return f'<g class="{kind}"><title>{escape(array.name)}</title>{box(array.area, 9)}' \
           f'{centred(array.text, array.area, 13)}</g>'


def box(area: Area, corner: int, colour: str = "") -> str:
    fill = f' fill="{colour}"' if colour else ""
    return f'<rect x="{area.x:.1f}" y="{area.y:.1f}" width="{area.width:.1f}" height="{area.height:.1f}" ' \
           f'rx="{corner}"{fill}/>'


def text(words: str, x: float, y: float, kind: str = "", more: str = "") -> str:
    kinds = f' class="{kind}"' if kind else ""
    return f'<text{kinds} x="{x:.1f}" y="{y:.1f}"{more}>{escape(words)}</text>'


def centred(words: str, area: Area, down: float, kind: str = "") -> str:
    return text(words, area.x + area.width / 2, area.y + down, kind, ' text-anchor="middle"')


def line_shape(line: Line) -> str:
    kinds = ["line", *(["memory"] if line.memory else []), *(["gather"] if GATHER in line.modes else []),
             *(["order"] if line.modes == (ORDER,) else [])]
    tip = "memory-tip" if line.memory and line.modes != (ORDER,) else "tip"
    return f'<path class="{" ".join(kinds)}" d="{curve(line.points)}" marker-end="url(#{tip})"><title>' \
           f'{escape(", ".join(line.names))}: {", ".join(line.modes)}</title></path>'


def curve(points: Points) -> str:
    """The path through the points: straight down, with bends to the next point beside."""
    (x, y), *rest = points
    parts = [f"M{x:.1f},{y:.1f}"]
    for u, v in rest:
        if abs(u - x) < 0.5:
            parts.append(f"L{u:.1f},{v:.1f}")
        else:
            middle = (y + v) / 2
            parts.append(f"C{x:.1f},{middle:.1f} {u:.1f},{middle:.1f} {u:.1f},{v:.1f}")
        x, y = u, v
    return " ".join(parts)


LEGENDS = (("line", "inside a kernel"), ("line memory", "through memory"), ("line memory gather", "gathered"),
           ("line order", "order only"))
ITEM = 140.0                            # the width of one entry


def legend(top: float) -> list[str]:
    return [f'<path class="{kind}" d="M{MARGIN + ITEM * n:g},{top:g} h30"/>'
            f'{text(words, MARGIN + ITEM * n + 36, top + 4, "small")}' for n, (kind, words) in enumerate(LEGENDS)]
