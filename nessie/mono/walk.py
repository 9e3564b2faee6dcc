"""Walking mono expressions: the parts of a node, and a node with other parts."""
from __future__ import annotations

from collections.abc import Callable, Iterator

from nessie.mono import nodes as mono
from nessie.mono.nodes import Exp

LEAVES = (mono.Var, mono.Const)         # without parts, as most expressions


def parts(exp: Exp) -> tuple[Exp, ...]:
    """The expressions directly in this one, in order of evaluation."""
    if isinstance(exp, LEAVES):
        return ()
    match exp:
        case mono.Let(_, value, body):
            return value, body
        case mono.If(condition, then, orelse):
            return condition, then, orelse
        case mono.Prim() | mono.Call():
            return exp.arguments
        case mono.Pair(first, second):
            return first, second
        case mono.First(pair) | mono.Second(pair):
            return (pair,)
        case mono.Literal(elements):
            return elements
        case mono.Each(body, generators, condition):
            return (*(g.source for g in generators), *((condition,) if condition else ()), body)
    return ()


def map_parts(change: Callable[[Exp], Exp], exp: Exp) -> Exp:
    """The expression with each of its parts changed, in order of evaluation."""
    match exp:
        case mono.Let(name, value, body, origin):
            return mono.Let(name, change(value), change(body), origin)
        case mono.If(condition, then, orelse, origin):
            return mono.If(change(condition), change(then), change(orelse), origin)
        case mono.Prim(name, arguments, type_, origin):
            return mono.Prim(name, tuple([change(a) for a in arguments]), type_, origin)
        case mono.Call(name, arguments, type_, origin):
            return mono.Call(name, tuple([change(a) for a in arguments]), type_, origin)
        case mono.Pair(first, second, origin):
            return mono.Pair(change(first), change(second), origin)
        case mono.First(pair, origin):
            return mono.First(change(pair), origin)
        case mono.Second(pair, origin):
            return mono.Second(change(pair), origin)
        case mono.Literal(elements, type_, origin):
            return mono.Literal(tuple([change(e) for e in elements]), type_, origin)
        case mono.Each(body, generators, condition, origin):
            sources = tuple([mono.Generator(g.name, change(g.source)) for g in generators])
            condition = None if condition is None else change(condition)
            return mono.Each(change(body), sources, condition, origin)
    return exp


def is_trivial(exp: Exp) -> bool:
    """A variable, a projection of one, a constant: free to compute, and cannot fail."""
    while isinstance(exp, mono.First | mono.Second):
        exp = exp.pair
    return isinstance(exp, LEAVES)


def is_constant(exp: Exp) -> bool:
    """A constant, or pairs and literals of constants."""
    match exp:
        case mono.Const() | mono.String():
            return True
        case mono.Pair(first, second):
            return is_constant(first) and is_constant(second)
        case mono.Literal(elements):
            return all([is_constant(e) for e in elements])
    return False


def let_chain(bound: list[tuple[str, Exp]], body: Exp) -> Exp:
    """let each name = its value, in order, in body"""
    for name, value in reversed(bound):
        body = mono.Let(name, value, body, getattr(value, "origin", ()))
    return body


def expressions(exp: Exp) -> Iterator[Exp]:
    """The expression and all in it, in order of evaluation but for a node before its parts."""
    pending = [exp]
    while pending:
        exp = pending.pop()
        yield exp
        if not isinstance(exp, LEAVES):
            pending.extend(parts(exp)[::-1])


def called(exp: Exp) -> list[str]:
    """The functions that the expression calls, with repeats, in order."""
    return [e.function for e in expressions(exp) if isinstance(e, mono.Call)]


def binders(program: mono.Program) -> Iterator[str]:
    """All names that the program binds."""
    for function in program.functions:
        yield from (parameter.name for parameter in function.parameters)
        for exp in expressions(function.body):
            match exp:
                case mono.Let(name):
                    yield name
                case mono.Each(_, generators):
                    yield from (g.name for g in generators)
