"""Each invariant of graphs and of schedules is checked, and named where it does not hold."""
from __future__ import annotations

from dataclasses import replace
from types import ModuleType

import pytest
from test_schedule import NORM2, NORMALISED

from nessie.base.source import IllFormed
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu.text.parser import parse
from nessie.schedule import nodes as schedule_form
from nessie.schedule import text as schedule_text
from nessie.schedule.check import check_graph, check_schedule
from nessie.schedule.graph import nodes as pdg
from nessie.schedule.graph import text as graph_text
from nessie.schedule.graph.graph import graph as graphs
from nessie.schedule.graph.nodes import HOST, Graph, Node, Unit
from nessie.schedule.schedule import schedule


def norm2_graph() -> Graph:
    [graph] = graphs(parse(NORM2))
    check_graph(graph)
    return graph


def broken(graph: Graph, message: str) -> None:
    with pytest.raises(IllFormed, match=message):
        check_graph(graph)


def test_each_invariant_of_graphs_is_named() -> None:
    graph = norm2_graph()
    first, *rest = graph.nodes
    broken(replace(graph, nodes=(*graph.nodes, replace(first, name="other"))), "made twice")
    broken(replace(graph, nodes=(*graph.nodes, replace(first, results=("_",)))), "one name")
    broken(replace(graph, nodes=(*rest, first)), "used before")
    broken(replace(graph, types=graph.types[1:]), "has no type")
    broken(replace(graph, sizes=()), "no estimate")
    broken(replace(graph, nodes=(replace(first, op="FOLD"), *rest)), "no operation")
    broken(replace(graph, order=(("res1", "sum1"),)), "forwards")
    broken(replace(graph, outputs=("nothing",)), "made nowhere")
    lost = next(k for k, node in enumerate(graph.nodes) if node.name == "sum2")
    nodes = list(graph.nodes)
    nodes[lost] = replace(nodes[lost], space=replace(nodes[lost].space, filter="sum1"))
    broken(replace(graph, nodes=tuple(nodes)), "survivors of no filter")


ROWS = """graph rows 0 {{
  size n = 10.0 size t = 40.0 size k = 20.0
  array e : [float; t] array z : [float; n] scalar k : int array g : [float; k] array o : [int; n+1] array h : [{}]
  node g = {} -> (k, g, o)
  node h = {} -> (h)
  outputs (h)
}}"""
FILTERED = "SEG_FILTER elements(d, n, t) (own e)"


@pytest.mark.parametrize(("filtered", "walker", "message"), [
    (FILTERED, "SEG_REDUCE survivors(g, k, n) (member k, member o, own g)", None),
    (FILTERED, "MAP survivors(g, k) (member k, own g)", None),
    (FILTERED, "SEG_REDUCE survivors(g, k, t) (member k, member o, own g)", "h walks segments that g does not leave"),
    ("FILTER flat(t) (own e)", "SEG_SCAN survivors(g, k, n) (member k, own g)",
     "h walks segments that g does not leave"),
    (FILTERED, "SEG_REDUCE survivors(g, k) (member k, member o, own g)", "h walks no segments"),
    (FILTERED, "MAP survivors(g, k) (member k, own g, seg z)", "h walks no segments"),
    (FILTERED, "MAP flat(t) (own e) place", "h walks no segments"),
])
def test_segments_are_walked_where_there_are_some(filtered: str, walker: str, message: str | None) -> None:
    shape = "float; n" if "SEG_REDUCE" in walker else "float; k"
    graph = graph_text.parse(ROWS.format(shape, filtered, walker.replace(" place", "")).replace(
        "-> (h)", "-> (h) place" if "place" in walker else "-> (h)"))
    assert graph_text.parse(graph_text.show(graph)) == graph
    if message:
        broken(graph, message)
    else:
        check_graph(graph)


def test_what_stands_after_a_check_of_the_host_is_ordered_after_it() -> None:
    graph = norm2_graph()
    check = Node("_unused1", HOST, Unit(), (), ("_unused1",), fails=True)
    checked = replace(graph, nodes=(graph.nodes[0], check, *graph.nodes[1:]),
                      types=(*graph.types, ir.Param(check.name, "int")))
    after = [node.name for node in graph.nodes[1:]]
    order = tuple(zip([check.name, *after], after))
    check_graph(replace(checked, order=order))
    for edge in order:
        others = tuple([other for other in order if other != edge])
        broken(replace(checked, order=others), "not ordered after the check")


@pytest.mark.parametrize(("clusters", "message"), [
    ((("sum1", "res1"), ("gts",), ("sum2",), ("res2",)), "one walk cannot compute sum1, res1"),
    ((("sum1",), ("gts",), ("sum2",), ("res1",)), "every node once"),
    ((("res1", "res2"), ("sum1", "gts", "sum2")), "needs what a later one makes"),
    ((("sum1", "sum2"), ("gts",), ("res1",), ("res2",)), "one walk cannot compute"),
    ((("sum1", "res2"), ("gts", "sum2", "res1")), "wait for each other"),
    ((("sum1",), ("gts",), ("sum2",), ("res1",), ("res2",), ("more",)), "unknown nodes"),
])
def test_each_invariant_of_schedules_is_named(clusters: tuple[tuple[str, ...], ...], message: str) -> None:
    program = parse(NORM2)
    found = schedule(program)
    wrong = replace(found, regions=(replace(found.regions[0], clusters=clusters),))
    with pytest.raises(IllFormed, match=message):
        check_schedule(program, wrong)


@pytest.mark.parametrize(("again", "message"), [
    ((("ds",), (), (), (), ()), "one walk cannot compute mean, ds"),
    (((), (), ("var",), (), ()), "var cannot be computed again"),
    (((), ("ds",), (), (), ()), "computes a node twice"),
    (((), ("more",), (), (), ()), "unknown nodes"),
    (((), ("ds",), ()), "not told of every kernel"),
    ((("quo",), (), (), (), ()), "wait for each other"),
])
def test_each_invariant_of_what_is_computed_again_is_named(again: tuple[tuple[str, ...], ...], message: str) -> None:
    program = parse(NORMALISED)
    found = schedule(program, "none")
    wrong = replace(found, regions=(replace(found.regions[0], again=again),))
    with pytest.raises(IllFormed, match=message):
        check_schedule(program, wrong)


def example(module: ModuleType) -> str:
    """The text in the module's header: what is indented by four."""
    lines = (module.__doc__ or "").split("\n")
    first = next(k for k, line in enumerate(lines) if line.endswith("{"))
    last = lines.index("    }", first)
    return "".join(line.removeprefix("    ") + "\n" for line in lines[first:last + 1])


def test_the_examples_in_headers_are_right() -> None:
    graph = graph_text.parse(example(pdg))
    check_graph(graph)
    assert graph_text.show(graph) == example(pdg)
    found = schedule_text.parse(example(schedule_form))
    check_schedule(parse(NORM2), found)
    assert schedule_text.show(found) == example(schedule_form)
    assert set(found.regions[0].pairs) < set(schedule(parse(NORM2)).regions[0].pairs)
