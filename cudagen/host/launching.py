"""Common parts of the devices that carry out plans: what can be known of a kernel before its arguments, and counting.

    Launches     a device's part that launches kernels by their launchers, and counts
    Launcher     a plan with names resolved to places in a list of words, and sizes to functions of that list
"""
from __future__ import annotations

import struct
from collections.abc import Callable, Container, Mapping, Sequence
from functools import lru_cache
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from nessie.base.records import dataclass
from nessie.base.values import DTYPES
from nessie.cudagen.host.device import NO_FAILURE, Array, ErrorWords
from nessie.cudagen.host.memory import Pooled, size_class, view
from nessie.cudagen.loops import nodes as loops
from nessie.cudagen.loops.plan import EPOCH, SIZE_CONDITIONS, TICKETS, WORKERS, ArrayResult, Phase, Plan, replacing
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu.running.default_depths import Costs
from nessie.lambda_cu.running.stats import Stats

if TYPE_CHECKING:
    from nessie.lambda_cu.running.traffic import Traffic

Size = Callable[[Sequence[Any], Any], int]      # of a launch's words and its cells


class Launches(ErrorWords):
    """A device's part that launches the program's kernels: `launchers` has them by name."""
    skips = False
    costs = Costs(statement=3, operation=1, launch=4, argument=1.5)

    def __init__(self, program: ir.Program, launchers: Mapping[str, Launcher]) -> None:
        self.program, self.launchers = program, launchers
        self.offers: Container[str] = offered(program, [launcher.plan for launcher in launchers.values()])
        self.stats = Stats()
        self.traffic: dict[str, tuple[Traffic, tuple[str, ...]]] = {}    # with the names of all that moves

    def launch(self, kernel: str, arguments: Sequence[Any], spare: Container[int] = ()) -> list[Any]:
        if not self.skips and self.failure() != NO_FAILURE:
            raise RuntimeError("a kernel before this one has failed, and may have left indices that are out of range")
        launcher = self.launchers[kernel]
        started = perf_counter() if self.stats.detailed else 0.0
        addresses = launcher.copied(arguments) if launcher.copies else []
        results, elements = launcher.launch(self, arguments, spare)
        copied, kept = launcher.copies_made(addresses, results) if launcher.copies else (0, 0)
        elements += copied
        self.stats.count(elements)
        if self.stats.detailed:
            ended = perf_counter()
            moved = self.bytes_moved(kernel, arguments, results) - 2 * kept
            self.stats.count_kernel(kernel, elements, moved, self.seconds_of_launch(ended - started))
            self.stats.counting += perf_counter() - ended
        return results

    def optimise(self) -> None:
        """Run the best code from now on, if there is better."""

    def seconds_of_launch(self, seconds: float) -> float:
        """What the last launch took, of so many seconds on the host's clock."""
        return seconds

    def bytes_moved(self, name: str, arguments: Sequence[Any], results: Sequence[Any]) -> int:
        """By a launch of the kernel of this name that has these arguments and results."""
        from nessie.lambda_cu.running.traffic import bytes_moved, traffic  # where somebody wants to know
        if name in self.offers:
            return sum([a.length * DTYPES[a.base].itemsize for a in (*arguments, *results) if isinstance(a, Array)])
        if name not in self.traffic:
            kernel = next(k for k in self.program.kernels if k.name == name)
            functions = {f.name: f for f in self.program.scalar_functions}
            self.traffic[name] = traffic(kernel, functions), (*(p.name for p in kernel.params), *kernel.returns)
        of, names = self.traffic[name]
        return bytes_moved(of, dict(zip(names, (*arguments, *results), strict=True)))


def offered(program: ir.Program, plans: Sequence[Plan]) -> frozenset[str]:
    """The names of the plans that are of functions: neither a kernel's nor for one chunk of it."""
    alone = {plan.alone.plan for plan in plans if plan.alone is not None}
    return frozenset({plan.name for plan in plans} - {kernel.name for kernel in program.kernels} - alone)


@dataclass(frozen=True)
class Taken:
    """A buffer that a phase takes. `copy`: the number of the argument whose elements it begins with. `replaces`: no
    phase reads that argument, so that the buffer may take its memory. `kept` as the plan has it."""
    name: str
    slot: int
    base: str
    size: Size
    fill: int | float | bool | None
    copy: int | None
    replaces: bool
    kept: int = 0


class Launcher:
    """A plan, prepared. Of a launch's words the first are the kernel's parameters, then come `cells`, `errors`,
    `interrupt`, the number of workers, `tickets`, and the epoch. `alone` does the same where `alone_chunks` is 1 at
    most."""

    def __init__(self, plan: Plan, alone: Launcher | None = None) -> None:
        self.plan, self.alone = plan, alone
        self.slots: dict[str, int] = {}
        for name in (*(p.name for p in plan.parameters), "cells", "errors", "interrupt", WORKERS, TICKETS, EPOCH):
            self.slot(name)
        self.alone_chunks = None if plan.alone is None else size_function(plan.alone.chunks, self.slots)
        self.elements = size_function(plan.elements, self.slots)
        self.returned = {r.buffer for r in plan.results if isinstance(r, ArrayResult)}
        self.replacing = replacing(plan)
        numbers = {p.name: number for number, p in enumerate(plan.parameters)}
        places = {r.buffer: at for at, r in enumerate(plan.results) if isinstance(r, ArrayResult)}
        self.copies = tuple([(numbers[b.copy], places[b.name]) for phase in plan.phases for b in phase.buffers
                             if b.copy and b.name in places])

    def slot(self, name: str) -> int:
        return self.slots.setdefault(name, len(self.slots))

    def buffers(self, phase: Phase) -> tuple[Taken, ...]:
        numbers = {p.name: number for number, p in enumerate(self.plan.parameters)}
        return tuple(Taken(b.name, self.slot(b.name), b.base, size_function(b.size, self.slots),
                           ord(b.fill) if isinstance(b.fill, str) else b.fill, numbers.get(b.copy),
                           b.name in self.replacing, b.kept) for b in phase.buffers)

    def chunks(self, phase: Phase) -> Size | None:
        return None if phase.chunks is None else size_function(phase.chunks, self.slots)

    def launch(self, device: Any, arguments: Sequence[Any], spare: Container[int]) -> tuple[list[Any], int]:
        """The results, and how many elements were walked. `spare`: the arguments that nobody needs any more."""
        raise NotImplementedError

    def copied(self, arguments: Sequence[Any]) -> list[int]:
        """The addresses of the arrays that results begin as."""
        return [arguments[number].buffer.address for number, _ in self.copies]

    def copies_made(self, addresses: Sequence[int], results: Sequence[Any]) -> tuple[int, int]:
        """Of results that begin as arrays at these addresses: the elements of those that are copies, and the bytes of
        those that are written where they lie."""
        copied = kept = 0
        for address, (_, at) in zip(addresses, self.copies, strict=True):
            result = results[at]
            if result.buffer.address == address:
                kept += result.length * DTYPES[result.base].itemsize
            else:
                copied += result.length
        return copied, kept


def take(memory: Pooled, buffer: Taken, length: int, arguments: Sequence[Any], spare: Container[int]) -> Array:
    """Memory for the buffer: its argument's own, if that is spare, the pool's and large enough, else another's."""
    if buffer.copy is not None and buffer.replaces and buffer.copy in spare:
        given = arguments[buffer.copy]
        if given.buffer.size and given.buffer.size >= length * DTYPES[buffer.base].itemsize:
            return memory.taken_over(given, length)
    return memory.take(buffer.base, length)


def shortened(memory: Pooled, array: Array, length: int) -> Array:
    """The first elements of an array, in its memory, or in less if that is twice as much as they need."""
    width = DTYPES[array.base].itemsize
    if 2 * size_class(length * width) > array.buffer.size:
        return memory.taken_over(array, length)
    short = memory.take(array.base, length)
    np.copyto(view(short), view(array)[:length])
    memory.give(array)
    return short


# Sizes ------------------------------------------------------------------------------------------


def size_function(exp: loops.Exp, slots: dict[str, int]) -> Size:
    """The size as a Python function of a launch's words and cells."""
    return compiled_size(size_text(exp, slots))


@lru_cache(maxsize=1000)
def compiled_size(text: str) -> Size:
    function: Size = eval(f"lambda words, cells: {text}")       # our own text: numbers and operators
    return function


PYTHONS = {"/": "//", "rem": "%", "/=": "!="}       # what Python writes otherwise; only natural numbers are divided


def size_text(exp: loops.Exp, slots: dict[str, int]) -> str:
    match exp:
        case loops.Const(value):
            return str(int(value))
        case loops.Name(name):
            return f"words[{slots[name]}]"
        case loops.Load("cells", index):
            return f"cells[{size_text(index, slots)}]"
        case loops.Op(name, (a, b)) if name in ("+", "-", "*", "/", "rem"):
            return f"({size_text(a, slots)} {PYTHONS.get(name, name)} {size_text(b, slots)})"
        case loops.Op(name, (a, b)) if name in ("min", "max"):
            return f"{name}({size_text(a, slots)}, {size_text(b, slots)})"
        case loops.Op("select", (condition, then, orelse)):
            return f"({size_text(then, slots)} if {size_text(condition, slots)} else {size_text(orelse, slots)})"
        case loops.Op("and", (a, b)):
            return f"({size_text(a, slots)} and {size_text(b, slots)})"
        case loops.Op(name, (a, b)) if name in SIZE_CONDITIONS:
            return f"({size_text(a, slots)} {PYTHONS.get(name, name)} {size_text(b, slots)})"
    raise TypeError(exp)


# Scalars as bits ----------------------------------------------------------------------------------


def float_bits(value: float) -> int:
    bits: int = struct.unpack("<q", struct.pack("<d", value))[0]
    return bits


PACKERS: dict[str, Callable[[Any], int]] = {"int": int, "float": float_bits, "bool": int, "char": ord}
UNPACKERS: dict[str, Callable[[int], Any]] = {
    "int": int,
    "float": lambda bits: struct.unpack("<d", struct.pack("<q", bits))[0],
    "bool": lambda bits: bool(bits & 0xFF),
    "char": lambda bits: chr(bits & 0xFFFFFFFF),
}
