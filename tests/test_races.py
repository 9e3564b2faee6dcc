"""What the GPU's threads do to each other's memory, watched by sanitizers: skeletons have no races and no access
outside an array, and each of their barriers and ordered accesses is needed.

To ThreadSanitizer each thread of a block is one. Barriers order their accesses, and a store that releases what a load
acquires; atomics and shuffles do not, as in CUDA.
"""
from __future__ import annotations

import subprocess
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from kernel_runs import program_of
from taped import ADDRESSES, THREADS, Mistake, Sanitizer, Watched, planted, started, tape
from test_skeletons import SEGMENTED as WALKS_OF_SEGMENTS
from test_skeletons import cuda_kernel, numbers, segmented_kernel

from nessie.cudagen.cudasim import compiler
from nessie.cudagen.gpu import build_program

pytestmark = pytest.mark.skipif(not compiler.found(), reason="there is no C++ compiler")

LENGTH = 5000                           # of flat walks: three tiles
LENGTHS = [1, 0, 2100, 3, 0, 0, 2050, 2, *[7] * 100, 0]
FLAT = ("map", "map and its sum", "ordered reduce", "scan", "filter", "partition", "permute max", "scatter survivors",
        "filter, then map, sum and rank", "errors", "order")
SEGMENTED = ("row sums", "segmented scan", "segmented filter", "prologue, epilogue, sums of all", "order")
CASES = [*FLAT, *(f"segments: {name}" for name in SEGMENTED)]
QUICK = ("map", "scan", "segments: segmented filter")
SEEDS = (1, 2, 3)


def cases(quick: tuple[str, ...] = QUICK) -> Any:
    return pytest.mark.parametrize("case", [pytest.param(c, marks=() if c in quick else pytest.mark.slow)
                                            for c in CASES])


@dataclass(frozen=True)
class Kernels:
    text: str
    names: tuple[str, ...]
    mistakes: list[Mistake]
    tapes: dict[str, str]

    def mistakes_of(self, case: str) -> list[tuple[int, Mistake]]:
        """Those in the kernels that the case launches, with their numbers."""
        launched = {line.split()[1] for line in self.tapes[case].splitlines() if line.startswith("launch ")}
        return [(number, m) for number, m in enumerate(self.mistakes, 1) if m.kernel in launched]


@pytest.fixture(scope="module")
def kernels() -> Kernels:
    offsets = np.concatenate([[0], np.cumsum(LENGTHS)]).astype(np.int64)
    n, m = sum(LENGTHS), len(LENGTHS)
    irregular = ("offs0 : [int; m+1]", "irregular(offs0, m, n)")
    made = {name: (cuda_kernel(name), [LENGTH, numbers(LENGTH)]) for name in FLAT}
    made |= {f"segments: {name}": (segmented_kernel(*irregular, WALKS_OF_SEGMENTS[name]),
                                   [n, m, numbers(n), numbers(m, 5), offsets]) for name in SEGMENTED}
    named = {case: f"K{at}" for at, case in enumerate(made)}
    program = program_of(made["map"][0])
    built = build_program(replace(program, kernels=tuple(replace(made[c][0], name=named[c]) for c in made)))
    text, mistakes = planted(built.text)
    return Kernels(text, tuple(built.formats), mistakes, {c: tape(built, named[c], made[c][1]) for c in made})


def watched(sanitizer: Sanitizer, kernels: Kernels, folder: Path) -> Watched:
    """Skips where there is no such sanitizer, or it does not start."""
    (folder / "empty.cpp").write_text("int main() {}")
    command = [*compiler.compiler(), *sanitizer.flags, str(folder / "empty.cpp"), "-o", str(folder / "empty")]
    for step in (lambda: subprocess.run(command, capture_output=True, text=True, check=False),
                 lambda: started([str(folder / "empty")], sanitizer)):
        done = step()
        if done.returncode != 0:
            pytest.skip(f"no {sanitizer.flags[0]} here: {(done.stderr or 'it does not start')[:300]}")
    return Watched(sanitizer, folder, kernels.text, kernels.names)


@pytest.fixture(scope="module")
def threads(kernels: Kernels, tmp_path_factory: pytest.TempPathFactory) -> Watched:
    return watched(THREADS, kernels, tmp_path_factory.mktemp("threads"))


@pytest.fixture(scope="module")
def addresses(kernels: Kernels, tmp_path_factory: pytest.TempPathFactory) -> Watched:
    return watched(ADDRESSES, kernels, tmp_path_factory.mktemp("addresses"))


@cases()
def test_no_races(threads: Watched, kernels: Kernels, case: str) -> None:
    for seed in SEEDS if case not in QUICK else SEEDS[:2]:
        assert threads.replay(kernels.tapes[case], seed) == ""


@cases(quick=("scan",))
def test_every_barrier_and_every_order_is_needed(threads: Watched, kernels: Kernels, case: str) -> None:
    unnoticed = [str(mistake) for number, mistake in kernels.mistakes_of(case)
                 if not any(threads.replay(kernels.tapes[case], seed, mistake=number) for seed in SEEDS)]
    assert unnoticed == []


@cases()
def test_no_access_outside_arrays_and_nothing_undefined(addresses: Watched, kernels: Kernels, case: str) -> None:
    assert addresses.replay(kernels.tapes[case], 1, os_threads=1) == ""
