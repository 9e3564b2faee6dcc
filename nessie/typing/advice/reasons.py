"""Reasons for types: the places that made a type what it is.

    function f(ps) = {p + #ps : p in ps}         ps is [int], since #ps is int
"""
from __future__ import annotations

from collections.abc import Sequence

from nessie.base.records import dataclass
from nessie.base.source import Span
from nessie.base.text.types_text import show_scheme
from nessie.base.types import Base, Identity, Pair, Type, Var, is_member
from nessie.typing.unify import Meeting, Unifier, meet, parts

Path = tuple[int, ...]                  # leads from a type to a part of it: positions among the parts of each
MOST = 100                              # parts of a type of which reasons are kept: few parameters have more


@dataclass(frozen=True)
class Reason:
    """The part of a type at `path` is what it is because of the place: there `type` is declared, or `needed`, or
    is what stands there."""
    path: Path
    type: Type
    needed: bool
    declared: bool
    place: Span

    def why(self) -> str:
        """Return the words for what the place makes of the type."""
        if self.declared:
            return "as declared here"
        return f"because {show_scheme(self.type)} is needed here" if self.needed else \
            f"because this is {show_scheme(self.type)}"


def reasons(unifier: Unifier, type_: Type) -> tuple[Reason, ...]:
    """Return the reasons for the parts of a type, outer ones first; those of the first MOST parts."""
    found: list[Reason] = []
    waiting: list[tuple[Type, Path, bool]] = [(type_, (), False)]       # True: the rest of a tuple
    for _ in range(MOST):
        if not waiting:
            break
        part, path, rest = waiting.pop()
        part, needed, meeting = origin(unifier, part)
        rest = rest and isinstance(part, Pair)
        if meeting is not None and meeting.place is not None and not rest and not isinstance(part, Var):
            met = unifier.resolve(meeting.needed if needed else meeting.present)
            found.append(Reason(path, met, needed, meeting.declared, meeting.place))
        waiting += [(inner, (*path, position), isinstance(part, Pair) and position == 1)
                    for position, inner in reversed([*enumerate(parts(part))]) if not isinstance(inner, Identity)]
    return tuple(found)


def origin(unifier: Unifier, type_: Type) -> tuple[Type, bool, Meeting | None]:
    """Return what the type is as it came first, whether it was needed there, and where that was."""
    needed, meeting = False, None
    while isinstance(type_, Var) and type_.name in unifier.bound_at:
        type_, needed, meeting = unifier.bound_at[type_.name]
    return type_, needed, meeting


def because(found: Sequence[Reason], subject: str, type_: Type, other: Type,
            shown: Sequence[Span | None]) -> tuple[tuple[Span, str], ...]:
    """Return the place with the reason for that part of the subject's type in which it first differs from the other
    type, if there is one. A place in one of those that the error has `shown` explains nothing."""
    path = difference(type_, other)
    for each in found:
        if path is not None and each.path == path and not any([span.holds(each.place) for span in shown if span]):
            return (each.place, f"{subject} {show_scheme(type_)} {each.why()}"),
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
    return cls == "any" or (isinstance(type_, Base) and is_member(type_.name, cls))
