"""Reductions within elements: over few elements, of comparisons, in functions that only elements call. Some fail.

    CASES[name]             main's parameters, its result's type, its body, arguments
"""
from __future__ import annotations

from typing import Any

FUNCTIONS = """
function far(m, p, k, best) =
  if k == #m then best
  else far(m, p, k + 1, max(best, sum({(x - y) * (x - y) : x in m[k]; y in p | x /= 9})));
function biggest(m, k, best) = if k < 0 then best else biggest(m, k - 1, max(best, max_val(m[k]) - 2));
function counts(v, n) = if n == 0 then 0 else count({x > n : x in v}) + counts(v, n - 1);
function ranges(v, n) = if n == 0 then 0 else sum({v[i] * n : i in [0:n]}) + ranges(v, n - 1);
function found(v, n) = if n == 9 then -1 else if any({x == n : x in v}) then n else found(v, n + 1);
function parted(v, n) = if n == 0 then 0 else sum({x / n : x in {y - n : y in v | y > n}}) + parted(v, n - 1);
function halves(v, n) = if n == 0 or #v == 0 then [sum(v)] else halves(take(v, #v / 2), n - 1) ++ [max_val(v)];
"""
WORDS = [list(word) for word in ("ab", "", "abc", "ab", "b")]
CASES: dict[str, tuple[str, str, str, tuple[Any, ...]]] = {
    "of a literal": ("v : [int]", "[int]", "{sum({v[mod(i + d, #v)] : d in [-1, 0, 1]}) : i in [0:#v]}", ([1, 5, 9],)),
    "of a stencil": (
        "m : [[int]]", "[[int]]", "let near = [-1, 0, 1] in "
        "{{sum({sum({m[mod(i + d, #m)][mod(j + e, 3)] : e in near}) : d in near}) : j in [0:3]} : i in [0:#m]}",
        ([[1, 2, 3], [4, 5, 6]],)),
    "of a range": ("v : [int]", "[int]", "{product({x + k : k in [0:7:3]}) : x in v}", ([1, -3],)),
    "of floats": ("x : [float]", "[float]", "{sum({a * b : b in [0.5, -1.0]}) : a in x}", ([0.25, -0.0],)),
    "with a filter": ("v : [int]", "[int]", "{max_val({x * k : k in [1, 2, 3] | k /= x}) : x in v}", ([1, 2, -3],)),
    "of none that pass": ("v : [int]", "[bool]", "{any({x == k : k in [1, 2] | k > 2}) : x in v}", ([1, 2],)),
    "of two": ("v : [int]", "[int]", "{min_val({x * k + j : k in [1, -1]; j in [0:2]}) : x in v}", ([3, -4],)),
    "of characters": ("s : [char]", "[char]", "{max_val({max(c, d) : d in [`b, `a]}) : c in s}", (["a", "z"],)),
    "of what is counted": ("v : [int]", "[int]", "{count({x > k : k in [0, 5]}) : x in v}", ([1, 7, -1],)),
    "a failure of few": ("v : [int]", "[int]", "{sum({10 / (x - k) : k in [0, 1]}) : x in v}", ([3, 1, 0],)),
    "a failure before another": ("m : [[int]]", "[int]", "{let s = {10 / y : y in w} in sum({w[x] : x in s}) : w in m}",
                                 ([[1, 0]],)),
    "what is put together": (
        "m : [[int]]", "[bool]", "{if #(p ++ q) == #(q ++ p) then all({x == y : x in p ++ q; y in q ++ p}) else f "
        ": p in m; q in reverse(m)}", ([[1, 2], [1], [3]],)),
    "words": ("ws : [[char]]", "[[bool]]", "{{eql(a, b) : b in ws} : a in ws}", (WORDS,)),
    "lists of words": ("ws : [[char]]", "[bool]", "{eql([w, w], take(ws, 2)) : w in ws}", (WORDS,)),
    "slices": ("v : [int]", "[int]", "{i in [0:#v - 1] | eql(subseq(v, i, i + 2), take(v, 2))}", ([1, 2, 1, 2, 1],)),
    "pairs": ("q : [(int, char)]", "[bool]", "{eql(take(q, k), drop(q, k)) : k in [0:#q + 1]}",
              ([(1, "a"), (1, "a")],)),
    "comparisons on the host": ("v : [int], w : [int]", "bool", "eql(v, w)", ([1, 2], [1, 2])),
    "a function's sums": ("b : [[[int]]]", "[int]", "{far(m, [1, 2], 0, 0) : m in b}", ([[[1, 9], [5, 7]], []],)),
    "a failure of lengths": ("b : [[[int]]]", "[int]", "{far(m, [1, 2], 0, 0) : m in b}", ([[[1, 2], [5]], []],)),
    "a function's maxima": ("b : [[[int]]]", "[int]", "{biggest(m, #m - 1, 0) : m in b}", ([[[1, 9], []], []],)),
    "a function's counts": ("m : [[int]]", "[int]", "{counts(r, 3) : r in m}", ([[1, 9, 2], []],)),
    "a function's ranges": ("m : [[int]]", "[int]", "{ranges(r, 2) : r in m}", ([[1, 9, 2], [3, 4]],)),
    "a failure in a range": ("m : [[int]]", "[int]", "{ranges(r, 2) : r in m}", ([[1, 9, 2], [3]],)),
    "a failure of a range": ("v : [int]", "[int]", "{ranges(v, k) : k in v}", ([-1],)),
    "a function's search": ("m : [[int]]", "[int]", "{found(r, 0) : r in m}", ([[3, 1], [7], []],)),
    "a function's parts": ("m : [[int]]", "[int]", "{parted(r, 2) : r in m}", ([[3, 1], [7], []],)),
    "a function that stays parallel": ("m : [[int]]", "[[int]]", "{halves(r, 2) : r in m}", ([[3, 1, 4], [7], []],)),
    "one for the host, too": ("m : [[int]], v : [int]", "[int]", "{counts(r, counts(v, 1)) : r in m}",
                              ([[3, 1, 4], [7]], [1, 2, 3])),
}
