"""A program on a GPU whose arguments lie there too, to be run again and again; results stay on the device."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from nessie.base.values import DTYPES, Flat, Nested, OnDevice, Uniform
from nessie.cudagen.cuda.device import Gpu
from nessie.cudagen.cuda.driver import Driver
from nessie.cudagen.cuda.link import GpuProgram
from nessie.cudagen.cuda.nvidia.driver import Nvidia
from nessie.cudagen.host import host

BASES = {dtype: base for base, dtype in DTYPES.items()}


class Clocked(Nvidia):
    """A GPU whose kernels are timed by events of its own, one before and one after each, while `events` is a list."""
    events: list[tuple[Any, Any]] | None = None

    def launch(self, *what: Any) -> None:
        if self.events is None:
            super().launch(*what)
            return
        with self.context.asking() as cuda:
            began, ended = cuda.Event(), cuda.Event()
            began.record()
            super().launch(*what)
            ended.record()
        self.events.append((began, ended))

    def seconds_in_kernels(self, work: Callable[[], None]) -> float:
        """Of all launches that `work` makes, without what the host takes between them."""
        self.events = []
        work()
        self.synchronise()
        with self.context:
            seconds = sum([began.time_till(ended) for began, ended in self.events]) / 1e3
            self.events = None                  # they end where their context is current
        return seconds


class Resident:
    """`arguments`: the entry's, as flat values. Its memory is free again after `close`."""

    def __init__(self, built: GpuProgram, driver: Driver, arguments: Sequence[Any], memory: int) -> None:
        self.built, self.limits = built, host.HostLimits(memory=memory)
        self.device = Gpu(built, driver, memory)
        self.given = [each_array(value, self.put) for value in arguments]
        self.result: Any = None

    def put(self, array: np.ndarray) -> OnDevice:
        return self.device.left(self.device.upload(BASES[array.dtype], array))

    def run(self) -> None:
        """One call of the entry; what the one before gave is dropped. Returns when the GPU has done it."""
        self.result = None
        self.result = host.execute(self.built.program, self.built.host, self.given, self.device, self.limits,
                                   deliver=self.device.left)

    def value(self) -> Any:
        """What the last run gave, as a flat value."""
        return each_array(self.result, self.fetched)

    def fetched(self, place: OnDevice) -> np.ndarray:
        values = np.empty(place.length, place.dtype)
        if place.length:
            self.device.driver.read(place.address, values)
        return values

    def counted(self) -> tuple[int, int]:
        """The launches of a run, and the bytes that they move (lambda_cu.running.traffic)."""
        stats = self.device.stats
        stats.kernels.clear()
        stats.detailed, before = True, stats.launches
        self.run()
        stats.detailed = False
        return stats.launches - before, sum(kernel.bytes for kernel in stats.kernels.values())

    def close(self) -> None:
        self.result, self.given = None, []
        self.device.memory.trim()


def each_array(value: Any, change: Callable[[Any], Any]) -> Any:
    """The flat value with its arrays changed."""
    match value:
        case Flat(length, column):
            return Flat(length, each_array(column, change))
        case Uniform():
            return value.over(each_array(value.content, change))
        case Nested(offsets, content):
            return Nested(change(offsets), each_array(content, change))
        case (first, second):
            return each_array(first, change), each_array(second, change)
    return change(value) if isinstance(value, np.ndarray | OnDevice) else value


def leaves(value: Any) -> list[Any]:
    """The arrays of scalars that a flat value holds, without offsets; a scalar as itself."""
    match value:
        case Flat(_, column):
            return leaves(column)
        case Nested():
            return leaves(value.content)
        case (first, second):
            return leaves(first) + leaves(second)
    return [value]
