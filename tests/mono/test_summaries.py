"""What is known of functions that call themselves: where results lie, which payloads are pooled. That it is so, all
executors show, which agree on random recursions.
"""
from __future__ import annotations

from typing import Any

import pytest
from amounts import examples, many
from executors import EXECUTORS, QUICK, Compiled, agree, interpreted, outcome
from hypothesis import HealthCheck, given, settings
from random_recursion import ARGUMENTS, recursions

from nessie.base.system.deep import run_deep
from nessie.mono.analysis.provenance import FRESH, Path, Sources
from nessie.mono.analysis.summaries import summaries

TYPES = {"k": "int", "a": "[int]", "b": "[int]", "c": "[int]", "m": "[[int]]", "n": "[[int]]", "p": "([int], [int])"}
STEP = "if k < 1 then {base} else let s = sum([0:k]) in {step}"

# parameters, the value that ends the recursion, the recursion; where the result lies; the pools
CASES: dict[str, tuple[str, str, str, str, dict[str, str]]] = {
    "passed on as they are": ("k a b", "a", "go(k - 1, a, b)", "a", {}),
    "exchanged": ("k a b", "a", "go(k - 1, b, a)", "a b", {}),
    "cut": ("k a", "a", "go(k - 1, drop(a, 1))", "a", {}),
    "one of two": ("k a b", "a", "go(k - 1, b, if s > 3 then a else b)", "a b", {"a": "a b", "b": "a b"}),
    "one of two, which stay": ("k a b c", "c", "go(k - 1, a, b, if s > 3 then a else b)", "a b c",
                               {"a": "a", "b": "b", "c": "a b c"}),
    "in a chain": ("k a b c", "c", "go(k - 1, a, (if s > 3 then a else b), b)", "a b c",
                   {"a": "a", "b": "a b", "c": "a b c"}),
    "an element of a literal": ("k a b", "a", "go(k - 1, [a, b][rem(s, 2)], b)", "a b", {"a": "a b", "b": "b"}),
    "at one of two calls": ("k a b", "a", "if s > 9 then go(k - 1, b, a) else go(k - 1, (if s > 3 then a else b), b)",
                            "a b", {"a": "a b", "b": "a b"}),
    "in a condition": ("k a b", "a", "if #go(k - 1, b, (if s > 3 then a else b)) > 2 then a else b", "a b",
                       {"a": "a b", "b": "a b"}),
    "in a filter": ("k a b", "b", "{x in a | #go(k - 1, b, (if s > x then a else b)) > 2}", "new",
                    {"a": "a b", "b": "a b"}),
    "what the recursion returns": ("k a b", "a", "go(k - 1, go(k - 1, b, a), b)", "a b", {"a": "a b", "b": "a b"}),
    "a pair": ("k p", "let (x, _) = p in x", "let (x, y) = p in go(k - 1, (y, if s > 3 then x else y))", "p.0 p.1",
               {"p.0": "p.0 p.1", "p.1": "p.0 p.1"}),

    "made anew": ("k a b", "b", "go(k - 1, {x + 1 : x in a}, if s > 3 then a else b)", "new", {}),
    "made anew, of two that are chosen from": (
        "k a b c", "a", "go(k - 1, (if s > 3 then a else b), b, {x + 1 : x in c})", "a b", {"a": "a b", "b": "b"}),
    "chosen from what is made anew": ("k a b", "a", "go(k - 1, (if s > 3 then a else {x + 1 : x in b}), b)", "new", {}),
    "what is not pooled flows into it": (
        "k a b c", "a", "go(k - 1, (if s > 3 then a else c), b, (if s > 5 then c else {x + 1 : x in b}))", "new", {}),

    "rows of a matrix": ("k m b", "b", "go(k - 1, drop(m, 1), if s > 3 then m[0] else b)", "m.e b",
                         {"m": "m", "b": "m.e b"}),
    "rows of matrices that are exchanged": ("k m n b", "b", "go(k - 1, n, m, if s > 3 then m[0] else b)", "m.e n.e b",
                                            {"m": "m n", "n": "m n", "b": "m.e n.e b"}),
    "one of two matrices": ("k m n", "m[0]", "go(k - 1, n, if s > 3 then m else n)", "m.e n.e",
                            {"m": "m n", "n": "m n"}),
    "rows that come and go": ("k m b", "m", "go(k - 1, m <- [(0, b)], m[1])", "new, m.e b",
                              {"m.e": "m.e b", "b": "m.e b"}),
    "rows that come and go, of the last parameter": (
        "k b m", "m", "go(k - 1, m[1], m <- [(0, b)])", "new, b m.e", {"m.e": "m.e b", "b": "m.e b"}),
    "rows of two matrices": ("k m n", "m", "go(k - 1, m <- [(0, n[0])], n <- [(0, m[0])])", "new, m.e n.e",
                             {"m.e": "m.e n.e", "n.e": "n.e m.e"}),
    "without rows, which are none of the caller's": ("k m", "m", "go(k - 1, [] [int])", "new, new", {}),
    "rows made anew": ("k m b", "m", "go(k - 1, m <- [(0, {x + s : x in b})], m[1])", "new, new", {}),
}


def function(parameters: list[str], base: str, step: str) -> str:
    types = ", ".join(TYPES[name] for name in parameters)
    result = "[[int]]" if base == "m" else "[int]"
    return f"function go({', '.join(parameters)}) : ({types}) -> {result} = {STEP.format(base=base, step=step)};"


def named(path: Path, parameters: list[str]) -> str:
    return "new" if path == FRESH else ".".join([parameters[int(path[0])], *map(str, path[1:])])


def levels(signature: Any, parameters: list[str]) -> str:
    """Where sequences lie; of what is made anew, where those in it lie."""
    assert isinstance(signature, Sources)
    if FRESH not in signature.paths:
        return " ".join([named(path, parameters) for path in sorted(signature.paths, key=str)])
    return "new" if signature.element is None else "new, " + levels(signature.element, parameters)


@pytest.mark.parametrize("name", CASES)
def test_pools(name: str) -> None:
    names, base, step, result, pools = CASES[name]
    parameters = names.split()
    text = function(parameters, base, step)
    program = Compiled(f"{text} function main(x) : ({', '.join(TYPES[p] for p in parameters)}) -> int = #go(x);")
    found = next(s for f, s in summaries(program.mono.functions).items() if f.startswith("go"))
    assert levels(found.result, parameters) == result
    assert {named(path, parameters): " ".join([named(p, parameters) for p in pool])
            for path, pool in found.pools.items()} == pools


def test_functions_that_call_each_other_have_no_pools() -> None:
    program = Compiled("""
        function odd(k, a, b) : (int, [int], [int]) -> int;
        function even(k, a, b) = if k < 1 then #a else odd(k - sum([0:1]) - 1, b, if k > 3 then a else b);
        function odd(k, a, b) : (int, [int], [int]) -> int =
          if k < 1 then #b else even(k - 1, (if k > 4 then a else b), b);
        function main(k, a) : (int, [int]) -> int = even(k, a, a);""")
    assert not any(summary.pools for summary in summaries(program.mono.functions).values())
    for executor in EXECUTORS:
        assert outcome(program, executor, (7, [1, 2])) == 2


WITHOUT_ROWS = """
    function none(m, i, n) : ([[int]], int, int) -> [[int]] = if i < n then none([] [int], i + 1, n) else m;
    function some(k, m, v, i, n) : (int, [[int]], [int], int, int) -> ([[int]], [int]) =
      if k == 0 then (m, [] int) else if i < n then some(1, [] [int], v, i + 1, n) else ([] [int], v);
    function twice(m, i) : ([[int]], int) -> [[int]] = if i > 4 then m else twice(twice([] [int], i + 2), i + 1);
    function main(m, n) : ([[int]], int) -> ([[int]], ([[int]], [int]), [[[int]]]) =
      (none(m, 0, n), some(n, m, [n], 0, 2), {none(m, i, n) ++ twice(m, 3 + i) : i in [0:3]});"""


@pytest.mark.parametrize("n", [0, 2])
def test_recursions_on_no_rows(n: int) -> None:
    compare(WITHOUT_ROWS, ([[1, 2], [3]], n), EXECUTORS[1:])


# Random recursions ------------------------------------------------------------------------------


def compare(source: str, arguments: tuple[Any, ...], executors: tuple[str, ...]) -> None:
    program = Compiled(source)
    expected = interpreted(program, arguments)
    for executor in executors:
        found = outcome(program, executor, arguments)
        assert agree(expected, found), f"{executor}: {found}, not {expected}\n{source}\n{arguments}"


quick = settings(max_examples=examples(12), suppress_health_check=list(HealthCheck))


@quick
@given(recursions(), ARGUMENTS)
def test_random_recursions(source: str, arguments: tuple[Any, ...]) -> None:
    run_deep(lambda: compare(source, arguments, ("reference none", "loops ilp")))


@settings(quick, max_examples=examples(2))
@given(recursions(), ARGUMENTS)
def test_random_recursions_compiled(source: str, arguments: tuple[Any, ...]) -> None:
    run_deep(lambda: compare(source, arguments, QUICK))


@pytest.mark.slow
@settings(quick, max_examples=many(150))
@given(recursions(), ARGUMENTS)
def test_many_random_recursions(source: str, arguments: tuple[Any, ...]) -> None:
    run_deep(lambda: compare(source, arguments, ("reference none", "reference ilp", "loops ilp")))
