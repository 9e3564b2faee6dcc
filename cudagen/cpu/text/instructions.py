"""The lines of one LLVM function, as they are written: instructions, labels, and what they need declared."""
from __future__ import annotations


class Instructions:
    """Writes instructions into blocks. `declared`: by name, the lines that the module has beside functions; `current`:
    the block's label; `reached` is False after an instruction that ends a block, until the next label."""

    def __init__(self, declared: dict[str, str]) -> None:
        self.declared = declared
        self.allocas: list[str] = []
        self.lines: list[str] = []
        self.current, self.reached = ".entry", True
        self.registers = self.labels = 0

    def emit(self, instruction: str) -> str:
        """Append the instruction. Returns the register that its result is in."""
        self.registers += 1
        register = f"%.{self.registers}"
        self.lines.append(f"  {register} = {instruction}")
        return register

    def external(self, name: str, result: str, *arguments: str) -> str:
        """Append a call of an intrinsic or a library function on typed arguments. Returns its result's register."""
        types = ", ".join(a.split(" ", 1)[0] for a in arguments)
        pure = "" if name.startswith("llvm.") else " nounwind willreturn memory(none)"
        self.declared[name] = f"declare {result} @{name}({types}){pure}"
        return self.emit(f"call {result} @{name}({', '.join(arguments)})")

    def do(self, instruction: str) -> None:
        """Append an instruction that has no result."""
        self.lines.append(f"  {instruction}")

    def end(self, instruction: str) -> None:
        """End the block, unless it has ended already."""
        if self.reached:
            self.do(instruction)
        self.reached = False

    def label(self, name: str) -> None:
        """Begin a block."""
        self.lines.append(f"{name}:")
        self.current, self.reached = name, True

    def number(self) -> int:
        """A number that makes labels distinct."""
        self.labels += 1
        return self.labels
