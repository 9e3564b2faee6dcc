"""A program on a GPU whose arguments lie there too, to be run again and again; results stay on the device."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from nessie.base.effects import no_effects
from nessie.base.values import Flat, Nested
from nessie.cudagen.device import Array, Held
from nessie.cudagen.gpu import Driver, Gpu
from nessie.cudagen.host import BASES, Host, Limits, Stats
from nessie.cudagen.instructions import translate
from nessie.lambda_cu import ir
from nessie.lambda_cu.layout import from_names, to_names


class Resident:
    """`arguments`: the entry's, as flat values. Its memory is free again after `close`."""

    def __init__(self, program: ir.Program, driver: Driver, arguments: Sequence[Any], memory: int) -> None:
        self.program, self.memory = program, memory
        self.device, self.codes = Gpu(program, driver, memory), translate(program)
        names = [name for value, layout in zip(arguments, program.entry.arguments, strict=True)
                 for name in to_names(value, layout)]
        self.given = [self.uploaded(value) for value in names]
        self.results: list[Held] = []

    def uploaded(self, value: Any) -> Held:
        if not isinstance(value, np.ndarray):
            held: Held = value
            return held
        array = self.device.upload(BASES[value.dtype], value)
        array.uses = 1
        return array

    def run(self) -> None:
        """One call of the entry; what the one before gave is dropped. Returns when the GPU has done it."""
        self.drop()
        self.device.begin(self.memory)
        host = Host(self.program, self.codes, self.device, Limits(memory=self.memory), Stats(), no_effects)
        try:
            host.enter(self.codes[self.program.entry.function], self.given, (), ())
            self.results = host.run()
            self.device.synchronise()
        finally:
            host.release_all()

    def value(self) -> Any:
        """What the last run gave, as a flat value."""
        return from_names([self.device.download(r) if isinstance(r, Array) else r for r in self.results],
                          self.program.entry.result)

    def counted(self) -> tuple[int, int]:
        """The launches of a run, and the bytes that they move (lambda_cu.traffic)."""
        stats = self.device.stats
        stats.kernels.clear()
        stats.detailed, before = True, stats.launches
        self.run()
        stats.detailed = False
        return stats.launches - before, sum(kernel.bytes for kernel in stats.kernels.values())

    def drop(self) -> None:
        for result in self.results:
            if isinstance(result, Array):
                result.uses -= 1
                if result.uses == 0:
                    self.device.free(result)
        self.results = []

    def close(self) -> None:
        self.drop()
        for array in self.given:
            if isinstance(array, Array):
                self.device.free(array)
        self.device.memory.trim()


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
