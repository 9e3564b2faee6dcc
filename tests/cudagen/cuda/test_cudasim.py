"""cudasim's dialect: what CUDA's threads may do to each other works, and what they may not do is told."""
from __future__ import annotations

import os
import shlex
import struct
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from paths import PYTHONPATH
from processes import finished
from test_cuda_text import complaint

from nessie.base.source import InternalError, NessieError
from nessie.base.system import disk_cache as cache
from nessie.cudagen.cuda.cudasim import compiler
from nessie.cudagen.cuda.cudasim.driver import Cudasim, KernelError, seed_of_user

pytestmark = pytest.mark.skipif(not compiler.found(), reason="there is no C++ compiler")
SEEDS = pytest.mark.parametrize("seed", [0, 1, 2])
FULL = 0xffffffff

TEXT = """
extern "C" __global__ void reverse(const long long *__restrict__ in, long long *__restrict__ out) {
  __shared__ long long tile[256];
  const int i = (int)threadIdx.x, last = (int)blockDim.x - 1;
  tile[i] = in[blockIdx.x * blockDim.x + i];
  __syncthreads();
  out[blockIdx.x * blockDim.x + i] = tile[last - i];
}

extern "C" __global__ void no_barrier(const long long *__restrict__ in, long long *__restrict__ out) {
  __shared__ long long tile[256];
  tile[threadIdx.x] = in[threadIdx.x];
  out[threadIdx.x] = tile[blockDim.x - 1 - threadIdx.x];
}

extern "C" __global__ void lanes(long long *__restrict__ out) {
  const long long i = threadIdx.x;
  long long *mine = out + 8 * i;
  const double half = i + 0.5;
  mine[0] = __shfl_down_sync(0xffffffffu, i, 3);
  mine[1] = __shfl_up_sync(0xffffffffu, i, 3);
  mine[2] = __shfl_sync(0xffffffffu, (int)i, 7);
  mine[3] = __shfl_xor_sync(0xffffffffu, i, 1);
  mine[4] = (long long)(2 * __shfl_down_sync(0xffffffffu, half, 1, 8));
  mine[5] = __ballot_sync(0xffffffffu, i % 3 == 0);
  if (i % 32 < 16) {
    mine[6] = __shfl_up_sync(0x0000ffffu, i, 1);
    __syncwarp(0x0000ffffu);
  } else {
    mine[6] = __shfl_down_sync(0xffff0000u, i, 1);
  }
  mine[7] = 2 * __any_sync(0xffffffffu, i == 40) + __all_sync(0xffffffffu, i < 32);
}

extern "C" __global__ void atomics(int *ints, long long *longs, unsigned long long *words, double *doubles) {
  const long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
  atomicAdd(&ints[0], 1);
  atomicAdd(&words[0], (unsigned long long)-1LL);
  atomicAdd(&doubles[0], 0.5);
  atomicMin(&longs[0], -i);
  atomicMax(&longs[1], i);
  atomicMax(&ints[1], (int)i);
  atomicExch(&ints[2], 7);
  while (atomicCAS(&words[1], 0ULL, 1ULL) != 0ULL) {
  }
  __threadfence();
  words[2] = words[2] + 1;
  __threadfence();
  atomicExch(&words[1], 0ULL);
}

extern "C" __global__ void after_another(const long long *tickets, long long *drawn, long long *out) {
  __shared__ unsigned long long ticket[1];
  if (threadIdx.x == 0) {
    ticket[0] = atomicAdd((unsigned long long *)drawn, 1ULL);
  }
  __syncthreads();
  const long long before = (long long)ticket[0];
  if (threadIdx.x == 0) {
    while (before > 0 && ((const volatile long long *)out)[before - 1] == 0) {
      __nanosleep(20);
    }
    out[before] = before == 0 ? 1 : out[before - 1] + 1;
    __threadfence();
  }
}

extern "C" __global__ void some_barrier(int count) {
  if (threadIdx.x < count) {
    __syncthreads();
  }
}
extern "C" __global__ void two_barriers(int count) {
  if (threadIdx.x < count) {
    __syncthreads();
  } else {
    __syncthreads();
  }
}
extern "C" __global__ void ended_lane(int count) {
  if (threadIdx.x < count) {
    __shfl_down_sync(0xffffffffu, count, 1);
  }
}
extern "C" __global__ void other_lane(int count) {
  if (threadIdx.x < count) {
    __shfl_down_sync(0xffffffffu, count, 1);
  } else {
    __syncthreads();
  }
}
extern "C" __global__ void two_shuffles(int count) {
  if (threadIdx.x < count) {
    __shfl_down_sync(0xffffffffu, count, 1);
  } else {
    __shfl_up_sync(0xffffffffu, count, 1);
  }
}
extern "C" __global__ void own_lane(int count) {
  if (threadIdx.x < count) {
    __ballot_sync(0x0000ff00u, 1);
  }
}
extern "C" __global__ void absent_lane(int count) {
  if (threadIdx.x < count) {
    __shfl_sync(0x0000000fu, count, 9);
  }
}
extern "C" __global__ void endless(const long long *flag) {
  while (flag[0] == 0) {
  }
}
"""
NAMES = ("reverse", "no_barrier", "lanes", "atomics", "after_another", "some_barrier", "two_barriers", "ended_lane",
         "other_lane", "two_shuffles", "own_lane", "absent_lane", "endless")


@pytest.fixture(autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.getbasetemp() / "cache"))


def launch(name: str, *arguments: Any, blocks: int = 1, threads: int = 256, seed: int = 1, os_threads: int = 1) -> None:
    """A kernel of the text; arrays go by their addresses, numbers are ints of CUDA."""
    driver = Cudasim(os_threads, seed)
    given = [a.ctypes.data if isinstance(a, np.ndarray) else a for a in arguments]
    packed = struct.pack("@" + "".join("P" if isinstance(a, np.ndarray) else "i" for a in arguments), *given)
    driver.launch(driver.load(TEXT, NAMES)[name], blocks, packed, threads)


# What threads do together -------------------------------------------------------------------------


@SEEDS
def test_barriers_and_shared_memory(seed: int) -> None:
    given = np.arange(5 * 256)
    out = np.zeros_like(given)
    launch("reverse", given, out, blocks=5, seed=seed, os_threads=2)
    np.testing.assert_array_equal(out, given.reshape(5, 256)[:, ::-1].ravel())


def test_a_cuda_compiler_takes_the_text_as_well() -> None:
    assert complaint(TEXT) == ""


def test_a_missing_barrier_shows_and_a_seed_shows_it_again() -> None:
    def run(seed: int) -> list[int]:
        out = np.zeros(256, np.int64)
        launch("no_barrier", np.arange(1, 257), out, seed=seed)
        return list(out)

    assert run(1) != list(range(256, 0, -1))
    assert run(1) == run(1) != run(2)


@SEEDS
def test_shuffles_and_votes(seed: int) -> None:
    out = np.zeros((64, 8), np.int64)
    launch("lanes", out, threads=64, seed=seed)
    for i, found in enumerate(out.tolist()):
        lane, warp = i % 32, i // 32 * 32
        assert found == [
            i + 3 if lane < 29 else i, i - 3 if lane >= 3 else i, warp + 7, i ^ 1, 2 * i + (3 if lane % 8 < 7 else 1),
            sum(1 << k for k in range(32) if (warp + k) % 3 == 0),
            i - (0 < lane < 16) + (16 <= lane < 31), 2 * (warp == 32) + (warp == 0)], i


@SEEDS
def test_atomics(seed: int) -> None:
    ints, longs = np.array([0, 0, 0], np.int32), np.array([0, 0])
    words, doubles = np.array([4 * 64, 0, 0], np.uint64), np.zeros(1)
    launch("atomics", ints, longs, words, doubles, blocks=4, threads=64, seed=seed, os_threads=2)
    assert ints.tolist() == [256, 255, 7] and longs.tolist() == [-255, 255]
    assert words.tolist() == [0, 0, 256] and doubles[0] == 128.0


@SEEDS
@pytest.mark.parametrize("os_threads", [1, 2])
def test_blocks_wait_for_blocks_that_started_before(seed: int, os_threads: int) -> None:
    out, drawn = np.zeros(50, np.int64), np.zeros(1, np.int64)
    launch("after_another", drawn, drawn, out, blocks=50, threads=32, seed=seed, os_threads=os_threads)
    assert out.tolist() == list(range(1, 51))


# What they may not do -----------------------------------------------------------------------------


def line_of(name: str, call: str) -> int:
    """The line of the first such call in the kernel."""
    lines = TEXT.splitlines()
    start = next(at for at, line in enumerate(lines) if f"void {name}(" in line)
    return next(at for at in range(start, len(lines)) if call in lines[at]) + 1


@SEEDS
@pytest.mark.parametrize("name, says", [
    ("some_barrier", "__syncthreads (line {__syncthreads}) is reached by 40 of the block's 64 threads; thread 63 has "),
    ("two_barriers", "__syncthreads (line "),
    ("ended_lane", "__shfl_down_sync (line {__shfl_down_sync}) waits for thread 63, which has ended"),
    ("other_lane", "waits for thread 63, which waits in __syncthreads (line {__syncthreads})"),
    ("two_shuffles", " meets __shfl_"),
    ("own_lane", "__ballot_sync (line {__ballot_sync}) is called with the mask 0000ff00, which leaves out its own"),
    ("absent_lane", "__shfl_sync (line {__shfl_sync}) reads lane 9, which takes no part"),
])
def test_what_is_undefined_is_an_error(name: str, says: str, seed: int) -> None:
    with pytest.raises(KernelError) as error:
        launch(name, 4 if name == "absent_lane" else 40, threads=64, seed=seed)
    calls = ("__syncthreads", "__shfl_down_sync", "__shfl_sync", "__ballot_sync")
    wanted = says.format(**{c: line_of(name, c) for c in calls if f"{{{c}}}" in says})
    assert str(error.value).startswith(f"{name}, block 0, thread ") and wanted in str(error.value)


def test_a_kernel_without_end_is_interrupted() -> None:
    driver = Cudasim(2, 1)
    flag = np.zeros(1, np.int64)
    timer = threading.Timer(0.1, driver.interrupt.__setitem__, (0, 1))
    timer.start()
    driver.launch(driver.load(TEXT, NAMES)["endless"], 3, struct.pack("@P", flag.ctypes.data))
    timer.join()


# The compiler -------------------------------------------------------------------------------------


ONE = 'extern "C" __global__ void one(long long *out) { out[0] = %d; }'


def one(number: int) -> int:
    out = np.zeros(1, np.int64)
    driver = Cudasim(1, 0)
    driver.launch(driver.load(ONE % number, ["one"])["one"], 1, struct.pack("@P", out.ctypes.data), 1)
    return int(out[0])


def test_libraries_are_kept_and_made_again_where_damaged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    built: list[str] = []
    build = compiler.build
    monkeypatch.setattr(compiler, "build", lambda *given: built.append(given[1]) or build(*given))      # type: ignore[func-returns-value]
    compiler.runtime()
    built.clear()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    cache.cache_folder.cache_clear()
    found = []
    for damage in (False, False, True):
        if damage:
            (entry,) = (tmp_path / "nessie").iterdir()
            entry.write_bytes(entry.read_bytes()[:-1])
        compiler.kernels.cache_clear()
        found.append((one(5), len(built)))
    assert found == [(5, 1), (5, 1), (5, 2)]


def test_a_missing_compiler_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CXX", "no-such-compiler -O1")
    with pytest.raises(NessieError, match="CXX names no-such-compiler, which is not there") as error:
        compiler.compiler()
    assert "install g++ or clang++" in error.value.hint
    monkeypatch.delenv("CXX")
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(NessieError, match="cudasim needs a C\\+\\+ compiler, and there is none of"):
        compiler.compiler()


def test_a_text_that_is_not_cuda_is_refused() -> None:
    compiler.runtime()
    with pytest.raises(InternalError, match="refuses the kernels"):
        Cudasim(1, 0).load('extern "C" __global__ void one(long long *out) { atomicAdd(out, 1LL); }', ["one"])


def test_contexts_without_assembly(tmp_path: Path) -> None:
    """The runtime that processors get for which there is no assembly; a process has one, so this is another process."""
    command = shlex.join([*compiler.compiler(), "-DCUDASIM_UCONTEXT"])
    environment = {**os.environ, "CXX": command, "XDG_CACHE_HOME": str(tmp_path), "PYTHONPATH": PYTHONPATH}
    run = "import test_cudasim as t; t.test_barriers_and_shared_memory(1); t.test_shuffles_and_votes(2)"
    finished([sys.executable, "-c", run], env=environment, check=True)


def test_the_seed_is_a_whole_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NESSIE_CUDASIM_SEED", "17")
    assert seed_of_user() == 17
    for wrong in ("one", "-3", "1.5", "", "\u0662", str(2**64)):
        monkeypatch.setenv("NESSIE_CUDASIM_SEED", wrong)
        with pytest.raises(NessieError, match=f"NESSIE_CUDASIM_SEED is '{wrong}', not a whole number from 0 to"):
            seed_of_user()
