"""Walking typed expressions."""
from __future__ import annotations

from collections.abc import Iterator

from nessie.base.types import Fun, Identity
from nessie.typing import nodes as typed


def parts(exp: typed.Exp) -> tuple[typed.Exp, ...]:
    """The expressions directly in this one, in order of evaluation."""
    match exp:
        case typed.Let(_, value, body):
            return value, body
        case typed.If(condition, then, orelse):
            return condition, then, orelse
        case typed.Apply(function, argument) | typed.Closure(function, argument):
            return function, argument
        case typed.Pair(first, second):
            return first, second
        case typed.Sequence(elements):
            return elements
        case typed.Each(body, generators, condition):
            return (*(g.source for g in generators), *((condition,) if condition else ()), body)
        case typed.Lambda(_, body) | typed.Time(body):
            return (body,)
    return ()


def expressions(exp: typed.Exp) -> Iterator[typed.Exp]:
    """The expression and all in it."""
    pending = [exp]
    while pending:
        exp = pending.pop()
        yield exp
        pending.extend(reversed(parts(exp)))


def identity(function: typed.Lambda) -> Identity:
    """Which function the lambda is."""
    assert isinstance(function.type, Fun) and isinstance(function.type.identity, Identity)
    return function.type.identity
