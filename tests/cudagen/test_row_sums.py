"""The order in which floats are added up depends on how many there are: not on how rows lie, where one starts, what is
beside it, nor on threads. The orders are written down here once more, on lists."""
from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from amounts import examples
from built import cpu_device, gpu_device
from hypothesis import given, settings
from hypothesis import strategies as st
from kernel_runs import program_of, run_plan
from numpy.typing import NDArray
from paths import ROOT
from processes import finished
from test_cpu import launch as launch_on_cpu
from test_gpu import launch as launch_on_gpu

import nessie
from nessie.cudagen import generate
from nessie.cudagen.cuda.cudasim import compiler
from nessie.cudagen.cuda.cudasim.driver import Cudasim
from nessie.cudagen.generate import CHUNK
from nessie.cudagen.host.device import NO_FAILURE
from nessie.cudagen.loops.plan import THREADS
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu.text.parser import parse_kernel

Floats = NDArray[np.float64]
Prefixes = Callable[[Sequence[float]], list[float]]     # of a row: before each element, and all

SIMULATED = pytest.mark.skipif(not compiler.found(), reason="there is no C++ compiler")
AT_WORK = 5                             # blocks of cudasim at a time
TARGETS = ["cpu", pytest.param("cudasim", marks=SIMULATED)]


@pytest.fixture(autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.getbasetemp() / "cache"))


def row_of(length: int, seed: int = 0) -> Floats:
    """Numbers whose sum tells how they were added."""
    rng = np.random.default_rng((length, seed))
    return rng.standard_normal(length) * 10.0 ** rng.integers(-3, 4, length)


# The orders ---------------------------------------------------------------------------------------


def in_order(xs: Sequence[float], start: float = 0.0) -> float:
    for x in xs:
        start = start + x
    return start


def by_lanes(xs: Sequence[float]) -> float:
    """Eight lanes as far as there are whole eights; the lanes, then the rest."""
    whole = len(xs) // 8 * 8
    return in_order(xs[whole:], in_order([in_order(xs[lane:whole:8]) for lane in range(8)]))


def cpu_sum(xs: Sequence[float], width: int = CHUNK) -> float:
    return in_order([by_lanes(xs[low:low + width]) for low in range(0, len(xs), width)])


def cpu_prefixes(width: int) -> Prefixes:
    def prefixes(xs: Sequence[float]) -> list[float]:
        found, before = [0.0], 0.0
        for low in range(0, len(xs), width):
            block = xs[low:low + width]
            found[-1:] = accumulate(block, initial=before)
            before = before + by_lanes(block)
        return found
    return prefixes


def gpu_prefixes(run: int) -> Prefixes:
    """Runs of a thread, 128 runs a tile, 32 tiles a group."""
    tile = run * THREADS // 2

    def prefixes(xs: Sequence[float]) -> list[float]:
        found, totals = [0.0], list[float]()
        for first in range(0, len(xs), tile):
            runs = [xs[low:low + run] for low in range(first, min(first + tile, len(xs)), run)]
            reached = looking_back([in_order(one) for one in runs])
            earlier = tiles_before(totals)
            for number, one in enumerate(runs):
                start = earlier + reached[number - 1] if number else earlier
                found[-1:] = accumulate(one, initial=start)
            totals.append(reached[-1])
        return found
    return prefixes


def looking_back(xs: Sequence[float]) -> list[float]:
    """Each joined to the one before, then to what the one before that has, then twice as far."""
    reach, found = 1, list(xs)
    while reach < len(found):
        found = [found[k - reach] + x if k >= reach else x for k, x in enumerate(found)]
        reach *= 2
    return found


def tiles_before(totals: Sequence[float]) -> float:
    """Whole groups one after another, then those of the group that is not whole."""
    whole = len(totals) // 32 * 32
    groups = [tree(totals[low:low + 31]) + totals[low + 31] for low in range(0, whole, 32)]
    return in_order(groups) + tree(totals[whole:])


def tree(totals: Sequence[float]) -> float:
    """As 32, of which the last are these: neighbours first."""
    level = [0.0] * (32 - len(totals)) + list(totals)
    while len(level) > 1:
        level = [a + b for a, b in zip(level[::2], level[1::2], strict=True)]
    return level[0]


def test_fewer_than_sixteen_are_added_from_left_to_right() -> None:
    for length in range(16):
        assert by_lanes(row_of(length).tolist()) == in_order(row_of(length).tolist())
    assert any(by_lanes(row_of(n).tolist()) != in_order(row_of(n).tolist()) for n in range(16, 20))


# Kernels: every form of descriptor, every start -----------------------------------------------------

BODY = """
  let rs = SEG_REDUCE { (s, j, i) => READ } (0.0) { (x, y) => x + y } SPACE
  let ps = SEG_SCAN { (s, j, i) => READ } (0.0) { (x, y) => x + y } SPACE
  return (rs, ps)
}"""
FORMS = {"irregular": ("offs : [int; m+1]", "irregular(offs, m, n)", "xs[i] using xs"),
         "uniform": ("l : int", "uniform(m, l, n)", "xs[i] using xs"),
         "affine": ("slope : int, more : int", "closed(m, (more, slope), n)", "xs[i] using xs"),
         "view": ("offs : [int; m+1], starts : [int; m]", "irregular(offs, m, n)",
                  "xs[starts[s] + j] using xs, starts")}


def kernel(form: str) -> ir.Kernel:
    parameters, space, read = FORMS[form]
    head = f"kernel K (n : int, m : int, k : int, xs : [float; k], {parameters}) -> ([float; m], [float; n]) {{"
    return parse_kernel(head + BODY.replace("SPACE", space).replace("READ", read))


def offsets_of(rows: Sequence[Floats]) -> NDArray[np.int64]:
    return np.cumsum([0, *map(len, rows)]).astype(np.int64)


def arguments(form: str, rows: Sequence[Floats]) -> list[Any]:
    offsets = offsets_of(rows)
    n, m, lengths = int(offsets[-1]), len(rows), [len(row) for row in rows]
    if form == "view":                  # the rows lie in reverse, with gaps
        gaps = [np.concatenate([[1e300, -1e300], row]) for row in rows[::-1]]
        starts = np.cumsum([0, *map(len, gaps)])[:-1][::-1] + 2
        return [n, m, sum(map(len, gaps)), np.concatenate([*gaps, np.zeros(0)]), offsets, starts.astype(np.int64)]
    given = [n, m, n, np.concatenate([*rows, np.zeros(0)])]
    match form:
        case "uniform":
            return [*given, lengths[0] if lengths else 0]
        case "affine":
            return [*given, lengths[1] - lengths[0], lengths[0]]
    return [*given, offsets]


def expected(rows: Sequence[Floats], prefixes: Prefixes) -> tuple[list[float], list[float]]:
    found = [prefixes(row.tolist()) for row in rows]
    return [before[-1] for before in found], [x for before in found for x in before[:-1]]


def same_bits(found: Sequence[float], meant: Sequence[float]) -> None:
    assert np.array(found, np.float64).tobytes() == np.array(meant, np.float64).tobytes()


def agrees_on_cpu(form: str, rows: Sequence[Floats], width: int, threads: int) -> None:
    device = cpu_device(program_of(kernel(form)), threads, width=width)
    (sums, scans), failed = launch_on_cpu(device, "K", arguments(form, rows))
    assert failed == NO_FAILURE
    same_bits(sums, [cpu_sum(row.tolist(), width) for row in rows])
    same_bits(scans, expected(rows, cpu_prefixes(width))[1])


def agrees_on_gpu(form: str, rows: Sequence[Floats], run: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(generate, "RUN", run)
        device = gpu_device(program_of(kernel(form)), Cudasim(AT_WORK, len(rows)))
    (sums, scans), failed = launch_on_gpu(device, "K", arguments(form, rows))
    assert failed == NO_FAILURE
    for found, meant in zip((sums, scans), expected(rows, gpu_prefixes(run)), strict=True):
        same_bits(found, meant)


LENGTHS = [*range(71), 120, 127, 128, 129, 200]
MIXED = [length for seed in range(3) for length in np.random.default_rng(seed).permutation([0, 0, *LENGTHS])]


@pytest.mark.parametrize("width, threads", [(16, 1), (16, 3), (64, 2), (1, 2), (CHUNK, 2)])
def test_rows_of_all_lengths_on_the_cpu(width: int, threads: int) -> None:
    rows = [row_of(length) for length in MIXED]
    for form in ("irregular", "view"):
        agrees_on_cpu(form, rows, width, threads)
    agrees_on_cpu("affine", [row_of(3 * s + 1) for s in range(40)], width, threads)
    for length in LENGTHS[::7]:
        agrees_on_cpu("uniform", [row_of(length)] * 9, width, threads)


@settings(max_examples=examples(60))
@given(st.lists(st.integers(0, 70), max_size=12), st.sampled_from(["irregular", "view"]), st.sampled_from([8, 24]),
       st.integers(1, 3))
def test_any_rows_beside_any_others(lengths: list[int], form: str, width: int, threads: int) -> None:
    agrees_on_cpu(form, [row_of(length) for length in lengths], width, threads)


def test_rows_about_as_long_as_blocks() -> None:
    long = [row_of(length) for length in (CHUNK - 1, 3, CHUNK, CHUNK + 1, 0, 2 * CHUNK + 9, 1)]
    for form in ("irregular", "view"):
        agrees_on_cpu(form, long, CHUNK, 2)
    for length in (CHUNK - 1, CHUNK, CHUNK + 1, 2 * CHUNK + 9):
        agrees_on_cpu("uniform", [row_of(length)] * 3, CHUNK, 2)


def test_the_interpreter_of_loops_agrees() -> None:
    rows = [row_of(length) for length in (3, 20, 0, 17, 40, 16)]
    for form in ("irregular", "view"):
        (sums, _), failed = run_plan(kernel(form), arguments(form, rows), 16)
        assert failed == NO_FAILURE
        same_bits(sums, [cpu_sum(row.tolist(), 16) for row in rows])


@SIMULATED
@pytest.mark.parametrize("run", [1, 3, 8])
def test_rows_of_all_lengths_on_the_gpu(run: int) -> None:
    rows = [row_of(length) for length in [*MIXED, 8 * THREADS, 1, 5000]]
    for form in ("irregular", "view"):
        agrees_on_gpu(form, rows, run)
    agrees_on_gpu("affine", [row_of(3 * s + 1) for s in range(60)], run)
    for length in (0, 1, 3, 31, 70, 1000, 1024):
        agrees_on_gpu("uniform", [row_of(length)] * 9, run)


@SIMULATED
@pytest.mark.parametrize("before", [0, 1, 7, 120, 127, 128, 4000])
def test_rows_of_many_groups_wherever_they_start(before: int) -> None:
    agrees_on_gpu("irregular", [row_of(before), row_of(20_000), row_of(before), row_of(9_001)], 1)


# Programs -------------------------------------------------------------------------------------------

PROGRAM = """
function sums(m) : [[float]] -> [float] = {sum(r) : r in m};
function some(m, js) : ([[float]], [int]) -> [float] = {sum(m[j]) : j in js};
function norms(m) : [[float]] -> [(float, float)] = {(sum(r), sum({x * x : x in r})) : r in m};
function scans(m) : [[float]] -> [[float]] = {plus_scan(r) : r in m};
function total(v) : [float] -> float = sum(v);
function last(v, n) : ([float], int) -> float = sum(drop(v, #v - n));
"""


def bits(values: Any) -> bytes:
    return np.array(values, np.float64).tobytes()


def nested(rows: Sequence[Floats]) -> Any:
    return nessie.Nested(offsets_of(rows), np.concatenate([*rows, np.zeros(0)]))


@pytest.mark.parametrize("target", TARGETS)
def test_a_row_has_one_sum_whatever_it_is_part_of(target: str) -> None:
    """As a matrix, as ragged rows among others, chosen by number; `sums` and what is summed beside."""
    program = nessie.compile(PROGRAM, target=target)
    rows = [row_of(length) for length in (0, 1, 3, 7, 8, 9, 15, 16, 17, 33, 64, 70, 1025, 3000)]
    matrices = [bits(program.sums(np.stack([row] * 3))) for row in rows]
    together, chosen = program.sums(nested(rows)), program.some(nested(rows), list(range(len(rows)))[::-1])[::-1]
    assert matrices == [bits([found] * 3) for found in together] == [bits([found] * 3) for found in chosen]
    shifted = program.sums(nested([row_of(5, 1), *rows, row_of(2, 1)]))
    assert bits(shifted[1:-1]) == bits(together)
    pairs = [program.norms(np.stack([row] * 2))[1] for row in rows]
    assert bits(pairs) == bits(list(program.norms(nested(rows))))
    scans = program.scans(nested([row_of(3, 1), *rows]))
    for row, scan in zip(rows, list(scans)[1:], strict=True):
        assert bits(program.scans(np.stack([row]))[0]) == bits(scan)


@pytest.mark.parametrize("length", [*range(0, 71, 5), CHUNK - 1, CHUNK, CHUNK + 1, 3 * CHUNK + 100, 40 * CHUNK + 5])
def test_a_sum_is_that_of_its_numbers_on_any_threads_from_any_start(length: int) -> None:
    row = row_of(length)
    for threads in (1, 2, 5):
        program = nessie.compile(PROGRAM, threads=threads)
        found, longer = program.total(row), np.concatenate([[5.0] * 3, row])
        assert bits(found) == bits(cpu_sum(row.tolist())) == bits(program.last(longer, length))
        assert bits(program.sums(row.reshape(1, -1) if length else np.zeros((1, 0)))) == bits([found])


@SIMULATED
def test_a_sum_has_the_same_bits_from_any_start_on_the_gpu() -> None:
    program = nessie.compile(PROGRAM, target="cudasim")
    for length in (0, 1, 70, 2049, 20_000):
        row = row_of(length)
        assert bits(program.total(row)) == bits(program.last(np.concatenate([[5.0] * 3, row]), length))


@pytest.mark.parametrize("target", TARGETS)
def test_files_of_either_kind_give_the_same_digits(target: str, tmp_path: Path) -> None:
    """At the command line, a matrix of an `.npy` file and the rows of a `.json` file, and an expression."""
    numbers = [[-3.9, 2.7, 1.3], [0.1, 0.2, 0.3]]
    np.save(tmp_path / "m.npy", np.array(numbers))
    (tmp_path / "m.json").write_text(str(numbers))
    (tmp_path / "rows.nesl").write_text("function sums(m) : [[float]] -> [float] = {sum(r) : r in m};")
    found, environment = [], {**os.environ, "PYTHONPATH": str(ROOT)}
    for argument in ("@m.npy", "@m.json", str(numbers)):
        command = ["run", "rows.nesl", "-e", "sums", argument, "--target", target, "-o", "y.npy"]
        finished([sys.executable, "-m", "nessie", *command], cwd=tmp_path, check=True, env=environment)
        found.append(np.load(tmp_path / "y.npy").tolist())
    assert found == [[in_order(row) for row in numbers]] * 3
    assert repr(found[0][0]) == "0.10000000000000031"
