"""A driver and a device that count: what kernels do to memory, and what the host asks of the driver.

    driver = Counting(counted(module).points)
    gpu = CountingGpu(built, driver)            `built`, whose text is that of counted(module)
    ...                                         it runs
    driver.accesses()                           an Access for each point that was reached
    driver.calls["K1", "fills"]                 of the driver, while K1 was carried out; "" is between kernels

Blocks run one after another in their order, and arrays begin where the GPU's would, so that all counts are the same
again each time.
"""
from __future__ import annotations

import ctypes
from collections import Counter
from collections.abc import Container, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from nessie.base.records import dataclass
from nessie.cudagen.cuda.cudasim import compiler
from nessie.cudagen.cuda.cudasim.counted import Point
from nessie.cudagen.cuda.cudasim.driver import GARBAGE, Cudasim
from nessie.cudagen.cuda.device import Gpu
from nessie.cudagen.cuda.link import GpuProgram
from nessie.cudagen.host.memory import address_of
from nessie.cudagen.loops.plan import THREADS, Directions

ALIGNED = 256                   # bytes: the GPU's arrays begin at multiples of it
LAUNCHES, FILLS, COPIES, READS, WRITES, TAKEN = CALLS = ("launches", "fills", "copies", "reads", "writes",
                                                         "allocations")
SECTOR = 32                     # bytes


@dataclass(frozen=True)
class Access:
    """What the launches of a function did at a point. Of its requests, which are a warp's accesses: how many `lanes`
    took part, how many different bytes they `asked` for; how many sectors or bank ways they took, and how many are the
    least for so many bytes. `met`: of a barrier, how many blocks met there."""
    launched: str
    point: Point
    requests: int
    lanes: int
    asked: int
    sectors: int
    least_sectors: int
    ways: int
    least_ways: int
    met: int

    @property
    def moved(self) -> int:
        """Bytes."""
        return self.sectors * SECTOR


FIELDS = 8                      # numbers of a point, as counters.cpp has them: those of an Access


class Counting(Cudasim):
    """`kernel`: the one that is being carried out."""

    def __init__(self, points: Sequence[Point]) -> None:
        super().__init__(threads=1, seed=0)
        self.points = points
        self.kernel = ""
        self.calls: Counter[tuple[str, str]] = Counter()
        self.sums: dict[str, np.ndarray[Any, Any]] = {}         # by functions
        self.count = compiler.counters().cudasim_count

    def accesses(self) -> Iterator[Access]:
        for launched, sums in self.sums.items():
            for point, numbers in zip(self.points, sums.tolist(), strict=True):
                if any(numbers):
                    yield Access(launched, point, *numbers)

    def noted(self, what: str) -> None:
        self.calls[self.kernel, what] += 1

    def allocate(self, size: int) -> int:
        self.noted(TAKEN)
        storage = np.full(size + ALIGNED, GARBAGE, np.uint8)
        address = -(-address_of(storage) // ALIGNED) * ALIGNED
        self.memory[address] = storage
        return address

    def write(self, address: int, values: np.ndarray[Any, Any]) -> None:
        self.noted(WRITES)
        super().write(address, values)

    def read(self, address: int, values: np.ndarray[Any, Any]) -> None:
        self.noted(READS)
        super().read(address, values)

    def copy(self, address: int, source: int, size: int) -> None:
        self.noted(COPIES)
        super().copy(address, source, size)

    def fill(self, address: int, value: np.generic, count: int) -> None:
        self.noted(FILLS)
        super().write(address, np.full(count, value))

    def load(self, text: str, names: Sequence[str]) -> Mapping[str, tuple[str, Any]]:
        library = compiler.library(text, names, counted=True)
        return {name: (name, getattr(library, f"cudasim_run_{name}")) for name in names}

    def launch(self, function: tuple[str, Any], blocks: int | Directions, arguments: bytes,
               threads: int | Directions = THREADS) -> None:
        self.noted(LAUNCHES)
        sums = self.sums.setdefault(function[0], np.zeros((len(self.points), FIELDS), np.int64))
        self.count(ctypes.c_void_p(address_of(sums)))
        try:
            super().launch(function, blocks, arguments, threads)
        finally:
            self.count(None)


class CountingGpu(Gpu):
    """A device that tells its driver which kernel it carries out."""
    driver: Counting

    def __init__(self, built: GpuProgram, driver: Counting, limit: int | None = None) -> None:
        super().__init__(built, driver, limit)

    def launch(self, kernel: str, arguments: Sequence[Any], spare: Container[int] = ()) -> list[Any]:
        self.driver.kernel = kernel
        try:
            return super().launch(kernel, arguments, spare)
        finally:
            self.driver.kernel = ""
