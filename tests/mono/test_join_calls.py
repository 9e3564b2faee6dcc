"""Calls that end both branches of a conditional become one: which do, and that programs mean what they did."""
from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import Any

import pytest
from amounts import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from mono_interpreter import outcome

from nessie.base.system.deep import run_deep
from nessie.mono import nodes as mono
from nessie.mono.check import check
from nessie.mono.passes.join_calls import join_calls
from nessie.mono.text import parse
from nessie.mono.walk import called


def program(body: str) -> mono.Program:
    found = parse(f"function go (k : int, x : int, v : [int], w : [int]) : int = {body}\nentry go")
    check(found)
    return found


def joined(body: str) -> mono.Program:
    found = join_calls(program(body))
    check(found)
    return found


# the body, and how many calls of go are left in it
CALLS = {
    "in one branch only": ("if k < 1 then x else go(k - 1, x, v, w)", 1),
    "in three branches": ("if x > 9 then go(k, 1, v, w) else if x > 5 then go(k, 2, v, w) else if x > 3 then "
                          "go(k, 3, v, w) else x", 1),
    "in all of four": ("if x > 9 then (if k > 2 then go(k, 1, v, w) else go(k, 4, v, w)) else if x > 5 then "
                       "go(k, 2, v, w) else go(k, 3, v, w)", 1),
    "in one of each two": ("if x > 9 then (if k > 2 then go(k, 1, v, w) else 3) else if x > 5 then "
                           "k else go(k, 3, v, w)", 1),
    "not at the end": ("if k < 1 then go(k - 1, x, v, w) + 1 else go(k - 1, x, v, w)", 2),
    "with the same arguments": ("if k < 1 then go(x, x, v, w) else go(x, x, v, w)", 2),
    "with rows of parameters": ("if k < 1 then go(k, x, v, w) else go(k, x, w, v)", 2),
    "with an outer row, in an apply-to-each": (
        "let a : [int] = {y + 1 : y : int in v} in length({if z > 1 then go(k, x, a, w) else go(k, x, v, w) "
        ": z : int in w})", 2),
    "with rows that are made": ("let a : [int] = {y : y : int in v | y > 1} in let b : [int] = iseq(0, 1, k) in "
                                "if k < 1 then go(k, x, a, w) else go(k, x, subseq(b, 0, 1), w)", 1),
    "in a value that is used": ("1 + (if k < 1 then go(k - 1, x, v, w) else go(k - 1, 3, v, w))", 1),
    "after a row that the other branch would have to carry": (
        "if x > 3 then go(k, 1, v, w) else let a : [int] = iseq(0, 1, k) in if length(a) > 2 then "
        "go(k, 3, v, w) else elt(a, 0)", 2),
}


@pytest.mark.parametrize("name", CALLS)
def test_which_calls_become_one(name: str) -> None:
    body, left = CALLS[name]
    assert called(joined(body).functions[0].body).count("go") == left


# Meaning ----------------------------------------------------------------------------------------


@st.composite
def bodies(draw: Callable[[st.SearchStrategy[Any]], Any]) -> str:
    """A decision tree whose leaves are values and calls; any part of it can fail, and tells that it is evaluated."""
    names = ["x"]
    numbers = count()

    def number() -> str:
        known = draw(st.sampled_from(names))
        form = draw(st.sampled_from(("{x}", "{x} + {n}", "elt(v, {x})", "check({x} > {n}, \"no {n}\", {x})",
                                     "let z{u} : bool = print_string(\"{u} \") in {x}")))
        return f"({form.format(x=known, n=draw(st.integers(-1, 3)), u=next(numbers))})"

    def row() -> str:
        return str(draw(st.sampled_from(("v", "w", f"iseq(0, 1, {number()})"))))

    def tree(depth: int) -> str:
        shape = draw(st.integers(0, 9)) if depth else draw(st.integers(0, 3))
        if shape < 1:
            return number()
        if shape < 4:
            return f"go(k - 1, {number()}, {row()}, {row()})"
        if shape < 6:
            value, name = number(), f"y{next(numbers)}"
            names.append(name)
            found = f"let {name} : int = {value} in {tree(depth - 1)}"
            names.remove(name)
            return f"({found})"
        return f"(if {number()} < {number()} then {tree(depth - 1)} else {tree(depth - 1)})"

    return f"if k < 1 then x else {tree(4)}"


@settings(max_examples=examples(150))
@given(bodies(), st.integers(-1, 4), st.lists(st.integers(-1, 4), max_size=4))
def test_meaning_stays(body: str, x: int, v: list[int]) -> None:
    def compare() -> None:
        for k in (1, 3):
            assert outcome(program(body), k, x, v, [1]) == outcome(joined(body), k, x, v, [1])

    run_deep(compare)
