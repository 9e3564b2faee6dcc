"""What is known of a text: its errors and warnings, its forms, and for each name where it is bound and used."""
from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import suppress

from nessie.base.records import dataclass
from nessie.base.source import NessieError, Source, Span
from nessie.base.types import Type
from nessie.library.library import PRELUDE
from nessie.session.checking import Checked, Good, check
from nessie.syntax import nodes as syntax
from nessie.syntax.examples import examples
from nessie.syntax.lexer import NAME_CHARACTER
from nessie.syntax.parse import Read, forms, read_source
from nessie.syntax.parser import parse_expression
from nessie.syntax.scopes import Binder, bare, binders, uses
from nessie.typing import nodes as typed
from nessie.typing.node_types import type_of
from nessie.typing.walk import expressions

NAME = re.compile(rf"{NAME_CHARACTER}+")


@dataclass(frozen=True)
class Document:
    """`last` is, of each function, what it was when it was good last."""
    source: Source
    checked: Checked
    last: Mapping[str, Good]

    @property
    def own(self) -> list[Good]:
        """The good forms that are written in the text itself, in order."""
        return [good for good in self.checked.good if (span := span_of(good)) and span.source == self.source]

    def function(self, name: str) -> Good | None:
        return next((good for good in reversed(self.own)
                     if isinstance(good.form, syntax.FunctionDef) and good.form.name == name), None)

    def form_at(self, offset: int) -> Good | None:
        return next((good for good in self.own if (span := span_of(good)) and span.start <= offset <= span.end), None)


def document(source: Source, before: Document | None = None, read: Read | None = None) -> Document:
    """Return what is known of the text; `before` is what was known of it when it was another, `read` reads the files
    that it loads."""
    last = dict(before.last) if before else {}
    checked = check(source, before=last, written=forms(source, read=read))
    last.update({good.form.name: good for good in checked.good if isinstance(good.form, syntax.FunctionDef)})
    return Document(source, checked, last)


def span_of(good: Good) -> Span | None:
    span: Span | None = getattr(good.form, "span", None)
    return span


def word_at(source: Source, offset: int) -> Span | None:
    """The name at the offset, or that ends there."""
    begins = source.text.rfind("\n", 0, offset) + 1
    return next((Span(source, found.start(), found.end()) for found in NAME.finditer(source.text, begins)
                 if found.start() <= offset <= found.end()), None)


def text_of(span: Span) -> str:
    return span.source.text[span.start:span.end]


# Names ------------------------------------------------------------------------------------------


def binder_of(form: syntax.TopLevel, word: Span) -> Binder | None:
    """The variable of the form that the word there means, or binds."""
    name = text_of(word).lower()
    found = [binder for binder in binders(form) if binder.name == name]
    own = next((binder for binder in found if binder.span == word), None)
    seen = [(scope.end - scope.start, -at, binder) for at, binder in enumerate(found) for scope in binder.scopes
            if scope.holds(word)]
    return own or (min(seen, key=lambda one: one[:2])[2] if seen else None)


def definition(known: Document, offset: int) -> Span | None:
    """Where the name at the offset is bound: in the text, in a file that it loads, or in the library."""
    word, good = word_at(known.source, offset), known.form_at(offset)
    if word is None or good is None:
        return None
    if binder := binder_of(good.form, word):
        return binder.span
    return definition_of(known, text_of(word).lower())


def definition_of(known: Document, name: str) -> Span | None:
    entry = known.checked.environment.lookup(name)
    if entry is not None and entry.origin and not entry.origin[0].source.library:
        return name_in(entry.origin[0], name)
    if entry is not None and entry.kind == "function":
        prelude = read_source(str(PRELUDE))
        found = re.search(rf"^function ({re.escape(entry.name)})\b", prelude.text, re.MULTILINE)
        return Span(prelude, found.start(1), found.end(1)) if found else None
    return None


def name_in(form: Span, name: str) -> Span:
    """The name that the form defines, in its text."""
    for found in NAME.finditer(form.source.text, form.start, form.end):
        if found[0].lower() == name:
            return Span(form.source, found.start(), found.end())
    return form


def references(known: Document, offset: int) -> list[Span]:
    """All places of what the name at the offset means, where it is bound first."""
    word, good = word_at(known.source, offset), known.form_at(offset)
    if word is None or good is None:
        return []
    name = text_of(word).lower()
    binder = binder_of(good.form, word)
    if binder is not None:
        return [binder.span, *[span for span in named(good.form, name) if binder_of(good.form, span) == binder]]
    bound = definition_of(known, name)
    places = [bound] if bound and bound.source == known.source else []
    found = [*[span for form in known.own for span in named(form.form, name) if not binder_of(form.form, span)],
             *in_examples(known.source, name)]
    return [*places, *[span for span in found if span not in places]]


def in_examples(source: Source, name: str) -> Iterator[Span]:
    """Yield the uses of a name that forms define in the examples of comments, on either side, that can be read."""
    for example in examples(source):
        for side in (example.expression, example.expected):
            with suppress(NessieError):
                form = syntax.Evaluate(parse_expression(Source(source.name, source.text[:side.end]), side.start))
                yield from (Span(source, span.start, span.end) for span in named(form, name)
                            if not binder_of(form, span))


def named(form: syntax.TopLevel, name: str) -> Iterator[Span]:
    """The uses of a name in a form."""
    return (bare(use.span) for use in uses(form) if use.name == name and use.span)


# Types ------------------------------------------------------------------------------------------


def type_at(known: Document, good: Good, word: Span) -> Type | None:
    """The type of the name there, or of the smallest expression around it."""
    body = good.definition.body if isinstance(good.definition, typed.Function) else \
        good.definition.value if isinstance(good.definition, typed.Variable) else None
    found = list(expressions(body)) if body is not None else []
    binder = binder_of(good.form, word)
    if binder is not None:
        same = (exp for exp in found if isinstance(exp, typed.Name) and exp.name == binder.name and exp.origin
                and binder_of(good.form, bare(exp.origin[0])) == binder)
        if (use := next(same, None)) is not None:
            return use.type
    around = [(exp.origin[0].end - exp.origin[0].start, at, exp) for at, exp in enumerate(found)
              if exp.origin and exp.origin[0].holds(word)]
    return type_of(min(around, key=lambda one: one[:2])[2]) if around and binder is None else None


def errors_in(known: Document) -> Iterator[tuple[NessieError, bool]]:
    """The errors, and the warnings, of the text; is each an error?"""
    yield from ((error, True) for error in known.checked.errors)
    yield from ((warning, False) for warning in known.checked.warnings)
