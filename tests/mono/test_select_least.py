"""The few least are found without sorting: of what, and that they are those of the sort, everywhere."""
from __future__ import annotations

import math
import random
from typing import Any

import pytest
from executors import Compiled, agree, outcome

import nessie
from nessie import forms
from nessie.mono import nodes as mono
from nessie.mono.check import check
from nessie.mono.walk import expressions

FLOATS = [[3.0, -1.0, math.nan, 2.0, -1.0, 0.0, -0.0, math.nan, 7.5, -math.inf], [], [math.nan] * 5, [1.0], [5.0, 4.0],
          [math.inf, 1.0, math.nan], [float(x) for x in range(40, 0, -1)]]
INTS = [[3, 1, 2, 1, -2**63, 2**63 - 1, 1], [], [7], [2**63 - 1] * 4, [5, 4, 3, 2, 1, 0, -1, -2, -3, -4]]
LONG = [[*range(7)], [9, 8, 7, 6, 5, 4, 3, 2, 1, 0]]
FEW = "{i in [0:#r]; o in rank(r) | o < %s}"

SELECTED: dict[str, tuple[str, list[Any]]] = {
    "ranks": ("(m) : [[float]] -> [[int]] = {{i in [0:#r]; o in rank(r) | o < 3} : r in m}", [FLOATS]),
    "one": ("(m) : [[float]] -> [[float]] = {{x in r; o in rank(r) | 0 == o} : r in m}", [FLOATS]),
    "eight": ("(m) : [[int]] -> [[(int,int)]] = {{(x, o) : x in r; o in rank(r) | o <= 7} : r in m}", [INTS]),
    "ranks from above": ("""(m) : [[float]] -> [[(float,int)]] =
        {{(x, o) : x in r; o in rank_down(r) | 4 > o} : r in m}""", [FLOATS]),
    "ranks with a name": ("""(m) : [[float]] -> [(int,[float],[int])] =
        {let o = rank(r) in (#o, {x : x in r; k in o | k < 2}, {k + i : k in o; i in [0:#o] | k < 4}) : r in m}""",
        [FLOATS]),
    "another condition": ("""(m) : [[int]] -> [[int]] =
        {{x : x in r; o in rank(r) | x > 0 and o < 3} : r in m}""", [INTS]),
    "made keys": ("""(m) : [[int]] -> [[int]] =
        {{x in r; o in rank({float(x) * float(y) : y in r}) | o < 2} : x in [1, -1, 0, 2, 3]; r in m}""", [INTS]),
    "slices": ("(m) : [[float]] -> [[float]] = {take(sort(r), 1) ++ subseq(sort(r ++ r), 1, 2) : r in m}",
               [[r for r in FLOATS if r]]),
    "slices that fail": ("(m) : [[float]] -> [[float]] = {take(sort(r), 3) : r in m}", [FLOATS]),
    "elements": ("(m) : [[int]] -> [int] = {let s = sort(r) in s[0] + s[1] : r in m}", [[[3, 1, 2], [4, 4]]]),
    "elements that fail": ("(m) : [[int]] -> [int] = {sort(r)[2] : r in m}", [[*LONG, [1, 2]]]),
    "the k least": ("(m) : [[float]] -> [[float]] = {k_smallest(r, 2) ++ k_smallest(r, 1) : r in m}",
                    [[r for r in FLOATS if len(r) > 1]]),
    "of one sequence": (f"(r) : [float] -> ([float],[int]) = (k_smallest(r, 4), {FEW % 4})", [FLOATS[0] * 3]),
    "lengths that differ": ("(m) : [[float]] -> [[int]] = {{i in [0:3]; o in rank(r) | o < 2} : r in m}", [FLOATS]),
    "a body that fails": ("(m) : [[int]] -> [[int]] = {{6 / x : x in r; o in rank(r) | o < 3} : r in m}",
                          [[[5, 4, 3], [3, 1, 0, 7], [0]]]),
    "narrow": ("(m) : [[int]] -> [[int]] = {{x in r; o in rank({x - 3 : x in r}) | o < 2} : r in m}", [LONG]),
}
CHOSEN: dict[str, tuple[str, list[Any]]] = {
    "a bound": (f"(r, k) : ([float], int) -> [int] = {FEW % 'k'}", [FLOATS[0]]),
    "a last": ("(r, k) : ([float], int) -> [float] = {x in r; o in rank(r) | k >= o}", [FLOATS[0]]),
    "as many": ("(r, k) : ([int], int) -> [int] = k_smallest(r, k) ++ take(sort(r), 6)", [LONG[0]]),
    "as many of one": ("(m, k) : ([[int]], int) -> [int] = take(sort(m[1]), k)", [LONG]),
}
SORTED: dict[str, tuple[str, list[Any]]] = {
    "as many of rows": ("(m, k) : ([[int]], int) -> [[int]] = {k_smallest(r, k) : r in m}", [LONG, 3]),
    "many": ("(m) : [[float]] -> [[int]] = {{i in [0:#r]; o in rank(r) | o < 9} : r in m}", [FLOATS]),
    "the others": ("(m) : [[float]] -> [[int]] = {{i in [0:#r]; o in rank(r) | o > 3} : r in m}", [FLOATS]),
    "ranks that are read": ("""(m) : [[float]] -> [([int],[int])] =
        {let o = rank(r) in ({k : k in o | k < 2}, o) : r in m}""", [FLOATS]),
    "a condition that fails": ("""(m) : [[int]] -> [[int]] =
        {{x : x in r; o in rank(r) | o < 2 and 1 / x > 0} : r in m}""", [INTS]),
    "a bound of each": (f"(m) : [[int]] -> [[int]] = {{let b = #r - 5 in {FEW % 'b'} : r in m}}", [LONG]),
    "a bound of elements": ("(m) : [[int]] -> [[int]] = {{x : x in r; o in rank(r) | o < x} : r in m}", [INTS]),
    "the last": ("(m) : [[int]] -> [[int]] = {take(sort(r), -1) : r in m}", [LONG]),
    "a sort that is read": ("(m) : [[int]] -> [([int],int)] = {let s = sort(r) in (s, s[0]) : r in m}", [LONG]),
}


def selected(program: Compiled) -> mono.Program:
    made: mono.Program = program.passes(forms.MONO, program.mono, "select-least")
    check(made)
    return made


def folds(program: mono.Program) -> bool:
    return any(f.fold is not None for f in program.functions)


def sorts(program: mono.Program) -> int:
    return sum(isinstance(e, mono.Prim) and e.name == "sort" for f in program.functions for e in expressions(f.body))


@pytest.mark.parametrize("name", [*SELECTED, *SORTED])
def test_what_is_selected(name: str) -> None:
    text, arguments = SELECTED.get(name) or SORTED[name]
    program = Compiled(f"function main{text};")
    assert folds(selected(program)) == (name in SELECTED)
    assert not (name in SELECTED and sorts(selected(program)))
    expected = outcome(program, "interpreter", arguments)
    for executor in ("reference none", "reference ilp", "loops ilp", "cpu3 ilp"):
        assert agree(expected, outcome(program, executor, arguments)), executor


@pytest.mark.parametrize("name", CHOSEN)
@pytest.mark.parametrize("k", [-1, 0, 1, 4, 5, 6, 7, 10**12, 2**63 - 1])
def test_bounds_that_a_run_knows(name: str, k: int) -> None:
    text, arguments = CHOSEN[name]
    program = Compiled(f"function main{text};")
    assert folds(selected(program))
    expected = outcome(program, "interpreter", [*arguments, k])
    for executor in ("reference ilp", "cpu3 ilp"):
        assert agree(expected, outcome(program, executor, [*arguments, k])), executor


def test_on_a_gpu() -> None:
    """Blocks join tuples of many entries there, equal keys in order."""
    rows = [[float(mod) for mod in range(size)] for size in (5, 0, 1, 300)] + [[1.0, math.nan] * 70, [2.0] * 150]
    program = Compiled("""function main(m) : [[float]] -> ([[int]],[float]) =
        ({{i in [0:#r]; o in rank_down(r) | o < 3} : r in m}, k_smallest(flatten(m), 2));""", target="cuda")
    assert folds(selected(program))
    expected = outcome(program, "interpreter", [rows])
    assert agree(expected, outcome(program, "cudasim ilp", [rows]))


def test_rows_longer_than_a_chunk() -> None:
    numbers = random.Random(7)
    rows = [[float(numbers.randrange(50)) for _ in range(size)] for size in (70_000, 0, 3, 40_000)]
    program = Compiled("function main(m) : [[float]] -> [[int]] = {{i in [0:#r]; o in rank(r) | o < 6} : r in m};")
    assert folds(selected(program))
    expected = [sorted(sorted(range(len(r)), key=r.__getitem__)[:6]) for r in rows]
    for executor in ("cpu1 ilp", "cpu3 ilp"):
        assert outcome(program, executor, [rows]) == outcome(Compiled("function main(x) : [[int]] -> [[int]] = x;"),
                                                             "interpreter", [expected])


@pytest.mark.parametrize("call", ["k_smallest(v, -1)", "k_smallest(v, 4)", "k_smallest(v, 9)"])
def test_as_many_as_there_are(call: str) -> None:
    program = nessie.compile(f"function least(v) : [float] -> [float] = {call};")
    with pytest.raises(nessie.NessieError, match="Bad arguments to function K_SMALLEST"):
        program.least([3.0, 1.0, 2.0])
