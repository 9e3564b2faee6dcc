"""Writes syntax trees as NESL that parses back to the same tree, with no more parentheses than reading needs.

    function dotp(a, b) = sum({x * y : x in a; y in b});

How a construct is laid out, syntax.layouts says. An expression is laid out for the least binding power that its place
allows; it gets parentheses if its own power is less. The powers are those of the operators in syntax.grammar.rules.
"""
from __future__ import annotations

import math

from nessie.base.source import Source
from nessie.base.text.layout import Doc, Group, join, render
from nessie.base.text.places import Places
from nessie.base.types import unnest_right
from nessie.syntax import layouts
from nessie.syntax import nodes as syntax
from nessie.syntax.lexer import Lexer, is_command
from nessie.syntax.patterns import is_constant

POWER = {**dict.fromkeys(("or", "nor", "xor"), 7), **dict.fromkeys(("and", "nand"), 8),
         **dict.fromkeys(("==", "/=", "<", ">", "<=", ">="), 10), **dict.fromkeys(("+", "-", "++"), 20),
         **dict.fromkeys(("*", "/", "||"), 21), "^": 22, "<-": 23, "->": 24}
BRACKETED = (syntax.Each, syntax.Sequence)
ANY, OPEN, COMMA, DEFINE, PREFIX, APPLY = 0, 1, 4, 5, 25, 30     # OPEN: an expression that extends as far as possible


def show(program: syntax.Program) -> str:
    return "".join(show_form(form) + "\n" for form in program.forms)


def parse(text: str | Source, places: Places | None = None) -> syntax.Program:
    """Parse the program; its nodes have their own places."""
    from nessie.syntax import parser
    return parser.parse_program(text if isinstance(text, Source) else Source("text", text))


def show_form(form: syntax.TopLevel) -> str:
    text = render((Group(form_doc(form)), end(form)))
    first = Lexer(Source("text", text)).token()
    if first is None or isinstance(form, syntax.Command) or not is_command(text, first):
        return text
    return f"({text[:first.end]}){text[first.end:]}"            # (help) + 1 is not a command


def show_expression(exp: syntax.Exp) -> str:
    return render(Group(doc(exp)))


def show_pattern(pattern: syntax.Pattern) -> str:
    return render(pattern_doc(pattern, APPLY))


def show_type(type_: syntax.TypeExp) -> str:
    return render(type_doc(type_))


# Top level --------------------------------------------------------------------------------------


def form_doc(form: syntax.TopLevel) -> Doc:
    match form:
        case syntax.FunctionDef(name, parameter, signature, text, body):
            head: Doc = ("function ", name, "(", pattern_doc(parameter), ")")
            head = head if signature is None else layouts.typed(head, ":", signature_doc(signature))
            head = layouts.definition(head, None if text is None else string(text))
            return head if body is None else layouts.equation(head, "=", result(body))
        case syntax.DatatypeDef(name, type_, contexts):
            space = "" if isinstance(type_, syntax.TypePair) else " "
            return ("datatype ", name, space, type_doc(type_, DEFINE), contexts_doc(contexts))
        case syntax.Assign(pattern, value):
            return layouts.equation(pattern_doc(pattern, APPLY), "=", result(value))
        case syntax.FileVariable(pattern, value):
            return layouts.equation(pattern_doc(pattern, APPLY), "|=", result(value))
        case syntax.Background(name, value, options):
            parts = [doc(value, DEFINE), *(doc(option, DEFINE) for option in options)]
            return layouts.equation(name, "&=", layouts.items(layouts.with_separators(parts)))
        case syntax.Evaluate(value):
            return result(value)
        case syntax.Command(word, text):
            return f"{word} {text}" if text else word


def end(form: syntax.TopLevel) -> str:
    return " ;" if isinstance(form, syntax.Command) and form.word == "?" else ";"


def signature_doc(signature: syntax.Signature) -> Doc:
    return (type_doc(signature.type, ANY), contexts_doc(signature.contexts))


def contexts_doc(contexts: tuple[syntax.Context, ...]) -> Doc:
    inside = "; ".join(f"{context.variable} in {context.cls}" for context in contexts)
    return f" :: ({inside})" if contexts else ""


# Expressions ------------------------------------------------------------------------------------


def doc(exp: syntax.Exp, least: int = ANY) -> Doc:
    """Lay out the expression for a place that allows only expressions of at least this binding power."""
    inside = doc_inside(exp)
    return inside if power(exp) >= least else layouts.parentheses("(", inside, ")")


def result(exp: syntax.Exp) -> Doc:
    """Lay out an expression that could stand without parentheses; a tuple gets them nevertheless."""
    return doc(exp, DEFINE) if isinstance(exp, syntax.Pair) else doc(exp)


def power(exp: syntax.Exp) -> int:
    match exp:
        case syntax.If() | syntax.Let() | syntax.Lambda():
            return OPEN
        case syntax.Pair():
            return COMMA
        case syntax.Default():
            return DEFINE
        case syntax.Binary(op):
            return POWER[op]
        case syntax.Unary() | syntax.Empty():       # [] int (x) would be a type applied
            return PREFIX
    return APPLY


def doc_inside(exp: syntax.Exp) -> Doc:
    """Lay out the expression without parentheses around it."""
    match exp:
        case syntax.Pair():
            return tuple_doc(exp)
        case syntax.Binary():
            return operators(exp)
        case syntax.Unary(op, operand):
            return (op, doc(operand, PREFIX))
        case syntax.Apply() | syntax.Index():
            return applications(exp)
        case syntax.If():
            return conditional(exp)
        case syntax.Let():
            return let(exp)
        case syntax.Lambda(pattern, body):
            return (pattern_doc(pattern, APPLY), " => ", result(body))
        case syntax.Default(name, value):
            return (name, " := ", doc(value, DEFINE + 1))
        case syntax.Time(body):
            return ("time(", result(body), ")")
        case syntax.Closure(function, argument):
            return ("closure(", doc(function, DEFINE), ", ", doc(argument, COMMA), ")")
        case syntax.Sequence() | syntax.Empty() | syntax.Range() | syntax.Each():
            return bracketed(exp)
    return literal(exp)


def literal(exp: syntax.Exp) -> str:
    match exp:
        case syntax.Number(value):
            if isinstance(value, int):
                return str(abs(value))              # -2^63 stands for the literal 2^63, which wraps
            return "1e999" if math.isinf(value) else repr(value)
        case syntax.Bool(value):
            return "t" if value else "f"
        case syntax.Char(value):
            return "`" + value
        case syntax.String(value):
            return string(value)
        case syntax.Name(name):
            return name
    raise TypeError(exp)


def string(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def tuple_doc(exp: syntax.Exp) -> Doc:
    return layouts.items(layouts.with_separators([doc(item, DEFINE) for item in unnest_right(exp, syntax.Pair)]))


def operators(exp: syntax.Binary) -> Doc:
    """Lay out a chain of operators of one power as one group, however long."""
    if exp.op == "->":
        return right_operators(exp)
    own, parts = POWER[exp.op], list[tuple[Doc, Doc]]()
    left: syntax.Exp = exp
    while isinstance(left, syntax.Binary) and POWER[left.op] == own:
        parts.append((left.op, doc(left.right, own + 1)))
        left = left.left
    return layouts.operators(doc(left, own), tuple(reversed(parts)))


def right_operators(exp: syntax.Binary) -> Doc:
    """Lay out a -> b -> c, which is a -> (b -> c)."""
    first, parts = doc(exp.left, PREFIX), list[Doc]()
    right = exp.right
    while isinstance(right, syntax.Binary) and right.op == "->":
        parts.append(doc(right.left, PREFIX))
        right = right.right
    return layouts.operators(first, [("->", part) for part in (*parts, doc(right, POWER["->"]))])


def applications(exp: syntax.Exp) -> Doc:
    """Lay out f(x)[i](y), innermost last."""
    parts: list[Doc] = []
    while isinstance(exp, syntax.Apply | syntax.Index):
        if isinstance(exp, syntax.Apply):
            parts.append(layouts.arguments("(", doc(exp.argument), ")", isinstance(exp.argument, BRACKETED)))
            exp = exp.function
        else:
            parts.append(("[", result(exp.index), "]"))
            exp = exp.sequence
    return (doc(exp, APPLY), *reversed(parts))


def conditional(exp: syntax.Exp) -> Doc:
    arms: list[tuple[Doc, Doc, Doc, Doc, Doc]] = []
    while isinstance(exp, syntax.If):
        arms.append(("if", result(exp.condition), "then", result(exp.then), "else"))
        exp = exp.orelse
    return layouts.conditional(arms, result(exp))


def let(exp: syntax.Exp) -> Doc:
    opened: list[tuple[Doc, list[Doc], Doc]] = []
    while isinstance(exp, syntax.Let):
        bindings = [layouts.binding(pattern_doc(one.pattern, APPLY), "=", result(one.value)) for one in exp.bindings]
        opened.append(("let", layouts.with_separators(bindings, ";"), "in"))
        exp = exp.body
    return layouts.lets(opened, result(exp))


def bracketed(exp: syntax.Exp) -> Doc:
    match exp:
        case syntax.Sequence(elements):
            return layouts.sequence("[", layouts.with_separators([doc(e, DEFINE) for e in elements]), "]",
                                    all([is_small(e) for e in elements]))
        case syntax.Empty(element):
            return ("[] ", type_doc(element, APPLY))
        case syntax.Range(start, stop, stride):
            bounds = [start, stop] if stride is None else [start, stop, stride]
            return ("[", join(":", [doc(bound, DEFINE) for bound in bounds]), "]")
        case syntax.Each(body, generators, guard, serial):
            return layouts.each("{* " if serial else "{", None if body is None else (result(body), ":"),
                                layouts.with_separators([generator_doc(g) for g in generators], ";"),
                                None if guard is None else ("|", result(guard)), "}")
    raise TypeError(exp)


def is_small(exp: syntax.Exp) -> bool:
    """Is it a constant, or a tuple of some?"""
    return all([is_constant(item) for item in unnest_right(exp, syntax.Pair)])


def generator_doc(generator: syntax.Generator) -> Doc:
    pattern = pattern_doc(generator.pattern, APPLY)
    return pattern if generator.source is None else (pattern, " in ", result(generator.source))


# Patterns and types -----------------------------------------------------------------------------


def pattern_doc(pattern: syntax.Pattern, least: int = ANY) -> Doc:
    match pattern:
        case syntax.NamePattern(name, default):
            return name if default is None else (name, " := ", doc(default, DEFINE + 1))
        case syntax.DataPattern(constructor, argument):
            return (constructor, "(", pattern_doc(argument), ")")
    inside = join(", ", [pattern_doc(item, DEFINE) for item in unnest_right(pattern, syntax.PairPattern)])
    return inside if least <= COMMA else ("(", inside, ")")


def type_doc(type_: syntax.TypeExp, least: int = ANY) -> Doc:
    match type_:
        case syntax.TypeName(name, arguments):
            inside = join(", ", [type_doc(argument) for argument in arguments])
            return (name, "(", inside, ")") if arguments else name
        case syntax.TypeSeq(element, length, index, uniform):
            inside = ("uniform " if uniform else "", "[")
            if length is None:
                return (*inside, type_doc(element), "]")
            if index:
                return (*inside, index, " < ", doc(length, DEFINE), " => ", type_doc(element), "]")
            return (*inside, type_doc(element), "; ", doc(length, DEFINE), "]")
        case syntax.TypeFun(argument, produced):
            arrow = (type_doc(argument, DEFINE), " -> ", type_doc(produced))
            return arrow if least == ANY else ("(", arrow, ")")
    return ("(", join(", ", [type_doc(item) for item in unnest_right(type_, syntax.TypePair)]), ")")
