"""The resources that kernels take, as NVIDIA's assembler (ptxas -v) says: registers, shared memory, stack, spills.

    usages_in(log)      the Usage of each function
    table(rows)         columns of text, the first row their titles

`Used 32 registers` and the like are lines of the assembler's own, which are not
specified anywhere; those of CUDA 11.8 to 13.5 have this form.
"""
from __future__ import annotations

import re
from collections.abc import Sequence

from nessie.base.records import dataclass

FUNCTION = re.compile(r"Function properties for (\S+)\n[^\n\d]*(\d+) bytes stack frame, "
                      r"(\d+) bytes spill stores, (\d+) bytes spill loads(?:\n[^\n]*Used (\d+) registers([^\n]*))?")
SHARED = re.compile(r"(\d+) bytes smem")
STACK = re.compile(r"(\d+) bytes cumulative stack size")
TITLES = ("kernel", "registers", "spill stores", "spill loads", "shared", "stack")


@dataclass(frozen=True)
class Usage:
    """The resources of one function: 32-bit registers of a thread, None for a function that kernels call, which has
    theirs; bytes of code's stores and loads of registers for which there was no room; bytes of shared memory of a
    block, of stack of a thread."""
    function: str
    registers: int | None
    spill_stores: int
    spill_loads: int
    shared: int
    stack: int

    @property
    def cells(self) -> tuple[str, ...]:
        """The numbers by the names of TITLES."""
        numbers = (self.registers, self.spill_stores, self.spill_loads, self.shared, self.stack)
        return (self.function, *("-" if number is None else str(number) for number in numbers))


def usages_in(log: str) -> tuple[Usage, ...]:
    """The resources of all functions in the assembler's log."""
    found = []
    for name, frame, stores, loads, registers, rest in FUNCTION.findall(log):
        shared, stack = SHARED.search(rest), STACK.search(rest)
        found.append(Usage(unmangled(name), int(registers) if registers else None, int(stores), int(loads),
                           int(shared[1]) if shared else 0, int(stack[1] if stack else frame)))
    return tuple(found)


def unmangled(name: str) -> str:
    """The C++ name of a function: chosen for _Z6chosendi and for _ZN3one6chosenEdi."""
    space = re.match(r"_ZN(\d+)", name)
    rest = name[space.end() + int(space[1]):] if space else name.removeprefix("_Z")
    length = re.match(r"\d+", rest)
    return rest[length.end():length.end() + int(length[0])] if length and name.startswith("_Z") else name


def table(rows: Sequence[Sequence[str]], left: int = 1) -> str:
    """Lines of columns as wide as need be; the first `left` of them begin at their left."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ["  ".join(cell.ljust(width) if at < left else cell.rjust(width)
                       for at, (cell, width) in enumerate(zip(row, widths, strict=True))).rstrip() for row in rows]
    return "".join(f"{line}\n" for line in lines)
