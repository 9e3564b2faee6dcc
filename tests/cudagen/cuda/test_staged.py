"""Products by tiles in shared memory, on cudasim: elements, their order and failures; what moves; no races."""
from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache, reduce
from operator import add, and_, mul, or_
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from built import counting_device, gpu_code, gpu_device
from kernel_runs import program_of
from paths import ROOT
from product_kernels import BATCHED, BOTH, CHECKED, GEMM, PRODUCT, TERM, TOTALS, failing, given, kernel, reduction
from sanitizers import Watched
from taped import Kernels, planted, tape
from test_cubins import ARCHITECTURES, NVRTC
from test_gpu import launch

from nessie.base.source import Source
from nessie.cudagen.cuda.cudasim import compiler
from nessie.cudagen.cuda.cudasim.counting import Access
from nessie.cudagen.cuda.cudasim.driver import Cudasim
from nessie.cudagen.cuda.link import GpuProgram
from nessie.cudagen.cuda.nvidia.compiler import assembled
from nessie.cudagen.generate import generate
from nessie.cudagen.host.device import INDEX_BITS, NO_FAILURE
from nessie.cudagen.host.launching import size_function
from nessie.cudagen.kernels.walk import walk_of
from nessie.cudagen.loops import nodes as loops
from nessie.cudagen.loops.check import check
from nessie.cudagen.skeletons.kernel import Kernel
from nessie.cudagen.skeletons.products import staged
from nessie.cudagen.skeletons.products.sides import Tiled, members, products_of
from nessie.driver import compile_program
from nessie.forms import TEXT
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu.parts import INDEX_THUNKS, subexpressions
from nessie.pipeline import Job, pass_named
from nessie.tool.cli import main

pytestmark = pytest.mark.skipif(not compiler.found(), reason="there is no C++ compiler")

SIZES = (0, 1, 31, 32, 33)
SHAPES = [*[(m, 33, 5) for m in SIZES], *[(33, n, 5) for n in SIZES], *[(7, 3, k) for k in SIZES], (64, 32, 16),
          (65, 33, 17), (130, 70, 40)]                                                              # m, n, k
KERNELS = {"totals": TOTALS, "product": PRODUCT, "checked": CHECKED, "batched": BATCHED, "gemm": GEMM, "both": BOTH}


def everywhere(made: Kernel, root: ir.Uniform, found: Tiled) -> list[loops.Exp]:
    """Tiles are for all sizes but 0."""
    return [members(made, group) for group in found.groups]


@cache
def tiled(of: ir.Kernel) -> GpuProgram:
    """Tiles wherever there are elements."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(staged, "enough", everywhere)
        return gpu_code(program_of(of))


def in_order(row: Any, column: Any) -> float:
    return reduce(add, [x * y for x, y in zip(row.tolist(), column.tolist(), strict=True)], 0.0)


@pytest.mark.parametrize("m, n, k", SHAPES)
def test_sums_are_made_in_the_order_of_elements(m: int, n: int, k: int) -> None:
    arguments = given(m, n, k)
    a, b = arguments[7].reshape(m, k), arguments[8].reshape(k, n)
    expected = [in_order(row, column) for row in a for column in b.T]
    for seed in range(4 if m == 65 else 1):
        (sums,), failed = launch(gpu_device(tiled(PRODUCT), Cudasim(2, seed)), "K", arguments)
        assert failed == NO_FAILURE and sums == expected


@pytest.mark.parametrize("m, n, k", [(5, 7, 17), (66, 35, 20)])
def test_the_first_failure_is_told(m: int, n: int, k: int) -> None:
    for arguments, key in failing(m, n, k):
        assert launch(gpu_device(tiled(CHECKED), Cudasim(2, 1)), "K", arguments)[1] == key


@pytest.mark.parametrize("m, n, k", [(5, 7, 17), (66, 35, 20)])
def test_what_is_computed_of_sums(m: int, n: int, k: int) -> None:
    arguments = given(m, n, k)
    a, b = arguments[7].reshape(m, k), arguments[8].reshape(k, n)
    (found,), failed = launch(gpu_device(tiled(GEMM), Cudasim(2, 1)), "K", arguments)
    wrong = [(3 << INDEX_BITS) + r * n + c for r in range(m) for c in range(n) if r * k + c >= m * k]
    assert failed == min(wrong, default=NO_FAILURE)
    expected = [2.0 * in_order(row, column) + a.flat[r * k + c] if r * k + c < m * k else None
                for r, row in enumerate(a) for c, column in enumerate(b.T)]
    assert wrong or found == expected


@pytest.mark.parametrize("m, n, k", [(5, 7, 17), (66, 35, 20)])
def test_several_at_once_of_any_values(m: int, n: int, k: int) -> None:
    arguments = given(m, n, k)
    a, b = arguments[7].reshape(m, k), arguments[8].reshape(n, k)
    (most, least, halves), failed = launch(gpu_device(tiled(BOTH), Cudasim(2, 1)), "K", arguments)
    assert failed == NO_FAILURE
    assert most == [max(0.0, *row, *other) for row in a for other in b]
    assert least == [min(row + other) for row in a for other in b]
    assert halves == [in_order(row, other) / 2 for row in a for other in b]


@pytest.mark.parametrize("m, n, k", [(5, 7, 17), (130, 70, 20)])
def test_totals_of_sums(m: int, n: int, k: int) -> None:
    arguments = given(m, n, k)
    arguments[7], arguments[8] = np.floor(arguments[7] * 8), np.floor(arguments[8] * 8)         # so that sums are exact
    (sums, mean, most), failed = launch(gpu_device(tiled(TOTALS), Cudasim(2, 1)), "K", arguments)
    expected = (arguments[7].reshape(m, k) @ arguments[8].reshape(k, n)).ravel()
    assert failed == NO_FAILURE and sums == expected.tolist()
    assert mean == expected.sum() / (m * n) and most == expected.max()


@pytest.mark.parametrize("base, identity, operator, join", [
    ("int", "0", "x + y", add), ("int", "1", "x * y", mul), ("int", "-9", "max(x, y)", max), ("int", "9", "min(x, y)",
     min), ("bool", "true", "x and y", and_), ("bool", "false", "x or y", or_)])
def test_any_operator_that_commutes(base: str, identity: str, operator: str, join: Callable[[Any, Any], Any]) -> None:
    value = TERM if base == "int" else "a[i1 * k + j] /= b[j * n + i2]"
    found = kernel(reduction("them", value, identity, operator) + "return (them)", base)
    m, n, k = 19, 34, 33
    random = np.random.default_rng(1)
    a, b = [random.integers(-2, 2, size) if base == "int" else random.random(size) < 0.1 for size in ((m, k), (k, n))]
    (them,), _ = launch(gpu_device(tiled(found), Cudasim(2, 1)), "K", [
        m, n, k, m * n, m * n * k, m * k, k * n, a.reshape(-1), b.reshape(-1)])
    first = {"true": True, "false": False}.get(identity) if base == "bool" else int(identity)
    assert them == [reduce(join, [x * y if base == "int" else x != y for x, y in zip(row, column, strict=True)], first)
                    for row in a.tolist() for column in b.T.tolist()]


@pytest.mark.parametrize("d", [0, 1, 23])
def test_rows_are_all_axes_but_the_last(d: int) -> None:
    n, k = 35, 21
    arguments = given(3 * d, n, k)
    a, b = arguments[7].reshape(3 * d, k), arguments[8].reshape(k, n)
    (sums,), _ = launch(gpu_device(tiled(BATCHED), Cudasim(2, 1)), "K", [d, *arguments[1:]])
    assert sums == [in_order(row, column) for row in a for column in b.T]


def test_the_text_is_well_formed() -> None:
    for of in KERNELS.values():
        module = generate(program_of(of), "cuda")
        check(module)
        assert [plan.name for plan in module.plans] == ["K", "K_walk"]


# Where tiles pay ------------------------------------------------------------------------------------


def plan_for(of: ir.Kernel, **sizes: int) -> bool:
    """Does such a launch go by tiles?"""
    plan = generate(program_of(of), "cuda").plans[0]
    assert plan.alone is not None
    slots = {parameter.name: at for at, parameter in enumerate(plan.parameters)}
    return size_function(plan.alone.chunks, slots)([sizes.get(name, 0) for name in slots], ()) > 1


def test_little_is_left_to_the_other_walk() -> None:
    assert plan_for(PRODUCT, m=128, n=128, k=1024) and plan_for(PRODUCT, m=16, n=1000, k=16)
    for few in ({"m": 15}, {"n": 7}, {"k": 15}, {"m": 64, "n": 64}):
        assert not plan_for(PRODUCT, **{"m": 128, "n": 128, "k": 1024, **few})
    m, n, k = 3, 5, 4
    arguments = [m, n, k, m * n, m * n * k, m * k, k * n, np.arange(m * k), np.arange(k * n)]
    ints = kernel(reduction("them", TERM, "0") + "return (them)", "int")
    (found,), _ = launch(gpu_device(program_of(ints), Cudasim(2, 1)), "K", arguments)
    assert found == (np.arange(m * k).reshape(m, k) @ np.arange(k * n).reshape(k, n)).ravel().tolist()


def test_what_has_too_many_components_or_sides_goes_by_the_other_walk() -> None:
    names = [f"x{number}" for number in range(9)]
    value = f"let t = a[i1 * k + j] * b[j * n + i2] in ({', '.join(['t'] * 9)})"
    operator = ", ".join([f"p{number} + q{number}" for number in range(9)])
    params = ", ".join([f"{side}{number}" for side in "pq" for number in range(9)])
    many = kernel(reduction(f"({', '.join(names)})", value, ", ".join(["0.0"] * 9), f"({operator})", params=params)
                  + f"return ({', '.join(names)})")
    assert products_of(walk_of(many, program_of(many)), 9)
    assert [plan.name for plan in generate(program_of(many), "cuda").plans] == ["K"]
    wide = kernel(reduction("sums", " + ".join([f"a[i1 * k + j + {at}] * b[j * n + i2 + {at}]" for at in range(4)]))
                  + "return (sums)")
    assert [plan.name for plan in generate(program_of(wide), "cuda").plans] == ["K"]


# What moves -----------------------------------------------------------------------------------------


def accesses(of: ir.Kernel, arguments: list[Any]) -> list[Access]:
    device = counting_device(program_of(of))
    launch(device, "K", arguments)
    return [access for access in device.driver.accesses() if access.launched.startswith("K")]


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("m, n, k", [(128, 128, 64), (130, 100, 50)])
def test_less_than_a_byte_is_read_for_each_that_is_joined(m: int, n: int, k: int, transposed: bool) -> None:
    """Of rows and columns, whichever lie beside each other."""
    value = "a[j * m + i1] * b[i2 * k + j]" if transposed else TERM
    found = accesses(kernel(reduction("sums", value) + "return (sums)"), given(m, n, k))
    assert {access.launched for access in found} == {"K_tiles"}
    read = sum([access.moved for access in found if access.point.array in ("a", "b")])
    assert read <= m * n * k
    if (m, n) == (128, 128):
        assert read == 0.375 * m * n * k
    held = [access for access in found if access.point.shared]
    assert len(held) == 8
    assert all([access.ways <= 2 * access.requests for access in held])


def test_the_page_tells_what_is_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
                                        capsys: pytest.CaptureFixture[str]) -> None:
    """docs/gpu.md has a table of its program's counters: by items, and by tiles."""
    page = (ROOT / "docs" / "gpu.md").read_text("utf-8")
    monkeypatch.chdir(tmp_path)
    Path("gemm.nesl").write_text(page.partition('title="gemm.nesl"\n')[2].partition("```")[0])
    m, n, k = 128, 128, 64
    for name, size in (("a", m * k), ("b", k * n), ("c", m * n)):
        np.save(f"{name}.npy", np.ones(size))
    columns = []
    for more in (["--level", "s=items"], []):
        arguments = ["1.0", "1.0", *map(str, (m, n, k)), "@a.npy", "@b.npy", "@c.npy"]
        assert main(["profile", "gemm.nesl", "-e", "gemm", *arguments, "--target", "cudasim", "--counters", "--json",
                     *more]) == 0
        (kernel,) = [one for one in json.loads(capsys.readouterr().out)["kernels"] if one["name"] == "K1"]
        read = [access for access in kernel["accesses"] if access["array"] in ("a", "b")]
        shared = [access["ways"] for access in kernel["accesses"] if access["memory"] == "shared"]
        asked, moved = sum([8 * one["lanes"] for one in read]), sum([32 * one["sectors"] for one in read])
        columns.append([asked / (m * n * k), moved / (m * n * k), sum(shared) / (m * n * k),
                        sum([barrier["blocks"] for barrier in kernel["barriers"]])])
    table = page.partition("| | the walk by items | by tiles |\n|---|---|---|\n")[2].partition("\n\n")[0]
    told = [[cell.strip().replace(",", "") for cell in line.split("|")[2:4]] for line in table.splitlines()]
    assert len(told) == 4
    for cells, counted in zip(told, zip(*columns, strict=True), strict=True):
        for cell, number in zip(cells, counted, strict=True):
            assert round(number, len(cell.partition(".")[2])) == float(cell)


@pytest.mark.parametrize("name", KERNELS)
def test_few_lanes_meet_in_a_bank(name: str) -> None:
    d = 43
    arguments = given(3 * d, 100, 40)
    found = accesses(KERNELS[name], [d, *arguments[1:]] if name == "batched" else arguments)
    held = [access for access in found if access.point.shared]
    assert held and all([access.ways <= 2 * access.requests for access in held])


# Programs -------------------------------------------------------------------------------------------


GEMM_PROGRAM = """function gemm(alpha, beta, m, n, k, a, b, c)
    : (float, float, int, int, int, [float], [float], [float]) -> [[float]] =
  {{alpha * sum({a[i * k + l] * b[l * n + j] : l in [0:k]}) + beta * c[i * n + j] : j in [0:n]} : i in [0:m]};"""


GEMM_OF_ROWS = """function gemm(alpha, beta, a, b, c) : (float, float, [[float]], [[float]], [[float]]) -> [[float]] =
  {{alpha * sum({x * other[j] : x in row; other in b}) + beta * old : old in olds; j in [0:#olds]}
   : row in a; olds in c};"""
MATRIX = ir.SeqLayout(ir.SeqLayout(ir.ScalarLayout("float"), "uniform"))


@pytest.mark.parametrize("text, layouts", [
    (GEMM_PROGRAM, None), (GEMM_OF_ROWS, (*[ir.ScalarLayout("float")] * 2, *[MATRIX] * 3))], ids=["flat", "rows"])
def test_gemm_is_one_kernel_that_does_not_divide(text: str, layouts: tuple[ir.Layout, ...] | None) -> None:
    job = Job(entry="gemm", target="cudasim", layouts=layouts)
    program = compile_program(job, TEXT, Source("gemm.nesl", text), pass_named("borders"))
    (of,) = program.kernels
    assert not [exp for bind in of.binds for thunk in INDEX_THUNKS.of(bind.soac) for exp in subexpressions(thunk.body)
                if isinstance(exp, ir.Op) and exp.op in ("/", "rem", "mod")]
    plan, other = generate(program, "cuda").plans
    assert [phase.function for phase in plan.phases] == ["K1_tiles"] and plan.alone and plan.alone.plan == other.name


# Machine code ---------------------------------------------------------------------------------------


@NVRTC
@pytest.mark.sampled(quick=3, ci=3)
@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_none_spills(architecture: str) -> None:
    kernels = tuple([replace(of, name=f"K{number}") for number, of in enumerate(KERNELS.values())])
    found = assembled(gpu_code(replace(program_of(PRODUCT), kernels=kernels)).text, architecture)
    assert found.warnings == ()
    used = [usage for usage in found.usages if usage.function.endswith("_tiles")]
    assert len(used) == len(KERNELS)
    for usage in used:
        assert (usage.spill_stores, usage.spill_loads, usage.stack) == (0, 0, 0), usage
        assert usage.registers <= 64


# Races ----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def kernels(running: set[tuple[str, ...]]) -> Iterator[Kernels]:
    d = 23
    arguments = given(3 * d, 35, 30)
    arguments[7][[70, 200]] = 2.0           # so that checks fail
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(staged, "enough", everywhere)
        made = {name: replace(of, name=name) for name, of in KERNELS.items() if (name,) in running}
        built = gpu_code(replace(program_of(PRODUCT), kernels=tuple(made.values())))
    text, mistakes = planted(built.text)
    yield Kernels(text, tuple(built.formats), mistakes, {
        name: tape(built, name, [d, *arguments[1:]] if name == "batched" else arguments) for name in made})


SAMPLED = pytest.mark.parametrize("name", [pytest.param(name, marks=() if name == "batched" else pytest.mark.sampled(
    quick=0, ci=4)) for name in KERNELS])


@SAMPLED
def test_no_races(threads: Watched, kernels: Kernels, name: str) -> None:
    assert kernels.races(threads, name, (1, 2)) == []


@SAMPLED
def test_every_barrier_is_needed(threads: Watched, kernels: Kernels, name: str) -> None:
    assert len(kernels.mistakes_of(name)) >= (3 if name == "batched" else 2)
    assert kernels.unnoticed(threads, name) == []


@SAMPLED
def test_no_access_outside_arrays_and_nothing_undefined(addresses: Watched, kernels: Kernels, name: str) -> None:
    assert kernels.wrong_accesses(addresses, name) == ""
