"""What a GPU's device (cudagen.cuda.device) asks of a driver."""
from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from typing import Any, Protocol

import numpy as np

from nessie.cudagen.loops.plan import THREADS, Directions
from nessie.lambda_cu.running.default_depths import Costs

Values = np.ndarray[Any, Any]


class Driver(Protocol):
    """Memory of a device by addresses, and kernels. What is asked for is done in order; `read` and `synchronise` wait
    until it is done, other calls perhaps. While one waits, other threads of Python's run, so that they can interrupt
    what it waits for. What the driver holds ends with it.
    `costs`: what the host level takes over it."""
    costs: Costs

    def interrupt_word(self) -> tuple[int, Values]:
        """Its address for kernels, and an array of the word itself, which the host reads and writes while they run."""

    def allocate(self, size: int) -> int:
        """Take so many bytes, of any content; MemoryError where there are none."""

    def free(self, address: int) -> None: ...

    def write(self, address: int, values: Values) -> None: ...

    def read(self, address: int, values: Values) -> None:
        """Fills the values, which are contiguous."""

    def copy(self, address: int, source: int, size: int) -> None:
        """Copy so many bytes from place to place on the device."""

    def fill(self, address: int, value: np.generic, count: int) -> None: ...

    def load(self, text: str, names: Sequence[str]) -> Mapping[str, Any]:
        """The kernels of these names of a text in CUDA, to be launched."""

    def launch(self, function: Any, blocks: int | Directions, arguments: bytes,
               threads: int | Directions = THREADS) -> None:
        """A kernel on so many blocks of so many threads; its arguments as a C struct of its parameters."""

    def timed(self, work: Callable[[], None]) -> float:
        """The seconds that what work() asks for takes on the device; it is waited for. 0 where these mean nothing."""

    def synchronise(self) -> None:
        """All is done that was asked for."""

    def await_others(self, streams: Set[int]) -> None:
        """Wait until other libraries' work in these streams of CUDA's is done."""

    def reaches(self, address: int) -> bool:
        """Does what another library has put there lie in this device's memory?"""
