"""Arguments and results of functions whose types tell lengths.

A function's type is the declared one or, of `function.at(type)`, the one that is asked for. Where rows are due whose
lengths are a formula, an array of all their elements may be given.
"""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from nessie.api.options import a_text
from nessie.api.values.datatypes import Datatypes
from nessie.api.values.taking import Taken, one
from nessie.arguments.with_lengths import Due, refuse_others
from nessie.base.source import Source
from nessie.base.system.memory import MemoryBudget
from nessie.base.types import Type
from nessie.lengths.layouts import check
from nessie.lengths.told import Given, Told
from nessie.lengths.values import shaped
from nessie.lengths.vectors import missing_levels, vectors_for, with_floats, without_levels
from nessie.session.session import Session
from nessie.syntax import nodes as syntax
from nessie.syntax.parser import parse_type
from nessie.typing.signatures import concrete_type


def parsed(session: Session, text: str) -> syntax.TypeExp:
    """The type in this text, if it is one of the program."""
    written = parse_type(Source("type", a_text(text, "a type")))
    concrete_type(written, session.environment)
    check(written)
    return written


def vectors(datatypes: Datatypes, due: Due, given: Sequence[Any]) -> list[Type | None]:
    """The types that are due: those of vectors where vectors are given for rows."""
    types = list(due.types)
    for place, (part, type_) in enumerate(zip(due.parts, due.types)):
        if type_ is not None and any(vectors_for(part)):
            found = one(datatypes, f"argument {place + 1}", given[place], None, MemoryBudget()).type
            count = missing_levels(part, found) or missing_levels(part, with_floats(found))
            types[place] = without_levels(type_, count)
    return types


def in_form(taken: Taken, due: Due, told: Told, room: MemoryBudget) -> Taken:
    """The arguments in the forms that their types tell. Where their rows start counts against `room`."""
    if not due.parts:
        return taken
    given = [Given(f"argument {number}", part, argument.type, argument.value)
             for number, (part, argument) in enumerate(zip(due.parts, taken.arguments, strict=True), 1)]
    refuse_others(due.parts, [one.name for one in given], taken.types, [None] * len(given))
    return replace(taken, arguments=tuple([
        replace(argument, value=shape.value, type=shape.type)
        for argument, shape in zip(taken.arguments, shaped(given, told, room), strict=True)]))


def check_result(written: syntax.TypeExp, told: Told, value: Any, type_: Type) -> None:
    """Raise NessieError for a result that is not as long as its type tells."""
    shaped([Given("the result", written, type_, value)], told)
