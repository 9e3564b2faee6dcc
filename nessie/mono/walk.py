"""Walks mono expressions: the parts of a node, and a node with other parts."""
from __future__ import annotations

from collections.abc import Iterator

from nessie.base.parts import Parts
from nessie.mono import nodes as mono
from nessie.mono.nodes import Exp

EXPRESSIONS = Parts[Exp]("Exp", through=("Generator",), order={mono.Each: ("generators", "filter", "body")})
parts, map_parts, expressions = EXPRESSIONS.of, EXPRESSIONS.map, EXPRESSIONS.inside
LEAVES = (mono.Var, mono.Const)         # without parts, as most expressions


def is_trivial(exp: Exp) -> bool:
    """Is it a variable, a projection of one, or a constant? These are free to compute, and cannot fail."""
    while isinstance(exp, mono.First | mono.Second):
        exp = exp.pair
    return isinstance(exp, LEAVES)


def is_constant(exp: Exp) -> bool:
    """Is it a constant, or made of constants by pairs and literals?"""
    match exp:
        case mono.Const() | mono.String():
            return True
        case mono.Pair(first, second):
            return is_constant(first) and is_constant(second)
        case mono.Literal(elements):
            return all([is_constant(e) for e in elements])
    return False


def let_chain(bound: list[tuple[str, Exp]], body: Exp) -> Exp:
    """Return: let each name = its value, in order, in body."""
    for name, value in reversed(bound):
        body = mono.Let(name, value, body, origin=getattr(value, "origin", ()))
    return body


def opened(exp: Exp) -> tuple[list[tuple[str, Exp]], Exp]:
    """Return the lets around an expression, and the expression."""
    bound: list[tuple[str, Exp]] = []
    while isinstance(exp, mono.Let):
        bound.append((exp.name, exp.value))
        exp = exp.body
    return bound, exp


def called(exp: Exp) -> list[str]:
    """Return the functions that the expression calls, with repeats, in order."""
    return [e.function for e in expressions(exp) if isinstance(e, mono.Call)]


def mentioned(exp: Exp) -> Iterator[str]:
    """Yield the variables that the expression mentions."""
    return (e.name for e in expressions(exp) if isinstance(e, mono.Var))


def binders(program: mono.Program) -> Iterator[str]:
    """Yield all names that the program binds."""
    for function in program.functions:
        yield from (parameter.name for parameter in function.parameters)
        yield from binders_of(function.body)


def binders_of(body: Exp) -> Iterator[str]:
    """Yield all names that the expression binds."""
    for exp in expressions(body):
        match exp:
            case mono.Let(name):
                yield name
            case mono.Each(_, generators):
                yield from (g.name for g in generators)
