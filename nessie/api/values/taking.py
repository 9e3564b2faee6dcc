"""Takes the arguments of a call: each for its parameter's type, whose type variables all arguments determine."""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np

from nessie.api.values.arguments import Arguments
from nessie.api.values.datatypes import Datatypes
from nessie.api.values.numpy_arrays import columns_hint, is_table
from nessie.api.values.open_types import is_open
from nessie.arguments.types import GivenArgument, Parameters, types_of
from nessie.base.source import NessieError
from nessie.base.system.memory import MemoryBudget
from nessie.base.text.types_text import show_scheme
from nessie.base.types import Pair, Seq, Type, components, match_types, nest_right
from nessie.base.values import OnDevice
from nessie.files.parts import Columns


@dataclass(frozen=True)
class Argument:
    """A flat value of this type, and the record of its conversion."""
    value: Any
    type: Type
    how: Arguments


@dataclass(frozen=True)
class Taken:
    """The arguments of a call. `names`: those of the last arguments, which are given by name; `copied`: bytes of
    copies; `stay`: the result stays on the device wherever they lie."""
    arguments: tuple[Argument, ...]
    names: tuple[str, ...] = ()
    copied: int = 0
    stay: bool = False

    @property
    def values(self) -> list[Any]:
        return [argument.value for argument in self.arguments]

    @property
    def types(self) -> tuple[Type, ...]:
        return tuple([argument.type for argument in self.arguments])

    @property
    def notes(self) -> list[str]:
        """Notes on the conversions."""
        return list(chain.from_iterable(argument.how.notes for argument in self.arguments))

    @property
    def shared(self) -> list[np.ndarray[Any, Any]]:
        """The caller's own arrays, to which it may still write."""
        return list(chain.from_iterable(argument.how.shared for argument in self.arguments))

    @property
    def awkward(self) -> bool:
        return any(argument.how.awkward for argument in self.arguments)

    @property
    def device(self) -> bool:
        """Whether arrays of the result stay on the device, as they do if any argument has one there."""
        return self.stay or any(argument.how.device for argument in self.arguments)

    @property
    def streams(self) -> set[int]:
        """The streams in which a GPU may still work on the arguments."""
        return set().union(*[argument.how.streams for argument in self.arguments])

    @property
    def places(self) -> list[OnDevice]:
        return list(chain.from_iterable(argument.how.places for argument in self.arguments))

    @property
    def unchecked(self) -> list[tuple[OnDevice, int]]:
        """Offsets on a GPU that are not checked yet, each with the length of its content."""
        return list(chain.from_iterable(argument.how.unchecked for argument in self.arguments))


def taken(datatypes: Datatypes, given: Sequence[Any], named: Mapping[str, Any], wanted: Parameters,
          room: MemoryBudget) -> Taken:
    """The arguments given for these parameters, those by name last. An argument whose type, given the others, is not
    the one that it has by itself (ints may become floats) is taken once more for that type. Copies count against
    `room`."""
    values = [*given, *named.values()]
    called = [f"argument {name}" for name in [*range(1, len(given) + 1), *named]]
    first = [one(datatypes, where, value, want, room)
             for where, value, want in zip(called, values, wanted.types, strict=True)]
    types = [argument.type for argument in first]
    fitting = tuple(types)
    if fitting not in wanted.fitting and fit(types, wanted.types):
        wanted.fitting.add(fitting)
    if fitting not in wanted.fitting:
        letters = [isinstance(value, np.ndarray) for value in values]
        types = types_of([GivenArgument(where, Columns(argument.type, argument.value, letters=either))
                          for where, argument, either in zip(called, first, letters, strict=True)], wanted)
        for where, value, type_, want in zip(called, values, types, wanted.types, strict=True):
            if is_table(value) and want is not None and match_types(want, type_) is None:
                refuse_columns(wanted.takes, where, value, one(datatypes, where, value, None, room).type, want)
    return Taken(tuple([argument if argument.type == type_ else one(datatypes, where, value, type_, room)
                        for where, argument, value, type_ in zip(called, first, values, types, strict=True)]),
                 tuple(named), room.used)


def refuse_columns(takes: str, where: str, table: Any, found: Type, wanted: Type) -> None:
    """Raise the error of a data frame of this type if its columns are not those wanted."""
    match found, wanted:
        case Seq(row), Seq(Pair() as due):
            columns = dict(zip(table.columns, components(row)))
            its = ", ".join([f"{name} : {show_scheme(type_)}" for name, type_ in columns.items()])
            raise NessieError(f"{takes}, but {where} has the columns {its}", hint=columns_hint(columns, due))


def fit(types: Sequence[Type], wanted: Sequence[Type | None]) -> bool:
    """Whether the types are fully known and together match the parameters' types. In most calls they do."""
    known = [type_ for type_ in wanted if type_ is not None]
    if len(known) < len(types) or any(map(is_open, types)):
        return False
    pattern: Type = nest_right(known, Pair)
    return match_types(pattern, nest_right(list(types), Pair)) is not None


def one(datatypes: Datatypes, where: str, value: Any, wanted: Type | None, room: MemoryBudget) -> Argument:
    how = Arguments(datatypes, where, room)
    try:
        return Argument(*how.value(value, wanted), how)
    except RecursionError:
        raise how.error("it is nested too deeply, or holds itself") from None
