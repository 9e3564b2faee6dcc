"""Pragmas: comments that say what the scheduler shall do, and the names that they may use.

    let total = sum(as);          % cut total, sq %
        sq = {a*a : a in as}
    in {s/total : s in sq}

`% fuse a, b %`, `% cut a, b %`, `% level a by grid, block %`, `% map a by Jing %` and `% map a case 2 by Jing %`, with
nothing else in the comment, where a binding or a top-level form begins or ends: behind `let` or `;`, before `;` or
`in`. Names must be bound in the form: by `let`, by `=` at the top, as parameters, or as the function, which stands for
its result; one that is not is a mistake where the form is compiled, and no obstacle to others. Anything else is a
comment; a warning tells of one that looks like a pragma for a mapping.
"""
from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from typing import TYPE_CHECKING

from nessie.base.lazy import lazy
from nessie.base.source import NessieError, Source, Span
from nessie.base.text.nearest import nearest
from nessie.lambda_cu.mappings.levels import ITEMS, OWNERS
from nessie.lambda_cu.mappings.nodes import STRATEGIES
from nessie.schedule.wishes.wishes import CUT, FUSE, LEVEL, MAP, Bound, Wish
from nessie.syntax import nodes as syntax
from nessie.syntax import patterns
from nessie.syntax.lexer import NAME_CHARACTER
from nessie.syntax.parser import forms_with_remarks, last_remarks
from nessie.syntax.walk import EXPRESSIONS

if TYPE_CHECKING:
    from nessie.schedule.wishes import asked
else:
    asked = lazy("nessie.schedule.wishes.asked")        # few programs have pragmas

PRAGMA = re.compile(rf"%\s*(?:(fuse|cut)\s+({NAME_CHARACTER}+)\s*,\s*({NAME_CHARACTER}+)|"
                    rf"(level)\s+({NAME_CHARACTER}+)\s+by\s+({NAME_CHARACTER}+(?:\s*,\s*{NAME_CHARACTER}+)*)|"
                    rf"(map)\s+({NAME_CHARACTER}+)(?:\s+case\s+(\w+))?\s+by\s+(?-i:({'|'.join(STRATEGIES)}|[A-Z]\w*\s*\([^%]*[^%\s])))\s*%",
                    re.IGNORECASE)
LIKE = re.compile(rf"%\s*(\w+)\s+{NAME_CHARACTER}+(?:\s+(\w+)\s+\w+)?\s+by\s+(\w+)(\s*\([^%]*|(?:\s*,\s*\w+)+)?\s*%",
                  re.IGNORECASE)
WITHOUT_BY = re.compile(rf"%\s*(map|level)\s+({NAME_CHARACTER}+(?:\s+case\s+\w+)?)(?:\s+(\w+)|\s*[=:])?\s+"
                        rf"((?-i:{'|'.join((*STRATEGIES, *OWNERS, ITEMS))}|[A-Z]\w*\s*\([^%]*\)))\s*%", re.IGNORECASE)
FIRST = {FUSE: 1, CUT: 1, LEVEL: 4, MAP: 7}         # the groups of the pragmas' words


def pragmas(remarks: Iterable[Span], form: syntax.TopLevel) -> tuple[Wish, ...]:
    """The pragmas among the form's comments."""
    found = [(span, match) for span in remarks if (match := PRAGMA.fullmatch(span.source.text, span.start, span.end))]
    scope: Span | None = getattr(form, "span", None)
    return () if scope is None else tuple([wish_of(place, match, scope) for place, match in found])


def wish_of(place: Span, match: re.Match[str], scope: Span) -> Wish:
    kind, first, *_, second = [part for part in match.groups() if part]
    if kind.lower() != MAP:
        at = Span(place.source, *match.span(FIRST[LEVEL] + 1)) if kind.lower() == LEVEL else None
        return Wish(kind.lower(), first.lower(), "".join(second.lower().split()), place, scope, name_text=at)
    name, case, text = [Span(place.source, *match.span(FIRST[MAP] + number)) for number in (1, 2, 3)]
    asked = match[FIRST[MAP] + 2] or ""
    return Wish(MAP, first.lower(), second, place, scope, text, asked.lower(), case if asked else None, name)


def misnamed(wish: Wish, bound: Iterable[Bound]) -> NessieError | None:
    """The error of a pragma that has a name which its form does not bind."""
    known = dict.fromkeys(b.name for b in bound if b.scope == wish.scope)
    match = wish.place and PRAGMA.fullmatch(wish.place.source.text, wish.place.start, wish.place.end)
    if wish.place and match and wish.kind == LEVEL and (
            wrong := asked.mistake_in_levels(Span(wish.place.source, *match.span(6)))) is not None:
        return wrong
    for number, name in enumerate(wish.names, FIRST[wish.kind] + 1):
        if wish.place and match and name not in known:
            there = f"it binds {', '.join(known)}" if known else "it binds none"
            if wish.scope and wish.place.end <= wish.scope.start:
                there += "; a pragma for the form before stands before that form's `;`"
            return NessieError(f"this form binds no {name}", (Span(wish.place.source, *match.span(number)), ""),
                               hint=there)
    return mistake_in_mapping(wish)


def mistake_in_mapping(wish: Wish) -> NessieError | None:
    """The error of a pragma whose mapping is none."""
    if wish.kind == MAP and wish.text is not None:
        try:
            asked.case_number(wish)
            asked.possible(wish.text)
        except NessieError as wrong:
            return wrong
    return None


def mistyped(remarks: Iterable[Span]) -> list[NessieError]:
    """The warnings about comments that look like pragmas for mappings, and have a word that is none."""
    found = []
    for span in remarks:
        text, start, end = span.source.text, span.start, span.end
        if PRAGMA.fullmatch(text, start, end):
            continue
        if like := LIKE.fullmatch(text, start, end):
            found += misspelt(span.source, like)
        elif like := WITHOUT_BY.fullmatch(text, start, end):
            found.append(without_by(span.source, like))
    return found


def without_by(source: Source, like: re.Match[str]) -> NessieError:
    """The warning about a pragma that has another word, or none, where `by` is due."""
    if like[3] and nearest(like[3].lower(), ["by"], 0.65):
        return no_pragma(Span(source, *like.span(3)), "did you mean by?")
    return no_pragma(Span(source, *like.span(4)), f"`by` stands before it: % {like[1]} {like[2]} by {like[4]} %")


def misspelt(source: Source, like: re.Match[str]) -> list[NessieError]:
    """The warning about a pragma with a word that is almost one."""
    word, case, mapping, arguments = like.groups()
    wrong, known = (1, ("map", "level")) if word.lower() not in ("map", "level") else (
        (2, ("case",)) if case and case.lower() != "case" else
        (3, ("GridBlock", "Levels") if arguments and "(" in arguments else STRATEGIES))
    meant = nearest(like[wrong], known, 0.65) or nearest(like[wrong].lower(), [k.lower() for k in known], 0.65)
    if not meant or not (wrong == 3 or arguments or mapping in (*STRATEGIES, *OWNERS, ITEMS)):
        return []
    if wrong == 3 and like[wrong] in known and arguments:
        return [no_pragma(Span(source, *like.span(4)), "one mapping is for all of it, another for a case: "
                                                       f"% map b case 1 by {mapping} %")]
    right = next(k for k in known if k.lower() == meant.lower())
    return [no_pragma(Span(source, *like.span(wrong)), f"did you mean {right}?")]


def no_pragma(word: Span, hint: str) -> NessieError:
    return NessieError("this comment looks like a pragma, and is none", (word, ""), hint=hint)


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


def doubtful(sources: Iterable[Source]) -> list[NessieError]:
    """The warnings about comments of these texts that may be meant as pragmas, and about pragmas behind all forms."""
    texts = list(sources)
    found = [doubt for source in texts if any([like.search(source.text) for like in (LIKE, WITHOUT_BY)])
             for form, remarks in forms_with_remarks(source) if not isinstance(form, NessieError)
             for doubt in mistyped(remarks)]
    return found + [NessieError("this pragma is for no form, as none follows", (span, ""),
                                hint="a pragma for the form before stands before that form's `;`")
                    for source in texts if has_pragmas(source) for span in last_remarks(source)
                    if PRAGMA.fullmatch(source.text, span.start, span.end)]


def mistakes_in(form: syntax.TopLevel) -> list[NessieError]:
    """The errors of the pragmas of this form, and the warnings about comments that may be meant as some."""
    scope: Span | None = getattr(form, "span", None)
    if scope is None:
        return []
    doubts = [doubt for doubt in doubtful([scope.source]) if scope.holds(doubt.places[0][0])]
    if not has_pragmas(scope.source):
        return doubts
    wishes, bound = of_source(scope.source)
    return [*[wrong for wish in wishes if wish.scope == scope and (wrong := misnamed(wish, bound))], *doubts]


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
