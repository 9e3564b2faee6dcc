"""Simplifying: what is dropped, what is shared, what must stay."""
from __future__ import annotations

import numpy as np
import pytest

from nessie.base.system.deep import run_deep
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu.check import check
from nessie.lambda_cu.ops import ROWS
from nessie.lambda_cu.passes.lets import without_copies, without_dead_lets
from nessie.lambda_cu.passes.simplify import simplify
from nessie.lambda_cu.reference.operators import MEANINGS
from nessie.lambda_cu.text.parser import parse, parse_exp
from nessie.lambda_cu.text.printer import show, show_exp


def simplified(text: str) -> str:
    program = parse(text)
    check(program)
    result = simplify(program)
    check(result)
    assert show(simplify(result)) == show(result)
    return show(result)


def test_dead_code_goes_and_what_can_fail_stays() -> None:
    assert simplified("""\
site s1 "unused"
site s2 "negative"
scalar half (x : int) -> int { x / 2 }
scalar forever (x : int) -> int { forever(x) }

kernel A (n : int, k : int, xs : [int; n]) {
  let ys = MAP { i => let dead = half(xs[i]) in let deader = dead + 1 in xs[i] + 1 using xs } (n)
  let zs = MAP { i => if xs[i] < 0 then fail s2 : int else half(xs[i]) using xs } (n)
  let ws = MAP { i => xs[i] using xs } (n)
  let (c, us, vs) = FILTER { i => (i, xs[i]) using xs } { i => xs[i] > k using xs, k } (n)
  return (ys, zs, ws, c, vs)
}
kernel B (n : int) {
  let x = MAP { i => i } (n)
  return x
}
function other (n : int) -> (r : int) {
  return n
}
function main (n : int, xs : [int; n], p : int) -> (m : int, rs : [int; m]) {
  let a : [int; n] = run B (n)
  let b : int = p + 1
  let c : bool = b > 2
  let d : int = if c then fail s2 : int else p
  let f : int = forever(p)
  let (ys : [int; n], zs : [int; n], ws : [int; n], k1 : int, vs : [int; k1]) = run A (n, b, xs)
  let (unread : int, k2 : int, again : [int; k2]) = if c {
    let e : [int; k1] = run B (k1)
    return (k1, k1, e)
  } else {
    return (n, n, ys)
  }
  let nothing : int = if c {
    return 1
  } else {
    return 2
  }
  let r : int = call other (nothing)
  return (k2, again)
}
entry main : [int], int -> [int]
""") == """\
site s2 "negative"

scalar forever (x : int) -> int { forever(x) }

kernel K1 (n : int, k : int, xs : [int; n]) -> ([int; n], int) {
  let ys = MAP { i => xs[i] + 1 using xs } (n)
  let _ = MAP { i => if xs[i] < 0 then fail s2 : int else half(xs[i]) using xs } (n)
  let (c, _) = FILTER { i => 0 } { i => xs[i] > k using xs, k } (n)
  return (ys, c)
}

kernel K2 (n : int) -> [int; n] {
  let x = MAP { i => i } (n)
  return x
}

function main (n : int, xs : [int; n], p : int) -> (m : int, rs : [int; m]) {
  let b : int = p + 1
  let c : bool = b > 2
  let _ : int = if c then fail s2 : int else p
  let _ : int = forever(p)
  let (ys : [int; n], k1 : int) = run K1 (n, b, xs)
  let (k2 : int, again : [int; k2]) = if c {
    let e : [int; k1] = run K2 (k1)
    return (k1, e)
  } else {
    return (n, ys)
  }
  return (k2, again)
}

entry main : [int], int -> [int]
""".replace("\nscalar forever", "\nscalar half (x : int) -> int { x / 2 }\nscalar forever")


def test_equal_kernels_are_one_and_equal_runs_too() -> None:
    assert simplified("""\
kernel A (n : int, xs : [float; n], unused : int) {
  let z = REDUCE { i => let y = xs[i] in y * y using xs } (0.0) { (a, b) => a + b } (n)
  return z
}
kernel B (m : int, more : int, ys : [float; m]) {
  let w = REDUCE { j => let x = ys[j] in x * x using ys } (0.0) { (x1, y1) => x1 + y1 } (m)
  return w
}
kernel C (m : int, ys : [float; m]) {
  let w = REDUCE { j => let x = ys[j] in x * x using ys } (-0.0) { (x1, y1) => x1 + y1 } (m)
  return w
}
function main (n : int, xs : [float; n], m : int, ys : [float; m]) -> (r : float) {
  let a : float = run A (n, xs, 5)
  let b : float = run B (m, 3, ys)
  let same : int = n
  let a2 : float = run B (n, same, xs)
  let c : float = run C (n, xs)
  let r : float = a + b + a2 + c
  return r
}
entry main : [float], [float] -> float
""") == """\
kernel K1 (n : int, xs : [float; n]) -> float {
  let z = REDUCE { i => let y = xs[i] in y * y using xs } (0.0) { (a, b) => a + b } (n)
  return z
}

kernel K2 (m : int, ys : [float; m]) -> float {
  let w = REDUCE { j => let x = ys[j] in x * x using ys } (-0.0) { (x1, y1) => x1 + y1 } (m)
  return w
}

function main (n : int, xs : [float; n], m : int, ys : [float; m]) -> (r : float) {
  let a : float = run K1 (n, xs)
  let b : float = run K1 (m, ys)
  let c : float = run K2 (n, xs)
  let r : float = a + b + a + c
  return r
}

entry main : [float], [float] -> float
"""


def test_a_run_in_one_branch_is_not_shared_with_the_other() -> None:
    text = """\
kernel K1 (n : int) -> [int; n] {
  let x = MAP { i => i } (n)
  return x
}

function main (n : int, c : bool) -> (r : int) {
  let r : int = if c {
    let a : [int; n] = run K1 (n)
    let b : int = a[0]
    return b
  } else {
    let d : [int; n] = run K1 (n)
    let e : int = d[1]
    return e
  }
  return r
}

entry main : int, bool -> int
"""
    assert simplified(text) == text


def test_effects_stay_and_part_what_is_run_twice() -> None:
    text = """\
kernel K1 (n : int, xs : [float; n]) -> float {
  let s = REDUCE { i => xs[i] using xs } (0.0) { (x, y) => x + y } (n)
  return s
}

function main (n : int, xs : [float; n]) -> (a : float, b : float, d : float) {
  let a1 : float = run K1 (n, xs)
  let _ : bool = perform tell (n) : int -> bool
  let (b1 : float, c1 : bool) = if true {
    let e : float = run K1 (n, xs)
    let _ : bool = perform tell (n) : int -> bool
    let h : float = run K1 (n, xs)
    return (e, true)
  } else {
    return (0.0, false)
  }
  let d1 : float = run K1 (n, xs)
  return (a1, b1, d1)
}

entry main : [float] -> (float, (float, float))
"""
    found = simplified(text)
    assert found.count("perform tell") == 2
    assert found.count("run K1") == 3           # a1, e and d1: effects came between; h is not needed
    assert "c1" not in found


def test_recursion_may_be_too_deep_and_stays() -> None:
    text = """\
function main (n : int) -> (r : int) {
  let _ : int = call main (n)
  return n
}

entry main : int -> int
"""
    assert simplified(text) == text


@pytest.mark.parametrize("soac, kept", [
    ("let (a, _) = MAP { i => (xs[i], ys[i]) using xs, ys } (n)", "let a = MAP { i => xs[i] using xs } (n)"),
    ("let (_, a) = MAP { i => let (p, q) = if xs[i] > 0 then (1, ys[i]) else (2, 3) in (q, p) using xs, ys } (n)",
     "let a = MAP { i => if xs[i] > 0 then 1 else 2 using xs } (n)"),
    ("let (a, _) = MAP { i => (xs[i], if ys[i] > 0 then ys[i] else fail s1 : int) using xs, ys } (n)", None),
    ("let (_, a) = MAP { i => if xs[i] > 0 then (ys[i], 1) else (2, 3) using xs, ys } (n)",
     "let a = MAP { i => if xs[i] > 0 then 1 else 3 using xs } (n)"),
    ("let (a, _) = PERMUTE { i => (xs[i], ys[i]) using xs, ys } { i => i } (n) into n (1, 2) last",
     "let a = PERMUTE { i => xs[i] using xs } { i => i } (n) into n (1) last"),
    ("let _ = PERMUTE { i => ys[i] using ys } { i => if i > 0 then i else fail s1 : int } (n) into n (7) last\n"
     "  let a = MAP { i => xs[i] using xs } (n)",
     "let _ = PERMUTE { i => 0 } { i => if i > 0 then i else fail s1 : int } (n) into n (0) last\n"
     "  let a = MAP { i => xs[i] using xs } (n)"),
    ("let (k1, k2, _, _, _, _, a) = PARTITION { i => (xs[i], ys[i]) using xs, ys } { i => xs[i] > 0 using xs } (n)",
     "let (_, _, _, _, a) = PARTITION { i => 0 } { i => xs[i] > 0 using xs } (n)"),
    ("let (k1, k2, _, p1, _, _, a) = PARTITION { i => (ys[i], xs[i]) using xs, ys } { i => xs[i] > 0 using xs } (n)\n"
     "  let b = MAP { i => if p1[i] > 0 then 0 else fail s1 : int using p1 } (k1)",
     "let (k1, _, p1, _, a) = PARTITION { i => xs[i] using xs } { i => xs[i] > 0 using xs } (n)\n"
     "  let _ = MAP { i => if p1[i] > 0 then 0 else fail s1 : int using p1 } (k1)"),
    ("let (a, _) = SCAN { i => (xs[i], ys[i]) using xs, ys } (0, 0) { (a1, b1, a2, b2) => (a1 + a2, b1 + b2) } (n)",
     None),
])
def test_components_that_nobody_reads_go(soac: str, kept: str | None) -> None:
    def text(soac: str) -> str:
        return f"""\
site s1 "negative"

kernel K1 (n : int, xs : [int; n], ys : [int; n]) -> [int; n] {{
  {soac}
  return a
}}

kernel K2 (n : int) -> [int; n] {{
  let a = MAP {{ i => i * 2 }} (n)
  return a
}}

function main (n : int, xs : [int; n]) -> (m : int, rs : [int; n]) {{
  let ys : [int; n] = run K2 (n)
  let r : [int; n] = run K1 (n, xs, ys)
  return (n, r)
}}

entry main : [int] -> [int]
""".replace("rs : [int; n]", "rs : [int; m]")
    result = simplified(text(soac))
    assert ("K2" in result) == ("ys" in (kept or soac))
    assert f"  {kept or soac}\n" in result.replace("\n    ", " ")


def test_parameters_that_no_function_reads_and_results_that_no_caller_names_go() -> None:
    assert simplified("""\
kernel K1 (n : int, xs : [int; n]) -> int {
  let z = REDUCE { i => xs[i] using xs } (0) { (x, y) => x + y } (n)
  return z
}
kernel K2 (n : int) -> [int; n] {
  let z = MAP { i => i } (n)
  return z
}
function count (k : int, unread : int, n : int, xs : [int; n], m : int, ys : [int; m])
    -> (size : int, again : [int; size], sum : int, other : int) {
  let z : int = run K1 (n, xs)
  let more : bool = k > z
  let (r1 : int, r2 : [int; r1], r3 : int, r4 : int) = if more {
    let next : int = k - 1
    let (q1 : int, q2 : [int; q1], q3 : int, q4 : int) = call count (next, next, n, xs, m, ys)
    return (n, xs, next, 5)
  } else {
    return (m, ys, k, 6)
  }
  return (r1, r2, r3, r4)
}
function main (n : int, xs : [int; n], unread : int) -> (r : int) {
  let is : [int; n] = run K2 (n)
  let (s1 : int, s2 : [int; s1], s3 : int, s4 : int) = call count (3, 4, n, xs, n, is)
  return s4
}
entry main : [int], int -> int
""") == """\
kernel K1 (n : int, xs : [int; n]) -> int {
  let z = REDUCE { i => xs[i] using xs } (0) { (x, y) => x + y } (n)
  return z
}

function count (k : int, n : int, xs : [int; n]) -> (other : int) {
  let z : int = run K1 (n, xs)
  let more : bool = k > z
  let r4 : int = if more {
    let next : int = k - 1
    let _ : int = call count (next, n, xs)
    return 5
  } else {
    return 6
  }
  return r4
}

function main (n : int, xs : [int; n], unread : int) -> (r : int) {
  let s4 : int = call count (3, n, xs)
  return s4
}

entry main : [int], int -> int
"""


@pytest.mark.parametrize("before, after", [
    ("let y = x in y + y", "x + x"),
    ("let y = 3 in let z = y in xs[z]", "xs[3]"),
    ("x / 1 / 1 + (0 + x * 1 - x / 1 / 1)", "x + (x - x)"),
    ("let y = 1 in let z = x / y in z * z", "x * x"),
    ("1 / x + (0 - x)", "1 / x + (0 - x)"),
    ("x * 1.0 + 0.0", "x * 1.0 + 0.0"),
    ("1 * g(x) or 0", "g(x)"),
    ("let y = x + 1 in y", "x + 1"),
    ("let (a, b) = (x + 1, x) in a * b * a", "let a = x + 1 in a * x * a"),
    ("let (a, b) = if x > 0 then (1, x) else (x, 2) in (a, b)", "if x > 0 then (1, x) else (x, 2)"),
    ("let (a, b) = f(x) in (b, a)", "let (a, b) = f(x) in (b, a)"),
    ("let a = x + 1 in let b = a * 2 in x", "x"),
    ("let a = if x > 0 then x else fail s1 : int in x", "let a = if x > 0 then x else fail s1 : int in x"),
    ("let a = g(x) in let b = f(x) in x", "let a = g(x) in x"),
    ("if x > 0 then let y = x in y * y else let y = x + 1 in y * y", "if x > 0 then x * x else let y = x + 1 in y * y"),
    ("let (_, b) = (g(x), x) in b", "let _ = g(x) in x"),
    ("let (a, b) = if x > 0 then (x, 1) else (2, x) in b + 1", "let b = if x > 0 then 1 else x in b + 1"),
    ("let (a, b) = if x > 0 then (g(x), 1) else (2, x) in b + 1",
     "let (a, b) = if x > 0 then (g(x), 1) else (2, x) in b + 1"),
])
def test_lets(before: str, after: str) -> None:
    assert show_exp(without_dead_lets(without_copies(parse_exp(before), {}), {"g"})) == after


def test_units_change_nothing() -> None:
    ints = np.array([-2 ** 63, -5, -1, 0, 1, 2, 7, 2 ** 63 - 1])
    for op, unit in ((row.name, row.left) for row in ROWS if row.left is not None):
        assert (MEANINGS[op](np.int64(unit), ints) == ints).all(), op
    for op, unit in ((row.name, row.right) for row in ROWS if row.right is not None):
        assert (MEANINGS[op](ints, np.int64(unit)) == ints).all(), op


def test_deep_lets() -> None:
    def work() -> str:
        exp: ir.Exp = ir.Var("x")
        for depth in range(10_000):
            exp = ir.Let((f"v{depth}",), ir.Op("+", (ir.Var("x"), ir.Const(1, "int"))), exp)
        for depth in range(10_000):
            exp = ir.Let((f"w{depth}",), exp, ir.Var(f"w{depth}"))
        return show_exp(without_dead_lets(without_copies(exp, {}), ()))

    assert run_deep(work) == "x"
