"""Conditionals that ask whether a sequence is empty: what all activations may do is done without dividing them."""
from __future__ import annotations

from functools import cache

import pytest
from amounts import examples
from executors import EXECUTORS, Compiled, Failed, agree, outcome, same
from hypothesis import given, settings
from hypothesis import strategies as st
from test_permuting import runs, values

from nessie import forms

INTS, FLOATS = "function main(m) : [[int]] -> ", "function main(m) : [[float]] -> "
UNDIVIDED = {
    "mean": INTS + "[int] = {if #r == 0 then 0 else sum(r) / #r : r in m};",
    "mean of floats": FLOATS + "[float] = {if 0 /= #r then sum(r) / float(#r) else -1.0 : r in m};",
    "where": FLOATS + "[int] = {if #r < 1 then -1 else max_index(r) : r in m};",
    "not": INTS + "[(int, int)] = {if not(#r == 0) then (min_val(r), max_index(r)) else (0, #m) : r in m};",
    "elements fail": INTS + "[int] = {if 0 < #r then sum({10 / x : x in r}) else 7 : r in m};",
    "mapped and named": INTS + "[int] = "
                               "{if #r >= 1 then (let n = #r; w = {x * n : x in r} in sum(w) - n) else 3 : r in m};",
    "sorted": INTS + "[int] = {if #r <= 0 then 0 else sum({x * i : x in sort(r); i in index(#r)}) : r in m};",
    "two deep": "function main(m) : [[[int]]] -> [[int]] = {{if #r == 0 then 0 else max_val(r) : r in p} : p in m};",
    "outer": "function main(m, v) : ([[int]], [int]) -> [int] = "
             "{if #r == 0 then x else sum({x * y : y in r}) : r in m; x in v};",
    "one in the other": INTS + "[int] = "
                               "{if #r == 0 then 0 else sum({if #r > 2 then x else 1 : x in r}) / #r : r in m};",
}
DIVIDED = {
    "fails before": INTS + "[int] = {if #r > 0 then r[0] + sum(r) else 0 : r in m};",
    "fails if empty": INTS + "[int] = {if #r == 0 then 5 / #r else sum(r) : r in m};",
    "another's": "function main(m, v) : ([[int]], [int]) -> [int] = "
                 "{if #r == 0 then 0 else sum(v) + sum({x + y : x in v; y in r -> [0]}) : r in m};",
    "not empty": INTS + "[int] = {if #r < 2 then 0 else sum(r) : r in m};",
    "both": INTS + "[int] = {if #r == 0 then sum({#q : q in m}) else sum(r) : r in m};",
    "a range": INTS + "[int] = {if #r == 0 then 1 else sum([0:9]) + sum(r) : r in m};",
    "named failure": INTS + "[int] = {if #r == 0 then 1 else let a = 6 / r[0] in sum({x * a : x in r}) : r in m};",
}
compiled = cache(Compiled)


@pytest.mark.parametrize("name", [*UNDIVIDED, *DIVIDED])
@settings(max_examples=examples(12))
@given(st.data(), st.integers(0, 9))
def test_values(name: str, data: st.DataObject, size: int) -> None:
    program = compiled({**UNDIVIDED, **DIVIDED}[name])
    arguments = [data.draw(values(type_, size)) for type_ in program.signature[0]]
    same(program, *arguments)


@pytest.mark.parametrize("name", [*UNDIVIDED, *DIVIDED])
def test_who_is_divided(name: str) -> None:
    program = compiled({**UNDIVIDED, **DIVIDED}[name])
    found = runs(program.passes(forms.FLAT, program.flat, "pull"))
    assert ("Partition" in found) == (name in DIVIDED), found


@pytest.mark.parametrize("name, rows, text", [
    ("elements fail", [[], [1, 2], [], [5, 0]], "10 / x"), ("named failure", [[], [0, 1]], "6 / r[0]"),
    ("fails if empty", [[1], []], "5 / #r"), ("fails before", [[], [1]], None), ("mean", [[], []], None)])
def test_failures(name: str, rows: list[list[int]], text: str | None) -> None:
    program = compiled({**UNDIVIDED, **DIVIDED}[name])
    wanted = outcome(program, "interpreter", [rows])
    for executor in EXECUTORS:
        found = outcome(program, executor, [rows])
        assert agree(wanted, found), executor
        assert isinstance(found, Failed) == (text is not None)
        if isinstance(found, Failed):
            assert [span.source.text[span.start:span.end] for span in found.place[:1]] == [text]
