"""Puts hooks in optimised code: each block counts its runs, accesses to memory and branches are told to machine.c.

    hooked(text)        LLVM's text with hooks, and what a run of each block is: amounts by name

Nothing is optimised afterwards, so what runs between hooks are the instructions of the optimised code. An access is
CHAINED if its address depends on what the same instruction has read before, so that it waits for that.
"""
from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from counting.instructions import NAME, Instruction, amounts, latency, parsed
from nessie.base.call_graph import components
from nessie.base.records import dataclass

FREE, CHAINED, STORED = 1, 2, 3         # kinds of accesses (machine.c)
COUNTS = "hook.counts"
AT_ONCE = 4                             # instructions a cycle, if none waits
LABEL = re.compile(r'(?:"[^"]+"|[\w.$-]+):')
POINTER = re.compile(rf"ptr (?:\w+ )*({NAME})")
POINTERS = re.compile(rf"<(\d+) x ptr> (?:\w+ )*({NAME})")
MASK = re.compile(rf"<\d+ x i1> ({NAME}|splat \(i1 \w+\)|<[^>]*>)")
LENGTH = re.compile(rf"i64 (?:range\([^)]*\) )?({NAME}|\d+), i1")
CONDITION = re.compile(rf"i1 ({NAME}),")
CASE = re.compile(r"(i\d+) (-?\d+), label")
DECLARED = """
declare void @hook_access(i64, i32, i32)
declare void @hook_run(i64, i64, i32, i32)
declare void @hook_branch(i8, i32)
"""


@dataclass(frozen=True)
class Block:
    """`label`: its line, empty where none is."""
    label: str
    instructions: Sequence[Instruction]


def hooked(text: str) -> tuple[str, list[Counter[str]]]:
    hooks = Hooks()
    parts = re.split(r"^(define .*?^}\n)", text, flags=re.MULTILINE | re.DOTALL)
    shown = "".join(hooks.function(part) if part.startswith("define ") else part for part in parts)
    return f"{shown}\n@{COUNTS} = global [{max(1, len(hooks.blocks))} x i64] zeroinitializer\n{DECLARED}", hooks.blocks


def blocks_of(lines: Sequence[str]) -> Iterator[Block]:
    """Of a function's lines; those of a switch are one instruction."""
    label, found, at = "", list[Instruction](), 0
    while at < len(lines):
        line = lines[at]
        if LABEL.match(line):
            if found:
                yield Block(label, found)
            label, found = line, []
        elif line.strip():
            while line.lstrip().startswith("switch ") and not line.rstrip().endswith("]"):
                at += 1
                line += f"\n{lines[at]}"
            found.append(parsed(line))
        at += 1
    yield Block(label, found)


def chained(blocks: Sequence[Block]) -> set[str]:
    """The names of what is read at an address that depends on what was read there before."""
    made = {i.name: i for block in blocks for i in block.instructions if i.name}
    graph = {name: [other for other in i.operands() if other in made] for name, i in made.items()}
    return {name for circle in components(graph) if len(circle) > 1 for name in circle if made[name].op == "load"}


def round_cycles(block: Block) -> float:
    """Of a block that is a loop: the cycles from a round's values to those of the next, whatever else it does."""
    label, longest = block.label.partition(":")[0], 0.0
    for phi in block.instructions:
        back = re.search(rf"\[ ({NAME}), %{re.escape(label)} \]", phi.rest) if phi.op == "phi" and label else None
        if back is None:
            continue
        since = {phi.name: 0.0}
        for i in block.instructions:
            if i.op != "phi" and (waited := [since[name] for name in i.operands() if name in since]):
                since[i.name] = max(waited) + latency(i)
        longest = max(longest, since.get(back[1], 0.0))
    return longest


class Hooks:
    """Numbers blocks and instructions."""

    def __init__(self) -> None:
        self.blocks: list[Counter[str]] = []
        self.lines: list[str] = []
        self.sites = self.names = 0

    def function(self, text: str) -> str:
        first, *lines, _ = text.splitlines()
        blocks = list(blocks_of(lines))
        waiting = chained(blocks)
        self.lines = [first]
        for block in blocks:
            self.lines += [block.label] * bool(block.label)
            found, counted = Counter[str](), False
            for instruction in block.instructions:
                if instruction.op != "phi" and not counted:
                    self.count()
                    counted = True
                found += amounts(instruction)
                self.watch(instruction, CHAINED if instruction.name in waiting else FREE)
                self.lines.append(instruction.text)
            around = round_cycles(block)
            self.blocks.append(found | Counter(idle=max(0.0, around - sum(found.values()) / AT_ONCE)))
        return "\n".join([*self.lines, "}\n"])

    def emit(self, value: str) -> str:
        self.names += 1
        self.lines.append(f"  %hook.{self.names} = {value}")
        return f"%hook.{self.names}"

    def count(self) -> None:
        place = f"getelementptr (i8, ptr @{COUNTS}, i64 {8 * len(self.blocks)})"
        more = self.emit(f"add i64 {self.emit(f'load i64, ptr {place}')}, 1")
        self.lines.append(f"  store i64 {more}, ptr {place}")

    def tell(self, hook: str, *arguments: str) -> None:
        """Of the next site."""
        self.lines.append(f"  call void @hook_{hook}({', '.join(arguments)})")

    def site(self) -> str:
        self.sites += 1
        return f"i32 {self.sites}"

    def watch(self, instruction: Instruction, kind: int) -> None:
        op, rest = instruction.op, instruction.rest
        if op == "br":
            if condition := CONDITION.match(rest):
                self.tell("branch", f"i8 {self.emit(f'zext i1 {condition[1]} to i8')}", self.site())
        elif op == "switch":
            type_, value = rest.split(",")[0].split()
            for case in CASE.findall(rest):
                equal = self.emit(f"icmp eq {type_} {value}, {case[1]}")
                self.tell("branch", f"i8 {self.emit(f'zext i1 {equal} to i8')}", self.site())
        elif op in ("load", "store", "atomicrmw", "cmpxchg"):
            self.access(rest, kind if op == "load" else STORED)
        elif op == "call" and "@llvm.masked.gather" in rest:
            self.lanes(rest, FREE)
        elif op == "call" and "@llvm.masked.scatter" in rest:
            self.lanes(rest, STORED)
        elif op == "call" and "@llvm.masked" in rest:
            self.access(rest, STORED if "store" in rest else FREE)
        elif op == "call" and "@llvm.mem" in rest:
            self.run(rest)

    def access(self, rest: str, kind: int) -> None:
        if pointers := POINTER.findall(rest):
            self.tell("access", self.address(pointers[-1]), self.site(), f"i32 {kind}")

    def address(self, pointer: str) -> str:
        return f"i64 {self.emit(f'ptrtoint ptr {pointer} to i64')}"

    def lanes(self, rest: str, kind: int) -> None:
        """Each lane's access; what the mask leaves out is at no address."""
        pointers, mask, site = POINTERS.search(rest), MASK.search(rest), self.site()
        if pointers is None or mask is None:
            return
        for lane in range(int(pointers[1])):
            at = self.address(self.emit(f"extractelement <{pointers[1]} x ptr> {pointers[2]}, i64 {lane}"))
            chosen = self.emit(f"extractelement <{pointers[1]} x i1> {mask[1]}, i64 {lane}")
            self.tell("access", f"i64 {self.emit(f'select i1 {chosen}, {at}, i64 0')}", site, f"i32 {kind}")

    def run(self, rest: str) -> None:
        """What is filled or copied at once: to the first pointer, from the second."""
        if length := LENGTH.search(rest):
            for pointer, kind in zip(POINTER.findall(rest), (STORED, FREE), strict=False):
                self.tell("run", self.address(pointer), f"i64 {length[1]}", self.site(), f"i32 {kind}")
