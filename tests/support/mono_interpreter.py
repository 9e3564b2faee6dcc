"""Runs mono programs on plain values, for tests. Primitives mean what they mean to the interpreter of NESL."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nessie.interpreter.meanings import MEANINGS, Failure
from nessie.library.primitives import PRIMITIVES
from nessie.mono import nodes as mono
from nessie.mono.node_types import type_of

ROWS = {row.target: row.name for row in PRIMITIVES.values() if row.kind in ("scalar", "sequence")}


class Stopped(Exception):
    """The program's own error."""


def run(program: mono.Program, *arguments: Any, printed: list[str] | None = None) -> Any:
    """The entry's value; what it prints goes to the list."""
    functions = {f.name: f for f in program.functions}
    output: list[str] = [] if printed is None else printed

    def call(name: str, values: tuple[Any, ...]) -> Any:
        function = functions[name]
        assert len(values) == len(function.parameters)
        names = [p.name for p in function.parameters]
        return evaluate(function.body, dict(zip(names, values, strict=True)), call, output)
    return call(program.entry, arguments)


def outcome(found: mono.Program, *arguments: Any) -> tuple[Any, list[str]]:
    """The value or the error, and what has been printed."""
    printed: list[str] = []
    try:
        return run(found, *arguments, printed=printed), printed
    except Stopped as error:
        return str(error), printed


def evaluate(exp: mono.Exp, scope: dict[str, Any], call: Callable[[str, tuple[Any, ...]], Any],
             output: list[str]) -> Any:
    def value(part: mono.Exp, more: dict[str, Any] | None = None) -> Any:
        return evaluate(part, {**scope, **more} if more else scope, call, output)

    match exp:
        case mono.Const(constant):
            return constant
        case mono.String(text):
            return list(text)
        case mono.Var(name):
            return scope[name]
        case mono.Let(name, bound, body):
            return value(body, {name: value(bound)})
        case mono.If(condition, then, orelse):
            return value(then if value(condition) else orelse)
        case mono.Pair(first, second):
            left = value(first)
            return left, value(second)
        case mono.First(pair):
            return value(pair)[0]
        case mono.Second(pair):
            return value(pair)[1]
        case mono.Literal(elements):
            return [value(e) for e in elements]
        case mono.Call(function, arguments):
            return call(function, tuple([value(a) for a in arguments]))
        case mono.Each(body, generators, condition):
            sources = [value(g.source) for g in generators]
            if len(set(map(len, sources))) > 1:
                raise Stopped("Length mismatch in an apply-to-each.")
            rows = [dict(zip((g.name for g in generators), row, strict=True)) for row in zip(*sources, strict=True)]
            return [value(body, row) for row in rows if condition is None or value(condition, row)]
        case mono.Prim("check", (condition, message, checked)):
            if not value(condition):
                raise Stopped("".join(value(message)))
            return value(checked)
        case mono.Prim(name, arguments):
            return primitive(exp, [value(a) for a in arguments], output)
    raise TypeError(exp)


def primitive(exp: mono.Prim, values: list[Any], output: list[str]) -> Any:
    if exp.name == "error":
        raise Stopped("".join(values[0]))
    if exp.name == "print_string":
        output.append("".join(values[0]))
        return True
    if exp.name == "_now":
        return float(len(output))               # a clock that output moves
    if exp.name == "_seed":
        return 0
    if exp.name == "rand_seed":
        return True
    argument = values[-1]
    for first in reversed(values[:-1]):
        argument = first, argument
    types = (type_of(exp.arguments[0]),)
    element = getattr(types[0], "element", types[0])
    try:
        return MEANINGS[ROWS[exp.name]].value((element,), argument)
    except Failure as failure:
        raise Stopped(str(failure)) from None
