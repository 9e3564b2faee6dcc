"""PERMUTE where several elements write to one place: the last or the greatest wins, on every executor, bit for bit."""
from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from built import gpu_code, gpu_device
from kernel_runs import Meaning, program_of, run_cuda, run_plan
from random_kernels import Maker
from test_gpu import launch
from test_lambda_cu_reference import EMPTY
from test_skeletons import flat_kernel, numbers, segmented_kernel

import nessie
from nessie.base.values import DTYPES
from nessie.cudagen.cuda.cudasim import compiler
from nessie.cudagen.cuda.cudasim.driver import Cudasim
from nessie.cudagen.cuda.link import GpuProgram
from nessie.cudagen.generate import generate
from nessie.cudagen.host.device import NO_FAILURE
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu.reference.context import Context
from nessie.lambda_cu.reference.kernels import run_kernel
from nessie.lambda_cu.reference.reference import EvaluationLimits, Stats
from nessie.lambda_cu.text.parser import parse_kernel

GPU = pytest.mark.skipif(not compiler.found(), reason="there is no C++ compiler")
PLACES = 5
SIZES = [0, 1, 31, 32, 33, 255, 256, 257, 2047, 2048, 2049, 9000]
EDGES: dict[str, list[Any]] = {
    "int": [0, 1, -1, 2**63 - 1, -2**63, 77],
    "float": [0.0, -0.0, 1.5, -1.5, 5e-324, -5e-324, 1e308, -1e308, math.inf, -math.inf, math.nan],
    "bool": [False, True],
    "char": ["\0", "a", "z", "\U0010ffff"],
}

ZEROS = {"int": "0", "float": "0.0", "bool": "false", "char": "'a'"}
UNITS = {"int": "(-9223372036854775808) { (x, y) => max(x, y) }", "float": "(-inf) { (x, y) => max(x, y) }",
         "bool": "(false) { (x, y) => x or y }", "char": "('\\0') { (x, y) => max(x, y) }"}


@pytest.fixture(autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.getbasetemp() / "cache"))


def kernel_of(mode: str, base: str, default: Any, name: str = "K") -> ir.Kernel:
    write = f"{{ i => xs[i] using xs }} {{ i => at[i] using at }} {UNITS[base] if mode == 'max' else ''} (n)"
    soac = f"REDUCE_BY_INDEX {write}" if mode == "max" else f"PERMUTE {write}"
    found = parse_kernel(f"""kernel {name} (n : int, xs : [{base}; n], at : [int; n]) {{
        let ys = {soac} into {PLACES} ({ZEROS[base]}) {'' if mode == 'max' else mode}
        return ys }}""")
    (bind,) = found.binds
    assert isinstance(bind.soac, ir.Write)
    return replace(found, binds=(replace(bind, soac=replace(bind.soac, before=(ir.Const(default, base),))),))


CASES = [(mode, base, default) for mode in ("last", "max") for base in EDGES for default in EDGES[base]]


def given(base: str, n: int) -> list[Any]:
    """Elements, and where they go: mostly to a few places, some nowhere; one place stays as it is."""
    random = np.random.default_rng(n)
    values = [EDGES[base][k] for k in random.integers(0, len(EDGES[base]), n)]
    at = np.minimum(random.integers(-1, 40, n), PLACES - 2)
    return [n, np.array([ord(v) for v in values] if base == "char" else values, DTYPES[base]), at]


def wanted(mode: str, default: Any, arguments: list[Any]) -> list[Any]:
    """The bits, in a way of its own: the greatest by a key that orders floats."""
    _, xs, at = arguments
    results = []
    for place in range(PLACES):
        values = [default, *(chr(x) if isinstance(default, str) else x.item() for x, p in zip(xs, at) if p == place)]
        results.append(max(values, key=rank) if mode == "max" else values[-1])
    return results


def rank(value: Any) -> Any:
    if isinstance(value, float):
        return (math.isnan(value), value if value == value else 0.0, math.copysign(1.0, value))
    return value


def bits(results: list[Any]) -> list[str]:
    return [repr(value) for value in results]


@pytest.mark.parametrize("n", [0, 1, 40])
@pytest.mark.parametrize("mode, base, default", CASES)
def test_reference_and_cpu(mode: str, base: str, default: Any, n: int) -> None:
    kernel, arguments = kernel_of(mode, base, default), given(base, n)
    expected = bits(wanted(mode, default, arguments))
    (found,) = run_kernel(kernel, [np.asarray(a) for a in arguments], Context(EMPTY, EvaluationLimits(), Stats()))
    assert bits([chr(c) for c in found] if base == "char" else found.tolist()) == expected
    for order in (1, -1):
        assert bits(run_plan(kernel, arguments, 4, order=order)[0][0]) == expected


@pytest.mark.parametrize("mode", ["last", "max"])
@pytest.mark.parametrize("base", EDGES)
def test_threads_in_any_order(base: str, mode: str) -> None:
    """By the loops interpreter."""
    for seed in range(2):
        kernel, arguments = kernel_of(mode, base, EDGES[base][0]), given(base, 300)
        expected = bits(wanted(mode, EDGES[base][0], arguments))
        assert bits(run_cuda(kernel, arguments, seed, 1)[0][0]) == expected


def program_of_all() -> ir.Program:
    """A kernel for each of CASES: K0, K1, ..."""
    kernels = tuple(kernel_of(*case, name=f"K{at}") for at, case in enumerate(CASES))
    return replace(program_of(kernels[0]), kernels=kernels)


@pytest.fixture(scope="module")
def built() -> GpuProgram:
    return gpu_code(program_of_all())


@pytest.mark.sampled(quick=3, ci=2)
@GPU
@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("mode, base", [(mode, base) for mode in ("last", "max") for base in EDGES])
def test_gpu(built: GpuProgram, mode: str, base: str, n: int) -> None:
    arguments = given(base, n)
    for at, (_, _, default) in ((at, case) for at, case in enumerate(CASES) if case[:2] == (mode, base)):
        results, failed = launch(gpu_device(built, Cudasim(2, n % 3)), f"K{at}", arguments)
        assert failed == NO_FAILURE
        assert bits(results[0]) == bits(wanted(mode, default, arguments))


# In kernels with others ---------------------------------------------------------------------------


FUSED = {
    "survivors": """
        let (k, ys) = FILTER { i => xs[i] using xs } { i => xs[i] > 0 using xs } (n)
        let zs = PERMUTE { i => ys[i] * 100 using ys } { i => ys[i] using ys } (k) into 4 (-7) last
        return (k, zs)""",
    "ranks of survivors": """
        let (k, ys) = FILTER { i => xs[i] using xs } { i => xs[i] > 0 using xs } (n)
        let (zs, vs) = PERMUTE { i => (ys[i], i) using ys } { i => ys[i] using ys } (k) into 4 (-7, -8) last
        return (ys, zs, vs)""",
    "as many places as survivors": """
        let (k, ys) = FILTER { i => xs[i] using xs } { i => xs[i] > 0 using xs } (n)
        let zs = PERMUTE { i => i } { i => rshift(i, 1) } (k) into k (-7) last
        return (k, zs)""",
    "after a scan": """
        let ps = SCAN { i => xs[i] using xs } (0) { (x, y) => x + y } (n)
        let (zs, ws) = PERMUTE { i => (ps[i], i) using ps } { i => ps[i] and 15 using ps } (n) into 16 (-7, -8) last
        return (ps, zs, ws)""",
    "two, and a read when all is done": """
        let ys = PERMUTE { i => i } { i => xs[i] using xs } (n) into 4 (-7) last
        let zs = REDUCE_BY_INDEX { i => i > 3 } { i => xs[i] and 1 using xs } (false)
            { (x, y) => x or y } (n) into 2 (false)
        let us = PERMUTE { i => float(i) } { i => xs[i] and 1 using xs } (n) into 2 (-0.5) last
        let r = ONCE { () => ys[3] using ys }
        return (ys, zs, us, r)""",
    "failing": """
        let ys = PERMUTE { i => if i < 2000 then 60 / xs[i] else fail s1 : int using xs } { i => xs[i] using xs } (n)
          into 4 (-7) last
        return ys""",
}


@pytest.mark.sampled(quick=3, ci=2)
@GPU
@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("name", FUSED)
def test_gpu_in_kernels_with_others(name: str, n: int) -> None:
    kernel = flat_kernel(FUSED[name])
    meaning = Meaning(kernel, [n, numbers(n)])
    for seed in (0, 1, 2):
        results, failed = launch(gpu_device(program_of(kernel), Cudasim(2, seed)), "K", [n, numbers(n)])
        assert failed == meaning.failed
        assert failed != NO_FAILURE or results == meaning.results


FUSED_SEGMENTS = """
    let rs = SEG_REDUCE { (s, j, i) => xs[i] using xs } (0) { (x, y) => x + y } D
    let (k, ys, offs) = SEG_FILTER { (s, j, i) => xs[i] using xs } { (s, j, i) => xs[i] > 0 using xs } D
    let as = SEG_PERMUTE { (s, j, i) => s * 1000 + j } { (s, j, i) => xs[i] using xs } D
      into 4 (-1) last
    let bs = SEG_PERMUTE { (s, j, i) => j * 1000 + s } { (s, j, i) => ys[i] using ys } irregular(offs, m, k)
      into 4 (-1) last
    let cs = PERMUTE { s => rs[s] * 100 + s using rs } { s => vs[s] and 1 using vs } (m) into 2 (-1) last
    return (rs, k, as, bs, cs)"""
ROWS = [[], [0, 0, 3], [1] * 300, [3000, 0, 0, 1, 2200], [0] * 900 + [2], [0] * 5000]


def of_rows(lengths: list[int]) -> tuple[ir.Kernel, list[Any]]:
    """The kernel, and its arguments for segments of such lengths."""
    n, m = sum(lengths), len(lengths)
    return (segmented_kernel("offs0 : [int; m+1]", "irregular(offs0, m, n)", FUSED_SEGMENTS),
            [n, m, numbers(n), numbers(m, 5), np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)])


@GPU
@pytest.mark.parametrize("lengths", ROWS, ids=len)
def test_gpu_by_elements_survivors_and_segments(lengths: list[int]) -> None:
    kernel, arguments = of_rows(lengths)
    meaning = Meaning(kernel, arguments)
    for seed in (0, 1, 2):
        assert launch(gpu_device(program_of(kernel), Cudasim(2, seed)), "K", arguments) == (meaning.results, NO_FAILURE)


def random_kernels(segmented: bool) -> tuple[ir.Program, list[Any]]:
    """And arguments of each."""
    kernels = tuple(replace(parse_kernel(Maker(seed, segmented).kernel()), name=f"K{seed}") for seed in range(24))
    lengths = [2, 0, 700, 1, 2030, 0, 0, 3]
    n, m = sum(lengths), len(lengths)
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    arguments = [n, numbers(n, 1), numbers(n, 2), *([m, numbers(m, 3), offsets] if segmented else [])]
    return replace(program_of(kernels[0]), kernels=kernels), arguments


@pytest.mark.slow
@GPU
@pytest.mark.parametrize("segmented", [False, True])
def test_random_fused_kernels(segmented: bool) -> None:
    """With scatters among all else that schedules fuse."""
    program, arguments = random_kernels(segmented)
    built = gpu_code(program)
    for seed, kernel in enumerate(program.kernels):
        meaning = Meaning(kernel, arguments)
        results, failed = launch(gpu_device(built, Cudasim(2, seed % 3)), kernel.name, arguments)
        assert (failed == NO_FAILURE) == (meaning.failed == NO_FAILURE)
        assert failed != NO_FAILURE or results == meaning.results, seed


def test_nothing_is_claimed_where_places_are_distinct() -> None:
    launches = {mode: len(generate(program_of(kernel_of(mode, "float", 0.0)), "cuda").plans[0].phases)
                for mode in ("distinct", "last", "max")}
    assert launches == {"distinct": 1, "last": 2, "max": 1}
    alike = parse_kernel("kernel K (n : int, x : float, at : [int; n]) { let ys = PERMUTE { i => x using x } "
                         "{ i => at[i] using at } (n) into 5 (0.0) last return ys }")
    (plan,) = generate(program_of(alike), "cuda").plans
    assert len(plan.phases) == 1
    (plan,) = generate(program_of(alike), "cpu").plans
    assert not any(phase.in_order for phase in plan.phases)


@pytest.mark.parametrize("target", ["cpu", "cuda"])
def test_nothing_is_filled_where_all_places_are_written(target: str) -> None:
    text = ("kernel K (n : int, at : [int; n]) {{ let ys = PERMUTE {{ i => i }} {{ i => at[i] using at }} (n) into n "
            "(0) {} return ys }}")
    for mode, fill in (("all", None), ("distinct", 0)):
        (plan,) = generate(program_of(parse_kernel(text.format(mode))), target).plans
        assert [buffer.fill for phase in plan.phases for buffer in phase.buffers if buffer.name == "ys"] == [fill]


@pytest.mark.parametrize("target", ["cpu", "reference", pytest.param("cudasim", marks=GPU)])
def test_writes_of_one_value_need_no_order(target: str) -> None:
    """They share a kernel with what makes the places, and no element claims one."""
    text = "function marked(is, n, x) = (dist(t, n) <- {(2 * i, f) : i in is}, dist(0.5, n) <- {(i, x) : i in is});"
    marked = nessie.compile(text, target=target, threads=3).marked
    places = np.random.default_rng(3).integers(0, 50, 5000)
    flags, values = marked(places, 100, 7.5)
    assert flags.tolist() == [i % 2 == 1 or i // 2 not in places for i in range(100)]
    assert values.tolist() == [7.5 if i in places else 0.5 for i in range(100)]
