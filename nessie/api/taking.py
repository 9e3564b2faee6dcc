"""The arguments of a call: each taken for what its parameter wants, whose type variables all of them fill in."""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np

from nessie.api.arguments import Arguments
from nessie.api.datatypes import Datatypes
from nessie.api.open_types import element_of, settled
from nessie.base.types import Seq, Type, Var
from nessie.base.values import Flat, Nested, OnDevice

MOST_SHOWN = 10                 # offsets


@dataclass(frozen=True)
class Argument:
    """A flat value of this type, and how it was taken."""
    value: Any
    type: Type
    how: Arguments


@dataclass(frozen=True)
class Taken:
    """`names` of the last arguments, which are given by name."""
    arguments: tuple[Argument, ...]
    names: tuple[str, ...] = ()

    @property
    def values(self) -> list[Any]:
        return [argument.value for argument in self.arguments]

    @property
    def types(self) -> tuple[Type, ...]:
        return tuple([argument.type for argument in self.arguments])

    @property
    def notes(self) -> list[str]:
        """What had to be converted."""
        return list(chain.from_iterable(argument.how.notes for argument in self.arguments))

    @property
    def shared(self) -> list[np.ndarray[Any, Any]]:
        """Arrays that are still the caller's, who may write to them."""
        return list(chain.from_iterable(argument.how.shared for argument in self.arguments))

    @property
    def awkward(self) -> bool:
        return any(argument.how.awkward for argument in self.arguments)

    @property
    def device(self) -> bool:
        """Does anything lie on a GPU?"""
        return any(argument.how.device for argument in self.arguments)

    @property
    def pending(self) -> bool:
        """May a GPU still be at work on it?"""
        return any(argument.how.pending for argument in self.arguments)

    @property
    def places(self) -> list[OnDevice]:
        return list(chain.from_iterable(argument.how.places for argument in self.arguments))

    @property
    def unchecked(self) -> list[tuple[OnDevice, int]]:
        """Offsets on a GPU that are yet to be checked, with the length of what they are of."""
        return list(chain.from_iterable(argument.how.unchecked for argument in self.arguments))


def taken(datatypes: Datatypes, given: Sequence[Any], named: Mapping[str, Any],
          wanted: Sequence[Type | None]) -> Taken:
    """What is given for parameters of the types `wanted`, as far as they are known, those by name last. What another
    argument says of a variable may make a float of an int."""
    values = [*given, *named.values()]
    called = [f"argument {name}" for name in [*range(1, len(given) + 1), *named]]
    first = [one(datatypes, where, value, want) for where, value, want in zip(called, values, wanted, strict=True)]
    closed = settled(wanted, [argument.type for argument in first])
    return Taken(tuple([argument if argument.type == type_ else one(datatypes, where, value, type_)
                        for where, argument, value, type_ in zip(called, first, values, closed, strict=True)]),
                 tuple(named))


def empty_of_ints(argument: Argument, wanted: Type | None) -> str:
    """How to write the same in Python, of ints where nothing says of what it is."""
    found = None
    if isinstance(argument.value, Flat) and isinstance(argument.type, Seq):
        found = written(argument.value.column, argument.type.element, element_of(wanted))
    return found or "np.array([], int)"


def written(column: Any, type_: Type, wanted: Type | None) -> str | None:
    """The elements of the type, None if there are others than sequences; `wanted` may say more of what they are."""
    match type_, wanted, column:
        case Var(), Seq(element), _:
            content, offsets = written(column, type_, element), [0]
        case Var(), _, _:
            return "np.array([], int)"
        case Seq(inside), _, Nested():
            if len(column.offsets) > MOST_SHOWN:
                return None
            content, offsets = written(column.content, inside, element_of(wanted)), column.offsets.tolist()
        case _:
            return None
    return f"nessie.Nested({offsets}, {content})" if content else None


def one(datatypes: Datatypes, where: str, value: Any, wanted: Type | None) -> Argument:
    how = Arguments(datatypes, where)
    try:
        return Argument(*how.value(value, wanted), how)
    except RecursionError:
        raise how.error("it is nested too deeply, or holds itself") from None
