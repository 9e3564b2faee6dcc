"""Of several failures in an apply-to-each all executors tell the same: that of the first step, in its first element."""
from __future__ import annotations

from typing import Any

import pytest
from executors import Compiled, Failed, agree, outcome

INDEX, DIVIDE = "Sequence reference (a[i]) out of bounds.", "Divide by zero."
EXECUTORS = ("reference none", "reference ilp", "cpu3 ilp", "cudasim ilp")
ROWS = "function main(v) : [[int]] -> [[int]] = "
CASES: dict[str, tuple[str, Any, str]] = {
    "a later element, an earlier step": (
        "function main(v) : [int] -> [int] = {[7,8][a] + 1 / (a - 1) : a in v};", [1, 5], INDEX),
    "an earlier element, an earlier step": (
        "function main(v) : [int] -> [int] = {1 / (a - 1) + [7,8][a] : a in v};", [5, 1], DIVIDE),
    "rows": (ROWS + "{{[7,8][a] + 1 / (a - 1) : a in r} : r in v};", [[], [1], [], [0, 5]], INDEX),
    "around rows": (ROWS + "{{[7,8][a] : a in r} ++ [1 / #r] : r in v};", [[0], [], [2]], INDEX),
    "after rows": (ROWS + "{let k = 1 / #r in {[7,8][a] + k : a in r} : r in v};", [[2], [0], []], DIVIDE),
    "the first branch before the second": (
        "function main(v) : [int] -> [int] = {if a > 4 then 1 / (a - 5) else [7][a] : a in v};", [3, 0, 5], DIVIDE),
    "a condition before its branches": (
        "function main(v) : [int] -> [int] = {if [t,f][a] then 1 / a else a : a in v};", [0, 1, 2], INDEX),
    "a filter before what is kept": (
        "function main(v) : [int] -> [int] = {1 / (a - 1) : a in v | [t,f,t][a]};", [1, 0, 2, 3], INDEX),
    "functions that are called": (
        "function one(a, v) = sum({v[i] : i in [0:a]}); function two(a) = sum([0:1 / a]); "
        "function main(v) : [int] -> [int] = {one(a, v) + two(a) : a in v};", [0, 1, 4], INDEX),
    "of several steps in a function the first": (
        "function both(a, v) = let x = sum({v[i] : i in [0:a]}); y = sum({1 / i : i in take(v, a)}) in x + y; "
        "function main(v) : [int] -> [int] = {both(a, v) : a in v};", [0, 2, 1, 9], INDEX),
    "all elements in one step": ("function main(v) : [int] -> [int] = {10 / a : a in v};", [1, 0, 2, 0], DIVIDE),
    "lengths that differ after their sources": (
        "function main(v) : [int] -> [[int]] = {{x + y : x in [0:2]; y in [[1],[1,2]][a]} : a in v};", [0, 5], INDEX),
    "lengths that differ after a call of a source": (
        "function g(a) = {10 / i : i in [a:3]}; "
        "function main(v) : [int] -> [[int]] = {{x + y : x in [0:2]; y in g(a)} : a in v};", [0, 2], DIVIDE),
    "lengths that differ before what follows": (
        ROWS + "{{x + y + 1 / (x - y) : x in r; y in [0:2]} : r in v};", [[0, 1], [1]],
        "Length mismatch in an apply-to-each."),
}


@pytest.mark.parametrize("name", CASES)
def test_the_first_step_that_fails_is_told(name: str) -> None:
    source, argument, message = CASES[name]
    program = Compiled(source)
    expected = outcome(program, "interpreter", (argument,))
    assert isinstance(expected, Failed)
    if "differ" not in name:
        assert expected.message == message
    for executor in EXECUTORS:
        assert agree(expected, outcome(program, executor, (argument,))), executor


@pytest.mark.parametrize(("expression", "printed"), [
    ("{let _ = print_char(`a); x = 1 / a; _ = print_char(`b) in x : a in [1, 0, 2]}", "aaa"),
    ("{let _ = print_string(@a); x = [5][a]; _ = print_char(`b); y = 1 / (a - 1) in x + y : a in [1, 0]}", "10"),
    ("{let _ = print_string(@a); x = 1 / (a - 1); _ = print_char(`b); y = [5][a] in x + y : a in [0, 2]}", "02bb"),
    ("{{x + y : x in [0:2]; y in (let _ = print_string(@a) in [0:a])} : a in [2, 1]}", "21"),
    ("{{let _ = print_string(@a) in 1 / a : a in r} : r in [[1], [0, 2]]}", "102"),
])
def test_what_is_printed_before_it_is_printed_for_all_elements(expression: str, printed: str) -> None:
    told = list[str]()
    program = Compiled(f"function main(n) : int -> [int] = {expression};" if "{{" not in expression
                       else f"function main(n) : int -> [[int]] = {expression};")
    for executor in ("interpreter", "reference ilp", "cpu3 ilp"):
        assert isinstance(outcome(program, executor, (0,)), Failed)
        told.append("".join(program.printed))
    assert told == [printed] * 3


def test_a_limit_after_a_failure_is_not_told() -> None:
    source = ("function deep(n) : int -> int = if n == 0 then 0 else 1 + deep(n - 1); "
              "function main(v) : [int] -> [int] = {1 / a + deep(a) : a in v};")
    found = outcome(Compiled(source), "interpreter", ([0, 10**9],))
    assert isinstance(found, Failed) and (found.message, found.limit) == (DIVIDE, False)
