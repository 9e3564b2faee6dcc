"""Types of which not all is known: what empty sequences are of, where neither Python nor the parameter says it."""
from __future__ import annotations

from collections.abc import Sequence

from nessie.base.types import Data, Pair, Seq, Type, Var, components, free_variables, nest_right, substitute
from nessie.files.fit import Misfit, joined

UNKNOWN = Var("what is in an empty sequence")


def is_open(type_: Type) -> bool:
    """Are there variables in it?"""
    return next(free_variables(type_), None) is not None


def known(wanted: Type | None) -> Type:
    """The type of an element that is not there."""
    return UNKNOWN if wanted is None or is_open(wanted) else wanted


def element_of(wanted: Type | None) -> Type | None:
    return wanted.element if isinstance(wanted, Seq) else None


def split(wanted: Type | None, length: int) -> list[Type | None]:
    """The types of so many components, as far as they are known."""
    if not isinstance(wanted, Pair):
        return [wanted] if length == 1 else [None] * length
    types = list(components(wanted))
    if len(types) > length:
        types[length - 1:] = [nest_right(types[length - 1:], Pair)]
    return [*types, *[None] * (length - len(types))]


def settled(wanted: Sequence[Type | None], held: Sequence[Type]) -> list[Type]:
    """The types that the arguments should have: the parameters', their variables filled in from what is given."""
    found: dict[str, Type] = {}
    try:
        for want, have in zip(wanted, held, strict=True):
            if want is not None:
                fill(want, have, found)
    except Misfit:                  # inference says what is wrong
        return list(held)
    by_type = [have if want is None else substitute(want, found) for want, have in zip(wanted, held, strict=True)]
    return [have if is_open(want) else want for want, have in zip(by_type, held, strict=True)]


def fill(wanted: Type, held: Type, found: dict[str, Type]) -> None:
    """Record in `found` what the variables of `wanted` stand for."""
    match wanted, held:
        case _, Var():
            pass
        case Var(name), _:
            found[name] = joined(found.get(name, held), held)
        case Seq(a), Seq(b):
            fill(a, b, found)
        case Pair(a, b), Pair(c, d):
            fill(a, c, found)
            fill(b, d, found)
        case Data(a, items), Data(b, others) if a == b:
            for item, other in zip(items, others, strict=True):
                fill(item, other, found)
