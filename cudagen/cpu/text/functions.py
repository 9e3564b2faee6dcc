"""Statements and functions as LLVM's text. A Var is an alloca, which the optimiser turns into registers."""
from __future__ import annotations

from nessie.cudagen.cpu.checks import AGAIN
from nessie.cudagen.cpu.machine_code import features
from nessie.cudagen.cpu.rewrites.eights import few_in_eights
from nessie.cudagen.cpu.rewrites.held import is_failure
from nessie.cudagen.cpu.row_loops import FEW, Kind, joins_row, kind_of, names_of_read
from nessie.cudagen.cpu.text.compaction import by_vectors, compaction_of
from nessie.cudagen.cpu.text.expressions import MEMORY, Expressions
from nessie.cudagen.cpu.text.operators import TYPES, Value
from nessie.cudagen.loops.nodes import (
    Atomic,
    Call,
    Exp,
    For,
    Function,
    If,
    Let,
    Name,
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
ALIGNED = 64                    # bytes: as long as vectors get
HALVES = 128                    # elements that 32 registers hold if they are half as wide
ATOMICS = {("add", "int"): "add", ("add", "float"): "fadd", ("min", "int"): "min", ("max", "int"): "max",
           ("exchange", "int"): "xchg", ("exchange", "float"): "xchg"}


def needs_wide_registers(function: Function) -> bool:
    """Whether registers hold all that the function keeps only if they are as wide as they get."""
    return sum([statement.size for statement in function.body if isinstance(statement, Shared)]) > HALVES


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


class FunctionPrinter(Expressions):
    """Prints one function."""

    def __init__(self, function: Function, functions: dict[str, Function], declared: dict[str, str]) -> None:
        super().__init__({p.name: Value(f"%{p.name}", p.type) for p in function.parameters if not p.array},
                         {p.name: p.type for p in function.parameters if p.array}, declared)
        self.function, self.functions = function, functions
        self.read = names_of_read(function)

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
