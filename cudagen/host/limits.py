"""The limits of a run of the host level, and the bytes that its stack is counted to take."""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from nessie.base.records import dataclass
from nessie.base.system.forking import cached_property
from nessie.base.system.limits import COMMAND_LINE, LimitHints
from nessie.cudagen.host.device import MOST_ROUNDS, Array
from nessie.lambda_cu.running.default_depths import MOST_CALLS, MOST_STACK

ROUNDS_A_CALL = 1000                    # a call in tail position is a round of a loop, which holds no memory
ACTIVATION, SCALAR, HANDLE = 240, 40, 500       # bytes of the host's memory: a call, a value in it, an array's handle


@dataclass(frozen=True)
class HostLimits:
    """`depth`: calls within calls; None: what functions may by default (lambda_cu.running.default_depths), on a stack
    of MOST_STACK bytes. `memory`: bytes on the device, and of the stack; None: as much as there is; the caller has
    `held` bytes of it. `host_memory`: those of the stack alone, where the device has memory of its own. `hints` say how
    to set them. `tuning`: other values for the program's tunables. `only`: versions that choices,
    FUNCTION.BINDING, take whatever holds; by the name '' all others."""
    depth: int | None = None
    memory: int | None = None
    hints: LimitHints = COMMAND_LINE
    held: int = 0
    host_memory: int | None = None
    tuning: Mapping[str, int] = field(default_factory=dict)
    only: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def on_device(self) -> int | None:
        """Bytes that the device may take."""
        return None if self.memory is None else max(0, self.memory - self.held)

    @cached_property
    def calls(self) -> int:
        """The depth to which scalar functions may call."""
        return min(self.depth or MOST_CALLS, MOST_ROUNDS)

    @cached_property
    def rounds(self) -> int:
        """The number of rounds of a loop whose bound is not known."""
        return min(self.calls * ROUNDS_A_CALL, MOST_ROUNDS)

    @property
    def stack(self) -> int | None:
        """Bytes that the host's stack may take, whatever memory there is."""
        return MOST_STACK if self.depth is None else None


def bytes_waiting(frame: list[object]) -> int:
    """The bytes of a function that waits for one that it calls. An array's memory is counted by the device; its handle
    by those that hold it."""
    size = ACTIVATION
    for held in frame:
        if isinstance(held, Array):
            size += HANDLE // held.uses
        elif held is not None:
            size += SCALAR
    return size
