"""The form host as text: show(program) and parse(text), inverse to each other.

    program       sites, scalar functions, kernels, functions, the entry; all but kernels and functions as in lambda_cu
    kernel        kernel NAME : 2 -> 1                      how many arguments, how many results
    function      host NAME (#0, _) slots 9 { ... }         its parameters' slots; how many slots there are
    instruction   3: launch KERNEL (#0, 5) -> #2, _         each with its number; constants and sites as in lambda_cu
                  3: call FUNCTION (#0, 5) -> #2, _
                  3: perform EFFECT : LAYOUT -> LAYOUT (#0) -> #2
                  3: compute #2 = EXPRESSION where n is #0, xs is #1
                  3: constant #2 = int [1, 2, 3]
                  3: unless #2 jump 7    3: jump 7    3: move (#0, 5) -> #2, #3    3: drop    3: give (#0, 5)
                  3: ... dead #0, #1                      not behind `constant` and `jump`: slots that are empty then

`_` stands for a slot where nobody reads what would go there.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from nessie.base.source import Source
from nessie.base.text.layout import Doc, Mark, join, render
from nessie.base.text.places import Places
from nessie.base.text.tokens import Tokens
from nessie.cudagen.host.nodes import (
    Code,
    Compute,
    Constant,
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
    dead_after,
)
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu.text.parser import entry, many, scalar_function, site
from nessie.lambda_cu.text.parser_expressions import constant, expression, layout, scalar
from nessie.lambda_cu.text.printer import further_in, show_atom, show_entry, show_scalar_function, show_site
from nessie.lambda_cu.text.printer_expressions import KEYWORDS, name, show_exp, show_layout, show_value

T = TypeVar("T")


def show(program: Program) -> str:
    return render(document(program))


def document(program: Program) -> Doc:
    """The text; sites, functions and instructions are marked."""
    parts: list[Doc] = [tuple((Mark(show_site(site), site), "\n") for site in program.sites),
                        tuple(Mark(show_scalar_function(f), f) for f in program.scalar_functions),
                        tuple(show_signature(kernel) for kernel in program.kernels)]
    parts += [Mark(code_doc(code), code) for code in program.functions]
    return join("\n", [part for part in (*parts, show_entry(program.entry)) if part])


def show_signature(kernel: Signature) -> str:
    return f"kernel {name(kernel.name)} : {kernel.arguments} -> {kernel.results}\n"


def code_doc(code: Code) -> Doc:
    lines = tuple(("  ", Mark(show_instruction(at, instruction), instruction), "\n")
                  for at, instruction in enumerate(code.instructions))
    parameters = ", ".join(map(show_slot, code.parameters))
    return (f"host {name(code.name)} ({parameters}) slots {code.slots} {{\n", lines, "}\n")


def show_instruction(at: int, instruction: Instruction) -> str:
    dead = dead_after(instruction)
    return f"{at}: {show_work(instruction)}{' dead ' if dead else ''}{', '.join(map(show_slot, dead))}"


def show_work(instruction: Instruction) -> str:
    match instruction:
        case Launch(results, kernel, arguments):
            return show_call(f"launch {name(kernel)}", arguments, results)
        case Invoke(results, function, arguments):
            return show_call(f"call {name(function)}", arguments, results)
        case Perform(results, effect, arguments, takes, gives):
            start = f"perform {name(effect)} : {show_layout(takes)} -> {show_layout(gives)}"
            return show_call(start, arguments, results)
        case Compute(result, value, names):
            where = ", ".join([f"{name(text)} is {show_slot(slot)}" for text, slot in names.items()])
            return f"compute {show_slot(result)} = {show_exp(value, 6)}{' where ' + where if where else ''}"
        case Constant(result, base, values):
            return further_in(f"constant {show_slot(result)} = {base} ", map(show_value, values), "  ", "[]")
        case JumpUnless(condition, target):
            return f"unless {show_operand(condition)} jump {target}"
        case Jump(target):
            return f"jump {target}"
        case Move(results, sources):
            return show_call("move", sources, results)
        case Drop():
            return "drop"
        case Give(operands):
            return show_call("give", operands, ())
    raise TypeError(instruction)


def show_call(start: str, operands: tuple[Operand, ...], results: Results) -> str:
    to = f" -> {', '.join(map(show_slot, results))}" if results else ""
    return further_in(f"{start} ", map(show_operand, operands), "  ") + to


def show_operand(operand: Operand) -> str:
    return show_slot(operand) if isinstance(operand, int) else show_atom(operand)


def show_slot(slot: Slot | None) -> str:
    return "_" if slot is None else f"#{slot}"


# Reading ----------------------------------------------------------------------------------------


def parse(text: str | Source, places: Places | None = None) -> Program:
    """The program that the text shows; NessieError where it is none."""
    tokens = Tokens(text, KEYWORDS, places)
    program = Program(many(tokens, "site", lambda: site(tokens, {})),
                      many(tokens, "scalar", lambda: scalar_function(tokens)),
                      many(tokens, "kernel", lambda: signature(tokens)),
                      many(tokens, "host", lambda: code(tokens)), entry(tokens, ("site", "scalar", "kernel", "host")))
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
    word = tokens.accept(*READERS)
    if word is None:
        tokens.fail(f"an instruction is expected here ({', '.join(READERS)})")
    return READERS[word](tokens)


def launch(tokens: Tokens) -> Launch:
    kernel, arguments = tokens.name(), operands(tokens)
    return Launch(results(tokens), kernel, arguments, dead(tokens))


def call(tokens: Tokens) -> Invoke:
    function, arguments = tokens.name(), operands(tokens)
    return Invoke(results(tokens), function, arguments, dead(tokens))


def perform(tokens: Tokens) -> Perform:
    effect = tokens.name()
    tokens.expect(":")
    takes = layout(tokens)
    tokens.expect("->")
    gives, arguments = layout(tokens), operands(tokens)
    return Perform(results(tokens), effect, arguments, takes, gives, dead(tokens))


def compute(tokens: Tokens) -> Compute:
    to = result(tokens)
    tokens.expect("=")
    value = expression(tokens)
    names: dict[str, Slot] = {}
    more = tokens.accept("where")
    while more:
        named = tokens.name()
        tokens.expect("is")
        names[named] = slot(tokens)
        more = tokens.accept(",")
    return Compute(to, value, names, dead(tokens))


def constant_array(tokens: Tokens) -> Constant:
    to = result(tokens)
    tokens.expect("=")
    base = scalar(tokens)
    tokens.expect("[")
    return Constant(to, base, tokens.listed(lambda: constant(tokens).value, "]"))


def unless(tokens: Tokens) -> JumpUnless:
    condition = operand(tokens)
    tokens.expect("jump")
    return JumpUnless(condition, tokens.literal("int"), dead(tokens))


def move(tokens: Tokens) -> Move:
    sources = operands(tokens)
    return Move(results(tokens), sources, dead(tokens))


READERS: dict[str, Callable[[Tokens], Instruction]] = {
    "launch": launch, "call": call, "perform": perform, "compute": compute, "constant": constant_array,
    "unless": unless, "jump": lambda tokens: Jump(tokens.literal("int")), "move": move,
    "drop": lambda tokens: Drop(dead(tokens)), "give": lambda tokens: Give(operands(tokens), dead(tokens))}


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
