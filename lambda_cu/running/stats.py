"""The counts that every executor keeps of a run's cost. docs/cost.md describes them."""
from __future__ import annotations

from dataclasses import field

from nessie.base.records import dataclass


@dataclass
class KernelStats:
    """The counts of one kernel: `bytes` that its launches moved (lambda_cu.running.traffic); `seconds` that they took,
    where this is meaningful."""
    launches: int = 0
    elements: int = 0
    bytes: int = 0
    seconds: float = 0.0


@dataclass
class Stats:
    """The kernels launched, the elements that they walked, and the statements of the host level. `kernels`, by name,
    are counted only if `detailed`, which takes `counting` seconds. `calls`: the running functions, outermost first."""
    launches: int = 0
    elements: int = 0
    steps: int = 0
    detailed: bool = False
    counting: float = 0.0
    kernels: dict[str, KernelStats] = field(default_factory=dict)
    calls: list[str] = field(default_factory=list)

    def count(self, elements: int) -> None:
        """Count a launch."""
        self.launches += 1
        self.elements += elements

    def count_kernel(self, name: str, elements: int, bytes: int, seconds: float = 0.0) -> None:
        """Count the same launch in detail."""
        record = self.kernels.setdefault(name, KernelStats())
        record.launches += 1
        record.elements += elements
        record.bytes += bytes
        record.seconds += seconds
