"""The schedules of known programs: the paper's examples, and others of which they are known."""
from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from nessie.base.source import NessieError
from nessie.base.values import Flat
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu.check import check
from nessie.lambda_cu.passes.specialise_sites import specialise_sites
from nessie.lambda_cu.reference.reference import execute
from nessie.lambda_cu.text.parser import parse
from nessie.schedule import text as schedule_text
from nessie.schedule.check import check_schedule
from nessie.schedule.cost.problem import Problem
from nessie.schedule.cost.profiles import CPU, Profile
from nessie.schedule.fuse import fuse
from nessie.schedule.graph import text as graph_text
from nessie.schedule.graph.graph import graph as graphs
from nessie.schedule.graph.regions import LONGEST
from nessie.schedule.schedule import schedule
from nessie.schedule.solver.pulp_solver import SECONDS
from nessie.schedule.solver.solve import usual_limits

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
    pieces = graphs(parse(text))
    assert [graph.pieces for graph in pieces] == [3] * 3 and \
        graph_text.parse_all("".join(map(graph_text.show, pieces))) == pieces
    assert sum(usual_limits(Problem(graph, CPU)).seconds for graph in pieces) == pytest.approx(SECONDS)
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
    program = specialise_sites(parse(sites + TWO_ERRORS))
    check(program)
    found = schedule(program, mode)
    check_schedule(program, found)
    with pytest.raises(NessieError, match="failure 1"):
        execute(fuse(program, found), [Flat(3, np.array([0, 4, 0])), Flat(2, np.array([5, 0]))])
