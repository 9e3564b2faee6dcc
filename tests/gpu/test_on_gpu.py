"""Kernels and programs on a real GPU, where there is one: they give what the reference executor gives.

    NESSIE_TESTS=ci pytest tests/gpu                    on the first GPU; skipped, with the reason, where there is none
    NESSIE_TESTS=ci pytest tests/gpu --on cudasim       the same tests on the CPU: they differ in the device alone

Hard values and failures are in test_on_gpu_edges.py, recursion and arrays of other libraries in test_on_gpu_calls.py,
random programs in test_on_gpu_random.py. Of floats that a GPU's own exp and the like have computed the last bits may
differ, which is told apart from the rest.
"""
from __future__ import annotations

import io
import json
import math
import re
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import executors
import numpy as np
import pytest
import test_gpu
from built import cpu_device, gpu_code, gpu_device
from cuda_programs import EXAMPLES, SPACES, kernel_name, skeletons
from executors import Compiled, Failed
from gpu_programs import ENDLESS, PROGRAMS, on_gpu
from kernel_runs import BASES, Meaning, program_of
from paths import SUPPORT
from test_skeletons import CUDA, LENGTHS, cuda_kernel, numbers, segmented_kernel
from test_skeletons import CUDA_SEGMENTED as SEGMENTED

from nessie.base.source import Interrupted, NessieError, Source
from nessie.base.system.deadline import Deadline
from nessie.base.system.deep import run_deep, wait_for_left
from nessie.cudagen.cuda.device import Gpu
from nessie.cudagen.cuda.driver import Driver
from nessie.cudagen.host import host
from nessie.cudagen.host.device import NO_FAILURE, Array
from nessie.cudagen.skeletons.cuda import order
from nessie.cudagen.skeletons.cuda.small_order import FEW
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu.text.parser import parse_kernel
from nessie.pipeline import Job
from nessie.running.targets import Target
from nessie.running.world import World
from nessie.session.session import Session

TILE = 2048
SIZES = (0, 1, 31, 32, 33, 255, 256, 257, TILE - 1, TILE, TILE + 1, 2 * TILE - 1, 2 * TILE, 2 * TILE + 1, 20_000)
MANY = {"cuda": 5_000_000, "cudasim": 30_000}           # elements: more tiles than run at a time
ROUNDS = {"cuda": 20, "cudasim": 2}                     # of what shows mistakes now and then
LAST_BITS = 1e-12
NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e[-+]?\d+)?|-?inf|nan")
CASES = [json.loads(line)["source"] for line in
         (SUPPORT / "nesl_cases.jsonl").read_text("utf-8").splitlines()]


# Kernels ------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def device(new_driver: Callable[[], Driver]) -> Gpu:
    """With all skeletons."""
    return gpu_device(gpu_code(skeletons()), new_driver())


def agrees(device: Gpu, name: str, kernel: ir.Kernel, arguments: list[Any]) -> None:
    meaning = Meaning(kernel, arguments)
    results, failed = test_gpu.launch(device, kernel_name(name), arguments)
    assert failed == meaning.failed
    assert failed != NO_FAILURE or results == meaning.results


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("name", CUDA)
@pytest.mark.slow
def test_flat_kernels(device: Gpu, name: str, n: int) -> None:
    agrees(device, name, cuda_kernel(name), [n, numbers(n)])


def segments(lengths: list[int], space: str, *more: Any) -> list[Any]:
    n, m = sum(lengths), len(lengths)
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    return [n, m, numbers(n), numbers(m, 5), *(more if space != "irregular" else (offsets,))]


@pytest.mark.parametrize("lengths", [*LENGTHS, *test_gpu.LONG], ids=lambda lengths: f"{len(lengths)}x{sum(lengths)}")
@pytest.mark.parametrize("name", SEGMENTED)
@pytest.mark.slow
def test_irregular_segments(device: Gpu, name: str, lengths: list[int]) -> None:
    kernel = segmented_kernel(*SPACES["irregular"], SEGMENTED[name])
    agrees(device, f"irregular {name}", kernel, segments(lengths, "irregular"))


@pytest.mark.parametrize("count, length", [(0, 3), (3, 0), (2, 7), (40, 90), (1, TILE), (3, TILE), (TILE + 52, 1)])
@pytest.mark.parametrize("name", SEGMENTED)
@pytest.mark.slow
def test_uniform_segments(device: Gpu, name: str, count: int, length: int) -> None:
    kernel = segmented_kernel(*SPACES["uniform"], SEGMENTED[name])
    agrees(device, f"uniform {name}", kernel, segments([length] * count, "uniform", length))


@pytest.mark.parametrize("count, slope, more", [(0, 1, 0), (70, 1, 0), (4, -1, 3), (2, -40, 70)])
@pytest.mark.parametrize("name", SEGMENTED)
@pytest.mark.slow
def test_triangles(device: Gpu, name: str, count: int, slope: int, more: int) -> None:
    kernel = segmented_kernel(*SPACES["affine"], SEGMENTED[name])
    agrees(device, f"affine {name}", kernel, segments([slope * s + more for s in range(count)], "affine", slope, more))


def found_by(device: Any, kernel: str, arguments: list[Any]) -> tuple[list[Any], bool]:
    """Results, arrays as NumPy's, and whether a check has failed."""
    device.begin(None)
    given = [device.upload(BASES[a.dtype], a) if isinstance(a, np.ndarray) else a for a in arguments]
    results = device.launch(kernel, given)
    failed = device.failure() != NO_FAILURE
    values = [device.download(r) if isinstance(r, Array) else r for r in results]
    for array in {id(a): a for a in (*given, *results) if isinstance(a, Array)}.values():
        device.free(array)
    return values, failed


def lengths_of(kind: str, n: int) -> list[int]:
    """Of segments that have about n elements, or ends, together."""
    if kind == "mixed":
        lengths = np.random.default_rng(n).geometric(0.01, n // 100) - 1
        lengths[len(lengths) // 2] += n // 3            # one of very many tiles
        return [int(length) for length in lengths]
    return {"one": [n], "none": [0] * n, "one among empty ones": [*[0] * (n // 3), n // 3, *[0] * (n // 3)]}[kind]


MANY_TILES = [*((name, "flat") for name in CUDA),
              *((f"irregular {name}", kind) for name in SEGMENTED
                for kind in ("mixed", "one", "none", "one among empty ones"))]


@pytest.mark.parametrize("name, kind", MANY_TILES)
@pytest.mark.slow
def test_many_tiles(device: Gpu, on: str, name: str, kind: str) -> None:
    """More than run at a time, several times over; compared with the target cpu, as the reference is too slow."""
    n = MANY[on]
    if kind == "flat":
        kernel, arguments = cuda_kernel(name), [n, numbers(n)]
    else:
        kernel = segmented_kernel(*SPACES["irregular"], SEGMENTED[name.removeprefix("irregular ")])
        arguments = segments(lengths_of(kind, n), "irregular")
    expected, fails = found_by(cpu_device(program_of(kernel), 2), kernel.name, arguments)
    for _ in range(ROUNDS[on]):
        found, failed = found_by(device, kernel_name(name), arguments)
        assert failed == fails
        if not fails:
            for ours, theirs in zip(found, expected, strict=True):
                np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("n", [0, 1, FEW, FEW + 1, order.TILE, 3 * order.TILE + 5])
@pytest.mark.parametrize("wanted", ["", " values"])
@pytest.mark.parametrize("descending", ["", " descending"])
@pytest.mark.parametrize("base", test_gpu.NUMBERS)
@pytest.mark.slow
def test_orders(new_driver: Callable[[], Driver], base: str, descending: str, wanted: str, n: int) -> None:
    kernels = [parse_kernel(f"""kernel K (n : int, xs : [{base}; n]) {{
        let os = ORDER {{ i => xs[i] using xs }} (n){descending}{more}
        return os }}""") for more in ("", wanted)]
    given = [n, np.random.default_rng(n).choice(test_gpu.NUMBERS[base], n)]
    results, _ = test_gpu.launch(gpu_device(program_of(kernels[1]), new_driver()), "K", given)
    expected = np.array(Meaning(kernels[0], given).results[0], np.int64)
    if wanted:
        ours = np.array([ord(x) for x in results[0]] if base == "char" else results[0], given[1].dtype)
        assert repr(ours.tolist()) == repr(given[1][expected].tolist())             # zeros have signs
    else:
        assert results == [expected.tolist()]


# Programs -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("fuse", ["ilp", "none"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(new_driver: Callable[[], Driver], name: str, fuse: str) -> None:
    source, cases = PROGRAMS[name]
    program = Compiled(source, target="cuda")
    program.devices[f"gpu {fuse}"] = gpu_device(program.executable(fuse), new_driver())
    for arguments in cases:
        found = executors.outcome(program, f"gpu {fuse}", arguments)
        assert executors.agree(found, executors.outcome(program, f"reference {fuse}", arguments)), (arguments, found)


def told(target: str, source: Source) -> str:
    """What `nessie run` prints of the program."""
    printed: list[str] = []
    world = World(printed.append, False, 0, io.StringIO(""))
    session = Session(Target(target, world=world), Job(target=target, strict=False))
    for outcome in session.run(source):
        printed.append(f"{outcome}\n")
    return "".join(printed)


def alike(found: str, expected: str) -> bool:
    """Equal, save for the last bits of floats."""
    if NUMBER.sub("#", found) != NUMBER.sub("#", expected):
        return False
    return all(a == b or ("." in a + b and math.isclose(float(a), float(b), rel_tol=LAST_BITS, abs_tol=LAST_BITS))
               for a, b in zip(NUMBER.findall(found), NUMBER.findall(expected), strict=True))


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.nesl")), ids=lambda path: path.stem)
@pytest.mark.slow
def test_examples(on: str, path: Path) -> None:
    found = told(on, Source(path.name, path.read_text("utf-8")))
    assert alike(found, path.with_suffix(".expected").read_text("utf-8"))


@pytest.mark.parametrize("source", CASES)
@pytest.mark.slow
def test_recorded_cases(on: str, source: str) -> None:
    case = Source("case", source)
    found, expected = told(on, case), told("reference", case)
    assert alike(found, expected), (found, expected)


# What a run may meet ------------------------------------------------------------------------------


def test_a_check_that_fails_is_told(new_driver: Callable[[], Driver]) -> None:
    program = Compiled(PROGRAMS["division by zero"][0])
    program.devices["gpu ilp"] = gpu_device(program.executable("ilp"), new_driver())
    found = executors.outcome(program, "gpu ilp", [[5] * 270 + [3] * 5])
    assert isinstance(found, Failed) and found.told is not None and "element 270" in found.told[0][1]


def test_kernels_without_end_are_interrupted(new_driver: Callable[[], Driver]) -> None:
    program = Compiled(ENDLESS)
    device = gpu_device(program.executable("ilp"), new_driver())
    assert on_gpu(program, device, [[0, -4]]) == [0, 0]
    with pytest.raises(NessieError, match=r"it took longer than 0\.5 s"):
        run_deep(lambda: on_gpu(program, device, [[1] * 600]), Deadline(0.5, ""))
    wait_for_left()                     # it ends soon, and has the device till then
    with pytest.raises(NessieError, match="recursion is deeper than 100,000 calls"):
        on_gpu(program, device, [[1] * 600], host.HostLimits(depth=100))
    timer = threading.Timer(0.5, device.interrupt)
    timer.start()
    with pytest.raises(Interrupted):
        on_gpu(program, device, [[1] * 600])
    timer.join()
    assert on_gpu(program, device, [[-2]]) == [0]
    assert device.used() == 0


def test_full_memory_is_told(new_driver: Callable[[], Driver]) -> None:
    program = Compiled("function main(n) : int -> [int] = {i * i : i in [0:n]};")
    device = gpu_device(program.executable("ilp"), new_driver())
    with pytest.raises(NessieError, match=r"out of memory: .* of 1,000,000 are in use"):
        on_gpu(program, device, [10**6], host.HostLimits(memory=10**6))
    assert on_gpu(program, device, [300]) == [i * i for i in range(300)] and device.used() == 0
