"""Random numbers: compiled programs draw what the interpreter draws, bit for bit, and fail where it fails."""
from __future__ import annotations

import math
from collections import Counter
from typing import Any

import mono_interpreter
import pytest
from amounts import examples, many
from executors import QUICK, Compiled, Failed, agree, interpreted, outcome
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from random_programs import RandomProgram, programs

from nessie import forms
from nessie.base.source import Source
from nessie.base.system.deep import run_deep
from nessie.interpreter.meanings import mix
from nessie.mono import nodes as mono
from nessie.mono.passes.random_state import random_state
from nessie.mono.walk import expressions
from nessie.running.targets import Target
from nessie.running.world import World
from nessie.session.outcome import Outcome
from nessie.session.session import Session
from nessie.tool.cli import main

quick = settings(max_examples=examples(40), suppress_health_check=list(HealthCheck))

# What draws, of an int n.
CASES = {
    "one after the other": "(rand(100), (rand(1.0), rand(100)))",
    "each element its own": "{rand(100) + i : i in index(n)}",
    "rows": "{{rand(100) : j in index(i)} : i in index(n)}",
    "the state after an apply-to-each": "({rand(100) : i in index(n)}, rand(100))",
    "the state after one without elements": "({rand(100) : i in index(n - n)}, rand(100))",
    "the state after one that draws in no element": "({if i < 0 then rand(100) else i : i in index(n)}, rand(100))",
    "the state after one that draws in some": "({if i > 2 then rand(100) else i : i in index(n)}, rand(100))",
    "two after each other": "{rand(100) + rand(50) : i in index(n)} ++ {rand(100) : i in index(n)}",
    "a filter that draws": "({i : i in index(n) | rand(2) == 0}, rand(100))",
    "a filter and a body": "({(i, rand(100)) : i in index(n) | rand(2) == 0}, rand(100))",
    "a filter that takes nobody": "({(i, rand(100)) : i in index(n) | rand(2) == 2}, rand(100))",
    "a filter that does not draw": "({(i, rand(100)) : i in index(n) | oddp(i)}, rand(100))",
    "a filter with an apply-to-each": "{rand(100) : i in index(n) | sum({rand(2) : j in index(i)}) < 2}",
    "sources that draw": "({i + j : i in {rand(100) : k in index(n)}; j in dist(rand(50), n)}, rand(100))",
    "sources of what draws": "{rand(i + 1) + j : i in {rand(100) : k in index(n)}; j in index(n) | j < rand(n)}",
    "literals, pairs, projections": "[rand(100), first((rand(100), rand(100))), n, rest((rand(100), rand(n)))]",
    "branches": "((if rand(2) == 0 then rand(100) + rand(100) else n), ((if n == 0 then 0 else rand(9)), rand(100)))",
    "branches in elements": "{if rand(2) == 0 then (i, rand(1.0)) else (rand(100), 0.0) : i in index(n)}",
    "branches with sequences": "{if rand(3) == 0 then {rand(9) : j in index(i)} else ([] int) : i in index(n)}",
    "lets": "let a = rand(100); (b, c) = (rand(9), {rand(a + 1) : i in index(n)}) in (c, (rand(100), (a, b)))",
    "primitives between": "[rand(9)] ++ dist(rand(9), rand(4)) ++ [sum({rand(9) : i in index(n)}):100:rand(9) + 10]",
    "texts": "{@rand(1000) : i in index(n)}",
    "a function as an argument": "map(rand, {i + 1 : i in index(n)})",
    "a function without arguments of its own": "let g = (x => rand(100) + x) in {g(i) + g(1) : i in index(n)}",
    "walks": "(walk(n * 10, 0), {walk(i, 0) : i in index(n)})",
    "tosses": "(tosses(n), rand(100))",
    "trees": "(tree(n), (rand(100), {tree(i) : i in index(min(n, 4))}))",
    "even and odd": "{first_even(i) : i in index(n)}",
    "shuffles": "(shuffled(index(n)), {shuffled(index(i)) : i in index(n)})",
    "pi": "float(count({rand(1.0) ^ 2 + rand(1.0) ^ 2 < 1.0 : i in index(300 * n)})) / 300.0",
    "the ends of int": "[rand(max_int), rand(1), rand(2), rand(max_int - n)]",
    "seeds": "(rand(100), (rand_seed(n), ({rand(100) : i in index(n)}, (rand_seed(-1), rand(100)))))",
    "output": """(say("a", n) + rand(say("b", 9)) + say("c", rand(9)),
        ((if rand(2) == say("d", 0) then say("e", rand(9)) else say("f", 1)),
         {say(@x, rand(9)) + rand(say("i", 9)) : x in say("g", [rand(9), say("h", n)]) | evenp(say("j", rand(9)))}))""",
    "errors": "(rand(n - 5), {rand(i) : i in index(n)})",
    "errors before draws": "(1 / n, rand(100))",
    "errors between draws": "{rand(100) / i + rand(100) : i in index(n)}",
    "errors after draws": "{rand(100) / (n - 5) : i in index(n)}",
    "lengths that differ": "{rand(i + 1) + j : i in index(n); j in index(5)}",
    "lengths that differ before a filter": "{i + j : i in index(n); j in index(5) | rand(2) == 0}",
}
FUNCTIONS = """
function walk(n, at) = if n == 0 then at else walk(n - 1, if rand(2) == 0 then at - 1 else at + 1);
function tosses(n) = if rand(n + 2) == 0 then 0 else 1 + tosses(n);
function tree(n) : int -> [int] = if n <= 0 then [rand(9)] else flatten({tree(n - 1 - rand(2)) : i in [0:2]});
function first_odd(i) : int -> int;
function first_even(i) : int -> int = let x = rand(100) in if evenp(x) then x else first_odd(i + 1);
function first_odd(i) : int -> int = let x = rand(100) in if oddp(x) then x + i else first_even(i + 1);
function say(s, x) = let _ = print_string(s) in x;
function shuffled(v) = v -> rank({rand(1.0) : x in v});
"""
COMPILED = ("rows", "a filter and a body", "the state after one that draws in some", "branches with sequences", "walks",
            "even and odd", "the ends of int", "errors")        # that takes most of the time


def source(case: str) -> str:
    return f"{FUNCTIONS} function main(k) = let n = max(0, k) in {CASES[case]};"


def run_mono(program: mono.Program, arguments: tuple[Any, ...]) -> Any:
    """The program's value, or its failure in no particular place."""
    try:
        return run_deep(lambda: mono_interpreter.run(program, *arguments))
    except mono_interpreter.Stopped as stopped:
        return Failed(str(stopped))


def in_no_place(value: Any) -> Any:
    return Failed(value.message) if isinstance(value, Failed) else value


def from_start(compiled: Compiled) -> Compiled:
    """The program in a session that has not heard of another seed."""
    compiled.world.seeded, compiled.outside.seed = mix(0), 0
    return compiled


def states_are_passed(compiled: Compiled, arguments: tuple[Any, ...], exact: bool = True) -> None:
    """What the passes make of the program draws what the program draws. `exact`: failures are the same, too."""
    expected = in_no_place(interpreted(from_start(compiled), arguments))
    for last in ("random-state", "inline"):
        program = run_deep(lambda last=last: compiled.passes(forms.TYPED, compiled.program, last))
        found = run_mono(program, arguments)
        both_fail = type(expected) is type(found) is Failed
        assert agree(expected, found) or (both_fail and not exact), (last, found, expected)


@pytest.mark.parametrize("case", CASES)
def test_the_state_is_passed_along(case: str) -> None:
    compiled = Compiled(source(case))
    for n in (5, 0, 8, 1):
        states_are_passed(compiled, (n,))


@quick
@given(programs(4, draws=True))
def test_random_programs(random: RandomProgram) -> None:
    """Of several failures, an element's in a filter come before all in bodies."""
    states_are_passed(Compiled(random.source), random.arguments, exact=False)


@pytest.mark.slow
@settings(quick, max_examples=many(300))
@given(st.integers(4, 6).flatmap(lambda depth: programs(depth, draws=True)))
def test_many_random_programs(random: RandomProgram) -> None:
    states_are_passed(Compiled(random.source), random.arguments, exact=False)


# On the targets ---------------------------------------------------------------------------------

def compare(compiled: Compiled, executors: tuple[str, ...], arguments: tuple[Any, ...]) -> None:
    expected = interpreted(from_start(compiled), arguments)
    printed = "".join(compiled.printed)
    for executor in executors:
        found = outcome(from_start(compiled), executor, arguments)
        assert agree(expected, found), (executor, found, expected)
        assert isinstance(found, Failed) or "".join(compiled.printed) == printed, executor
        expected = found            # it knows more of a failure than the interpreter


@pytest.mark.parametrize("case", CASES)
def test_targets_draw_the_same(case: str) -> None:
    compiled = Compiled(source(case))
    executors = tuple(executor for executor in QUICK if case in COMPILED or not executor.startswith("cpu"))
    for n in (5, 0, 8):
        compare(compiled, executors, (n,))


@quick
@given(programs(4, prints=True, draws=True))
def test_targets_on_random_programs(random: RandomProgram) -> None:
    compare(Compiled(random.source), ("reference none", "reference ilp", "loops ilp"), random.arguments)


@pytest.mark.slow
@settings(quick, max_examples=many(80))
@given(st.integers(4, 6).flatmap(lambda depth: programs(depth, prints=True, draws=True)))
def test_targets_on_many_random_programs(random: RandomProgram) -> None:
    compare(Compiled(random.source), QUICK, random.arguments)


@pytest.mark.parametrize("target", ["cpu", "reference"])
def test_sessions(target: str) -> None:
    """Every form begins with the session's seed, which rand_seed changes from then on."""
    def values(source: str, seed: int = 0) -> list[str]:
        session = Session(Target(target, world=World(seed=seed)))
        return [outcome.value for outcome in session.run(Source("test.nesl", source)) if isinstance(outcome, Outcome)]
    program = "{rand(1000) : i in [0:5]}; rand(1.0);"
    assert values(program) == values(program) != values(program, 1)
    assert values("let a = 1 in rand(1000); let b = rand(1000) in b;") == 2 * values("rand(1000);")
    assert values(f"let x = rand_seed(-7) in rand(1000); {program}")[1:] == values(program, -7)
    assert values("(rand_seed(5), rand(1000));") == [f"(T, {values('rand(1000);', 5)[0]})"]


def test_the_seed_of_the_command_line(capsys: pytest.CaptureFixture[str]) -> None:
    def printed(*options: str) -> str:
        assert main(["eval", "{rand(1000) : i in [0:5]}", "--target", "reference", *options]) == 0
        return capsys.readouterr().out
    assert printed() == printed("--seed", "0") != printed("--seed", "1")
    assert printed("--seed", str(-2**63)) == printed("--seed", str(-2**63))


# The numbers ------------------------------------------------------------------------------------

LIMITS = st.sampled_from([5e-324, 1e-323, 2.5e-310, 1.0, 3.0, 1e308, math.inf, math.nan, 0.0, -1.0]) | st.floats()
DRAWN = Compiled("function main(n, x) : (int, float) -> (int, (float, int)) = (rand(n), (rand(x), rand(n)));")


@given(st.sampled_from([1, 2, 3, 2**32, 2**62 + 1, 2**63 - 1, 0, -1, -2**63]) | st.integers(1, 2**63 - 1), LIMITS)
def test_limits(n: int, x: float) -> None:
    states_are_passed(DRAWN, (n, x))
    match outcome(DRAWN, "interpreter", (n, x)):
        case (i, (r, j)):
            assert 0 <= i < n and 0.0 <= r < x and 0 <= j < n
        case failed:
            assert failed.message == "Rand only works with positive numbers." and not (n > 0 and x > 0.0)


def test_numbers_are_spread_evenly() -> None:
    """Within five standard deviations: by value, by position, in rows, and one after another."""
    program = Compiled("""function main(n) : int -> ([int], ([int], [int])) =
        ({rand(8) : i in index(n)}, (flatten({{rand(8) : j in index(n / 100)} : i in index(100)}),
         {rand(8) - rand(8) : i in index(n)}));""")
    n = 8000
    drawn, (rows, differences) = outcome(program, "interpreter", (n,))
    for found in (drawn, rows, drawn[::2], rows[::80], [a ^ b for a, b in zip(drawn, drawn[1:], strict=False)]):
        mean = len(found) / 8
        assert all(abs(count - mean) < 5 * math.sqrt(mean) for count in Counter(found).values()), found[:20]
        assert len(set(found)) == 8
    assert all(abs(Counter(differences)[d] - n * (8 - abs(d)) / 64) < 5 * math.sqrt(n / 8) for d in range(-7, 8))


# The pass ---------------------------------------------------------------------------------------

def test_nothing_draws_any_more() -> None:
    for case in CASES:
        compiled = Compiled(source(case))
        for last in ("random-state", "inline"):
            made = compiled.passes(forms.TYPED, compiled.program, last)
            names = [e.name for f in made.functions for e in expressions(f.body) if isinstance(e, mono.Prim)]
            assert "_draw" not in names and names.count("_seed") == 1, case


def test_programs_that_draw_nothing_are_left_alone() -> None:
    program = Compiled("function main(n) = {i * i : i in index(n)};")
    made = program.passes(forms.TYPED, program.program, "monomorphise")
    assert random_state(made) is made


def test_long_programs() -> None:
    """Of a thousand draws in a row, of lets, in a literal, nested."""
    lets = "".join(f"let x{i} = rand(100) in " for i in range(1000)) + "x999"
    literal = f"[{', '.join(['rand(100)'] * 1000)}]"
    nested = "rand(1 + " * 300 + "n" + ")" * 300

    def work() -> None:
        for text in (lets, literal, nested):
            states_are_passed(Compiled(f"function main(k) = let n = max(1, k) in {text};"), (3,))
    run_deep(work)
