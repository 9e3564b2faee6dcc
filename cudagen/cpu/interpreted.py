"""A device that interprets the plans of the CPU target: it runs the very loops that LLVM gets, slowly, and counts.

Chunks run one by one, the last first unless they come in order. Memory holds no value that a right program may rely
on, before it is written and after it is freed.
"""
from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from typing import Any

import numpy as np

from nessie.base.values import DTYPES
from nessie.cudagen.cpu.sorting import SORTS
from nessie.cudagen.generate import generate
from nessie.cudagen.host.device import ERROR_WORDS, MOST_ROUNDS, NO_FAILURE, Array, ErrorWords, Held, Scalar
from nessie.cudagen.host.launching import offered
from nessie.cudagen.loops import interpreter as loops_interpreter
from nessie.cudagen.loops import nodes as loops
from nessie.cudagen.loops.check import check
from nessie.cudagen.loops.meanings import MEANINGS
from nessie.cudagen.loops.plan import EPOCH, WORKERS, ArrayResult, Phase, Result, replacing
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu.layout import scalar
from nessie.lambda_cu.running.default_depths import MOST_CALLS, Costs

NESTED = 6000                           # calls within calls: each takes one of the stack, and some frames of Python's
Memory = dict[str, Any]                 # a launch's parameters, buffers, cells and error words
Values = np.ndarray[Any, Any]


class Interpreted(ErrorWords):
    """A device (cudagen.host.device). `bytes`: loaded and stored by kernels so far; a buffer that starts filled is
    stored once, one that is a copy loaded, too. `width`: items a chunk; `order` 1 runs the first chunk first."""
    skips = False
    costs = Costs(statement=3, operation=1, launch=100, inside=10)

    def __init__(self, program: ir.Program, width: int | None = None, order: int = -1) -> None:
        self.module = generate(program, "cpu", width)
        check(self.module)
        self.plans = {plan.name: plan for plan in self.module.plans}
        self.offers = offered(program, self.module.plans)
        self.functions = {f.name: f for f in self.module.functions}
        self.order, self.bytes = order, 0
        self.errors, self.interrupt_word = np.zeros(len(ERROR_WORDS), np.int64), np.zeros(1, np.int64)
        self.begin(None)

    def begin(self, memory: int | None, rounds: int = MOST_ROUNDS, depth: int = MOST_CALLS) -> None:
        self.errors[:], self.interrupt_word[0] = (NO_FAILURE, rounds, depth, NESTED, 0), 0

    def launch(self, kernel: str, arguments: Sequence[Held], spare: Container[int] = ()) -> list[Held]:
        if self.failure() != NO_FAILURE:
            raise RuntimeError("a kernel before this one has failed")
        plan = self.plans[kernel]
        memory: Memory = {p.name: a.buffer if isinstance(a, Array) else a
                          for p, a in zip(plan.parameters, arguments, strict=True)}
        memory |= {"cells": np.zeros(plan.cells, np.int64), "errors": self.errors, "interrupt": self.interrupt_word,
                   WORKERS: 1}
        if plan.alone is not None and size(plan.alone.chunks, memory) <= 1:
            plan = self.plans[plan.alone.plan]
            memory["cells"] = np.zeros(plan.cells, np.int64)
        replaced = {p.name for number, p in enumerate(plan.parameters) if number in spare}
        for phase in plan.phases:
            self.bytes += take_buffers(phase, memory)
            self.run(phase, memory)
        for of in replaced.intersection(replacing(plan).values()):
            spoil(memory[of])
        bases = {buffer.name: buffer.base for phase in plan.phases for buffer in phase.buffers}
        return [result(wanted, memory, bases) for wanted in plan.results]

    def run(self, phase: Phase, memory: Memory) -> None:
        if phase.library:
            SORTS[phase.function](*(memory[a.name] for a in phase.arguments if isinstance(a, loops.Name)))
            return
        given = arguments(self.functions[phase.function], phase, memory)
        chunks = [()] if phase.chunks is None else [(c, c + 1) for c in range(size(phase.chunks, memory))]
        counts = loops_interpreter.Counts()
        for chunk in self.ordered(phase, chunks, memory):
            loops_interpreter.run(self.module, phase.function, [*chunk, *given], counts)
        self.bytes += sum(counts.bytes.values())

    def ordered(self, phase: Phase, chunks: list[Any], memory: Memory) -> Sequence[Any]:
        """The chunks in an order that is allowed."""
        if not phase.in_order:
            return chunks[::self.order]
        chains = 1 if phase.chains is None else size(phase.chains, memory)
        return [chunk for chain in range(chains)[::self.order] for number, chunk in enumerate(chunks)
                if number * chains // len(chunks) == chain]

    def upload(self, base: str, values: Values) -> Array:
        return Array(base, len(values), np.array(values, DTYPES[base]))

    def download(self, array: Array) -> Values:
        copy: Values = array.buffer.copy()
        return copy

    def read(self, array: Array, index: int) -> Scalar:
        found: Scalar = scalar(array.buffer[index], array.base)
        return found

    def free(self, array: Array) -> None:
        spoil(array.buffer)

    def used(self) -> int:
        return 0


def take_buffers(phase: Phase, memory: Memory) -> int:
    """Puts the phase's buffers into memory; the bytes that are filled."""
    filled = 0
    for buffer in phase.buffers:
        values = spoil(np.empty(size(buffer.size, memory), DTYPES[buffer.base]))
        memory[buffer.name] = values
        if buffer.kept:
            values.fill(memory[EPOCH])
        if buffer.fill is not None:
            values.fill(ord(buffer.fill) if isinstance(buffer.fill, str) else buffer.fill)
            filled += values.nbytes
        elif buffer.copy:
            given = memory[buffer.copy]
            values[:len(given)] = given
            filled += 2 * given.nbytes
    return filled


def spoil(values: Values) -> Values:
    """Overwrites them with what is likely to do harm where it is used."""
    values.view(np.uint8)[:] = 1 if values.dtype == np.bool_ else 0x3f
    return values


def arguments(function: loops.Function, phase: Phase, memory: Memory) -> list[Any]:
    """The phase's arguments after the chunk range. Arrays are seen as what the function takes them for."""
    parameters = function.parameters[len(function.parameters) - len(phase.arguments):]
    return [size(a, memory) if not isinstance(a, loops.Name)
            else memory[a.name].view(DTYPES[p.type]) if p.array else memory[a.name]
            for p, a in zip(parameters, phase.arguments, strict=True)]


def size(exp: loops.Exp, memory: Memory) -> int:
    """A size that the host evaluates, of parameters and cells."""
    match exp:
        case loops.Const(value):
            return int(value)
        case loops.Name(name):
            return int(memory[name])
        case loops.Load(array, index):
            return int(memory[array][size(index, memory)])
        case loops.Op("select", (condition, then, orelse)):
            return size(then if size(condition, memory) else orelse, memory)
        case loops.Op(op, operands):
            return int(MEANINGS[op](*[size(operand, memory) for operand in operands]))
    raise TypeError(exp)


def result(wanted: Result, memory: Memory, bases: Mapping[str, str]) -> Held:
    if isinstance(wanted, ArrayResult):
        values = memory[wanted.buffer]
        if wanted.length is not None:
            values = values[:size(wanted.length, memory)]
        return Array(bases[wanted.buffer], len(values), values)
    found: Scalar = scalar(memory["cells"][wanted.slot:wanted.slot + 1].view(DTYPES[wanted.base])[0], wanted.base)
    return found
