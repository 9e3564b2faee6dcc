"""Times the kernels of a compiled program on the processor: the quickest of some runs on one device."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from nessie.cudagen.cpu.assemble import CpuProgram
from nessie.running.ready import Ready
from nessie.running.targets import Target


def quickest(target: Target, built: CpuProgram, arguments: Sequence[Any], runs: int) -> float:
    """Seconds that the kernels of the quickest run take, without compiling. The program may be for certain sizes."""
    ready = Ready(target, built, arguments, detailed=True, decided=True)
    return min([sum([record.seconds for record in ready.kernels_of_run().values()]) for _ in range(runs)])
