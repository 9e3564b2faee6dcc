"""Cost is kept: compiled programs walk at most 8 elements for a unit of work, and launch at most 8 kernels for one of
depth, at every size, fused or not. Work and depth are what the interpreter counts, elements those of every SOAC by
itself (the reference executor's count). docs/cost.md has the units.
"""
from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import pytest
from amounts import examples, many
from executors import DEPTH, MEMORY, Compiled, Failed, agree, interpreted
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from paths import ROOT
from random_programs import RandomProgram, programs

from nessie.base.system.deep import run_deep
from nessie.base.values import flatten_value, plain_value
from nessie.interpreter import interpreter
from nessie.interpreter.meanings_any import size
from nessie.lambda_cu.reference import reference

CONSTANT = 8
START = 16                      # elements that a run may walk beyond that, whatever it does

Arguments = tuple[Any, ...]


@dataclass(frozen=True)
class Case:
    """A program, and arguments of each size; those of the sizes in `large` take long."""
    source: str
    arguments: Callable[[int], Arguments]
    sizes: tuple[int, ...]
    large: tuple[int, ...] = ()


def ints(n: int, below: int = 1000) -> list[int]:
    numbers = random.Random(n)
    return [numbers.randrange(below) for _ in range(n)]


def rows(n: int, length: Callable[[int], int]) -> list[list[int]]:
    return [ints(length(k)) for k in range(n)]


SORT = """
function sorted(v) = if #v < 2 then v
  else let p = v[PIVOT]; parts = {sorted(w) : w in [{x in v | x < p}, {x in v | x > p}]}
       in parts[0] ++ {x in v | x == p} ++ parts[1];
function main(v) : [int] -> [int] = sorted(v);"""
CHOOSE = """
function choose(k, a, b) : (int, [int], [int]) -> [int] =
  if k < 1 then a else let s = sum([0:k]) in choose(k - 1, b, if rem(s, 2) == 1 then a else b);"""
HULL = ROOT.joinpath("nesl_examples", "quickhull.nesl").read_text("utf-8")

CASES: dict[str, Case] = {
    # filters
    "a filter that leaves few, each of which is much work": Case(
        "function main(v, w) : ([int], [int]) -> [int] = {sum({x * y : y in w}) : x in v | x < 3};",
        lambda n: (list(range(n)), list(range(n))), (10, 300, 3000)),
    "filters of filters in rows": Case(
        """function main(m) : [[int]] -> [[int]] =
             {{x * 2 : x in {y in {z in r | z > 500} | rem(y, 3) == 0} | rem(x, 2) == 0} : r in m};""",
        lambda n: (rows(n, lambda k: k % 7),), (10, 100, 1000)),
    "a search that halves what is left": Case(
        """function chase(v) = if #v < 2 then #v else 1 + chase({x in v | rem(x, 2) == 0} -> [0:#v / 2]);
           function main(v) : [int] -> int = chase(v);""",
        lambda n: ([0] * n,), (8, 64, 1024)),
    # unbalanced recursion
    "quicksort of random numbers": Case(SORT.replace("PIVOT", "#v / 2"), lambda n: (ints(n),), (10, 100, 600), (8000,)),
    "quicksort of what is sorted, by its first element": Case(
        SORT.replace("PIVOT", "0"), lambda n: (list(range(n)),), (8, 20, 40), (400,)),
    "quickhull": Case(
        HULL[:HULL.rindex("\n\n")] + """
           function main(ps) : [(float, float)] -> [(float, float)] =
             {(x, y) : point(x, y) in quickhull({point(x, y) : (x, y) in ps})};""",
        lambda n: ([(float(x), float(x * x % 97)) for x in ints(n)],), (10, 100, 500), (5000,)),
    "a tree like a comb": Case(
        """function comb(n, v) : (int, [int]) -> int =
             if n < 1 then sum(v) else 1 + sum({comb(k, v) : k in [0, n - 1]});
           function main(n, v) : (int, [int]) -> int = comb(n, v);""",
        lambda n: (n, [1, 2, 3]), (10, 30, 80), (500,)),
    "a tree like a comb, without a conditional": Case(
        """function below(v) : [int] -> int = 1 + sum({below(w) : w in {drop(v, 1) : x in v | x == v[0]}});
           function main(v) : [int] -> int = below(v);""",
        lambda n: (list(range(n)),), (5, 15, 40), (150,)),
    "one call that goes deep among many that do not": Case(
        """function down(k, v) : (int, [int]) -> int = if k < 1 then 0 else sum(v) + down(k - 1, v);
           function main(ks, v) : ([int], [int]) -> [int] = {down(k, v) : k in ks};""",
        lambda n: ([1] * n + [30], [1, 2]), (10, 100, 500), (5000,)),
    # conditionals
    "nested conditionals": Case(
        """function main(v) : [int] -> [int] =
             {if x < 10 then sum([0:x])
              else if x < 20 then max_val({y * y : y in [0:x]})
              else if x < 30 then (if rem(x, 2) == 0 then sum({y + x : y in [0:x]}) else #{y : y in [0:x] | y > 5})
              else x : x in v};""",
        lambda n: (ints(n, 40),), (10, 100, 1000)),
    "branches that give rows, of which all share one": Case(
        """function main(m, w) : ([[int]], [int]) -> [int] =
             {#(if #r < 2 then w else if sum(r) < 900 then r else take(w, 1)) : r in m};""",
        lambda n: (rows(20, lambda k: k % 5), [1] * n), (10, 1000, 100_000)),
    "two long rows, exchanged again and again": Case(
        """function choose(k, a, b) : (int, [int], [int]) -> [int] =
             if k < 1 then a else let s = sum([0:k]) in if s > 2 then choose(k - 1, b, a) else a;
           function main(ks, a, b) : ([int], [int], [int]) -> [int] = {choose(k, a, b)[1] : k in ks};""",
        lambda n: ([0, 3, 10, 20], list(range(n)), list(range(n, 2 * n))), (10, 1000, 50_000)),
    "many branches, without elements at all": Case(
        "function main(v) : [int] -> [int] = {"
        + "".join(f"if x > {k} then sum({{y * {k} : y in [0:x]}}) else " for k in range(16)) + "x : x in v};",
        lambda n: ([-1] * n,), (0, 1, 10)),
    "text of rows, without rows": Case(
        "function main(m) : [[int]] -> [[char]] = {@r ++ @(#r) : r in m};",
        lambda n: (rows(n, lambda k: 0),), (0, 1, 10)),
    # calls at the ends of branches
    "binary search": Case(
        """function search(v, x, lo, hi) : ([int], int, int, int) -> int =
             if lo >= hi then -1
             else let mid = (lo + hi) / 2 in
               if v[mid] < x then search(v, x, mid + 1, hi) else if v[mid] > x then search(v, x, lo, mid) else mid;
           function main(v, xs) : ([int], [int]) -> [int] = {search(v, x, 0, #v) : x in xs};""",
        lambda n: (list(range(0, 2 * n, 2)), list(range(n))), (1, 10, 100, 1000), (20_000,)),
    "the k-th of each row": Case(
        """function kth(v, k) : ([int], int) -> int =
             let p = v[#v / 2]; below = {x in v | x < p}; above = {x in v | x > p}
             in if k < #below then kth(below, k)
                else if k >= #v - #above then kth(above, k - (#v - #above))
                else p;
           function main(m) : [[int]] -> [int] = {kth(r, #r / 2) : r in m};""",
        lambda n: (rows(n, lambda k: 1 + k % 50),), (1, 10, 100), (1000,)),
    # what lies in several places, passed on
    "a row chosen from two at each step": Case(
        f"""{CHOOSE}
            function main(ks, a, b) : ([int], [int], [int]) -> [int] = {{choose(k, a, b)[1] : k in ks}};""",
        lambda n: ([0, 3, 10, 40], list(range(n)), list(range(n, 3 * n))), (10, 1000, 50_000)),
    "a row chosen from two at each step, on the host": Case(
        f"{CHOOSE} function main(k, a, b) : (int, [int], [int]) -> int = choose(k, a, b)[1];",
        lambda n: (60, list(range(n)), list(range(n, 3 * n))), (10, 1000, 50_000)),
    "of two rows one is empty": Case(
        f"{CHOOSE} function main(ks, a) : ([int], [int]) -> [int] = {{#choose(k, a, take(a, 0)) : k in ks}};",
        lambda n: ([0, 3, 10, 40], list(range(n))), (0, 10, 1000, 50_000)),
    "rows chosen from three, by activations that choose differently": Case(
        """function turn(k, a, b, c) : (int, [int], [int], [int]) -> [int] =
             if k < 1 then a
             else let s = sum([0:k]); d = (if rem(s, 3) == 0 then b else c); e = (if rem(s, 2) == 0 then c else a)
                  in turn(k - 1, d, e, b);
           function main(ks, a, b, c) : ([int], [int], [int], [int]) -> [int] =
             {sum(take(turn(k, a, b, c), 2)) : k in ks};""",
        lambda n: (list(range(20)), ints(n), ints(2 * n), ints(n + 9)), (10, 1000, 50_000)),
    "matrices of which one is chosen": Case(
        """function choose(k, a, b) : (int, [[int]], [[int]]) -> ([int], int) =
             if k < 1 then (a[0], #b[1])
             else let s = sum([0:k]); c = (if rem(s, 3) == 0 then drop(b, 1) else b)
                  in choose(k - 1, c, if s > 40 then a else b);
           function main(ks, a, b) : ([int], [[int]], [[int]]) -> [(int, int)] =
             {(r[k], s) : (r, s) in {choose(k, a, b) : k in ks}; k in ks};""",
        lambda n: ([0, 2, 5, 9], rows(9, lambda k: n), rows(9, lambda k: n + k)), (10, 1000, 20_000)),
    "rows that leave a matrix and come back": Case(
        """function exchange(k, m, r) : (int, [[int]], [int]) -> [[int]] =
             if k < 1 then m
             else let s = sum([0:k]); q = (if rem(s, 3) == 0 then m[0] else m[1])
                  in exchange(k - 1, m <- [(rem(s, #m), r)], q);
           function main(ks, m, r) : ([int], [[int]], [int]) -> [int] =
             {#flatten({take(q, 1) : q in exchange(k, m, r)}) : k in ks};""",
        lambda n: ([0, 3, 10, 25], rows(4, lambda k: n), ints(n)), (10, 1000, 20_000)),
    "rows that leave a matrix and come back, on the host": Case(
        """function exchange(k, r, m) : (int, [int], [[int]]) -> [[int]] =
             if k < 1 then m
             else let s = sum([0:k]); q = (if s > 40 then m[rem(sum({x : x in [0:k]}), 2)] else r)
                  in exchange(k - 1, q, m <- [(rem(s, #m), r)]);
           function main(k, m, r) : (int, [[int]], [int]) -> int = sum({#q : q in exchange(k, r, m)});""",
        lambda n: (25, rows(4, lambda k: n), ints(n)), (10, 1000, 20_000)),
    "the longest row": Case(
        """function longest(m, v) : ([[int]], [int]) -> [int] =
             if #m == 0 then v else let r = m[0]; s = sum([0:#m]) in
               longest(drop(m, 1), if #r > #v or s < 0 then r else v);
           function main(m, v) : ([[int]], [int]) -> (int, [int]) =
             (#longest(m, v), {#longest(m, r) : r in [v, m[1]]});""",
        lambda n: (rows(8, lambda k: (k * 5 % 8) * n), ints(n)), (10, 1000, 20_000)),
    "a tree that chooses a row at each node": Case(
        """function tree(k, a, b) : (int, [int], [int]) -> int =
             if k < 1 then a[0] + #b
             else let s = sum([0:k]) in sum({tree(k - 1, (if rem(s, 2) == j then a else b), b) : j in [0, 1]});
           function main(k, a, b) : (int, [int], [int]) -> int = tree(k, a, b);""",
        lambda n: (6, ints(n), ints(2 * n)), (10, 1000, 50_000)),
    # free vectors
    "free vectors at depth three": Case(
        """function main(m, v) : ([[[int]]], [int]) -> [[[int]]] =
             {{{v[rem(x, #v)] + #v : x in r} : r in p} : p in m};""",
        lambda n: ([rows(3, lambda k: k) for _ in range(n)], ints(n)), (10, 100, 1000)),
    "a free vector summed at depth three": Case(
        "function main(m, v) : ([[[int]]], [int]) -> [[[int]]] = {{{x + sum(v) : x in r} : r in p} : p in m};",
        lambda n: ([rows(2, lambda k: 2) for _ in range(3)], ints(n)), (10, 100, 2000)),
    "a free vector that a call passes on": Case(
        """function cuts(k, v) : (int, [int]) -> int =
             if k < 1 then #v else cuts(k - 1, drop(v, #v / 3)) + cuts(k - 1, take(v, #v / 2));
           function main(ks, v) : ([int], [int]) -> [int] = {cuts(k, v) : k in ks};""",
        lambda n: ([2, 3, 4], list(range(n))), (10, 1000, 20_000)),
    # selection of segments
    "a few rows of many, that are long": Case(
        "function main(m, ks) : ([[int]], [int]) -> int = sum({#m[k] + m[k][0] : k in ks}) + sum({#r : r in m -> ks});",
        lambda n: (rows(10, lambda k: n), [0, 3, 5]), (10, 1000, 10_000)),
    "rows chosen, and a little of each read": Case(
        "function main(m) : [[int]] -> int = sum({sum(take(r, 2)) : r in {q in m | q[0] < 600}});",
        lambda n: (rows(10, lambda k: n),), (10, 1000, 10_000)),
    "a row many times": Case(
        """function copies(k, v) : (int, [int]) -> [[int]] =
             if k < 1 then [v] else flatten({copies(k - 1, v) : j in [0, 1]});
           function main(k, v) : (int, [int]) -> [int] = {#r : r in copies(k, v)};""",
        lambda n: (5, list(range(n))), (10, 1000, 50_000)),
    "a row put among long ones": Case(
        "function main(m, k) : ([[int]], int) -> int = sum({#r : r in m <- [(3, [k])]});",
        lambda n: (rows(10, lambda k: n), 2), (10, 1000, 10_000)),
    "binary search by slices": Case(
        """function found(v, x) : ([int], int) -> bool =
             if #v < 2 then any({y == x : y in v})
             else let h = #v / 2; halves = partition(v, [h, #v - h])
                  in found((if halves[1][0] <= x then halves[1] else halves[0]), x);
           function main(v, xs) : ([int], [int]) -> [bool] = {found(v, x) : x in xs};""",
        lambda n: (list(range(0, 3 * n, 3)), list(range(0, 90, 2))), (10, 100, 1000)),
    # round trips
    "flatten and partition, back and forth": Case(
        """function again(m) = partition({x + 1 : x in flatten(m)}, {#r : r in m});
           function main(m) : [[int]] -> [[int]] = again(again(again(m)));""",
        lambda n: (rows(n, lambda k: k),), (10, 30, 100)),
    "flatten and partition in a loop": Case(
        """function again(k, m) : (int, [[int]]) -> [[int]] =
             if k < 1 then m else again(k - 1, partition(flatten(m), {#r : r in m}));
           function main(k, m) : (int, [[int]]) -> int = sum({#r : r in again(k, m)});""",
        lambda n: (n, rows(n, lambda k: k)), (3, 10, 30)),
    "flatten and partition in rows": Case(
        "function main(b) : [[[int]]] -> [[[int]]] = {partition(flatten(m), {#r : r in m}) : m in b};",
        lambda n: ([rows(k % 9, lambda j: j) for k in range(n)],), (5, 50, 500)),
    # writes into what is not needed any more
    "a loop that puts one element": Case(
        """function put(v, k) : ([int], int) -> [int] =
             if k == 0 then v else let s = v[mod(k, #v)] in put(rep(v, s + k, mod(k * 7, #v)), k - 1);
           function main(n, k) : (int, int) -> [int] = put(dist(0, n), k);""",
        lambda n: (n, 3 * n), (2, 10, 100, 400)),
    "a loop that puts what it has read, and adds": Case(
        """function put(v, w, k) : ([(int, bool)], [int], int) -> [(int, bool)] =
             if k == 0 then v
             else let is = [k, k - 1]; s = {(i, v[i]) : i in is}; x = write_add(w, [(k, first(v[k]))])
                  in put(v <- {(i, (a + 1, not b)) : (i, (a, b)) in s}, x, k - 1);
           function main(n) : int -> [(int, bool)] = put(dist((0, t), n + 1), dist(1, n + 1), n);""",
        lambda n: (n,), (2, 10, 100, 400)),
    "two sequences that change places": Case(
        """function swap(v, w, k) : ([int], [int], int) -> ([int], [int]) =
             if k == 0 then (v, w)
             else swap(w <- [(k, v[k])], (if rem(k, 2) == 0 then v <- [(0, k)] else v <- [(1, k)]), k - 1);
           function main(n) : int -> ([int], [int]) = swap(dist(0, n + 2), dist(1, n + 2), n);""",
        lambda n: (n,), (2, 10, 100, 400)),
    "a search of a graph": Case(
        """function search(graph, front, seen) : ([[int]], [int], [int]) -> [int] =
             if #front == 0 then seen
             else let new = {w in flatten(graph -> front) | seen[w] < 0}; from = seen <- {(w, 1) : w in new}
                  in search(graph, new, from);
           function main(m) : [[int]] -> [int] = search(m, [0], dist(-1, #m));""",
        lambda n: ([[k + 1] for k in range(n - 1)] + [[]],), (2, 10, 100, 300)),
    # spaces
    "triangles": Case("function main(n) : int -> [int] = {sum([0:i + 1]) : i in [0:n]};", lambda n: (n,), (10, 300)),
    "cubes": Case(
        "function main(n) : int -> [[int]] = {{sum({i * j * k : k in [0:n]}) : j in [0:n]} : i in [0:n]};",
        lambda n: (n,), (3, 8, 20), (40,)),
    "rows without elements": Case(
        "function main(n) : int -> [int] = {sum(r) + #r : r in {[0:i * 0] : i in [0:n]}};", lambda n: (n,), (10, 1000)),
    "all the library's ways to number equal rows": Case(
        "function main(m) : [[int]] -> ([int], [[int]]) = (name(m), remove_duplicates(m));",
        lambda n: ([ints(k % 4, 3) for k in range(n)],), (3, 60)),
    "numbers as text": Case(
        "function main(v) : [int] -> [[char]] = {@x : x in v};", lambda n: (ints(n),), (3, 10, 100)),
}


@dataclass(frozen=True)
class Spent:
    elements: int
    launches: int


def counted(program: Compiled, arguments: Arguments) -> tuple[Any, int, int]:
    """The value of main, its work with that of handing it over, its depth."""
    argument = arguments[-1]
    for value in reversed(arguments[:-1]):
        argument = (value, argument)
    result = interpreter.call(program.world, program.entry, argument)
    return result.value, result.work + size(result.value), result.depth


def spent(program: Compiled, fuse: str, arguments: Sequence[Any]) -> tuple[Any, Spent]:
    types, type_ = program.signature
    flat = [flatten_value(value, type_) for value, type_ in zip(arguments, types, strict=True)]
    stats, limits = reference.Stats(), reference.EvaluationLimits(depth=DEPTH, memory=MEMORY)
    found = reference.execute(program.executable(fuse), flat, limits, stats, program.outside.perform)
    return plain_value(found, type_), Spent(stats.elements, stats.launches)


def keeps(case: Case, sizes: tuple[int, ...]) -> None:
    program = Compiled(case.source)
    for n in sizes:
        arguments = case.arguments(n)
        value, work, depth = counted(program, arguments)
        for fuse in ("none", "ilp"):
            found, cost = spent(program, fuse, arguments)
            assert agree(value, found)
            assert cost.elements <= CONSTANT * work, f"{fuse}, size {n}: {cost} for {work} work"
            assert cost.launches <= CONSTANT * depth, f"{fuse}, size {n}: {cost} for {depth} depth"


@pytest.mark.sampled(quick=3)
@pytest.mark.parametrize("name", CASES)
def test_cost(name: str) -> None:
    run_deep(lambda: keeps(CASES[name], CASES[name].sizes))


@pytest.mark.nightly
@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case.large])
def test_cost_of_large_data(name: str) -> None:
    run_deep(lambda: keeps(CASES[name], CASES[name].large))


# Random programs --------------------------------------------------------------------------------


def obeys(random_program: RandomProgram) -> None:
    program = Compiled(random_program.source)
    found = interpreted(program, random_program.arguments)
    if isinstance(found, Failed):
        return
    work, depth = program.world.work + size(found), program.world.depth
    for fuse in ("none", "ilp"):
        _, cost = spent(program, fuse, random_program.arguments)
        assert cost.elements <= CONSTANT * work + START, f"{cost} for {work} work\n{random_program}"
        assert cost.launches <= CONSTANT * depth, f"{cost} for {depth} depth\n{random_program}"


quick = settings(max_examples=examples(12), suppress_health_check=list(HealthCheck))


@quick
@given(programs(4))
def test_random_programs(random_program: RandomProgram) -> None:
    run_deep(lambda: obeys(random_program))


@pytest.mark.slow
@settings(quick, max_examples=many(400))
@given(st.integers(4, 7).flatmap(programs))
def test_many_random_programs(random_program: RandomProgram) -> None:
    run_deep(lambda: obeys(random_program))


