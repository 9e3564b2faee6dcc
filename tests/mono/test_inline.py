"""Inlining: what it replaces, what it leaves, and that order, strictness and meaning stay."""
from __future__ import annotations

from typing import Any

import pytest
from mono_interpreter import Stopped, run

from nessie.base.call_graph import components
from nessie.base.source import Source, user_span
from nessie.base.system.deep import run_deep
from nessie.mono import nodes as mono
from nessie.mono.check import check
from nessie.mono.passes.inline import GROWTH, SMALL, inline
from nessie.mono.text import parse, show
from nessie.mono.walk import called, expressions


def inlined(text: str) -> mono.Program:
    program = parse(text)
    check(program)
    made = inline(program)
    check(made)
    return made


def calls(program: mono.Program) -> list[str]:
    return [name for f in program.functions for name in called(f.body)]


def total(program: mono.Program) -> int:
    return sum(1 for f in program.functions for _ in expressions(f.body))


def test_arguments_are_bound_and_binders_renamed() -> None:
    assert show(inlined("""
        function square (x : int) : int = let y : int = x in y * y
        function main (a : int) : int = square(a / 2) + square(a)
        entry main""")) == """\
function main (a : int) : int =
  (let x_1 : int = a / 2 in x_1 * x_1) + (a * a)

entry main
"""


def test_only_call_keeps_its_names() -> None:
    assert show(inlined("""
        function halves (x : int) : (int, int) = let y : int = x / 2 in (y, x - y)
        function main (a : int) : int = let p : (int, int) = halves(a) in first(p) * second(p)
        entry main""")) == """\
function main (a : int) : int =
  let y : int = a / 2 in
  let p_2 : int = a - y in
  y * p_2

entry main
"""


def test_recursive_functions_stay() -> None:
    made = inlined("""
        function even (n : int) : bool = if n == 0 then t else odd(n - 1)
        function odd (m : int) : bool = if m == 0 then f else even(m - 1)
        function loop (k : int) : int = if k == 0 then 0 else loop(step(k))
        function step (i : int) : int = i - 1
        function main (a : int) : bool = if even(a) then t else loop(a) == 0
        entry main""")
    assert [f.name for f in made.functions] == ["even", "odd", "loop", "main"]
    assert [run(made, n) for n in (4, 7)] == [True, True]


def large(name: str, parameter: str) -> str:
    return f"function {name} ({parameter} : int) : int = " + f"({parameter} + " * SMALL + "0" + ")" * SMALL + "\n"


def test_large_functions_stay_unless_called_once() -> None:
    twice = large("big", "x") + "function main (a : int) : int = big(a) + big(1)\nentry main"
    once = large("big", "x") + "function main (a : int) : int = big(a)\nentry main"
    assert calls(inlined(twice)) == ["big", "big"]
    assert calls(inlined(once)) == []


def test_library_functions_are_always_inlined() -> None:
    text = large("big", "x") + "function main (a : int) : int = big(a) + big(1)\nentry main"
    program = parse(Source("prelude", text, library=True))
    assert calls(inline(program)) == []


def test_no_exponential_growth() -> None:
    """Each function calls the one before twice: inlined without limit, the last would have 2^40 nodes."""
    functions = ["function f0 (x0 : int) : int = x0 * x0"]
    functions += [f"function f{i} (x{i} : int) : int = f{i - 1}(x{i}) + f{i - 1}(x{i} + 1)" for i in range(1, 41)]
    text = "\n".join(functions) + "\nentry f40"
    assert total(inlined(text)) <= (GROWTH + 1) * total(parse(text)) + SMALL


def test_growth_is_bounded_for_many_calls() -> None:
    many = "0"
    for i in range(2_000):
        many = f"({many} + half({i}))"
    text = ("function half (x : int) : int = " + "(x + " * 60 + "0" + ")" * 60
            + f"\nfunction main (a : int) : int = {many}\nentry main")

    def work() -> None:
        before, after = parse(text), inlined(text)
        assert 0 < len(calls(after)) < 2_000
        assert total(after) <= (GROWTH + 1) * total(before)
    run_deep(work)


def test_arguments_are_evaluated_though_unused() -> None:
    made = inlined("""
        function constant (x : int, p : (int, int)) : int = 7
        function main (a : int) : int = constant(1 / a, (2, 3)) + constant(1, (2 / a, 3))
        entry main""")
    assert run(made, 1) == 14
    with pytest.raises(Stopped, match="Divide by zero"):
        run(made, 0)


def test_projection_of_what_can_fail_stays() -> None:
    made = inlined("""
        function pair (x : int) : (int, int) = (x, 1 / x)
        function main (a : int) : int = first(pair(a)) + first((a, 2 / a))
        entry main""")
    assert run(made, 1) == 2
    with pytest.raises(Stopped, match="Divide by zero"):
        run(made, 0)


def test_output_stays_in_order() -> None:
    made = inlined("""
        function say (s : [char], x : int) : int = let done : bool = print_string(s) in x
        function add (x1 : int, y1 : int) : int = let done1 : bool = print_string("+") in x1 + y1
        function main (a : int) : int = add(say("a", a), add(say("b", 2), say("c", 3))) + say("d", 4)
        entry main""")
    assert calls(made) == []
    printed: list[str] = []
    assert run(made, 1, printed=printed) == 10
    assert "".join(printed) == "abc++d"


def test_each_binders_are_renamed_per_copy() -> None:
    made = inlined("""
        function scale (v : [int], k : int) : [int] = {x * k : x : int in v; y : int in v | y > k}
        function main (a : [int]) : [[int]] = {scale(b, 1) : b : [int] in [scale(a, 0), scale(a, 2)]}
        entry main""")
    assert calls(made) == []
    assert run(made, [1, 2, 3]) == [[], [6]]


def test_origins_lead_to_the_call() -> None:
    source = Source("user.nesl", "function half (x : int) : int = x / 2\n"
                                 "function main (a : int) : int = half(a) + half(a + 1)\nentry main")
    made = inline(parse(source))
    quotients = [e for e in expressions(made.functions[-1].body) if isinstance(e, mono.Prim) and e.name == "/"]
    lines = [[span.line for span in e.origin] for e in quotients]
    assert lines == [[1, 2], [1, 2]]
    assert [source.text[e.origin[-1].start:e.origin[-1].end] for e in quotients] == ["half(a)", "half(a + 1)"]


def test_library_code_is_shown_at_the_call() -> None:
    library = parse(Source("prelude", "function half (x : int) : int = x / 2\nentry half", library=True))
    user = parse("function half (y : int) : int = 0\nfunction main (a : int) : int = half(a)\nentry main")
    made = inline(mono.Program((library.functions[0], user.functions[1]), "main"))
    span = user_span(made.functions[0].body.origin)                 # type: ignore[union-attr]
    assert span is not None and span.source.text[span.start:span.end] == "half(a)"


def test_components() -> None:
    graph: dict[str, list[str]] = {"a": ["b"], "b": ["c", "d"], "c": ["b"], "d": [], "e": ["e", "a"]}
    assert [sorted(c) for c in components(graph)] == [["d"], ["b", "c"], ["a"], ["e"]]


def test_deep_call_chains() -> None:
    chain = ["function f0 (x0 : int) : int = x0 + 1"]
    chain += [f"function f{i} (x{i} : int) : int = f{i - 1}(x{i}) + 1" for i in range(1, 3_000)]

    def work() -> Any:
        return run(inlined("\n".join(chain) + "\nentry f2999"), 1)
    assert run_deep(work) == 3_001
