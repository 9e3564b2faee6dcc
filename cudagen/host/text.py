"""The form host as text: show(program) and parse(text), inverse to each other.

    program       sites, scalar functions, tunables, kernels, functions, the entry; all but kernels and functions as in
                  lambda_cu
    kernel        kernel NAME : 2 -> 1                      how many arguments, how many results
    function      host NAME (#0, _) slots 9 { ... }         its parameters' slots; how many slots there are
    instruction   3: launch KERNEL (#0, 5) -> #2, _         each with its number; constants and sites as in lambda_cu
                  3: call FUNCTION (#0, 5) -> #2, _
                  3: perform EFFECT : LAYOUT -> LAYOUT (#0) -> #2
                  3: compute #2 = EXPRESSION where n is #0, xs is #1
                  3: decide #2 = VERSION if CONDITION where n is #0
                  3: constant #2 = int [1, 2, 3]
                  3: unless #2 jump 7    3: jump 7    3: move (#0, 5) -> #2, #3    3: drop    3: give (#0, 5)
                  3: ... dead #0, #1                      not behind `constant` and `jump`: slots that are empty then

`_` stands for a slot where nobody reads what would go there.
"""
from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

from nessie.base.source import Source
from nessie.base.text.grammar import Field, Grammar
from nessie.base.text.layout import LINE, Doc, Group, Mark, Nest, join, render
from nessie.base.text.places import Places
from nessie.base.text.tokens import Tokens
from nessie.cudagen.host.nodes import (
    Code,
    Compute,
    Constant,
    Decide,
    Drop,
    Give,
    Instruction,
    Invoke,
    Jump,
    JumpUnless,
    Launch,
    Move,
    Operand,
    Perform,
    Program,
    Results,
    Signature,
    Slot,
    Slots,
)
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu.text.parser import entry, many, scalar_function, site, tunable
from nessie.lambda_cu.text.parser_expressions import constant, element_type, expression, layout
from nessie.lambda_cu.text.printer import show_atom, show_entry, show_scalar_function, show_site, show_tunable
from nessie.lambda_cu.text.printer_expressions import KEYWORDS, name, show_exp, show_layout, show_value

T = TypeVar("T")


def show(program: Program) -> str:
    return render(document(program))


def document(program: Program) -> Doc:
    """The text; sites, functions and instructions are marked."""
    parts: list[Doc] = [tuple((Mark(show_site(site), site), "\n") for site in program.sites),
                        tuple(Mark(show_scalar_function(f), f) for f in program.scalar_functions),
                        tuple((Mark(show_tunable(t), t), "\n") for t in program.tunables),
                        tuple(show_signature(kernel) for kernel in program.kernels)]
    parts += [Mark(code_doc(code), code) for code in program.functions]
    return join("\n", [part for part in (*parts, show_entry(program.entry)) if part])


def show_signature(kernel: Signature) -> str:
    return f"kernel {name(kernel.name)} : {kernel.arguments} -> {kernel.results}\n"


def code_doc(code: Code) -> Doc:
    lines = tuple(("  ", Mark(instruction_doc(at, instruction), instruction), "\n")
                  for at, instruction in enumerate(code.instructions))
    parameters = ", ".join(map(show_slot, code.parameters))
    return (f"host {name(code.name)} ({parameters}) slots {code.slots} {{\n", lines, "}\n")


def instruction_doc(at: int, instruction: Instruction) -> Doc:
    return (f"{at}: ", GRAMMAR.show(instruction))


def listed(items: Iterable[str], brackets: str = "()") -> Doc:
    """The items between brackets, in lines that are as full as they can be."""
    first, *rest = [*items] or [""]
    return (brackets[0], first, Nest(tuple((",", Group((LINE, item))) for item in rest), 6), brackets[1])


def show_names(names: dict[str, Slot]) -> str:
    found = ", ".join([f"{name(text)} is {show_slot(slot)}" for text, slot in names.items()])
    return f"where {found}" if found else ""


def show_operand(operand: Operand) -> str:
    return show_slot(operand) if isinstance(operand, int) else show_atom(operand)


def show_slot(slot: Slot | None) -> str:
    return "_" if slot is None else f"#{slot}"


# Reading ----------------------------------------------------------------------------------------


def parse(text: str | Source, places: Places | None = None) -> Program:
    """The program that the text shows; NessieError where it is none."""
    tokens = Tokens(text, KEYWORDS, places)
    sites = many(tokens, "site", lambda: site(tokens, {}))
    scalars = many(tokens, "scalar", lambda: scalar_function(tokens))
    tunables = many(tokens, "tunable", lambda: tunable(tokens))
    kernels = many(tokens, "kernel", lambda: signature(tokens))
    functions = many(tokens, "host", lambda: code(tokens))
    program = Program(sites, scalars, kernels, functions,
                      entry(tokens, ("site", "scalar", "tunable", "kernel", "host")), tunables)
    tokens.finish()
    return program


def signature(tokens: Tokens) -> Signature:
    start = tokens.expect("kernel")
    named = tokens.name()
    tokens.expect(":")
    arguments = tokens.literal("int")
    tokens.expect("->")
    return tokens.mark(start, Signature(named, arguments, tokens.literal("int")))


def code(tokens: Tokens) -> Code:
    start = tokens.expect("host")
    named = tokens.name()
    tokens.expect("(")
    parameters = tokens.listed(lambda: result(tokens), ")")
    tokens.expect("slots")
    slots = tokens.literal("int")
    tokens.expect("{")
    instructions: list[Instruction] = []
    while not tokens.accept("}"):
        if tokens.current.kind != "int" or tokens.current.value != len(instructions):
            tokens.fail(f"the instruction's number, {len(instructions)}, is expected here")
        at = tokens.take()
        tokens.expect(":")
        instructions.append(tokens.mark(at, instruction(tokens)))
    return tokens.mark(start, Code(named, parameters, slots, tuple(instructions)))


def instruction(tokens: Tokens) -> Instruction:
    kind = KINDS.get(tokens.current.text)
    if kind is None or tokens.current.kind != "name":
        tokens.fail(f"an instruction is expected here ({', '.join(KINDS)})")
    return GRAMMAR.read(tokens, kind)


def names_read(tokens: Tokens) -> dict[str, Slot]:
    names: dict[str, Slot] = {}
    more = tokens.accept("where")
    while more:
        named = tokens.name()
        tokens.expect("is")
        names[named] = slot(tokens)
        more = tokens.accept(",")
    return names


def values(tokens: Tokens) -> tuple[int | float | bool | str, ...]:
    tokens.expect("[")
    return tokens.listed(lambda: constant(tokens).value, "]")


def operands(tokens: Tokens) -> tuple[Operand, ...]:
    tokens.expect("(")
    return tokens.listed(lambda: operand(tokens), ")")


def operand(tokens: Tokens) -> Operand:
    start = tokens.current
    if tokens.at("#"):
        return slot(tokens)
    return tokens.mark(start, ir.Const(tokens.name("a site"), "site")) if tokens.accept("site") else constant(tokens)


def results(tokens: Tokens) -> Results:
    return several(tokens, lambda: result(tokens)) if tokens.accept("->") else ()


def result(tokens: Tokens) -> Slot | None:
    return None if tokens.accept("_") else slot(tokens)


def dead(tokens: Tokens) -> Slots:
    return several(tokens, lambda: slot(tokens)) if tokens.accept("dead") else ()


def slot(tokens: Tokens) -> Slot:
    tokens.expect("#")
    number: int = tokens.literal("int")
    return number


def several(tokens: Tokens, item: Callable[[], T]) -> tuple[T, ...]:
    """One or more, with commas between them."""
    items = [item()]
    while tokens.accept(","):
        items.append(item())
    return tuple(items)


GRAMMAR = Grammar({
    Launch: "launch {kernel} {arguments} {results} {dead}",
    Invoke: "call {function} {arguments} {results} {dead}",
    Perform: "perform {effect} : {takes} -> {gives} {arguments} {results} {dead}",
    Compute: "compute {result} = {value} {names} {dead}",
    Decide: "decide {result} = {version} if {value} {names} {dead}",
    Constant: "constant {result} = {base:base} {values}",
    JumpUnless: "unless {condition} jump {target} {dead}",
    Jump: "jump {target}",
    Move: "move {sources} {results} {dead}",
    Drop: "drop {dead}",
    Give: "give {results} {dead}",
}, {
    "str": Field(name, Tokens.name),
    "base": Field(str, element_type),
    "int": Field(str, lambda tokens: tokens.literal("int")),
    "Operand": Field(show_operand, operand),
    "tuple[Operand, ...]": Field(lambda found: listed(map(show_operand, found)), operands),
    "Slot | None": Field(show_slot, result),
    "Results": Field(lambda found: f"-> {', '.join(map(show_slot, found))}" if found else "", results),
    "Slots": Field(lambda found: f"dead {', '.join(map(show_slot, found))}" if found else "", dead),
    "tuple[int | float | bool | str, ...]": Field(lambda found: listed(map(show_value, found), "[]"), values),
    "ir.Exp": Field(lambda exp: show_exp(exp, 6), expression),
    "ir.Layout": Field(show_layout, layout),
    "dict[str, Slot]": Field(show_names, names_read),
})
KINDS: dict[str, type[Instruction]] = {row.split()[0]: kind for kind, row in GRAMMAR.rows.items()}
