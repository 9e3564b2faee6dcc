"""The greatest and the least of numbers and of what is no number is no number: whatever its sign and its other bits
are, wherever it comes, and also where it is in a place before the others; by every executor."""
from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from itertools import chain, permutations
from typing import Any

import executors
import numpy as np
import pytest
from built import cpu_device, gpu_device
from executors import Compiled
from kernel_runs import BASES, program_of, run_cuda, run_plan
from test_gpu import launch

from nessie.cudagen.cuda import cuda
from nessie.cudagen.cuda.cudasim import compiler
from nessie.cudagen.cuda.cudasim.driver import Cudasim
from nessie.cudagen.host.device import Array
from nessie.cudagen.host.memory import address_of
from nessie.cudagen.loops.check import check
from nessie.cudagen.loops.text import parse
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu.reference.context import Context
from nessie.lambda_cu.reference.kernels import run_kernel
from nessie.lambda_cu.reference.reference import EvaluationLimits, Stats
from nessie.lambda_cu.text.parser import parse_kernel

CXX = pytest.mark.skipif(not compiler.found(), reason="there is no C++ compiler")


def of_bits(bits: int) -> float:
    value: float = struct.unpack("<d", struct.pack("<Q", bits))[0]
    return value


NANS = {f"{bits:016x}": of_bits(bits) for bits in (
    0x7ff8000000000000, 0xfff8000000000000, 0x7ff8000000000123, 0xfff8000000000abc, 0x7fffffffffffffff,
    0xffffffffffffffff)}
OTHERS = (2.5, -2.5, math.inf, -math.inf, 0.0, -0.0)
EVERY_NAN = pytest.mark.parametrize("nan", NANS)


def greatest(values: Sequence[float]) -> float:
    """0.0 is greater than -0.0."""
    if any(map(math.isnan, values)):
        return math.nan
    return max(values, key=lambda x: (x, math.copysign(1.0, x)))


def least(values: Sequence[float]) -> float:
    return -greatest([-x for x in values])


def same(found: Sequence[float], expected: Sequence[float]) -> bool:
    return executors.agree(list(found), list(expected))


# Places -------------------------------------------------------------------------------------------

PLACES = """
cuda meet(int n, float[] xs, writable float[] places) {
  int i = blockIdx * blockDim + threadIdx;
  if (i < n) { atomic max(places[i], xs[i]); }
}
cuda crowd(int n, float[] xs, writable float[] places) {
  int i = blockIdx * blockDim + threadIdx;
  if (i < n) { atomic max(places[0], xs[i]); }
}"""


@cache
def places_library() -> tuple[Cudasim, Any]:
    module = parse(PLACES)
    check(module)
    driver = Cudasim(2, 1)
    return driver, driver.load(cuda.cuda(module), ("meet", "crowd"))


def met(function: str, places: np.ndarray[Any, Any], xs: np.ndarray[Any, Any]) -> None:
    driver, functions = places_library()
    packed = struct.pack("@qPP", len(xs), address_of(xs), address_of(places))
    driver.launch(functions[function], -(-len(xs) // 256), packed)


@CXX
def test_in_a_place_all_orders_of_three() -> None:
    """What is there at first, and what is put there by one launch and the next."""
    orders = [order for nan in NANS.values() for other in OTHERS for order in permutations((nan, other, 1.5))]
    orders += list(permutations((*NANS.values(), 1.0, -1.0), 3))
    first, second, third = np.array(orders).T.copy()
    places = first.copy()
    met("meet", places, second)
    met("meet", places, third)
    assert same(places.tolist(), [greatest(order) for order in orders])


@CXX
@EVERY_NAN
def test_many_at_one_place(nan: str) -> None:
    for first, xs in ((NANS[nan], [float(k % 7 - 3) for k in range(700)]),
                      (-math.inf, [*[1.0] * 300, NANS[nan], *[9.0] * 300, -5.0])):
        places = np.array([first])
        met("crowd", places, np.array(xs))
        assert math.isnan(places[0])


# Kernels ------------------------------------------------------------------------------------------

KERNELS = """
kernel K (n : int, m : int, offs : [int; m+1], xs : [float; n]) {
  let (high, low) = REDUCE { i => (xs[i], xs[i]) using xs } (-inf, inf)
    { (a, b, c, d) => (max(a, c), min(b, d)) } (n)
  let (highs, lows) = SCAN { i => (xs[i], xs[i]) using xs } (-inf, inf)
    { (a, b, c, d) => (max(a, c), min(b, d)) } (n)
  return (high, low, highs, lows)
}""", """
kernel K (n : int, m : int, offs : [int; m+1], xs : [float; n]) {
  let (high, low) = SEG_REDUCE { (s, j, i) => (xs[i], xs[i]) using xs } (-inf, inf)
    { (a, b, c, d) => (max(a, c), min(b, d)) } irregular(offs, m, n)
  let (highs, lows) = SEG_SCAN { (s, j, i) => (xs[i], xs[i]) using xs } (-inf, inf)
    { (a, b, c, d) => (max(a, c), min(b, d)) } irregular(offs, m, n)
  return (high, low, highs, lows)
}""", """
kernel K (n : int, m : int, offs : [int; m+1], xs : [float; n]) {
  let ys = REDUCE_BY_INDEX { i => xs[i] using xs } { i => i / 3 } (-inf)
            { (x, y) => max(x, y) } (n) into m (-inf)
  return ys
}"""
WHOLE, ROWS, PLACED = map(parse_kernel, KERNELS)


def with_default(kernel: ir.Kernel, value: float) -> ir.Kernel:
    """What is in the places at first. The text of a NaN says nothing of its bits."""
    (bind,) = kernel.binds
    return replace(kernel, binds=(replace(bind, soac=replace(bind.soac, before=(ir.Const(value, "float"),))),))


def expected_of(kernel: ir.Kernel, rows: list[list[float]], default: float) -> list[Any]:
    if kernel is PLACED:
        return [[greatest([default, *row]) for row in rows]]
    rows = [[*chain.from_iterable(rows)]] if kernel is WHOLE else rows
    found: list[Any] = []
    for fold, empty in ((greatest, -math.inf), (least, math.inf)):
        ends = [fold([empty, *row]) for row in rows]
        before = [fold([empty, *row[:at]]) for row in rows for at in range(len(row))]
        found = [*found[:len(found) // 2], ends if kernel is ROWS else ends[0], *found[len(found) // 2:], before]
    return found


def everywhere(kernel: ir.Kernel, arguments: list[Any]) -> dict[str, list[Any]]:
    program = program_of(kernel)
    found = {"loops": run_plan(kernel, arguments, 4)[0], "loops of a GPU": run_cuda(kernel, arguments, 1)[0]}
    cpu = cpu_device(program, 2)
    results = cpu.launch("K", [cpu.upload(BASES[a.dtype], a) if isinstance(a, np.ndarray) else a for a in arguments])
    found["cpu"] = [cpu.download(r).tolist() if isinstance(r, Array) else r for r in results]
    with np.errstate(all="ignore"):
        context = Context(program, EvaluationLimits(), Stats())
        values = run_kernel(kernel, [np.asarray(a)[()] for a in arguments], context)
    found["reference"] = [value.tolist() for value in values]
    if compiler.found():
        found["cudasim"] = launch(gpu_device(program, Cudasim(2, 1)), "K", arguments)[0]
    return found


@pytest.mark.sampled(quick=3, ci=2)
@EVERY_NAN
@pytest.mark.parametrize("kernel", [WHOLE, ROWS, PLACED], ids=["whole", "rows", "places"])
def test_kernels(kernel: ir.Kernel, nan: str) -> None:
    """Each order of a NaN and two others, and others alone: as rows, and one after another."""
    number = NANS[nan]
    rows = [list(order) for other in OTHERS for order in permutations((number, other, 1.5))]
    rows += [list(order) for order in permutations((-1.0, 0.0, 2.0))]
    rows = rows[-3:] + rows if kernel is WHOLE else rows
    xs = np.array([*chain.from_iterable(rows)])
    for default in (-math.inf, -4.0, 3.0, number) if kernel is PLACED else (-math.inf,):
        ran = with_default(kernel, default) if kernel is PLACED else kernel
        arguments = [len(xs), len(rows), np.arange(0, len(xs) + 1, 3), xs]
        expected = expected_of(kernel, rows, default)
        for executor, found in everywhere(ran, arguments).items():
            assert executors.agree(found, expected), (executor, default)


# Programs -----------------------------------------------------------------------------------------

PROGRAM = """
function main(m) : [[float]] -> ([float], ([float], ([[float]], ([[float]], [(float, float)])))) =
  ({max_val(r) : r in m}, ({min_val(r) : r in m}, ({max_scan(r) : r in m}, ({min_scan(r) : r in m},
   let xs = flatten(m) in {(max(x, y), min(x, y)) : x in xs; y in xs -> {#xs - 1 - i : i in [0:#xs]}}))));
"""


@pytest.mark.sampled(quick=4, ci=2)
@EVERY_NAN
def test_programs(nan: str) -> None:
    program = Compiled(PROGRAM)
    rows = [list(order) for other in OTHERS for order in permutations((NANS[nan], other, 1.5))]
    expected = executors.outcome(program, "interpreter", [rows])
    assert all(map(math.isnan, expected[0])) and all(map(math.isnan, expected[1][0]))
    for executor in ("reference ilp", "loops ilp", "cpu ilp", *(["cudasim ilp"] if compiler.found() else [])):
        assert executors.agree(executors.outcome(program, executor, [rows]), expected), executor
