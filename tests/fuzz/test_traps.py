"""Programs on which flattening and fusion go wrong easily, on every executor."""
from __future__ import annotations

import math
from typing import Any

import pytest
from executors import ANY as ERROR
from executors import EXECUTORS, Compiled, agree, outcome

MIN, MAX = -2**63, 2**63 - 1
NAN, INF = math.nan, math.inf
SUMS = """
function from(i, kids, w) = w[i] + sum({from(k, kids, w) : k in kids[i]});
"""
CHOOSE_ROW = """
function choose(k, a, b) = if k < 1 then a else let z = sum([0:k]) in if z >= 0 then choose(k - 1, b, a) else a;
"""
DOUBLED = "function doubled(k, v) = if k < 1 then [v] else flatten({doubled(k - 1, v) : z in [0:2]});"
NARROW = "function un(k) = if k < 1 then [0] else let v = un(k - 1) in [sum(v) + 1];"
SWAP = """
function swap(k, a, m) =
  if k < 1 then (a, m) else swap(k - 1, (if #m > 0 then m[0] else a), {r in m | #r /= k});
"""
MUTUAL = """
function odd(v) : [int] -> int;
function even(v) = if #v == 0 then 0 else 1 + sum({odd({y in v | y < x}) : x in v});
function odd(v) : [int] -> int = if #v == 0 then 1 else 2 + sum({even({y in v | y > x}) : x in v});
"""
FIRST_ROW = """
function at(k, m) = if k < 1 then m[0] else at(k - 1, drop(m, 1));
function cut(k, v) =
  if k > 5 then cut(k - 1, v)
  else let parts = {take(v, i) : i in [0:#v]}; rest = {drop(v, i) : i in [0:#v]}
       in at(k, if k < 1 then parts else rest);
"""
SAME = """
function turned(k, a) =
  let s = sum([0:k]) in if k < 1 then a else let r = turned(k - 1, choose(s, a, a)) in if s > 2 then r else a;
"""
RETURNED = """
function back(k, v) : (int, [int]) -> [int] = let w = (if k < 1 then 0 else #back(k - 1, [k, k])) in v;
"""
N, M = "(v) : [int]", "(v, m) : ([int], [[int]])"

# what may go wrong: definitions, main's parameters with their types, its result, its body, arguments, the outcome
TRAPS: dict[str, tuple[str, str, str, str, tuple[Any, ...], Any]] = {
    "a constant zero has no sign after its negation": (
        "", "(x) : float", "[float]", "[-0.0, -x, (let y = 0.0 in -y), 0.0 * -1.0, -5.0, sqrt(-0.0)]", (0.0,),
        [0.0, 0.0, 0.0, -0.0, -5.0, 0.0]),
    "recursion that no conditional ends": (
        SUMS, "(kids, w) : ([[int]], [int])", "[int]", "{from(j, kids, w) : j in [0:2]}",
        ([[1], [], [0]], [5, 7, 9]), [12, 7]),
    "infinity and no number": (
        "", "(v) : [float]", "[float]", "{if x > 0.0 then -inf * x else nan : x in v} ++ {sum([inf, x]) : x in v}",
        ([1.0, -1.0],), [-INF, NAN, INF, INF]),
    "a let nobody uses": ("", M, "[[int]]", "{let y = v[9] in {x + y : x in r} : r in m}", ([1], [[]]), ERROR),
    "a payload that ignores its index": ("", N, "[int]", "{dist(1, 3)[i] : i in v}", ([7],), ERROR),
    "no writes that add": ("", "(v) : [float]", "[float]", "write_add(v, [] (int, float))", ([1.5],), [1.5]),
    "an element of an empty literal": ("", N, "[int]", "{([] int)[i] : i in v}", ([0],), ERROR),
    "times zero": ("", N, "[int]", "dist(1, v[9] * 0)", ([1],), ERROR),
    "equal branches": ("", N, "[int]", "{if v[i] > 0 then 1 else 1 : i in v}", ([5],), ERROR),
    "a projection drops a sibling": ("", N, "int", "let (a, b) = (1, v[9]) in a", ([1],), ERROR),
    "a projection drops a sibling per element": ("", N, "[int]", "{first((1, v[i])) : i in v}", ([5],), ERROR),
    "a projection of a parallel part": ("", N, "[int]", "{first((sum(v), v[i])) : i in v}", ([5],), ERROR),
    "a filter guards the body": ("", N, "[int]", "{10 / a : a in v | a > 0}", ([0, 5],), [2]),
    "nothing runs for no elements": ("", N, "[int]", "{1 / 0 : x in v}", ([],), []),
    "nothing parallel runs for no elements": ("", M, "[int]", "{sum(v -> [9]) : r in m}", ([1], []), []),
    "a uniform length that fails": ("", M, "[[int]]", "{[0 : 10 / #v] : r in m}", ([], []), []),
    "a copying merge": (CHOOSE_ROW, M, "[int]", "{choose(k, m[0], m[1])[0] : k in v}",
                        ([0, 3, 2, 7], [[1, 2], [3]]), [1, 3, 1, 3]),
    "rows shared by many": (DOUBLED, N, "[int]", "{#r : r in doubled(3, v)}", ([1, 2],), [2] * 8),
    "what was given away comes back": (
        RETURNED, N, "[[int]]", "{back(3, {j * j : j in [0:k]}) : k in v}", ([2, 3, 0],), [[0, 1], [0, 1, 4], []]),
    "one sequence passed as two": (CHOOSE_ROW + SAME, N, "[[int]]", "{turned(k, v) : k in v}", ([0, 3, 2],),
                                   [[0, 3, 2]] * 3),
    "rows of one sequence in two that are brought together": (
        FIRST_ROW, M, "[[int]]", "{cut(k, r) : k in v; r in m}", ([0, 2, 9], [[1, 2], [3, 4, 5], [6] * 9]),
        [[], [5], [6] * 4]),
    "the length of what fails": ("", N, "int", "#({v[i] : i in [5]})", ([1],), ERROR),
    "scattered rows: the last wins whole": (
        "", "(m) : [[int]]", "[[int]]", "m <- [(0, [1]), (0, [2, 3])]", ([[9], [8]],), [[2, 3], [8]]),
    "empty segments everywhere": (
        "", "(m) : [[int]]", "[(int, int)]", "{(sum(r), max_val(r)) : r in m}", ([[], [1], [], [], [2, 3], []],),
        [(0, MIN), (1, 1), (0, MIN), (0, MIN), (5, 3), (0, MIN)]),
    "a space made in a branch not taken": (
        "", M, "[int]", "{(if x < 0 then sum(m[0]) else 0) + sum(m[0]) : x in v}", ([1, 2], [[4, 5]]), [9, 9]),
    "a space made in a branch of the host": (
        "", M, "int", "(if #v < 0 then sum({e : e in m[0]}) else 0) + sum({e : e in m[0]})", ([1, 2], [[4, 5]]), 9),
    "equal totals, unequal rows": (
        "", "(a, b) : ([[int]], [[int]])", "[[int]]", "{{x + y : x in r; y in q} : r in a; q in b}",
        ([[1], [2, 3]], [[1, 2], [3]]), ERROR),
    "counts of rows, some empty": (
        "", "(m) : [[int]]", "[[int]]", "{{x in r | x > 1} : r in m}", ([[], [1], [2, 1, 3], [], [0]],),
        [[], [], [2, 3], [], []]),
    "and is strict": ("", "(m) : [[int]]", "[bool]", "{#r > 0 and r[0] == 1 : r in m}", ([[1], []],), ERROR),
    "if is lazy": ("", "(m) : [[int]]", "[bool]", "{if #r > 0 then r[0] == 1 else f : r in m}", ([[1], []],),
                   [True, False]),
    "a branch that no element takes": (
        "", N, "[int]", "{if x < 100 then x else sum({y / 0 : y in v}) : x in v}", ([1, 2],), [1, 2]),
    "a triangle upside down": ("", N, "[[int]]", "{[0 : 2 - i] : i in [0:4]}", ([],), ERROR),
    "a triangle": ("", "(n) : int", "[[int]]", "{[0 : i + 1] : i in [0:n]}", (4,),
                   [[0], [0, 1], [0, 1, 2], [0, 1, 2, 3]]),
    "lanes that have finished": (NARROW, N, "[int]", "{sum(un(k)) : k in v}", ([1, 0, 30, 1],), [1, 0, 30, 1]),
    "lengths that are negative": ("", N, "[[int]]", "partition(v, [4, -1])", ([1, 2, 3],), ERROR),
    "lengths that sum up only in total": (
        "", M, "[[[int]]]", "{partition(r, v) : r in m}", ([1, 1], [[1, 2], [3, 4], [5]]), ERROR),
    "rows of three payloads": (
        "", M, "[[int]]", "{if #r < 1 then v else if #r < 2 then r else {x + 1 : x in r} : r in m}",
        ([7, 8], [[], [1], [2, 3], []]), [[7, 8], [1], [3, 4], [7, 8]]),
    "rows that are arguments": (
        CHOOSE_ROW, M, "[[int]]", "{choose(#r, r, v) : r in m}", ([7], [[], [1], [2, 3]]), [[], [7], [2, 3]]),
    "the same rows twice": (
        CHOOSE_ROW, M, "[[int]]", "{choose(#r, r, r) : r in m}", ([7], [[], [1], [2, 3]]), [[], [1], [2, 3]]),
    "an argument of two payloads": (
        SWAP, M, "[[int]]", "{first(swap(#r, r, m)) : r in m}", ([], [[1], [2, 3], []]), [[1], [1], []]),
    "flatten of rows that are shared": (
        "", M, "[int]", "flatten({flatten(dist(r, 2)) : r in m})", ([], [[1, 2], [], [3]]), [1, 2, 1, 2, 3, 3]),
    "a filter in gathered rows": (
        "", M, "[[int]]", "{{x in r | x > 2} : r in m -> v}", ([1, 1, 0], [[1, 9], [3, 2, 4]]),
        [[3, 4], [3, 4], [9]]),
    "conditional bounds of conditional bounds": (
        "", "(c, v) : ([bool], [int])", "[[int]]",
        "{let x1 = if d then v else reverse(v); x2 = if d then x1 else reverse(x1); x3 = if d then reverse(x2) else x2 "
        "in x3 : d in c}", ([True, False], [1, 2, 3]), [[3, 2, 1], [1, 2, 3]]),
    "mutual recursion": (MUTUAL, M, "[int]", "{even(r) + odd(r) : r in m}", ([], [[], [1], [2, 1]]), [1, 4, 8]),
    "an index that is out of range, as an index": (
        "", "(a, b, ix) : ([int], [int], [int])", "[int]", "{a[b[i]] : i in ix}", ([1, 2], [0, 1], [0, 2**40]), ERROR),

    # filters and what has their length
    "a filter's elements with their numbers": (
        "", N, "int", "let gts = {x in v | x > 0} in sum({x * i : x in gts; i in [0:#gts]})", ([-1, 3, 0, 5, 7],), 19),
    "a second array of a filter's length": (
        "", "(v, w) : ([int], [int])", "int", "let gts = {x in v | x > 0} in sum({x * y : x in gts; y in w})",
        ([-1, 3, 0, 5], [10, 100]), 530),
    "a second array not of a filter's length": (
        "", "(v, w) : ([int], [int])", "int", "let gts = {x in v | x > 0} in sum({x * y : x in gts; y in w})",
        ([-1, 3, 0, 5], [10, 100, 1]), ERROR),
    "a second array shorter than the filter's": (
        "", "(v, w) : ([int], [int])", "[int]", "{x * y : x in {x in v | x > 0}; y in w}", (list(range(40)), [1]),
        ERROR),
    "the sum with a second array shorter than the filter's": (
        "", "(v, w) : ([int], [int])", "int", "sum({x * y : x in {x in v | x > 0}; y in w})", (list(range(40)), [1]),
        ERROR),
    "a shorter second array, the first used before": (
        "", "(v, w) : ([int], [int])", "(int, [int])", "let s = sum(v) in (s, {x * y : x in v; y in w})",
        (list(range(40)), [1]), ERROR),
    "two sums, the second of unequal lengths": (
        "", "(v, w) : ([int], [int])", "(int, int)", "(sum(v), sum({x * y : x in v; y in w}))",
        (list(range(40)), [6]), ERROR),
    "copies of elements in both branches": (
        "", N, "[[int]]", "{if x > 0 then dist(x, 2) else dist(x, 3) : x in v}", ([1, -2, 3],),
        [[1, 1], [-2, -2, -2], [3, 3]]),
    "copies of elements in a literal": (
        "", N, "[[[int]]]", "{[dist(x, 1), dist(x, 2)] : x in v}", ([1, -2],), [[[1], [1, 1]], [[-2], [-2, -2]]]),
    "copies of elements appended": (
        "", N, "[[[int]]]", "{[dist(x, 1)] ++ [dist(x, 2)] : x in v}", ([1, -2],), [[[1], [1, 1]], [[-2], [-2, -2]]]),
    "copies of rows in both branches": (
        "", M, "[[[int]]]", "{if #r > 1 then dist(r, 2) else dist(r, 1) : r in m}", ([], [[1], [2, 3]]),
        [[[1]], [[2, 3], [2, 3]]]),
    "offsets made in a branch of the host": (
        "", "(m) : [[[int]]]", "[[int]]",
        "let w = {flatten(r) : r in m}; a = (if #m > 1 then {{x + 1 : x in r} : r in w} else w) "
        "in a ++ {{x * 2 : x in r} : r in w}", ([[[1], [2]], [[3]]],), [[2, 3], [4], [2, 4], [6]]),
    "a uniform length that needs a let": (
        "", "(v, w) : ([int], [int])", "[[int]]", "{w ++ (if #w > 1 then w else v) : x in v}", ([0, 0], [1]),
        [[1, 0, 0], [1, 0, 0]]),
    "a range of long strides": ("", N, "[int]", "[v[0] : v[1] : max_int]", ([0, 5],), [0]),
    "literals for a filter's survivors": (
        "", N, "[[int]]", "{[4, 5] : x in v | x > 0}", ([1, -1, 2],), [[4, 5], [4, 5]]),
    "two filters of the same length": (
        "", N, "int", "sum({x * y : x in {x in v | x > 0}; y in {x in v | x < 0}})", ([-1, 3, -2, 5],), -13),
    "the greatest of no floats": ("", "(v) : [float]", "float", "max_val({x in v | x > 9.0})", ([1.0, 2.0],), -INF),
    "the least of no floats": ("", "(v) : [float]", "float", "min_val({x in v | x > 9.0})", ([1.0, 2.0],), INF),
    "the greatest so far": ("", N, "[int]", "max_scan({x in v | x /= 0})", ([3, 0, 1, 5, 0, 4],), [MIN, 3, 3, 5]),
    "the sum of nothing": ("", N, "int", "sum({x in v | x > 9})", ([1, 2],), 0),
    "a predicate guarded by a filter": (
        "", N, "[int]", "{x in {x in v | x /= 0} | 10 / x > 2}", ([0, 3, 5, 0, 1],), [3, 1]),
    "a predicate that fails": ("", N, "[int]", "{x in v | 10 / x > 2}", ([3, 0],), ERROR),
    "a body guarded twice": (
        "", N, "int", "sum({10 / x : x in {x in v | x >= 0} | x /= 0})", ([0, 3, 5, -1],), 5),

    "a wrong length that no element has": ("", "(v, k) : ([int], int)", "[[int]]", "{[0:k] : x in v}", ([], -1), []),
    "a wrong length that all elements have": ("", "(v, k) : ([int], int)", "[[int]]", "{[0:k] : x in v}", ([7], -1),
                                              ERROR),
    "a wrong length in a branch that none takes": (
        "", "(v, k) : ([int], int)", "[[int]]", "{if x > 0 then [0:k] else v : x in v}", ([-7], -1), [[-7]]),
    "unequal lengths that no element has": (
        "", "(v, w) : ([int], [int])", "[[int]]", "{{y + z : y in w; z in [1,2]} : x in v}", ([], [1]), []),
    "unequal lengths that all elements have": (
        "", "(v, w) : ([int], [int])", "[[int]]", "{{y + z : y in w; z in [1,2]} : x in v}", ([0], [1]), ERROR),

    # numbers
    "the least int over -1": ("", N, "[int]", "{x / -1 : x in v}", ([MIN, MAX],), [MIN, -MAX]),
    "the rest of the least int": ("", N, "[int]", "{rem(x, -1) : x in v}", ([MIN, 5],), [0, 0]),
    "ints wrap": ("", N, "[int]", "{x + 1 : x in v} ++ {x * x : x in v} ++ [sum(v), -v[1], abs(v[1])]",
                  ([MAX, MIN, 2**32],), [MIN, MIN + 1, 2**32 + 1, 1, 0, 0, 2**32 - 1, MIN, MIN]),
    "zero divides at the host": ("", "(k) : int", "int", "10 / k", (0,), ERROR),
    "zero divides a float": ("", "(v) : [float]", "[float]", "{1.0 / x : x in v}", ([0.0],), ERROR),
    "what is not a number": (
        "", "(v) : [float]", "([float], [float])",
        "let n = v[0] - v[0] in (sort(v ++ [n]), [max(n, 1.0), min(1.0, n)])",
        ([INF, 1.0, -INF],), ([-INF, 1.0, INF, NAN], [NAN, NAN])),
    "the greatest with what is not a number": ("", "(v) : [float]", "(float, float)", "(max_val(v), min_val(v))",
                                               ([1.0, NAN, 2.0],), (NAN, NAN)),
    "minus zero": ("", "(v) : [float]", "([float], [bool])", "({x : x in reverse(v) | x == 0.0}, {x == -x : x in v})",
                   ([0.0, -0.0],), ([-0.0, 0.0], [True, True])),
    "minus a number is 0.0 minus it": ("", "(v) : [float]", "[float]", "{-x : x in v} ++ [-v[1]]", ([0.0, -0.0],),
                                       [0.0, 0.0, 0.0]),
    "chars": ("", "(s) : [char]", "([char], [int])", "({uppercase(c) : c in s}, {char_code(c) : c in s})",
              (["a", "é", "𝄞"],), (["A", "é", "𝄞"], [97, 233, 0x1D11E])),
    "no char": ("", N, "[char]", "{code_char(x) : x in v}", ([65, -1],), ERROR),
}




@pytest.mark.sampled(quick=2)
@pytest.mark.parametrize("name", TRAPS)
def test_trap(name: str) -> None:
    definitions, parameters, result, body, arguments, expected = TRAPS[name]
    program = Compiled(f"{definitions}\nfunction main{parameters} -> {result} = {body};")
    for executor in EXECUTORS:
        found = outcome(program, executor, arguments)
        assert agree(expected, found), f"{executor}: {found}, not {expected}"
        expected = found            # a failure is one and the same everywhere


@pytest.mark.sampled(quick=3)
@pytest.mark.parametrize("name", TRAPS)
def test_trap_as_gpus_have_it(name: str) -> None:
    """What the passes for GPUs make of the program, in the reference."""
    definitions, parameters, result, body, arguments, expected = TRAPS[name]
    program = Compiled(f"{definitions}\nfunction main{parameters} -> {result} = {body};", target="cuda")
    found = outcome(program, "reference ilp", arguments)
    assert agree(expected, found), f"{found}, not {expected}"
