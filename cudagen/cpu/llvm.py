"""Pass: print loops as LLVM IR text (opaque pointers): functions of kind 'host' and 'device'; 'cuda' ones are left out.

A function f is printed as @f.body, internal to the module. A host function is called from outside by

    define void @f.call(i64 %first_chunk, i64 %last_chunk, ptr %arguments)

which reads f's parameters, in order, from 64-bit words: an int or an array's address as it is, a float as its bits, a
bool as 0 or 1, a char as its code. If f's first two parameters are the chunk range, they come from the registers and
have no words; else the range is ignored.

Arrays are `noalias`: nothing that is written aliases anything. In memory a bool is a byte, 0 or 1. A Var is an alloca,
which the optimiser turns into registers. Wrapping arithmetic carries no flags; the step of a loop's index cannot
overflow, since the index stays below a bound. No instruction may be reordered for speed: floats are added as the text
says.
"""
from __future__ import annotations

import struct

from nessie.base.text.layout import Doc, Mark, join, render
from nessie.base.widths import SIGNED, WIDE, single, wide
from nessie.cudagen.cpu.checks import AGAIN, editions
from nessie.cudagen.cpu.compaction import by_vectors, compaction_of
from nessie.cudagen.cpu.entries import RANGE, SIZE, entry_point, sizes_of
from nessie.cudagen.cpu.machine_code import features
from nessie.cudagen.cpu.operators import COMPARED, EXACT, ROUNDED, TYPES, Value, apply, nearest_single
from nessie.cudagen.cpu.rewrites.cuts import in_cuts
from nessie.cudagen.cpu.rewrites.decided import until_decided
from nessie.cudagen.cpu.rewrites.eights import few_in_eights, in_eights
from nessie.cudagen.cpu.rewrites.folds import in_lanes
from nessie.cudagen.cpu.rewrites.held import is_failure
from nessie.cudagen.cpu.rewrites.pairs import in_pairs
from nessie.cudagen.cpu.rewrites.ranges import in_ranges
from nessie.cudagen.cpu.rewrites.rows_ahead import with_rows_ahead
from nessie.cudagen.cpu.rewrites.rows_of_loops import by_rows
from nessie.cudagen.cpu.rewrites.strips import in_strips
from nessie.cudagen.cpu.row_loops import FEW, Kind, joins_row, kind_of, names_of_read
from nessie.cudagen.loops.module import Module
from nessie.cudagen.loops.nodes import (
    FRAME,
    Atomic,
    Call,
    Const,
    Distance,
    Exp,
    For,
    Function,
    If,
    Let,
    Load,
    Name,
    Op,
    Parameter,
    Part,
    Prefetch,
    Return,
    Set,
    Shared,
    Stmt,
    Store,
    Var,
    While,
)

NOTES = {                       # what is said of loops, and of branches: how often each side is taken
    "!999999": '!{!"llvm.loop.vectorize.enable", i1 false}',
    "!999998": '!{!"llvm.loop.unroll.disable"}',
    "!999997": '!{!"branch_weights", i32 1, i32 1000000}',
    "!999996": '!{!"branch_weights", i32 1000000, i32 1}',
    "!999995": '!{!"llvm.loop.vectorize.followup_vectorized", !999994}',
    "!999994": '!{!"llvm.loop.unroll.full"}',
}
SAID = {Kind.SCALAR: ("!999999",), Kind.WHOLE: ("!999998", "!999995"), Kind.UNROLLED: ("!999994",), Kind.ANY: ()}
MASKS = "avx512vl"              # the feature of processors that have masks for lanes
FEW_ROUNDS = ("!999999", "!999998")
AFTERWARDS = "!999994"          # of a vector, before it is unrolled
SELDOM, OFTEN = "!999997", "!999996"        # the first side fails; the second does
USUAL, SELDOM_CALLED, WIDEST = "#0", "#1", "#2"
ATTRIBUTES = ("attributes #0 = { nounwind }", "attributes #1 = { cold noinline nounwind optnone }")
OF_WIDEST = 'attributes #2 = { nounwind "prefer-vector-width"="512" }'    # for some processors, LLVM prefers half of it
ALIGNED = 64                    # bytes: as long as vectors get
HALVES = 128                    # elements that 32 registers hold if they are half as wide
MEMORY = {**TYPES, "bool": "i8", "int32": "i32", "int16": "i16", "int8": "i8", "uint8": "i8",
          "uint16": "i16", "uint32": "i32", "float32": "float", "char8": "i8"}
ATOMICS = {("add", "int"): "add", ("add", "float"): "fadd", ("min", "int"): "min", ("max", "int"): "max",
           ("exchange", "int"): "xchg", ("exchange", "float"): "xchg"}


def llvm(module: Module) -> str:
    """The module's host and device functions, with entry points for the host ones."""
    return render(document(module))


def document(module: Module) -> Doc:
    """The text, each function marked together with its entry point."""
    functions = {f.name: f for f in module.functions}
    sizes = sizes_of(module)
    declared = {SIZE: f"{SIZE} = {RANGE}"} if any(sizes.values()) else {}
    parts: list[Doc] = []
    shown = set[str]()
    for function in module.functions:
        if function.kind != "cuda":
            found = [f for f in rewritten(function, functions) if f.name not in shown]
            functions.update({f.name: f for f in found})
            texts = [FunctionPrinter(f, functions, declared).show() for f in found]
            shown |= {f.name for f in found}
            if function.kind == "host":
                called = WIDEST if any(map(needs_wide_registers, found)) else USUAL          # it is inlined there
                texts.append("\n".join(entry_point(function, sizes.get(function.name, frozenset()), called)))
            parts.append(Mark("\n\n".join(texts), function))
    wide = [OF_WIDEST] if any(map(needs_wide_registers, functions.values())) else []
    return (join("\n\n", [*parts, "\n".join([*declared.values(), "", *ATTRIBUTES, *wide])]), "\n")


def needs_wide_registers(function: Function) -> bool:
    """Whether registers hold all that the function keeps only if they are as wide as they get."""
    return sum([statement.size for statement in function.body if isinstance(statement, Shared)]) > HALVES


def rewritten(function: Function, functions: dict[str, Function]) -> tuple[Function, ...]:
    """The function as LLVM gets it, after what it calls beside the module's functions."""
    in_turn, strips = in_strips(function, functions)
    together = in_pairs(in_lanes(by_rows(in_ranges(in_cuts(with_rows_ahead(in_turn))))))
    if MASKS in features():
        together = in_eights(together)
    return (*strips, *editions(until_decided(together), in_turn))


def parameter_text(parameter: Parameter) -> str:
    if not parameter.array:
        return f"{TYPES[parameter.type]} %{parameter.name}"
    return f"ptr noalias {'' if parameter.writable else 'readonly '}%{parameter.name}"


def result_text(function: Function) -> str:
    """The function's result in LLVM: nothing, a scalar, or a struct of them."""
    match function.results:
        case ():
            return "void"
        case (only,):
            return TYPES[only]
    return "{ " + ", ".join(TYPES[r] for r in function.results) + " }"


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


class FunctionPrinter:
    """Prints one function. `names` holds the registers of its scalars, `variables` the types of its Vars;
    `reached` is False after an instruction that ends a block, until the next label."""

    def __init__(self, function: Function, functions: dict[str, Function], declared: dict[str, str]) -> None:
        self.function, self.functions, self.declared = function, functions, declared
        self.read = names_of_read(function)
        self.names = {p.name: Value(f"%{p.name}", p.type) for p in function.parameters if not p.array}
        self.arrays = {p.name: p.type for p in function.parameters if p.array}
        self.singles: dict[str, str] = {}       # registers of doubles that are singles, with those of the singles
        self.variables: dict[str, str] = {}
        self.allocas: list[str] = []
        self.lines: list[str] = []
        self.current, self.reached = ".entry", True
        self.registers = self.labels = 0

    def show(self) -> str:
        function = self.function
        self.block(function.body)
        if self.reached:
            self.end("unreachable" if function.results else "ret void")
        parameters = ", ".join(map(parameter_text, function.parameters))
        attributes = (SELDOM_CALLED if function.name.endswith(f".{AGAIN}") else
                      WIDEST if needs_wide_registers(function) else USUAL)
        header = f"define internal {result_text(function)} @{function.name}.body({parameters}) {attributes} {{"
        return "\n".join([header, ".entry:", *self.allocas, *self.lines, "}"])

    # Writing instructions -------------------------------------------------------------------

    def emit(self, instruction: str) -> str:
        self.registers += 1
        register = f"%.{self.registers}"
        self.lines.append(f"  {register} = {instruction}")
        return register

    def external(self, name: str, result: str, *arguments: str) -> str:
        types = ", ".join(a.split(" ", 1)[0] for a in arguments)
        pure = "" if name.startswith("llvm.") else " nounwind willreturn memory(none)"
        self.declared[name] = f"declare {result} @{name}({types}){pure}"
        return self.emit(f"call {result} @{name}({', '.join(arguments)})")

    def do(self, instruction: str) -> None:
        self.lines.append(f"  {instruction}")

    def end(self, instruction: str) -> None:
        """Ends the block, unless it has ended already."""
        if self.reached:
            self.do(instruction)
        self.reached = False

    def label(self, name: str) -> None:
        self.lines.append(f"{name}:")
        self.current, self.reached = name, True

    def number(self) -> int:
        self.labels += 1
        return self.labels

    # Statements -----------------------------------------------------------------------------

    def block(self, body: tuple[Stmt, ...]) -> None:
        for statement in body:
            self.statement(statement)

    def statement(self, statement: Stmt) -> None:
        match statement:
            case Let(name, _, value):
                self.names[name] = self.renamed(self.value(value), name)
            case Var(name, type_, initial):
                self.allocas.append(f"  %{name} = alloca {TYPES[type_]}")
                self.variables[name] = type_
                self.do(f"store {self.typed(initial)}, ptr %{name}")
            case Set(name, value):
                self.do(f"store {self.typed(value)}, ptr %{name}")
            case Store(array, index, value):
                self.store(array, index, value)
            case Shared(name, type_, size):
                self.allocas.append(f"  %{name} = alloca [{size} x {MEMORY[type_]}], align {ALIGNED}")
                self.arrays[name] = type_
            case Part(name, type_, array, offset):
                at = self.value(offset).text
                self.do(f"%{name} = getelementptr i8, ptr %{array}, i64 {at}")
                self.arrays[name] = type_
            case Prefetch(array, index):
                self.prefetch(array, index)
            case For():
                self.for_(statement)
            case While(condition, body):
                self.while_(condition, body)
            case If(condition, then, orelse):
                self.if_(condition, then, orelse)
            case Atomic():
                self.atomic(statement)
            case Call(names, function, arguments):
                self.call(names, self.functions[function], arguments)
            case Return(values):
                self.return_(values)
            case _:
                raise TypeError(statement)

    def renamed(self, value: Value, name: str) -> Value:
        """The value; the register that the last line computes it in gets the name."""
        start = f"  {value.text} = "
        if not (value.text.startswith("%.") and self.lines[-1].startswith(start)):
            return value
        self.lines[-1] = f"  %{name} = {self.lines[-1][len(start):]}"
        if value.text in self.singles:
            self.singles[f"%{name}"] = self.singles[value.text]
        return Value(f"%{name}", value.type)

    def for_(self, loop: For) -> None:
        found = compaction_of(loop, self)
        if found is None or "avx2" not in features():
            if joins_row(loop, self.read, self.variables) and MASKS in features():
                few = few_in_eights(loop, self.variables, f".few{self.number()}")
                if few:
                    return self.row(loop, few)
            return self.loop(loop, self.value(loop.low).text, self.note(loop))
        rest = by_vectors(self, loop, found, features())
        if rest is not None:
            self.loop(loop, rest, self.said(FEW_ROUNDS))

    def row(self, loop: For, few: list[Stmt]) -> None:
        """Twice: by eights where it has few elements, and for many."""
        low, n = self.value(loop.low).text, self.number()
        border = self.emit(f"add i64 {low}, {FEW}")
        is_few = self.emit(f"icmp slt i64 {self.value(loop.high).text}, {border}")
        self.end(f"br i1 {is_few}, label %few.{n}, label %many.{n}")
        self.label(f"few.{n}")
        self.block(tuple(few))
        self.end(f"br label %row.{n}")
        self.label(f"many.{n}")
        self.loop(loop, low, "")
        self.end(f"br label %row.{n}")
        self.label(f"row.{n}")

    def loop(self, loop: For, low: str, note: str) -> None:
        high, step = self.value(loop.high).text, self.value(loop.step).text
        n, index, before = self.number(), f"%{loop.index}", self.current
        self.end(f"br label %for.{n}")
        self.label(f"for.{n}")
        self.do(f"{index} = phi i64 [ {low}, %{before} ], [ {index}.next, %next.{n} ]")
        self.do(f"{index}.inside = icmp slt i64 {index}, {high}")
        self.end(f"br i1 {index}.inside, label %body.{n}, label %done.{n}")
        self.label(f"body.{n}")
        self.names[loop.index] = Value(index, "int")
        self.block(loop.body)
        self.end(f"br label %next.{n}")
        self.label(f"next.{n}")
        self.do(f"{index}.next = add nsw i64 {index}, {step}")
        self.end(f"br label %for.{n}{note}")
        self.label(f"done.{n}")

    def note(self, loop: For) -> str:
        """The metadata, at the branch back, of how to vectorise the loop."""
        said = SAID[kind_of(loop, self.read)]
        return self.said(said) if said else ""

    def said(self, said: tuple[str, ...]) -> str:
        note = f"!{len(self.declared)}"
        if "!999995" in said:
            self.declared.setdefault(AFTERWARDS, f"{AFTERWARDS} = {NOTES[AFTERWARDS]}")
        self.declared.update({name: f"{name} = {NOTES[name]}" for name in said})
        self.declared[note] = f"{note} = distinct !{{{', '.join([note, *said])}}}"
        return f", !llvm.loop {note}"

    def weights(self, then: tuple[Stmt, ...], orelse: tuple[Stmt, ...]) -> str:
        """The metadata, at a branch, of the side that hardly any element takes: it records a failed check."""
        seldom = SELDOM if any(map(is_failure, then)) else OFTEN if any(map(is_failure, orelse)) else None
        if seldom is None:
            return ""
        self.declared.setdefault(seldom, f"{seldom} = {NOTES[seldom]}")
        return f", !prof {seldom}"

    def while_(self, condition: Exp, body: tuple[Stmt, ...]) -> None:
        n = self.number()
        self.end(f"br label %while.{n}")
        self.label(f"while.{n}")
        self.end(f"br {self.typed(condition)}, label %body.{n}, label %done.{n}")
        self.label(f"body.{n}")
        self.block(body)
        self.end(f"br label %while.{n}")
        self.label(f"done.{n}")

    def if_(self, condition: Exp, then: tuple[Stmt, ...], orelse: tuple[Stmt, ...]) -> None:
        n = self.number()
        self.end(f"br {self.typed(condition)}, label %then.{n}, label %{'else' if orelse else 'endif'}.{n}"
                 f"{self.weights(then, orelse)}")
        self.label(f"then.{n}")
        self.block(then)
        goes_on = self.reached or not orelse
        self.end(f"br label %endif.{n}")
        if orelse:
            self.label(f"else.{n}")
            self.block(orelse)
            goes_on |= self.reached
            self.end(f"br label %endif.{n}")
        if goes_on:
            self.label(f"endif.{n}")

    def atomic(self, atomic: Atomic) -> None:
        type_ = self.arrays[atomic.array]
        pointer, value = self.pointer(atomic.array, atomic.index), self.typed(atomic.value)
        if atomic.compare is None:
            old = self.emit(f"atomicrmw {ATOMICS[atomic.op, type_]} ptr {pointer}, {value} seq_cst")
        else:
            compare = self.typed(atomic.compare)
            pair = self.emit(f"cmpxchg ptr {pointer}, {compare}, {value} seq_cst seq_cst")
            old = self.emit(f"extractvalue {{ {TYPES[type_]}, i1 }} {pair}, 0")
        if atomic.result is not None:
            self.names[atomic.result] = self.renamed(Value(old, type_), atomic.result)

    def call(self, names: tuple[str, ...], function: Function, arguments: tuple[Exp, ...]) -> None:
        values = [f"ptr %{argument.name}" if parameter.array and isinstance(argument, Name) else self.typed(argument)
                  for parameter, argument in zip(function.parameters, arguments, strict=True)]
        instruction = f"call {result_text(function)} @{function.name}.body({', '.join(values)})"
        if not function.results:
            return self.do(instruction)
        result = self.emit(instruction)
        for position, (name, type_) in enumerate(zip(names, function.results, strict=True)):
            one = result
            if len(names) > 1:
                one = self.emit(f"extractvalue {result_text(function)} {result}, {position}")
            self.names[name] = self.renamed(Value(one, type_), name)

    def return_(self, values: tuple[Exp, ...]) -> None:
        if len(values) < 2:
            return self.end(f"ret {self.typed(values[0])}" if values else "ret void")
        type_, result = result_text(self.function), "poison"
        for position, value in enumerate([self.typed(v) for v in values]):
            result = self.emit(f"insertvalue {type_} {result}, {value}, {position}")
        self.end(f"ret {type_} {result}")

    # Expressions and memory -----------------------------------------------------------------

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
