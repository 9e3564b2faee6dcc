"""A driver (cudagen.cuda.device) whose GPU is the CPU: memory is NumPy's, kernels are run by the scheduler of
runtime.cpp.

    NESSIE_CUDASIM_SEED     which order threads and blocks run in; 0: one after another; 1 unless it is set

On one OS thread the same seed gives the same order again. Blocks see each other at work only where there are two.
"""
from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Mapping, Sequence, Set
from typing import Any

import numpy as np

from nessie.base.source import NessieError
from nessie.cudagen.cuda.cudasim import compiler
from nessie.cudagen.host.memory import address_of
from nessie.cudagen.loops.plan import THREADS, Directions, in_directions
from nessie.lambda_cu.running.default_depths import Costs

SEED = "NESSIE_CUDASIM_SEED"
LARGEST_SEED = 2**64 - 1
OS_THREADS = 2
MESSAGE = 1000                  # bytes of the scheduler's complaint
GARBAGE = 0x3f                  # in each byte of fresh memory: what is likely to do harm where it is used

Values = np.ndarray[Any, Any]


class KernelError(Exception):
    """A kernel does what CUDA does not allow: it names the kernel, the block, the thread and the line of the text."""


class Cudasim:
    """`threads` of the OS run blocks."""
    costs = Costs(statement=4, operation=1, launch=200, order=4000)

    def __init__(self, threads: int | None = None, seed: int | None = None) -> None:
        self.threads, self.seed = threads or OS_THREADS, seed_of_user() if seed is None else seed
        self.memory: dict[int, Values] = {}
        self.interrupt = np.zeros(1, np.int64)
        self.run = compiler.runtime().cudasim_launch
        self.run.restype = ctypes.c_bool

    def interrupt_word(self) -> tuple[int, Values]:
        return address_of(self.interrupt), self.interrupt

    def allocate(self, size: int) -> int:
        storage = np.full(size, GARBAGE, np.uint8)
        address = address_of(storage)
        self.memory[address] = storage
        return address

    def free(self, address: int) -> None:
        del self.memory[address]

    def write(self, address: int, values: Values) -> None:
        ctypes.memmove(address, address_of(values), values.nbytes)

    def read(self, address: int, values: Values) -> None:
        ctypes.memmove(address_of(values), address, values.nbytes)

    def copy(self, address: int, source: int, size: int) -> None:
        ctypes.memmove(address, source, size)

    def fill(self, address: int, value: np.generic, count: int) -> None:
        self.write(address, np.full(count, value))

    def load(self, text: str, names: Sequence[str]) -> Mapping[str, tuple[str, Any]]:
        library = compiler.library(text, names)
        return {name: (name, getattr(library, f"cudasim_run_{name}")) for name in names}

    def launch(self, function: tuple[str, Any], blocks: int | Directions, arguments: bytes,
               threads: int | Directions = THREADS) -> None:
        name, run = function
        message = ctypes.create_string_buffer(MESSAGE)
        interrupt = ctypes.c_void_p(address_of(self.interrupt))
        shape = (ctypes.c_uint * 6)(*in_directions(blocks), *in_directions(threads))
        done = self.run(run, arguments, name.encode(), shape, ctypes.c_ulonglong(self.seed),
                        ctypes.c_uint(self.threads), interrupt, message, ctypes.c_size_t(MESSAGE))
        if not done:
            raise KernelError(message.value.decode(errors="replace"))

    def timed(self, work: Callable[[], None]) -> float:
        """What the simulation takes says nothing about a GPU."""
        work()
        return 0.0

    def synchronise(self) -> None:
        """Launches return when all has been done."""

    def await_others(self, streams: Set[int]) -> None:
        """There are none."""

    def reaches(self, address: int) -> bool:
        return True


def seed_of_user() -> int:
    text = os.environ.get(SEED, "1")
    if not (text.isascii() and text.isdecimal() and int(text) <= LARGEST_SEED):
        raise NessieError(f"{SEED} is {text!r}, not a whole number from 0 to 2**64 - 1",
                          hint="0: threads and blocks take turns in order; any other draws an order of its own")
    return int(text)
