"""Names that hide each other because NESL does not tell capitals from small letters: a warning at the use.

    function f1(A) = let a = A[0] in #A         A is the a of the let
"""
from __future__ import annotations

from nessie.base.source import NessieError
from nessie.syntax import nodes as syntax
from nessie.syntax.scopes import Binder, binders, text_of, uses

MOST_ALIKE = 500                # variables of one name that are looked at: long texts of machines have more


def hidden_by_case(form: syntax.TopLevel) -> list[NessieError]:
    """The warnings about uses of a variable that are written as another one, which it hides."""
    found: dict[str, list[Binder]] = {}
    for binder in binders(form):
        found.setdefault(binder.name, []).append(binder)
    mixed = {name: alike for name, alike in found.items()
             if len(alike) <= MOST_ALIKE and len({binder.written for binder in alike}) > 1}
    return [warning for use in uses(form) if use.name in mixed and (warning := misread(use, mixed[use.name]))]


def with_hidden(error: NessieError, form: syntax.TopLevel) -> NessieError:
    """Return the error of a form, with the places of a variable that is another one than it is written, where the error
    is about it."""
    for warning in hidden_by_case(form):
        use, hides, hidden = warning.places
        if use[0] in [place for place, _ in error.places]:
            error.places = (*error.places, hides, hidden)
            error.hint = f"{warning.message}; {warning.hint}"
            return error
    return error


def misread(use: syntax.Name, alike: list[Binder]) -> NessieError | None:
    span = use.span
    if span is None:
        return None
    written = text_of(span)
    around = [binder for binder in alike if any([scope.holds(span) for scope in binder.scopes])]
    meant = [binder for binder in around if binder.written == written]
    if not meant or around[-1] in meant or around[-1].short:        # the last one is the innermost
        return None
    other = around[-1].written
    return NessieError(f"{written} is {other} here: NESL does not tell capitals from small letters", (span, ""),
                       (around[-1].span, f"this {other} hides {written}"), (meant[-1].span, f"the hidden {written}"),
                       hint="give one of them another name")
