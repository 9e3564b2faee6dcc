"""Launches of the host level as records: what nessie.cudagen.cpu.device does for one, phase by phase.

A kernel whose plan is a phase over xs that counts, and one that stores, becomes

    poll                                        a look at the interrupt word
    zero cells
    take parts[(n + 4095) / 4096]               memory for the first phase's results
    pack n, xs, parts, cells                    the words that its function reads
    phase K1_count                              its chunks: here, if they are few, else by Python's threads
    take ys[cells[0]]
    pack n, xs, parts, ys
    phase K1_store
    launched n                                  counts, and looks at the error word
    drop parts                                  what only the launch needed
"""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from nessie.base.records import dataclass
from nessie.base.values import DTYPES
from nessie.cudagen.loops import nodes as loops
from nessie.cudagen.loops.plan import WORKERS, ArrayResult, Buffer, Phase, Plan, ScalarResult, replacing
from nessie.cudagen.loops.walk import parts
from nessie.cudagen.native.records import Records, bits, element_bits
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu.running.empty_kernels import EmptyRun

MASKS = {"bool": 0xFF, "char": 0xFFFFFFFF}      # what a cell has of a value that is narrower

Results = Sequence[int | None]                  # slots of the frame


@dataclass(frozen=True)
class Kernel:
    """A plan, with the numbers of its functions and how many chunks each phase runs in the host's own thread; `alone`:
    that for one chunk."""
    plan: Plan
    functions: Mapping[str, int]
    inline: int
    empty: EmptyRun | None
    alone: Kernel | None


@dataclass(frozen=True)
class Surrounding:
    """The addresses of the device's words, and how many threads it has."""
    errors: int
    interrupt: int
    workers: int


def launch(kernel: Kernel, arguments: Sequence[int], spare: frozenset[int], results: Results, around: Surrounding,
           out: Records) -> None:
    """`arguments` are slots; `spare`: the numbers of those that nobody reads afterwards and that stand there once;
    `results`: where results go, None where nobody reads them."""
    out.put("poll")
    ends = [idle(kernel, arguments, results, out)] if kernel.empty is not None else []
    made = Launch(kernel, arguments, spare, around, out)
    if kernel.alone is not None and kernel.plan.alone is not None:
        few = out.operate("<=", "int", made.size(kernel.plan.alone.chunks), out.constant(1))
        several = out.put("unless", few, 0)
        Launch(kernel.alone, arguments, spare, around, out).write(results)
        ends.append(out.put("jump", 0))
        out.come_to(several)
    made.write(results)
    out.come_to(*ends)


def idle(kernel: Kernel, arguments: Sequence[int], results: Results, out: Records) -> int:
    """Where there is nothing to walk, the results are known. The place of the jump behind the launch."""
    assert kernel.empty is not None
    works = []
    for number in kernel.empty.sizes:
        empty = out.put("unless", arguments[number], 0)
        works.append(out.put("jump", 0))
        out.come_to(empty)
    for slot, given in zip(results, kernel.empty.gives, strict=True):
        if slot is None:
            continue
        if isinstance(given, ir.Const):
            out.put("constant", slot, bits(given.value, given.type))
        else:
            base, values = given
            width = DTYPES[base].itemsize
            out.put("take", slot, out.constant(len(values)), width)
            for value in values[:1]:
                out.put(f"fill {width}", slot, out.constant(element_bits(value, base)))
    end = out.put("jump", 0)
    out.come_to(*works)
    return end


class Launch:
    """Writes the records of one launch. `names`: the slots of the plan's names; `bases` of its arrays."""

    def __init__(self, kernel: Kernel, arguments: Sequence[int], spare: frozenset[int], around: Surrounding,
                 out: Records) -> None:
        self.kernel, self.plan, self.spare, self.out = kernel, kernel.plan, spare, out
        self.names = {p.name: slot for p, slot in zip(self.plan.parameters, arguments, strict=True)}
        self.bases = {p.name: p.base for p in self.plan.parameters if p.size is not None}
        self.numbers = {p.name: number for number, p in enumerate(self.plan.parameters)}
        self.replacing = replacing(self.plan)
        self.made: list[str] = []
        self.sizes: dict[loops.Exp, int] = {}       # slots of those that no cell tells
        self.around, self.cells = around, 0

    def write(self, results: Results) -> None:
        self.begin()
        for phase in self.plan.phases:
            for buffer in phase.buffers:
                self.take(buffer)
            self.run(phase)
        self.out.put("launched", self.size(self.plan.elements))
        left = dict.fromkeys(self.made)
        for slot, result in zip(results, self.plan.results, strict=True):
            self.result(slot, result, left)
        for name in left:
            self.out.put("drop", self.names[name])

    def begin(self) -> None:
        """What all launches have: only that which the phases read."""
        out, around = self.out, self.around
        read = {name.name for phase in self.plan.phases for name in phase.arguments if isinstance(name, loops.Name)}
        if "cells" in read:
            cells = max(1, self.plan.cells)
            self.cells = out.temporary(cells)
            out.put("zero", self.cells, cells)
            self.names["cells"] = out.temporary()
            out.put("address", self.names["cells"], self.cells)
        words = (("errors", around.errors), ("interrupt", around.interrupt))
        self.names |= {name: out.constant(word) for name, word in words if name in read}
        self.names[WORKERS] = out.constant(around.workers)

    def take(self, buffer: Buffer) -> None:
        out, width, size = self.out, DTYPES[buffer.base].itemsize, self.size(buffer.size)
        slot = self.names[buffer.name] = out.temporary()
        self.bases[buffer.name] = buffer.base
        self.made.append(buffer.name)
        taken = []
        if buffer.copy and buffer.name in self.replacing and self.numbers[buffer.copy] in self.spare:
            taken.append(out.put("reuse", slot, self.names[buffer.copy], size, width, 0))
        out.put("take", slot, size, width)
        if buffer.copy:
            out.put("copy", slot, self.names[buffer.copy], width)
        elif buffer.fill is not None:
            out.put(f"fill {width}", slot, out.constant(element_bits(buffer.fill, buffer.base)))
        out.come_to(*taken)

    def run(self, phase: Phase) -> None:
        names = [name.name for name in phase.arguments if isinstance(name, loops.Name)]
        if phase.library:
            slots = [(self.names[name], self.bases[name]) for name in names]
            self.out.ask(lambda run: run.sort(phase.function, [run.array(slot, base) for slot, base in slots]))
            return
        first = self.out.temporary(max(1, len(names)))
        self.out.put("pack", first, len(names), *[2 * self.names[name] + (name in self.bases) for name in names])
        chunks = self.out.constant(1) if phase.chunks is None else self.size(phase.chunks)
        chains = self.out.constant(1) if phase.chains is None else self.size(phase.chains)
        self.out.put("phase", self.kernel.functions[phase.function], chunks, first, self.kernel.inline, chains)

    def result(self, slot: int | None, result: Any, left: dict[str, None]) -> None:
        """`left`: the buffers that are still the launch's own."""
        if slot is None:
            return
        if isinstance(result, ArrayResult):
            if result.length is not None and result.buffer in left:
                width = DTYPES[self.bases[result.buffer]].itemsize
                self.out.put("shorten", self.names[result.buffer], self.size(result.length), width)
            self.out.put("move", slot, self.names[result.buffer])
            if result.buffer not in left:
                self.out.put("hold", slot)
            left.pop(result.buffer, None)
            return
        assert isinstance(result, ScalarResult)
        found = self.cells + result.slot
        if result.base in MASKS:
            found = self.out.operate("and", "int", found, self.out.constant(MASKS[result.base]))
        self.out.put("move", slot, found)

    def size(self, exp: loops.Exp) -> int:
        """The slot of a size."""
        match exp:
            case loops.Const(value):
                return self.out.constant(int(value))
            case loops.Name(name):
                return self.names[name]
            case loops.Load("cells", loops.Const(index)):
                return self.cells + int(index)
            case loops.Op(name, (a, b)):
                slot = self.sizes.get(exp) or self.out.operate(name, "int", self.size(a), self.size(b))
                if not any([isinstance(part, loops.Load) for part in parts(exp)]):
                    self.sizes[exp] = slot
                return slot
        raise TypeError(exp)

