"""Graphs and schedules as drawings, dot and JSON."""
from __future__ import annotations

import json
from dataclasses import replace

from test_schedule import NORM2
from test_schedule_costs import COPIES, HEAD, ONE_SWEEP
from test_schedule_invariants import example

from nessie.lambda_cu.text.parser import parse
from nessie.schedule.draw import view
from nessie.schedule.graph import nodes as pdg
from nessie.schedule.graph import text as graph_text
from nessie.schedule.graph.graph import graph as graphs
from nessie.schedule.graph.nodes import Index
from nessie.schedule.schedule import schedule


def test_views() -> None:
    program = parse(NORM2)
    drawn, found = graphs(program), schedule(program)
    assert view.draw(drawn) == view.dot(drawn, found.regions)
    assert view.draw(drawn, "svg").count('class="node"') == 5
    text = view.dot(drawn, found.regions)
    assert text.count("subgraph") == 2 and '"r0gts" -> "r0sum2"' in text
    assert '"verdict": "never"' in view.json_text(drawn, found.regions)
    assert {(edge["from"], edge["to"]) for edge in view.edges(Index(drawn[0]))} == {
        ("sum1", "res1"), ("gts", "sum2"), ("sum2", "res2")}


def test_views_show_what_is_computed_again() -> None:
    graph = graph_text.parse(HEAD.format(COPIES["normalise"][-1]))
    costs = replace(ONE_SWEEP, operation=0.5)
    dot = view.draw([graph], profile=costs)
    assert '"r0d@3" -> "r0o"' in dot and '"r0d" -> "r0o"' not in dot
    assert '"r0m" -> "r0d@3"' in dot and dot.count('style="filled,dashed"') == 1
    svg = view.draw([graph], "svg", profile=costs)
    assert svg.count('class="node copy"') == 1
    [shown] = json.loads(view.draw([graph], "json", profile=costs))
    assert [(node["name"], node["kernel"]) for node in shown["nodes"] if node["copy"]] == [("d", 2)]


def test_views_show_order() -> None:
    graph = graph_text.parse(example(pdg))
    assert view.draw([graph]).count("style=dotted") == 1
    drawn = [view.draw([graph], "svg", mode).count('class="line memory order"') for mode in ("none", "ilp")]
    assert drawn == [1, 0]                      # within a kernel it is the kernel's own matter
    assert view.draw([graph], "json").count('"mode": "order"') == 1
