"""Programs as people write them, on several executors: all kinds of recursion, on empty, equal and uneven data."""
from __future__ import annotations

from typing import Any

import pytest
from executors import Compiled, Failed, agree, outcome

EXECUTORS = ("reference none", "reference ilp", "loops ilp")
HUGE = [[], [], list(range(40, 0, -1)), [], [7]]

PROGRAMS: dict[str, tuple[str, list[tuple[Any, ...]]]] = {
    "kth smallest of each row": ("""
        function kth(v, k) =
          let p = v[#v / 2]; low = {e in v | e < p}; high = {e in v | e > p}
          in if k < #low then kth(low, k)
             else if k >= #v - #high then kth(high, k - (#v - #high)) else p;
        function main(m) : [[int]] -> [int] = {kth(r, #r / 2) : r in m | #r > 0};""",
        [([],), (HUGE,), ([[3, 3, 3], [1], [2, 1]],)]),
    "queens": ("""
        function safe(column, placed) =
          let n = #placed in all({column /= c and abs(column - c) /= n - i : c in placed; i in [0:n]});
        function place(n, k, boards) =
          if k == 0 then boards
          else place(n, k - 1, flatten({{b ++ [c] : c in [0:n] | safe(c, b)} : b in boards}));
        function main(n) : int -> [[int]] = place(n, n, [[] int]);""", [(0,), (1,), (3,), (5,)]),
    "Walsh-Hadamard transforms of rows": ("""
        function transform(v) =
          if #v < 2 then v
          else let r = {transform(h) : h in [even_elts(v), odd_elts(v)]}
               in {a + b : a in r[0]; b in r[1]} ++ {a - b : a in r[0]; b in r[1]};
        function main(m) : [[int]] -> [[int]] = {transform(r) : r in m};""",
        [([],), ([[1, 2, 3, 4], [], [5], [1, 0, 0, 0, 0, 0, 0, 1]],)]),
    "several searches at once": ("""
        function search(graph, seen, front, level) =
          if #front == 0 then seen
          else let marked = seen <- {(v, level) : v in front};
                   new = remove_duplicates({w in flatten(graph -> front) | marked[w] < 0})
               in search(graph, marked, new, level + 1);
        function main(graph) : [[int]] -> [[int]] =
          {search(graph, dist(-1, #graph), [s], 0) : s in [0:#graph]};""",
        [([],), ([[]],), ([[1, 2], [0], [3], [], [0]],)]),
    "primes": ("""
        function sieve(n) =
          if n < 3 then [] int
          else let small = sieve(isqrt(n - 1) + 1);
                   composite = flatten({[p * p : n : p] : p in small})
               in drop({i : i in [0:n]; k in dist(t, n) <- {(c, f) : c in composite} | k}, 2);
        function main(v) : [int] -> [[int]] = {sieve(n) : n in v};""", [([],), ([2, 3, 30, 0, 100],)]),
    "a sparse matrix transposed": ("""
        function main(m) : [[(int, int)]] -> [(int, [(int, int)])] =
          int_collect(flatten({{(c, (i, x)) : (c, x) in r} : r in m; i in [0:#m]}));""",
        [([],), ([[], [(0, 5), (2, 6)], [], [(2, 7)]],)]),
    "edit distance, a row at a time": ("""
        function step(s, b, i, row) =
          if i == #s then row
          else let best = {min(min(row[j] + btoi(s[i] /= c), row[j + 1] + 1), i + 2 + j) : c in b; j in [0:#b]};
                   shifted = {x - j : x in [i + 1] ++ best; j in [0:#b + 1]};
                   least = {min(x, y) : x in shifted; y in min_scan(shifted)}
               in step(s, b, i + 1, {x + j : x in least; j in [0:#b + 1]});
        function main(words, to) : ([[char]], [char]) -> [int] =
          {step(w, to, 0, [0:#to + 1])[#to] : w in words};""",
        [([], list("ab")), ([list("kitten"), [], list("sitting")], list("sitting")), ([list("a"), []], [])]),
    "components of a graph": ("""
        function root(p) = let q = p -> p in if eql(p, q) then p else root(q);
        function merge(p, edges) =
          let across = {(max(p[a], p[b]), min(p[a], p[b])) : (a, b) in edges | p[a] /= p[b]}
          in if #across == 0 then p else merge(root(p <- across), edges);
        function main(groups) : [(int, [(int, int)])] -> [[int]] = {merge([0:n], e) : (n, e) in groups};""",
        [([],), ([(0, []), (6, [(0, 1), (4, 5), (1, 2), (5, 0)]), (2, []), (1, [(0, 0)])],)]),
    "places in a sorted sequence": ("""
        function place(v, x, low, high) =
          if low >= high then low
          else let middle = (low + high) / 2
               in if v[middle] < x then place(v, x, middle + 1, high) else place(v, x, low, middle);
        function main(m, xs) : ([[int]], [int]) -> [[int]] = {{place(sort(r), x, 0, #r) : x in xs} : r in m};""",
        [([], [1]), (HUGE, [0, 7, 50]), (HUGE, [])]),
    "trees of uneven depth": ("""
        function height(kids, v) = 1 + max(0, max_val({height(kids, k) : k in kids[v]}));
        function path(kids, v) =
          if #kids[v] == 0 then [v]
          else let paths = {path(kids, k) : k in kids[v]} in [v] ++ paths[max_index({#p : p in paths})];
        function main(kids) : [[int]] -> ([int], [[int]]) =
          ({height(kids, v) : v in [0:#kids]}, {path(kids, v) : v in [0:#kids]});""",
        [([],), ([[]],), ([[1, 2], [], [3], [4, 5], [], [6], []],)]),
    "lines of text": ("""
        function main(text, width) : ([char], int) -> ([[char]], [[char]]) =
          (justify_text(text, width), {w : l in linify(text); w in {reverse(l) : l in linify(text)} | #l > 0});""",
        [([], 5), (list("the quick  brown\n\nfox jumps"), 9)]),
    "an operator that does not commute": ("""
        function compose(x, y) = let ((a, b), (c, d)) = (x, y) in (a * c, c * b + d);
        function main(v) : [(int, int)] -> ([(int, int)], (int, int)) = scan(compose, (1, 0), v);""",
        [([(2, 1)],), ([(2, 1), (3, -1), (1, 5), (-1, 2), (2, 0)],)]),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_algorithm(name: str) -> None:
    source, cases = PROGRAMS[name]
    program = Compiled(source)
    for arguments in cases:
        expected = outcome(program, "interpreter", arguments)
        assert not isinstance(expected, Failed), expected
        for executor in EXECUTORS:
            found = outcome(program, executor, arguments)
            assert agree(expected, found), f"{executor}: {found}, not {expected}, for {arguments}"
