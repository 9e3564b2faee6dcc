"""Walks by owners of segments, on cudasim: at each level each primitive, in each kind of space, does what the kernel's
bindings do one after another."""
from __future__ import annotations

from typing import Any

import pytest
from built import gpu_code, gpu_device
from kernel_runs import Meaning
from owner_kernels import CLOSED, LENGTHS, LEVELS, NAMES, UNIFORM, arguments, owner_kernel, owner_program
from test_cubins import ARCHITECTURES, NVRTC
from test_gpu import launch

from nessie.cudagen.cuda.cudasim import compiler
from nessie.cudagen.cuda.cudasim.driver import Cudasim
from nessie.cudagen.cuda.link import GpuProgram
from nessie.cudagen.cuda.nvidia.compiler import assembled
from nessie.cudagen.skeletons.owners import walk
from nessie.lambda_cu.check import check_kernel

pytestmark = pytest.mark.skipif(not compiler.found(), reason="there is no C++ compiler")
CASES = {"irregular": LENGTHS, "uniform": UNIFORM, "closed": CLOSED}


@pytest.fixture(scope="module", params=LEVELS)
def built(request: pytest.FixtureRequest) -> tuple[str, GpuProgram]:
    with pytest.MonkeyPatch.context() as small:
        small.setattr(walk, "MOST_BLOCKS", 2)           # so that owners have several segments
        return request.param, gpu_code(owner_program((request.param,)))


@pytest.mark.sampled(quick=4, ci=2)
@pytest.mark.parametrize("space, name", NAMES)
def test_owners_walk_segments(built: tuple[str, GpuProgram], space: str, name: str) -> None:
    level, program = built
    kernel = owner_kernel(level, space, name)
    for seed, lengths in enumerate(CASES[space]):
        given: list[Any] = arguments(space, lengths)
        meaning = Meaning(kernel, given)
        results, failed = launch(gpu_device(program, Cudasim(2, seed)), kernel.name, given)
        assert failed == meaning.failed, lengths
        assert failed < 2**63 - 1 or results == meaning.results, lengths


@NVRTC
@pytest.mark.sampled(quick=4, ci=4)
@pytest.mark.parametrize("architecture", ARCHITECTURES)
@pytest.mark.parametrize("level", LEVELS)
def test_none_spills(level: str, architecture: str) -> None:
    found = assembled(gpu_code(owner_program((level,))).text, architecture)
    assert found.warnings == ()
    assert len(found.usages) == len(NAMES)
    for usage in found.usages:
        assert (usage.spill_stores, usage.spill_loads, usage.stack) == (0, 0, 0), usage


def test_the_kernels_are_well_formed() -> None:
    for level in LEVELS:
        for space, name in NAMES:
            check_kernel(owner_kernel(level, space, name), {}, {"s0", "s1", "s2", "s3"})
