"""A compiled program on one device, with its arguments, to be run again and again.

    ready = Ready(target, built, arguments)
    ready.run()                         the run-time value of the program's entry, each time anew

From the second run on, the device reuses its buffers: fresh memory would take as long as the work done in it. Each run
begins with the same random numbers.
"""
from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu.running.stats import KernelStats, Stats
from nessie.running.targets import Target

if TYPE_CHECKING:
    from nessie.driver import Built


class Ready:
    """`detailed`: its kernels are counted and timed, one by one, and its host level runs in Python. `decided`: it is
    compiled for sizes that may have decided what a tuning file names."""

    def __init__(self, target: Target, built: Built, arguments: Sequence[Any], detailed: bool = False,
                 decided: bool = False) -> None:
        self.target, self.built, self.arguments = target, built, arguments
        self.memory, self.seed = target.memory(), target.world.seed
        self.stats = Stats(detailed=detailed)
        if not isinstance(built, ir.Program):
            self.device, self.limits = target.warm_device(built), target.host_limits(built, self.memory, decided)
            self.device.stats = self.stats

    @property
    def program(self) -> ir.Program:
        return self.built if isinstance(self.built, ir.Program) else self.built.program

    def run(self) -> Any:
        self.target.world.seed = self.seed
        self.target.world.limit(self.memory, self.target.limits.hints)
        return self.target.in_time(self.execute)

    def execute(self) -> Any:
        target, built = self.target, self.built
        if isinstance(built, ir.Program):
            from nessie.lambda_cu.reference import reference
            limits = reference.EvaluationLimits(target.limits.depth, self.memory, target.limits.hints, target.held)
            return reference.execute(built, self.arguments, limits, self.stats, target.perform)
        from nessie.cudagen.host import host
        return host.execute(built.program, built.host, self.arguments, self.device, self.limits,
                            perform=target.perform)

    def kernels_of_run(self) -> dict[str, KernelStats]:
        """What each kernel did in one more run, by name."""
        self.stats.kernels.clear()
        self.run()
        return dict(self.stats.kernels)
