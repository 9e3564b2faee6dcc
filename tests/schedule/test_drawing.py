"""Drawings of dependence graphs: nothing overlaps, nothing is missing, lines keep clear of boxes."""
from __future__ import annotations

import json
import random
from dataclasses import replace
from itertools import combinations
from xml.etree import ElementTree

import pytest
from schedule_programs import random_program
from test_schedule import NORM2

from nessie.lambda_cu.text.parser import parse
from nessie.schedule.draw import layers as layered
from nessie.schedule.draw import view
from nessie.schedule.draw.boxes import Area
from nessie.schedule.draw.drawing import LETTER, SHOWN, Drawing, amount, cut
from nessie.schedule.draw.layout import draw_region
from nessie.schedule.draw.svg import curve, svg
from nessie.schedule.graph import text as graph_text
from nessie.schedule.graph.graph import graph as graphs
from nessie.schedule.graph.nodes import Graph
from nessie.schedule.nodes import RegionSchedule
from nessie.schedule.schedule import schedule

SVG = "{http://www.w3.org/2000/svg}"


def drawn(seed: int, steps: int, mode: str) -> list[tuple[Graph, RegionSchedule, Drawing]]:
    program = random_program(seed, steps)
    regions = schedule(program, mode).regions
    return [(graph, region, draw_region(graph, region)) for graph, region in zip(graphs(program), regions, strict=True)]


def apart(one: Area, other: Area) -> bool:
    return one.x + one.width <= other.x or other.x + other.width <= one.x or one.bottom <= other.y \
        or other.bottom <= one.y


def holds(outer: Area, inner: Area) -> bool:
    return outer.x <= inner.x and outer.y <= inner.y and inner.x + inner.width <= outer.x + outer.width \
        and inner.bottom <= outer.bottom


def on_curve(points: tuple[tuple[float, float], ...]) -> list[tuple[float, float]]:
    """Some of what the path goes through, as svg.curve draws it."""
    found = []
    for (x, y), (u, v) in zip(points, points[1:]):
        for t in (0.02, 0.25, 0.5, 0.75, 0.98):
            a, b, c, d = (1 - t) ** 3, 3 * t * (1 - t) ** 2, 3 * t * t * (1 - t), t ** 3
            found.append(((a + b) * x + (c + d) * u, a * y + (b + c) * (y + v) / 2 + d * v))
    return found


def check(graph: Graph, region: RegionSchedule, drawing: Drawing) -> None:
    assert [kernel.nodes for kernel in drawing.kernels] == list(region.clusters)
    boxes = [*(node.area for node in drawing.nodes), *(array.area for array in drawing.arrays)]
    assert all(apart(one, other) for one, other in combinations(boxes, 2))
    assert all(apart(one.area, other.area) for one, other in combinations(drawing.kernels, 2))
    for node in drawing.nodes:
        assert holds(drawing.kernels[node.kernel].area, node.area)
        assert max(map(len, node.lines)) * LETTER <= node.area.width
    for kernel in drawing.kernels:
        assert all(apart(kernel.area, array.area) for array in drawing.arrays)
        assert holds(Area(0, 0, drawing.width, drawing.height), kernel.area)
    for line in drawing.lines:
        target = drawing.nodes[line.target]
        assert line.points[-1][1] == pytest.approx(target.area.y)
        others = [box for box in boxes if box is not target.area and not (
            line.source is not None and box is drawing.nodes[line.source].area)]
        assert not any(box.x < x < box.x + box.width and box.y < y < box.bottom
                       for x, y in on_curve(line.points) for box in others), (line, target.name)


@pytest.mark.parametrize("mode", ["none", "greedy"])
@pytest.mark.parametrize("seed", range(12))
def test_nothing_overlaps(seed: int, mode: str) -> None:
    for graph, region, drawing in drawn(seed, random.Random(seed).randint(2, 40), mode):
        check(graph, region, drawing)


def test_large_graphs() -> None:
    made = drawn(3, 270, "greedy")
    assert sum(len(graph.nodes) for graph, _, _ in made) > 270
    for graph, region, drawing in made:
        check(graph, region, drawing)
        assert drawing.width < 4000


@pytest.mark.parametrize("seed", range(6))
def test_every_use_is_drawn_once(seed: int) -> None:
    for graph, _, drawing in drawn(seed, 25, "greedy"):
        makers = {name: node.name for node in graph.nodes for name in node.results}
        sized = {param.name for param in graph.types if not isinstance(param.type, str)}
        wanted = {(makers.get(use.name), node.name, use.name) for node in graph.nodes for use in node.uses
                  if use.name in makers or use.name in sized}
        names = [node.name for node in drawing.nodes]
        found = [(None if line.source is None else names[line.source], names[line.target], name)
                 for line in drawing.lines for name in line.names]
        assert len(found) == len(set(found)) and set(found) == wanted
        home = {node.name: node.kernel for node in drawing.nodes}
        orders = {(names[line.source], names[line.target]) for line in drawing.lines
                  if line.source is not None and "order" in line.modes}
        assert orders == {(a, b) for a, b in graph.order if home[a] != home[b]}
        through = {array.name for array in drawing.arrays if array.node is not None}
        assert through == {name for source, target, name in wanted if source and home[source] != home[target]} \
            | set(graph.outputs)


def test_copies_stay_in_their_kernels() -> None:
    [graph], [region] = graphs(parse(NORM2)), schedule(parse(NORM2), "none").regions
    names = [node.name for node in graph.nodes]
    sum1, gts, sum2, *rest = names
    twice = replace(region, clusters=((sum1, gts), (gts, sum2), tuple(rest)))
    drawing = draw_region(graph, twice)
    check(graph, twice, drawing)
    assert [(node.name, node.kernel) for node in drawing.nodes if node.copy] == [(gts, 1)]
    assert not any(array.name == gts for array in drawing.arrays)
    assert 'class="node copy"' in svg([graph], [twice])


def test_long_names_are_cut() -> None:
    name = "a_name_that_is_too_long_for_a_box_17"
    graph = graph_text.parse(f"""graph g 0 {{ size n = 1e6 array {name} : [float; n] array b : [float; n]
      node {name} = MAP flat(n) () -> ({name}) node b = MAP flat(n) (own {name}) -> (b) outputs (b) }}""")
    [region] = view.scheduled([graph], "none", view.CPU)
    drawing = draw_region(graph, region)
    assert drawing.nodes[0].lines[0] == "a_name_that\N{HORIZONTAL ELLIPSIS}r_a_box_17"
    assert len(drawing.nodes[0].lines[0]) == SHOWN and drawing.nodes[0].area.width < 200
    assert f"<title>{name}</title>" in svg([graph], [region])
    assert cut("short") == "short"


def test_amounts() -> None:
    assert [amount(n) for n in (0, 16.0, 4096.0, 8e6, 1.5e9)] == ["", "16 B", "4.096 kB", "8 MB", "1.5 GB"]


def test_svg_is_well_formed_and_whole() -> None:
    for graph, region, drawing in drawn(5, 20, "greedy"):
        root = ElementTree.fromstring(svg([graph], [region]))
        groups = [group.get("class", "").split()[0] for group in root.iter(f"{SVG}g") if group.get("class")]
        assert groups.count("node") == len(graph.nodes) and groups.count("kernel") == len(region.clusters)
        assert groups.count("array") == len(drawing.arrays)
        lines = [path for path in root.iter(f"{SVG}path") if path.get("marker-end")]
        assert len(lines) == len(drawing.lines)


def test_json_has_places() -> None:
    [graph], [region] = graphs(parse(NORM2)), schedule(parse(NORM2)).regions
    [data] = json.loads(view.json_text([graph], [region]))
    drawing = draw_region(graph, region)
    assert [(node["name"], node["x"], node["kernel"]) for node in data["nodes"]] == [
        (node.name, round(node.area.x, 1), node.kernel) for node in drawing.nodes]
    assert [kernel["title"] for kernel in data["kernels"]] == ["kernel 1", "kernel 2"]
    assert [line["memory"] for line in data["lines"]] == [line.memory for line in drawing.lines]
    assert {edge["bytes"] for edge in data["edges"]} == {0.0, 4e6}


def test_lines_that_need_not_cross_do_not() -> None:
    boxes = [layered.Box(50.0, 10.0, layer) for layer in range(4) for _ in range(5)]
    order = random.Random(1).sample(range(5), 5)
    nets = [layered.Net(layered.Port(k, 25.0), (layered.Port(5 + order[k], 25.0), layered.Port(15 + order[k], 25.0)))
            for k in range(5)]
    drawing = layered.layered(boxes, nets, 20.0)
    for one, other in combinations(range(5), 2):
        left = drawing.places[one][0] < drawing.places[other][0]
        for layer in (5, 15):
            assert left == (drawing.places[layer + order[one]][0] < drawing.places[layer + order[other]][0])


@pytest.mark.parametrize("seed", range(20))
def test_items_are_as_near_as_the_order_allows(seed: int) -> None:
    """No item, nor any run of neighbours that touch, could move and be better."""
    rng = random.Random(seed)
    layer = [layered.Item(rng.uniform(0, 30), line=rng.random() < 0.3) for _ in range(6)]
    wanted, weights = [rng.uniform(0, 200) for _ in layer], [rng.uniform(0.5, 3) for _ in layer]
    layered.place_items(layer, wanted, weights)

    def gap(k: int) -> float:
        need = layered.BESIDE_LINE if layer[k].line or layer[k + 1].line else layered.BETWEEN
        return layer[k + 1].x - layer[k].x - layer[k].width - need

    assert all(gap(k) > -1e-6 for k in range(5))
    for first in range(6):
        for last in range(first, 6):
            pull = sum(w * (to - item.x) for w, to, item in list(zip(weights, wanted, layer))[first:last + 1])
            assert pull < 1e-6 or (last < 5 and gap(last) < 1e-6)
            assert pull > -1e-6 or (first > 0 and gap(first - 1) < 1e-6)


def test_curves_go_straight_down_where_they_can() -> None:
    assert curve(((1.0, 2.0), (1.0, 5.0), (9.0, 11.0))) == "M1.0,2.0 L1.0,5.0 C1.0,8.0 9.0,8.0 9.0,11.0"
