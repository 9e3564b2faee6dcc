"""A device that interprets the plans of the CPU target and counts the bytes that they load and store.

It runs the very loops that LLVM gets, with the same chunks, slowly: for small arguments. Buffers that start filled are
counted as stored once.
"""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from nessie.base.values import DTYPES
from nessie.cudagen import loops
from nessie.cudagen.code import NO_FAILURE
from nessie.cudagen.cpu import PACKERS, UNPACKERS, size_text
from nessie.cudagen.device import Array, Scalar
from nessie.cudagen.generate import generate
from nessie.cudagen.loops_interpreter import Counts, run
from nessie.cudagen.plan import ArrayResult, Phase, Plan
from nessie.cudagen.scalar_functions import device_functions, tables_of
from nessie.lambda_cu import ir


class Counting:
    """A device (cudagen.device). `bytes`: loaded and stored by kernels so far; `launches`."""
    interrupted = False

    def __init__(self, program: ir.Program) -> None:
        tables = tables_of(program)
        self.plans = {kernel.name: generate(kernel, program, "cpu", tables=tables) for kernel in program.kernels}
        functions = (f for plan in self.plans.values() for f in plan.functions)
        self.module = loops.Module((*device_functions(program, tables), *functions))
        self.functions = {f.name: f for f in self.module.functions}
        self.errors = np.array([NO_FAILURE, 0], np.int64)
        self.bytes = self.launches = 0

    def begin(self, memory: int | None) -> None:
        self.errors[:] = NO_FAILURE, 0

    def launch(self, kernel: str, arguments: Sequence[Any]) -> list[Any]:
        plan = self.plans[kernel]
        cells = np.zeros(max(1, plan.cells), np.int64)
        memory: dict[str, Any] = {"cells": cells, "errors": self.errors}
        for parameter, argument in zip(plan.kernel.params, arguments, strict=True):
            memory[parameter.name] = argument.buffer if isinstance(argument, Array) else argument
        for phase in plan.phases:
            self.phase(phase, memory)
        self.launches += 1
        return [self.result(result, plan, memory) for result in plan.results]

    def phase(self, phase: Phase, memory: dict[str, Any]) -> None:
        for buffer in phase.buffers:
            values = np.zeros(size(buffer.size, memory), DTYPES[buffer.base])
            memory[buffer.name] = values
            if buffer.fill is not None:
                values.fill(ord(buffer.fill) if isinstance(buffer.fill, str) else buffer.fill)
                self.bytes += values.nbytes
        parameters = self.functions[phase.function].parameters[0 if phase.chunks is None else 2:]
        given = [memory[name].view(DTYPES[p.type]) if name == "cells" else memory[name]
                 for p, name in zip(parameters, phase.arguments, strict=True)]
        counts = Counts()
        chunks = [] if phase.chunks is None else [0, size(phase.chunks, memory)]
        run(self.module, phase.function, [*chunks, *given], counts)
        self.bytes += sum(counts.bytes.values())

    def result(self, result: Any, plan: Plan, memory: dict[str, Any]) -> Any:
        if isinstance(result, ArrayResult):
            values = memory[result.buffer]
            base = next(p for p, dtype in DTYPES.items() if dtype == values.dtype)
            return Array(base, len(values), values)
        return UNPACKERS[result.base](int(memory["cells"][result.slot]))

    def upload(self, base: str, values: np.ndarray[Any, Any]) -> Array:
        return Array(base, len(values), np.ascontiguousarray(values, DTYPES[base]))

    def download(self, array: Array) -> np.ndarray[Any, Any]:
        values: np.ndarray[Any, Any] = array.buffer
        return values

    def read(self, array: Array, index: int) -> Scalar:
        value: Scalar = array.buffer[index].item()
        return chr(int(value)) if array.base == "char" else value

    def free(self, array: Array) -> None:
        pass

    def failure(self) -> int:
        return int(self.errors[0])

    def interrupt(self) -> None:
        self.interrupted = True

    def used(self) -> int:
        return 0


def size(exp: loops.Exp, memory: dict[str, Any]) -> int:
    """A size that the host evaluates, of parameters and cells."""
    slots = {name: slot for slot, name in enumerate(memory)}
    words = [PACKERS["int"](value) if isinstance(value, int) else 0 for value in memory.values()]
    return int(eval(size_text(exp, slots), {"words": words, "cells": memory["cells"], "min": min, "max": max}))
