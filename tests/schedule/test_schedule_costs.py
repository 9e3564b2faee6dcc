"""What schedules cost: conflicts where a greedy choice is wrong, and copies that pay."""
from __future__ import annotations

from dataclasses import replace

import pytest

from nessie.schedule.check import check_graph
from nessie.schedule.cost.problem import Candidate, Problem
from nessie.schedule.cost.profiles import CPU, Profile
from nessie.schedule.graph import text as graph_text
from nessie.schedule.legality.blocks import Refused
from nessie.schedule.solver.exact import SolverLimits, exact
from nessie.schedule.solver.greedy import greedy
from nessie.schedule.solver.solve import solve

ONE_SWEEP = Profile("one sweep", bandwidth=1.0, launch=1.4e6, sync=0.0, rescan=0.0)     # a byte a nanosecond

HEAD = """graph g 0 {{ size n = 1e6 size t = 3e6 size r = 1e6 size k = 5e5
  array x : [float; n] array y : [float; n] array e : [float; t] array z : [float; r] {} }}"""

PROGRAMS = {
    "scan then pack": (46.8, 56.2, """
        scalar s : float array c : [float; n] scalar k : int array f : [float; k] array m : [float; n]
        node s = REDUCE flat(n) (own x) -> (s)
        node c = SCAN flat(n) (own x) -> (c)
        node f = FILTER flat(n) (own c, own x) -> (k, f)
        node m = MAP flat(n) (own c, own x, scalar s) -> (m)
        outputs (f, m)"""),
    "neighbour": (35.8, 51.8, """
        array a : [float; n] array b : [float; n] array c : [float; n] array o : [bool; n]
        node a = MAP flat(n) (own x) -> (a)
        node b = MAP flat(n) (own x, own a) -> (b)
        node c = MAP flat(n) (own x, own b, gather a) -> (c)
        node o = MAP flat(n) (own c, own a) -> (o)
        outputs (o)"""),
    "late reader": (46.8, 54.8, """
        scalar q : float array p : [float; n] scalar k : int array f : [float; k] array m : [float; n]
        node q = REDUCE flat(n) (own y) -> (q)
        node p = SCAN flat(n) (own x, scalar q) -> (p)
        node f = FILTER flat(n) (own y, scalar q) -> (k, f)
        node m = MAP flat(n) (own x, own y) -> (m)
        outputs (p, f, m)"""),
    "row weights": (98.8, 106.8, """
        array a : [float; r] array w : [float; r] array b : [float; r] array u : [float; r] array i : [float; r]
        array j : [float; r]
        node a = SEG_REDUCE elements(d, r, t) (own e) -> (a)
        node w = MAP flat(r) (own i, own a) -> (w)
        node b = SEG_REDUCE elements(d, r, t) (own e, seg w) -> (b)
        node u = MAP flat(r) (own a, own j) -> (u)
        outputs (a, b, u)"""),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_costs(name: str) -> None:
    """In MB: the least cost, and greedy's."""
    least, by_greed, text = PROGRAMS[name]
    graph = graph_text.parse(HEAD.format(text))
    check_graph(graph)
    problem = Problem(graph, ONE_SWEEP)
    found = solve(problem)
    assert found.status == "optimal"
    assert round(found.cost / 1e6, 1) == least
    assert round(problem.cost(greedy(problem)).total / 1e6, 1) == by_greed
    assert abs(solve(problem, solver="cbc").cost - found.cost) < 1.0


COPIES = {
    "normalise": (36.7, 44.2, [(), (), ("d",)], """
        scalar m : float array d : [float; n] array q : [float; n] scalar v : float array o : [float; n]
        node m = REDUCE flat(n) (own x) -> (m)
        node d = MAP flat(n) (own x, scalar m) -> (d) work(1, 0)
        node q = MAP flat(n) (own d) -> (q)
        node v = REDUCE flat(n) (own q) -> (v)
        node o = MAP flat(n) (own d, scalar v) -> (o)
        outputs (o)"""),
    "row softmax": (42.2, 47.4, [(), (), ("e1",)], """
        array m : [float; u] array e1 : [float; w] array z1 : [float; u] array i : [float; u] array o : [float; w]
        array x1 : [float; w]
        node m = SEG_REDUCE elements(d, u, w) (own x1) -> (m)
        node e1 = MAP elements(d, u, w) (own x1, seg m) -> (e1) work(0, 1)
        node z1 = SEG_REDUCE elements(d, u, w) (own e1) -> (z1)
        node i = MAP flat(u) (own z1) -> (i) work(1, 0)
        node o = MAP elements(d, u, w) (own e1, seg i) -> (o)
        outputs (o)"""),
}


@pytest.mark.parametrize("name", COPIES)
@pytest.mark.parametrize("solver", ["highs", "cbc"])
def test_what_is_cheap_is_computed_again(name: str, solver: str) -> None:
    """In MB: the least cost, and the least without copies."""
    least, without, again, text = COPIES[name]
    graph = graph_text.parse(HEAD.replace("size k", "size u = 1e5 size w = 1e6 size k").format(text))
    check_graph(graph)
    assert graph_text.parse(graph_text.show(graph)) == graph
    problem = Problem(graph, replace(ONE_SWEEP, operation=0.5, function=2.0))
    found = solve(problem, solver)
    assert (found.status, round(found.cost / 1e6, 1)) == ("optimal", least)
    assert [tuple(graph.nodes[k].name for k in copies) for copies in found.again] == again
    programmed = exact(problem, problem.apart(), Candidate(problem.apart()), solver, SolverLimits())[0]
    assert programmed and round(problem.total(programmed) / 1e6, 1) == least
    alone = replace(graph, nodes=tuple(replace(node, work=None) for node in graph.nodes))
    assert round(solve(Problem(alone, ONE_SWEEP)).cost / 1e6, 1) == without


def test_nothing_is_computed_again_that_costs_more_than_memory() -> None:
    graph = graph_text.parse(HEAD.format(COPIES["normalise"][-1]))
    for operation, copies in ((7.9, True), (8.1, False)):
        assert any(solve(Problem(graph, replace(ONE_SWEEP, operation=operation))).again) == copies


SHARED_LATER = HEAD.format("""
        array a : [float; n] array b : [float; n] array c : [float; n] array v : [float; n] array w : [float; n]
        array o : [float; n] array u : [float; n]
        array d : [float; r] array f : [float; r] array g : [float; r] array h : [bool; r]
        node a = MAP flat(n) (own u, own x) -> (a)
        node c = MAP flat(n) (own a, own y, own v, own w) -> (c)
        node o = MAP flat(n) (own b, own c, own y, own v, own w) -> (o)
        node d = MAP flat(r) (own z) -> (d)
        node f = MAP flat(r) (own z, own d) -> (f)
        node g = MAP flat(r) (own z, own f, gather d) -> (g)
        node h = MAP flat(r) (own g, own d) -> (h)
        outputs (o, h)""")


def test_where_kernels_have_few_arrays_a_map_may_be_better_off_without_its_only_reader() -> None:
    """The reader of a shares more with what comes after it. In MB: 9 arrays, which would be 12 otherwise; and those of
    the neighbour above, for which greedy is wrong."""
    graph = graph_text.parse(SHARED_LATER)
    check_graph(graph)
    found = solve(Problem(graph, replace(ONE_SWEEP, arrays=6)))
    assert (found.status, round(found.cost / 1e6, 1)) == ("optimal", 9 * 8 + 2 * 1.4 + PROGRAMS["neighbour"][0])
    assert found.clusters[:2] == [[0], [1, 2]]


MANY_RESULTS = HEAD.format("""
        array a1 : [float; n] array a2 : [float; n] array a3 : [float; n] array b : [float; n] array c : [float; n]
        node a1 = MAP flat(n) (own x) -> (a1, a2, a3)
        node b = MAP flat(n) (own y, own a1) -> (b)
        node c = MAP flat(n) (own a2, own a3, own b) -> (c)
        outputs (c)
        fuse (a1, b)""")


def test_what_is_wanted_may_have_room_in_a_larger_kernel_only() -> None:
    """The two have five arrays in memory, with what uses their results three, where four may be; if these are outputs,
    six."""
    graph, profile = graph_text.parse(MANY_RESULTS), replace(ONE_SWEEP, arrays=3)
    check_graph(graph)
    problem = Problem(graph, profile)
    assert [problem.excess(kernel) for kernel in problem.blocks] == [1, 0]
    assert solve(problem).clusters == problem.apart() == [[0, 1, 2]]
    with pytest.raises(Refused) as refused:
        Problem(replace(graph, outputs=("a2", "a3", "b", "c")), profile)
    assert refused.value.pair is None


def test_small_sizes_are_all_launches_and_large_ones_all_bytes() -> None:
    """To read three arrays twice for a scan may be more than to read the one made of them, twice; not for few."""
    text = HEAD.format("""
        array a : [float; n] array c : [float; n] array v : [float; n]
        node a = MAP flat(n) (own x, own y, own v) -> (a)
        node c = SCAN flat(n) (own a) -> (c)
        outputs (a, c)""")
    for size, kernels in ((1e3, 1), (1e7, 2)):
        graph = replace(graph_text.parse(text), sizes=(("n", size), ("t", 1.0), ("r", 1.0), ("k", 1.0)))
        assert len(solve(Problem(graph, CPU)).clusters) == kernels
