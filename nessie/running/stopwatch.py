"""Times the kernels of a compiled program on the processor: the quickest of some runs on one device. From the second
run on, the device reuses its buffers. Fresh memory would take as long as the work done in it.
"""
from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from nessie.cudagen.cpu import device as cpu
from nessie.cudagen.cpu.assemble import CpuProgram
from nessie.cudagen.host import host
from nessie.running.targets import Target


def quickest(target: Target, built: CpuProgram, arguments: Sequence[Any], runs: int) -> float:
    """Seconds that the kernels of the quickest run take, without compiling."""
    device = cpu.Cpu(built, target.threads)
    device.stats.detailed = True
    device.optimise()
    memory = target.memory()
    found, before = [], 0.0
    for _ in range(runs):
        target.world.limit(memory, target.limits.hints)
        limits = host.HostLimits(target.limits.depth, memory, target.limits.hints)
        target.in_time(partial(host.execute, built.program, built.host, arguments, device, limits,
                               perform=target.world.perform))
        total = sum(record.seconds for record in device.stats.kernels.values())
        found.append(total - before)
        before = total
    return min(found)
