"""Expressions, thunks, types and layouts of lambda_cu as text; lambda_cu.text.printer prints the rest.

    let a = xs[i] in if a > 0.0 and b then sqrt(a) else fail s3 : float

An expression that does not fit on a line is broken at its lets, ifs, operators and commas. Widths are estimated once
per node and indentation is bounded, so that printing takes linear time however deep the tree is.
"""
from __future__ import annotations

import math

from nessie.base.text.tokens import show_char, show_name
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu.ops import COMPARISON, LEVELS, OPS

KEYWORDS = frozenset((
    "let", "in", "fold", "from", "if", "then", "else", "fail", "using", "return", "kernel", "function", "scalar",
    "site", "entry", "run", "call", "data", "true", "false", "inf", "nan", "int", "float", "bool", "char",
    *filter(str.isalpha, LEVELS)))

PRIMARY = 1 + max(LEVELS.values())        # comparisons do not chain, other infix operators group to the left

WIDTH, DEEPEST_INDENT = 100, 48


def name(text: str) -> str:
    return show_name(text, KEYWORDS)


def bound(names: tuple[str, ...]) -> str:
    """x, or (x, y)."""
    return name(names[0]) if len(names) == 1 else f"({', '.join(map(name, names))})"


def show_exp(exp: ir.Exp, indent: int = 0) -> str:
    """The expression; lines after the first begin `indent` columns in."""
    writer = Writer()
    writer.write(exp, 0, indent)
    return "".join(writer.pieces)


def show_thunk(thunk: ir.Thunk, indent: int = 0) -> str:
    """{ i => body using xs }, over several lines where it is long."""
    params = name(thunk.params[0]) if len(thunk.params) == 1 else f"({', '.join(map(name, thunk.params))})"
    using = f" using {', '.join(map(name, thunk.using))}" if thunk.using else ""
    writer = Writer()
    if writer.width(thunk.body) + len(params) + len(using) + indent < WIDTH:
        return f"{{ {params} => {show_exp(thunk.body)}{using} }}"
    inner = indent + 4
    writer.write(thunk.body, 0, inner)
    end = f"\n{' ' * inner}{using.strip()}" if using else ""
    return f"{{ {params} =>\n{' ' * inner}{''.join(writer.pieces)}{end}\n{' ' * (indent + 2)}}}"


class Writer:
    """Writes one expression piece by piece."""

    def __init__(self) -> None:
        self.pieces: list[str] = []
        self.widths: dict[int, int] = {}

    def width(self, exp: ir.Exp) -> int:
        """About how long the expression is on one line."""
        known = self.widths.get(id(exp))
        if known is None:
            known = self.widths[id(exp)] = self.measure(exp)
        return known

    def measure(self, exp: ir.Exp) -> int:
        match exp:
            case ir.Op(op, parts) | ir.CallScalar(op, parts):
                return len(op) + 3 + sum([self.width(p) for p in parts]) + len(parts)
            case ir.Read(array, index):
                return len(array) + 2 + self.width(index)
            case ir.If(condition, then, orelse):
                return 15 + self.width(condition) + self.width(then) + self.width(orelse)
            case ir.Let(names, value, body):
                return 12 + sum(map(len, names)) + self.width(value) + self.width(body)
            case ir.Fold(index, count, names, start, body):
                return 20 + len(index) + sum(map(len, names)) + sum(map(self.width, (count, start, body)))
            case ir.Tuple(items):
                return 2 + sum([self.width(item) + 2 for item in items])
            case ir.Fail(site, type_):
                return 8 + len(site) + len(type_)
            case ir.Var(text):
                return len(text)
        return 8

    def write(self, exp: ir.Exp, level: int, indent: int) -> None:
        """The expression as an operand of strength `level`, in parentheses if it binds less."""
        if level > strength(exp):
            self.pieces.append("(")
            self.write(exp, 0, indent + 1)
            self.pieces.append(")")
            return
        line = "" if self.width(exp) + indent < WIDTH else "\n" + " " * min(indent, DEEPEST_INDENT)
        match exp:
            case ir.Const():
                self.pieces.append(show_const(exp))
            case ir.Var(text):
                self.pieces.append(name(text))
            case ir.Fail(site, type_):
                self.pieces.append(f"fail {name(site)} : {type_}")
            case ir.Op(op, (_, _)) if op in LEVELS:
                self.infix(exp, line, indent)
            case ir.Op(op, parts):
                self.listed(f"{op}(", parts, ")", line, indent)
            case ir.CallScalar(function, parts, arrays):
                borrowed = ", ".join([f"&{name(array)}" for array in arrays])
                self.listed(f"{function_name(function)}(", parts, f"{', ' * bool(parts and arrays)}{borrowed})",
                            line, indent)
            case ir.Read(array, index):
                self.listed(f"{name(array)}[", (index,), "]", "", indent)
            case ir.Tuple(items):
                self.listed("(", items, ",)" if len(items) == 1 else ")", line, indent)
            case ir.Let():
                self.let(exp, line, indent)
            case ir.Fold():
                self.fold(exp, line, indent)
            case ir.If():
                self.conditional(exp, line, indent)

    def infix(self, exp: ir.Op, line: str, indent: int) -> None:
        level = LEVELS[exp.op]
        self.write(exp.arguments[0], level + (level == COMPARISON), indent)
        self.pieces.append(f"{line or ' '}{exp.op} ")
        self.write(exp.arguments[1], level + 1, indent + 2)

    def listed(self, start: str, parts: tuple[ir.Exp, ...], end: str, line: str, indent: int) -> None:
        """The parts between brackets, one a line where they are long."""
        self.pieces.append(start)
        for at, part in enumerate(parts):
            if at:
                self.pieces.append(f",{line}  " if line else ", ")
            self.write(part, 0, indent + 2)
        self.pieces.append(end)

    def let(self, exp: ir.Let, line: str, indent: int) -> None:
        self.pieces.append(f"let {bound(exp.names)} = ")
        self.write(exp.value, 0, indent + 2)
        self.pieces.append(f" in{line or ' '}")
        self.write(exp.body, 0, indent)

    def fold(self, exp: ir.Fold, line: str, indent: int) -> None:
        self.pieces.append(f"fold {name(exp.index)} < ")
        self.write(exp.count, 0, indent + 2)
        self.pieces.append(f" from {bound(exp.names)} = ")
        self.write(exp.start, 0, indent + 2)
        self.pieces.append(f" in{line or ' '}")
        self.write(exp.body, 0, indent)

    def conditional(self, exp: ir.If, line: str, indent: int) -> None:
        """A chain of `else if`s stays at one indentation."""
        self.pieces.append("if ")
        self.write(exp.condition, 0, indent + 2)
        self.pieces.append(f" then{line}  " if line else " then ")
        self.write(exp.then, 0, indent + 2)
        chained = isinstance(exp.orelse, ir.If)
        self.pieces.append(f"{line or ' '}else{line}  " if line and not chained else f"{line or ' '}else ")
        self.write(exp.orelse, 0, indent if chained else indent + 2)


def strength(exp: ir.Exp) -> int:
    """The level at which the expression holds together."""
    match exp:
        case ir.Let() | ir.Fold() | ir.If():
            return 0
        case ir.Op(op, (_, _)):
            return LEVELS.get(op, PRIMARY)
    return PRIMARY


def function_name(function: str) -> str:
    """A scalar function that is called like an operator is written between backquotes."""
    return f"`{function}`" if function in OPS else name(function)


def show_const(const: ir.Const) -> str:
    return show_value(const.value)


def show_value(value: int | float | bool | str) -> str:
    """A constant as the parser reads it back: 1, 1.0, true, 'c', -inf."""
    match value:
        case bool():
            return "true" if value else "false"
        case str():
            return show_char(value)
        case float() if math.isnan(value):
            return "nan"
        case float():
            return repr(value)
    return f"{value}"


# Types and layouts ------------------------------------------------------------------------------


def show_size(size: ir.Size) -> str:
    return name(size) if isinstance(size, str) else str(size)


def show_type(type_: ir.Type) -> str:
    """int, [float; n], [int; n+1]."""
    if isinstance(type_, ir.Array):
        return f"[{type_.base}; {show_size(type_.size)}{'+1' if type_.plus else ''}]"
    return type_


def listed(names: tuple[str, ...]) -> str:
    return ", ".join(map(name, names))


def show_layout(layout: ir.Layout) -> str:
    """int, (int, [float]), [[char]], [view [int]], [uniform [int]], [float; n], [closed (i) (n) { n - i } [float]]."""
    match layout:
        case ir.ScalarLayout(base):
            return base
        case ir.PairLayout(first, second):
            return f"({show_layout(first)}, {show_layout(second)})"
        case ir.SeqLayout(element, form, named, lengths):
            formula = "" if lengths is None else \
                f"({listed(lengths.indices)}) ({listed(lengths.names)}) {{ {show_exp(lengths.exp)} }} "
            inside = show_layout(element) + (f"; {name(named)}" if named else "")
            return f"{'' if form == 'dense' else form + ' '}{formula}[{inside}]"
    raise TypeError(layout)
