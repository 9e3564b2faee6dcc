"""A driver (cudagen.cuda.device) for NVIDIA's GPUs, over PyCUDA.

Work is done in CUDA's default stream, in the GPU's primary context, which libraries of the same process share: it is
current only within a call, whatever thread makes it, so whoever else has a context keeps it. PyCUDA's objects end in
the thread that has made them, or else where their context is current, so a driver's are ended by one function when it
is collected. The interrupt word is page-locked memory of the host that the GPU sees too.

A kernel may run until the host interrupts it, which another thread of Python's does: at a Ctrl-C, or when time is up.
PyCUDA lets other threads run while it copies, fills or synchronises. While it launches, takes or frees memory, or loads
code, it does not, and each of these may wait for what runs on the GPU: taking and freeing until all is done, a launch
until the GPU's queue has room. So whoever takes or frees synchronises before, and lets nobody launch meanwhile; and
whoever launches synchronises when there is much in the queue.
"""
from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager, suppress
from dataclasses import field
from functools import cache
from types import TracebackType
from typing import Any
from weakref import finalize

import numpy as np

from nessie.base.records import dataclass
from nessie.base.source import NessieError, Unsupported
from nessie.base.values import ANY_STREAM
from nessie.cudagen.cuda.nvidia import compiler, detection
from nessie.cudagen.loops.plan import THREADS, Directions, in_directions
from nessie.lambda_cu.running.default_depths import Costs

DEFAULT = 0                     # stream
MOST_QUEUED = 500               # of what the GPU was asked for: it takes 1024 in its queue
FIRST = 1 << 12                 # elements that are written where a fill begins; what follows is copied from them

Values = np.ndarray[Any, Any]


@cache
def pycuda() -> Any:
    """PyCUDA's interface to the driver."""
    try:
        from pycuda import driver
    except ImportError as error:
        raise Unsupported(f"the target cuda cannot be used: PyCUDA does not load: {error}",
                          hint="it was compiled for another Python or CUDA, perhaps: "
                               "pip install --force-reinstall --no-cache-dir --no-binary pycuda pycuda") from None
    driver.init()
    return driver


class Context:
    """A GPU's primary context: current within a `with`, in which PyCUDA's errors become Nessie's. A plain `with` is for
    what lets Python's threads run, or does not wait."""

    def __init__(self) -> None:
        self.cuda = pycuda()
        self.primary = self.cuda.Device(0).retain_primary_context()
        self.asked = self.done = 0              # what the GPU was asked for; how much of it is known to be done
        self.asks = threading.RLock()           # held by who asks, and by who needs that nobody does
        self.ended: deque[Held] = deque()
        finalize(self, self.close)

    def __enter__(self) -> Any:
        self.primary.push()
        return self.cuda

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 traceback: TracebackType | None) -> None:
        self.cuda.Context.pop()
        if isinstance(error, self.cuda.Error):
            raise NessieError(f"the GPU has given up: {error}",
                              hint="nothing runs on it in this process any more; " + detection.WITHOUT) from None

    @contextmanager
    def asking(self) -> Iterator[Any]:
        """Hold the context for work that the GPU does later."""
        with self.asks, self as cuda:
            if self.asked - self.done >= MOST_QUEUED:
                self.wait()
            try:
                yield cuda
            finally:
                self.asked += 1                 # not before: another thread that waits meanwhile knows nothing of it

    @contextmanager
    def waiting(self) -> Iterator[Any]:
        """Hold the context for a call that returns when all earlier work is done, and lets other threads run
        meanwhile."""
        asked = self.asked
        with self as cuda:
            yield cuda
        self.done = max(self.done, asked)       # a thread that knows less may come last, which does no harm

    @contextmanager
    def after_all_work(self) -> Iterator[Any]:
        """Hold the context once the GPU has done all work, and let no other thread run meanwhile."""
        with self.asks:
            self.wait()
            with self as cuda:
                self.end_all()
                yield cuda

    def wait(self) -> None:
        """Until all that was asked for is done."""
        if self.done < self.asked:
            with self.waiting() as cuda:
                if not detection.await_stream(DEFAULT):
                    cuda.Context.synchronize()          # which says why

    def end(self, held: Held) -> None:
        """End what is held, now or later: the garbage collector, which calls this, does not wait for the GPU, since it
        may have come upon the thread that is to interrupt what runs there."""
        self.ended.append(held)
        if self.asks.acquire(blocking=False):
            try:
                if self.done == self.asked:
                    with self:
                        self.end_all()
            finally:
                self.asks.release()

    def end_all(self) -> None:
        """End what was to end; nothing is at work."""
        while self.ended:
            self.ended.pop().end()

    def close(self) -> None:
        """At the end of the process. PyCUDA itself would end the context like one that is not primary."""
        with suppress(NessieError):             # that the GPU has given up was told before
            self.wait()
        with self:
            self.end_all()
        self.primary.detach()


@cache
def context() -> Context:
    """One for the process."""
    return Context()


def free_memory() -> int:
    """Bytes of the GPU's memory that nobody has taken."""
    with context().after_all_work() as cuda:
        return int(cuda.mem_get_info()[0])


@dataclass
class Held:
    """PyCUDA's objects, to be ended where their context is current."""
    memory: dict[int, Any] = field(default_factory=dict)
    functions: dict[str, Any] = field(default_factory=dict)
    words: list[Any] = field(default_factory=list)

    def end(self) -> None:
        for part in (*self.memory.values(), *self.words):
            part.free()
        self.memory.clear()
        self.words.clear()
        self.functions.clear()              # with the modules that they are of


class Nvidia:
    """The first of the GPUs that CUDA sees."""
    costs = Costs(statement=4, operation=1, launch=25, argument=1.5, order=150)

    def __init__(self) -> None:
        self.context, self.held = context(), Held()
        finalize(self, self.context.end, self.held)

    def interrupt_word(self) -> tuple[int, Values]:
        with self.context.after_all_work() as cuda:
            word: Values = cuda.pagelocked_empty(1, np.int64, mem_flags=cuda.host_alloc_flags.DEVICEMAP)
            memory: Any = word.base
            self.held.words.append(memory)
            return int(memory.get_device_pointer()), word

    def allocate(self, size: int) -> int:
        with self.context.after_all_work() as cuda:
            try:
                allocation = cuda.mem_alloc(size)
            except cuda.MemoryError as full:
                raise MemoryError(str(full)) from None
            address = int(allocation)
            self.held.memory[address] = allocation
            return address

    def free(self, address: int) -> None:
        with self.context.after_all_work():
            self.held.memory.pop(address).free()

    def write(self, address: int, values: Values) -> None:
        with self.context.asking() as cuda:     # it may come there later
            cuda.memcpy_htod(address, values)

    def read(self, address: int, values: Values) -> None:
        with self.context.waiting() as cuda:
            cuda.memcpy_dtoh(values, address)

    def copy(self, address: int, source: int, size: int) -> None:
        with self.context.asking() as cuda:
            cuda.memcpy_dtod(address, source, size)

    def fill(self, address: int, value: np.generic, count: int) -> None:
        pattern, size = value.tobytes(), count * value.itemsize
        if len(set(pattern)) == 1:
            with self.context.asking() as cuda:
                cuda.memset_d8(address, pattern[0], size)
            return
        first = np.full(min(count, FIRST), value)
        self.write(address, first)
        done = first.nbytes
        while done < size:
            more = min(done, size - done)
            self.copy(address + done, address, more)
            done += more

    def load(self, text: str, names: Sequence[str]) -> Mapping[str, str]:
        code = compiler.compiled(text, detection.devices()[0].architecture)
        with self.context.after_all_work() as cuda:
            try:
                module = cuda.module_from_buffer(code + b"\0")          # the end of PTX; a cubin knows its own
            except cuda.Error as error:
                raise Unsupported(f"the GPU's driver, which knows CUDA {detection.version()}, does not take what "
                                  f"{compiler.found()} has compiled: {error}",
                                  hint="a newer driver will, or an older compiler: " + compiler.INSTALL) from None
            self.held.functions.update((name, module.get_function(name)) for name in names)
        return {name: name for name in names}

    def launch(self, function: str, blocks: int | Directions, arguments: bytes,
               threads: int | Directions = THREADS) -> None:
        kernel = self.held.functions[function]
        kernel.prepare((f"{len(arguments)}s",))             # packed already
        with self.context.asking():
            kernel.prepared_call(in_directions(blocks), in_directions(threads), arguments)

    def timed(self, work: Callable[[], None]) -> float:
        with self.context.asking() as cuda:                 # nobody else asks for anything meanwhile
            began, ended = cuda.Event(), cuda.Event()
            began.record()
            work()
            ended.record()
        self.context.wait()
        with self.context:
            seconds = float(ended.time_since(began)) / 1000
            del began, ended                                # which end where their context is current
        return seconds

    def synchronise(self) -> None:
        self.context.wait()

    def await_others(self, streams: Set[int]) -> None:
        with self.context as cuda:
            if ANY_STREAM in streams or not all([detection.await_stream(stream) for stream in streams]):
                cuda.Context.synchronize()      # one of them is none any more, perhaps

    def reaches(self, address: int) -> bool:
        with self.context:
            return detection.device_of(address) == 0
