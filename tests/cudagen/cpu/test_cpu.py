"""The CPU target: compiled kernels do what their bindings mean, on any number of threads; memory, cache, interrupts."""
from __future__ import annotations

import hashlib
import os
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from amounts import examples
from built import cpu_device, execute
from hypothesis import given, settings
from hypothesis import strategies as st
from kernel_runs import Meaning, program_of, run_plan
from random_kernels import Maker
from test_skeletons import FLAT, SEGMENTED, flat_kernel, numbers, segmented_kernel

from nessie.base.source import Source
from nessie.base.system import disk_cache as cache
from nessie.base.system.deep import run_deep
from nessie.base.values import DTYPES, Flat
from nessie.cudagen.cpu import device as cpu_target
from nessie.cudagen.cpu.device import Cpu
from nessie.cudagen.host.device import NO_FAILURE, Array, OutOfMemory
from nessie.cudagen.host.memory import Memory, address_of, size_class
from nessie.cudagen.kernels.scalar_functions import device_functions, tables_of
from nessie.driver import compile_program
from nessie.forms import TEXT
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu.text.parser import parse, parse_kernel
from nessie.pipeline import Job, pass_named
from nessie.syntax.parser import parse_type

BASES = {dtype: base for base, dtype in DTYPES.items()}


@pytest.fixture(autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.getbasetemp() / "cache"))


def launch(device: Cpu, kernel: str, arguments: list[Any]) -> tuple[list[Any], int]:
    """Plain results and the error word; what the launch gave is freed."""
    device.begin(None)
    given = [device.upload(BASES[a.dtype], a) if isinstance(a, np.ndarray) else a for a in arguments]
    results = []
    for result in device.launch(kernel, given):
        if isinstance(result, Array):
            values = device.download(result)
            results.append([chr(c) for c in values] if result.base == "char" else values.tolist())
        else:
            results.append(result)
    return results, device.failure()


def named(kernel: ir.Kernel, name: str) -> ir.Kernel:
    return replace(kernel, name=name)


# What kernels compute ---------------------------------------------------------------------------


@pytest.fixture(scope="module")
def flat_device() -> Iterator[Cpu]:
    kernels = tuple(named(flat_kernel(body), f"K{at}") for at, body in enumerate(FLAT.values()))
    yield cpu_device(replace(program_of(kernels[0]), kernels=kernels), threads=2, width=16)


@pytest.mark.parametrize("n", [0, 1, 15, 16, 17, 1000])
@pytest.mark.parametrize("name", FLAT)
def test_flat_kernels(flat_device: Cpu, name: str, n: int) -> None:
    meaning = Meaning(flat_kernel(FLAT[name]), [n, numbers(n)])
    results, failed = launch(flat_device, f"K{list(FLAT).index(name)}", [n, numbers(n)])
    assert failed == meaning.failed
    assert failed != NO_FAILURE or results == meaning.results


@pytest.fixture(scope="module")
def segmented_device() -> Iterator[Cpu]:
    kernels = tuple(named(rows_kernel(body), f"K{at}") for at, body in enumerate(SEGMENTED.values()))
    yield cpu_device(replace(program_of(kernels[0]), kernels=kernels), threads=2, width=16)


def rows_kernel(body: str) -> ir.Kernel:
    return segmented_kernel("offs0 : [int; m+1]", "irregular(offs0, m, n)", body)


@pytest.mark.parametrize("lengths", [[], [0], [0, 40, 0], [1] * 40, [3, 0, 5, 100, 0, 0, 1] * 3], ids=len)
@pytest.mark.parametrize("name", SEGMENTED)
def test_segmented_kernels(segmented_device: Cpu, name: str, lengths: list[int]) -> None:
    n, m = sum(lengths), len(lengths)
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    arguments = [n, m, numbers(n), numbers(m, 5), offsets]
    meaning = Meaning(rows_kernel(SEGMENTED[name]), arguments)
    results, failed = launch(segmented_device, f"K{list(SEGMENTED).index(name)}", arguments)
    assert failed == meaning.failed
    assert failed != NO_FAILURE or results == meaning.results


@settings(max_examples=examples(80))
@given(st.integers(0, 10**6), st.booleans(), st.lists(st.integers(0, 9), max_size=8))
def test_random_fused_walks(seed: int, segmented: bool, lengths: list[int]) -> None:
    kernel = parse_kernel(Maker(seed, segmented).kernel())
    n, m = sum(lengths), len(lengths)
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    arguments = [n, numbers(n, seed), numbers(n, seed + 1), *([m, numbers(m, seed), offsets] if segmented else [])]
    meaning = Meaning(kernel, arguments)
    for order in (1, -1):
        results, failed = run_plan(kernel, arguments, 4, order=order)
        assert (failed == NO_FAILURE) == (meaning.failed == NO_FAILURE)
        assert failed >> 40 == meaning.failed >> 40
        assert failed != NO_FAILURE or results == meaning.results


@settings(max_examples=examples(8))
@given(st.integers(0, 10**6), st.booleans(), st.lists(st.integers(0, 9), max_size=8))
def test_random_fused_kernels_compiled_one_by_one(seed: int, segmented: bool, lengths: list[int]) -> None:
    compiled_agrees(range(seed, seed + 1), segmented, lengths)


@pytest.mark.parametrize("seeds", [range(12), range(12, 24)], ids=str)
@pytest.mark.parametrize("segmented", [False, True])
def test_random_fused_kernels_compiled(seeds: range, segmented: bool) -> None:
    compiled_agrees(seeds, segmented, [2, 0, 7, 1, 30, 0, 0, 3])


def compiled_agrees(seeds: range, segmented: bool, lengths: list[int]) -> None:
    """The CPU target and the meaning of the kernels that the seeds make, on segments of these lengths."""
    kernels = tuple(named(parse_kernel(Maker(seed, segmented).kernel()), f"K{seed}") for seed in seeds)
    device = cpu_device(replace(program_of(kernels[0]), kernels=kernels), threads=2, width=8)
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    n, m = sum(lengths), len(lengths)
    for kernel in kernels:
        arguments = [n, numbers(n, 3), numbers(n, 4), *([m, numbers(m, 5), offsets] if segmented else [])]
        meaning = Meaning(kernel, arguments)
        results, failed = launch(device, kernel.name, arguments)
        assert failed >> 40 == meaning.failed >> 40
        assert failed != NO_FAILURE or results == meaning.results


# Threads ----------------------------------------------------------------------------------------

SUMS = parse_kernel("""kernel K (n : int, xs : [float; n], m : int, offs : [int; m+1]) {
  let rs = SEG_REDUCE { (s, j, i) => xs[i] using xs } (0.0) { (x, y) => x + y } irregular(offs, m, n)
  let ps = SCAN { i => xs[i] using xs } (0.0) { (x, y) => x + y } (n)
  let t = REDUCE { i => xs[i] using xs } (0.0) { (x, y) => x + y } (n)
  return (rs, ps, t)
}""")


def test_any_number_of_threads_gives_the_same_bits() -> None:
    n, m = 300_000, 1000
    random = np.random.default_rng(0)
    offsets = np.sort(random.integers(0, n, m + 1))
    offsets[0], offsets[-1] = 0, n
    arguments = [n, random.normal(size=n), m, offsets]
    found = [launch(cpu_device(program_of(SUMS), threads, width=4096), "K", arguments) for threads in (1, 2, 5)]
    assert found[0] == found[1] == found[2]
    rs, ps, t = found[0][0]
    assert abs(t - arguments[1].sum()) < 1e-9 * np.abs(arguments[1]).sum()
    assert np.allclose(ps[1:], np.cumsum(arguments[1])[:-1], rtol=0, atol=1e-9 * np.abs(arguments[1]).sum())
    assert np.allclose(rs, [arguments[1][a:b].sum() for a, b in zip(offsets, offsets[1:])])


ENDS = parse_kernel("""kernel K (n : int, xs : [float; n], m : int, offs : [int; m+1], ys : [int; m]) {
  let rs = SEG_REDUCE { (s, j, i) => xs[i] using xs } (-1.0) { (x, y) => max(x, y) } irregular(offs, m, n)
  let qs = MAP { s => if ys[s] /= 0 then rs[s] else fail s1 : float using ys, rs } (m)
  return (rs, qs)
}""")


@pytest.mark.parametrize("lengths", [
    [0] * 30, [0] * 20 + [9] + [0] * 20, [1] + [0] * 7 + [8] + [0] * 8 + [7] + [0] * 17, [16] + [0] * 24,
    [0] * 8 + [1]])
def test_chunks_without_elements_end_their_segments(lengths: list[int]) -> None:
    """In chunks of eight items, some of them ends of segments only."""
    offsets = np.cumsum([0, *lengths])
    n, m = int(offsets[-1]), len(lengths)
    xs, ones = np.arange(n) + 0.5, np.ones(m, np.int64)
    device = cpu_device(program_of(ENDS), 2, width=8)
    (rs, qs), failed = launch(device, "K", [n, xs, m, offsets, ones])
    assert failed == NO_FAILURE
    assert list(rs) == list(qs) == [max([-1.0, *xs[a:b]]) for a, b in zip(offsets, offsets[1:])]
    for at in (0, m // 2, m - 1):
        ones[:] = 1
        ones[at:] = 0
        assert launch(device, "K", [n, xs, m, offsets, ones])[1] & (2 ** 40 - 1) == at


# Memory -----------------------------------------------------------------------------------------


def test_addresses_are_those_that_numpy_tells() -> None:
    array = np.arange(10.0)
    fixed = array[::2]
    fixed.flags.writeable = False
    for one in (array, array[3:], fixed, array.reshape(2, 5)[1], np.zeros(0), np.arange(3, dtype=np.int8)[1:]):
        assert address_of(one) == one.ctypes.data


def test_memory_of_large_results_comes_back_with_the_last_view() -> None:
    memory = Memory()
    array = memory.take("float", 100_000)
    address = array.buffer.address
    result = memory.release(array)
    assert memory.used == 0
    part = result[10:20].view(np.int64)
    del array, result
    assert memory.take("float", 100_000).buffer.address != address      # `part` still refers to it
    del part
    assert memory.take("float", 100_000).buffer.address == address


def test_memory_of_a_result_that_is_there_twice_comes_back_with_the_last() -> None:
    memory = Memory()
    array = memory.take("int", 100_000)
    address = array.buffer.address
    first, second = memory.release(array), memory.release(array)
    del array, first
    assert memory.take("int", 100_000).buffer.address != address
    del second
    assert memory.take("int", 100_000).buffer.address == address


def test_memory_is_used_again_and_counted() -> None:
    memory = Memory()
    first = memory.take("float", 1000)
    address, used = first.buffer.address, memory.used
    memory.give(first)
    memory.give(first)
    assert memory.used == 0
    again = memory.take("int", 1000)
    assert again.buffer.address == address and memory.used == used >= 8000
    other = memory.take("int", 1000)
    assert other.buffer.address != address


def test_the_limit_holds_before_memory_is_taken() -> None:
    memory = Memory(limit=100_000)
    memory.give(memory.take("float", 8_000))
    held = memory.take("bool", 90_000)          # what was kept makes room
    with pytest.raises(OutOfMemory):
        memory.take("float", 10**15)
    memory.give(held)
    assert memory.take("float", 9_000).length == 9_000


@given(st.integers(1, 10**13))
def test_size_classes_waste_little(size: int) -> None:
    assert size <= size_class(size) <= max(256, size * 5 // 4 + 1)
    assert size_class(size_class(size)) == size_class(size)


def test_a_kernel_that_finds_no_memory_leaves_none_in_use() -> None:
    device = cpu_device(program_of(flat_kernel(FLAT["filter"])), threads=1)
    device.begin(1 << 20)
    values = device.upload("int", np.ones(10**6, np.int64))
    with pytest.raises(OutOfMemory):
        device.launch("K", [10**6, values])
    assert device.used() == 0


# Scalar functions, interrupts -------------------------------------------------------------------

COLLATZ = """
site s0 "negative"

scalar steps (x : int, count : int) -> int {
  if x < 1 then fail s0 : int else if x == 1 then count else
  steps(if (x and 1) == 1 then 3 * x + 1 else x / 2, count + 1)
}

kernel K (n : int, xs : [int; n]) -> [int; n] {
  let ys = MAP { i => steps(xs[i], 0) using xs } (n)
  return ys
}

function f (n : int, xs : [int; n]) -> (ys : [int; n]) {
  let ys1 : [int; n] = run K (n, xs)
  return ys1
}

entry f : [int] -> [int]
"""


def collatz(x: int) -> int:
    count = 0
    while x != 1:
        x, count = (3 * x + 1 if x % 2 else x // 2), count + 1
    return count


def test_tail_recursion_in_an_element_is_a_loop() -> None:
    device = cpu_device(parse(COLLATZ), threads=2)
    results, failed = launch(device, "K", [2000, np.arange(1, 2001)])
    assert failed == NO_FAILURE and results == [[collatz(x) for x in range(1, 2001)]]
    assert launch(device, "K", [3, np.array([5, 0, -1])])[1] == 1


def test_an_endless_loop_ends_when_interrupted() -> None:
    endless = COLLATZ.replace("if x == 1 then count else", "if x == -1 then count else")
    device = cpu_device(parse(endless), threads=1)
    values = device.upload("int", np.array([1, 2, 3], np.int64))
    device.begin(None)
    timer = threading.Timer(0.2, device.interrupt)
    timer.start()
    started = time.monotonic()
    device.launch("K", [3, values])
    assert device.interrupted and time.monotonic() - started < 10
    timer.join()


def test_functions_are_generated_once_however_often_they_are_called() -> None:
    steps = "".join(f"scalar f{k} (n : int) -> int {{ f{k - 1}(n) + f{k - 2}(n) }}\n" for k in range(2, 60))
    functions = "scalar f0 (n : int) -> int { n }\nscalar f1 (n : int) -> int { n }\n" + steps
    program = parse(COLLATZ.replace("scalar steps", f"{functions}\nscalar steps"))
    assert len(device_functions(program, tables_of(program))) == 61


def test_a_kernel_after_a_failed_one_is_not_launched() -> None:
    device = cpu_device(parse(COLLATZ), threads=1)
    device.begin(None)
    values = device.upload("int", np.array([-1], np.int64))
    device.launch("K", [1, values])
    with pytest.raises(RuntimeError, match="failed"):
        device.launch("K", [1, values])
    assert device.failure() == 0


def test_launches_and_elements_are_counted() -> None:
    device = cpu_device(parse(COLLATZ), threads=1)
    device.stats.detailed = True
    launch(device, "K", [7, np.ones(7, np.int64)])
    launch(device, "K", [5, np.ones(5, np.int64)])
    assert (device.stats.launches, device.stats.elements) == (2, 12)
    kernel = device.stats.kernels["K"]
    assert (kernel.launches, kernel.elements, kernel.bytes) == (2, 12, 12 * 16)


MANY = """
kernel K (n : int, xs : [float; n]) -> (float, float, [float; n], [float; n]) {
  let ys = MAP { i => sin(xs[i]) * xs[i] + 1.0 / (xs[i] * xs[i] + 0.1) using xs } (n)
  let (s, t) = REDUCE { i => (ys[i], ys[i]) using ys } (-inf, 0.0) { (x, a, y, b) => (max(x, y), a + b) } (n)
  let ks = SCAN { i => ys[i] using ys } (0.0) { (x, y) => x + y } (n)
  return (s, t, ys, ks)
}

function main (n : int, xs : [float; n]) -> (s : float) {
  let (s : float, t : float, ys : [float; n], ks : [float; n]) = run K (n, xs)
  return s
}

entry main : [float] -> float
"""


def test_code_is_optimised_for_many_elements_and_gives_the_same_bits() -> None:
    xs = np.random.default_rng(3).normal(size=900)
    device = cpu_device(parse(MANY), threads=2, width=300)
    quick = launch(device, "K", [len(xs), xs])
    assert device.quick
    device.optimise()
    assert not device.quick
    best = launch(device, "K", [len(xs), xs])
    assert repr(quick) == repr(best)            # floats print all their digits
    other = cpu_device(parse(MANY), threads=2, width=300)
    launch(other, "K", [1800, np.concatenate([xs, xs])])
    assert not other.quick


def test_code_is_optimised_for_many_launches_on_few_elements(monkeypatch: pytest.MonkeyPatch) -> None:
    xs = np.random.default_rng(3).normal(size=9)
    device = cpu_device(parse(MANY), threads=2, width=300)
    launch(device, "K", [len(xs), xs])
    assert device.quick
    monkeypatch.setattr(cpu_target, "WORTH", 0.0)
    launch(device, "K", [len(xs), xs])
    assert not device.quick


# The cache --------------------------------------------------------------------------------------


def made(sources: list[str]) -> Any:
    def build(source: str) -> bytes:
        sources.append(source)
        return source.upper().encode()
    return build


def test_code_is_built_once(cache_folder: Path) -> None:
    sources: list[str] = []
    for source in ("a", "b", "a"):
        assert cache.cached(source, "cpu 1", made(sources)) == source.upper().encode()
    assert cache.cached("a", "cpu 2", made(sources)) == b"A"
    assert sources == ["a", "b", "a"] and len(list(cache_folder.iterdir())) == 3


def test_few_writes_look_for_old_files(cache_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache_folder.mkdir()
    looked: list[Path] = []
    monkeypatch.setattr(cache, "trim", looked.append)
    for source in range(640):
        cache.write(cache_folder / f"{hashlib.sha256(bytes(source)).hexdigest()}.o", b"")
    assert 1 <= len(looked) <= 30


@pytest.mark.parametrize("damage", [b"", b"short", b"nessie object 1\n" + bytes(40)])
def test_a_damaged_file_is_made_again(cache_folder: Path, damage: bytes) -> None:
    sources: list[str] = []
    cache.cached("a", "cpu", made(sources))
    (path,) = cache_folder.iterdir()
    path.write_bytes(damage)
    assert cache.cached("a", "cpu", made(sources)) == b"A" and sources == ["a", "a"]
    assert cache.cached("a", "cpu", made(sources)) == b"A" and len(sources) == 2


def test_the_oldest_files_make_room(cache_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "MOST_FILES", 3)
    monkeypatch.setattr(cache, "MOST_BYTES", 1000)
    monkeypatch.setattr(cache, "TRIMMING", 256)
    for source in "abcd":
        cache.cached(source, "cpu", made([]))
        for path in cache_folder.iterdir():
            os.utime(path, ns=(0, path.stat().st_mtime_ns - 10**9))
    sources: list[str] = []
    for source in "dcba":
        cache.cached(source, "cpu", made(sources))
    assert sources == ["a"] and len(list(cache_folder.iterdir())) == 3
    cache.cached("e" * 950, "cpu", made(sources))
    assert len(list(cache_folder.iterdir())) == 1


def test_a_folder_that_others_may_write_is_not_trusted(cache_folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cache_folder.mkdir()
    os.chmod(cache_folder, 0o777)
    sources: list[str] = []
    for _ in range(2):
        assert cache.cached("a", "cpu", made(sources)) == b"A"
    assert sources == ["a", "a"] and list(cache_folder.iterdir()) == []
    assert capsys.readouterr().err.count("warning") == 1


def test_a_fused_sum_has_the_same_bits_on_any_number_of_threads() -> None:
    program = run_deep(lambda: compile_program(
        Job(entry="dotp", argument=parse_type(Source("type", "([float], [float])"))), TEXT,
        Source("dotp", "function dotp(xs, ys) = sum({x * y : x in xs; y in ys});"), pass_named("fuse")))
    assert len(program.kernels) == 1
    random = np.random.default_rng(3)
    xs, ys = (Flat(1_000_003, random.standard_normal(1_000_003)) for _ in range(2))
    arguments = [(xs, ys)] if len(program.entry.arguments) == 1 else [xs, ys]
    one, seven = (execute(program, arguments, cpu_device(program, threads)) for threads in (1, 7))
    assert one == seven
    assert one == pytest.approx(np.dot(xs.column, ys.column), rel=1e-9)
