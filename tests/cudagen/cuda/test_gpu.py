"""The GPU's device over cudasim: flat kernels do what they mean, in any order of threads; memory; errors."""
from __future__ import annotations

import re
import threading
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import executors
import numpy as np
import pytest
from built import gpu_code, gpu_device
from cuda_programs import SPACES
from executors import Compiled, Failed
from gpu_programs import ENDLESS, PROGRAMS, on_gpu
from kernel_runs import Meaning, program_of
from test_skeletons import CUDA, LENGTHS, cuda_kernel, numbers, segmented_kernel
from test_skeletons import CUDA_SEGMENTED as SEGMENTED

from nessie.base.source import Interrupted, NessieError
from nessie.base.system.deadline import Deadline
from nessie.base.system.deep import run_deep
from nessie.base.values import DTYPES
from nessie.cudagen.cuda.cudasim import compiler
from nessie.cudagen.cuda.cudasim.driver import Cudasim
from nessie.cudagen.cuda.device import Gpu
from nessie.cudagen.cuda.link import GpuProgram
from nessie.cudagen.host import host
from nessie.cudagen.host.device import INDEX_BITS, MOST_ROUNDS, NO_FAILURE, STOPPED, Array, OutOfMemory
from nessie.cudagen.host.translate import translate
from nessie.cudagen.loops import nodes as loops
from nessie.cudagen.loops.plan import THREADS, ArrayResult, Buffer, Input, Phase, Plan, ScalarResult
from nessie.lambda_cu.text.parser import parse_kernel
from nessie.running.targets import Target
from nessie.tool.cli import main

pytestmark = pytest.mark.skipif(not compiler.found(), reason="there is no C++ compiler")
BASES = {dtype: base for base, dtype in DTYPES.items()}
SEEDS = pytest.mark.parametrize("seed", [0, 1, 2])


@pytest.fixture(autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.getbasetemp() / "cache"))


# Kernels ------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def built() -> Iterator[GpuProgram]:
    kernels = tuple(replace(cuda_kernel(name), name=f"K{at}") for at, name in enumerate(CUDA))
    yield gpu_code(replace(program_of(kernels[0]), kernels=kernels))


def launch(device: Gpu, kernel: str, arguments: Sequence[Any]) -> tuple[list[Any], int]:
    """Plain results and the error word; what the launch took is free again."""
    device.begin(None)
    given = [device.upload(BASES[a.dtype], a) if isinstance(a, np.ndarray) else a for a in arguments]
    results = []
    found = device.launch(kernel, given)
    for result in found:
        if isinstance(result, Array):
            values = device.download(result)
            results.append([chr(c) for c in values] if result.base == "char" else values.tolist())
        else:
            results.append(result)
    for array in {id(a): a for a in (*given, *found) if isinstance(a, Array)}.values():
        device.free(array)
    assert device.used() == 0
    return results, device.failure()


@pytest.mark.sampled(quick=6)
@SEEDS
@pytest.mark.parametrize("n", [0, 1, 255, 256, 257, 2047, 2048, 2049, 5000])
@pytest.mark.parametrize("name", CUDA)
def test_flat_kernels(built: GpuProgram, name: str, n: int, seed: int) -> None:
    meaning = Meaning(cuda_kernel(name), [n, numbers(n)])
    results, failed = launch(gpu_device(built, Cudasim(2, seed)), f"K{CUDA.index(name)}", [n, numbers(n)])
    assert failed == meaning.failed
    assert failed != NO_FAILURE or results == meaning.results


LONG = [[3000], [0] * 2100, [1, 0, 2500, 3, 0, 0, 2700, 2], [2] * 1500, [257] * 9, [0, 4096, 0]]


@pytest.fixture(scope="module")
def segmented() -> Iterator[GpuProgram]:
    kernels = tuple(replace(segmented_kernel(*SPACES[space], SEGMENTED[name]), name=f"{space}{at}")
                    for space in SPACES for at, name in enumerate(SEGMENTED))
    yield gpu_code(replace(program_of(kernels[0]), kernels=kernels))


def walks_segments(built: GpuProgram, name: str, space: str, lengths: Sequence[int], seed: int, *more: Any) -> None:
    kernel = segmented_kernel(*SPACES[space], SEGMENTED[name])
    arguments = [sum(lengths), len(lengths), numbers(sum(lengths)), numbers(len(lengths), 5), *more]
    meaning = Meaning(kernel, arguments)
    results, failed = launch(gpu_device(built, Cudasim(2, seed)), f"{space}{[*SEGMENTED].index(name)}", arguments)
    assert failed == meaning.failed
    assert failed != NO_FAILURE or results == meaning.results


@pytest.mark.sampled(quick=12, ci=3)
@pytest.mark.parametrize("lengths", [*LENGTHS, *LONG], ids=lambda lengths: f"{len(lengths)}x{sum(lengths)}")
@pytest.mark.parametrize("name", SEGMENTED)
def test_irregular_segments(segmented: GpuProgram, name: str, lengths: list[int]) -> None:
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    walks_segments(segmented, name, "irregular", lengths, len(lengths) % 3, offsets)


@pytest.mark.sampled(quick=3, ci=2)
@pytest.mark.parametrize("segments, length", [(0, 3), (3, 0), (2, 7), (40, 90), (1, 2048), (2100, 1)])
@pytest.mark.parametrize("name", SEGMENTED)
def test_uniform_segments(segmented: GpuProgram, name: str, segments: int, length: int) -> None:
    walks_segments(segmented, name, "uniform", [length] * segments, segments % 3, length)


@pytest.mark.parametrize("segments, slope, more", [(0, 1, 0), (70, 1, 0), (4, -1, 3), (2, -40, 70)])
@pytest.mark.parametrize("name", SEGMENTED)
def test_triangles(segmented: GpuProgram, name: str, segments: int, slope: int, more: int) -> None:
    lengths = [slope * s + more for s in range(segments)]
    walks_segments(segmented, name, "affine", lengths, segments % 3, slope, more)


NUMBERS = {
    "int": np.array([3, -1, 2**63 - 1, -2**63, 0, 3, -1]), "bool": np.array([True, False, True, False]),
    "float": np.array([0.5, -0.0, np.nan, 0.0, -np.inf, np.inf, -1e-310, -np.nan, 2.0, -3.5]),
    "char": np.array([98, 97, 0x1f600, 98], np.int32)}


@pytest.mark.parametrize("descending", ["", " descending"])
@pytest.mark.parametrize("base", NUMBERS)
def test_orders(base: str, descending: str) -> None:
    kernel = parse_kernel(f"""kernel K (n : int, xs : [{base}; n]) {{
        let os = ORDER {{ i => xs[i] using xs }} (n){descending}
        return os }}""")
    given = [len(NUMBERS[base]), NUMBERS[base]]
    results, _ = launch(gpu_device(program_of(kernel), Cudasim(2, 1)), "K", given)
    assert results == Meaning(kernel, given).results


COUNTED = """
kernel K (n : int, xs : [int; n]) {
  let (k, ys) = FILTER { i => xs[i] using xs } { i => xs[i] > 0 using xs } (n)
  return (k, ys)
}"""


MOST = 20


def counting_program() -> GpuProgram:
    """A plan that a skeleton for FILTER might make: the result's buffer is as long as it can be, then its length is in
    a cell; another phase has as many blocks as that cell says."""
    text = """
extern "C" __global__ void count(long long n, const long long *xs, long long *ys, long long *cells) {
  if (threadIdx.x == 0) {
    long long found = 0;
    for (long long i = 0; i < n; i++)
      if (xs[i] > 0) ys[found++] = xs[i];
    cells[0] = found;
    cells[1] = 0;
  }
}
extern "C" __global__ void blocks(long long *cells, long long *seen) {
  if (threadIdx.x == 0) atomicAdd((unsigned long long *)&cells[1], (unsigned long long)(seen[0] + gridDim.x));
}"""
    k = loops.Load("cells", loops.Const(0, "int"))
    blocks = loops.Op("min", (k, loops.Const(MOST, "int")))
    n, xs, ys, cells, seen = map(loops.Name, ("n", "xs", "ys", "cells", "seen"))
    phases = (Phase("count", (n, xs, ys, cells), None, (Buffer("ys", "int", n),)),
              Phase("blocks", (cells, seen), blocks, (Buffer("seen", "int", loops.Op("+", (k, k)), 7),)))
    plan = Plan("K", (Input("n", "int"), Input("xs", "int", n)), phases,
                (ScalarResult("k", 1, "int"), ArrayResult("ys", k)), 2, k)
    program = program_of(parse_kernel(COUNTED))
    return GpuProgram(program, translate(program), (plan,), text, {"count": "qPPP", "blocks": "PP"}, frozenset())


@pytest.mark.parametrize("n, kept, shrinks", [(0, 0, False), (10, 0, False), (10, 3, False), (300_000, 9, True),
                                              (300_000, 200_000, False)])
def test_lengths_that_are_known_afterwards(n: int, kept: int, shrinks: bool) -> None:
    device = gpu_device(counting_program(), Cudasim(1, 1))
    values = np.arange(n)
    values[kept:] *= -1
    values[:kept] += 1
    count, ys = device.launch("K", [n, device.upload("int", values)])
    blocks = min(kept, MOST)
    assert count == blocks * (7 + blocks)
    np.testing.assert_array_equal(device.download(ys), values[:kept])
    assert (ys.buffer.size < n * 8 // 2) == shrinks


class Watched(Cudasim):
    """Counts what makes the host wait."""

    def __init__(self) -> None:
        super().__init__(1, 1)
        self.waited: list[str] = []
        self.written: list[int] = []                # addresses

    def read(self, address: int, values: Any) -> None:
        self.waited.append("read")
        super().read(address, values)

    def synchronise(self) -> None:
        self.waited.append("synchronise")
        super().synchronise()

    def write(self, address: int, values: Any) -> None:
        self.written.append(address)
        super().write(address, values)


@pytest.mark.parametrize("name, waits", [("map", []), ("reduce", ["read"]), ("errors", ["read"])])
def test_the_host_waits_only_for_what_it_needs(built: GpuProgram, name: str, waits: list[str]) -> None:
    driver = Watched()
    device = gpu_device(built, driver)
    xs = device.upload("int", numbers(1000))
    driver.waited.clear()
    device.launch(f"K{CUDA.index(name)}", [1000, xs])
    device.failure()
    assert driver.waited == waits


def test_a_run_writes_the_error_words_only_where_the_last_may_have_left_others(built: GpuProgram) -> None:
    driver = Watched()
    device = gpu_device(built, driver)
    xs = device.upload("int", numbers(1000))

    def writes(rounds: int = MOST_ROUNDS) -> bool:
        driver.written.clear()
        device.begin(None, rounds)
        return bool(driver.written)

    assert not writes()                             # the device itself has begun
    device.launch(f"K{CUDA.index('map')}", [1000, xs])
    assert not writes()
    assert writes(5) and not writes(5)
    kernel = f"K{CUDA.index('errors')}"
    device.launch(kernel, [1000, xs])
    assert writes(5)                                # nobody has asked whether it has failed
    device.launch(kernel, [1000, xs])
    assert device.failure() != NO_FAILURE and writes(5)
    device.launch(kernel, [0, device.upload("int", numbers(0))])
    assert device.failure() == NO_FAILURE and not writes(5)


@pytest.mark.parametrize("counts", [False, True])
def test_the_total_of_a_scan_is_read_with_the_failures(counts: bool) -> None:
    """Or with what else a launch leaves in cells; one that an array's own memory has is the same."""
    kernel = parse_kernel(f"""kernel K (n : int, xs : [int; n]) {{
        let ps = SCAN {{ i => if xs[i] >= 0 then xs[i] else fail s1 : int using xs }} (0)
            {{ (x, y) => x + y }} (n) total
        let t = REDUCE {{ i => xs[i] using xs }} (0) {{ (x, y) => max(x, y) }} (n)
        return (ps{", t" * counts}) }}""")
    driver = Watched()
    device = gpu_device(program_of(kernel), driver)
    for n in (0, 3, 5000):
        device.begin(None)
        driver.waited.clear()
        ps = device.launch("K", [n, device.upload("int", np.arange(n))])[0]
        assert device.failure() == NO_FAILURE and device.read(ps, n) == n * (n - 1) // 2 and driver.waited == ["read"]
        assert device.download(ps).tolist()[n] == n * (n - 1) // 2
    ps, *_ = device.launch("K", [5, device.upload("int", np.arange(5))])
    device.launch("K", [4, device.upload("int", np.arange(4))])
    assert device.read(ps, 5) == 10             # another launch has had the cells since
    device.launch("K", [3, device.upload("int", np.full(3, -1))])
    assert device.failure() >> INDEX_BITS == 1


def test_the_total_of_a_scan_outlives_another_kernels_cells() -> None:
    """Nobody has read it when the second launch leaves a scalar where it stood."""
    scan, most = [parse_kernel(text) for text in ("""kernel A (n : int, xs : [int; n]) {
        let ps = SCAN { i => xs[i] using xs } (0) { (x, y) => x + y } (n) total
        return ps }""", """kernel B (n : int, xs : [int; n]) {
        let t = REDUCE { i => xs[i] using xs } (0) { (x, y) => max(x, y) } (n)
        return t }""")]
    device = gpu_device(replace(program_of(scan), kernels=(scan, most)), Cudasim(1, 1))
    device.begin(None)
    ps = device.launch("A", [5, device.upload("int", np.arange(5))])[0]
    assert device.launch("B", [3, device.upload("int", np.arange(3))]) == [2] and device.read(ps, 5) == 10


def test_kernels_after_a_failure_are_launched_and_do_nothing() -> None:
    """The host waits for sizes and results alone, and tells the first failure as all do."""
    source, cases = PROGRAMS["kernels after a failure"]
    program = Compiled(source)
    for arguments in cases:
        driver = Watched()
        program.devices["cudasim none"] = device = gpu_device(program.executable("none"), driver)
        found = executors.outcome(program, "cudasim none", arguments)
        for other in ("reference none", "cpu none"):
            assert executors.agree(found, executors.outcome(program, other, arguments)), found
        assert device.stats.launches > 3 and driver.waited.count("read") <= 3, driver.waited


@SEEDS
def test_what_fails_while_blocks_parts_are_added_up_stops_the_kernels_behind(seed: int) -> None:
    """Only one thread comes upon it, which is not the one that looks for failures, nor of its warp."""
    kernel = parse_kernel("""kernel K (n : int, xs : [int; n]) {
        let t = REDUCE { i => xs[i] using xs } (0)
            { (x, y) => if x == 0 and y == 777 then fail s1 : int else x + y } (n)
        return t }""")
    n, block = 60 * THREADS, 40
    xs = np.zeros(n, np.int64)
    xs[block * THREADS:(block + 1) * THREADS] = [1] * 255 + [522]
    device = gpu_device(program_of(kernel), Cudasim(1, seed))
    _, failed = launch(device, "K", [n, xs])
    assert failed >> INDEX_BITS == 1 and device.errors[STOPPED]


# Each, done to the text, in what blocks of a launch, or those of the next, tell each other.
BACK = "(long long)atomicExch((unsigned long long *)&tickets[{}], (unsigned long long)(0));"
MISTAKES = {
    "the last but one goes on": ("wrap_add(ended, 1) ==", "wrap_add(ended, 2) =="),
    "a counter is not set back": (BACK.format(1), ""),
    "tickets are not set back": (BACK.format(0), ""),
    "epochs do not count": (", wrap_add(epoch, ", ", wrap_add(0, "),
}


@pytest.mark.parametrize("mistake", ["", *MISTAKES])
def test_launches_leave_what_they_share_as_the_next_one_needs_it(mistake: str) -> None:
    """And what does not is noticed: results differ, or a launch never ends."""
    kernel = parse_kernel("""kernel K (n : int, xs : [int; n]) {
        let ps = SCAN { i => xs[i] using xs } (0) { (x, y) => x + y } (n)
        let t = REDUCE { i => ps[i] using ps } (-1) { (x, y) => max(x, y) } (n)
        return t }""")
    made = gpu_code(program_of(kernel))
    built = replace(made, text=made.text.replace(*MISTAKES[mistake])) if mistake else made
    assert not mistake or built.text != made.text
    assert all(right_twice(built, seed) for seed in range(1, 7)) == (not mistake)


def test_what_is_kept_beside_a_status_never_becomes_one() -> None:
    """A launch whose tiles have descriptors, then one that has statuses alone: sums are greater than any epoch."""
    kernel = parse_kernel("""kernel K (n : int, xs : [int; n]) {
        let ps = SCAN { i => xs[i] using xs } (0) { (x, y) => x + y } (n) total
        let (as, bs) = SCAN { i => (xs[i], 1) using xs } (0, 0) { (a, b, c, d) => (a + c, b + d) } (n)
        return (ps, as, bs) }""")
    first = parse_kernel("""kernel F (n : int, xs : [int; n]) {
        let ps = SCAN { i => xs[i] using xs } (0) { (x, y) => x + y } (n) total
        return ps }""")
    program = program_of(kernel)
    device = gpu_device(replace(program, kernels=(*program.kernels, first)), Cudasim(2, 1))
    n = 20 * THREADS * 8
    xs = np.full(n, 1 << 40)
    for _ in range(2):
        (sums, *_), failed = launch(device, "K", [n, xs])
        assert failed == NO_FAILURE and sums[-1] == n << 40
        results, failed = launch(device, "F", [n, xs])
        assert failed == NO_FAILURE and results[0][-1] == n << 40


def right_twice(built: GpuProgram, seed: int) -> bool:
    """Are a launch and the next right, and do they end?"""
    device = gpu_device(built, Cudasim(2, seed))
    device.begin(None)
    found = []
    for value in (1, -1):
        watch = threading.Timer(2, device.interrupt)
        watch.start()
        found += device.launch("K", [9000, device.upload("int", np.full(9000, value))])
        watch.cancel()
    return found == [8999, 0] and not device.interrupted


def test_memory_is_limited_and_used_again(built: GpuProgram) -> None:
    driver = Cudasim(1, 1)
    device = gpu_device(built, driver)
    device.begin(100_000)
    first = device.upload("int", np.arange(5000))
    with pytest.raises(OutOfMemory) as full:
        device.upload("int", np.arange(8000))
    assert (full.value.used, full.value.limit) == (device.used(), 100_000)
    device.free(first)
    again = device.upload("int", np.arange(5000))
    assert again.buffer.address == first.buffer.address
    device.free(again)
    assert device.used() == 0 and len(driver.memory) == 2     # the error words are the other
    device.free(device.upload("int", np.arange(9000)))      # what was kept for reuse makes place
    assert len(driver.memory) == 2


def test_small_arrays_are_pieces_of_one_allocation(built: GpuProgram) -> None:
    """It is given back when none of them is in use."""
    driver = Cudasim(1, 1)
    device = gpu_device(built, driver)
    before = len(driver.memory)
    arrays = [device.upload("int", np.arange(n, 2 * n)) for n in range(1, 200)]
    assert len(driver.memory) == before + 1 and len({a.buffer.address % 256 for a in arrays}) == 1
    for array in arrays[1:]:
        device.free(array)
    assert device.memory.release_kept() > 0 and len(driver.memory) == before + 1
    more = device.upload("int", np.arange(500))
    assert device.download(arrays[0]).tolist() == [1] and device.download(more).tolist() == list(range(500))
    device.free(arrays[0])
    device.free(more)
    device.memory.release_kept()
    assert len(driver.memory) == before and device.memory.used == device.memory.kept == 0
    large = device.upload("int", np.arange(10_000))
    assert len(driver.memory) == before + 1 and large.buffer.address in driver.memory


def test_a_device_that_is_full_says_so(built: GpuProgram, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(self: Cudasim, size: int) -> int:
        raise MemoryError

    monkeypatch.setattr(Cudasim, "allocate", full)
    with pytest.raises(OutOfMemory):
        gpu_device(built, Cudasim(1, 1)).upload("int", np.arange(9))


# Programs -----------------------------------------------------------------------------------------


@pytest.mark.sampled(quick=4, ci=2)
@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_agree_with_the_reference(name: str) -> None:
    source, cases = PROGRAMS[name]
    program = Compiled(source)
    for arguments in cases:
        expected = executors.outcome(program, "reference ilp", arguments)
        for seed in (0, 1, 2):
            program.devices["cudasim ilp"] = gpu_device(program.executable("ilp"), Cudasim(2, seed))
            found = executors.outcome(program, "cudasim ilp", arguments)
            assert executors.agree(found, expected), (arguments, found, expected)


def test_failures_are_among_them() -> None:
    program = Compiled(PROGRAMS["division by zero"][0])
    found = executors.outcome(program, "cudasim ilp", [[5] * 270 + [3] * 5])
    assert isinstance(found, Failed) and found.told is not None and "element 270" in found.told[0][1]


def test_out_of_memory_is_told_where_it_happens() -> None:
    program = Compiled("function main(n) : int -> [int] = {i * i : i in [0:n]};")
    device = gpu_device(program.executable("ilp"), Cudasim(1, 1))
    assert on_gpu(program, device, [300]) == [i * i for i in range(300)]
    with pytest.raises(NessieError, match=r"out of memory: .* of 1,000,000 are in use"):
        on_gpu(program, device, [10**6], host.HostLimits(memory=10**6))
    assert device.used() == 0


def test_kernels_look_at_the_hosts_memory_only_in_loops_without_a_known_bound(built: GpuProgram) -> None:
    """There lies the interrupt word; skeletons have no such loops."""
    assert "interrupt" not in built.text
    kernels, functions = [], []
    for part in re.split(r"\n(?=extern|static)", gpu_code(Compiled(ENDLESS).executable("ilp")).text):
        (kernels if part.startswith("extern") else functions).append(part)
    assert any("interrupt," in kernel for kernel in kernels)
    assert not any("interrupt)[" in kernel or "interrupt[" in kernel for kernel in kernels)
    [loop] = [function for function in functions if "interrupt)[" in function]
    assert re.search(r"\(rounds & 65535\) == 0\) \{[^}]*\}\s*if \(\(\(const volatile long long \*\)interrupt\)\[0\]",
                     loop)


def test_kernels_without_end_are_interrupted() -> None:
    program = Compiled(ENDLESS)
    device = gpu_device(program.executable("ilp"), Cudasim(2, 1))
    assert on_gpu(program, device, [[0, -4]]) == [0, 0]
    with pytest.raises(NessieError, match=r"it took longer than 0\.2 s"):
        run_deep(lambda: on_gpu(program, device, [[1] * 600]), Deadline(0.2, ""))
    with pytest.raises(NessieError, match="recursion is deeper than 100,000 calls"):
        on_gpu(program, device, [[1] * 600], host.HostLimits(depth=100))
    timer = threading.Timer(0.2, device.interrupt)
    timer.start()
    with pytest.raises(Interrupted):
        on_gpu(program, device, [[1] * 600])
    timer.join()
    assert on_gpu(program, device, [[-2]]) == [0]
    assert device.used() == 0


# The target ---------------------------------------------------------------------------------------


def test_sessions_run_on_cudasim() -> None:
    from nessie.base.source import Source
    from nessie.pipeline import Job
    from nessie.session.session import Session
    session = Session(Target("cudasim", 2), Job(target="cudasim"))
    told = [str(outcome) for outcome in session.run(Source("test", "xs = {x * x : x in [0:300]}; sum(xs);"
                                                    "{x / (x - 16) : x in xs};"))]
    assert "sum" not in told[1] and "8955050" in told[1] and "element 4" in told[2]


def test_the_code_that_runs_can_be_seen(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "total.nesl"
    path.write_text("function total(xs) : [int] -> int = sum(xs);")
    assert main(["compile", str(path), "-e", "total", "--emit", "cuda", "--target", "cudasim"]) == 0
    assert "__global__" in capsys.readouterr().out
    words = ["run", str(path), "--target", "cudasim", "--dump", str(tmp_path / "dump"), "-e", "total", "[3, 4]"]
    assert (main(words), capsys.readouterr().out) == (0, "7\n")
    (dumped,) = (tmp_path / "dump").rglob("*.cuda")
    assert "__global__" in dumped.read_text()
