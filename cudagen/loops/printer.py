"""The words and levels of the text of loops, and its printer (grammar: cudagen.loops.text)."""
from __future__ import annotations

from collections.abc import Iterator

from nessie.base.text.layout import Doc, Mark, join, render
from nessie.base.text.tokens import show_char, show_name, show_string
from nessie.base.widths import WIDE, wide
from nessie.cudagen.loops.module import Module
from nessie.cudagen.loops.nodes import (
    WARP,
    Atomic,
    Barrier,
    Call,
    Const,
    Distance,
    Exp,
    For,
    Function,
    If,
    Let,
    Load,
    LoadPair,
    Name,
    Note,
    Op,
    Parameter,
    Part,
    Pause,
    Peers,
    Prefetch,
    Return,
    Set,
    Shared,
    Shuffle,
    Stmt,
    Store,
    StorePair,
    Var,
    Vote,
    While,
)
from nessie.cudagen.loops.plan import Buffer, Input, Phase, Plan, Result, ScalarResult
from nessie.lambda_cu.ops import LEVELS, OPS

TYPES = ("int", "float", "bool", "char")
ELEMENTS = (*TYPES, *WIDE)
KINDS = ("host", "cuda", "device", "apart")
ATOMICS = ("add", "min", "max", "exchange", "cas")
SHUFFLES = ("down", "up", "index")
LOOSEST, SELECT = -1, 0           # how tightly `? :` binds, below all operators
DEEPEST = 30                    # deeper statements are not indented more, so that deep programs have short lines
KEYWORDS = frozenset([*ELEMENTS, *KINDS, *(op for op in OPS if op[0].isalpha()), "writable", "var", "shared", "for",
                      "while", "if", "else", "atomic", "call", "piece", "distance", "pause", "prefetch", "relaxed",
                      "acquire", "release", "pair", "barrier", "return", "note", "about", "preface", "volatile",
                      "shuffle", "vote", "peers", "inf", "nan", "true", "false"])


def show(module: Module) -> str:
    """The module's text."""
    return render(document(module))


def document(module: Module) -> Doc:
    """The text, each plan and each function marked."""
    plans = [Mark(show_plan(plan), plan) for plan in module.plans]
    functions = [(comments("about", function.about), Mark(show_function(function), function))
                 for function in module.functions]
    above = [comments("preface", module.about)] if module.about else []
    return join("\n", [*above, *[(part, "\n") for part in (*plans, *functions)]])


def comments(word: str, text: str) -> str:
    """Its lines, each as a string behind the word."""
    return "".join(f"{word} {show_string(line)}\n" for line in text.split("\n")) if text else ""


def show_plan(plan: Plan) -> str:
    return "\n".join([f"plan {word(plan.name)}({', '.join(map(show_input, plan.parameters))}) {{",
                      f"  cells {plan.cells};", f"  elements {show_exp(plan.elements)};",
                      *([f"  alone {word(plan.alone.plan)} of {show_exp(plan.alone.chunks)};"] if plan.alone else []),
                      *(line for phase in plan.phases for line in phase_lines(phase)),
                      *(f"  result {show_result(result)};" for result in plan.results), "}"])


def show_input(parameter: Input) -> str:
    size = "" if parameter.size is None else f"[{show_exp(parameter.size)}]"
    return f"{parameter.base}{size} {word(parameter.name)}"


def phase_lines(phase: Phase) -> Iterator[str]:
    call = f"{word(phase.function)}({', '.join(map(show_exp, phase.arguments))})"
    times = "once" if phase.chunks is None else f"chunks {show_exp(phase.chunks)}{' in order' * phase.in_order}"
    if phase.shape is not None:
        grid, block = [", ".join(map(show_exp, sizes)) for sizes in (phase.shape.grid, phase.shape.block)]
        times = f"grid ({grid}) block ({block})"
    if phase.chains is not None:
        times += f" by {show_exp(phase.chains)}"
    yield f"  {'library' if phase.library else 'phase'} {call} {times}{' {' if phase.buffers else ';'}"
    if phase.buffers:
        yield from (f"    buffer {show_buffer(buffer)};" for buffer in phase.buffers)
        yield "  }"


def show_buffer(buffer: Buffer) -> str:
    fill = f" copy {word(buffer.copy)}" if buffer.copy else ("", " kept", " kept pair")[buffer.kept]
    if buffer.fill is not None:
        fill = f" = {show_constant(buffer.fill, wide(buffer.base))}"
    return f"{buffer.base} {word(buffer.name)}[{show_exp(buffer.size)}]{fill}"


def show_result(result: Result) -> str:
    if isinstance(result, ScalarResult):
        return f"{result.base} {word(result.name)} = cells[{result.slot}]"
    length = "" if result.length is None else f"[{show_exp(result.length)}]"
    return f"{word(result.buffer)}{length}" + ("" if result.last is None else f" last cells[{result.last}]")


def show_function(function: Function) -> str:
    parameters = ", ".join(show_parameter(p) for p in function.parameters)
    results = f" -> {', '.join(function.results)}" if function.results else ""
    lines = [f"{function.kind} {word(function.name)}({parameters}){results} {{"]
    write_body(lines, function.body, 1)
    return "\n".join([*lines, "}"])


def show_parameter(parameter: Parameter) -> str:
    writable, brackets = "writable " if parameter.writable else "", "[]" if parameter.array else ""
    return f"{writable}{parameter.type}{brackets} {word(parameter.name)}"


def write_body(lines: list[str], body: tuple[Stmt, ...], depth: int) -> None:
    """Appends the statements' lines, indented."""
    for statement in body:
        write_statement(lines, statement, depth)


def write_statement(lines: list[str], statement: Stmt, depth: int) -> None:
    indent = "  " * min(depth, DEEPEST)
    match statement:
        case For(index, low, high, body, step):
            i = word(index)
            lines.append(f"{indent}for ({i} = {show_exp(low)}; {i} < {show_exp(high)}; {i} += {show_exp(step)}) {{")
            write_body(lines, body, depth + 1)
        case While(condition, body):
            lines.append(f"{indent}while ({show_exp(condition)}) {{")
            write_body(lines, body, depth + 1)
        case If(condition, then, orelse):
            lines.append(f"{indent}if ({show_exp(condition)}) {{")
            write_body(lines, then, depth + 1)
            if orelse:
                lines.append(f"{indent}}} else {{")
                write_body(lines, orelse, depth + 1)
        case _:
            lines.append(f"{indent}{show_simple(statement)};")
            return
    lines.append(f"{indent}}}")


def show_simple(statement: Stmt) -> str:
    """A statement without a body."""
    match statement:
        case Let(name, type_, value):
            return f"{type_} {word(name)} = {show_exp(value)}"
        case Var(name, type_, initial):
            return f"var {type_} {word(name)} = {show_exp(initial)}"
        case Set(name, value):
            return f"{word(name)} = {show_exp(value)}"
        case Store(array, index, value, release):
            return f"{'release ' if release else ''}{word(array)}[{show_exp(index)}] = {show_exp(value)}"
        case StorePair(array, index, first, second):
            return f"pair {word(array)}[{show_exp(index)}] = {show_exp(first)}, {show_exp(second)}"
        case LoadPair((first, second), type_, array, index):
            return f"{word(first)}, {word(second)} = pair {type_} {word(array)}[{show_exp(index)}]"
        case Shared(name, type_, size):
            return f"shared {type_} {word(name)}[{size}]"
        case Part(name, type_, array, offset):
            return f"{type_}[] {word(name)} = piece({word(array)}, {show_exp(offset)})"
        case Prefetch(array, index):
            return f"prefetch {word(array)}[{show_exp(index)}]"
        case Atomic(op, array, index, value, result, compare, ordered):
            old = f"{word(result)} = " if result is not None else ""
            expected = f"{show_exp(compare)}, " if compare is not None else ""
            how = f"{op} ordered" if ordered else op
            return f"{old}atomic {how}({word(array)}[{show_exp(index)}], {expected}{show_exp(value)})"
        case Call(names, function, arguments):
            results = ", ".join(map(word, names)) + " = " if names else ""
            return f"{results}call {word(function)}({', '.join(map(show_exp, arguments))})"
        case Return(values):
            return ("return " + ", ".join(map(show_exp, values))).rstrip()
        case Pause():
            return "pause"
        case Barrier(warp, lanes):
            return f"barrier warp{of_lanes(' ', lanes)}" if warp else "barrier"
        case Note(text):
            return f"note {show_string(text)}"
    raise TypeError(statement)


def show_exp(exp: Exp, around: int = LOOSEST) -> str:
    """The expression, in parentheses if it binds looser than what is around it."""
    match exp:
        case Const(value, type_):
            return show_constant(value, type_)
        case Name(name):
            return word(name)
        case Load(array, index, order):
            return f"{order and order + ' '}{word(array)}[{show_exp(index)}]"
        case Shuffle(name, offset, mode, lanes):
            return f"shuffle {mode}({word(name)}, {show_exp(offset)}{of_lanes(', ', lanes)})"
        case Vote(name):
            return f"vote({word(name)})"
        case Peers(name, bits):
            return f"peers({word(name)}, {bits})"
        case Distance(array, start):
            return f"distance({word(array)}, {word(start)})"
        case Op("select", (condition, then, orelse)):
            text = f"{show_exp(condition, SELECT + 1)} ? {show_exp(then, SELECT + 1)} : {show_exp(orelse, SELECT)}"
            return parenthesise(text, around > SELECT)
        case Op(op, (left, right)) if op in LEVELS:
            level = LEVELS[op]
            text = f"{show_exp(left, level)} {op} {show_exp(right, level + 1)}"
            return parenthesise(text, around > level)
        case Op(op, arguments):
            return f"{op}({', '.join([show_exp(a) for a in arguments])})"
    raise TypeError(exp)


def of_lanes(before: str, lanes: int) -> str:
    """The number of lanes, unless it is the whole warp."""
    return "" if lanes == WARP else f"{before}{lanes}"


def parenthesise(text: str, needed: bool) -> str:
    return f"({text})" if needed else text


def show_constant(value: int | float | bool | str, type_: str) -> str:
    match type_:
        case "float":
            return repr(float(value))
        case "bool":
            return "true" if value else "false"
        case "char":
            return show_char(str(value))
    return str(value)


def word(name: str) -> str:
    return show_name(name, KEYWORDS)
