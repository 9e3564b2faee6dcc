"""What the GPU's threads do to each other's memory, watched by sanitizers: skeletons have no races and no access
outside an array, and each of their barriers and ordered accesses is needed.

To ThreadSanitizer each thread of a block is one. Barriers order their accesses, and a store that releases what a load
acquires; atomics and shuffles do not, as in CUDA.
"""
from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from built import gpu_code
from kernel_runs import program_of
from sanitizers import RACES, Watched, watched
from taped import Kernels, planted, tape
from test_skeletons import SEGMENTED as WALKS_OF_SEGMENTS
from test_skeletons import cuda_kernel, numbers, segmented_kernel

from nessie.cudagen import generate
from nessie.cudagen.cuda.cudasim import compiler
from nessie.cudagen.skeletons.cuda import look_back as cuda_look_back
from nessie.lambda_cu.text.parser import parse_kernel

pytestmark = pytest.mark.skipif(not compiler.found(), reason="there is no C++ compiler")

RUN, GROUP = 4, 2                       # items a thread, and tiles a group: small, so that there are several
LENGTH = 5000                           # of flat walks: five tiles
LENGTHS = [1, 0, 5200, 3, 0, 0, 1050, 2, *[7] * 100, 0]        # four tiles have no segment's end
FLAT = ("map", "map and its sum", "ordered reduce", "scan", "filter", "partition", "permute last", "permute max",
        "permute max of other types", "scatter survivors", "filter, then map, sum and rank", "errors", "order")
FEW = "order of few"                    # which one block sorts
VALUES = "order of values"
SEGMENTED = ("row sums", "segmented scan", "segmented filter", "prologue, epilogue, sums of all", "order")
CASES = [*FLAT, FEW, VALUES, *(f"segments: {name}" for name in SEGMENTED)]
QUICK = ("segments: segmented filter",)
SEEDS = (1, 2, 3)


def cases(quick: tuple[str, ...] = QUICK, ci: int = 8) -> Any:
    others = pytest.mark.sampled(quick=0, ci=ci)
    return pytest.mark.parametrize("case", [pytest.param(c, marks=() if c in quick else others) for c in CASES])


@pytest.fixture(scope="module")
def kernels(running: set[tuple[str, ...]]) -> Kernels:
    offsets = np.concatenate([[0], np.cumsum(LENGTHS)]).astype(np.int64)
    n, m = sum(LENGTHS), len(LENGTHS)
    irregular = ("offs0 : [int; m+1]", "irregular(offs0, m, n)")
    made = {name: (cuda_kernel(name), [LENGTH, numbers(LENGTH)]) for name in FLAT}
    made[FEW] = (cuda_kernel("order"), [700, numbers(700)])
    made[VALUES] = (parse_kernel("""kernel K (n : int, xs : [int; n]) {
        let ys = ORDER { i => xs[i] using xs } (n) values
        return ys }"""), [LENGTH, numbers(LENGTH)])
    made |= {f"segments: {name}": (segmented_kernel(*irregular, WALKS_OF_SEGMENTS[name]),
                                   [n, m, numbers(n), numbers(m, 5), offsets]) for name in SEGMENTED}
    made = {case: of for case, of in made.items() if (case,) in running}
    named = {case: f"K{at}" for at, case in enumerate(made)}
    program = program_of(cuda_kernel("map"))
    with pytest.MonkeyPatch.context() as small:
        small.setattr(cuda_look_back, "GROUP", GROUP)
        small.setattr(generate, "RUN", RUN)
        built = gpu_code(replace(program, kernels=tuple(replace(made[c][0], name=named[c]) for c in made)))
    text, mistakes = planted(built.text)
    return Kernels(text, tuple(built.formats), mistakes, {c: tape(built, named[c], made[c][1]) for c in made})


# What orders accesses -----------------------------------------------------------------------------


DIALECT = """
extern "C" __global__ void barrier(long long *xs) {
  xs[threadIdx.x] = threadIdx.x;
  __syncthreads();
  xs[256 + threadIdx.x] = xs[255 - threadIdx.x];
}
extern "C" __global__ void two_writes(long long *xs) { xs[threadIdx.x / 2] = 1; }
extern "C" __global__ void warp(long long *xs) {
  xs[threadIdx.x] = threadIdx.x;
  __syncwarp();
  xs[256 + threadIdx.x] = xs[threadIdx.x ^ 1];
}
extern "C" __global__ void half_warps(long long *xs) {
  xs[threadIdx.x] = threadIdx.x;
  __syncwarp(threadIdx.x % 32 < 16 ? 0x0000ffffu : 0xffff0000u);
  xs[256 + threadIdx.x] = xs[threadIdx.x ^ 16];
}
extern "C" __global__ void shuffle(long long *xs) {
  xs[threadIdx.x] = threadIdx.x;
  const int other = __shfl_xor_sync(0xffffffffu, (int)threadIdx.x, 1);
  xs[256 + threadIdx.x] = xs[other];
}
extern "C" __global__ void atomic(long long *xs) {
  if (threadIdx.x == 0 && blockIdx.x == 0) {
    xs[0] = 1;
    atomicExch((unsigned long long *)&xs[1], 1ULL);
  }
  if (threadIdx.x == 0 && blockIdx.x == 1) {
    while (atomicAdd((unsigned long long *)&xs[1], 0ULL) != 1ULL) {
    }
    xs[2] = xs[0];
  }
}
extern "C" __global__ void earlier_blocks(long long *xs) { xs[threadIdx.x] = blockIdx.x; }
"""
ORDERED = {"barrier": True, "two_writes": False, "warp": True, "half_warps": False, "shuffle": False, "atomic": False,
           "earlier_blocks": False}


@pytest.fixture(scope="module")
def dialect(tmp_path_factory: pytest.TempPathFactory) -> Watched:
    return watched(RACES, DIALECT, tuple(ORDERED), tmp_path_factory.mktemp("dialect"))


@pytest.mark.sampled(quick=3)
@pytest.mark.parametrize("name", ORDERED)
def test_what_orders_accesses(dialect: Watched, name: str) -> None:
    blocks = 2 if name in ("atomic", "earlier_blocks") else 1
    zeros = bytes(8).hex()
    once = f"write 1 .{zeros * 512}\nlaunch {name} {blocks} 1 1 256 1 1 .{zeros} 1 0 1 0\n"
    found = dialect.replay(f"take 1 4096\n{once}{once}", 1)            # launches are ordered
    assert found == "" if ORDERED[name] else "data race" in found


# Skeletons ----------------------------------------------------------------------------------------


@cases()
def test_no_races(threads: Watched, kernels: Kernels, case: str) -> None:
    assert kernels.races(threads, case, SEEDS if case not in QUICK else SEEDS[:2]) == []


@cases(quick=("map and its sum",), ci=0)
def test_every_barrier_and_every_order_is_needed(threads: Watched, kernels: Kernels, case: str) -> None:
    assert kernels.unnoticed(threads, case) == []


@cases()
def test_no_access_outside_arrays_and_nothing_undefined(addresses: Watched, kernels: Kernels, case: str) -> None:
    assert kernels.wrong_accesses(addresses, case) == ""
