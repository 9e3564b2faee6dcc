"""The device whose memory is that of a cluster: large arrays lie in slabs on workers, who run the chunks of kernels.

    launch      on the driver by the CPU target, if all is small (`here`); else on workers (cudagen.cluster.phases)
    upload      large arrays are cut into slabs, each a task: what a worker's death loses is made again
    gather      waits for tasks, and says whose they were if they fail

The host level runs on the driver, unchanged: scalars, branches, recursion and effects are there, once.
"""
from __future__ import annotations

import math
from collections.abc import Container, Sequence
from functools import partial
from typing import Any

import numpy as np

from nessie.base.system.forking import cached_property
from nessie.base.values import OnDevice
from nessie.cudagen.cluster.engine import Engine
from nessie.cudagen.cluster.files.hands import spread_of
from nessie.cudagen.cluster.kernels import cluster_program
from nessie.cudagen.cluster.launches import words_of
from nessie.cudagen.cluster.phases import launch
from nessie.cudagen.cluster.slabs import Spread
from nessie.cudagen.cluster.workers import ToldOfCluster, Workers
from nessie.cudagen.cpu.assemble import CpuProgram
from nessie.cudagen.cpu.device import Cpu
from nessie.cudagen.host.device import MOST_ROUNDS, NO_FAILURE, Array, ErrorWords, Held, Scalar, elements
from nessie.lambda_cu.layout import scalar
from nessie.lambda_cu.running.default_depths import MOST_CALLS

HERE = 1 << 20                  # elements that the driver does not send anywhere
WORD = 8                        # bytes of an element, at most
FEW = 4096                      # elements that go along with tasks, and stay on the driver


class Cluster(ErrorWords):
    """The device. `width`: items a chunk, if not the CPU's own; `here`: elements of a launch that stays on the driver;
    `few`: of an array that does. `quick`: code is made for few elements."""
    skips = False
    patience = math.inf
    offers: Container[str] = ()
    costs = Cpu.costs

    def __init__(self, built: CpuProgram, engine: Engine, here: int | None = None, few: int | None = None,
                 width: int | None = None, quick: bool = False, told: ToldOfCluster | None = None) -> None:
        self.here, few = HERE if here is None else here, FEW if few is None else few
        self.cpu = Cpu(built)
        self.stats = self.cpu.stats
        self.told = told or ToldOfCluster()
        self.interrupt_word = self.cpu.interrupt_word
        self.engine, self.few = engine, few
        self.code = partial(cluster_program, built, width, quick)
        self.busy: Workers | None = None        # once there is something to do for them

    @cached_property
    def workers(self) -> Workers:
        """The workers, who get the code when there is something to do for them."""
        workers = Workers(self.engine, self.code(), self.cpu, self.few, self.told)
        self.busy = workers
        return workers

    @property
    def progress(self) -> str:
        """What is waited for."""
        return self.busy.progress if self.busy else ""

    def attempt(self, host: Any, values: Sequence[Held]) -> tuple[Any, list[Held]] | None:
        """Calls with little are done here by native code, once the host level has had work enough."""
        if elements(values) > self.here:
            return None
        run = self.cpu.native(host)
        if run is None:
            return None
        run.most = self.here * WORD
        return run, [self.to_here(value) for value in values]

    def optimise(self) -> None:
        """Its code is the best from the beginning."""

    def begin(self, memory: int | None, rounds: int = MOST_ROUNDS, depth: int = MOST_CALLS) -> None:
        self.cpu.begin(memory, rounds, depth)
        if self.busy:
            self.busy.begin()

    def failure(self) -> int:
        return min(self.busy.least if self.busy else NO_FAILURE, self.cpu.failure())

    # Arrays ---------------------------------------------------------------------------------

    def upload(self, base: str, values: np.ndarray[Any, Any] | OnDevice) -> Array:
        if isinstance(values, OnDevice):
            there = values if values.base == base else self.workers.hands.cast(values, base)
            return Array(base, len(values), spread_of(there))
        return self.cpu.upload(base, values)

    def left(self, array: Array) -> np.ndarray[Any, Any] | OnDevice:
        """A result that stays where it is, if workers have it."""
        if isinstance(array.buffer, Spread):
            return OnDevice(array.base, array.length, 0, array.buffer)
        return self.download(array)

    def to_here(self, array: Any) -> Any:
        if isinstance(array, Array) and isinstance(array.buffer, Spread):
            return self.cpu.upload(array.base, self.workers.download(array.buffer))
        return array

    def download(self, array: Array) -> np.ndarray[Any, Any]:
        if isinstance(array.buffer, Spread):
            return self.workers.download(array.buffer)
        return self.cpu.download(array)

    def read(self, array: Array, index: int) -> Scalar:
        if not isinstance(array.buffer, Spread):
            return self.cpu.read(array, index)
        found: Scalar = scalar(self.workers.elements(array.buffer, np.array([index]))[0], array.base)
        return found

    def offsets(self, array: Array) -> np.ndarray[Any, Any] | None:
        return None if isinstance(array.buffer, Spread) else self.cpu.offsets(array)

    def free(self, array: Array) -> None:
        if isinstance(array.buffer, Spread):
            array.buffer = Spread(array.base, 0)
        else:
            self.cpu.free(array)

    def used(self) -> int:
        return self.cpu.used()

    # Launching ------------------------------------------------------------------------------

    def launch(self, kernel: str, arguments: Sequence[Any], spare: Container[int]) -> Sequence[Any]:
        launcher = self.cpu.launchers[kernel]
        if self.is_small(launcher, arguments):
            self.told.here[kernel] += 1
            local = [self.to_here(argument) for argument in arguments]
            results = self.cpu.launch(kernel, local, ())
            for argument, there in zip(arguments, local, strict=True):
                if there is not argument:
                    self.cpu.free(there)
            return results
        results, elements = launch(self.workers, kernel, arguments)
        self.stats.count(elements)
        return results

    def is_small(self, launcher: Any, arguments: Sequence[Any]) -> bool:
        """Does the driver do it alone?"""
        if sum([a.length for a in arguments if isinstance(a, Array)]) > self.here:
            return False
        elements: int = launcher.elements(words_of(launcher, arguments), launcher.cells())
        return elements <= self.here
