"""Writes mono as text, and reads it back: parse(show(program)) == program, except for origins.

    function norm (xs : [float]) : [float] =
      let s : float = `reduce_+`(xs) in {x / s : x : float in xs}

    entry norm

The text is NESL with types on binders and one operator per pair of parentheses. A primitive whose type its arguments do
not determine has it beside it: (error("no root") : float).
"""
from __future__ import annotations

from nessie.base.text.layout import HARD, LINE, SOFT, Doc, Group, Mark, Nest, join, render
from nessie.base.text.tokens import show_char, show_name, show_string
from nessie.base.types import BOOL, CHAR, FLOAT32, INT32, Seq, Type, show_type, unnest_right
from nessie.mono import nodes as mono
from nessie.mono.node_types import primitive_type, type_of
from nessie.mono.nodes import Exp
from nessie.mono.parser import INFIX, KEYWORDS, parse

NARROW = (INT32, FLOAT32)


def show(program: mono.Program) -> str:
    return render(document(program))


def document(program: mono.Program) -> Doc:
    """Return the text, each function and expression marked."""
    functions: list[Doc] = [Mark(function_doc(function), function) for function in program.functions]
    return (join("\n\n", [*functions, f"entry {name(program.entry)}"]), "\n")


def function_doc(function: mono.Function) -> Doc:
    parameters = ", ".join(f"{name(p.name)} : {show_type(p.type, False)}" for p in function.parameters)
    fold = "" if function.fold is None else f", {function.fold.form} by {name(function.fold.operator)}" \
        + " neutral" * function.fold.neutral
    row = f", row of {name(function.row_of)}" if function.row_of else ""
    return (f"function {name(function.name)} ({parameters}) : {show_type(function.result, False)}{fold}{row} =",
            Nest((LINE, exp_doc(function.body))))


def show_exp(exp: Exp) -> str:
    return render(exp_doc(exp))


def name(text: str) -> str:
    return show_name(text, KEYWORDS)


def exp_doc(exp: Exp) -> Doc:
    match exp:
        case mono.Let():
            return Mark(Group(let_doc(exp)), exp)
        case mono.If():
            return Mark(Group(if_doc(exp)), exp)
        case mono.Prim(operator, (left, right)) if operator in INFIX and determined(exp):
            return Mark(Group((operand_doc(left), f" {operator}", Nest((LINE, operand_doc(right))))), exp)
    return Mark(atom_doc(exp), exp)


def operand_doc(exp: Exp) -> Doc:
    """Lay out an operand, in parentheses where it would run on into the text beside it."""
    doc = exp_doc(exp)
    match exp:
        case mono.Let() | mono.If():
            return ("(", Nest(doc, 1), ")")
        case mono.Prim(operator, (_, _)) if operator in INFIX and determined(exp):
            return ("(", Nest(doc, 1), ")")
    return doc


def atom_doc(exp: Exp) -> Doc:
    match exp:
        case mono.Const(value, type_):
            return show_constant(value, type_) if type_ not in NARROW else f"({value!r} : {show_type(type_)})"
        case mono.String(text):
            return show_string(text)
        case mono.Var(variable):
            return name(variable)
        case mono.Prim() if not determined(exp):
            return Group(("(", application(exp.name, exp.arguments), f" : {show_type(exp.type, False)})"))
        case mono.Prim(function, arguments) | mono.Call(function, arguments):
            return application(function, arguments)
        case mono.Pair():
            return listed("(", tuple(unnest_right(exp, mono.Pair)), ")")
        case mono.First(pair):
            return ("first", listed("(", (pair,), ")"))
        case mono.Second(pair):
            return ("second", listed("(", (pair,), ")"))
        case mono.Literal((), Seq(element)):
            return f"[] {show_type(element, False)}"
        case mono.Literal(elements):
            return listed("[", elements, "]")
        case mono.Each():
            return Group(each_doc(exp))
    raise TypeError(exp)


def let_doc(exp: Exp) -> Doc:
    """Lay out a chain of lets, one below the other."""
    parts: list[Doc] = []
    between = HARD if isinstance(exp, mono.Let) and isinstance(exp.body, mono.Let) else LINE
    while isinstance(exp, mono.Let):
        head = f"let {name(exp.name)} : {show_type(type_of(exp.value), False)} ="
        parts += [Group((head, Nest((LINE, exp_doc(exp.value))), " in")), between]
        exp = exp.body
    return (*parts, exp_doc(exp))


def if_doc(exp: mono.If) -> Doc:
    """Lay out a chain of conditions, one below the other."""
    parts: list[Doc] = []
    rest: Exp = exp
    while isinstance(rest, mono.If):
        parts += ["if ", exp_doc(rest.condition), " then", Nest((LINE, exp_doc(rest.then))), LINE, "else "]
        rest = rest.orelse
    return (*parts[:-1], "else", Nest((LINE, exp_doc(rest))))


def each_doc(exp: mono.Each) -> Doc:
    generators = join(("; ",), [(name(g.name), f" : {show_type(element(g.source), False)} in ", exp_doc(g.source))
                                for g in exp.generators])
    condition: Doc = () if exp.filter is None else (LINE, "| ", exp_doc(exp.filter))
    return ("{", Nest((exp_doc(exp.body), LINE, ": ", generators, condition), 1), "}")


def element(source: Exp) -> Type:
    type_ = type_of(source)
    return type_.element if isinstance(type_, Seq) else type_


def application(function: str, arguments: tuple[Exp, ...]) -> Doc:
    return (name(function), listed("(", arguments, ")"))


def listed(opening: str, items: tuple[Exp, ...], closing: str) -> Doc:
    return Group((opening, Nest((SOFT, join((",", LINE), [exp_doc(item) for item in items]))), closing))


def determined(exp: mono.Prim) -> bool:
    """Do the arguments determine the type?"""
    return primitive_type(exp.name, tuple(map(type_of, exp.arguments))) == exp.type


def show_constant(value: int | float | bool | str, type_: Type) -> str:
    if type_ == BOOL:
        return "t" if value else "f"
    if type_ == CHAR:
        return show_char(str(value))
    return repr(value)                          # floats: 1.0, 1e+20, inf, -inf, nan


__all__ = ["parse", "show", "show_exp"]
