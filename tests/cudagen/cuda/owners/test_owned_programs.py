"""Programs whose rows have owners: what a row's owner has in time shares a launch, and the values are the same."""
from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from built import execute, gpu_device
from owner_kernels import LEVELS, by

import nessie
from nessie.base.source import Source
from nessie.base.values import Flat, Nested, Uniform
from nessie.cudagen.cuda.cudasim import compiler
from nessie.cudagen.cuda.cudasim.driver import Cudasim
from nessie.driver import compile_program
from nessie.forms import TEXT
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu.check import check
from nessie.lambda_cu.mappings.kernels import why_not
from nessie.lambda_cu.mappings.owners import by_owners
from nessie.lambda_cu.mappings.text import show_mapping
from nessie.lambda_cu.reference.reference import execute as execute_reference
from nessie.lambda_cu.scope import statements
from nessie.pipeline import Job, pass_named
from nessie.schedule.check import check_schedule
from nessie.schedule.cost.profiles import of_target
from nessie.schedule.fuse import fuse
from nessie.schedule.schedule import schedule
from nessie.schedule.wishes.wishes import MAP, Wish

PROGRAMS = {                    # the type of elements, and launches without owners and with them
    "softmax": ("float", 3, 1, """{ let m = max_val(r); e = {exp(x - m) : x in r}; s = sum(e) in {x / s : x in e}
                                 : r in rows}"""),
    "normalise": ("float", 2, 1, "{ let s = sum(r) in {x / s : x in r} : r in rows}"),
    "by_mean": ("float", 3, 1, """{ let q = sum(r) / float(#r + 1); d = {(x - q) * (x - q) : x in r}; v = sum(d) in
                                 {(x - q) / (v + 1.0) : x in r} : r in rows}"""),
    "ranks": ("int", 2, 1, "{ let p = plus_scan(r); q = max_scan(p) in {x * y : x in p; y in q} : r in rows}"),
    "least": ("int", 3, 2, "{ let q = sort(r) in {x - q[0] : x in q} : r in rows | #r > 0}"),
}
ROWS = [0, 1, 3, 255, 256, 257, 0, 8, 31, 33, 600]


def flat(name: str) -> ir.Program:
    base, _, _, body = PROGRAMS[name]
    text = f"function {name}(rows) : [[{base}]] -> [[{base}]] = {body};"
    job = Job(entry=name, target="cuda", fuse="none")
    return compile_program(job, TEXT, Source("rows.nesl", text), pass_named("simplify"))


def owned(program: ir.Program, level: str) -> ir.Program:
    """Every kernel that can has an owner at this level."""
    def with_owner(kernel: ir.Kernel) -> ir.Kernel:
        mapped = replace(kernel, by=by(level))
        return mapped if by_owners(mapped) and why_not(mapped) is None else kernel

    return replace(program, kernels=tuple(map(with_owner, program.kernels)))


def fused(program: ir.Program) -> ir.Program:
    found = schedule(program, profile=of_target("cuda"))
    check_schedule(program, found)
    made = fuse(program, found)
    check(made)
    return made


def launches(program: ir.Program) -> int:
    return sum(isinstance(s, ir.Run) for f in program.functions for s in statements(f.body))


def rows(base: str) -> Any:
    values = np.random.default_rng(1).integers(-9, 10, sum(ROWS))
    offsets = np.concatenate([[0], np.cumsum(ROWS)]).astype(np.int64)
    return Flat(len(ROWS), Nested(offsets, values if base == "int" else values / 8))


@pytest.mark.skipif(not compiler.found(), reason="there is no C++ compiler")
@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("name", PROGRAMS)
def test_owners_do_it_in_fewer_launches(name: str, level: str) -> None:
    program, (base, before, after, _) = flat(name), PROGRAMS[name]
    made = fused(owned(program, level))
    assert (launches(fused(program)), launches(made)) == (before, after)
    found, expected = [content(value) for value in (execute(made, [rows(base)], gpu_device(made, Cudasim(2, 1))),
                                                    execute_reference(program, [rows(base)]))]
    assert len(found) == len(expected)
    assert np.allclose(found, expected, rtol=1e-12, atol=0) if base == "float" else np.array_equal(found, expected)


@pytest.mark.skipif(not compiler.found(), reason="there is no C++ compiler")
@pytest.mark.parametrize("level", LEVELS)
def test_owners_of_rows_in_a_nest_of_three(level: str) -> None:
    """Thunks have an index for each axis there."""
    body = "{{let m = max_val(r) in {x * 10 + i - m : x in r; i in [0:#r]} : r in q} : q in a}"
    text = f"function main(a) : [[[int]]] -> [[[int]]] = {body};"
    layout = ir.SeqLayout(ir.SeqLayout(ir.SeqLayout(ir.ScalarLayout("int"), "uniform"), "uniform"))
    job = Job(entry="main", target="cuda", fuse="none", layouts=(layout,))
    program = compile_program(job, TEXT, Source("rows.nesl", text), pass_named("simplify"))
    made = fused(owned(program, level))
    assert (launches(fused(program)), launches(made)) == (2, 1)
    values = np.arange(2 * 3 * 40) * 37 % 101
    given = Flat(2, Uniform(2, 3, Uniform(6, 40, values)))
    found, expected = [np.asarray(value.column.content.content) for value in (
        execute(made, [given], gpu_device(made, Cudasim(2, 1))), execute_reference(program, [given]))]
    assert np.array_equal(found, expected)


@pytest.mark.skipif(not compiler.found(), reason="there is no C++ compiler")
@pytest.mark.parametrize("level", LEVELS)
def test_parts_of_warps_hold_the_rows_of_a_sparse_matrix(level: str) -> None:
    text = """function spmv(rows, v) : ([[(int, float)]], [float]) -> [float] =
        let s = {sum({a * v[j] : (j, a) in r}) : r in rows} in s;"""
    mapping = show_mapping(by(level))
    job = Job(entry="spmv", target="cudasim", wishes=(Wish(MAP, "s", mapping),))
    (kernel,) = compile_program(job, TEXT, Source("spmv.nesl", text), pass_named("borders")).kernels
    assert kernel.by == by(level)
    program = nessie.compile(text, target="cudasim", mappings={"s": mapping})
    offsets, rng = np.concatenate([[0], np.cumsum(ROWS)]), np.random.default_rng(1)
    columns, values, v = rng.integers(0, 50, sum(ROWS)), rng.integers(-8, 9, sum(ROWS)) / 4, rng.integers(-8, 9, 50) / 4
    found = program.spmv(nessie.Nested(offsets, nessie.Tuples(columns, values)), v)
    assert found.tolist() == [(values[a:b] * v[columns[a:b]]).sum() for a, b in pairwise(offsets)]


POINTS = """function step(p, w, ni, nj, nk) : ([float], [float], int, int, int) -> ([float], float) =
  let line = nk; plane = nj * nk;
      inner = flatten(flatten({{{i * plane + j * line + k : k in [1:nk - 1]} : j in [1:nj - 1]} : i in [1:ni - 1]}));
      found = {let near = p[x + plane] + p[x - plane] + p[x + line] + p[x - line] + p[x + 1] + p[x - 1];
                   change = (near / 6.0 - p[x]) * w[x]
               in (p[x] + 0.8 * change, change * change) : x in inner}
  in ({value : (value, _) in found}, sum({square : (_, square) in found}));"""


@pytest.mark.skipif(not compiler.found(), reason="there is no C++ compiler")
def test_points_of_a_grid_and_their_residual_are_one_kernel() -> None:
    """The walk of Himeno, HiDP's figure 6: inner points of three axes, and the sum of what changes."""
    job = Job(entry="step", target="cudasim")
    program = compile_program(job, TEXT, Source("himeno.nesl", POINTS), pass_named("borders"))
    assert len(program.kernels) == 1
    shape = 5, 6, 9
    p, w = np.random.default_rng(1).random((2, *shape))
    values, residual = nessie.compile(POINTS, target="cudasim").step(p.ravel(), w.ravel(), *shape)
    i, low, high = slice(1, -1), slice(None, -2), slice(2, None)
    near = p[high, i, i] + p[low, i, i] + p[i, high, i] + p[i, low, i] + p[i, i, high] + p[i, i, low]
    change = (near / 6.0 - p[i, i, i]) * w[i, i, i]
    assert np.array_equal(values, (p[i, i, i] + 0.8 * change).ravel())
    assert residual == pytest.approx((change * change).sum(), rel=1e-12)


def content(value: Any) -> Any:
    return np.asarray(value.column.content)
