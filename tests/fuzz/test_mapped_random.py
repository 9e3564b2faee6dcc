"""Random programs whose kernels have mappings, wherever one can walk them: what shares launches computes the same."""
from __future__ import annotations

import random
from dataclasses import replace

import pytest
from amounts import examples
from executors import Compiled, agree, outcome
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from random_programs import RandomProgram, programs, sharing_programs
from schedule_programs import random_program
from test_owned_programs import fused
from test_schedule_random import compared

from nessie.cudagen.cuda.cudasim import compiler
from nessie.cudagen.generate import generate
from nessie.cudagen.loops.check import check as check_loops
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu.mappings.kernels import in_threads, why_not, with_mapping
from nessie.lambda_cu.mappings.nodes import Strategy

STRATEGIES = ("FoldAll", "JingExt", "none")


def mapped(program: ir.Program, rng: random.Random) -> ir.Program:
    """Each kernel that can is walked by a strategy, or none."""
    def walked(kernel: ir.Kernel) -> ir.Kernel:
        strategy = Strategy(rng.choice(STRATEGIES))
        return with_mapping(kernel, strategy) if why_not(replace(kernel, by=strategy)) is None else kernel
    return replace(program, kernels=tuple(map(walked, program.kernels)))


@pytest.mark.skipif(not compiler.found(), reason="there is no C++ compiler")
@settings(max_examples=examples(8), deadline=None, suppress_health_check=list(HealthCheck))
@given(st.one_of(programs(3), sharing_programs(2)), st.integers(0, 99))
def test_mapped_kernels_compute_what_the_reference_does(program: RandomProgram, seed: int) -> None:
    compiled = Compiled(program.source, target="cuda")
    compiled.fused["mapped"] = fused(mapped(compiled.flat, random.Random(seed)))
    expected, found = [outcome(compiled, executor, program.arguments)
                       for executor in ("reference none", "cudasim mapped")]
    assert agree(expected, found)


def test_schedules_of_mapped_kernels() -> None:
    """Schedules are certified, fused programs are well formed and mean the same, and have code."""
    together = 0
    for seed in range(40):
        program = mapped(random_program(seed, 8), random.Random(seed))
        _, found = compared(program, seed)
        for made in found:
            together += sum(in_threads(kernel) and len(kernel.merged) > 1 for kernel in made.kernels)
        check_loops(generate(replace(found[0], kernels=tuple(filter(in_threads, found[0].kernels))), "cuda"))
    assert together > 10
