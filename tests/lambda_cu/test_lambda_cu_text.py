"""The text of lambda_cu: printer and parser are inverse, and the text is the paper's."""
from __future__ import annotations

import time

import pytest
from amounts import examples
from hypothesis import given, settings
from lambda_cu_programs import expressions, functions, kernels, layouts, programs, thunks

from nessie.base.source import NessieError
from nessie.base.system.deep import run_deep
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu.text.parser import parse, parse_exp, parse_function, parse_kernel, parse_thunk
from nessie.lambda_cu.text.printer import show, show_exp, show_function, show_kernel, show_layout, show_thunk

NORM = '''\
site s1 "a \\"wrong\\" index" at library "prelude.nesl":3-9, "norm.nesl":120-124

scalar square (x : float) -> float { x * x }
scalar at (k : int, xs : &[float], is : &[int]) -> (float, int) { (xs[is[k]], k) }
scalar first (xs : &[float]) -> float { xs[0] }

kernel K1 (n : int, xs : [float; n]) -> float {
  let z = REDUCE { i => first(&xs) using xs } (0.0) { (x, y) => x + y } (n)
  return z
}

kernel K2 (n : int, xs : [float; n]) -> (int, [float; k]) {
  let (k, ys) = FILTER { i => xs[i] using xs } { i => xs[i] > 0.0 using xs } (n)
  return (k, ys)
}

kernel K3 (n : int, k : int, offsets : [int; k+1], xs : [float; n]) -> ([float; k], [int; 4]) {
  let sums = SEG_REDUCE
    { (s, j, i) => square(xs[i]) using xs }
    (0.0)
    { (x, y) => x + y }
    irregular(offsets, k, n)
  let is = PERMUTE { i => i } { i => if i < 4 then i else -1 } (n) into 4 (0) last
  return (sums, is)
}

function norm (n : int, xs : [float; n]) -> (m : int, result : [float; m]) {
  let total : float = run K1 (n, xs)
  let positive : bool = total > 0.0
  let (m1 : int, ys : [float; m1]) = if positive {
    let (k : int, zs : [float; k]) = run K2 (n, xs)
    return (k, zs)
  } else {
    let none : [float; 1] = data [-inf]
    return (1, none)
  }
  let safe : float = if positive then sqrt(total) else fail s1 : float
  return (m1, ys)
}

entry norm : [float] -> [float]
'''


def test_the_text_of_a_program() -> None:
    assert show(parse(NORM)) == NORM


@given(programs)
@settings(max_examples=examples(60))
def test_programs_come_back(program: ir.Program) -> None:
    assert parse(show(program)) == program


@given(programs)
@settings(max_examples=examples(30))
def test_sites_come_back_with_their_places(program: ir.Program) -> None:
    before, after = program.sites, parse(show(program)).sites
    assert [site.origin for site in before] == [site.origin for site in after]


@given(expressions)
@settings(max_examples=examples(150))
def test_expressions_come_back(exp: ir.Exp) -> None:
    assert parse_exp(show_exp(exp)) == exp


@given(thunks, kernels, functions)
@settings(max_examples=examples(40))
def test_parts_come_back(thunk: ir.Thunk, kernel: ir.Kernel, function: ir.Function) -> None:
    assert parse_thunk(show_thunk(thunk)) == thunk
    assert parse_kernel(show_kernel(kernel)) == kernel
    assert parse_function(show_function(function)) == function


@given(layouts)
@settings(max_examples=examples(40))
def test_layouts_come_back(layout: ir.Layout) -> None:
    program = ir.Program((), (), (), (), ir.Entry("f", (layout, layout), layout))
    assert parse(show(program)) == program and f"-> {show_layout(layout)}\n" in show(program)


@pytest.mark.parametrize("text", [
    "a + b * c", "(a + b) * c", "a - b - c", "a - (b - c)", "-3 - -4", "(a < b) == c", "a or b and c xor d",
    "(if c then a else b) + 1", "let (a, b) = (1, 2) in xs[a + b]", "f(x, sqrt(y))[", "not(a) and isnan(b)",
    "`max`(a, b)", "max(a, b)", "'\\''", "1e+300 + nan", "fail s1 : float + x", "(a,)", "()", "xs[ys[i]]",
    "let a = let b = 1 in b in a", "if a then 1 else if b then 2 else 3"])
def test_parentheses_are_minimal(text: str) -> None:
    if text.endswith("["):
        with pytest.raises(NessieError, match="not expected here"):
            parse_exp(text)
    else:
        assert show_exp(parse_exp(text)) == text


def test_long_thunks_are_broken_at_lets_and_ifs() -> None:
    text = """\
{ i =>
      let first_value = some_array[i] + some_array[i + 1] in
      if first_value > another_array[i] then
        first_value
      else if first_value > third_array[i] then
        third_array[i]
      else
        let second_value = first_value * first_value in second_value
      using some_array, another_array, third_array
    }"""
    assert show_thunk(parse_thunk(text), 2) == text


DEEP = 10_000


@pytest.mark.sampled(quick=3)
@pytest.mark.parametrize("grow", [
    lambda exp: ir.Op("+", (ir.Var("x"), exp)), lambda exp: ir.Op("+", (exp, ir.Var("x"))),
    lambda exp: ir.Let(("x",), ir.Var("y"), exp), lambda exp: ir.If(ir.Var("c"), ir.Var("x"), exp),
    lambda exp: ir.If(ir.Var("c"), exp, ir.Var("x")), lambda exp: ir.Read("xs", exp),
    lambda exp: ir.CallScalar("f", (exp,))], ids=["right", "left", "let", "else", "then", "read", "call"])
def test_deep_expressions_print_and_parse_in_linear_time(grow) -> None:
    def work() -> tuple[bool, int]:
        exp: ir.Exp = ir.Var("x")
        for _ in range(DEEP):
            exp = grow(exp)
        text = show_exp(exp)
        return show_exp(parse_exp(text)) == text, len(text)

    start = time.perf_counter()
    same, length = run_deep(work)
    assert same and length < DEEP * 200
    assert time.perf_counter() - start < 20


@pytest.mark.parametrize("text, message, line", [
    ("kernel K1 (n : int) -> float {\n  let z = SUM { i => i } (n)\n  return z\n}", "name of a SOAC", 2),
    ("kernel K1 (n : int) -> [int; n] {\n  let z = SEG_MAP { i => i } (n)\n  return z\n}", "not segmented", 2),
    ("kernel K1 (n : int) -> [float; n] {\n  let z = MAP { i => i } (n)\n  return z\n}\nentry f : int -> int",
     r"K1 returns \[int; n\], which is not what it declares", 1),
    ("entry f : int -> number", "one of the types int, float", 1),
    ("kernel K1 (n : int) {\n  let z = MAP { i => a < b < c } (n)\n  return z\n}", "comparisons do not chain", 2),
    ("kernel K1 (n : int) {\n  let z = MAP { i => i }\n    uniform(n, 2)\n  return z\n}", "uniform\\(segments", 3),
])
def test_errors_show_their_line(text: str, message: str, line: int) -> None:
    with pytest.raises(NessieError, match=message) as caught:
        parse(text)
    assert caught.value.places[0][0].line == line
