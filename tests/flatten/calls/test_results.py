"""Results of recursions that end in concatenations, and arguments that cover two arrays: the ways they may lie."""
from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import pytest
from amounts import examples
from executors import Compiled, Failed, agree, interpreted, outcome
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from nessie.cudagen.cuda.cudasim import compiler
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu import scope

INTS = [5, 3, 9, 1, 5, 7, 2, 2, 8, 0, 6]
HALVES = """let p = s[#s / 2]; a = {e in s | e < p}; b = {e in s | e > p}; m = {e in s | e == p}"""
# The function go, of ints to ints unless it says more; whether it fails.
CASES = {
    "two parts": (f"if #s < 2 then s else {HALVES}; r = {{go(v) : v in [a, b]}} in r[0] ++ m ++ r[1]", False),
    "the result is what was given": (f"if #s < 2 then s else {HALVES}; r = {{go(v) : v in [a, b]}} in r[1]", False),
    "three parts": (f"if #s < 2 then s else {HALVES}; r = {{go(v) : v in [a, take(m, 1), b]}} in r[2] ++ r[1] ++ r[0]",
                    False),
    "the same part twice": (f"if #s < 2 then s else {HALVES}; r = {{go(v) : v in [a, a]}} in r[0] ++ m ++ r[1]", False),
    "a part of what was given": ("if #s < 2 then s else let r = {go(v) : v in [take(s, #s / 2), drop(s, #s / 2)]} "
                                 "in r[1] ++ r[0]", False),
    "one part new": ("if #s < 2 then s else let a = {e + 1 : e in drop(s, 2) | e > 2}; "
                     "r = {go(v) : v in [a, take(s, #s / 2)]} in r[0] ++ r[1]", False),
    "all see one": ("if #s < 2 then s else let r = {go(drop(s, min(#s, i + 1))) : i in [0:3]} "
                    "in r[0] ++ take(s, 1) ++ r[2]",
                    False),
    "all results are new": (f"if #s < 2 then s ++ [7] else {HALVES}; r = {{go(v) : v in [a, b]}} in r[0] ++ r[1]",
                            False),
    "three ends": (f"if #s < 2 then s else if s[0] == 3 then s ++ s else {HALVES}; r = {{go(v) : v in [a, b]}} "
                   "in if #a < #b then r[0] ++ m else r[1]", False),
    "nothing": (f"if #s < 2 then [] int else {HALVES}; r = {{go(v) : v in [a, b]}} in r[0] ++ m ++ r[1]", False),
    "it fails in a concatenation": (f"if #s < 2 then s else {HALVES}; r = {{go(v) : v in [a, b]}} "
                                    "in r[0] ++ {12 / e : e in m} ++ r[1]", True),
    "it fails": (f"if #s < 2 then s else {HALVES}; r = {{go(v) : v in [a, b]}} in r[0] ++ {{12 / (e - 7) : e in m}}",
                 True),
}
TYPED = {
    "pairs": ("[(int, float)]", """function pairs(s) : [(int, float)] -> [(int, float)] = if #s < 2 then s
        else let (p, x) = s[#s / 2];
             a = {(q, y) in s | q < p}; b = {(q, y) in s | q > p};
             r = {pairs(v) : v in [a, b]}
        in r[0] ++ [(p, x)] ++ r[1];
        function main(s) : [int] -> [(int, float)] = pairs({(e, float(e)) : e in s});"""),
    "sequences": ("[[int]]", """function go(s) : [[int]] -> [[int]] = if #s < 2 then s
        else let p = #s[0]; a = {e in s | #e < p}; b = {e in s | #e > p}; m = {e in s | #e == p};
             r = {go(v) : v in [a, b]}
        in r[0] ++ m ++ r[1];
        function main(s) : [int] -> [[int]] = go({[0:e] : e in s});"""),
    "two arguments": ("[int]", """function merge(a, b) : ([int], [int]) -> [int] =
        if #a == 0 then b else if #b == 0 then a else let p = a[#a / 2];
             r = {merge(x, y) : x in [{e in a | e < p}, {e in a | e > p}]; y in [{e in b | e < p}, {e in b | e > p}]}
        in r[0] ++ {e in a | e == p} ++ {e in b | e == p} ++ r[1];
        function main(s) : [int] -> [int] = merge({e in s | evenp(e)}, {e in s | oddp(e)});"""),
    "two results": ("([int], int)", """function go(s) : [int] -> ([int], int) = if #s < 2 then (s, 1)
        else let p = s[#s / 2]; r = {go(v) : v in [{e in s | e < p}, {e in s | e > p}]};
             (a, m) = r[0]; (b, n) = r[1] in (a ++ [p] ++ b, m + n);
        function main(s) : [int] -> ([int], int) = go(s);"""),
}
EVERY = ["reference none", "reference ilp", "loops ilp", "cpu3 ilp", *(["cudasim ilp"] if compiler.found() else [])]


def program(name: str, target: str) -> Compiled:
    body, _ = CASES[name]
    return Compiled(f"function go(s) : [int] -> [int] = {body};\n"
                    "function main(s) : [int] -> [int] = flatten({go(v) : v in [s, drop(s, 3), [] int]});",
                    target=target)


@pytest.mark.sampled(quick=4, ci=2)
@pytest.mark.parametrize(("name", "target"), list(itertools.product(CASES, ("cpu", "cuda"))))
def test_executors_agree(name: str, target: str) -> None:
    check(program(name, target), CASES[name][1])


@pytest.mark.sampled(quick=4, ci=2)
@pytest.mark.parametrize(("name", "target"), list(itertools.product(TYPED, ("cpu", "cuda"))))
def test_other_types(name: str, target: str) -> None:
    check(Compiled(TYPED[name][1], target=target), False)


def check(compiled: Compiled, fails: bool) -> None:
    for values in (INTS, [], [4], [2] * 9):
        expected = interpreted(compiled, [values])
        assert values is not INTS or isinstance(expected, Failed) == fails, expected
        for executor in EVERY:
            found = outcome(compiled, executor, [values])
            assert agree(expected, found), f"{executor}: {found}, not {expected}, for {values}"


def functions_of(compiled: Compiled) -> list[ir.Function]:
    """The versions of `go` for many activations."""
    return [f for f in compiled.executable("ilp").functions if f.name.startswith("go^")]


def arrays(params: tuple[ir.Param, ...]) -> int:
    return sum(isinstance(p.type, ir.Array) for p in params)


def runs_each_level(function: ir.Function) -> int:
    """The launches where a copy is worth it."""
    def count(block: ir.Block) -> int:
        return sum(count(s.then) if isinstance(s, ir.Branch) else isinstance(s, ir.Run) for s in block.statements)
    return count(function.body)


def one_call(name: str, target: str) -> Compiled:
    """A program with one call of the function from outside, on one sequence."""
    return Compiled(f"function go(s) : [int] -> [int] = {CASES[name][0]};\n"
                    "function main(s) : [int] -> [int] = go(s);", target=target)


def test_a_level_takes_five_launches() -> None:
    [on_gpus] = functions_of(one_call("two parts", "cuda"))
    assert (runs_each_level(on_gpus), arrays(on_gpus.params)) == (5, 4)


def test_arrays_that_are_not_covered_are_copied() -> None:
    for name in ("the same part twice", "a part of what was given", "one part new"):
        assert {arrays(f.params) for f in functions_of(program(name, "cuda"))} == {3}, name


def test_where_all_results_are_new_nothing_is_compared() -> None:
    """There is nothing that they could stay in."""
    for function in functions_of(program("all results are new", "cuda")):
        [outer] = [s for s in function.body.statements if isinstance(s, ir.Branch)]
        assert not [s for s in scope.statements(outer.then) if isinstance(s, ir.Branch)]


# Random recursions ------------------------------------------------------------------------------


@st.composite
def recursions(draw: Callable[[st.SearchStrategy[Any]], Any]) -> str:
    """A function that divides what it is given in some way, three deep, and puts something together of the results."""
    def one(*texts: str) -> str:
        found: str = draw(st.sampled_from(texts))
        return found

    def end(depth: int) -> str:
        parts = ["r[0]", "r[1]", "r[0]", "r[1]", "m", "s", "[p]", "take(r[1], #r[1] / 2)", "{12 / e : e in m}"]
        whole = " ++ ".join(draw(st.lists(st.sampled_from(parts), min_size=1, max_size=4)))
        test = one("", "#r[0] < 2", "p < 3", "k == 1") if depth else ""
        return f"if {test} then {end(0)} else {end(0)}" if test else whole

    part = ("{e in s | e < p}", "{e in s | e > p}", "take(s, #s / 2)", "drop(s, #s / 2)", "{e + 1 : e in s}", "s", "m")
    base = one("s", "s", "s ++ [k]", "[] int", "reverse(s)", "take(s, min(#s, 1))")
    parts = ", ".join([one(*part), one(*part), *([one(*part)] if one("", "three") else [])])
    return f"""function go(k, s) : (int, [int]) -> [int] = if k == 0 or #s < 2 then {base}
      else let p = s[#s / 2]; m = {{e in s | e == p}}; r = {{go(k - 1, v) : v in [{parts}]}} in {end(1)};
    function main(s) : [int] -> [int] = {one("go(3, s)", "flatten({go(3, v) : v in [s, drop(s, #s / 3), s]})")};"""


@settings(max_examples=examples(12), suppress_health_check=list(HealthCheck))
@given(recursions(), st.lists(st.integers(0, 9), max_size=12))
def test_random_recursions(source: str, values: list[int]) -> None:
    for target in ("cpu", "cuda"):
        compiled = Compiled(source, target=target)
        expected = interpreted(compiled, [values])
        for executor in ("reference ilp", "loops ilp" if target == "cpu" else EVERY[-1]):
            found = outcome(compiled, executor, [values])
            assert agree(expected, found), f"{executor}, {target}: {found}, not {expected}"
