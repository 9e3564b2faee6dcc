"""Kernels run under a sanitizer: what a driver is told is taped, then done again by a program of its own (replay.cpp).

    tape(built, kernel, arguments)      runs it on cudasim; what was done and found
    planted(text)                       the text, in which each barrier and each ordered access can be left out
    Kernels(text, names, ...)           what replays of their tapes find (sanitizers.py)
"""
from __future__ import annotations

import re
import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from built import gpu_device
from sanitizers import Watched

from nessie.base.values import DTYPES
from nessie.cudagen.cuda.cudasim.driver import Cudasim
from nessie.cudagen.cuda.device import Gpu
from nessie.cudagen.cuda.driver import Driver
from nessie.cudagen.cuda.link import POINTER, GpuProgram
from nessie.cudagen.cuda.memory import Board, DeviceMemory
from nessie.cudagen.cuda.operators import PAIR
from nessie.cudagen.host.device import Array
from nessie.cudagen.host.memory import Block
from nessie.cudagen.loops.plan import THREADS, Directions, in_directions

INTERRUPT = 0                           # the number of the array that is the interrupt word
SPARE = 16                              # bytes of each array, so that no two have the same address


# Tapes ------------------------------------------------------------------------------------------


class Recorder(Cudasim):
    """Runs kernels, and writes down what it does."""

    def __init__(self, formats: dict[str, str]) -> None:
        super().__init__(1, 0)
        self.formats = formats
        self.lines: list[str] = []
        self.numbers = {self.interrupt_word()[0]: INTERRUPT}
        self.taken = 1

    def allocate(self, size: int) -> int:
        address = super().allocate(size + SPARE)
        self.numbers[address] = self.taken
        self.taken += 1
        self.lines.append(f"take {self.numbers[address]} {size}")
        return address

    def free(self, address: int) -> None:
        super().free(address)
        self.lines.append(f"free {self.numbers.pop(address)}")

    def write(self, address: int, values: Any) -> None:
        super().write(address, values)
        self.note("write", address, values)

    def read(self, address: int, values: Any) -> None:
        super().read(address, values)
        self.note("check", address, values)

    def note(self, what: str, address: int, values: Any) -> None:
        self.lines.append(f"{what} {self.numbers[address]} .{values.tobytes().hex()}")

    def place(self, address: int) -> str:
        """The number of the array in which it lies, and how many bytes after its begin; '' if in none."""
        return next((f"{number} {address - begin}" for begin, number in self.numbers.items()
                     if begin <= address < begin + len(self.memory.get(begin, bytes(8)))), "")

    def launch(self, function: tuple[str, Any], blocks: int | Directions, arguments: bytes,
               threads: int | Directions = THREADS) -> None:
        name, _ = function
        packed = struct.Struct("@" + self.formats[name])
        ends = [struct.calcsize("@" + self.formats[name][:at + 1]) for at in range(len(self.formats[name]))]
        pointers = [f"{end - struct.calcsize(POINTER)} {place}"
                    for format_, value, end in zip(self.formats[name], packed.unpack(arguments), ends, strict=True)
                    if format_ == POINTER and (place := self.place(value))]
        shape = " ".join(map(str, (*in_directions(blocks), *in_directions(threads))))
        self.lines.append(" ".join([f"launch {name} {shape} .{arguments.hex()} {len(pointers)}", *pointers]))
        super().launch(function, blocks, arguments, threads)


class Exact(DeviceMemory):
    """Every array has memory of its own, and no more than it needs."""

    def take(self, base: str, length: int) -> Array:
        size = length * DTYPES[base].itemsize
        return Array(base, length, Block(self.driver.allocate(size), None, 1))

    def zeros(self, sizes: Sequence[int]) -> list[Block]:
        arrays = [self.take("bool", size) for size in sizes]
        for array in filter(lambda array: array.length, arrays):
            self.driver.fill(array.buffer.address, np.int8(0), array.length)
        return [array.buffer for array in arrays]

    def give(self, array: Array) -> None:
        if array.buffer.size:
            array.buffer.size = 0
            self.driver.free(array.buffer.address)


class ExactBoard(Board):
    """Whose statuses have memory of their own, and no more than they need."""

    def take(self, sizes: Sequence[tuple[int, int]]) -> list[int]:
        return [self.memory.zeroed(words) for _, words in sizes]


def exact(built: GpuProgram, driver: Driver) -> Gpu:
    """A device on which each array has memory of its own."""
    device = gpu_device(built, driver)
    device.memory = Exact(driver, None)
    device.set_board(ExactBoard(device.memory, device.board.own, max(plan.cells for plan in built.plans)))
    return device


def tape(built: GpuProgram, kernel: str, arguments: Sequence[Any]) -> str:
    driver = Recorder(built.formats)
    device = exact(built, driver)
    device.begin(None)
    address, word = driver.interrupt_word()
    driver.lines.append(f"take {INTERRUPT} {word.nbytes}")
    driver.note("write", address, word)
    bases = {dtype: base for base, dtype in DTYPES.items()}
    results = device.launch(kernel, [device.upload(bases[a.dtype], a) if isinstance(a, np.ndarray) else a
                                     for a in arguments])
    for result in results:
        if isinstance(result, Array):
            device.download(result)
    device.failure()
    return "\n".join(driver.lines)


# Mistakes ---------------------------------------------------------------------------------------


ORDERED = re.compile(r"(\s)(__syncthreads|__syncwarp|load_acquire|store_release|atomic_add_ordered|load_pair|"
                     r"store_pair)\(")
PAIRS = ("_plain", "_apart")            # accesses of two words, one after another
BEGINS = re.compile(r'(extern "C" __global__|static __device__) (?:__launch_bounds__\([^)]*\) )?.*?(\w+)\(')
PLAIN = """
extern "C" int planted_mistake;
extern "C" int usleep(unsigned);
static void linger() { usleep(planted_mistake ? 50000 : 500); }
static long long load_plain(const long long *place) { return *place; }
static void store_plain(long long *place, long long value) { *place = value; }
static long long add_plain(long long *place, long long value) {
  return __atomic_fetch_add(place, value, __ATOMIC_RELAXED);
}
struct word_pair;
static word_pair load_pair_plain(const long long *place);
static word_pair load_pair_apart(const long long *place);
static void store_pair_plain(long long *place, long long first, long long second) {
  place[0] = first, place[1] = second;
}
static void store_pair_apart(long long *place, long long first, long long second) {
  __atomic_store_n(place, first, __ATOMIC_RELAXED);
  usleep(1000000);                      // till blocks have begun that look there
  __atomic_store_n(place + 1, second, __ATOMIC_RELAXED);
}
"""
# Behind the text, whose struct they give.
PLAIN_PAIRS = """
static word_pair load_pair_plain(const long long *place) { return {place[0], place[1]}; }
static word_pair load_pair_apart(const long long *place) {
  const long long second = __atomic_load_n(place + 1, __ATOMIC_RELAXED);
  usleep(200);
  return {__atomic_load_n(place, __ATOMIC_RELAXED), second};
}
"""


# Seeds until a mistake is found: some show only where blocks overlap, and threads are the machine's.
TRIES = range(1, 41)


@dataclass(frozen=True)
class Mistake:
    """The kernel is without this barrier, or this access without its order, or a pair's two words are accessed one
    after another (`apart`: each as an atomic, so that no race shows): the nth of this in the kernel."""
    kernel: str
    what: str
    nth: int

    def __str__(self) -> str:
        return f"{self.kernel} {self.what} {self.nth}"


def planted(text: str) -> tuple[str, list[Mistake]]:
    """The text, whose mistakes are made where planted_mistake has their number, from 1."""
    mistakes: list[Mistake] = []
    lines, kernel = [PLAIN], ""

    def made(what: str) -> int:
        nth = sum(m.kernel == kernel and m.what == what for m in mistakes)
        mistakes.append(Mistake(kernel, what, nth))
        return len(mistakes)

    def plant(match: re.Match[str]) -> str:
        what, indent = match[2], match[1]
        if what.endswith("_pair"):
            wrong = " : ".join([f"planted_mistake == {made(f'{what}{how}')} ? {what}{how}" for how in PAIRS])
            return f"{indent}{'usleep(2000), ' * (what == 'store_pair')}({wrong} : {what})("
        number = made(what)
        if what == "load_acquire":
            return f"{indent}(planted_mistake == {number} ? load_plain : load_acquire)("
        if what == "atomic_add_ordered":
            return f"{indent}(planted_mistake == {number} ? add_plain : atomic_add_ordered)("
        if what == "store_release":
            return f"{indent}linger(), (planted_mistake == {number} ? store_plain : store_release)("
        return f"{indent}if (planted_mistake != {number}) {what}("

    for line in text.splitlines():
        if begins := BEGINS.match(line):
            kernel = begins[2] if begins[1].startswith("extern") else ""
        lines.append(ORDERED.sub(plant, line) if kernel else line)
    if f"struct {PAIR} {{" in text:
        lines.append(PLAIN_PAIRS)
    return "\n".join(lines), mistakes


# Replays ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Kernels:
    text: str
    names: tuple[str, ...]
    mistakes: list[Mistake]
    tapes: dict[str, str]

    def mistakes_of(self, case: str) -> list[tuple[int, Mistake]]:
        """Those in the kernels that the case launches, with their numbers."""
        launched = {line.split()[1] for line in self.tapes[case].splitlines() if line.startswith("launch ")}
        return [(number, m) for number, m in enumerate(self.mistakes, 1) if m.kernel in launched]

    def races(self, threads: Watched, case: str, seeds: Iterable[int]) -> list[str]:
        """What is wrong with the case, in any of the orders that seeds draw."""
        return [found for seed in seeds if (found := threads.replay(self.tapes[case], seed))]

    def unnoticed(self, threads: Watched, case: str) -> list[str]:
        """The mistakes in the case's kernels that are found in none of the orders that TRIES draws."""
        return [str(mistake) for number, mistake in self.mistakes_of(case)
                if not any(threads.replay(self.tapes[case], seed, mistake=number) for seed in TRIES)]

    def wrong_accesses(self, addresses: Watched, case: str) -> str:
        """What is wrong with the case's accesses to memory; '' if nothing is."""
        return addresses.replay(self.tapes[case], 1, os_threads=1)
