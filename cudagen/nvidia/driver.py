"""A driver (cudagen.gpu) for NVIDIA's GPUs, over PyCUDA.

Work is done in CUDA's default stream, in the GPU's primary context, which libraries of the same process share: it is
current only within a call, whatever thread makes it, so whoever else has a context keeps it. PyCUDA's objects end in
the thread that has made them, or else where their context is current, so a driver's are ended by one function when it
is collected. The interrupt word is page-locked memory of the host that the GPU sees too.
"""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from functools import cache
from types import TracebackType
from typing import Any
from weakref import finalize

import numpy as np

from nessie.base.records import dataclass
from nessie.base.source import NessieError, Unsupported
from nessie.cudagen.nvidia import compiler, detection
from nessie.cudagen.plan import THREADS

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
    """A GPU's primary context: current within a `with`, in which PyCUDA's errors become Nessie's."""

    def __init__(self) -> None:
        self.cuda = pycuda()
        self.primary = self.cuda.Device(0).retain_primary_context()
        finalize(self, self.primary.detach)     # as PyCUDA itself would end it like one that is not primary

    def __enter__(self) -> Any:
        self.primary.push()
        return self.cuda

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 traceback: TracebackType | None) -> None:
        self.cuda.Context.pop()
        if isinstance(error, self.cuda.Error):
            raise NessieError(f"the GPU has given up: {error}",
                              hint="nothing runs on it in this process any more; " + detection.WITHOUT) from None


@cache
def context() -> Context:
    """One for the process."""
    return Context()


def free_memory() -> int:
    """Bytes of the GPU's memory that nobody has taken."""
    with context() as cuda:
        return int(cuda.mem_get_info()[0])


@dataclass
class Held:
    """PyCUDA's objects, to be ended where their context is current."""
    memory: dict[int, Any] = field(default_factory=dict)
    functions: dict[str, Any] = field(default_factory=dict)
    words: list[Any] = field(default_factory=list)

    def end(self) -> None:
        with context():
            for part in (*self.memory.values(), *self.words):
                part.free()
            self.memory.clear()
            self.words.clear()
            self.functions.clear()          # with the modules that they are of


class Nvidia:
    """The first of the GPUs that CUDA sees."""

    def __init__(self) -> None:
        self.context, self.held = context(), Held()
        finalize(self, self.held.end)

    def interrupt_word(self) -> tuple[int, Values]:
        with self.context as cuda:
            word: Values = cuda.pagelocked_empty(1, np.int64, mem_flags=cuda.host_alloc_flags.DEVICEMAP)
            memory: Any = word.base
            self.held.words.append(memory)
            return int(memory.get_device_pointer()), word

    def allocate(self, size: int) -> int:
        with self.context as cuda:
            try:
                allocation = cuda.mem_alloc(size)
            except cuda.MemoryError as full:
                raise MemoryError(str(full)) from None
            address = int(allocation)
            self.held.memory[address] = allocation
            return address

    def free(self, address: int) -> None:
        with self.context:
            self.held.memory.pop(address).free()

    def write(self, address: int, values: Values) -> None:
        with self.context as cuda:
            cuda.memcpy_htod(address, values)

    def read(self, address: int, values: Values) -> None:
        with self.context as cuda:
            cuda.memcpy_dtoh(values, address)

    def copy(self, address: int, source: int, size: int) -> None:
        with self.context as cuda:
            cuda.memcpy_dtod(address, source, size)

    def fill(self, address: int, value: np.generic, count: int) -> None:
        pattern, size = value.tobytes(), count * value.itemsize
        with self.context as cuda:
            if len(set(pattern)) == 1:
                cuda.memset_d8(address, pattern[0], size)
                return
            first = np.full(min(count, FIRST), value)
            cuda.memcpy_htod(address, first)
            done = first.nbytes
            while done < size:
                more = min(done, size - done)
                cuda.memcpy_dtod(address + done, address, more)
                done += more

    def load(self, text: str, names: Sequence[str]) -> Mapping[str, str]:
        code = compiler.compiled(text, detection.devices()[0].architecture)
        with self.context as cuda:
            try:
                module = cuda.module_from_buffer(code)
            except cuda.Error as error:
                raise Unsupported(f"the GPU's driver, which knows CUDA {detection.version()}, does not take what "
                                  f"{compiler.found()} has compiled: {error}",
                                  hint="a newer driver will, or an older compiler: " + compiler.INSTALL) from None
            self.held.functions.update((name, module.get_function(name)) for name in names)
        return {name: name for name in names}

    def launch(self, function: str, blocks: int, arguments: bytes, threads: int = THREADS) -> None:
        kernel = self.held.functions[function]
        kernel.prepare((f"{len(arguments)}s",))             # packed already
        with self.context:
            kernel.prepared_call((blocks, 1), (threads, 1, 1), arguments)

    def synchronise(self) -> None:
        with self.context as cuda:
            cuda.Context.synchronize()

    def reaches(self, address: int) -> bool:
        with self.context:
            return detection.device_of(address) == 0
