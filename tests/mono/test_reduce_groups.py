"""Groups that are only reduced are not made: which are, and that the values are those of groups, everywhere."""
from __future__ import annotations

import math
from typing import Any

import pytest
from executors import Compiled, agree, outcome

from nessie import forms
from nessie.mono import nodes as mono
from nessie.mono.check import check
from nessie.mono.walk import expressions

PAIRS = [[(3, 5), (1, -2), (3, 1), (10, 0), (1, 7)], [], [(2**62, 1), (-2**62, 2), (2**62, 3)], [(5, 5)]]
FLOATS = [[(0.0, 1.5), (-0.0, 2.0), (math.nan, 4.0), (math.nan, 8.0), (1.5, -0.0)], [],
          [(1.5, math.inf), (1.5, math.nan)]]
TEXTS = [[("a", 1), ("", 2), ("a", 3), ("ab", 4)], [], [("x" * 40 + "y", 5), ("x" * 41, 6), ("x" * 41, 7)]]
WORDS = [[([*word], x) for word, x in row] for row in TEXTS]

REDUCED: dict[str, tuple[str, Any]] = {
    "sums": ("(m) : [[(int,int)]] -> [[(int,int)]] = {{(k, sum(vs)) : (k,vs) in int_collect(r)} : r in m}", PAIRS),
    "several": ("""(m) : [[(int,int)]] -> [[(int,int,int,int)]] =
        {{(k, #vs, max_val(vs), min_val({k - v : v in vs | v > 0})) : (k,vs) in int_collect(r)} : r in m}""", PAIRS),
    "tests": ("""(m) : [[(int,int)]] -> [[(int,bool,bool)]] =
        {{(k, any({v > 4 : v in vs}), all({v > 0 : v in vs})) : (k,vs) in collect(r) | count({v < 6 : v in vs}) > 0}
         : r in m}""", PAIRS),
    "sequences of sequences of values": ("""(m) : [[(int,int)]] -> [[(int,int)]] =
        {{let big = {v * v : v in vs | v > k} in (sum({x + 1 : x in big}), #big) : (k,vs) in int_collect(r)}
         : r in m}""", PAIRS),
    "names": ("""(m) : [[(int,int)]] -> [(int,[int],[int])] =
        {let g = int_collect(r) in (#g, {sum(vs) : (k,vs) in g}, {k : (k,_) in g | k > 1}) : r in m}""", PAIRS),
    "what is around": ("""(m) : [[(int,int)]] -> [[int]] =
        {let g = int_collect(r); w = #r in {sum({v * w : v in vs}) : (_,vs) in g} : r in m}""", PAIRS),
    "floats": ("""(m) : [[(float,float)]] -> [[(float,(float,float))]] =
        {{(k, (sum(vs), max_val(vs))) : (k,vs) in collect(r)} : r in m}""", FLOATS),
    "strings": ("""(m) : [[([char],int)]] -> [[([char],int)]] =
        {{(k ++ "!", sum({v + #k : v in vs})) : (k,vs) in collect(r)} : r in m}""", WORDS),
    "pairs": ("""(m) : [[(int,int)]] -> [[(int,int,int)]] =
        {{(a, b, sum(vs)) : ((a,b),vs) in collect({((k, rem(v,2)), v) : (k,v) in r})} : r in m}""", PAIRS),
}
MADE: dict[str, tuple[str, Any]] = {
    "values": ("(m) : [[(int,int)]] -> [[(int,[int],int)]] = {{(k, vs, sum(vs)) : (k,vs) in int_collect(r)} : r in m}",
               PAIRS),
    "what may fail": ("(m) : [[(int,int)]] -> [[int]] = {{sum({7 / v : v in vs}) : (k,vs) in int_collect(r)} : r in m}",
                      PAIRS),
    "what the body makes": ("""(m) : [[(int,int)]] -> [[int]] =
        {{let w = sum(vs) * k in sum({v - w : v in vs}) : (k,vs) in int_collect(r)} : r in m}""", PAIRS),
    "a key with floats": ("""(m) : [[(float,float)]] -> [[float]] =
        {{sum({if k < v then v else k : v in vs}) : (k,vs) in collect(r)} : r in m}""", FLOATS[:1]),
    "what binds names, twice": ("""(m) : [[(int,int)]] -> [[(int,int)]] =
        {{let some = {let w = v * v in w + w : v in vs} in (sum(some), max_val(some)) : (k,vs) in int_collect(r)}
         : r in m}""", PAIRS),
    "a name that is read": ("""(m) : [[(int,int)]] -> [([int],[[int]])] =
        {let g = int_collect(r) in ({sum(vs) : (_,vs) in g}, {vs : (_,vs) in g}) : r in m}""", PAIRS),
}


def groups(program: mono.Program) -> bool:
    """Are there sequences of the values of groups, which are sorted by group?"""
    return any(isinstance(e, mono.Prim) and e.name == "partition"
               for f in program.functions for e in expressions(f.body))


@pytest.mark.sampled(quick=4, ci=2)
@pytest.mark.parametrize("name", [*REDUCED, *MADE])
def test_groups(name: str) -> None:
    text, argument = REDUCED.get(name) or MADE[name]
    program = Compiled(f"function main{text};")
    reduced = program.passes(forms.MONO, program.mono, "reduce-groups")
    check(reduced)
    if name != "strings":               # which are partitioned to tell them apart
        assert groups(reduced) == (name in MADE)
    expected = outcome(program, "interpreter", [argument])
    for executor in ("reference none", "reference ilp", "loops ilp", "cpu3 ilp"):
        assert agree(expected, outcome(program, executor, [argument]))
