"""Writes by known bijections: they compute what the interpreter does, on all kinds of sequences, and are gathers or one
PERMUTE; writes by other positions are as they were."""
from __future__ import annotations

import math
from functools import cache
from typing import Any

import pytest
from amounts import examples
from executors import Compiled, Failed, outcome, same
from hypothesis import given, settings
from hypothesis import strategies as st

from nessie import driver, forms, pipeline
from nessie.base.types import Base, Pair, Seq, Type
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu import scope

ROWS = "function main(m) : [[int]] -> [[int]] = "
KNOWN = {
    # program, and how many SOACs of which kind are launched
    "rank": ("function main(w) : [float] -> [int] = rank(w);", {"Order": 1, "Permute": 1}),
    "ranks of characters": ("function main(w) : [char] -> [int] = char_rank(w);", {"Order": 1, "Permute": 1}),
    "by rank": ("function main(v, w) : ([int], [float]) -> [int] = permute(v, rank(w));", {"Order": 1, "Map": 1}),
    "by rank, down": ("function main(v, w) : ([int], [float]) -> [int] = permute(v, rank_down(w));",
                      {"Order": 1, "Map": 1}),
    "there and back": ("function main(v) : [int] -> [int] = let r = rank(v) in permute(v, r) -> r;",
                       {"Order": 1, "Permute": 1, "Map": 1}),
    "twice": ("function main(v, w, u) : ([int], [float], [int]) -> [int] = permute(permute(v, rank(w)), rank(u));",
              {"Order": 2, "Map": 1}),
    "reversal": ("function main(v) : [int] -> [int] = let n = #v in permute(v, {n - 1 - i : i in index(n)});",
                 {"Map": 1}),
    "nowhere else": ("function main(v) : [int] -> [int] = permute(v, index(#v));", {}),
    "pairs": ("function main(v, w) : ([(int, float)], [int]) -> [(int, float)] = v <- zip(rank(w), v);",
              {"Order": 1, "Map": 1}),
    "rows": ("function main(v, w) : ([[int]], [float]) -> [[int]] = permute(v, rank(w));",
             {"Order": 1, "Map": 2, "Scan": 1}),
    "ranks of rows": (ROWS + "{rank(r) : r in m};", {"Order": 1, "Permute": 1, "Map": 1}),
    "rows by rank": (ROWS + "{permute(r, rank(r)) : r in m};", {"Order": 1, "Map": 1}),
    "rows by the ranks of others": (ROWS + "{permute({x * x : x in r}, rank(r)) : r in m};", {"Order": 1, "Map": 2}),
    "reversals": ("function main(v) : [int] -> [[int]] = {let r = {x + i : i in index(4)} in"
                  " permute(r, {#r - 1 - i : i in index(#r)}) : x in v};", {"Map": 2}),
    "labels": ("function main(v) : [int] -> [int] = name(v);", None),
    "where a row is": ("function main(m) : [[int]] -> [int] = "
                       "if #m > 1 then permute(m[0], rank(m[0])) else rank(m[#m - 1]);", None),
}
UNKNOWN = {
    "any": "function main(v, i) : ([int], [int]) -> [int] = permute(v, i);",
    "reversed, any": "function main(v, i) : ([int], [int]) -> [int] = permute(reverse(v), i);",
    "unequal": "function main(v, w) : ([int], [float]) -> [int] = permute(v, rank(w)) ++ sort(v);",
    "a part": "function main(v, w) : ([int], [int]) -> [int] = v <- {(i, x) : i in rank(w); x in w | x > 0};",
    "beyond": "function main(v) : [int] -> [int] = let n = #v in permute(v, {n - i : i in index(n)});",
    "not even": "function main(v) : [int] -> [int] = permute(v, {i / 2 : i in index(#v)});",
    "rows of other lengths": ROWS + "{permute(r, rank(s)) : r in m; s in reverse(m)};",
    "some": "function main(v, w) : ([int], [float]) -> [int] = v <- zip(rank(w), {floor(x) : x in w});",
}
compiled = cache(Compiled)


def flat(source: str) -> ir.Program:
    found: ir.Program = compiled(source).passes(forms.FLAT, compiled(source).flat, "pull")
    return found


def runs(program: ir.Program) -> dict[str, int]:
    """How many SOACs of which kind are launched."""
    kernels = {kernel.name: kernel for kernel in program.kernels}
    found: dict[str, int] = {}
    for function in program.functions:
        for statement in scope.statements(function.body):
            if isinstance(statement, ir.Run):
                for bind in kernels[statement.kernel].binds:
                    kind = type(bind.soac).__name__
                    found[kind] = found.get(kind, 0) + 1
    return found


def values(type_: Type, size: int) -> st.SearchStrategy[Any]:
    """Of the type; sequences have `size` elements, those within them any few."""
    match type_:
        case Base("int"):
            return st.integers(-3, 6)
        case Base("float"):
            return st.sampled_from([0.0, -0.0, 1.5, -2.0, math.inf, math.nan])
        case Base():
            return st.sampled_from("abc")
        case Seq(element):
            items = st.integers(0, 4).flatmap(lambda within: values(element, within))
            return st.lists(items, min_size=size, max_size=size)
        case Pair(first, second):
            return st.tuples(values(first, size), values(second, size))
    raise TypeError(type_)


def check(source: str, data: st.DataObject, sizes: st.SearchStrategy[int]) -> None:
    program = compiled(source)
    arguments = [data.draw(values(type_, data.draw(sizes))) for type_ in program.signature[0]]
    same(program, *arguments)


@pytest.mark.parametrize("name", KNOWN)
@settings(max_examples=examples(15))
@given(st.data(), st.integers(0, 9))
def test_known(name: str, data: st.DataObject, size: int) -> None:
    check(KNOWN[name][0], data, st.just(size))


@pytest.mark.parametrize("name", UNKNOWN)
@settings(max_examples=examples(25))
@given(st.data(), st.integers(0, 7))
def test_unknown(name: str, data: st.DataObject, size: int) -> None:
    check(UNKNOWN[name], data, st.one_of(st.just(size), st.integers(0, 7)))


@pytest.mark.parametrize("name", [name for name, (_, launches) in KNOWN.items() if launches is not None])
def test_launches(name: str) -> None:
    assert runs(flat(KNOWN[name][0])) == KNOWN[name][1]


def test_labels_need_no_winner() -> None:
    """Which of equal elements stands first is no PERMUTE."""
    kernels = compiled(KNOWN["labels"][0]).flat.kernels
    modes = [bind.soac.mode for kernel in kernels for bind in kernel.binds if isinstance(bind.soac, ir.Permute)]
    assert modes == ["last"]                     # it asks which of equal elements stands last


def test_unknown_positions_are_checked_and_the_last_write_wins() -> None:
    program = compiled(UNKNOWN["any"])
    assert outcome(program, "cpu3 ilp", [[1, 2, 3], [2, 2, 0]]) == [3, 2, 2]
    assert isinstance(outcome(program, "cpu3 ilp", [[1, 2, 3], [0, 1, 3]]), Failed)
    assert isinstance(outcome(program, "cpu3 ilp", [[1, 2, 3], [0, 1]]), Failed)


@pytest.mark.parametrize("mode", ["none", "greedy", "ilp"])
def test_what_relies_on_a_check_is_launched_after_it(mode: str) -> None:
    """Only a check of the host tells that the sizes are equal."""
    program = compiled("""function main(v, w) : ([int], [int]) -> [int] =
                            let a = {x in v | x > 0}; b = {x in w | x > 0} in permute({x + 1 : x in a}, rank(b));""")
    job = pipeline.Job(entry=program.entry, layouts=program.layouts, fuse=mode)
    found = driver.compile_program(job, forms.FLAT, program.flat, pipeline.pass_named("fuse"))
    (statements,) = [f.body.statements for f in found.functions]
    checks = [k for k, statement in enumerate(statements) if isinstance(statement, ir.HostLet)]
    assert checks
    assert [isinstance(statement, ir.Run) for statement in statements[max(checks) + 1:]] == [True]


NUMBERS = [*range(3000)]


@pytest.mark.parametrize(("body", "type_", "arguments", "moved"), [
    ("permute(v, i)", "[int]", ([1, 2, 3], [0, 0, 2]), [2, 2, 3]),
    ("permute(v, i)", "[int]", ([1, 2, 3], [1, 1, 1]), [1, 3, 3]),
    ("permute_nocheck(v, i)", "[int]", ([1, 2, 3], [2, 2, 0]), [3, 2, 2]),
    ("permute({[x, x] : x in v}, i)", "[[int]]", ([1, 2, 3], [2, 0, 2]), [[2, 2], [2, 2], [3, 3]]),
    ("{permute(v, {mod(p + k, #v) : p in i}) : k in [0, 1]}", "[[int]]", ([1, 2, 3], [0, 0, 1]),
     [[2, 3, 3], [1, 2, 3]]),
    ("permute(v, {mod(p, 3) : p in i})", "[int]", (NUMBERS, NUMBERS), [2997, 2998, 2999, *NUMBERS[3:]])], ids=str)
def test_of_equal_positions_the_last_element_stays(body: str, type_: str, arguments: tuple[list[int], list[int]],
                                                   moved: object) -> None:
    """On every executor; a position to which nothing moves keeps its element."""
    program = Compiled(f"function main(v, i) : ([int], [int]) -> {type_} = {body};")
    assert same(program, *arguments) == moved
