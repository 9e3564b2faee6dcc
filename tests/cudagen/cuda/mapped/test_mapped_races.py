"""Walks by mappings have no races, and each barrier of the sums of their blocks is needed: as test_races.py tests the
walks that kernels have by default."""
from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from built import gpu_code
from kernel_runs import program_of
from sanitizers import Watched
from taped import Kernels, planted, tape
from test_mapped import KERNELS

from nessie.cudagen.cuda.cudasim import compiler
from nessie.lambda_cu.mappings.text import parse_mapping
from nessie.lambda_cu.text.parser import parse_kernel

pytestmark = pytest.mark.skipif(not compiler.found(), reason="there is no C++ compiler")

SHAPE = (40, 33)                # of two axes
CASES = {"a block of one direction": "GridBlock(1, SplitLast(64, FoldLast2(Gen)))",
         "of two": "GridBlock(2, Permute([0, 2, 1, 3], Split(0, 8, SplitLast(4, Gen))))",
         "of three": "GridBlock(3, Permute([0, 2, 1, 3], Split(0, 8, SplitLast(4, Gen))))",
         "as long as an axis": "GridBlock(1, Gen)",
         "with a loop": "Levels([block, serial], Permute([1, 0], Gen))"}
SAMPLED = [pytest.param(case, marks=() if case == "of two" else pytest.mark.sampled(quick=0, ci=2)) for case in CASES]
SEEDS = (1, 2)


@pytest.fixture(scope="module")
def kernels(running: set[tuple[str, ...]]) -> Kernels:
    n, m = SHAPE
    given = [n, m, n * m, np.random.default_rng(1).integers(-9, 9, n * m)]
    kernel = parse_kernel(KERNELS["summed"].replace("MAPPING", CASES["of two"]))
    named = {case: replace(kernel, name=f"K{at}", by=parse_mapping(text)) for at, (case, text) in
             enumerate(CASES.items()) if (case,) in running}
    built = gpu_code(replace(program_of(kernel), kernels=tuple(named.values())))
    text, mistakes = planted(built.text)
    return Kernels(text, tuple(built.formats), mistakes,
                   {case: tape(built, kernel.name, given) for case, kernel in named.items()})


@pytest.mark.parametrize("case", SAMPLED)
def test_no_races(threads: Watched, kernels: Kernels, case: str) -> None:
    assert kernels.races(threads, case, SEEDS) == []


@pytest.mark.parametrize("case", SAMPLED)
def test_every_barrier_is_needed(threads: Watched, kernels: Kernels, case: str) -> None:
    """Of each of the two REDUCEs there are two: behind what is left for others, and behind what is read of them."""
    mistakes = kernels.mistakes_of(case)
    assert sum(mistake.kernel.endswith("_sweep") for _, mistake in mistakes) == 4
    assert kernels.unnoticed(threads, case) == []


@pytest.mark.parametrize("case", SAMPLED)
def test_no_access_outside_arrays_and_nothing_undefined(addresses: Watched, kernels: Kernels, case: str) -> None:
    assert kernels.wrong_accesses(addresses, case) == ""
