"""Writes LLVM's instructions of a handler (nessie.cudagen.native.handlers)."""
from __future__ import annotations

from collections.abc import Callable

from nessie.cudagen.cpu.text.instructions import Instructions
from nessie.cudagen.native.words import HANDLE, LEAVES, STATE


class Writer(Instructions):
    """Writes a handler. Values are the names of 64-bit registers, unless they are said to be others."""

    def variable(self, initial: str) -> str:
        """The address of a variable."""
        name = f"%variable{len(self.allocas)}"
        self.allocas.append(f"  {name} = alloca i64")
        self.store(initial, name)
        return name

    def op(self, name: str, a: str | int, b: str | int) -> str:
        """add, sub, mul, shl, lshr, and of two words."""
        return self.emit(f"{name} i64 {a}, {b}")

    def either(self, *conditions: str) -> str:
        first, *others = conditions
        for other in others:
            first = self.emit(f"or i1 {first}, {other}")
        return first

    # Memory ---------------------------------------------------------------------------------

    def place(self, base: str, number: str | int, type_: str = "i64") -> str:
        return self.emit(f"getelementptr {type_}, ptr {base}, i64 {number}")

    def load(self, place: str, type_: str = "i64") -> str:
        return self.emit(f"load {type_}, ptr {place}")

    def store(self, value: str | int, place: str, type_: str = "i64") -> None:
        self.do(f"store {type_} {value}, ptr {place}")

    def word(self, base: str, number: str | int, type_: str = "i64") -> str:
        return self.load(self.place(base, number), type_)

    def set_word(self, base: str, number: str | int, value: str | int, type_: str = "i64") -> None:
        self.store(value, self.place(base, number), type_)

    def operand(self, number: int) -> str:
        return self.word("%at", number)

    def slot(self, number: int, type_: str = "i64") -> str:
        """What the slot holds that this operand names."""
        return self.word("%frame", self.operand(number), type_)

    def fill_slot(self, number: int, value: str, type_: str = "i64") -> None:
        self.set_word("%frame", self.operand(number), value, type_)

    def state(self, name: str, type_: str = "i64") -> str:
        return self.word("%state", STATE.index(name), type_)

    def set_state(self, name: str, value: str | int, type_: str = "i64") -> None:
        self.set_word("%state", STATE.index(name), value, type_)

    def add_state(self, name: str, value: str | int) -> str:
        added = self.op("add", self.state(name), value)
        self.set_state(name, added)
        return added

    def part(self, handle: str, name: str, type_: str = "i64") -> str:
        return self.word(handle, HANDLE.index(name), type_)

    def set_part(self, handle: str, name: str, value: str | int, type_: str = "i64") -> None:
        self.set_word(handle, HANDLE.index(name), value, type_)

    # Ways -----------------------------------------------------------------------------------

    def test(self, comparison: str, a: str, b: str | int, type_: str = "i64") -> str:
        return self.emit(f"icmp {comparison} {type_} {a}, {b}")

    def where(self, condition: str, body: Callable[[], None]) -> None:
        """The body, if the condition holds, which goes on behind it or returns."""
        n = self.number()
        self.do(f"br i1 {condition}, label %then{n}, label %end{n}")
        self.label(f"then{n}")
        body()
        if not self.lines[-1].startswith("  ret "):
            self.do(f"br label %end{n}")
        self.label(f"end{n}")

    def each(self, count: str, body: Callable[[str], None]) -> None:
        """The body for 0 .. count-1."""
        n = self.number()
        place = self.variable("0")
        self.do(f"br label %test{n}")
        self.label(f"test{n}")
        index = self.load(place)
        self.do(f"br i1 {self.test('slt', index, count)}, label %body{n}, label %done{n}")
        self.label(f"body{n}")
        body(index)
        self.store(self.op("add", index, 1), place)
        self.do(f"br label %test{n}")
        self.label(f"done{n}")

    def after(self, words: str | int) -> str:
        return self.place("%at", words)

    def go(self, words: str | int) -> None:
        """On, so many words behind the record's beginning."""
        self.do(f"ret ptr {self.after(words)}")

    def leave(self, why: str, words: int = 0) -> None:
        """To Python, which lets the machine go on so many words behind the record's beginning."""
        self.set_state("at", self.after(words), "ptr")
        self.set_state("from", "%at", "ptr")
        self.set_state("why", LEAVES[why])
        self.do("ret ptr null")
