"""Undefined names: one error for all that a form uses. Names whose definition has failed follow from that error."""
from __future__ import annotations

from collections.abc import Iterable, Iterator

from nessie.base.source import Consequence, NessieError, Span
from nessie.base.text.nearest import nearest
from nessie.syntax import nodes as syntax
from nessie.syntax.scopes import binders, uses
from nessie.typing.advice.hints import definition, has_failed, named, written

NOT_DEFINED = " is not defined"


class Undefined(NessieError):
    """A form uses a name that is not defined."""


class DefinedBadly(Undefined, Consequence):
    """A form uses a name whose definition has failed."""


def undefined(name: str, span: Span | None, known: Iterable[str]) -> Undefined:
    """Return the error for a name that none of the `known` ones is."""
    place = [(span, "")] if span else []
    from nessie.syntax.errors.other_languages import name_hint  # only mistakes need it
    elsewhere, why = definition(name, span)
    near = nearest(name, known, 0.7)
    text = typed = written(span)               # True, for true
    if span and span.source.name.startswith("argument ") and span.source.text.strip() == text:
        why = why or f"a string is written with quotes: '\"{text}\"'"
    hint = why or name_hint(name, span) or (f"did you mean {near}?" if near else "")
    return (DefinedBadly if has_failed(name, span) else Undefined)(
        f"{typed if typed.lower() == name else name}{NOT_DEFINED}", *place, *elsewhere, hint=hint)


def with_others(error: Undefined, form: syntax.TopLevel, known: Iterable[str]) -> NessieError:
    """Return the error for all undefined names of the form, in the order of the text. Names whose definition has failed
    are told if there are no others."""
    names = set(known)
    others = [undefined(use.name, use.span, names) for use in undefined_uses(form, names) if use.span != error.span]
    first: dict[str, Undefined] = {}
    for found in sorted([error, *others], key=lambda found: start(found.span)):
        first.setdefault(named(found.span), found)
    own = [found for found in first.values() if not isinstance(found, Consequence)]
    if len(own) < 2:
        return own[0] if own else error
    shown = [named(each.span) for each in own]
    return Undefined(f"{', '.join(shown[:-1])} and {shown[-1]} are not defined",
                     *[(place, label or each.hint) for each in own for place, label in each.places])


def undefined_uses(form: syntax.TopLevel, known: set[str]) -> Iterator[syntax.Name]:
    """Yield the uses of names that neither the form nor anything before it binds."""
    scopes: dict[str, list[Span]] = {}
    for binder in binders(form):
        scopes.setdefault(binder.name, []).extend(binder.scopes)
    own = form.name if isinstance(form, syntax.FunctionDef) else ""
    for use in uses(form):
        span = use.span
        if span and use.name not in known and use.name != own \
                and not any([scope.holds(span) for scope in scopes.get(use.name, ())]):
            yield use


def start(span: Span | None) -> int:
    return span.start if span else 0
