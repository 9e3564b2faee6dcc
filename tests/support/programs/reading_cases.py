"""Functions that run per element and read sequences: slices, rows of rows, tuples; results that are
slices. Some fail.

    CASES[name]             main's parameters, its result's type, its body, arguments
    compiled(name)          the program
"""
from __future__ import annotations

import re
from typing import Any

from executors import Compiled

FUNCTIONS = """
function search(v, x, low, high) =
  if low >= high then low
  else let m = (low + high) / 2 in if v[m] < x then search(v, x, m + 1, high) else search(v, x, low, m);
function common(a, b, i) = if i == #a or i == #b then i else if a[i] == b[i] then common(a, b, i + 1) else i;
function total(left, right, x, k) =
  if k < 0 then 0 else x[k] + total(left, right, x, left[k]) + total(left, right, x, right[k]);
function without(s, c) = if #s == 0 then s else if s[0] == c then without(subseq(s, 1, #s), c) else s;
function alternate(a, b, n) = if n == 0 then a else if n == 1 then b else alternate(b, a, n - 2);
function weighed(m, i, j, acc) =
  if i == #m then acc
  else if j == #m[i] then weighed(m, i + 1, 0, acc)
  else let (k, x) = m[i][j] in weighed(m, i, j + 1, acc + float(k) * x);
function chased(v, i) = if v[i] == 0 then i else chased(v, v[i]);
function divided(v, k) = if k == #v then 0 else 12 / v[k] + divided(v, k + 1);
function longest(m, v) = if #m == 0 then v else longest(drop(m, 1), if #m[0] > #v then m[0] else v);
function even_at(v, i) : ([int], int) -> bool;
function odd_at(v, i) : ([int], int) -> bool =
  if i == #v then f else if rem(v[i], 2) == 1 then t else even_at(v, i + 1);
function even_at(v, i) : ([int], int) -> bool =
  if i == #v then f else if rem(v[i], 2) == 0 then t else odd_at(v, i + 1);
function widest(ps, i, best) =
  let (v, k) = ps in if i == #v then best else widest((v, k + 1), i + 1, max(best, v[i] - k));
"""
WORDS = [list(word) for word in ("aab", "aabc", "aabc", "", "b", "aa")]
TREE = ([1, -1, -1], [2, -1, -1], [1, 2, 3])
CASES: dict[str, tuple[str, str, str, tuple[Any, ...]]] = {
    "a search for each": ("v : [int], x : [int]", "[int]", "{search(v, k, 0, #v) : k in x}",
                          ([1, 3, 5, 7], [0, 1, 2, 3, 9])),
    "a search in none": ("v : [int], x : [int]", "[int]", "{search(v, k, 0, #v) : k in x}", ([], [0, 1])),
    "a search for none": ("v : [int], x : [int]", "[int]", "{search(v, k, 0, #v) : k in x}", ([1], [])),
    "a search on the host": ("v : [int], k : int", "int", "search(v, k, 0, #v)", ([1, 3, 5, 7], 5)),
    "in what is made just before": ("v : [int], x : [int]", "[int]",
                                    "let w = {e * e : e in v} in {search(w, k, 0, #w) : k in x}",
                                    ([1, 3, 5, 7], [0, 1, 2, 30])),
    "in what survives just before": ("v : [int], x : [int]", "[int]",
                                     "let w = {e in v | e > 2} in {search(w, k, 0, #w) + e : k in x; e in x}",
                                     ([1, 3, 5, 7], [0, 1, 2, 7])),
    "in what is never made": ("n : int, x : [int]", "[int]", "let w = [0:n:3] in {search(w, k, 0, #w) : k in x}",
                              (20, [0, 1, 7, 30])),
    "in each row": ("m : [[int]], x : [int]", "[[int]]", "{{search(r, k, 0, #r) : k in x} : r in m}",
                    ([[1, 2], [], [5, 6, 7]], [2, 6])),
    "in a slice": ("v : [int], x : [int]", "[int]", "{search(subseq(v, 1, #v), k, 0, #v - 1) : k in x}",
                   ([9, 1, 3, 5], [0, 3, 6])),
    "in two appended": ("v : [int], w : [int]", "[int]", "let b = v ++ w in {search(b, k, 0, #b) : k in v}",
                        ([1, 3], [5, 7])),
    "in one of two": ("v : [int], w : [int]", "[int]", "{search((if k > 2 then v else w), k, 0, 2) : k in v}",
                      ([1, 3, 5], [0, 7])),
    "as a filter": ("v : [int], x : [int]", "[int]", "{k in x | search(v, k, 0, #v) > 1}", ([1, 3], [0, 4, 2, 9])),
    "into a sum": ("v : [int], x : [int]", "int", "sum({search(v, k, 0, #v) : k in x})", ([1, 3], [0, 4, 2, 9])),
    "neighbours of words": ("ws : [[char]]", "[int]", "{common(ws[i], ws[i + 1], 0) : i in [0:#ws - 1]}",
                            (WORDS,)),
    "a tree": ("l : [int], r : [int], x : [int], q : [int]", "[int]", "{total(l, r, x, k) : k in q}",
               (*TREE, [0, 1, 2, -1])),
    "a tree on the host": ("l : [int], r : [int], x : [int]", "int", "total(l, r, x, 0)", TREE),
    "slices as results": ("ws : [[char]]", "[[char]]", "{without(w, `a) : w in ws}", (WORDS,)),
    "lengths of such": ("ws : [[char]]", "[int]", "{#without(w, `a) : w in ws}", (WORDS,)),
    "elements of such": ("ws : [[char]]", "[[char]]", "{{c : c in without(w, `a) | c /= `c} : w in ws}",
                         (WORDS,)),
    "either of two as a result": ("v : [int], w : [int], ns : [int]", "[[int]]", "{alternate(v, w, n) : n in ns}",
                                  ([1], [2, 3], [0, 1, 2, 3, 4, 5])),
    "rows of pairs": ("b : [[[(int, float)]]]", "[float]", "{weighed(m, 0, 0, 0.0) : m in b}",
                      ([[[(1, 2.0)], [], [(2, 0.5), (3, 1.0)]], []],)),
    "a row of rows": ("b : [[[int]]]", "[[int]]", "{longest(m, [0]) : m in b}", ([[[1], [2, 3]], [], [[]]],)),
    "two that call each other": ("m : [[int]]", "[bool]", "{odd_at(r, 0) : r in m}", ([[1], [2, 2], [2, 4, 5], []],)),
    "a tuple with one": ("m : [[int]]", "[int]", "{widest((r, 0), 0, 0) : r in m}", ([[1, 5, 2], []],)),
    "one version for two": ("v : [int], w : [int]", "[int]",
                            "{search(v, k, 0, #v) : k in w} ++ {search(w, k, 0, #w) : k in v}", ([1, 3], [2, 4, 6])),
    "a failure inside": ("v : [int], x : [int]", "[int]", "{chased(v, k) : k in x}", ([1, 7, 0], [2, 0])),
    "a failure of an argument": ("v : [int], x : [int]", "[int]", "{chased(v, 2 / k) : k in x}", ([0, 2, 0], [1, 0])),
    "a failure of a slice": ("v : [int], x : [int]", "[int]", "{search(subseq(v, k, #v), 3, 0, 1) : k in x}",
                             ([1, 2], [0, 1, 5])),
    "a failure on the way back": ("m : [[int]]", "[int]", "{divided(r, 0) : r in m}", ([[1, 2], [3, 0, 4]],)),
    "a failure on the host": ("v : [int]", "int", "chased(v, 0)", ([1, 7, 0],)),
    "no failure where it is not run": ("v : [int], x : [int]", "[int]", "{chased(v, k) : k in x | k < 1}",
                                       ([0], [0, 9])),
}


def compiled(name: str, target: str = "cpu") -> Compiled:
    parameters, result, body, _ = CASES[name]
    names, types = zip(*re.findall(r"(\w+) : ([^:]+)(?:, |$)", parameters), strict=True)
    head = f"function main({', '.join(names)}) : ({', '.join(types)}) -> {result}"
    return Compiled(f"{FUNCTIONS}{head} = {body};", target=target)
