"""The GPU targets: a program's plans carried out, its kernels launched by a driver on blocks of threads.

    Gpu(built, driver)      a device (cudagen.host.device) whose kernels are those of a GpuProgram; its driver
                            (cudagen.cuda.driver) is a real GPU's, or cuda.cudasim's

Arrays stay on the device from kernel to kernel. Launches are not waited for: the host does so only where it needs what
kernels have left, which is a launch's cells (its scalar results, the sizes that later phases depend on) and the error
words, which lie on the device, too, side by side, and are read at once. The interrupt word lies where both see it while
kernels run. Whether a kernel has failed is not asked before the next is launched: kernels look for themselves, and do
nothing then.
"""
from __future__ import annotations

import struct
from collections.abc import Callable, Container, Mapping, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from nessie.base.records import dataclass
from nessie.base.source import NessieError, Unsupported, user_span
from nessie.base.values import DTYPES, OnDevice
from nessie.cudagen.cuda.driver import Driver, Values
from nessie.cudagen.cuda.link import GpuProgram
from nessie.cudagen.cuda.memory import Board, DeviceMemory
from nessie.cudagen.host.device import ERROR_WORDS, MOST_ROUNDS, NO_FAILURE, Array, OutOfMemory, Scalar
from nessie.cudagen.host.launching import UNPACKERS, Launcher, Launches, Size, Taken, size_function, size_text, take
from nessie.cudagen.host.memory import Block
from nessie.cudagen.loops import nodes as loops
from nessie.cudagen.loops.plan import (
    EPOCH,
    THREADS,
    TICKETS,
    ArrayResult,
    Buffer,
    Directions,
    Phase,
    Plan,
    ScalarResult,
    Shape,
)
from nessie.cudagen.loops.walk import parts
from nessie.lambda_cu.layout import scalar
from nessie.lambda_cu.mappings.levels import beyond
from nessie.lambda_cu.running.default_depths import MOST_CALLS

MOST_BLOCKS = 2**31 - 1         # of a launch
WORTH_SHRINKING = 1 << 20       # bytes of a buffer
FEW = 16                        # elements that are read at once
NOTHING: list[int] = []         # is in cells that nobody reads


class Lent:
    """An owner, whose end gives a result's memory back; it keeps the device until then."""

    def __init__(self, gpu: Gpu, array: Array) -> None:
        self.gpu, self.block = gpu, gpu.memory.lend(array)

    def __del__(self) -> None:
        self.gpu.memory.take_returned(self.block)

    @property
    def known(self) -> bool:
        """Do other libraries know where it lies? Then they may be at work on it, in any stream."""
        return self.block.known

    def tell(self) -> None:
        """Another library comes to know it."""
        self.block.known = True

    def wait_for_others(self) -> None:
        """Returns when other libraries have done what they were asked to do with it."""
        self.gpu.memory.wait_for_others(self.block)


class Gpu(Launches):
    """A device that runs the program's kernels. `limit`: bytes of memory."""
    skips = True

    def __init__(self, built: GpuProgram, driver: Driver, limit: int | None = None) -> None:
        self.built = built
        launchers = dict[str, Launcher]()
        for plan in reversed(built.plans):          # what does the same stands behind
            alone = None if plan.alone is None else launchers[plan.alone.plan]
            launchers[plan.name] = GpuLauncher(plan, built.formats, built.failing, alone)
        super().__init__(built.program, launchers)
        self.driver, self.costs = driver, driver.costs
        self.functions = driver.load(self.built.text, tuple(self.built.formats)) if self.built.formats else {}
        self.interrupt_address, word = driver.interrupt_word()
        self.interrupt_word = word.data                  # which is quicker to look at
        self.unread = False             # kernels that may record a failure have been launched since then
        self.clean = False              # the board is as a run begins with it, without a failure, as far as it is read
        self.kernel_seconds = 0.0       # of the functions of the launch that is at work, if somebody counts
        self.lasts: list[tuple[Array, int]] = []        # whose last elements stand in cells, which nobody has read
        self.memory = DeviceMemory(driver, limit)
        self.set_board(Board(self.memory, len(ERROR_WORDS), max((plan.cells for plan in built.plans), default=0)))
        self.begin(limit)

    def set_board(self, board: Board) -> None:
        """Have it, and the words of each launch that come after its arguments."""
        self.board = board
        self.shared = (board.cells, board.errors, self.interrupt_address, 0, board.tickets, 0)

    def begin(self, memory: int | None, rounds: int = MOST_ROUNDS, depth: int = MOST_CALLS) -> None:
        self.synchronise()
        self.memory.limit = memory
        self.interrupt_word[0] = 0
        self.kernel_seconds = 0.0
        self.lasts.clear()
        wanted = (NO_FAILURE, rounds, depth, 0, 0)
        if self.unread or not self.clean or wanted != self.board.begun:
            self.errors = self.board.begin(wanted)              # as they were when last read
        self.unread, self.clean = False, True

    def failure(self) -> int:
        if self.unread:
            self.cells(0)
        return NO_FAILURE if self.clean else super().failure()

    def cells(self, count: int) -> list[int]:
        """So many cells as the last launch has left them: 0 if any has failed, after which kernels do nothing. Last
        elements that stand there become known."""
        self.errors, found = self.board.read(max([count, *[at + 1 for _, at in self.lasts]]))
        self.unread = False
        self.clean = super().failure() == NO_FAILURE
        if not self.clean:
            return [0] * count
        values: list[int] = found.tolist()
        for array, at in self.lasts:
            array.last = UNPACKERS[array.base](values[at])
        self.lasts.clear()
        return values[:count]

    def synchronise(self) -> None:
        self.driver.synchronise()

    def start(self, function: str, blocks: int | Directions, arguments: bytes,
              threads: int | Directions = THREADS) -> None:
        """Launch a function. Where each launch is counted, the GPU's own clock times it, and it is waited for."""
        if not self.stats.detailed:
            self.driver.launch(self.functions[function], blocks, arguments, threads)
        else:
            self.kernel_seconds += self.driver.timed(
                lambda: self.driver.launch(self.functions[function], blocks, arguments, threads))

    def seconds_of_launch(self, seconds: float) -> float:
        found, self.kernel_seconds = self.kernel_seconds, 0.0
        return found

    def upload(self, base: str, values: Values | OnDevice) -> Array:
        if isinstance(values, OnDevice):
            return Array(base, values.length, Block(values.address, values, 0))
        array = self.memory.take(base, len(values))
        if len(values):
            self.driver.write(array.buffer.address, np.ascontiguousarray(values, DTYPES[base]))
        if base == "int" and self.built.host.asks:
            array.given = values
        return array

    def download(self, array: Array) -> Values:
        values = np.empty(array.length, DTYPES[array.base])
        if array.length:
            self.driver.read(array.buffer.address, values)
        return values

    def left(self, array: Array) -> OnDevice:
        """A result that stays on the device, in memory that is no one else's."""
        if array.buffer.size == 0:              # an argument's, or another result's
            given, array = array, self.memory.take(array.base, array.length)
            size = array.length * DTYPES[array.base].itemsize
            if size:
                self.driver.copy(array.buffer.address, given.buffer.address, size)
        self.synchronise()
        return OnDevice(array.base, array.length, array.buffer.address, Lent(self, array))

    def read(self, array: Array, index: int) -> Scalar:
        if index == array.length - 1:
            if any([array is other for other, _ in self.lasts]):
                self.cells(0)
            if array.last is not None:
                return array.last
        if array.length <= FEW:                 # who reads one of them reads others
            if array.few is None:
                array.few = self.download(array)
            few: Scalar = scalar(array.few[index], array.base)
            return few
        values = np.empty(1, DTYPES[array.base])
        self.driver.read(array.buffer.address + index * values.itemsize, values)
        found: Scalar = scalar(values[0], array.base)
        return found

    def free(self, array: Array) -> None:
        self.memory.give(array)

    def used(self) -> int:
        return self.memory.used

    def shrunk(self, array: Array, length: int) -> Array:
        """The first elements of a buffer that may be much too large."""
        size = length * DTYPES[array.base].itemsize
        if array.buffer.size > WORTH_SHRINKING and size < array.buffer.size // 2:
            with suppress(OutOfMemory):         # then it stays large
                smaller = self.memory.take(array.base, length)
                self.driver.copy(smaller.buffer.address, array.buffer.address, size)
                self.memory.give(array)
                return smaller
        return Array(array.base, length, array.buffer)


# Launching --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class PreparedPhase:
    """A phase, ready to go. `arguments`: packed, from a launch's words and its cells; `counts`: a size of it lies in
    cells."""
    buffers: tuple[Taken, ...]
    function: str
    arguments: Callable[[Sequence[Any], Any], bytes]
    blocks: Size | None
    counts: bool
    fails: bool                 # it may record a failure
    shape: tuple[Size, ...] = ()            # of a launch that has one: three numbers of blocks, three of threads


class GpuLauncher(Launcher):
    """Words are what parameters hold, numbers of Python's; an array's is its address. `zeroed`: the buffers, of all
    phases, that are 0 at first and no results: they are taken, and filled, at once. `kept`: the kept ones."""

    def __init__(self, plan: Plan, formats: Mapping[str, str], failing: frozenset[str],
                 alone: Launcher | None = None) -> None:
        super().__init__(plan, alone)
        self.zeroed, self.kept = list[Taken](), list[Taken]()
        self.steps = [self.step(phase, formats[phase.function], phase.function in failing) for phase in plan.phases]
        lengths = {r.buffer: r.length for r in plan.results if isinstance(r, ArrayResult) and r.length is not None}
        self.lengths = {name: size_function(length, self.slots) for name, length in lengths.items()}
        self.epoch = self.slots[EPOCH]
        self.taken = (0,) * (len(self.slots) - self.epoch - 1)          # the words of buffers, which come last
        passed = {a.name for phase in plan.phases for a in phase.arguments if isinstance(a, loops.Name)}
        self.shares = not passed.isdisjoint((TICKETS, EPOCH))
        self.counts = (any(isinstance(r, ScalarResult) for r in plan.results)       # something is in cells at the end
                       or any(map(reads_cells, (plan.elements, *lengths.values()))))

    def step(self, phase: Phase, format_: str, fails: bool) -> PreparedPhase:
        taken: list[Taken] = []
        for buffer, made in zip(phase.buffers, self.buffers(phase), strict=True):
            (self.kept if buffer.kept else self.zeroed if self.is_zeroed(buffer) else taken).append(made)
        sizes = [*(buffer.size for buffer in phase.buffers), *([] if phase.chunks is None else [phase.chunks]),
                 *(argument for argument in phase.arguments if not isinstance(argument, loops.Name))]
        return PreparedPhase(tuple(taken), phase.function, packed(phase.arguments, self.slots, format_),
                             self.chunks(phase), any(map(reads_cells, sizes)), fails, self.shape(phase.shape))

    def shape(self, shape: Shape | None) -> tuple[Size, ...]:
        return tuple([size_function(size, self.slots) for size in (*shape.grid, *shape.block)]) if shape else ()

    def launch(self, device: Gpu, arguments: Sequence[Any], spare: Container[int]) -> tuple[list[Any], int]:
        words = [a.buffer.address if isinstance(a, Array) else ord(a) if isinstance(a, str) else a for a in arguments]
        if self.alone is not None and self.alone_chunks is not None and self.alone_chunks(words, ()) <= 1:
            return self.alone.launch(device, arguments, spare)
        words += device.shared
        words += self.taken
        if self.plan.cells:                     # it overwrites what stands there: others' last elements are read alone
            device.lasts.clear()
        if self.shares:
            words[self.epoch] = device.board.next_epoch()
        if self.kept:
            places = device.board.take([(b.kept, b.size(words, [])) for b in self.kept])
            for buffer, place in zip(self.kept, places, strict=True):
                words[buffer.slot] = place
        arrays = self.zeros(device, words) if self.zeroed else {}
        finished, counts = False, NOTHING
        try:
            for step in self.steps:
                self.run(step, device, words, arrays, arguments, spare)
            if self.counts:
                counts = device.cells(self.plan.cells)
            for name, length in self.lengths.items():
                arrays[name] = device.shrunk(arrays[name], length(words, counts))
            finished = True
        finally:
            for name, array in arrays.items():
                if not finished or name not in self.returned:
                    device.memory.give(array)
        results = [self.result(r, counts, arrays) for r in self.plan.results]
        if self.plan.cells and not self.counts:
            device.lasts = [(arrays[r.buffer], r.last) for r in self.plan.results
                            if isinstance(r, ArrayResult) and r.last is not None]
        return results, self.elements(words, counts)

    def is_zeroed(self, buffer: Buffer) -> bool:
        """Does it begin with all bits 0, is its size known at first, and is it no result?"""
        return (buffer.fill is not None and buffer.name not in self.returned and not reads_cells(buffer.size)
                and not any(fill_of(buffer.base, buffer.fill).tobytes()))

    def zeros(self, device: Gpu, words: list[Any]) -> dict[str, Array]:
        """The buffers that begin with 0, whose addresses go to `words`."""
        wanted = [(buffer.name, buffer.base, buffer.size(words, [])) for buffer in self.zeroed]
        blocks = device.memory.zeros([length * DTYPES[base].itemsize for _, base, length in wanted])
        arrays = {name: Array(base, length, block) for (name, base, length), block in zip(wanted, blocks, strict=True)}
        for buffer in self.zeroed:
            words[buffer.slot] = arrays[buffer.name].buffer.address
        return arrays

    def run(self, step: PreparedPhase, device: Gpu, words: list[Any], arrays: dict[str, Array],
            arguments: Sequence[Any], spare: Container[int]) -> None:
        """A phase: takes its buffers, which go to `words` and `arrays`, and launches its function."""
        counts = device.cells(self.plan.cells) if step.counts else NOTHING
        for buffer in step.buffers:
            array = take(device.memory, buffer, buffer.size(words, counts), arguments, spare)
            arrays[buffer.name] = array
            words[buffer.slot] = array.buffer.address
            if buffer.fill is not None and array.length:
                device.driver.fill(array.buffer.address, fill_of(buffer.base, buffer.fill), array.length)
            elif buffer.copy is not None and words[buffer.slot] != words[buffer.copy] and array.length:
                size = arguments[buffer.copy].length * DTYPES[buffer.base].itemsize
                device.driver.copy(array.buffer.address, words[buffer.copy], size)
        if step.shape:
            self.run_shaped(step, device, words, counts)
            return
        blocks = 1 if step.blocks is None else step.blocks(words, counts)
        if blocks > MOST_BLOCKS:
            raise self.too_long(blocks)
        if blocks:
            device.unread |= step.fails
            device.start(step.function, blocks, step.arguments(words, counts))

    def run_shaped(self, step: PreparedPhase, device: Gpu, words: list[Any], counts: list[int]) -> None:
        """A launch of blocks in three directions, which a mapping wants."""
        x, y, z, *block = [size(words, counts) for size in step.shape]
        grid, threads = (x, y, z), (block[0], block[1], block[2])
        if 0 in (*grid, *threads):
            return
        if over := beyond(grid, threads):
            raise self.too_large(over)
        device.unread |= step.fails
        device.start(step.function, grid, step.arguments(words, counts), threads)

    def too_large(self, over: str) -> NessieError:
        span, asked = user_span(self.plan.origin), self.plan.asked
        wanted = [(place, "this mapping") for place in asked.places] if asked is not None else []
        instead = f"{asked.instead} fits all sizes; " if asked is not None and asked.instead else ""
        return NessieError(f"the mapping of this kernel does not fit these sizes: {over}", *wanted,
                           *([(span, "what it walks")] if span else []),
                           hint=f"{instead}explain tells what else could walk it")

    def too_long(self, blocks: int) -> Unsupported:
        span = user_span(self.plan.origin)
        return Unsupported(f"this is too long for a GPU: it takes {blocks:,} blocks of {THREADS} threads, and CUDA "
                           f"starts at most {MOST_BLOCKS:,} at once", *([(span, "")] if span else []),
                           hint="--target cpu has no such limit")

    def result(self, result: Any, counts: list[int], arrays: dict[str, Array]) -> Any:
        if isinstance(result, ArrayResult):
            array = arrays[result.buffer]
            if result.last is not None and self.counts:
                array.last = UNPACKERS[array.base](counts[result.last])
            return array
        return UNPACKERS[result.base](counts[result.slot])


def fill_of(base: str, value: int | float | bool | str) -> np.generic:
    found: np.generic = DTYPES[base].type(ord(value) if isinstance(value, str) else value)
    return found


def packed(arguments: Sequence[loops.Exp], slots: dict[str, int],
           format_: str) -> Callable[[Sequence[Any], Any], bytes]:
    """What makes a function's arguments of a launch's words and its cells."""
    pack = struct.Struct(f"@{format_}").pack
    texts = ", ".join([size_text(argument, slots) for argument in arguments])
    function: Callable[[Sequence[Any], Any], bytes] = eval(f"lambda words, cells: pack({texts})", {"pack": pack})
    return function


def reads_cells(exp: loops.Exp) -> bool:
    return any(isinstance(part, loops.Load) and part.array == "cells" for part in parts(exp))
