"""Filters that count by what they gather: what the CPU's first sweep tells the second, and keeps for it."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from executors import Compiled, assert_all_agree

import nessie
from nessie.cudagen.kernels.walk import walk_of
from nessie.cudagen.skeletons.told import gathers, kept, told
from nessie.lambda_cu import nodes as ir

XS, YS = [2, 0, 3, 1, 1, 2, 0], [5, -1, 7, -3]
CASES: dict[str, tuple[str, Any]] = {           # of xs, places in ys, and ys
    "a predicate that gathers": ("{x in xs | ys[x] < 0}", (XS, YS)),
    "of nothing": ("{x in xs | ys[x] < 0}", ([], YS)),
    "a failure where the element would not survive": ("{x in xs | ys[x] < 0}", ([1, 9, 3, -1], YS)),
    "pairs of what was gathered": ("{(p, q) in zip(ys -> xs, ys -> reverse(xs)) | p /= q}", (XS, YS)),
    "a failure in what is put off": ("{(p, q) in zip(ys -> xs, ys -> reverse(xs)) | p /= q}", ([0, 1, 4, 0], YS)),
    "what is made of what was gathered": (
        "let gs = ys -> xs; hs = {g * g : g in gs} in {h + g : h in hs; g in gs | h > 9}", (XS, YS)),
    "gathered for others, too": ("let gs = ys -> xs in ({g in gs | g > 0}, sum(gs), gs)", (XS, YS)),
    "a value that only survivors have": ("{100 / ys[x] : x in xs | ys[x] /= 7}", (XS, YS)),
    "a failing division of a survivor": ("{100 / (ys[x] + 1) : x in xs | ys[x] < 0}", (XS, YS)),
    "a sum of survivors": ("sum({y * y : y in ys -> xs | y > 0})", (XS, YS)),
    "survivors of survivors": ("{x in {x in xs | ys[x] < 6} | ys[rem(x + 1, #ys)] > 0}", (XS, YS)),
    "a scan of survivors": ("plus_scan({x in xs | ys[x] < 6})", (XS, YS)),
    "positions of survivors": ("{x * i : x in {x in xs | ys[x] < 6}; i in [0:#{x in xs | ys[x] < 6}]}", (XS, YS)),
    "survivors that are places": ("ys -> {abs(p) / 2 : p in {p in ys -> xs | p > -2}}", (XS, YS)),
    "a failing place of a survivor": ("ys -> {p in ys -> xs | p > -2}", (XS, YS)),
    "rows of neighbours": ("{w in flatten({[0:x] : x in xs} -> {abs(rem(y, #xs)) : y in ys}) | ys[w] < 6}", (XS, YS)),
    "survivors of each row": ("{{i in [0:x] | ys[xs[i]] > 0} : x in xs}", (XS, YS)),
    "written where they survive": ("ys <- {(x, 1) : x in {x in xs | ys[x] < 0}}", (XS, YS)),
}


@pytest.mark.parametrize("name", CASES)
def test_executors_agree(name: str) -> None:
    body, arguments = CASES[name]
    given, rows = "([int], [int])", {"pairs": "[(int, int)]", "gathered": "([int], int, [int])", "a sum": "int",
                                     "survivors of each": "[[int]]"}
    result = next((type_ for start, type_ in rows.items() if name.startswith(start)), "[int]")
    result = "[(int, int)]" if "put off" in name else result
    program = Compiled(f"function main(xs, ys) : {given} -> {result} = {body};")
    assert_all_agree(program, arguments, "fail" in name)


def filters(source: str) -> list[str]:
    """Of each FILTER of the program as it is fused: is it told, or kept?"""
    program = Compiled(source).executable("ilp")
    found = []
    for kernel in program.kernels:
        if any(isinstance(bind.soac, ir.Filter) for bind in kernel.binds):
            walk = walk_of(kernel, program)
            steps = frozenset(step.name for step in walk.steps)
            done, keeps = told(walk, steps), kept(walk, steps)
            found += ["kept" if step is keeps else "told" if step.name in done else "" for step in walk.steps
                      if isinstance(step.bind.soac, ir.Filter)]
    return found


@pytest.mark.parametrize("body, type_, expected", [
    ("{x in xs | ys[x] < 0}", "[int]", ["kept"]), ("{x in xs | x < 0}", "[int]", [""]),
    ("{g in ys -> xs | g > 0}", "[int]", ["kept"]),
    ("let gs = ys -> xs in ({g in gs | g > 0}, gs)", "([int], [int])", [""]),
    ("({x in xs | ys[x] < 0}, sum(xs))", "([int], int)", ["told"])])
def test_what_is_told_and_kept(body: str, type_: str, expected: list[str]) -> None:
    assert filters(f"function main(xs, ys) : ([int], [int]) -> {type_} = {body};") == expected


MANY = """
function survivors(xs, ys) = {x in xs | ys[x] < 0};
function gathered(xs, ys) = {(g, x) : g in ys -> xs; x in xs | g < 0};
function neighbours(rows, ys) = {w in flatten(rows) | ys[w] < 0};
function written(xs, ys) = ys <- {(x, #xs) : x in {x in xs | ys[x] < 0}};
function sums(xs, ys) = sum({ys[x] : x in {x in xs | ys[x] < 0}});
"""


@pytest.mark.parametrize("threads", [1, 2])
def test_survivors_of_many_chunks(threads: int) -> None:
    """Some chunks of 32768 elements have survivors only, some none; rows are short, empty, and longer than a chunk."""
    program, random = nessie.compile(MANY, threads=threads), np.random.default_rng(1)
    ys = random.integers(-5, 5, 1000)
    ys[:10], ys[10:20] = 1, -1
    xs = random.integers(0, 1000, 300_000)
    xs[40_000:120_000], xs[120_000:200_000] = xs[40_000:120_000] % 10, 10 + xs[120_000:200_000] % 10
    left = xs[ys[xs] < 0]
    assert np.array_equal(program.survivors(xs, ys), left)
    assert [list(part) for part in zip(*program.gathered(xs, ys), strict=True)] == [list(ys[left]), list(left)]
    cuts = np.sort(np.concatenate([random.integers(0, 30_000, 20_000), [0, 0, 300_000, 300_000]]))
    rows = nessie.Nested(cuts, xs)
    assert np.array_equal(program.neighbours(rows, ys), left)
    expected = ys.copy()
    expected[left] = len(xs)
    assert np.array_equal(program.written(xs, ys), expected)
    assert program.sums(xs, ys) == ys[left].sum()


def test_a_place_that_was_read_gathers() -> None:
    i, x = ir.Var("i"), ir.Var("x")
    assert gathers(ir.Thunk(("i",), ir.Let(("x",), ir.Read("xs", i), ir.Read("ys", x)), ("xs", "ys")))
    assert gathers(ir.Thunk(("i",), ir.Read("ys", ir.Read("xs", i)), ("xs", "ys")))
    assert not gathers(ir.Thunk(("i",), ir.Let(("x",), ir.Op("+", (i, ir.Var("n"))), ir.Read("ys", x)), ("ys", "n")))


def test_the_elements_of_a_row_follow_each_other_wherever_it_begins() -> None:
    s, j, i, x = (ir.Var(name) for name in "sjix")
    begin = ir.Read("starts", ir.Read("rows", s))
    element = ir.Read("xs", ir.Op("+", (begin, j)))
    named = ir.Let(("x",), begin, ir.Read("xs", ir.Op("+", (x, i))))
    for body in (element, named):
        assert not gathers(ir.Thunk(("s", "j", "i"), body, ("xs", "starts", "rows")))
    for body in (ir.Read("ys", element), ir.Let(("x",), element, ir.Read("ys", x))):
        assert gathers(ir.Thunk(("s", "j", "i"), body, ("ys", "xs", "starts", "rows")))
