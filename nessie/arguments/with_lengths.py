"""Arguments of a type that tells their lengths.

A vector may stand for rows whose lengths are a formula. So such an argument is first asked whether it is rows or a
vector. The values are compared with the type once all are there (nessie.lengths.values).
"""
from __future__ import annotations

from collections.abc import Sequence

from nessie.arguments.types import GivenArgument, Parameters, Written, solved
from nessie.base.records import dataclass
from nessie.base.source import NessieError, Span
from nessie.base.types import Pair, Type, match_types, nest_right, show_type
from nessie.files.parts import Misfit
from nessie.lengths.layouts import check
from nessie.lengths.vectors import missing_levels, stands_for, vectors_for, with_floats, without_levels
from nessie.session.session import Session
from nessie.syntax import nodes as syntax
from nessie.syntax.text import show_type as show_written
from nessie.syntax.types import tells_lengths
from nessie.typing.signatures import concrete_type


@dataclass(frozen=True)
class Due:
    """What is due for the arguments of a call: their types, as far as they are known, and as written; `parts` are empty
    where nobody asks for a type and the function's own tells no lengths. `result`: the type of the result, as
    written."""
    types: list[Type | None]
    parts: list[syntax.TypeExp]
    result: syntax.TypeExp | None = None

    def of(self, places: Sequence[int]) -> Due:
        """What is due for the arguments at these places."""
        return Due([self.types[place] for place in places], [self.parts[place] for place in places if self.parts],
                   self.result)


def due(session: Session, function: str, count: int, asked: syntax.TypeExp | None, takes: str) -> Due:
    """What is due for `count` arguments of the function, by its own type and by the one that the user asks for."""
    wanted = session.parameter_types(function, count)
    declared = session.declared(function)
    if asked is None:
        argument, result = (None, None) if declared is None else (declared.argument, declared.result)
        if declared is not None:
            check(declared)
        return Due(wanted, session.parts_of(function, argument, count) if argument and tells_lengths(argument) else [],
                   result if result and tells_lengths(result) else None)
    check(asked)
    parts = session.parts_of(function, asked, count)
    types: list[Type | None] = [concrete_type(part, session.environment) for part in parts]
    known = [type_ for type_ in types if type_ is not None]
    own = [type_ for type_ in wanted if type_ is not None]
    asked_type = nest_right(known, Pair)
    if len(types) < count or (len(own) == count and match_types(nest_right(own, Pair), asked_type) is None):
        raise NessieError(f"{takes}, and the type is {show_type(asked_type, False)}",
                          *([(asked.span, "")] if asked.span else []))
    return Due(types, parts)


def as_given(given: Sequence[GivenArgument], due: Due, wanted: Parameters) -> list[Type | None]:
    """The types that are due for these arguments: those of vectors where vectors stand for rows."""
    if not due.parts:
        return due.types
    return [without_levels(type_, missing(one, part, type_, wanted)) if type_ is not None else None
            for one, part, type_ in zip(given, due.parts, due.types, strict=True)]


def missing(given: GivenArgument, written: syntax.TypeExp, type_: Type, wanted: Parameters) -> int:
    """How many levels of sequences less than these rows does the argument have?"""
    most = len(list(vectors_for(written)))
    if isinstance(given.held, Written):
        return missing_levels(written, given.held.type)
    for count in range(most + 1):
        try:
            solved([given], [without_levels(type_, count)], wanted.content)
            return count
        except Misfit:
            continue
    return 0


def refuse_others(parts: Sequence[syntax.TypeExp], names: Sequence[str], types: Sequence[Type],
                  spans: Sequence[Span | None]) -> None:
    """Raise NessieError for an argument of another type than its part of the written one."""
    for part, name, type_, span in zip(parts, names, types, spans, strict=True):
        if not stands_for(part, type_):
            places = ((span, f"this is {show_type(type_, False)}"), (part.span, "this is due"))
            raise NessieError(f"{name} is {show_type(type_, False)}, and {show_written(part)} is due",
                              *[(place, label) for place, label in places if place],
                              hint="with a point, a number is a float" * stands_for(part, with_floats(type_)))
