"""Random programs on a real GPU, or on cudasim, as tests/gpu/test_on_gpu.py says: the same ones every time."""
from __future__ import annotations

from collections.abc import Callable

import executors
import pytest
from amounts import examples
from built import gpu_device
from executors import Compiled

from nessie.cudagen.cuda.driver import Driver

pytest.importorskip("hypothesis", reason="hypothesis, which makes them, is not installed")

from hypothesis import HealthCheck, Phase, given, seed, settings
from random_programs import RandomProgram, programs

few = settings(max_examples=examples(8), database=None, phases=[Phase.generate],
               suppress_health_check=list(HealthCheck))


@pytest.mark.parametrize("number", range(8))
@pytest.mark.slow
def test_random_programs(new_driver: Callable[[], Driver], number: int) -> None:
    @seed(number)
    @few
    @given(programs(5))
    def agrees(random: RandomProgram) -> None:
        program = Compiled(random.source, target="cuda")
        expected = executors.interpreted(program, random.arguments)
        for fuse in ("none", "ilp"):
            program.devices[f"gpu {fuse}"] = gpu_device(program.executable(fuse), new_driver())
            found = executors.outcome(program, f"gpu {fuse}", random.arguments)
            assert executors.agree(expected, found), f"{fuse}: {found}, not {expected}\n{random}"
            expected = found            # it knows more of a failure than the interpreter

    agrees()
