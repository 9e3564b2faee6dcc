"""Kernels that mappings walk: every mapping gives the values that other executors give, and launches what it says."""
from __future__ import annotations

from dataclasses import replace
from functools import cache
from math import prod
from typing import Any

import numpy as np
import pytest
from built import counting_device, cpu_device, execute, gpu_code, gpu_device
from kernel_runs import Meaning, program_of, run_cuda
from test_cubins import ARCHITECTURES, NVRTC
from test_gpu import launch

from nessie.base.source import NessieError, Source
from nessie.cudagen.cuda.cudasim import compiler
from nessie.cudagen.cuda.cudasim.driver import Cudasim
from nessie.cudagen.cuda.link import GpuProgram
from nessie.cudagen.cuda.nvidia.compiler import assembled
from nessie.cudagen.generate import generate
from nessie.cudagen.host import host
from nessie.cudagen.loops.check import check as check_loops
from nessie.cudagen.loops.text import parse, show
from nessie.driver import compile_program
from nessie.forms import TEXT
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu.mappings.text import parse_mapping
from nessie.lambda_cu.reference.reference import execute as execute_reference
from nessie.lambda_cu.text.parser import parse_kernel
from nessie.pipeline import Job, pass_named
from nessie.schedule.wishes.wishes import MAP, Wish

ONE = ["GridBlock(1, SplitLast(32, ShiftLB(Gen)))", "GridBlock(1, SplitLast(256, Gen))", "GridBlock(0, Gen)",
       "GridBlock(1, Gen)", "GridBlock(1, PadLast(32, Gen))",
       "Levels([grid, block, serial], Split(0, 8, Split(0, 16, Gen)))"]
TWO = ["GridBlock(1, Gen)", "GridBlock(2, Gen)", "GridBlock(1, Permute([1, 0], Gen))", "Levels([grid, serial], Gen)",
       "GridBlock(2, Permute([0, 2, 1, 3], Split(0, 8, SplitLast(4, Gen))))", "Levels([serial, serial], Gen)",
       "GridBlock(1, SplitLast(64, FoldLast2(Gen)))", "Levels([block, serial], Permute([1, 0], Gen))"]
MORE = ["GridBlock(2, Permute([{last}, {rest}], Gen))", "GridBlock(1, SplitLast(16, {folds}))",
        "Levels([{serials}], Gen)"]
SIZES = [0, 1, 31, 32, 33]


def mappings_of(rank: int) -> list[str]:
    """Strategies and compositions for a space of so many axes."""
    strategies = ["JingExt", "FoldAll", "auto", "none", *(["Jing"] if rank <= 5 else [])]
    if rank <= 2:
        return [*strategies, *(ONE if rank == 1 else TWO)]
    folds = "Gen"
    for _ in range(rank - 1):
        folds = f"FoldLast2({folds})"
    put = {"last": rank - 1, "rest": ", ".join(map(str, range(rank - 1))), "folds": folds,
           "serials": ", ".join(["grid", "block", *["serial"] * (rank - 2)])}
    return [*strategies, *[text.format(**put) for text in MORE if rank <= 5 or "Permute" not in text]]


def nest(rank: int) -> str:
    """A nest of so many axes; each element tells where it is."""
    names = [f"n{k}" for k in range(rank)]
    body = " + ".join([f"x{k} * {7 ** k}" for k in range(rank)])
    for k in reversed(range(rank)):
        body = f"{{{body} : x{k} in [0:n{k}]}}"
    return f"function main({', '.join(names)}) = {body};"


@cache
def compiled(text: str, target: str, mapping: str = "") -> ir.Program:
    wishes = (Wish(MAP, "main", mapping),) if mapping else ()
    job = Job(entry="main", target=target, wishes=wishes)
    return compile_program(job, TEXT, Source("test.nesl", text), pass_named("borders"))


@cache
def code(text: str, mapping: str) -> GpuProgram:
    return gpu_code(compiled(text, "cudasim", mapping))


def content(value: Any) -> Any:
    while hasattr(value, "column") or hasattr(value, "content"):
        value = value.column if hasattr(value, "column") else value.content
    return np.asarray(value)


def shapes(rank: int) -> list[tuple[int, ...]]:
    """Each of the sizes on each axis, the others small; too many threads of a block are left out."""
    return [tuple([size if k == axis else 2 for k in range(rank)]) for axis in range(rank) for size in SIZES]


@pytest.mark.skipif(not compiler.found(), reason="there is no C++ compiler")
@pytest.mark.sampled(quick=8, ci=2)
@pytest.mark.parametrize(("rank", "mapping"), [(r, mapping) for r in range(1, 8) for mapping in mappings_of(r)])
def test_mappings_change_no_value(rank: int, mapping: str) -> None:
    text = nest(rank)
    program, plain = compiled(text, "cudasim", mapping), compiled(text, "cpu")
    assert sum(kernel.by is not None for kernel in program.kernels) == 1
    built, cpu = code(text, mapping), cpu_device(plain)
    for number, sizes in enumerate(shapes(rank)):
        expected = content(execute_reference(plain, list(sizes)))
        assert len(expected) == prod(sizes)
        found = [execute_reference(program, list(sizes)), execute(plain, list(sizes), cpu)]
        found += [host.execute(built.program, built.host, list(sizes), gpu_device(built, Cudasim(2, seed)))
                  for seed in ((0, 1, 2, 3) if number == rank else (number % 4,))]
        for value in found:
            assert np.array_equal(content(value), expected), sizes


@pytest.mark.skipif(not compiler.found(), reason="there is no C++ compiler")
@pytest.mark.parametrize("mapping", ["JingExt", "FoldAll", "auto"])
def test_a_nest_of_eleven(mapping: str) -> None:
    text = nest(11)
    built, sizes = code(text, mapping), [2] * 10 + [3]
    expected = content(execute_reference(compiled(text, "cpu"), sizes))
    for seed in range(4):
        found = host.execute(built.program, built.host, sizes, gpu_device(built, Cudasim(2, seed)))
        assert np.array_equal(content(found), expected)


@pytest.mark.skipif(not compiler.found(), reason="there is no C++ compiler")
@pytest.mark.parametrize("mapping", ["Jing", "JingExt", "FoldAll", "auto", "GridBlock(1, SplitLast(8, ShiftLB(Gen)))"])
def test_plusone(mapping: str) -> None:
    text = "function main(v) : [float] -> [float] = {x + 1.0 : x in v};"
    program, built = compiled(text, "cudasim", mapping), code(text, mapping)
    assert [kernel.by for kernel in program.kernels] != [None]
    for seed in range(4):
        for size in SIZES:
            given = np.arange(size) / 4
            (expected,) = [content(execute_reference(program, [flat(given)]))]
            found = content(host.execute(built.program, built.host, [flat(given)], gpu_device(built, Cudasim(2, seed))))
            assert np.array_equal(found, expected) and np.array_equal(found, given + 1)


def flat(values: Any) -> Any:
    from nessie.base.values import Flat
    return Flat(len(values), values)


# Kernels ------------------------------------------------------------------------------------------

KERNELS = {
    "chained": """kernel K (n : int, m : int, t : int, xs : [int; t]) -> ([int; t], [int; t]) by MAPPING {
      let ys = SEG_MAP { (s, j, i) => xs[i] * 100 + s * 10 + j using xs } uniform(n, m, t)
      let zs = MAP { i => ys[i] + i using ys } (t)
      return (ys, zs)
    }""",
    "written": """kernel K (n : int, m : int, t : int, xs : [int; t]) -> [int; t] by MAPPING {
      let ys = SEG_PERMUTE { (s, j, i) => xs[i] using xs } { (s, j, i) => j * n + s using n } uniform(n, m, t)
        into t (0) all
      return ys
    }""",
    "summed": """kernel K (n : int, m : int, t : int, xs : [int; t]) -> ([int; t], int, int, int) by MAPPING {
      let ys = SEG_MAP { (s, j, i) => xs[i] * 10 + s + j using xs } uniform(n, m, t)
      let (a, b) = REDUCE { i => (ys[i], xs[i]) using ys, xs } (0, 99) { (p, q, r, s) => (p + r, min(q, s)) } (t)
      let c = REDUCE { i => i * 3 } (7) { (x, y) => max(x, y) } (t)
      return (ys, a, b, c)
    }""",
    "failing": """kernel K (n : int, m : int, t : int, xs : [int; t]) -> [int; t] by MAPPING {
      let ys = SEG_MAP { (s, j, i) => if xs[i] > 0 then i / xs[i] else if j > 1 then fail s1 : int else fail s2 : int
        using xs } uniform(n, m, t)
      return ys
    }""",
}


@pytest.mark.skipif(not compiler.found(), reason="there is no C++ compiler")
@pytest.mark.parametrize("mapping", ["Jing", "FoldAll", *TWO])
@pytest.mark.parametrize("name", KERNELS)
def test_kernels_do_what_their_bindings_do(name: str, mapping: str) -> None:
    """The first failure in order is told, whoever comes first."""
    kernel = parse_kernel(KERNELS[name].replace("MAPPING", mapping))
    built = gpu_code(program_of(kernel))
    for seed, (n, m) in enumerate([(3, 5), (0, 4), (4, 0), (1, 33), (33, 2)]):
        xs = (np.arange(n * m) * 7 % 11).astype(np.int64)
        given: list[Any] = [n, m, n * m, xs if name == "failing" and seed % 2 else xs + 1]
        meaning = Meaning(kernel, given)
        for results, failed in (launch(gpu_device(built, Cudasim(2, seed)), "K", given), run_cuda(kernel, given, seed)):
            assert failed == meaning.failed
            assert failed < 2**63 - 1 or results == meaning.results


def test_plans_with_shapes_are_text() -> None:
    module = generate(program_of(parse_kernel(KERNELS["chained"].replace("MAPPING", TWO[4]))), "cuda")
    check_loops(module)
    assert parse(show(module)) == module
    assert "grid (" in show(module) and "block (4, 8, 1)" in show(module)


def text_of(rank: int, mapping: str) -> str:
    return code(nest(rank), mapping).text


def test_nothing_divides_where_the_mapping_folds_nothing() -> None:
    for rank, mapping, divisions in ((3, "GridBlock(2, ShiftLB(Gen))", 0), (4, "Jing", 0), (5, "Jing", 0),
                                     (7, "JingExt", 3), (2, "Jing", 0), (7, "FoldAll", 6)):
        kernel = text_of(rank, mapping).split("__global__")[-1]
        assert kernel.count("int_div(") + kernel.count(" / ") == divisions, (rank, mapping)


@pytest.mark.skipif(not compiler.found(), reason="there is no C++ compiler")
@pytest.mark.parametrize(("mapping", "sizes", "idle"), [
    ("Jing", (33,), 31), ("FoldAll", (33,), 223), ("GridBlock(1, Gen)", (3, 5), 0), ("Jing", (33, 31), 2048 - 1023),
    ("Jing", (3, 4, 5), 0), ("GridBlock(1, PadLast(32, Gen))", (3, 5), 3 * 27)])
def test_idle_threads_are_counted(mapping: str, sizes: tuple[int, ...], idle: int) -> None:
    """Threads of the launch less those that store an element."""
    program = compiled(nest(len(sizes)), "cudasim", mapping)
    device = counting_device(program)
    launched: list[int] = []
    run = device.driver.launch

    def noted(function: Any, blocks: Any, arguments: bytes, threads: Any = 256) -> None:
        if isinstance(blocks, tuple):
            launched.append(prod((*blocks, *threads)))
        run(function, blocks, arguments, threads)

    device.driver.launch = noted                                    # type: ignore[method-assign]
    execute(program, list(sizes), device)
    stored = sum(access.lanes for access in device.driver.accesses() if access.point.kind == "store")
    assert sum(launched) - stored == idle and stored == prod(sizes)


@NVRTC
@pytest.mark.sampled(quick=1)
@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_none_spills(architecture: str) -> None:
    """A block of 1024 threads has room for 64 registers each."""
    made = [code(nest(rank), mapping) for rank, mapping in ((2, TWO[4]), (3, "Jing"), (7, "JingExt"), (7, "FoldAll"))]
    made += [gpu_code(program_of(parse_kernel(text.replace("MAPPING", TWO[1])))) for text in KERNELS.values()]
    for program in made:
        found = assembled(program.text, architecture)
        assert found.warnings == ()
        for usage in found.usages:
            assert (usage.spill_stores, usage.spill_loads, usage.stack) == (0, 0, 0), usage
            assert usage.registers is None or usage.registers <= 64


# What may not be ------------------------------------------------------------------------------------


@pytest.mark.skipif(not compiler.found(), reason="there is no C++ compiler")
@pytest.mark.parametrize(("mapping", "sizes", "says"), [
    ("GridBlock(1, Gen)", (2, 4096), "block.x is 4,096, and at most 1,024: split the axis"),
    ("GridBlock(2, Gen)", (2, 33, 32), "a block has 1,056 threads, and at most 1,024"),
    ("GridBlock(1, Gen)", (125_000, 2, 2), "grid.y is 125,000, and at most 65,535: fold axes"),
    ("GridBlock(3, Gen)", (65, 2, 2), "block.z is 65, and at most 64"),
])
def test_launches_that_no_gpu_takes(mapping: str, sizes: tuple[int, ...], says: str) -> None:
    text = nest(len(sizes))
    built = code(text, mapping)
    with pytest.raises(NessieError, match=says) as found:
        host.execute(built.program, built.host, list(sizes), gpu_device(built, Cudasim(1, 0)))
    assert "test.nesl:1" in str(found.value)


def test_kernels_know_no_names_of_mappings() -> None:
    """Sizes may have the names that mappings have for indices."""
    text = KERNELS["chained"].replace("MAPPING", "GridBlock(1, SplitLast(4, FoldLast2(Gen)))")
    kernel = parse_kernel(text.replace("n : int", "i1 : int").replace("(n,", "(i1,").replace("m : int", "length : int")
                          .replace(" m, t)", " length, t)"))
    assert kernel.by == parse_mapping("GridBlock(1, SplitLast(4, FoldLast2(Gen)))")
    given: list[Any] = [3, 5, 15, np.arange(15)]
    assert run_cuda(kernel, given, 1)[0] == Meaning(kernel, given).results
    assert run_cuda(replace(kernel, by=None), given, 1)[0] == Meaning(kernel, given).results
