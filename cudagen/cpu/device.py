"""The CPU target: a program's plans carried out, its kernels launched on threads.

    Cpu(built)      a device (cudagen.host.device) whose kernels are those of a CpuProgram
    launch          packs arguments into words, takes memory for each phase, runs its chunks, unpacks results

What can be known of a kernel before its arguments is worked out when the device is made (`Launcher`): a launch on few
elements is a few microseconds of Python.

Code comes in two editions, which compute the same bits: a program is built quickly at first, since most kernels of most
programs see little data; a kernel's first launch on more chunks than one thread does alone has its functions optimised,
and so have its launches on fewer, once the quick edition has taken too long in all.
"""
from __future__ import annotations

import ctypes
import math
import os
from collections.abc import Container, Sequence, Set
from time import perf_counter
from typing import TYPE_CHECKING, Any
from weakref import finalize

import numpy as np

from nessie.base.records import dataclass
from nessie.base.system.disk_cache import cached, find
from nessie.base.system.forking import STEADY
from nessie.base.values import DTYPES, OnDevice
from nessie.cudagen.cpu import machine_code as building
from nessie.cudagen.cpu.assemble import CpuProgram
from nessie.cudagen.cpu.sorting import SORTS
from nessie.cudagen.cpu.threads.pool import Pool, shared_pool
from nessie.cudagen.host.device import ERROR_WORDS, MOST_ROUNDS, NO_FAILURE, STACK, Array, Scalar
from nessie.cudagen.host.launching import (
    PACKERS,
    UNPACKERS,
    Launcher,
    Launches,
    Size,
    Taken,
    shortened,
    size_function,
    take,
)
from nessie.cudagen.host.memory import Block, Memory, address_of, view
from nessie.cudagen.host.nodes import Invoke
from nessie.cudagen.loops import nodes as loops
from nessie.cudagen.loops.plan import ArrayResult, Phase, Plan
from nessie.lambda_cu.layout import scalar
from nessie.lambda_cu.running.default_depths import MOST_CALLS

if TYPE_CHECKING:
    from nessie.cudagen.native.running import Edition, Run

ENTRY = ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p)
FEW = 3                         # chunks that are not worth a second thread
PATIENCE = 300                  # statements and runs before the host level gets a native edition
MANY = 12                       # instructions of a host level without calls that are worth one
WORTH = 0.02                    # seconds for each kernel in code that is not optimised, before it is
STACK_A_CALL = 4096             # bytes for each call that may nest: more than most functions take
LEAST_STACK = 64 << 20
LARGE = 1 << 20                 # bytes of an array that one thread fills
MARGIN = 8 << 20                # bytes of a stack that are left to what recursion itself calls


class Cpu(Launches):
    """A device that runs the program's kernels. `limit`: bytes of memory."""

    def __init__(self, built: CpuProgram, threads: int | None = None, limit: int | None = None) -> None:
        self.built = built
        self.functions = load(self.built.code, self.built.names)
        self.quick = frozenset(self.built.names)         # the functions that are not optimised
        self.memory = Memory(limit)
        self.pool = shared_pool(threads or os.cpu_count() or 1)
        self.deep_pool: Pool | None = None      # for recursion
        self.patience = PATIENCE if chains(built) else math.inf
        self.runs = 0
        self.edition: Edition | None = None     # the host level in native code
        self.errors, self.interrupt_word = (ctypes.c_int64 * len(ERROR_WORDS))(), (ctypes.c_int64 * 1)()
        unbounded, recursive = self.built.unbounded, self.built.recursive
        self.asked = False                      # whether the disk has the text optimised
        launchers: dict[str, CpuLauncher] = {}
        for plan in reversed(self.built.plans):     # what a plan names stands behind it
            alone = None if plan.alone is None else launchers[plan.alone.plan]
            launchers[plan.name] = CpuLauncher(plan, plan.name in unbounded, plan.name in recursive, alone)
        super().__init__(self.built.program, launchers)
        self.begin(limit)

    def optimise(self, plan: Plan | None = None) -> None:
        """Run the optimised edition from now on: of the plan's functions, or of all."""
        wanted = self.quick if plan is None else self.quick.intersection([phase.function for phase in plan.phases])
        if wanted:
            with STEADY:
                self._optimise(wanted, plan is None or self.kept())

    def _optimise(self, wanted: Set[str], whole: bool) -> None:
        wanted = self.quick if whole else wanted
        text = self.built.text if whole else building.piece(self.built.text, [f"{name}.call" for name in wanted])
        code = cached(text, building.fingerprint(), building.build)
        self.functions = {**self.functions, **load(code, sorted(wanted))}
        self.quick -= wanted

    def native(self, host: Any) -> Run | None:
        """What runs the host level, once it has had work enough; not where somebody wants to know of each launch."""
        if self.stats.detailed or self.runs + self.stats.launches + host.stats.steps <= self.patience:
            return None
        tunables = {} if host.limits.only else host.tunables
        if self.edition is None or self.edition.tunables != tunables:
            with STEADY:
                from nessie.cudagen.native.running import Edition  # a short run does without
            self.edition = Edition(self, host.calls.circles, tunables)
        self.consider(self.edition.seconds)
        return self.edition.run(host)

    def consider(self, seconds: float) -> None:
        """Have the code optimised if it has been, or if so many seconds were spent in the quick edition."""
        if self.quick and (seconds > WORTH * len(self.built.plans) or (seconds == 0.0 and self.kept())):
            self.optimise()

    def kept(self) -> bool:
        """Has the text been optimised before? The disk is asked once."""
        asked, self.asked = self.asked, True
        return not asked and find(f"{building.fingerprint()}\n{self.built.text}") is not None

    def begin(self, memory: int | None, rounds: int = MOST_ROUNDS, depth: int = MOST_CALLS) -> None:
        self.memory.limit = memory
        self.runs += 1
        self.errors[:], self.interrupt_word[0] = [NO_FAILURE, rounds, depth, 0, 0], 0
        self.close_deep_pool()
        most = depth * STACK_A_CALL if memory is None else min(depth * STACK_A_CALL, memory // self.pool.threads)
        self.stack = max(LEAST_STACK, most)

    def deep(self, workers: int) -> Pool:
        """Threads for recursion, so many at least; the stack that they have is known then."""
        if self.deep_pool is None:
            self.deep_pool = Pool(self.pool.threads, self.stack)
            finalize(self, self.deep_pool.close)
        self.deep_pool.start(workers)
        self.errors[STACK] = self.deep_pool.stack - MARGIN
        return self.deep_pool

    def close_deep_pool(self) -> None:
        if self.deep_pool is not None:
            self.deep_pool.close()
            self.deep_pool = None

    def upload(self, base: str, values: np.ndarray[Any, Any] | OnDevice) -> Array:
        """The values where they lie, if they are contiguous: nothing writes to a kernel's inputs."""
        if isinstance(values, OnDevice):
            raise TypeError("an array of a GPU, on the CPU")
        if values.dtype is not DTYPES[base] or not values.flags.c_contiguous:
            values = np.ascontiguousarray(values, DTYPES[base])
        storage = values if values.size else np.zeros(8, np.uint8)
        return Array(base, len(values), Block(address_of(storage), storage, 0))

    def sort(self, function: str, arrays: Sequence[np.ndarray[Any, Any]]) -> None:
        """A phase of the library: from the first array to the second."""
        SORTS[function](*arrays, threads=self.pool.threads)

    def download(self, array: Array) -> np.ndarray[Any, Any]:
        return self.memory.release(array)

    def read(self, array: Array, index: int) -> Scalar:
        found: Scalar = scalar(view(array)[index], array.base)
        return found

    def offsets(self, array: Array) -> np.ndarray[Any, Any]:
        return view(array)

    def free(self, array: Array) -> None:
        self.memory.give(array)

    def used(self) -> int:
        return self.memory.used


def chains(built: CpuProgram) -> bool:
    """Does the host level take many steps a run, as far as its text says?"""
    return any(isinstance(i, Invoke) for code in built.host.functions for i in code.instructions) \
        or sum(len(code.instructions) for code in built.host.functions) >= MANY


def load(code: bytes, names: Sequence[str]) -> dict[str, Any]:
    """The host functions of these names, callable."""
    if not names:
        return {}
    addresses = building.load(code, [f"{name}.call" for name in names])
    return {name.removesuffix(".call"): ENTRY(address) for name, address in addresses.items()}


# Launching --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class PreparedPhase:
    """A phase, ready to go: `slots` say which words are its arguments."""
    buffers: tuple[Taken, ...]
    function: str
    slots: tuple[int, ...]
    words: Any                  # the ctypes array type
    chunks: Size | None
    sort: tuple[str, ...]       # names of what a library function gets
    in_order: bool
    chains: Size | None


class CpuLauncher(Launcher):
    """Words are what parameters hold, as bits; an array's is its address."""

    def __init__(self, plan: Plan, unbounded: bool, recursive: bool, alone: CpuLauncher | None) -> None:
        super().__init__(plan, alone)
        self.recursive = recursive
        self.packers = [PACKERS[p.base] if p.size is None else None for p in plan.parameters]
        self.cells = ctypes.c_int64 * max(1, plan.cells)
        self.inline = 0 if unbounded else FEW   # so many chunks run in the caller's thread
        lengths = {r.buffer: r.length for r in plan.results if isinstance(r, ArrayResult) and r.length is not None}
        self.lengths = [(name, size_function(length, self.slots)) for name, length in lengths.items()]
        self.seconds = 0.0                      # that the quick edition has taken on others
        self.steps = [self.step(phase) for phase in plan.phases]

    def step(self, phase: Phase) -> PreparedPhase:
        buffers = self.buffers(phase)
        names = tuple([name.name for name in phase.arguments if isinstance(name, loops.Name)])
        slots = tuple([self.slot(name) for name in names])
        words = ctypes.c_int64 * len(slots)
        return PreparedPhase(buffers, phase.function, slots, words, self.chunks(phase), names if phase.library else (),
                             phase.in_order, None if phase.chains is None else size_function(phase.chains, self.slots))

    def launch(self, device: Cpu, arguments: Sequence[Any], spare: Container[int]) -> tuple[list[Any], int]:
        words = [0] * len(self.slots)
        arrays: dict[str, Array] = {}
        for at, (argument, pack) in enumerate(zip(arguments, self.packers, strict=True)):
            words[at] = argument.buffer.address if pack is None else pack(argument)
        if self.alone is not None and self.alone_chunks is not None and self.alone_chunks(words, ()) <= 1:
            return self.alone.launch(device, arguments, spare)
        cells = self.cells()
        at = len(self.packers)
        words[at:at + 3] = map(ctypes.addressof, (cells, device.errors, device.interrupt_word))
        words[at + 3] = device.pool.threads
        finished = False
        try:
            for step in self.steps:
                self.run(step, device, words, cells, arrays, arguments, spare)
            finished = True
        finally:
            for name, array in arrays.items():
                if not finished or name not in self.returned:
                    device.memory.give(array)
        for name, length in self.lengths:
            arrays[name] = shortened(device.memory, arrays[name], length(words, cells))
        return [self.result(r, cells, arrays) for r in self.plan.results], self.elements(words, cells)

    def run(self, step: PreparedPhase, device: Cpu, words: list[int], cells: Any, arrays: dict[str, Array],
            arguments: Sequence[Any], spare: Container[int]) -> None:
        """A phase: takes its buffers, which go to `words` and `arrays`, and runs its function on its chunks."""
        for buffer in step.buffers:
            array = take(device.memory, buffer, buffer.size(words, cells), arguments, spare)
            arrays[buffer.name] = array
            words[buffer.slot] = array.buffer.address
            if buffer.fill is not None:
                fill(device, view(array), buffer.fill)
            elif buffer.copy is not None and words[buffer.slot] != words[buffer.copy]:
                given = arguments[buffer.copy]
                fill(device, view(array)[:given.length], view(given))
        if step.sort:
            given = {p.name: a for p, a in zip(self.plan.parameters, arguments, strict=True)}
            device.sort(step.function, [view(arrays.get(name) or given[name]) for name in step.sort])
            return
        packed = step.words(*[words[slot] for slot in step.slots])
        self.run_chunks(device, step, 1 if step.chunks is None else step.chunks(words, cells), packed,
                        1 if step.chains is None else step.chains(words, cells))

    def run_chunks(self, device: Cpu, step: PreparedPhase | Phase, chunks: int, packed: Any, chains: int = 1) -> None:
        """All chunks of a phase, whose words are packed. `chains`: of those in order."""
        if chunks > FEW and device.quick:
            device.optimise(self.plan)
        function, slow = device.functions[step.function], step.function in device.quick
        began = perf_counter() if slow else 0.0
        if step.in_order:
            device.pool.share(function, chunks, packed, device.interrupt_word, chains)
        elif chunks <= self.inline:
            function(0, chunks, packed)
        elif self.inline and not self.recursive:
            device.pool.share(function, chunks, packed, device.interrupt_word)
        else:
            pool = device.deep(chunks) if self.recursive else device.pool
            pool.run(function, chunks, packed, device.interrupt_word, self.inline == 0)
        if slow:
            self.seconds += perf_counter() - began
            if self.seconds > WORTH:
                device.optimise(self.plan)

    def result(self, result: Any, cells: Any, arrays: dict[str, Array]) -> Any:
        if isinstance(result, ArrayResult):
            return arrays[result.buffer]
        return UNPACKERS[result.base](cells[result.slot])


def fill(device: Cpu, array: np.ndarray[Any, Any], source: Any) -> None:
    """Put one value, or those of another array, in the array: a large one by all threads, since its pages are new."""
    if array.nbytes < LARGE:
        np.copyto(array, source)
        return
    step = LARGE // array.itemsize

    def copy(first: int, last: int, _: Any) -> None:
        part = slice(first * step, last * step)
        np.copyto(array[part], source[part] if isinstance(source, np.ndarray) else source)

    device.pool.run(copy, -(-len(array) // step), None, device.interrupt_word)
