"""The lifting law: {g(x) : x in xs} is the sequence of single calls, for every function of the library.

Also two deep, for no elements, in a branch of a conditional, and on elements that are seen through a view; at every
kind of type (library_calls). Single calls are the interpreter's. Where a single call fails, the lifted one fails too.
"""
from __future__ import annotations

import math
from typing import Any

import pytest
from amounts import NIGHTLY, PROFILE
from executors import ANY, QUICK, Compiled, Failed, agree, outcome
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from library_calls import DEFINITIONS, FUNCTIONS, Call, calls

from nessie.base.values import Record

PROGRAM = """
function g(x) = let x = typed(x) in {text};
function many(xs) = {{g(x) : x in xs}};
function deep(m) = {{{{g(x) : x in xs}} : xs in m}};
function some(xs) = {{if mod(i, 2) == 0 then [g(x)] else ([] {result}) : x in xs; i in [0:#xs]}};
function seen(xs) = {{g(x) : x in reverse(xs) ++ xs -> [0:#xs:2]}};
function main(xs) : [{type}] -> ([{result}], [[{result}]], [[{result}]], [{result}]) =
  (many(xs), (deep([xs, ([] {type}), reverse(xs)]), (some(xs), seen(xs))));
"""
CPU_CODE = ("sort", "partition", "write", "gcd")      # compiled, too, by the quick test


def program(call: Call) -> Compiled:
    text = DEFINITIONS.replace("TYPE", call.type) + PROGRAM
    return Compiled(text.format(type=call.type, text=call.text, result=call.result))


def single(call: Call) -> Compiled:
    return Compiled(DEFINITIONS.replace("TYPE", call.type) + f"function main(x) = let x = typed(x) in {call.text};")


def alike(a: Any, b: Any) -> bool:
    """Equal; floats but for their last bits, in which libraries of transcendental functions differ. A datatype is its
    content at run time."""
    match a, b:
        case Record(_, content), _:
            return alike(content, b)
        case (list(), list()) | (tuple(), tuple()):
            return len(a) == len(b) and all(map(alike, a, b))
        case float(), float():
            return math.isclose(a, b, rel_tol=1e-12, abs_tol=1e-300) or (math.isnan(a) and math.isnan(b))
    return agree(a, b)


def obeys(call: Call, executors: tuple[str, ...], examples: int) -> None:
    lifted = program(call)
    alone = single(call)

    @settings(max_examples=examples, suppress_health_check=list(HealthCheck))
    @given(st.lists(call.values, max_size=5))
    def law(xs: list[Any]) -> None:
        results = [(x, outcome(alone, "interpreter", (x,))) for x in xs]
        failing = [x for x, result in results if isinstance(result, Failed)]
        good = [(x, result) for x, result in results if not isinstance(result, Failed)]
        one = [result for _, result in good]
        several = [[value] if i % 2 == 0 else [] for i, value in enumerate(one)]
        expected = (one, ([one, [], one[::-1]], (several, one[::-1] + one[::2])))
        wrong: Any = ANY
        for executor in executors:
            found = outcome(lifted, executor, ([x for x, _ in good],))
            assert alike(expected, found), f"{executor}: {found}, not {expected}"
            if failing:
                found = outcome(lifted, executor, ([x for x, _ in good] + failing[:1],))
                assert agree(wrong, found), f"{executor}: {found}, not {wrong}"
                wrong = found

    law()


@pytest.mark.sampled(quick=3)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_most_calls_succeed(name: str) -> None:
    """The law says little about a function whose random calls fail. The same calls every time, so that this cannot."""
    call = calls(name)[0]
    alone = single(call)
    failed = []

    @settings(max_examples=30, derandomize=True, database=None, suppress_health_check=list(HealthCheck))
    @given(call.values)
    def tried(x: Any) -> None:
        failed.append(isinstance(outcome(alone, "interpreter", (x,)), Failed))

    tried()
    assert sum(failed) <= len(failed) / 2, "library_calls.ADAPTED should have a better call"


@pytest.mark.sampled(quick=6, ci=2)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_lifting_law(name: str) -> None:
    """At one of its types: which, the place in the list says."""
    at = calls(name)
    obeys(at[FUNCTIONS.index(name) % len(at)], QUICK if name in CPU_CODE else ("reference none",), 6)


@pytest.mark.slow
@pytest.mark.sampled(ci=32)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_lifting_law_everywhere(name: str) -> None:
    """At each of its types; compiled at the one of the quick test, which takes most of the time."""
    at = calls(name)
    for number, call in enumerate(at):
        compiled = number == FUNCTIONS.index(name) % len(at)
        obeys(call, ("cpu3 ilp" if compiled else "reference ilp",), 60 if PROFILE == NIGHTLY else 6)


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
