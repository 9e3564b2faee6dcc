"""Sequences that a recursion passes on as rows, and others: all executors agree, and no scan finds the rows again."""
from __future__ import annotations

from typing import Any

import pytest
from executors import Compiled, assert_all_agree, assert_the_gpu_agrees

from nessie.lambda_cu import nodes as ir

FUNCTIONS = """
function hop(graph, ranks, k) = if k == 0 then ranks else hop(graph, {sum(ranks -> row) : row in graph}, k - 1);
function reach(graph, levels, frontier, level) =
  if #frontier == 0 then levels
  else let known = levels <- {(v, level) : v in frontier};
           next  = {w in flatten(graph -> frontier) | known[w] < 0}
       in reach(graph, known, remove_duplicates(next), level + 1);
function search(graph, start) = reach(graph, dist(-1, #graph), [start], 0);
function nth(graph, i) = if i < 1 then graph[0] else nth(graph, i - 2);
function pick(graph, i) = if i < 1 then graph else pick(graph, i - 2);
function tree(graph, v, k) = if k == 0 then 1 else 1 + sum({tree(graph, w, k - 1) : w in graph[v]});
function deep(g, k) = if k == 0 then {{sum(r) : r in p} : p in g} else deep(g, k - 1);
function weighed(g, k) = if k == 0 then sum({x * sum(r) : (r, x) in g}) else weighed(g, k - 1);
function swap(a, b, k) = if k == 0 then a else swap(b, a, k - 1);
function narrowed(g, h, k) = if k == 0 then {#r : r in g} else narrowed({r in h | #r > k}, h, k - 1);
function go(k, v, w, g, h) =
  let s = sum([0:k]) in if k < 1 then (v, g) else let p = v; q = g in go(k - 1, v, v, g, g);
function inner(g, n) =
  if n == 0 then 0 else let g = {{x + 1 : x in r} : r in g} in sum({sum(r) : r in g}) + inner(g, n - 1);
"""
GRAPH, FAR, PAIRS = [[1, 2], [], [0], [3, 3]], [[1, 2], [3], [3], [0], [1]], [[[0], [1, 1]], [[2, 0], [1], []], []]
CASES: dict[str, tuple[str, str, Any]] = {
    "passed on": ("hop(g, dist(1, #g), 3)", "[[int]] -> [int]", GRAPH),
    "of no rows": ("hop(g, dist(1, #g), 3)", "[[int]] -> [int]", []),
    "a failure in a round": ("hop(g, dist(1, #g), 3)", "[[int]] -> [int]", [[0], [7]]),
    "a search": ("search(g, 0)", "[[int]] -> [int]", FAR),
    "a failing search": ("search(g, 0)", "[[int]] -> [int]", [[1, 9], [3]]),
    "searches at once": ("{search(g, v) : v in [0:#g]}", "[[int]] -> [[int]]", FAR),
    "a search of each": ("{if #h == 0 then [] int else search(h, 0) : h in g}", "[[[int]]] -> [[int]]", PAIRS),
    "rows and what is none": ("(hop(g, dist(1, #g), 2), hop(drop(g, 1) ++ take(g, 1), dist(1, #g), 2))",
                              "[[int]] -> ([int], [int])", GRAPH),
    "a row comes back": ("(nth(g, 5), {nth(g, k) : k in [1, 4]})", "[[int]] -> ([int], [[int]])", GRAPH),
    "all comes back": ("(pick(g, 5), {pick(g, k) : k in [1, 4]})", "[[int]] -> ([[int]], [[[int]]])", GRAPH),
    "a recursion per element": ("{tree(g, v, 4) : v in [0:2]}", "[[int]] -> [int]", [[1, 2], [2], [0]]),
    "rows of rows": ("deep(g, 2)", "[[[int]]] -> [[int]]", PAIRS),
    "pairs with rows": ("weighed(g, 2)", "[([int], int)] -> int", [([1, 2], 1), ([], 2), ([3], 5)]),
    "exchanged": ("swap(g, [[9]], 3)", "[[int]] -> [[int]]", GRAPH),
    "exchanged in each": ("{swap(h, [[9]], 3) : h in g}", "[[[int]]] -> [[[int]]]", PAIRS),
    "made anew": ("narrowed(g, g, 1)", "[[int]] -> [int]", GRAPH),
    "a name that is bound again": ("inner(g, 3)", "[[int]] -> int", GRAPH),
    "passed on twice, and given back": (
        "({go(k, [1], [2], g, g) : k in [0, 2]}, go(3, [1], [2], g, [[5]]))",
        "[[int]] -> ([([int], [[int]])], ([int], [[int]]))", GRAPH),
    "a matrix": ("hop({[0:#g] : _ in g}, dist(1, #g), 2)", "[[int]] -> [int]", GRAPH),
}


def compiled(name: str, target: str = "cpu") -> tuple[Compiled, Any]:
    body, type_, argument = CASES[name]
    given, result = type_.split(" -> ")
    return Compiled(f"{FUNCTIONS}\nfunction main(g) : {given} -> {result} = {body};", target=target), (argument,)


@pytest.mark.parametrize("name", CASES)
def test_executors_agree(name: str) -> None:
    program, arguments = compiled(name)
    assert_all_agree(program, arguments, "fail" in name)


@pytest.mark.parametrize("name", ["passed on", "a search", "searches at once"])
def test_the_gpu_agrees(name: str) -> None:
    assert_the_gpu_agrees(*compiled(name, "cuda"))


def test_no_round_finds_the_rows_again() -> None:
    """Each round of `hop` walks the rows by the offsets that came from outside: nothing is scanned."""
    program, _ = compiled("passed on")
    flat = program.executable("none")
    assert not [bind for kernel in flat.kernels for bind in kernel.binds if isinstance(bind.soac, ir.Scan)]
