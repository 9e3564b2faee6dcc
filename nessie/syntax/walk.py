"""The parts of syntax trees."""
from __future__ import annotations

from collections.abc import Iterator

from nessie.syntax import nodes as syntax


def children(exp: syntax.Exp) -> Iterator[syntax.Exp | None]:
    """The expressions that the expression is made of; None where an optional one is left out."""
    match exp:
        case syntax.Unary(_, operand):
            yield operand
        case (syntax.Binary(_, first, second) | syntax.Pair(first, second) | syntax.Apply(first, second)
              | syntax.Index(first, second) | syntax.Closure(first, second)):
            yield from (first, second)
        case syntax.If(first, second, third) | syntax.Range(first, second, third):
            yield from (first, second, third)
        case syntax.Let(bindings, body):
            yield from (*(binding.value for binding in bindings), body)
        case syntax.Lambda(_, body) | syntax.Default(_, body) | syntax.Time(body):
            yield body
        case syntax.Sequence(elements):
            yield from elements
        case syntax.Each(body, generators, guard):
            yield from (body, *(generator.source for generator in generators), guard)
