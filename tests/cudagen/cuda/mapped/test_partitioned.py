"""Kernels whose mappings have cases: each partition has a launch, and all together give what other executors give."""
from __future__ import annotations

import random
import re
from dataclasses import replace
from itertools import product
from math import prod
from typing import Any

import numpy as np
import pytest
from amounts import PROFILE
from built import counting_device, cpu_device, execute, gpu_code, gpu_device
from executors import Compiled, agree, outcome
from kernel_runs import Meaning, program_of, run_cuda
from random_chains import Chains, arguments, indices, program_of_chain, random_chain
from test_cubins import ARCHITECTURES, NVRTC

from nessie.base.source import NessieError
from nessie.base.values import Flat
from nessie.cudagen.cuda.cudasim import compiler
from nessie.cudagen.cuda.cudasim.driver import Cudasim
from nessie.cudagen.cuda.nvidia.compiler import assembled
from nessie.cudagen.generate import generate
from nessie.cudagen.host import host
from nessie.cudagen.loops.check import check as check_loops
from nessie.cudagen.loops.text import parse, show
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu.borders.partitions import partitions, with_parts
from nessie.lambda_cu.mappings.kernels import parts_in, why_not
from nessie.lambda_cu.mappings.nodes import REST, Cases, Strategy
from nessie.lambda_cu.mappings.text import parse_mapping
from nessie.lambda_cu.reference.reference import execute as execute_reference
from nessie.lambda_cu.text.parser import parse_kernel

COUNT = {"quick": 4, "ci": 25}.get(PROFILE, 200)
SIZES = [0, 1, 31, 32, 33]
SIMULATED = pytest.mark.skipif(not compiler.found(), reason="there is no C++ compiler")

# Each axis of a nest is bounded, and has steps; each element tells where it is.
TESTS = {1: "i >= 1 and i < t - 1 and (i - 1) rem 3 < 2", 2: "s >= 1 and s < 6 and (s - 1) rem 2 < 1 and j rem 3 /= 1",
         3: "i1 < 2 and i2 >= 1 and j rem 4 < 3", 4: "i1 > 0 and i2 == 1 or i3 rem 2 == 1 and j < n3 - 1"}
MAPPINGS = {1: ["Jing", "GridBlock(1, SplitLast(32, CompressGrid([1], ShiftLB(Gen))))"],
            2: ["Jing", "GridBlock(1, CompressGrid([1, 0], ShiftLB(Gen)))"],
            3: ["FoldAll", "GridBlock(1, Permute([0, 2, 1], Mask(ShiftLB(Gen))))"], 4: ["FoldAll", "JingExt"]}


def plain(program: ir.Program) -> ir.Program:
    """The program, which nothing is said of."""
    kernels = [replace(kernel, by=None, binds=tuple([replace(bind, soac=replace(bind.soac, parts=()))
                                                     for bind in kernel.binds])) for kernel in program.kernels]
    return replace(program, kernels=tuple(kernels))


def content(value: Any) -> Any:
    while hasattr(value, "column") or hasattr(value, "content"):
        value = value.column if hasattr(value, "column") else value.content
    return np.asarray(value)


def shapes(rank: int) -> list[tuple[int, ...]]:
    """Each of the sizes on each axis, the others small."""
    return [tuple([size if k == axis else 3 for k in range(rank)]) for axis in range(rank) for size in SIZES]


def given_for(rank: int, sizes: tuple[int, ...]) -> list[Any]:
    total = prod(sizes)
    outer = [*(sizes if rank > 1 else []), *([prod(sizes[:-1])] if rank > 2 else [])]
    return [*outer, 2, 5, Flat(total, np.arange(total) * 7 % 11)]


@SIMULATED
@pytest.mark.sampled(quick=3)
@pytest.mark.parametrize(("rank", "mapping"), [(rank, one) for rank, found in MAPPINGS.items() for one in found])
def test_partitions_change_no_value(rank: int, mapping: str) -> None:
    place = " + ".join([f"{index} * {7 ** k}" for k, index in enumerate(indices(rank))])
    program = partitions(program_of_chain(f"if {TESTS[rank]} then {place} else xs[i] * 2", rank, f"case 1 {mapping}"))
    (kernel,) = program.kernels
    assert len(parts_in(kernel)) > 3
    built, cpu = gpu_code(program), cpu_device(plain(program))
    for number, sizes in enumerate(shapes(rank)):
        given = given_for(rank, sizes)
        expected = content(execute_reference(plain(program), given))
        found = [execute_reference(program, given), execute(plain(program), given, cpu)]
        found += [host.execute(built.program, built.host, given, gpu_device(built, Cudasim(2, seed)))
                  for seed in ((0, 1, 2, 3) if number == rank else (number % 4,))]
        for value in found:
            assert np.array_equal(content(value), expected), sizes


@SIMULATED
@pytest.mark.parametrize(("rank", "mapping"), [(1, MAPPINGS[1][0]), (2, MAPPINGS[2][1]), (3, "JingExt")])
def test_bounds_of_partitions_are_any_numbers(rank: int, mapping: str) -> None:
    """Where the upper one lies below the lower one, nothing is in the partition."""
    tests = " and ".join([f"{index} >= l and {index} < h" for index in indices(rank)])
    program = partitions(program_of_chain(f"if {tests} then i * 7 else xs[i]", rank, f"case 1 {mapping}"))
    (kernel,) = program.kernels
    assert len(parts_in(kernel)) > 2 * rank
    built, cpu = gpu_code(program), cpu_device(plain(program))
    bounds = [(5, 2), (2, 2), (0, 0), (-1, -3), (33, 1), (2 ** 62, -2 ** 62), (-4, 40), (1, 2)]
    for number, (low, high) in enumerate(bounds):
        *sizes, _, _, xs = given_for(rank, {1: (33,), 2: (3, 9), 3: (3, 2, 5)}[rank])
        given = [*sizes, low, high, xs]
        expected = content(execute_reference(plain(program), given))
        found = [execute_reference(program, given), execute(plain(program), given, cpu)]
        found += [host.execute(built.program, built.host, given, gpu_device(built, Cudasim(2, seed)))
                  for seed in ((0, 1, 2, 3) if number == 0 else (number % 4,))]
        for value in found:
            assert np.array_equal(content(value), expected), (low, high)


@SIMULATED
def test_random_chains() -> None:
    for seed in range(COUNT):
        folded = seed % 4 == 3
        program, rank = random_chain(seed, folded)
        if not parts_in(program.kernels[0]):
            continue
        built, rng = gpu_code(program), random.Random(seed)
        for _ in range(3):
            given = arguments(rng, rank, {1: 70, 2: 12, 3: 6, 4: 4}[rank])
            expected = content(execute_reference(plain(program), given))
            found = host.execute(built.program, built.host, given, gpu_device(built, Cudasim(2, seed)))
            assert np.array_equal(content(found), expected), (seed, given)


# Programs -----------------------------------------------------------------------------------------


def in_nesl(thunk: str) -> str:
    """A chain of kernels in NESL, where remainders are a function."""
    return re.sub(r"(\w+|\(\w+ - \d+\)) rem (\d+)", r"rem(\1, \2)", thunk)


def nest(rank: int, thunk: str) -> str:
    names = [f"n{k}" for k in range(rank)]
    body = in_nesl(thunk)
    for index, size in reversed(list(zip(indices(rank), names, strict=True))):
        body = f"{{{body} : {index} in [0:{size}]}}"
    types = f"({', '.join(['int'] * (rank + 2))}) -> {'[' * rank}int{']' * rank}"
    return f"function main({', '.join(names)}, l, h) : {types} = {body};"


def programs(seed: int) -> tuple[str, int]:
    """A random nest of integers, and the number of its axes."""
    rng = random.Random(seed)
    rank = rng.choice((1, 2, 2, 3))
    chains = Chains(rng, rank)
    chains.value = lambda: rng.choice([str(rng.randint(-9, 9)), *[f"{i} * {rng.randint(2, 9)}" for i in indices(rank)]])  # type: ignore[method-assign]
    text = chains.thunk().replace("xs[i]", indices(rank)[0])
    return nest(rank, text.replace(" t ", " n0 ").replace(" t)", " n0)")), rank


def with_cases(program: ir.Program) -> ir.Program:
    """Each kernel that has a chain is cut by it."""
    def cut(kernel: ir.Kernel) -> ir.Kernel:
        by = Cases(((REST, Strategy("JingExt")),))
        made = replace(kernel, by=by)
        return made if parts_in(with_parts(made)) and why_not(made) is None else kernel
    return replace(program, kernels=tuple(map(cut, program.kernels)))


@SIMULATED
def test_random_programs() -> None:
    """Cut, fused and simulated they give what the interpreter does."""
    cut = 0
    for seed in range(COUNT):
        source, rank = programs(seed)
        compiled = Compiled(source, target="cuda")
        compiled.__dict__["flat"] = with_cases(compiled.flat)
        made = compiled.executable("ilp")
        cut += any([parts_in(kernel) for kernel in made.kernels])
        rng = random.Random(seed)
        for _ in range(3):
            given = tuple([rng.choice((0, 1, 2, rng.randint(0, 9))) for _ in range(rank)] + [rng.randint(-3, 9)] * 2)
            expected, *found = [outcome(compiled, executor, given)
                                for executor in ("interpreter", "reference ilp", "cudasim ilp")]
            assert all([agree(expected, one) for one in found]), (source, given)
    assert cut > COUNT / 3


PROGRAMS = {
    "modarray": ("""function main(m) : [[float]] -> [[float]] = let h = #m in
        {{if i > 0 and j > 0 and i < h - 1 and j < #m[0] - 1 then 0.25 * (m[i-1][j] + m[i+1][j] + m[i][j-1] + m[i][j+1])
          else x : x in row; j in [0:#row]} : row in m; i in [0:h]};""",
                 [[[[float(i * i + 3 * j) for j in range(w)] for i in range(h)]]
                  for h, w in ((0, 0), (5, 7), (2, 3), (1, 1), (9, 33))],
                 ir.SeqLayout(ir.SeqLayout(ir.ScalarLayout("float"), "uniform"))),
    "fold": ("""function main(v) : [int] -> (int, [int]) = let n = #v;
        w = {if i == 0 or i == n - 1 then x else if rem(i, 2) == 1 then 4 * x else 2 * x : x in v; i in [0:n]} in
        (sum({if i < 3 then x * 7 else x : x in w; i in [0:n]}), w);""",
             [[list(range(n))] for n in (0, 1, 2, 31, 32, 33, 300)], None),
    "called": ("""function part(v, l) = {if i >= l and i < l + 3 then x * x else 0 - x : x in v; i in [0:#v]};
        function main(v, l) : ([int], int) -> ([int], [int]) = (part(v, l), part({x + 1 : x in v}, 0));""",
               [[list(range(n)), low] for n in (0, 5, 33) for low in (-9, 0, 2, 40, 2 ** 62)], None),
    "three": ("""function main(n, m) : (int, int) -> [[[int]]] =
        {{{if not (i >= 1 and j < m - 1) or rem(k, 3) == 1 then i * 100 + j * 10 + k else if i == j then 1 else 2
           : k in [0:n]} : j in [0:m]} : i in [0:3]};""", [[n, m] for n in (0, 1, 4) for m in (0, 1, 5)], None)}


@SIMULATED
@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name: str) -> None:
    """The rest from an array, sums, functions that are called twice, nests: as the interpreter has them."""
    source, givens, layout = PROGRAMS[name]
    compiled = Compiled(source, target="cuda", layouts=None if layout is None else (layout,))
    compiled.__dict__["flat"] = with_cases(compiled.flat)
    assert any([parts_in(kernel) for kernel in compiled.executable("ilp").kernels])
    for given in givens:
        expected, *found = [outcome(compiled, executor, tuple(given))
                            for executor in ("interpreter", "reference ilp", "cudasim ilp")]
        assert all([agree(expected, one) for one in found]), given


# Kernels ------------------------------------------------------------------------------------------

KERNELS = {
    "chained": """kernel K (n : int, m : int, t : int, xs : [int; t]) -> ([int; t], [int; t]) by MAPPING {
      let ys = SEG_MAP { (s, j, i) => if s >= 1 and j rem 2 == 1 then xs[i] * 100 + s * 10 + j else if j < 3 then 7 else
        xs[i] using xs } uniform(n, m, t)
      let zs = MAP { i => ys[i] + i using ys } (t)
      return (ys, zs)
    }""",
    "summed": """kernel K (n : int, m : int, t : int, xs : [int; t]) -> ([int; t], int, int, int) by MAPPING {
      let ys = SEG_MAP { (s, j, i) => if s < 2 then if j > 0 then 3 else xs[i] else xs[i] * 10 + s + j using xs }
        uniform(n, m, t)
      let (a, b) = REDUCE { i => (ys[i], xs[i]) using ys, xs } (0, 99) { (p, q, r, s) => (p + r, min(q, s)) } (t)
      let c = REDUCE { i => i * 3 } (7) { (x, y) => max(x, y) } (t)
      return (ys, a, b, c)
    }""",
    "failing": """kernel K (n : int, m : int, t : int, xs : [int; t]) -> [int; t] by MAPPING {
      let ys = SEG_MAP { (s, j, i) => if j >= 1 and s < n - 1 then if xs[i] > 0 then i / xs[i] else fail s1 : int
        else if j rem 3 == 2 then 5 else if xs[i] > 0 then 7 else fail s2 : int using xs, n } uniform(n, m, t)
      return ys
    }""",
}


@pytest.mark.parametrize("mapping", ["case 1 Jing case rest FoldAll", "case 1 GridBlock(0, Mask(ShiftLB(Gen)))"])
@pytest.mark.parametrize("name", KERNELS)
def test_kernels_do_what_their_bindings_do(name: str, mapping: str) -> None:
    """The first failure in order is told, whatever part it is in."""
    kernel = with_parts(parse_kernel(KERNELS[name].replace("MAPPING", mapping)))
    assert len(parts_in(kernel)) > 1
    if "GridBlock(0" in mapping and name == "chained":
        assert len(parts_in(kernel)) > 3
    for seed, (n, m) in enumerate([(3, 5), (0, 4), (4, 0), (1, 33), (33, 2)]):
        xs = (np.arange(n * m) * 7 % 11).astype(np.int64)
        given: list[Any] = [n, m, n * m, xs if name == "failing" and seed % 2 else xs + 1]
        meaning = Meaning(kernel, given)
        results, failed = run_cuda(kernel, given, seed)
        assert failed == meaning.failed
        assert failed < 2**63 - 1 or results == meaning.results


def test_plans_of_parts_are_text() -> None:
    kernel = with_parts(parse_kernel(KERNELS["failing"].replace("MAPPING", "case 1 Jing")))
    module = generate(program_of(kernel), "cuda")
    check_loops(module)
    assert parse(show(module)) == module
    names = [phase.function for phase in module.plans[0].phases]
    assert names[0] == "K_case1" and "K_rest" in names and len(names) == len(set(names))


def test_bounds_that_may_be_any_ints_are_selected() -> None:
    (kernel,) = partitions(program_of_chain("if i >= l and i < h then 1 else 0", 1, "case 1 Jing")).kernels
    module = generate(program_of(kernel), "cuda")
    check_loops(module)
    assert parse(show(module)) == module and " ? " in show(module)
    for low, high in product((-2 ** 63, -1, 3, 2 ** 63 - 1), repeat=2):
        given: list[Any] = [low, high, 9, np.arange(9)]
        assert run_cuda(kernel, given, 1)[0] == Meaning(kernel, given).results


@SIMULATED
def test_each_element_is_stored_once() -> None:
    program = partitions(program_of_chain(f"if {TESTS[2]} then 1 else 0", 2, "case 1 Jing"))
    device = counting_device(program)
    execute(program, given_for(2, (7, 9)), device)
    assert sum(access.lanes for access in device.driver.accesses() if access.point.kind == "store") == 63


@SIMULATED
def test_launches_that_no_gpu_takes() -> None:
    built = gpu_code(partitions(program_of_chain("if s > 2 then 1 else 0", 2, "case 1 GridBlock(1, ShiftLB(Gen))")))
    device = gpu_device(built, Cudasim(1, 0))
    assert len(content(host.execute(built.program, built.host, given_for(2, (2, 4096)), device)))
    with pytest.raises(NessieError, match=r"block.x is 4,096, and at most 1,024: split the axis"):
        host.execute(built.program, built.host, given_for(2, (5, 4096)), device)


def test_a_part_computes_no_test() -> None:
    """Of the paper's example, no kernel has a conditional but for its threads; a step with a width is divided for."""
    test = "s >= 1 and s < 6 and (s - 1) rem 2 < 1 and j >= 1 and j < 6 and (j - 1) rem 3 < 2"
    by = "case 1 GridBlock(2, CompressGrid([1, 1], ShiftLB(Gen)))"
    text = gpu_code(partitions(program_of_chain(f"if {test} then 10 * s + j else 0", 2, by))).text
    first, *others = text.split("__global__")[1:]
    assert first.count("if (") == 1 and first.count(" / 2") == 1 and first.count(" % 2") == 1
    assert len(others) == 6 and all(["= 0;" in other for other in others])


@NVRTC
@pytest.mark.sampled(quick=1)
@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_none_spills(architecture: str) -> None:
    by = parse_mapping("case 1 Jing")
    for rank, test in TESTS.items():
        made = partitions(program_of_chain(f"if {test} then xs[i] else 0", rank, "case 1 auto"))
        found = assembled(gpu_code(replace(made, kernels=(replace(made.kernels[0], by=by),))).text, architecture)
        assert found.warnings == ()
        for usage in found.usages:
            assert (usage.spill_stores, usage.spill_loads, usage.stack) == (0, 0, 0), usage
