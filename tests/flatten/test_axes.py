"""Nests of regular sequences are one space of several axes: nothing divides to find where an element is."""
from __future__ import annotations

from typing import Any

import pytest
from executors import Compiled, assert_the_gpu_agrees, same

from nessie.cudagen.generate import generate
from nessie.cudagen.loops import nodes as loops
from nessie.cudagen.loops.walk import expressions, parts, statements
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu.parts import subexpressions, thunks
from nessie.lambda_cu.scope import space_of
from nessie.lambda_cu.spaces.segments import start_at
from nessie.schedule.graph.regions import RegionStep
from nessie.schedule.rewrite.merge import over_elements

NAMES = "abcdegh"
STENCIL = """function main(n) : int -> [[[int]]] =
  let m = {{{i * 100 + j * 10 + k : k in [0:n + 2]} : j in [0:n + 1]} : i in [0:n]};
  in {{{m[i][j][k] + m[max(0, i - 1)][j][k] + m[min(#m - 1, i + 1)][j][k]
        + m[i][max(0, j - 1)][k] + m[i][min(#m[i] - 1, j + 1)][k]
        + m[i][j][max(0, k - 1)] + m[i][j][min(#m[i][j] - 1, k + 1)]
       : k in [0:#m[i][j]]} : j in [0:#m[i]]} : i in [0:#m]};"""


def nest(depth: int, inside: str, result: int) -> str:
    """The element at each position of so many axes, which are n, n + 1, n, n + 1 .. long."""
    body = inside
    for number, name in reversed(list(enumerate(NAMES[:depth]))):
        body = f"{{{body} : {name} in [0:n + {number % 2}]}}"
    return f"function main(n) : int -> {'[' * result}int{']' * result} = {body};"


def mapped(depth: int) -> str:
    return nest(depth, " + ".join([f"{number + 1} * {name}" for number, name in enumerate(NAMES[:depth])]), depth)


def summed(depth: int) -> str:
    inside = " * ".join(NAMES[:depth - 1])
    return nest(depth - 1, f"sum({{{inside} + k : k in [0:n + 40]}})", depth - 1)


PROGRAMS = {**{f"map {depth}": mapped(depth) for depth in range(3, 8)},
            **{f"sum {depth}": summed(depth) for depth in range(3, 8)}, "stencil": STENCIL}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS.keys())
def test_no_thunk_divides(program: str) -> None:
    for kernel in Compiled(program).executable("ilp").kernels:
        for bind in kernel.binds:
            for thunk in thunks(bind.soac):
                assert not any(isinstance(exp, ir.Op) and exp.op == "/" for exp in subexpressions(thunk.body))


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS.keys())
def test_all_agree(program: str) -> None:
    compiled = Compiled(program)
    for n in (0, 1, 2):
        same(compiled, n)
    assert_the_gpu_agrees(compiled, (2,))


@pytest.mark.parametrize("size", [0, 1, 31, 32, 33])
@pytest.mark.parametrize("axis", range(3))
def test_an_axis_of_any_size(axis: int, size: int) -> None:
    compiled = Compiled("""function main(n, m, k) : (int, int, int) -> ([[[int]]], [[int]]) =
      let all = {{{a * 10000 + b * 100 + c : c in [0:k]} : b in [0:m]} : a in [0:n]};
      in (all, {{sum(row) + 2 * i : row in rows} : rows in all; i in [0:n]});""")
    sizes = [2, 3, 4]
    sizes[axis] = size
    same(compiled, *sizes)
    assert_the_gpu_agrees(compiled, tuple(sizes))


def root(program: str) -> ir.Space:
    (kernel,) = Compiled(program).executable("ilp").kernels
    return next(space for bind in kernel.binds if (space := space_of(bind.soac)) is not None)


def test_a_thunk_has_an_index_for_each_axis() -> None:
    space = root(mapped(4))
    assert isinstance(space, ir.Uniform) and len(space.axes) == 4 and space.outer == space.axes[:-1]
    assert start_at(space, ir.Var("s")) == ir.Op("*", (ir.Var("s"), ir.Var(str(space.length))))


@pytest.mark.parametrize("middle", ["{b in [0:m] | b /= 1}", "[0:a]"])
def test_rows_of_other_lengths_begin_the_axes_anew(middle: str) -> None:
    source = f"""function main(n, m) : (int, int) -> [[[[int]]]] =
      {{{{{{{{a + b + c + d : d in [0:n]}} : c in [0:m]}} : b in {middle}}} : a in [0:n]}};"""
    compiled = Compiled(source)
    assert max([len(space.axes) for kernel in compiled.executable("ilp").kernels for bind in kernel.binds
                if isinstance(space := space_of(bind.soac), ir.Uniform)]) == 3
    same(compiled, 3, 2)
    same(compiled, 4, 3)


def test_a_flat_map_that_walks_axes_has_an_index_for_each() -> None:
    thunk = ir.Thunk(("i",), ir.Op("+", (ir.Read("v", ir.Var("i")), ir.Const(1, "int"))), ("v",))
    run = ir.Run((ir.Param("it", ir.Array("int", "n")),), "K", (ir.Var("n"), ir.Var("v")))
    step = RegionStep(run, ir.Bind(("it",), ir.Map(thunk, ir.Flat("n"))))
    moved = over_elements(step, ir.Uniform("s_1", "k", "n", ("a", "b"))).bind
    assert moved is not None and isinstance(moved.soac, ir.Map) and len(moved.soac.thunk.params) == 5
    assert moved.soac.thunk.params[-1] == "i"


# What is walked ------------------------------------------------------------------------------------


def loops_of(statement: Any) -> list[loops.For]:
    return [s for s in statements((statement,)) if isinstance(s, loops.For)]


def divides(statement: Any) -> bool:
    return any(isinstance(part, loops.Op) and part.op == "/" for s in statements((statement,))
               for exp in expressions(s) for part in parts(exp))


@pytest.mark.parametrize("target", ["cpu", "cuda"])
@pytest.mark.parametrize("depth", [3, 5, 7])
def test_no_loop_over_elements_divides(depth: int, target: str) -> None:
    program = Compiled(mapped(depth), target=target).executable("ilp")
    for function in generate(program, target).functions:
        inner = [loop for statement in function.body for loop in loops_of(statement)
                 if function.kind != "device" and len(loops_of(loop)) == 1]
        assert not any(divides(loop) for loop in inner)


def test_the_cpu_has_a_loop_an_axis() -> None:
    program = Compiled(mapped(4)).executable("ilp")
    (sweep,) = [f for f in generate(program, "cpu").functions if f.name.endswith("sweep")]
    (chunks,) = [s for s in sweep.body if isinstance(s, loops.For)]
    assert len(loops_of(chunks)) == 1 + 4
    rows = [s for s in chunks.body if isinstance(s, loops.For)]
    assert not any(map(divides, rows))
