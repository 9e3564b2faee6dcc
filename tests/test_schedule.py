"""The schedule of known programs: the paper's examples, conflicts where a greedy choice is wrong, the verdict table."""
from __future__ import annotations

import json
from dataclasses import replace
from types import ModuleType

import numpy as np
import pytest

from nessie.base.source import IllFormed, NessieError
from nessie.base.values import Flat
from nessie.cudagen.walk import walk_of
from nessie.lambda_cu import ir
from nessie.lambda_cu.check import check
from nessie.lambda_cu.parser import parse
from nessie.lambda_cu.reference import execute
from nessie.schedule import graph_text, pdg, schedule_form, schedule_text, view
from nessie.schedule.check import check_graph, check_schedule
from nessie.schedule.fuse import fuse
from nessie.schedule.fusible import Fusible
from nessie.schedule.greedy import greedy
from nessie.schedule.pdg import HOST, Graph, Index, Node, Unit
from nessie.schedule.problem import Plan, Problem
from nessie.schedule.profiles import CPU, Profile
from nessie.schedule.regions import LONGEST
from nessie.schedule.schedule import graphs, schedule
from nessie.schedule.sharing import rule
from nessie.schedule.solve import Limits, exact, solve

ONE_SWEEP = Profile("one sweep", bandwidth=1.0, launch=1.4e6, sync=0.0, rescan=0.0)     # a byte a nanosecond

KERNELS = """
kernel Sum (n : int, xs : [float; n]) -> float {
  let z = REDUCE { i => xs[i] using xs } (0.0) { (x, y) => x + y } (n)
  return z
}
kernel Positive (n : int, xs : [float; n]) {
  let (k, ys) = FILTER { i => xs[i] using xs } { i => xs[i] > 0.0 using xs } (n)
  return (k, ys)
}
kernel Divide (n : int, xs : [float; n], s : float) {
  let zs = MAP { i => xs[i] / s using xs, s } (n)
  return zs
}
kernel Square (n : int, xs : [float; n]) {
  let zs = MAP { i => xs[i] * xs[i] using xs } (n)
  return zs
}
kernel Product (n : int, m : int, xs : [float; n], ys : [float; m]) {
  let zs = MAP { i => xs[i] * ys[i] using xs, ys } (n)
  return zs
}
"""

NORM2 = KERNELS + """
function norm2 (n : int, xs : [float; n]) -> (n1 : int, res1 : [float; n1], n2 : int, res2 : [float; n2]) {
  let sum1 : float = run Sum (n, xs)
  let (k : int, gts : [float; k]) = run Positive (n, xs)
  let sum2 : float = run Sum (k, gts)
  let res1 : [float; n] = run Divide (n, xs, sum1)
  let res2 : [float; n] = run Divide (n, xs, sum2)
  return (n, res1, n, res2)
}
entry norm2 : [float] -> ([float], [float])
"""

SQUARES = KERNELS + """
function squares (n : int, xs : [float; n]) -> (m : int, out : [float; m]) {
  let total : float = run Sum (n, xs)
  let sq : [float; n] = run Square (n, xs)
  let quo : [float; n] = run Divide (n, sq, total)
  return (n, quo)
}
entry squares : [float] -> [float]
"""

DOTP = KERNELS + """
function dotp (n : int, xs : [float; n], m : int, ys : [float; m]) -> (out : float) {
  let prod : [float; n] = run Product (n, m, xs, ys)
  let total : float = run Sum (n, prod)
  return total
}
entry dotp : ([float], [float]) -> float
"""

RANKED = """
kernel Positive (n : int, xs : [int; n]) {
  let (k, ys) = FILTER { i => xs[i] using xs } { i => xs[i] > 0 using xs } (n)
  return (k, ys)
}
kernel Weigh (n : int, xs : [int; n]) {
  let z = REDUCE { i => xs[i] * i using xs } (0) { (x, y) => x + y } (n)
  return z
}
function ranked (n : int, xs : [int; n]) -> (out : int) {
  let (k : int, gts : [int; k]) = run Positive (n, xs)
  let total : int = run Weigh (k, gts)
  return total
}
entry ranked : [int] -> int
"""

ROWS = """
kernel Multiply (n : int, t : int, o : [int; n+1], v : [float; t], c : [int; t], m : int, x : [float; m]) {
  let p = SEG_MAP { (s, j, i) => v[i] * x[c[i]] using v, x, c } irregular(o, n, t)
  return p
}
kernel Rows (n : int, t : int, o : [int; n+1], p : [float; t]) {
  let y = SEG_REDUCE { (s, j, i) => p[i] using p } (0.0) { (a, b) => a + b } irregular(o, n, t)
  return y
}
kernel Norm (n : int, y : [float; n]) {
  let z = REDUCE { i => y[i] * y[i] using y } (0.0) { (a, b) => a + b } (n)
  return z
}
function rows (n : int, o : [int; n+1], t : int, c : [int; t], v : [float; t], m : int, x : [float; m])
    -> (k : int, out : [float; k], norm : float) {
  let p : [float; t] = run Multiply (n, t, o, v, c, m, x)
  let y : [float; n] = run Rows (n, t, o, p)
  let z : float = run Norm (n, y)
  return (n, y, z)
}
entry rows : ([[(int, float)]], [float]) -> ([float], float)
"""


NORMALISED = KERNELS + """
kernel Subtract (n : int, xs : [float; n], s : float) {
  let zs = MAP { i => xs[i] - s using xs, s } (n)
  return zs
}
function normalised (n : int, xs : [float; n]) -> (m : int, out : [float; m]) {
  let mean : float = run Sum (n, xs)
  let ds : [float; n] = run Subtract (n, xs, mean)
  let sq : [float; n] = run Square (n, ds)
  let var : float = run Sum (n, sq)
  let quo : [float; n] = run Divide (n, ds, var)
  return (n, quo)
}
entry normalised : [float] -> [float]
"""


def fused(text: str, profile: Profile = CPU) -> ir.Program:
    program = parse(text)
    check(program)
    found = schedule(program, "ilp", profile)
    check_schedule(program, found)
    assert schedule_text.parse(schedule_text.show(found)) == found
    result = fuse(program, found)
    check(result)
    return result


def shape(program: ir.Program) -> list[list[tuple[str, int]]]:
    """Per launch of the first function, its bindings: what they are and how many results they have."""
    kernels = {kernel.name: kernel for kernel in program.kernels}
    return [[(type(bind.soac).__name__, len(bind.names)) for bind in kernels[statement.kernel].binds]
            for statement in program.functions[0].body.statements if isinstance(statement, ir.Run)]


def test_norm2_is_two_kernels() -> None:
    program = fused(NORM2)
    assert shape(program) == [[("Reduce", 2)], [("Map", 2)]]
    xs = Flat(4, np.array([1.0, -2.0, 3.0, 0.5]))
    first, second = execute(program, [xs])
    assert list(first.column) == [0.4, -0.8, 1.2, 0.2]
    assert list(second.column) == [x / 4.5 for x in xs.column]


def test_sum_square_divide_keeps_the_squares_with_the_division() -> None:
    program = fused(SQUARES)
    assert shape(program) == [[("Reduce", 1)], [("Map", 1)]]
    found = schedule(parse(SQUARES))
    verdicts = {(pair.first, pair.second): pair.verdict for pair in found.regions[0].pairs}
    assert verdicts == {("total", "sq"): "apart", ("sq", "quo"): "together", ("total", "quo"): "never"}


def test_what_is_computed_again_is_not_written() -> None:
    program = fused(NORMALISED)
    assert shape(program) == [[("Reduce", 1)], [("Reduce", 1)], [("Map", 1)]]
    out = execute(program, [Flat(4, np.array([1.0, 2.0, 3.0, 4.0]))])
    assert list(out.column) == [-9 / 230, -8 / 230, -7 / 230, -6 / 230]
    [region] = schedule(parse(NORMALISED)).regions
    assert (region.clusters, region.again) == ((("mean",), ("ds", "sq", "var"), ("quo",)), ((), (), ("ds",)))
    assert "kernel (quo) again (ds)" in schedule_text.show(schedule(parse(NORMALISED)))


def test_what_another_kernel_returns_can_be_computed_again_too() -> None:
    """Its own kernel returns it still, to the one that does not compute it."""
    program, found = parse(NORMALISED), schedule(parse(NORMALISED), "none")
    again = (*((),) * 3, ("sq", "ds"), ())
    copied = replace(found, regions=(replace(found.regions[0], again=again),))
    check_schedule(program, copied)
    result = fuse(program, copied)
    check(result)
    assert [len(run) for run in shape(result)] == [1, 1, 1, 1]
    xs = Flat(4, np.array([1.0, 2.0, 3.0, 4.0]))
    assert list(execute(result, [xs]).column) == list(execute(program, [xs]).column)


def test_dot_product_is_one_reduction() -> None:
    assert shape(fused(DOTP)) == [[("Reduce", 1)]]


def test_a_survivors_number_is_not_its_index() -> None:
    program = fused(RANKED)
    assert shape(program) == [[("Filter", 2), ("Reduce", 1)]]
    assert execute(program, [Flat(4, np.array([5, -1, 7, 2]))]) == 1 * 7 + 2 * 2


def test_rows_and_their_norm_are_one_walk() -> None:
    assert shape(fused(ROWS)) == [[("Reduce", 1), ("Reduce", 1)]]


@pytest.mark.parametrize("mode", ["greedy", "none"])
def test_other_modes(mode: str) -> None:
    program = parse(NORM2)
    found = schedule(program, mode)
    check_schedule(program, found)
    assert len(found.regions[0].clusters) == {"greedy": 2, "none": 5}[mode]
    check(fuse(program, found))


def test_a_long_run_is_scheduled_in_pieces_that_claim_no_optimum() -> None:
    length = 2 * LONGEST + 1
    lines = [f"  let x{k + 1} : [float; n] = run Divide (n, x{k}, 2.0)\n" for k in range(length)]
    text = f"{KERNELS}\nfunction f (n : int, x0 : [float; n]) -> (m : int, ys : [float; m]) {{\n{''.join(lines)}" \
           f"  return (n, x{length})\n}}\nentry f : [float] -> [float]\n"
    found = schedule(parse(text))
    assert [(region.number, region.status) for region in found.regions] == [(0, "greedy"), (1, "greedy"), (2, "greedy")]
    program = fused(text)
    assert len(shape(program)) == sum(len(region.clusters) for region in found.regions) < length / 20
    assert list(execute(program, [Flat(1, np.array([2.0 ** length]))]).column) == [1.0]


TWO_ERRORS = """
kernel Invert (n : int, xs : [int; n], at : site) {
  let zs = MAP { i => let x = xs[i] in if x /= 0 then 10 / x else fail at : int using xs } (n)
  return zs
}
kernel Greatest (n : int, xs : [int; n]) {
  let zs = SCAN { i => xs[i] using xs } (0) { (x, y) => max(x, y) } (n)
  return zs
}
kernel Sum (n : int, xs : [int; n]) -> int {
  let z = REDUCE { i => xs[i] using xs } (0) { (x, y) => x + y } (n)
  return z
}
kernel Divide (x : int, y : int) -> int {
  let z = ONCE { () => if y /= 0 then x / y else fail s3 : int using x, y }
  return z
}
function f (n : int, v : [int; n], m : int, u : [int; m]) -> (out : int) {
  let scanned : [int; n] = run Greatest (n, v)
  let first : [int; n] = run Invert (n, scanned, site s1)
  let second : [int; m] = run Invert (m, u, site s2)
  let a : int = run Sum (n, first)
  let b : int = run Sum (m, second)
  let c : int = run Divide (a, b)
  return c
}
entry f : [int], [int] -> int
"""


@pytest.mark.parametrize("mode", ["ilp", "greedy", "none"])
def test_of_two_errors_the_first_is_told_however_fused(mode: str) -> None:
    sites = "".join(f'site s{number} "failure {number}"\n' for number in (1, 2, 3))
    program = parse(sites + TWO_ERRORS)
    check(program)
    found = schedule(program, mode)
    check_schedule(program, found)
    with pytest.raises(NessieError, match="failure 1"):
        execute(fuse(program, found), [Flat(3, np.array([0, 4, 0])), Flat(2, np.array([5, 0]))])


# Costs --------------------------------------------------------------------------------------------

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
    programmed = exact(problem, problem.apart(), Plan(problem.apart()), solver, Limits())[0]
    assert programmed and round(problem.total(programmed) / 1e6, 1) == least
    alone = replace(graph, nodes=tuple(replace(node, work=None) for node in graph.nodes))
    assert round(solve(Problem(alone, ONE_SWEEP)).cost / 1e6, 1) == without


def test_nothing_is_computed_again_that_costs_more_than_memory() -> None:
    graph = graph_text.parse(HEAD.format(COPIES["normalise"][-1]))
    for operation, copies in ((7.9, True), (8.1, False)):
        assert any(solve(Problem(graph, replace(ONE_SWEEP, operation=operation))).again) == copies


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


# Verdicts -----------------------------------------------------------------------------------------

TABLE = {
    "MAP-X": "MAP flat(n) (own x) -> (a) | SCAN flat(n) (own a) -> (b)",
    "gather": "MAP flat(n) (own x) -> (a) | MAP flat(n) (gather a) -> (b)",
    "SEG-PROLOGUE": "MAP flat(r) (own z) -> (c) | SEG_SCAN elements(d, r, t) (own e, seg c) -> (f)",
    "segment-late": "SCAN flat(r) (own z) -> (c) | MAP elements(d, r, t) (seg c) -> (f)",
    "SCAN-MAP": "SCAN flat(n) (own x) -> (a) | MAP flat(n) (own a) -> (b)",
    "SCAN-REDUCE": "SCAN flat(n) (own x) -> (a) | REDUCE flat(n) (own a) -> (s)",
    "SCAN-PERMUTE": "SCAN flat(n) (own x) -> (a) | PERMUTE flat(n) (own a) -> (b)",
    "SEG_SCAN-MAP": "SEG_SCAN elements(d, r, t) (own e) -> (f) | MAP elements(d, r, t) (own f) -> (y)",
    "PARTITION-PERMUTE": "PARTITION flat(n) (own x) -> (k, l, g, i, p) | PERMUTE flat(n) (own p) -> (a)",
    "ONCE-ONCE": "ONCE unit() (scalar k) -> (s) | ONCE unit() (scalar s) -> (q)",
    "two-look-backs": "SCAN flat(n) (own x) -> (a) | SCAN flat(n) (own a) -> (b)",
    "FILTER-MAP": "FILTER flat(n) (own x) -> (k, g) | MAP survivors(g, k) (member k, own g) -> (h)",
    "FILTER-REDUCE": "FILTER flat(n) (own x) -> (k, g) | REDUCE survivors(g, k) (member k, own g) -> (s)",
    "FILTER-FILTER": "FILTER flat(n) (own x) -> (k, g) | FILTER survivors(g, k) (member k, own g) -> (l, h)",
    "FILTER-SCAN": "FILTER flat(n) (own x) -> (k, g) | SCAN survivors(g, k) (member k, own g) -> (h)",
    "FILTER-PERMUTE": "FILTER flat(n) (own x) -> (k, g) | PERMUTE survivors(g, k) (member k, own g) -> (h)",
    "two-look-backs, rank": "FILTER flat(n) (own x) -> (k, g) | SCAN survivors(g, k) (member k, own g) -> (h) rank",
    "kernel-end, count": "FILTER flat(n) (own x) -> (k, g) | MAP flat(n) (scalar k) -> (b)",
    "FILTER-ONCE": "FILTER flat(n) (own x) -> (k, g) | ONCE unit() (scalar k) -> (s)",
    "SEG_FILTER-SEG_REDUCE": "SEG_FILTER elements(d, r, t) (own e) -> (k, g, o)"
                             " | SEG_REDUCE survivors(g, k) (member k, member o, own g) -> (c)",
    "position": "SEG_FILTER elements(d, r, t) (own e) -> (k, g, o)"
                " | SEG_REDUCE survivors(g, k) (member k, member o, own g) -> (c) place",
    "PARTITION-MAP": "PARTITION flat(n) (own x) -> (k, l, g, i, p) | MAP survivors(g, l) (member l, own i) -> (h)",
    "SEG-EPILOGUE": "SEG_REDUCE elements(d, r, t) (own e) -> (c) | MAP flat(r) (own c) -> (w)",
    "space, scan of segments": "SEG_REDUCE elements(d, r, t) (own e) -> (c) | SCAN flat(r) (own c) -> (w)",
    "segment-late, softmax": "SEG_REDUCE elements(d, r, t) (own e) -> (c)"
                             " | MAP elements(d, r, t) (own e, seg c) -> (f)",
    "REDUCE-ONCE": "REDUCE flat(n) (own x) -> (s) | ONCE unit() (scalar s) -> (q)",
    "kernel-end": "REDUCE flat(n) (own x) -> (s) | MAP flat(n) (scalar s) -> (a)",
    "scatter-order": "PERMUTE flat(n) (own x) -> (a) | MAP flat(n) (own a) -> (b)",
    "one-thread": "MAP flat(n) (own x) -> (a) | PERMUTE flat(n) (own a) -> (b) serial",
    "HORIZONTAL, one thread": "PERMUTE flat(n) (own x) -> (a) serial | PERMUTE flat(n) (own y) -> (b) serial",
    "once-reads-array": "MAP flat(n) (own x) -> (a) | ONCE unit() (gather a) -> (s)",
    "size": "SCAN flat(r) (own z) -> (c) | SEG_REDUCE elements(c, r, t) (size c, own e) -> (w)",
    "library": "MAP flat(n) (own x) -> (a) | ORDER flat(n) (own a) -> (b)",
    "host": "REDUCE flat(n) (own x) -> (s) | HOST unit() (gather s) -> (q)",
    "HORIZONTAL": "REDUCE flat(n) (own x) -> (s) | SCAN flat(n) (own x) -> (a)",
    "space": "MAP flat(n) (own x) -> (a) | MAP flat(t) (own e) -> (f)",
    "space, descriptors": "MAP elements(d, r, t) (own e) -> (f) | MAP elements(u, r, t) (own e) -> (w)",
    "HORIZONTAL, twins": "SEG_REDUCE elements(d, r, t) (own e) -> (c) | REDUCE flat(t) (own e) -> (s)",
}

NAMES = """ scalar k : int scalar l : int scalar s : float scalar q : float array a : [float; n] array b : [float; n]
  array c : [float; r] array f : [float; t] array g : [float; k] array h : [float; k] array i : [float; l]
  array o : [int; r+1] array p : [int; n] array w : [float; r] """


def table_graph(case: str) -> Graph:
    first, second = TABLE[case].split(" | ")
    named = "g" if "FILTER" in first or "PARTITION" in first else "u"
    nodes = f"node {named} = {first} node v = {second} outputs ()"
    return graph_text.parse(HEAD.replace("size k", "size l = 5e5 size k").format(NAMES + nodes))


@pytest.mark.parametrize("case", TABLE)
def test_the_table_of_verdicts(case: str) -> None:
    graph = table_graph(case)
    fusible = Fusible(Index(graph))
    assert fusible.reason.get((0, 1)) or rule(fusible.index, 0, 1) == case.split(",")[0]
    if fusible.reason.get((0, 1)):
        assert fusible.reason[0, 1] == case.split(",")[0]
    assert graph_text.parse(graph_text.show(graph)) == graph


@pytest.mark.parametrize(("mode", "base", "zero"), [
    ("distinct", "float", "0.0"), ("last", "int", "0"), ("max", "int", "0"), ("max", "float", "0.0")])
def test_one_thread_walks_what_the_graph_says(mode: str, base: str, zero: str) -> None:
    program = parse(f"""
kernel K (n : int, xs : [{base}; n], at : [int; n]) {{
  let ys = PERMUTE {{ i => xs[i] using xs }} {{ i => at[i] using at }} (n) into n ({zero}) {mode}
  return ys
}}
function f (n : int, xs : [{base}; n], at : [int; n]) -> (m : int, out : [{base}; m]) {{
  let ys : [{base}; n] = run K (n, xs, at)
  return (n, ys)
}}
entry f : [{base}], [int] -> [{base}]
""")
    [graph] = graphs(program)
    assert graph.nodes[0].serial == walk_of(program.kernels[0], program).sequential


# Invariants ---------------------------------------------------------------------------------------

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
