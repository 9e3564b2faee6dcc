"""The lifting law: {g(x) : x in xs} is the sequence of single calls, for functions of the library and of users.

Also two deep, for no elements, in a branch of a conditional, and on elements that are seen through a view. Single
calls are the interpreter's. Arguments are such that nothing fails; that failing calls fail when lifted is a test of
its own.
"""
from __future__ import annotations

from typing import Any

import pytest
from executors import ANY, QUICK, Compiled, Failed, agree, outcome
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

ints = st.lists(st.integers(-9, 20), max_size=5)
some = st.lists(st.integers(-9, 20), min_size=1, max_size=5)
pairs = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 9)), max_size=5)
texts = st.lists(st.sampled_from("ab 1Z"), max_size=6)
square = st.integers(1, 3).flatmap(lambda n: st.lists(st.lists(st.integers(0, 9), min_size=n, max_size=n), max_size=3))
flags = st.lists(st.booleans(), max_size=5)

# the function's argument and result, the call on x, arguments
LAW: dict[str, tuple[str, str, str, st.SearchStrategy[Any]]] = {
    "sort": ("[int]", "[int]", "sort(x)", ints),
    "rank": ("[int]", "[int]", "rank(x)", ints),
    "max_index": ("[int]", "int", "max_index(x)", some),
    "reverse": ("[int]", "[int]", "reverse(x)", ints),
    "take and drop": ("[int]", "([int], [int])", "(take(x, #x / 2), drop(x, #x / 2))", ints),
    "plus_scan": ("[int]", "[int]", "plus_scan(x)", ints),
    "remove_duplicates": ("[int]", "[int]", "remove_duplicates(x)", ints),
    "group_by": ("[int]", "[[int]]", "group_by(x, 2)", ints),
    "bottop": ("[int]", "[[int]]", "bottop(x)", ints),
    "partition": ("[int]", "[[int]]", "partition(x, [#x / 3, 0, #x - #x / 3])", ints),
    "int_collect": ("[(int, int)]", "[(int, [int])]", "int_collect(x)", pairs),
    "unzip": ("[(int, int)]", "([int], [int])", "unzip(x)", pairs),
    "split": ("[bool]", "[[bool]]", "split(x, {not(y) : y in x})", flags),
    "transpose": ("[[int]]", "[[int]]", "transpose(x)", square),
    "flatten": ("[[int]]", "[int]", "flatten(x)", square),
    "wordify": ("[char]", "[[char]]", "wordify(x)", texts),
    "int_string": ("int", "[char]", "int_string(x)", st.integers(-2**63, 2**63 - 1)),
    "gcd": ("(int, int)", "int", "gcd(x)", st.tuples(st.integers(-30, 30), st.integers(-30, 30))),
    "scatter": ("[int]", "[int]", "x <- {(i, i) : i in [0:#x] | x[i] > 3}", ints),
    "gather": ("[int]", "[int]", "x -> {mod(y, #x) : y in x}", ints),
    "string": ("[(int, int)]", "[char]", "@x", pairs),
}
PROGRAM = """
function g(x) : {argument} -> {result} = {call};
function many(xs) : [{argument}] -> [{result}] = {{g(x) : x in xs}};
function deep(m) : [[{argument}]] -> [[{result}]] = {{{{g(x) : x in xs}} : xs in m}};
function some(xs) : [{argument}] -> [[{result}]] =
  {{if mod(i, 2) == 0 then [g(x)] else ([] {result}) : x in xs; i in [0:#xs]}};
function seen(xs) : [{argument}] -> [{result}] = {{g(x) : x in reverse(xs) ++ xs -> [0:#xs:2]}};
function main(xs) : [{argument}] -> ([{result}], [[{result}]], [[{result}]], [{result}]) =
  (many(xs), (deep([xs, ([] {argument}), reverse(xs)]), (some(xs), seen(xs))));
"""
COMPILED: dict[str, Compiled] = {}
ON_CPU = ("sort", "partition", "transpose", "scatter", "gcd")      # compiled, too: that takes most of the time


def compiled(name: str) -> Compiled:
    if name not in COMPILED:
        argument, result, call, _ = LAW[name]
        COMPILED[name] = Compiled(PROGRAM.format(argument=argument, result=result, call=call))
    return COMPILED[name]


@pytest.mark.parametrize("name", LAW)
def test_lifting_law(name: str) -> None:
    argument, result, call, strategy = LAW[name]
    program = compiled(name)
    single = Compiled(f"function main(x) : {argument} -> {result} = {call};")

    @settings(max_examples=8, deadline=None, suppress_health_check=list(HealthCheck))
    @given(st.lists(strategy, max_size=4))
    def law(xs: list[Any]) -> None:
        one = [outcome(single, "interpreter", (x,)) for x in xs]
        assert not any(isinstance(value, Failed) for value in one)
        several = [[value] if i % 2 == 0 else [] for i, value in enumerate(one)]
        expected = (one, ([one, [], one[::-1]], (several, one[::-1] + one[::2])))
        for executor in QUICK if name in ON_CPU else QUICK[:-1]:
            found = outcome(program, executor, (xs,))
            assert agree(expected, found), f"{executor}: {found}, not {expected}"

    law()


@pytest.mark.parametrize(("call", "argument", "result", "xs"), [
    ("x[2]", "[int]", "int", [[1, 2, 3], [1]]),
    ("take(x, 2)", "[int]", "[int]", [[1, 2, 3], [1]]),
    ("partition(x, [1, 1])", "[int]", "[[int]]", [[1, 2], [1]]),
    ("transpose(x)", "[[int]]", "[[int]]", [[[1]], [[1], [2, 3]]]),
    ("zip(x, [1, 2])", "[int]", "[(int, int)]", [[1, 2], [1]]),
    ("x <- [(1, 0)]", "[int]", "[int]", [[1, 2], [1]]),
    ("x -> [1]", "[int]", "[int]", [[1, 2], [1]]),
    ("x[0] / x[1]", "[int]", "int", [[1, 2], [1, 0]]),
    ("dist(1, x)", "int", "[int]", [1, -1]),
    ("[0:x]", "int", "[int]", [1, -1]),
])
def test_failing_calls_fail_when_lifted(call: str, argument: str, result: str, xs: list[Any]) -> None:
    program = Compiled(f"function main(xs) : [{argument}] -> [{result}] = {{{call} : x in xs}};")
    expected: Any = ANY
    for executor in ("interpreter", *QUICK):
        assert not isinstance(outcome(program, executor, (xs[:1],)), Failed), executor
        found = outcome(program, executor, (xs,))
        assert agree(expected, found), f"{executor}: {found}, not {expected}"
        expected = found
