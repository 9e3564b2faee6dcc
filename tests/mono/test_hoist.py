"""What is alike for all elements is computed before an apply-to-each: what moves, and that programs mean the same."""
from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import Any

import pytest
from amounts import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from mono_interpreter import Stopped, outcome, run

from nessie.base.system.deep import run_deep
from nessie.lambda_cu.ops import ROWS
from nessie.library.primitives import IN_MONO
from nessie.mono import nodes as mono
from nessie.mono.check import check
from nessie.mono.passes.hoist import hoist
from nessie.mono.text import parse
from nessie.mono.walk import expressions


def program(body: str) -> mono.Program:
    found = parse(f"""
        function again (n : int, u : [int]) : int = if n < 1 then `reduce_+`(u) else again(n - 1, u)
        function prints (m : int) : bool = if m < 1 then print_string("p") else prints(m - 1)
        function go (k : int, v : [int], w : [int]) : [int] = {body}
        entry go""")
    check(found)
    return found


def hoisted(body: str) -> mono.Program:
    found = hoist(program(body))
    check(found)
    return found


def moved(found: mono.Program) -> int:
    return sum(isinstance(e, mono.Let) and e.name.startswith("once")
               for f in found.functions for e in expressions(f.body))


# the body, and how much of it moves
MOVES = {
    "a sum": ("{x + `reduce_+`(w) : x : int in v}", 1),
    "one sum, twice": ("{(`reduce_+`(w) + x) + `reduce_+`(w) : x : int in v}", 1),
    "a call": ("{x + again(k, w) : x : int in v}", 1),
    "what fails, before anything else does": ("{elt(order(w), 7) + x : x : int in v}", 1),
    "what fails, behind what fails": ("{elt(v, x) + elt(order(w), 7) : x : int in v}", 1),      # the order alone
    "what cannot fail, behind what fails": ("{elt(v, x) + `reduce_+`(w) : x : int in v}", 1),
    "a call behind a division": ("{(x / x) + again(k, w) : x : int in v}", 0),
    "in a branch": ("{if x > 2 then `reduce_+`(w) else x : x : int in v}", 0),
    "in a condition": ("{if x > `reduce_+`(w) then 1 else x : x : int in v}", 1),
    "in a filter": ("{x : x : int in v | x < `reduce_+`(w)}", 1),
    "behind a filter": ("{x + `reduce_+`(w) : x : int in v | x < 2}", 0),
    "what depends on the element": ("{x + `reduce_+`({x * y : y : int in w}) : x : int in v}", 0),
    "what depends on a name set within": ("{let z : int = x in z + elt(scan_max(dist(z, 2)), 0) : x : int in v}", 0),
    "cheap": ("{((x * k) + length(w)) - k : x : int in v}", 0),
    "a length that may fail": ("{`reduce_+`({x * y : y : int in iseq(0, 1, length(elt([w], k)))}) : x : int in v}", 1),
    "a length that may fail, behind what fails": (
        "{(x / x) + `reduce_+`({x * y : y : int in iseq(0, 1, length(elt([w], k)))}) : x : int in v}", 0),
    "an effect": ("{let b : bool = print_string(\"a\") in `reduce_+`(w) : x : int in v}", 1),
    "a call with an effect": ("{let b : bool = prints(k) in x : x : int in v}", 0),
    "with two sequences, what cannot fail": ("{(x + y) + `reduce_+`(w) : x : int in v; y : int in w}", 1),
    "with two sequences, what can": ("{(x + y) + again(k, w) : x : int in v; y : int in w}", 0),
    "a source within": ("{`reduce_+`({x * y : y : int in order(w)}) : x : int in v}", 1),
}


@pytest.mark.parametrize("name", MOVES)
def test_what_moves(name: str) -> None:
    body, found = MOVES[name]
    assert moved(hoisted(body)) == found


def test_what_is_called_for_each_element_stays_as_it_is() -> None:
    text = """
        function inner (v : [int], w : [int]) : [int] =
          if length(v) < 2 then {x + `reduce_+`(w) : x : int in v} else inner([] [int], w)
        function go (vs : [[int]], u : [int]) : [[int]] = {inner(y, u) : y : [int] in vs}
        entry go"""
    assert moved(hoist(parse(text))) == 0
    assert moved(hoist(parse(text.replace("{inner(y, u) : y : [int] in vs}", "[inner(elt(vs, 0), u)]")))) == 1


def test_where_no_element_is_nothing_is_computed() -> None:
    found = hoisted("{x + elt(order(w), 7) : x : int in v}")
    assert moved(found) == 1 and run(found, 1, [], [1]) == []
    with pytest.raises(Stopped):
        run(found, 1, [1], [1])


# Meaning ----------------------------------------------------------------------------------------


@st.composite
def bodies(draw: Callable[[st.SearchStrategy[Any]], Any]) -> str:
    """Nested apply-to-eaches; any part of them can fail, and some tell that they are evaluated."""
    numbers = count()

    def row(names: list[str], depth: int) -> str:
        if depth == 0 or draw(st.booleans()):
            return str(draw(st.sampled_from(("v", "w", "order(w)", f"dist({number(names, 0)}, 2)"))))
        name = f"x{next(numbers)}"
        sources = f"{name} : int in {row(names, depth - 1)}"
        inner = [*names, name]
        condition = f" | {number(inner, 0)} < {number(inner, 0)}" if draw(st.booleans()) else ""
        return f"{{{number(inner, depth - 1)} : {sources}{condition}}}"

    def number(names: list[str], depth: int) -> str:
        known = draw(st.sampled_from(names))
        form = draw(st.sampled_from(("{x}", "({x} + {y})", "elt(v, {x})", "check({x} > {n}, \"no {n}\", {x})",
                                     "(let z{u} : bool = print_string(\"{u} \") in {x})", "`reduce_+`({r})",
                                     "again(1, {r})", "(if {x} > {n} then {y} else `reduce_+`({r}))")))
        deeper = depth and ("{r}" in form or "{y}" in form)
        return f"({form})".format(x=known, n=draw(st.integers(-1, 3)), u=next(numbers),
                                  y=number(names, depth - 1) if deeper and "{y}" in form else known,
                                  r=row(names, depth - 1) if deeper and "{r}" in form else "w")

    return row(["k"], 3)


@settings(max_examples=examples(150))
@given(bodies(), st.integers(-1, 4), st.lists(st.integers(-1, 4), max_size=3), st.lists(st.integers(0, 3), max_size=2))
def test_meaning_stays(body: str, k: int, v: list[int], w: list[int]) -> None:
    def compare() -> None:
        assert outcome(program(body), k, v, w) == outcome(hoisted(body), k, v, w)

    run_deep(compare)


def test_what_may_fail_says_so() -> None:
    """The documentation of operators tells of a check where there is one."""
    assert {row.name for row in ROWS if row.failure} == {
        name for name, row in IN_MONO.items() if row.kind == "scalar" and row.checked}
