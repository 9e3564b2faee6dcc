"""Pragmas: comments that say what the scheduler shall do, and the names that they may use.

    let total = sum(as);          % cut total, sq %
        sq = {a*a : a in as}
    in {s/total : s in sq}

`% fuse a, b %` and `% cut a, b %`, with nothing else in the comment, where a binding or a top-level form begins or
ends: behind `let` or `;`, before `;` or `in`. Both names must be bound in the form: by `let`, by `=` at the top, as
parameters, or as the function, which stands for its result. Anything else is a comment.
"""
from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from functools import lru_cache

from nessie.base.source import NessieError, Source, Span
from nessie.base.wishes import Bound, Wish
from nessie.frontend import patterns, syntax
from nessie.frontend.lexer import NAME_CHARACTER, Lexer
from nessie.frontend.syntax_check import children

PRAGMA = re.compile(rf"%\s*(fuse|cut)\s+({NAME_CHARACTER}+)\s*,\s*({NAME_CHARACTER}+)\s*%", re.IGNORECASE)


def pragmas(lexer: Lexer, form: syntax.TopLevel) -> tuple[Wish, ...]:
    """Those that stand in the form; the lexer has read it. A name that the form does not bind raises."""
    found = [(span, match) for span in lexer.remarks
             if (match := PRAGMA.fullmatch(lexer.source.text, span.start, span.end))]
    if not found or getattr(form, "span", None) is None:
        return ()
    known = dict.fromkeys(bound.name for bound in bindings(form))
    return tuple(pragma(form, span, match, known) for span, match in found)


def pragma(form: syntax.TopLevel, place: Span, match: re.Match[str], known: Collection[str]) -> Wish:
    kind, first, second = (text.lower() for text in match.groups())
    for number, name in ((2, first), (3, second)):
        if name not in known:
            there = f"it binds {', '.join(known)}" if known else "it binds none"
            raise NessieError(f"this form binds no {name}", (Span(place.source, *match.span(number)), ""), hint=there)
    return Wish(kind, first, second, place, form.span)


def bindings(form: syntax.TopLevel) -> Iterator[Bound]:
    """What the form binds: its own names first, then those of its lets."""
    scope: Span | None = getattr(form, "span", None)
    if scope is None:
        return
    match form:
        case syntax.FunctionDef(name, parameter, _, _, body):
            yield Bound(name, body.span if body else None, scope)
            yield from (Bound(leaf.name, None, scope) for leaf in patterns.names(parameter) if leaf.name != "_")
        case syntax.Assign(pattern, body) | syntax.FileVariable(pattern, body):
            yield from bound_by(pattern, body, scope)
        case syntax.Evaluate(body):
            pass
        case _:
            return
    pending = [body]
    while pending:
        exp = pending.pop()
        if exp is not None:
            if isinstance(exp, syntax.Let):
                for binding in exp.bindings:
                    yield from bound_by(binding.pattern, binding.value, scope)
            pending += reversed(list(children(exp)))


def bound_by(pattern: syntax.Pattern, value: syntax.Exp, scope: Span) -> Iterator[Bound]:
    return (Bound(leaf.name, value.span, scope) for leaf in patterns.names(pattern) if leaf.name != "_")


def has_pragmas(source: Source) -> bool:
    """Whether there may be some: looks at the text only."""
    return PRAGMA.search(source.text) is not None


@lru_cache(maxsize=50)
def of_source(source: Source) -> tuple[tuple[Wish, ...], tuple[Bound, ...]]:
    """The pragmas of a whole text, and what it binds; of its well-formed forms."""
    from nessie.frontend.parser import forms_with_pragmas
    wishes: list[Wish] = []
    bound: list[Bound] = []
    for form, found in forms_with_pragmas(source):
        if not isinstance(form, NessieError):
            wishes += found
            bound += bindings(form)
    return tuple(wishes), tuple(bound)
