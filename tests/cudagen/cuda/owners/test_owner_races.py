"""Walks by owners of segments have no races, and each barrier of an owner is needed: as test_races.py tests the walks
of all segments together."""
from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from built import gpu_code
from kernel_runs import program_of
from owner_kernels import owner_kernel
from sanitizers import Watched
from taped import Kernels, planted, tape

from nessie.cudagen.cuda.cudasim import compiler
from nessie.cudagen.skeletons.owners import walk

pytestmark = pytest.mark.skipif(not compiler.found(), reason="there is no C++ compiler")

LENGTHS = [3, 0, 0, 700, 40, 1, 0, 33, 9, 17, 8, 0, 0, 5, *[13] * 20, 300, 0, 260, 0, 1100, 2]
NAMES = ("reduce", "several sums", "sum in order", "scan", "scans of scans", "softmax", "sort", "sort, then look",
         "permute", "reversed", "neighbours", "filter")
LEVELS = ("block", "warp", "sub4")
CASES = [(level, name) for level in LEVELS for name in NAMES]
SAMPLED = [pytest.param(*case, marks=() if case == ("sub4", "reversed") else pytest.mark.sampled(quick=0, ci=8))
           for case in CASES]
SEEDS = (1, 2)


@pytest.fixture(scope="module")
def kernels(running: set[tuple[str, ...]]) -> Kernels:
    n, m = sum(LENGTHS), len(LENGTHS)
    offsets = np.concatenate([[0], np.cumsum(LENGTHS)]).astype(np.int64)
    rng = np.random.default_rng(1)
    given = [n, m, rng.integers(-4, 5, n), rng.integers(-4, 5, m), offsets]
    made = {case: owner_kernel(case[0], "irregular", case[1]) for case in CASES if case in running}
    with pytest.MonkeyPatch.context() as small:
        small.setattr(walk, "MOST_BLOCKS", 2)           # so that each owner has several segments
        built = gpu_code(replace(program_of(next(iter(made.values()))), kernels=tuple(made.values())))
    text, mistakes = planted(built.text)
    return Kernels(text, tuple(built.formats), mistakes,
                   {" ".join(case): tape(built, kernel.name, given) for case, kernel in made.items()})


@pytest.mark.parametrize("level, name", SAMPLED)
def test_no_races(threads: Watched, kernels: Kernels, level: str, name: str) -> None:
    assert kernels.races(threads, f"{level} {name}", SEEDS) == []


@pytest.mark.parametrize("level, name", SAMPLED)
def test_every_barrier_is_needed(threads: Watched, kernels: Kernels, level: str, name: str) -> None:
    assert kernels.unnoticed(threads, f"{level} {name}") == []


@pytest.mark.parametrize("level, name", SAMPLED)
def test_no_access_outside_arrays_and_nothing_undefined(addresses: Watched, kernels: Kernels, level: str,
                                                        name: str) -> None:
    assert kernels.wrong_accesses(addresses, f"{level} {name}") == ""
