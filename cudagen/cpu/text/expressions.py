"""The values of expressions as LLVM's text, and reads and writes of memory.

A register holds a scalar as it is computed with. In memory a bool is a byte, 0 or 1, and a narrow number takes the bits
of its type. A double that is known to be a single has a register as a single, too: what is exact of singles is computed
by instructions for singles.
"""
from __future__ import annotations

import struct

from nessie.base.widths import SIGNED, WIDE, single, wide
from nessie.cudagen.cpu.text.instructions import Instructions
from nessie.cudagen.cpu.text.operators import COMPARED, EXACT, ROUNDED, TYPES, Value, apply, nearest_single
from nessie.cudagen.loops.nodes import FRAME, Const, Distance, Exp, Load, Name, Op

MEMORY = {**TYPES, "bool": "i8", "int32": "i32", "int16": "i16", "int8": "i8", "uint8": "i8",
          "uint16": "i16", "uint32": "i32", "float32": "float", "char8": "i8"}


def constant(value: int | float | bool | str, type_: str) -> str:
    match type_:
        case "float":
            return f"0x{struct.unpack('<Q', struct.pack('<d', value))[0]:016X}"
        case "bool":
            return "true" if value else "false"
        case "char":
            return str(ord(str(value)))
    return str(value)


def is_single(operand: Value) -> bool:
    """Is this a constant that is a single?"""
    if operand.type != "float" or not operand.text.startswith("0x"):
        return False
    (value,) = struct.unpack("<d", struct.pack("<Q", int(operand.text, 16)))
    return bool(single(value) == value)


class Expressions(Instructions):
    """Writes expressions. `names` holds the registers of scalars, `variables` the types of Vars, `arrays` those of
    arrays' elements."""

    def __init__(self, names: dict[str, Value], arrays: dict[str, str], declared: dict[str, str]) -> None:
        super().__init__(declared)
        self.names, self.arrays = names, arrays
        self.variables: dict[str, str] = {}
        self.singles: dict[str, str] = {}       # registers of doubles that are singles, with those of the singles

    def typed(self, exp: Exp) -> str:
        """The expression's value with its type before it."""
        value = self.value(exp)
        return f"{TYPES[value.type]} {value.text}"

    def value(self, exp: Exp) -> Value:
        match exp:
            case Const(value, type_):
                return Value(constant(value, type_), type_)
            case Name(name) if name in self.variables:
                type_ = self.variables[name]
                return Value(self.emit(f"load {TYPES[type_]}, ptr %{name}"), type_)
            case Name(name) if name == FRAME:
                frame = self.external("llvm.frameaddress.p0", "ptr", "i32 0")
                return Value(self.emit(f"ptrtoint ptr {frame} to i64"), "int")
            case Name(name):
                return self.names[name]
            case Op("float32", (rounded,)):
                return self.rounded(rounded)
            case Op(op, arguments):
                return self.applied(op, tuple([self.value(a) for a in arguments]))
            case Load(array, index, order):
                return self.load(array, index, order == "volatile")
            case Distance(array, start):
                ends = [self.emit(f"ptrtoint ptr %{name} to i64") for name in (array, start)]
                return Value(self.emit(f"sub i64 {ends[0]}, {ends[1]}"), "int")
        raise TypeError(exp)

    # Singles: doubles whose registers as singles are known -------------------------------------

    def applied(self, op: str, values: tuple[Value, ...]) -> Value:
        """The operator's result; of singles that of the instruction for them, if it is exact."""
        if op == "select" and (given := self.as_singles(values[1:])) is not None:
            return self.widened(self.emit(f"select i1 {values[0].text}, float {given[0]}, float {given[1]}"))
        if op in EXACT and (given := self.as_singles(values)) is not None:
            return self.widened(EXACT[op](self, given))
        if op in COMPARED and (given := self.as_singles(values)) is not None:
            return Value(self.emit(f"fcmp {COMPARED[op][1]} float {given[0]}, {given[1]}"), "bool")
        return apply(self, op, values)

    def rounded(self, exp: Exp) -> Value:
        """The single that is nearest to the expression's value. Of an operator on singles it is the result of the
        instruction, or the function, for singles."""
        if isinstance(exp, Op) and exp.op != "float32":
            values = tuple([self.value(a) for a in exp.arguments])
            if exp.op in ROUNDED and (given := self.as_singles(values)) is not None:
                return self.widened(ROUNDED[exp.op](self, given))
            value = self.applied(exp.op, values)
        else:
            value = self.value(exp)
        return value if self.as_singles((value,)) else self.widened(nearest_single(self, value))

    def widened(self, single: str) -> Value:
        """The single as a double."""
        double = self.emit(f"fpext float {single} to double")
        self.singles[double] = single
        return Value(double, "float")

    def as_singles(self, values: tuple[Value, ...]) -> list[str] | None:
        """The values as singles, if they are known to be some. Constants are not all that they are."""
        if not any([v.text in self.singles for v in values]):
            return None
        known = [self.singles.get(v.text, v.text) for v in values if v.text in self.singles or is_single(v)]
        return known if len(known) == len(values) else None

    # Memory ---------------------------------------------------------------------------------

    def pointer(self, array: str, index: Exp) -> str:
        type_, at = MEMORY[self.arrays[array]], self.value(index).text
        return self.emit(f"getelementptr inbounds {type_}, ptr %{array}, i64 {at}")

    def prefetch(self, array: str, index: Exp) -> None:
        """What is read soon goes to all caches; the place may be none of the array's."""
        place = self.emit(f"getelementptr {MEMORY[self.arrays[array]]}, ptr %{array}, i64 {self.value(index).text}")
        self.declared["llvm.prefetch"] = "declare void @llvm.prefetch.p0(ptr, i32, i32, i32)"
        self.do(f"call void @llvm.prefetch.p0(ptr {place}, i32 0, i32 3, i32 1)")

    def load(self, array: str, index: Exp, volatile: bool) -> Value:
        type_, pointer = self.arrays[array], self.pointer(array, index)
        loaded = self.emit(f"load {'volatile ' if volatile else ''}{MEMORY[type_]}, ptr {pointer}")
        if type_ == "float32":
            return self.widened(loaded)
        if type_ in WIDE:
            extended, full = "sext" if type_ in SIGNED else "zext", wide(type_)
            return Value(self.emit(f"{extended} {MEMORY[type_]} {loaded} to {TYPES[full]}"), full)
        return Value(self.emit(f"icmp ne i8 {loaded}, 0") if type_ == "bool" else loaded, type_)

    def narrow(self, value: Value, type_: str) -> str:
        """The number, which fits, as an element of this type."""
        if type_ == "float32":
            known = self.as_singles((value,))
            return known[0] if known else nearest_single(self, value)
        return self.emit(f"trunc {TYPES[wide(type_)]} {value.text} to {MEMORY[type_]}")

    def store(self, array: str, index: Exp, value: Exp) -> None:
        pointer, type_ = self.pointer(array, index), self.arrays[array]
        if type_ in WIDE:
            narrow = self.narrow(self.value(value), type_)
            return self.do(f"store {MEMORY[type_]} {narrow}, ptr {pointer}")
        stored = self.typed(value)
        if type_ == "bool":
            stored = "i8 " + self.emit(f"zext {stored} to i8")
        self.do(f"store {stored}, ptr {pointer}")
