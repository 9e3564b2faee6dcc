"""Types that are not fully known: those of an empty sequence's elements if neither Python nor the parameter says it."""
from __future__ import annotations

from nessie.base.types import Pair, Seq, Type, Var, components, free_variables, nest_right

UNKNOWN = Var("what is in an empty sequence")


def is_open(type_: Type) -> bool:
    """Whether the type has variables."""
    return next(free_variables(type_), None) is not None


def known(wanted: Type | None) -> Type:
    """The element type of an empty sequence: the wanted one if it is fully known, else UNKNOWN."""
    return UNKNOWN if wanted is None or is_open(wanted) else wanted


def element_of(wanted: Type | None) -> Type | None:
    return wanted.element if isinstance(wanted, Seq) else None


def split(wanted: Type | None, length: int) -> list[Type | None]:
    """The types of `length` components, as far as they are known."""
    if not isinstance(wanted, Pair):
        return [wanted] if length == 1 else [None] * length
    types = list(components(wanted))
    if len(types) > length:
        types[length - 1:] = [nest_right(types[length - 1:], Pair)]
    return [*types, *[None] * (length - len(types))]
