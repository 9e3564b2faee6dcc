"""Checks the text of a program form by form, and evaluates nothing: every error, every warning, and what the good forms
define.
"""
from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from nessie.base.records import dataclass
from nessie.base.source import NessieError, Source
from nessie.library import library
from nessie.pragmas import doubtful, mistakes
from nessie.syntax import nodes as syntax
from nessie.syntax.lexer import NAME_CHARACTER
from nessie.syntax.parse import forms
from nessie.typing import infer
from nessie.typing import nodes as typed
from nessie.typing.advice.hints import doubts
from nessie.typing.environment import Entry, Environment

BEGINS = re.compile(rf"\bfunction\s+({NAME_CHARACTER}+)", re.IGNORECASE)


@dataclass(frozen=True)
class Good:
    """A form without errors, the definition that it is, and the entry that this has."""
    form: syntax.TopLevel
    definition: typed.Definition | None
    entry: Entry | None


@dataclass(frozen=True)
class Checked:
    """`errors` and `warnings` in the order of the text; the forms of loaded files are among the `good` ones."""
    good: tuple[Good, ...]
    errors: tuple[NessieError, ...]
    warnings: tuple[NessieError, ...]
    environment: Environment


def check(source: Source, environment: Environment | None = None, before: Mapping[str, Good] | None = None,
          tell: Callable[[NessieError], object] = lambda error: None) -> Checked:
    """Check the program; `tell` is given each error as it is found. A bad definition of a function leaves the one of
    its name that was good `before`, if any."""
    environment = environment or library.library()
    errors: list[NessieError] = []
    good: list[Good] = []
    sources: dict[Source, None] = {}
    doubted: list[NessieError] = []
    for form in forms(source):
        try:
            if isinstance(form, NessieError):
                raise form
            if span := getattr(form, "span", None):
                sources[span.source] = None
            doubted += doubts(form)
            made, environment = infer.infer(syntax.Program((form,)), environment)
            entry = environment.lookup(form.name) if isinstance(form, syntax.FunctionDef) else None
            good += [Good(form, definition, entry) for definition in made.definitions or (None,)]
        except NessieError as error:
            errors.append(error)
            tell(error)
            if before and (name := defined_by(form)) in before:
                environment = with_definition(environment, name, before[name])
    for mistake in mistakes(sources):
        errors.append(mistake)
        tell(mistake)
    return Checked(tuple(good), tuple(errors), (*doubtful(sources), *doubted), environment)


def defined_by(form: syntax.TopLevel | NessieError) -> str:
    """The name of the function that the form defines, or would without its error of syntax; empty if it is another."""
    if isinstance(form, NessieError):
        found = BEGINS.findall(form.span.source.text, 0, form.span.end) if form.span else []
        return str(found[-1]).lower() if found else ""
    return form.name if isinstance(form, syntax.FunctionDef) else ""


def with_definition(environment: Environment, name: str, good: Good) -> Environment:
    found = environment.copy()
    if good.definition is not None and good.entry is not None:
        found.program.add(good.definition)
        found.program.entries[name] = good.entry
    return found
