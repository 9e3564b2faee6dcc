"""Types as text and back.

For users, as NESL prints them (show_scheme):    (a, a) -> a :: (a in number)
In typed programs, with identities:              (int -> int by negate[int]), point, table(int, [char]), a

The text of an identity is NAME[types]{types of its captured values}; empty brackets are left out. A function among the
types of an identity appears as its own identity: apply[int, by negate[int]].
"""
from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from nessie.base.text.tokens import Tokens, show_name
from nessie.base.types import (
    CLASSES,
    REAL,
    WORD,
    Base,
    Data,
    Fun,
    Identity,
    Pair,
    Scheme,
    Seq,
    Type,
    Var,
    components,
    nest_right,
    show_type,
    substitute,
)

BASES = {name: Base(name) for name in ("int", "float", "bool", "char")}
IN_LIBRARY = {**BASES, **{type_.name: type_ for type_ in (WORD, REAL)}}

# For users ------------------------------------------------------------------------------------------


def letters() -> Iterator[str]:
    """Yield a b c .. z a1 b1 .., without the constants t and f."""
    yield from (c for c in "abcdeghijklmnopqrsuvwxyz")
    yield from (f"{chr(ord('a') + n % 26)}{n // 26}" for n in range(26, 1 << 30))


def visible_variables(type_: Type) -> list[Var]:
    """Return the variables that show_type shows, each once."""
    match type_:
        case Fun(argument, result, _):
            found = visible_variables(argument) + visible_variables(result)
        case Pair(first, second):
            found = visible_variables(first) + visible_variables(second)
        case Seq(element):
            found = visible_variables(element)
        case Data(_, arguments):
            found = [v for a in arguments for v in visible_variables(a)]
        case Var():
            found = [type_]
        case _:
            found = []
    return list(dict.fromkeys(found))


def show_scheme(type_: Type) -> str:
    """Return the type as NESL prints it, its variables named a b c .. in order, each with its class."""
    variables = visible_variables(type_)
    names = {v.name: Var(n, v.cls) for v, n in zip(variables, letters(), strict=False)}
    text = show_type(substitute(type_, dict(names)))
    contexts = "; ".join(f"{v.name} in {v.cls}" for v in names.values())
    return f"{text} :: ({contexts})" if contexts else text

# In typed programs ----------------------------------------------------------------------------------


def show(type_: Type) -> str:
    """Return the type with its identities; parse_type reads it back."""
    match type_:
        case Base(name) | Var(name):
            return name
        case Seq(element):
            return f"[{show(element)}]"
        case Pair():
            return f"({', '.join([show(item) for item in components(type_)])})"
        case Fun(argument, result, identity):
            return f"({show(argument)} -> {show(result)} by {show(identity)})"
        case Identity(name, types, captured):
            return show_name(name) + listed("[]", types) + listed("{}", captured)
        case Data(name, arguments):
            return show_name(name) + listed("()", arguments)
    raise TypeError(type_)


def show_part(type_: Type) -> str:
    return ("by " if isinstance(type_, Identity) else "") + show(type_)


def listed(brackets: str, types: tuple[Type, ...]) -> str:
    return f"{brackets[0]}{', '.join([show_part(t) for t in types])}{brackets[1]}" if types else ""


Variables = dict[str, Var]


def parse_type(tokens: Tokens, variables: Variables) -> Type:
    """Read a type. The names in `variables` are type variables, int float bool char the base types, others
    datatypes."""
    if tokens.accept("["):
        element = parse_type(tokens, variables)
        tokens.expect("]")
        return Seq(element)
    if tokens.accept("("):
        first = parse_type(tokens, variables)
        if tokens.accept("->"):
            result = parse_type(tokens, variables)
            tokens.expect("by")
            identity = parse_identity(tokens, variables)
            tokens.expect(")")
            return Fun(first, result, identity)
        tokens.expect(",")
        return nest_right((first, *tokens.several(lambda: parse_type(tokens, variables), ")")), Pair)
    name = tokens.name("a type")
    if name in IN_LIBRARY:
        return IN_LIBRARY[name]
    if name in variables:
        return variables[name]
    return Data(name, tokens.several(lambda: parse_type(tokens, variables), ")") if tokens.accept("(") else ())


def parse_identity(tokens: Tokens, variables: Variables) -> Type:
    name = tokens.name()
    if name in variables:
        return variables[name]
    types = tokens.listed(lambda: parse_part(tokens, variables), "]") if tokens.accept("[") else ()
    captured = tokens.listed(lambda: parse_part(tokens, variables), "}") if tokens.accept("{") else ()
    return Identity(name, types, captured)


def parse_part(tokens: Tokens, variables: Variables) -> Type:
    """Read a type, or `by` and an identity, which a variable of an identity stands for."""
    return parse_identity(tokens, variables) if tokens.accept("by") else parse_type(tokens, variables)


def parse_variables(tokens: Tokens) -> tuple[Var, ...]:
    """Read [a in number, b], or nothing."""
    def variable() -> Var:
        name = tokens.name()
        if not tokens.accept("in"):
            return Var(name)
        if tokens.current.text not in CLASSES:
            tokens.fail(f"a class is expected here: {', '.join(CLASSES)}")
        return Var(name, tokens.take().text)
    return tokens.listed(variable, "]") if tokens.accept("[") else ()


def show_variables(variables: tuple[Var, ...]) -> str:
    inside = ", ".join(v.name if v.cls == "any" else f"{v.name} in {v.cls}" for v in variables)
    return f" [{inside}]" if variables else ""


@cache
def primitive_scheme(name: str, text: str) -> Scheme:
    """Return the scheme of a function of this name, from its type as NESL writes it: (a, a) -> a :: (a in number)."""
    type_, _, context = text.partition("::")
    classes = dict(re.findall(r"(\w+) in (\w+)", context))
    variables = {n: Var(n, classes.get(n, "any")) for n in re.findall(r"\b[a-z]\b", type_)}
    tokens = Tokens(type_)
    argument = parse_type(tokens, variables)
    tokens.expect("->")
    result = parse_type(tokens, variables)
    return Scheme(tuple(variables.values()), Fun(argument, result, Identity(name, tuple(variables.values()))))
