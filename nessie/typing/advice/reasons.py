"""Reasons for types: the places that made a type what it is.

    function f(ps) = {p + #ps : p in ps}         ps is [int], since #ps is int
"""
from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice

from nessie.base.records import dataclass
from nessie.base.source import Span
from nessie.base.text.types_text import show_scheme
from nessie.base.types import CLASSES, Base, Identity, Type, Var
from nessie.typing.unify import Meeting, Unifier, meet, parts

Path = tuple[int, ...]                  # leads from a type to a part of it: positions among the parts of each
MOST = 100                              # reasons that are kept for a function: hardly a parameter has more parts


@dataclass(frozen=True)
class Reason:
    """The part of a type at `path` is what it is because of the place; `why` are words for that."""
    path: Path
    why: str
    place: Span


def reasons(unifier: Unifier, type_: Type) -> tuple[Reason, ...]:
    """Return the reasons for the parts of a type, outer ones first; at most MOST."""
    return tuple(islice(reasons_below(unifier, type_, ()), MOST))


def reasons_below(unifier: Unifier, type_: Type, path: Path) -> Iterator[Reason]:
    needed, meeting = False, None
    while isinstance(type_, Var) and type_.name in unifier.bound_at:
        type_, needed, meeting = unifier.bound_at[type_.name]
    if meeting is not None and meeting.place is not None and not isinstance(type_, Var):
        yield Reason(path, words(unifier, meeting, needed), meeting.place)
    for position, part in enumerate(parts(type_)):
        if not isinstance(part, Identity):
            yield from reasons_below(unifier, part, (*path, position))


def words(unifier: Unifier, meeting: Meeting, needed: bool) -> str:
    """Return the words for what a place makes of a type that meets another one there."""
    if meeting.declared:
        return "as declared here"
    if needed:
        return f"because {show_scheme(unifier.resolve(meeting.needed))} is needed here"
    return f"because this is {show_scheme(unifier.resolve(meeting.present))}"


def because(found: Sequence[Reason], subject: str, type_: Type, other: Type,
            shown: Sequence[Span | None]) -> tuple[tuple[Span, str], ...]:
    """Return the place with the reason for that part of the subject's type in which it first differs from the other
    type, if there is one. A place in one of those that the error has `shown` explains nothing."""
    path = difference(type_, other)
    for each in found:
        if path is not None and each.path == path and not any([span.holds(each.place) for span in shown if span]):
            return (each.place, f"{subject} {show_scheme(type_)} {each.why}"),
    return ()


def difference(one: Type, other: Type) -> Path | None:
    """Return the way to the first parts in which the types differ; None if there are none."""
    if isinstance(one, Var) or isinstance(other, Var):
        return () if differs_in_class(one, other) else None
    ones, others = parts(one), parts(other)
    if type(one) is not type(other) or len(ones) != len(others) or (not ones and one != other):
        return ()
    for position, (part, its) in enumerate(zip(ones, others, strict=True)):
        if (rest := difference(part, its)) is not None:
            return (position, *rest)
    return None


def differs_in_class(one: Type, other: Type) -> bool:
    """Has a type variable a class to which the other type does not belong?"""
    match one, other:
        case Var(_, first), Var(_, second):
            return meet(first, second) is None
        case Var(_, cls), _:
            return not in_class(other, cls)
        case _, Var(_, cls):
            return not in_class(one, cls)
    return False


def in_class(type_: Type, cls: str) -> bool:
    return cls == "any" or (isinstance(type_, Base) and type_.name in CLASSES[cls])
