"""Checks the text of a program form by form, and evaluates nothing: every error, every warning, and what the good forms
define. It is the one loop that tells mistakes: of `nessie check`, of the language server, of the live page.
"""
from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping

from nessie.base.records import dataclass
from nessie.base.source import Consequence, NessieError, Source
from nessie.library import library
from nessie.pragmas import doubtful, mistakes
from nessie.syntax import nodes as syntax
from nessie.syntax import patterns
from nessie.syntax.lexer import NAME_CHARACTER
from nessie.syntax.parse import forms
from nessie.typing import infer
from nessie.typing import nodes as typed
from nessie.typing.advice.hints import doubts, named
from nessie.typing.advice.undefined import Undefined
from nessie.typing.environment import Entry, Environment

BEGINS = re.compile(rf"\bfunction\s+({NAME_CHARACTER}+)", re.IGNORECASE)
DEFINITION = re.compile(r"^[ \t]*(?:(?:function|datatype)\s+(\w+)|(\w+)\s*=(?![=>]))", re.MULTILINE | re.IGNORECASE)


@dataclass(frozen=True)
class Good:
    """A form without errors, the definition that it is, and the entry that this has."""
    form: syntax.TopLevel
    definition: typed.Definition | None
    entry: Entry | None


@dataclass(frozen=True)
class Checked:
    """`errors` and `warnings` in the order of the text; the forms of loaded files are among the `good` ones.
    `followed`: how many more forms failed, as they use what has failed."""
    good: tuple[Good, ...]
    errors: tuple[NessieError, ...]
    warnings: tuple[NessieError, ...]
    environment: Environment
    followed: int = 0


def check(source: Source, environment: Environment | None = None, before: Mapping[str, Good] | None = None,
          tell: Callable[[NessieError], object] = lambda error: None,
          written: Iterable[syntax.TopLevel | NessieError] | None = None) -> Checked:
    """Check the program, or the forms of it that are `written`; `tell` is given each error as it is found. A bad
    definition of a function leaves the one of its name that was good `before`, if any."""
    environment = environment or library.library()
    errors: list[NessieError] = []
    good: list[Good] = []
    sources: dict[Source, None] = {}
    doubted: list[NessieError] = []
    failed, followed = set[str](), 0        # names of which a definition has failed
    for form in forms(source) if written is None else written:
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
            if (isinstance(error, Consequence) and errors) \
                    or (isinstance(error, Undefined) and named(error.span).lower() in failed):
                followed += 1
            else:
                errors.append(error)
                tell(error)
            failed |= names_before(form) if isinstance(form, NessieError) else names_defined(form)
            if before and (name := defined_by(form)) in before:
                environment = with_definition(environment, name, before[name])
    for mistake in mistakes(sources):
        errors.append(mistake)
        tell(mistake)
    return Checked(tuple(good), tuple(errors), (*doubtful(sources), *doubted), environment, followed)


def names_defined(form: syntax.TopLevel) -> set[str]:
    """The names that the form defines."""
    match form:
        case syntax.FunctionDef(name) | syntax.DatatypeDef(name):
            return {name}
        case syntax.Assign(bound) | syntax.FileVariable(bound):
            return {found.name for found in patterns.names(bound)}
    return set()


def names_before(error: NessieError) -> set[str]:
    """The name whose definition ends in this error of syntax, as far as the text tells."""
    span = error.span
    found = [*DEFINITION.finditer(span.source.text, 0, span.end)] if span else []
    return {(found[-1][1] or found[-1][2]).lower()} if found else set()


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
