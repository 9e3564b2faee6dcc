"""Variables of a form: where each is bound, where it is seen, and where names are used."""
from __future__ import annotations

from collections.abc import Iterator

from nessie.base.records import dataclass
from nessie.base.source import Span
from nessie.syntax import nodes as syntax
from nessie.syntax import patterns
from nessie.syntax.walk import EXPRESSIONS


@dataclass(frozen=True)
class Binder:
    """A name as it is written at `span`; `scopes` are the texts in which it means this variable. short: of a generator
    without a source, as in {a + b : a; b}, so that its values are elements of what it hides."""
    name: str
    written: str
    span: Span
    scopes: tuple[Span, ...]
    short: bool = False


def uses(form: syntax.TopLevel) -> Iterator[syntax.Name]:
    body = body_of(form)
    return (exp for exp in EXPRESSIONS.inside(body) if isinstance(exp, syntax.Name)) if body is not None else iter(())


def body_of(form: syntax.TopLevel) -> syntax.Exp | None:
    match form:
        case (syntax.FunctionDef(body=body) | syntax.Assign(value=body) | syntax.FileVariable(value=body)
              | syntax.Evaluate(body)):
            return body
    return None


def binders(form: syntax.TopLevel) -> Iterator[Binder]:
    """The form's variables, outer ones first."""
    body = body_of(form)
    if isinstance(form, syntax.FunctionDef) and body is not None:
        yield from bound_by(form.parameter, body.span)
    for exp in EXPRESSIONS.inside(body) if body is not None else ():
        match exp:
            case syntax.Let(bindings, inner):
                for binding, later in zip(bindings, [*(after.value for after in bindings[1:]), inner], strict=True):
                    yield from bound_by(binding.pattern, through(later.span, inner.span))
            case syntax.Each(inside, generators, condition):
                scopes = span_of(inside), span_of(condition)
                for generator in generators:
                    yield from bound_by(generator.pattern, *scopes, short=generator.source is None)
            case syntax.Lambda(pattern, inner):
                yield from bound_by(pattern, inner.span)


def span_of(exp: syntax.Exp | None) -> Span | None:
    return exp.span if exp is not None else None


def through(first: Span | None, last: Span | None) -> Span | None:
    return Span(first.source, first.start, last.end) if first and last else None


def bound_by(pattern: syntax.Pattern, *scopes: Span | None, short: bool = False) -> Iterator[Binder]:
    spans = tuple([scope for scope in scopes if scope is not None])
    for leaf in patterns.names(pattern):
        span = bare(leaf.span) if leaf.span is not None else None
        if span is not None and text_of(span).lower() == leaf.name:
            yield Binder(leaf.name, text_of(span), span, spans, short)


def text_of(span: Span) -> str:
    return span.source.text[span.start:span.end]


def bare(span: Span) -> Span:
    """The span without the parentheses of a function's only parameter."""
    text = text_of(span)
    start = span.start + len(text) - len(text.lstrip("( \t\n"))
    return Span(span.source, start, start + len(text.strip("() \t\n")))
