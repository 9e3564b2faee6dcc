"""Writes typed programs as text; typing.parser reads it back.

    function dotp [a in number] (xs : [a], ys : [a]) : a =
      sum[a]({`*`[a](x, y) : x : a in xs; y : a in ys})

A top-level function always has brackets, with its types; a top-level variable is `(x : type)`. Types that follow from
the parts of an expression are left out.
"""
from __future__ import annotations

from collections.abc import Set

from nessie.base.text.layout import HARD, LINE, SOFT, Doc, Group, Mark, Nest, join, render
from nessie.base.text.tokens import show_char, show_name, show_string
from nessie.base.text.types_text import show as show_type
from nessie.base.text.types_text import show_part, show_variables
from nessie.base.types import Base, Fun, Identity, Type, free_variables, unnest_right
from nessie.typing import nodes as typed
from nessie.typing.node_types import pattern_names

KEYWORDS = frozenset({"function", "datatype", "variable", "let", "in", "if", "then", "else", "fn", "closure",
                      "time", "serial", "empty", "t", "f", "inf", "nan"})
Scope = Set[str]


def show(program: typed.Program) -> str:
    """The program as text; typing.parser reads it back."""
    return render(document(program))


def document(program: typed.Program) -> Doc:
    """The text, each definition and expression marked."""
    return join("\n", [(Mark(definition_doc(d), d), "\n") for d in program.definitions])


def definition_doc(definition: typed.Definition) -> Doc:
    match definition:
        case typed.Function(name, variables, parameter, result, body, text):
            head = (f"function {named(name)}{show_variables(variables)} (", Nest(pattern_doc(parameter)), ") : ",
                    show_type(result), f" {show_string(text)}" if text is not None else "", " =")
            return (head, Nest((HARD, Group(doc(body, scope(parameter, frozenset()))))))
        case typed.Datatype(name, variables, content):
            return f"datatype {named(name)}{show_variables(variables)} = {show_type(content)}"
        case typed.Variable(pattern, value):
            variables = tuple(dict.fromkeys(free_variables(*(p.type for p in pattern_names(pattern)))))
            start = ("variable", show_variables(variables), " ", pattern_doc(pattern), " =")
            return (start, Nest((HARD, Group(doc(value, frozenset())))))
    raise TypeError(definition)


def named(name: str) -> str:
    return show_name(name, KEYWORDS)


def scope(pattern: typed.Pattern, outer: Scope) -> Scope:
    return outer | {p.name for p in pattern_names(pattern)}


def types_text(types: tuple[Type, ...]) -> str:
    return f"[{', '.join([show_part(t) for t in types])}]"


def pattern_doc(pattern: typed.Pattern) -> Doc:
    """Lay out a pattern; a tuple without its own parentheses."""
    return Group(join((",", LINE), [item_doc(item) for item in unnest_right(pattern, typed.PairPattern)]))


def item_doc(pattern: typed.Pattern) -> Doc:
    match pattern:
        case typed.NamePattern(name, type_):
            return f"{named(name)} : {show_type(type_)}"
        case typed.PairPattern():
            return ("(", pattern_doc(pattern), ")")
        case typed.DataPattern(constructor, types, argument):
            return (named(constructor), types_text(types), "(", pattern_doc(argument), ")")
    raise TypeError(pattern)


def doc(exp: typed.Exp, bound: Scope) -> Doc:
    return Mark(doc_inside(exp, bound), exp)


def doc_inside(exp: typed.Exp, bound: Scope) -> Doc:
    match exp:
        case typed.Const(value, type_):
            return constant(value, type_)
        case typed.String(text):
            return show_string(text)
        case typed.Name(name, type_):
            return named(name) if name in bound else f"({named(name)} : {show_type(type_)})"
        case typed.Global(name, types):
            return named(name) + types_text(types)
        case typed.Let():
            return let_doc(exp, bound)
        case typed.If(condition, then, orelse):
            return Group(("if ", doc(condition, bound), LINE, "then ", Nest(doc(then, bound)), LINE, "else ",
                          doc(orelse, bound)))
        case typed.Apply(function, argument):
            inside = tuple_doc(argument, bound) if isinstance(argument, typed.Pair) else doc(argument, bound)
            return (primary(function, bound), "(", Nest(Group((SOFT, inside))), ")")
        case typed.Pair():
            return ("(", Nest(Group(tuple_doc(exp, bound)), 1), ")")
        case typed.Sequence(elements, type_):
            inside = Group(join((",", LINE), [doc(e, bound) for e in elements]))
            return ("[", Nest(inside, 1), "]") if elements else f"empty {show_type(type_)}"
        case typed.Each():
            return each_doc(exp, bound)
        case typed.Lambda():
            return lambda_doc(exp, bound)
        case typed.Closure(function, argument):
            return ("closure(", doc(function, bound), ", ", doc(argument, bound), ")")
        case typed.Time(body):
            return ("time(", doc(body, bound), ")")
    raise TypeError(exp)


def constant(value: int | float | bool | str, type_: Type) -> str:
    match type_:
        case Base("bool"):
            return "t" if value else "f"
        case Base("char"):
            return show_char(str(value))
    return repr(value)


def primary(exp: typed.Exp, bound: Scope) -> Doc:
    """Lay out an expression before an argument."""
    inside = doc(exp, bound)
    return inside if isinstance(exp, typed.Global | typed.Name | typed.Apply) else ("(", inside, ")")


def tuple_doc(exp: typed.Exp, bound: Scope) -> Doc:
    """Lay out the components of a tuple, without parentheses."""
    return join((",", LINE), [doc(item, bound) for item in unnest_right(exp, typed.Pair)])


def let_doc(exp: typed.Exp, bound: Scope) -> Doc:
    """Lay out a chain of lets, one below the other."""
    parts: list[Doc] = []
    names = set(bound)
    while isinstance(exp, typed.Let):
        parts += [("let ", pattern_doc(exp.pattern), " = ", Nest(Group(doc(exp.value, names))), " in"), HARD]
        names.update(p.name for p in pattern_names(exp.pattern))
        exp = exp.body
    return (*parts, Group(doc(exp, names)))


def each_doc(exp: typed.Each, bound: Scope) -> Doc:
    inner = bound
    sources: list[Doc] = []
    for generator in exp.generators:
        sources.append((item_doc(generator.pattern), " in ", doc(generator.source, bound)))
        inner = scope(generator.pattern, inner)
    kept: Doc = (LINE, "| ", doc(exp.filter, inner)) if exp.filter is not None else ""
    body = ("serial " if exp.serial else "", doc(exp.body, inner))
    return Group(("{", Nest((body, " :", LINE, join((";", LINE), sources), kept), 1), "}"))


def lambda_doc(exp: typed.Lambda, bound: Scope) -> Doc:
    """Lay out (fn name[types]{captured} (pattern) => body)."""
    assert isinstance(exp.type, Fun) and isinstance(exp.type.identity, Identity)
    identity = exp.type.identity
    inner = scope(exp.pattern, bound | {v.name for v in exp.captured})
    captured = ", ".join(f"{named(v.name)} : {show_type(v.type)}" for v in exp.captured)
    head = f"(fn {named(identity.name)}{types_text(identity.types)}{{{captured}}} ("
    return (head, pattern_doc(exp.pattern), ") =>", Nest((LINE, Group(doc(exp.body, inner)))), ")")
