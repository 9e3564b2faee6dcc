"""Products by tiles of registers: elements, failures and bits of other walks; only where two sides are joined."""
from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from functools import reduce
from operator import add, and_, mul, or_
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from built import cpu_device
from kernel_runs import program_of, run_plan
from product_kernels import CHECKED, PRODUCT, TERM, failing, given, kernel, reduction
from test_cpu import launch
from test_row_sums import cpu_sum

from nessie.cudagen.cpu import llvm
from nessie.cudagen.generate import CHUNK, generate
from nessie.cudagen.host.device import NO_FAILURE
from nessie.cudagen.kernels.walk import walk_of
from nessie.cudagen.loops import nodes as loops
from nessie.cudagen.skeletons.products.sides import products_of
from nessie.lambda_cu.text.parser import parse_kernel
from nessie.tool.cli import main

SHAPES = [(0, 3, 20), (3, 0, 20), (4, 6, 0), (1, 1, 40), (4, 6, 16), (4, 6, 15), (5, 7, 17), (9, 13, 100), (37, 50, 64),
          pytest.param(70, 61, 133, marks=pytest.mark.nightly), (8, 12, 600)]                       # m, n, k


@pytest.fixture(autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.getbasetemp() / "cache"))


TWO = kernel(reduction("sums", "let d = a[i1 * k + j] - b[i2 * k + j] in d * d") + reduction(
    "most", "if a[i1 * k + j] < b[i2 * k + j] then b[i2 * k + j] else a[i1 * k + j]", "0.0", "max(x, y)") + """
    let halves = MAP { s => sums[s] / 2.0 using sums } (c)
    return (sums, most, halves)""")


@pytest.mark.parametrize("m, n, k", SHAPES)
def test_products_have_the_bits_of_other_walks(m: int, n: int, k: int) -> None:
    arguments = given(m, n, k)
    a, b = arguments[7].reshape(m, k), arguments[8].reshape(k, n)
    for width in (CHUNK, 40):
        expected = [cpu_sum((row * column).tolist(), width) for row in a for column in b.T]
        for threads in (1, 3):
            (sums,), failed = launch(cpu_device(program_of(PRODUCT), threads, width), "K", arguments)
            assert failed == NO_FAILURE and sums == expected
    for order in (1, -1):
        (found,), _ = run_plan(PRODUCT, arguments, CHUNK, order=order)
        assert found == [cpu_sum((row * column).tolist(), CHUNK) for row in a for column in b.T]


@pytest.mark.parametrize("m, n, k", [(5, 7, 17), (9, 13, 100)])
def test_the_first_failure_is_told(m: int, n: int, k: int) -> None:
    for arguments, key in failing(m, n, k):
        assert launch(cpu_device(program_of(CHECKED), 2, CHUNK), "K", arguments)[1] == key
        assert run_plan(CHECKED, arguments, CHUNK, order=-1)[1] == key


@pytest.mark.parametrize("m, n, k", [(5, 7, 17), (30, 13, 65)])
def test_two_at_once_of_any_values(m: int, n: int, k: int) -> None:
    arguments = given(m, n, k)
    a, b = arguments[7].reshape(m, k), arguments[8].reshape(n, k)
    (sums, most, halves), failed = launch(cpu_device(program_of(TWO), 2, CHUNK), "K", arguments)
    assert failed == NO_FAILURE
    assert sums == [cpu_sum(((row - other) ** 2).tolist(), CHUNK) for row in a for other in b]
    assert most == [max(0.0, *row, *other) for row in a for other in b]
    assert halves == [x / 2 for x in sums]


@pytest.mark.parametrize("base, identity, operator, join", [
    ("int", "0", "x + y", add), ("int", "1", "x * y", mul), ("int", "-9", "max(x, y)", max),
    ("bool", "true", "x and y", and_), ("bool", "false", "x or y", or_)])
def test_any_operator_that_commutes(base: str, identity: str, operator: str, join: Callable[[Any, Any], Any]) -> None:
    value = TERM if base == "int" else "a[i1 * k + j] /= b[j * n + i2]"
    found = kernel(reduction("them", value, identity, operator) + "return (them)", base)
    assert products_of(walk_of(found, program_of(found)), 2)
    m, n, k = 9, 14, 33
    random = np.random.default_rng(1)
    a, b = [random.integers(-2, 2, size) if base == "int" else random.random(size) < 0.1 for size in ((m, k), (k, n))]
    (them,), _ = launch(cpu_device(program_of(found), 2, CHUNK), "K", [
        m, n, k, m * n, m * n * k, m * k, k * n, a.reshape(-1), b.reshape(-1)])
    first = {"true": True, "false": False}.get(identity) if base == "bool" else int(identity)
    assert them == [reduce(join, [x * y if base == "int" else x != y for x, y in zip(row, column, strict=True)], first)
                    for row in a.tolist() for column in b.T.tolist()]


def test_rows_are_all_axes_but_the_last() -> None:
    found = parse_kernel("""kernel K (d : int, n : int, k : int, c : int, e : int, p : int, q : int,
                                      a : [float; p], b : [float; q]) {
        let sums = SEG_REDUCE { (i0, i1, i2, s, j, i) => a[(i0 * 3 + i1) * k + j] * b[j * n + i2] using a, b, k, n }
          (0.0) { (x, y) => x + y } uniform(c = d * 3 * n, k, e)
        return (sums) }""")
    d, n, k = 7, 9, 21
    arguments = given(3 * d, n, k)
    a, b = arguments[7].reshape(3 * d, k), arguments[8].reshape(k, n)
    assert products_of(walk_of(found, program_of(found)), 2)
    (sums,), _ = launch(cpu_device(program_of(found), 2, CHUNK), "K", [d, *arguments[1:]])
    assert sums == [cpu_sum((row * column).tolist(), CHUNK) for row in a for column in b.T]


@pytest.mark.parametrize("value, is_product", [
    (TERM, True), ("b[j * n + i2] - a[i1 * k + j]", True), ("a[i1 * k + j] * b[i2 * k + j]", True),
    ("let x = b[j * n + i2] in if x < 0.5 then x else a[i1 * k + j] * x", False),
    ("let x = b[j * n + i2] in let y = a[i1 * k + j] in if x < y then x else x * y", True),
    ("a[i1 * k + j]", False), ("b[j * n + i2]", False), ("a[i] * b[j * n + i2]", False),
    ("a[i1 + i2 + j] * b[j * n + i2] * a[i1 * k + j]", False), ("a[i1] * b[i2]", False),
    ("a[i1 * k + j] * b[j * n + i2] + float(i1 * i2)", True), ("a[i1 * k + j] * b[j * n + i2] + float(i1)", True),
    ("if i1 < i2 then a[i1 * k + j] * b[j * n + i2] else 0.0", False)])
def test_which_walks_join_two_sides(value: str, is_product: bool) -> None:
    found = kernel(reduction("sums", value) + "return (sums)")
    assert bool(products_of(walk_of(found, program_of(found)), 2)) == is_product


def test_what_does_not_commute_goes_in_order() -> None:
    found = kernel(reduction("sums", TERM, "0.0", "x + y - x * y * x") + "return (sums)")
    assert products_of(walk_of(found, program_of(found)), 2) is None


def test_little_is_left_to_the_other_walk() -> None:
    plans = {plan.name: plan for plan in generate(program_of(PRODUCT), "cpu").plans}
    alone = plans["K"].alone
    assert alone is not None and alone.plan == "K_walk"
    sizes = {"m": 40, "n": 60, "k": 50, "p": 2000, "q": 3000}
    assert evaluated(alone.chunks, sizes) > 1
    for few in ({"m": 3}, {"n": 5}, {"k": 15}, {"k": CHUNK + 1}, {"m": 10 ** 6}):       # the last: of 5000 elements
        assert evaluated(alone.chunks, {**sizes, **few}) <= 1


def test_tiles_take_the_widest_registers() -> None:
    """In those of half the width, 24 sums of eight lanes have no room; what the entry point inlines goes by its own
    attributes."""
    text = llvm.llvm(generate(program_of(PRODUCT), "cpu"))
    wide = re.findall(r"^define \S.* @(\w+\.\w+)\(.*\) #2 {$", text, re.MULTILINE)
    assert wide == ["K_tiles.body", "K_tiles.call"]
    assert 'attributes #2 = { nounwind "prefer-vector-width"="512" }' in text


@pytest.mark.parametrize("target", ["cpu", "cuda"])
def test_a_kernel_may_be_called_as_the_other_walk(target: str) -> None:
    program = program_of(PRODUCT)
    made = generate(replace(program, kernels=(PRODUCT, replace(PRODUCT, name="K_walk"))), target)
    names = [plan.name for plan in made.plans]
    assert names == ["K", "K_walk_1", "K_walk", "K_walk_walk"]
    assert [plan.alone.plan for plan in made.plans if plan.alone] == ["K_walk_1", "K_walk_walk"]
    assert len({function.name for function in made.functions}) == len(made.functions)


def test_explain_tells_where_tiles_pay(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "product.nesl"
    path.write_text("function mm(a, b) = {{sum({x * b[l][j] : x in r; l in [0:#r]}) : j in [0:#b[0]]} : r in a};\n")
    assert main(["explain", str(path), "-e", "mm", "-t", "[uniform [float]], [uniform [float]]"]) == 0
    assert ("where there are 4 rows, 6 columns and 16 elements of each, or more, and 32,768 elements at most; where "
            "all rows and columns have fewer elements than 4 times the arrays that are read, and 65,536 more"
            ) in capsys.readouterr().out


def evaluated(exp: loops.Exp, sizes: dict[str, int]) -> int:
    match exp:
        case loops.Name(name):
            return sizes[name]
        case loops.Const(value):
            return value
        case loops.Op(operator, (a, b)):
            x, y = evaluated(a, sizes), evaluated(b, sizes)
            return {"+": x + y, "-": x - y, "*": x * y, "min": min(x, y), "max": max(x, y)}.get(operator) or (
                x // y if operator == "/" else 0)
    raise TypeError(exp)
