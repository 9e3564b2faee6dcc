"""Pragmas: comments that say what the scheduler shall do, and the names that they may use.

    let total = sum(as);          % cut total, sq %
        sq = {a*a : a in as}
    in {s/total : s in sq}

`% fuse a, b %`, `% cut a, b %` and `% level a by warp %`, with nothing else in the comment, where a binding or a
top-level form begins or ends: behind `let` or `;`, before `;` or `in`. Names must be bound in the form: by `let`, by
`=` at the top, as parameters, or as the function, which stands for its result; one that is not is a mistake where the
form is compiled, and no obstacle to others. Anything else is a comment.
"""
from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache

from nessie.base.source import NessieError, Source, Span
from nessie.lambda_cu.mappings.levels import OWNERS
from nessie.schedule.wishes.wishes import LEVEL, Bound, Wish
from nessie.syntax import nodes as syntax
from nessie.syntax import patterns
from nessie.syntax.lexer import NAME_CHARACTER
from nessie.syntax.parser import forms_with_remarks
from nessie.syntax.walk import EXPRESSIONS

PRAGMA = re.compile(rf"%\s*(?:(fuse|cut)\s+({NAME_CHARACTER}+)\s*,\s*({NAME_CHARACTER}+)|"
                    rf"(level)\s+({NAME_CHARACTER}+)\s+by\s+({NAME_CHARACTER}+))\s*%", re.IGNORECASE)


def pragmas(remarks: Iterable[Span], form: syntax.TopLevel) -> tuple[Wish, ...]:
    """The pragmas among the form's comments."""
    found = [(span, match) for span in remarks if (match := PRAGMA.fullmatch(span.source.text, span.start, span.end))]
    scope: Span | None = getattr(form, "span", None)
    words = [(place, [part.lower() for part in match.groups() if part]) for place, match in found]
    return () if scope is None else tuple([Wish(kind, first, second, place, scope)
                                           for place, (kind, first, second) in words])


def misnamed(wish: Wish, bound: Iterable[Bound]) -> NessieError | None:
    """The error of a pragma that has a name which its form does not bind."""
    known = dict.fromkeys(b.name for b in bound if b.scope == wish.scope)
    match = wish.place and PRAGMA.fullmatch(wish.place.source.text, wish.place.start, wish.place.end)
    if wish.place and match and wish.kind == LEVEL and wish.second not in OWNERS:
        return NessieError(f"there is no level {wish.second} that owns segments",
                           (Span(wish.place.source, *match.span(6)), ""), hint=f"there are {', '.join(OWNERS)}")
    numbers = (5,) if wish.kind == LEVEL else (2, 3)
    for number, name in zip(numbers, wish.names):
        if wish.place and match and name not in known:
            there = f"it binds {', '.join(known)}" if known else "it binds none"
            return NessieError(f"this form binds no {name}", (Span(wish.place.source, *match.span(number)), ""),
                               hint=there)
    return None


def well_named(wishes: Iterable[Wish], bound: Iterable[Bound], compiled: Callable[[], Iterable[Span]]) -> list[Wish]:
    """The pragmas whose names are bound. Another one raises if anything of its form is in the program, which comes
    from the places `compiled`."""
    names, right = tuple(bound), []
    for wish in wishes:
        wrong = misnamed(wish, names)
        if wrong is None:
            right.append(wish)
        elif any(wish.scope.holds(span) for span in compiled() if wish.scope):
            raise wrong
    return right


def mistakes(sources: Iterable[Source]) -> list[NessieError]:
    """The errors of the pragmas of these texts."""
    read = [of_source(source) for source in sources if has_pragmas(source)]
    return [wrong for wishes, bound in read for wish in wishes if (wrong := misnamed(wish, bound))]


def mistakes_in(form: syntax.TopLevel) -> list[NessieError]:
    """The errors of the pragmas of this form."""
    scope: Span | None = getattr(form, "span", None)
    if scope is None or not has_pragmas(scope.source):
        return []
    wishes, bound = of_source(scope.source)
    return [wrong for wish in wishes if wish.scope == scope and (wrong := misnamed(wish, bound))]


def bindings(form: syntax.TopLevel) -> Iterator[Bound]:
    """The names that the form binds: its own first, then those of its lets."""
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
    for exp in EXPRESSIONS.inside(body) if body is not None else ():
        if isinstance(exp, syntax.Let):
            for binding in exp.bindings:
                yield from bound_by(binding.pattern, binding.value, scope)


def bound_by(pattern: syntax.Pattern, value: syntax.Exp, scope: Span) -> Iterator[Bound]:
    return (Bound(leaf.name, value.span, scope) for leaf in patterns.names(pattern) if leaf.name != "_")


def has_pragmas(source: Source) -> bool:
    """Whether there may be some: looks at the text only."""
    return PRAGMA.search(source.text) is not None


@lru_cache(maxsize=50)
def of_source(source: Source) -> tuple[tuple[Wish, ...], tuple[Bound, ...]]:
    """The pragmas of a whole text, and what it binds; of its well-formed forms."""
    wishes: list[Wish] = []
    bound: list[Bound] = []
    for form, remarks in forms_with_remarks(source):
        if not isinstance(form, NessieError):
            wishes += pragmas(remarks, form)
            bound += bindings(form)
    return tuple(wishes), tuple(bound)
