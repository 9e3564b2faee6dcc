"""Interiors of stencils: found for every rule, proven by the checker, compared by the reference; never one too wide."""
from __future__ import annotations

import random
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest
from executors import Compiled, Failed, outcome

from nessie.base.source import IllFormed, InternalError
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu.borders.borders import borders
from nessie.lambda_cu.borders.checker import check_interiors, is_interior
from nessie.lambda_cu.borders.interior import split_of
from nessie.lambda_cu.check import check
from nessie.lambda_cu.parts import subexpressions
from nessie.lambda_cu.reference.context import Context
from nessie.lambda_cu.reference.kernels import run_kernel
from nessie.lambda_cu.reference.reference import EvaluationLimits, Stats
from nessie.lambda_cu.running.traffic import traffic
from nessie.lambda_cu.text.parser import parse
from nessie.lambda_cu.text.printer import show, show_exp

RULES = ("clamp", "mirror", "wrap", "zeros")
DECISIONS = ("min", "max", "mod", "rem")
ROW = """kernel K (n : int, v : [int; n], r : int) -> [int; n] {{
  let it = MAP {{ i => {} using n, v, r }} (n)
  return it
}}
function f (n : int, v : [int; n], r : int) -> (size : int, result : [int; size]) {{
  let it : [int; n] = run K (n, v, r)
  return (n, it)
}}
entry f : [int], int -> [int]
"""
TABLE = """kernel K (h : int, w : int, t : int, m : [int; t], r : int) -> [int; t] {{
  let it = SEG_MAP {{ (s, j, i) => {} using h, w, m, r }} uniform(h, w, t)
  return it
}}
function f (h : int, w : int, t : int, m : [int; t], r : int) -> (size : int, result : [int; size]) {{
  let it : [int; t] = run K (h, w, t, m, r)
  return (t, it)
}}
entry f : int, int, [int], int -> [int]
"""
BOX = """kernel K (d : int, h : int, w : int, u : int, t : int, m : [int; t], r : int) -> [int; t] {
  let it = SEG_MAP { (i1, i2, s, j, i) =>
      m[(max(0, i1 - 1) * h + i2) * w + j] + m[(min(d - 1, i1 + 1) * h + i2) * w + j]
      + m[(i1 * h + max(0, i2 - 1)) * w + j] + m[(i1 * h + min(h - 1, i2 + 1)) * w + j]
      + m[s * w + max(0, j - 1)] + m[s * w + min(w - 1, j + 1)] + r * 0
      using d, h, w, m, r
    } uniform(u = d * h, w, t)
  return it
}
function f (d : int, h : int, w : int, u : int, t : int, m : [int; t], r : int) -> (size : int, result : [int; size]) {
  let it : [int; t] = run K (d, h, w, u, t, m, r)
  return (t, it)
}
entry f : int, int, int, int, [int], int -> [int]
"""


def interior(program: ir.Program) -> ir.Interior:
    found = [bind.soac.interior for kernel in program.kernels for bind in kernel.binds
             if isinstance(bind.soac, ir.Map | ir.Reduce) and bind.soac.interior]
    assert len(found) == 1
    return found[0]


def with_interior(program: ir.Program, new: ir.Interior) -> ir.Program:
    (kernel,) = program.kernels
    (bind,) = kernel.binds
    return replace(program, kernels=(replace(kernel, binds=(replace(bind, soac=replace(bind.soac, interior=new)),)),))


def decisions(thunk: ir.Thunk) -> list[str]:
    return [show_exp(e) for e in subexpressions(thunk.body)
            if isinstance(e, ir.If | ir.Fail) or (isinstance(e, ir.Op) and e.op in DECISIONS)]


# What is found ------------------------------------------------------------------------------------


@pytest.mark.parametrize("rule", RULES)
def test_a_stencil_of_the_library_decides_nothing_in_its_interior(rule: str) -> None:
    pad = "pad_with(v, 2, 2, 0.0)" if rule == "zeros" else f"pad(v, 2, 2, {rule})"
    source = f"function main(v) : [float] -> [float] = {{sum(w) : w in slide({pad}, 5, 1)}};"
    program = Compiled(source).executable("ilp")
    assert len(program.kernels) == 1
    assert decisions(interior(program).thunk) == []


@pytest.mark.parametrize("rule", RULES[:3])
def test_so_does_one_of_a_matrix(rule: str) -> None:
    source = ("function main(m) : [[float]] -> [[float]] = let h = #m; w = #m[0] in {{sum({sum({m["
              f"{rule}(i + a, h)][{rule}(j + b, w)] : b in [-1:2]}}) : a in [-1:2]}}) : j in [0:w]}} : i in [0:h]}};")
    layout = ir.SeqLayout(ir.SeqLayout(ir.ScalarLayout("float"), "uniform"))
    program = Compiled(source, layouts=(layout,)).executable("ilp")
    assert len(program.kernels) == 1
    found = interior(program)
    assert found.rows is not None and decisions(found.thunk) == []


def test_what_the_text_does_not_tell_is_left() -> None:
    for body in ("v[max(0, min(n - 1, v[i]))] + r", "if i < r then v[i] else v[i - r] + n",
                 "if v[i] < n then v[i] else r"):
        (bind,) = borders(parse(ROW.format(body))).kernels[0].binds
        assert isinstance(bind.soac, ir.Map) and bind.soac.interior is None


def test_what_is_read_behind_a_check_tells_no_interior() -> None:
    """Without rows, the length of the first cannot be read: not even to ask where an interior ends."""
    program = Compiled("function main(m, r) : ([[int]], int) -> [[int]] = {{m[max(0, min(#m - 1, i))]"
                       "[max(0, min(#m[0] - 1, k))] + r : k in [0:33]} : i in [0:3]};")
    for executor in ("reference ilp", "cpu ilp"):
        assert isinstance(outcome(program, executor, ([], 1)), Failed)
        assert outcome(program, executor, ([[5, 6]], 1)) == [[6] + [7] * 32] * 3


def test_an_interior_moves_no_bytes_of_its_own() -> None:
    program = parse(ROW.format("v[max(0, i - 1)] + v[min(n - 1, i + 1)] + r"))
    split = borders(program)
    assert interior(split)
    (whole,), (parts,) = [[sorted(traffic(kernel, {})) for kernel in one.kernels] for one in (program, split)]
    assert whole == parts


# One too wide -------------------------------------------------------------------------------------


def wider(bounds: ir.Thunk, low: int, high: int) -> ir.Thunk:
    assert isinstance(bounds.body, ir.Tuple)
    first, beyond = bounds.body.items
    moved = (ir.Op("-", (first, ir.Const(low, "int"))), ir.Op("+", (beyond, ir.Const(high, "int"))))
    return replace(bounds, body=ir.Tuple(moved))


WRONG = [(bounds, low, high) for bounds in ("rows", "range") for low, high in ((1, 0), (0, 1))]


@pytest.mark.parametrize(("body", "bounds", "low", "high"), [
    *[(ROW.format("v[max(0, i - 1)] + v[(i + 1) mod n] + r * 0"), *wrong) for wrong in WRONG[2:]],
    *[(TABLE.format("m[max(0, s - 1) * w + j] + m[min(h - 1, s + 1) * w + min(w - 1, j + 1)] + "
                    "(if j > 0 then m[i - 1] else r)"), *wrong) for wrong in WRONG]])
def test_one_too_wide_is_found_twice(body: str, bounds: str, low: int, high: int) -> None:
    program = borders(parse(body))
    check_interiors(program)
    right = interior(program)
    table = right.rows is not None
    arguments = [4, 5, 20, np.arange(1, 21) ** 2, 7] if table else [6, np.arange(1, 7) ** 2, 7]
    run(program, arguments)
    planted = with_interior(program, replace(right, **{bounds: wider(getattr(right, bounds), low, high)}))
    check(planted)
    with pytest.raises(IllFormed, match="not proven"):
        check_interiors(planted)
    with pytest.raises(InternalError, match=r"interior|range of"):
        run(planted, arguments)


def test_a_box_has_a_range_for_each_axis() -> None:
    program = borders(parse(BOX))
    check(program)
    check_interiors(program)
    found = interior(program)
    assert decisions(found.thunk) == [] and found.rows is not None and isinstance(found.rows.body, ir.Tuple)
    assert show_exp(found.rows.body) == "(1, d - 1, 1, h - 1)"
    assert parse(show(program)) == program
    for d, h, w in product((1, 2, 3), (1, 2, 4), (1, 3, 5)):
        run(program, [d, h, w, d * h, d * h * w, np.arange(d * h * w) ** 2 + 1, 7])


@pytest.mark.parametrize("place", range(4))
def test_a_box_too_wide_is_found_twice(place: int) -> None:
    program = borders(parse(BOX))
    right = interior(program)
    assert right.rows is not None and isinstance(right.rows.body, ir.Tuple)
    items = list(right.rows.body.items)
    items[place] = ir.Op("+-"[place % 2 == 0], (items[place], ir.Const(1, "int")))
    planted = with_interior(program, replace(right, rows=replace(right.rows, body=ir.Tuple(tuple(items)))))
    check(planted)
    with pytest.raises(IllFormed, match="not proven"):
        check_interiors(planted)
    with pytest.raises(InternalError, match=r"interior|range of"):
        run(planted, [3, 4, 5, 12, 60, np.arange(1, 61) ** 2, 7])


def run(program: ir.Program, arguments: list[Any]) -> Any:
    context = Context(program, EvaluationLimits(), Stats())
    return run_kernel(program.kernels[0], [np.int64(a) if isinstance(a, int) else a for a in arguments], context)


def test_another_thunk_is_refused() -> None:
    program = borders(parse(ROW.format("v[max(0, i - 1)] + r * 0 + n * 0")))
    found = interior(program)
    other = replace(found, thunk=replace(found.thunk, body=ir.Op("-", (found.thunk.body, ir.Const(1, "int")))))
    with pytest.raises(IllFormed, match="not proven"):
        check_interiors(with_interior(program, other))


def test_an_interior_is_well_typed() -> None:
    program = borders(parse(ROW.format("v[max(0, i - 1)] + r * 0 + n * 0")))
    found = interior(program)
    float_ = replace(found, thunk=ir.Thunk(("i",), ir.Const(1.0, "float")))
    for broken, said in ((float_, "its interior float"), (replace(found, rows=found.range), "has no rows"),
                         (replace(found, range=ir.Thunk((), ir.Const(1, "int"))), "from an int to before an int")):
        with pytest.raises(IllFormed, match=said):
            check(with_interior(program, broken))


# Random indices ------------------------------------------------------------------------------------


def index_expression(rng: random.Random, depth: int, names: list[str]) -> str:
    if depth == 0 or rng.random() < 0.2:
        return rng.choice([*names, str(rng.randrange(0, 4)), "(n - 1)", "(n - r)"])
    a, b, c, d = [index_expression(rng, depth - 1, names) for _ in range(4)]
    kind = rng.randrange(7)
    if kind < 2:
        return f"({a} {'+-'[kind]} {b})"
    if kind == 2:
        return f"min({a}, {b})"
    if kind == 3:
        return f"max({a}, {b})"
    if kind == 4:
        return f"(({a}) mod (n + 1))"
    compared = f"{a} {rng.choice(['<', '<=', '>', '>=', '==', '/='])} {b}"
    return f"(if {compared}{rng.choice(['', ' and i > 0', ' or i > n - 2'])} then {c} else {d})"


def test_random_indices_are_as_they_were() -> None:
    """What the checker accepts, the reference does, for all small sizes; it accepts nearly all."""
    rng, refused, accepted = random.Random(5), 0, 0
    for _ in range(300):
        body = index_expression(rng, 3, ["i", "i", "n", "r"])
        program = parse(ROW.format(f"let x = {body} in v[max(0, min(n - 1, x))] + x * 0 + r * 0"))
        (kernel,) = program.kernels
        soac = kernel.binds[0].soac
        assert isinstance(soac, ir.Map)
        split = split_of(soac, {param.name: param.type for param in kernel.params}, ())
        if split is None:
            continue
        proven = is_interior(kernel, soac, split.interior)
        refused, accepted = refused + (not proven), accepted + proven
        for n in (1, 2, 3, 6) if proven else ():
            for r in (-2, 0, 3):
                run(with_interior(program, split.interior), [n, np.arange(n) ** 2 + 1, r])
    assert accepted > 100 and refused <= 3
