"""What stands for each parameter of a function on parts of files: files that come by parts, and values that each part
gets. The types of all are known when the first part is; they are those of every part.
"""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from nessie.api.values.arguments import Arguments
from nessie.api.values.datatypes import Datatypes
from nessie.api.values.taking import one
from nessie.arguments.types import GivenArgument, Written
from nessie.base.records import dataclass
from nessie.base.source import NessieError
from nessie.base.system.memory import MemoryBudget
from nessie.base.types import ContentOf, Type
from nessie.files.files import made
from nessie.files.parts import Columns, File
from nessie.session.session import Session
from nessie.syntax import nodes as syntax


class Given(Protocol):
    """What each part gets for a parameter."""

    def opened(self, where: str, wanted: Type | None) -> GivenArgument:
        """What it may be, where this type is wanted."""

    def made(self, where: str, type_: Type) -> Any:
        """Its flat value of the type."""


@dataclass(frozen=True)
class Stream:
    """The files of this number."""
    number: int


@dataclass(frozen=True)
class Value:
    """A value of Python's."""
    value: Any
    datatypes: Datatypes
    room: MemoryBudget

    def opened(self, where: str, wanted: Type | None) -> GivenArgument:
        found = one(self.datatypes, where, self.value, wanted, self.room)
        return GivenArgument(where, Columns(found.type, found.value, letters=isinstance(self.value, np.ndarray)))

    def made(self, where: str, type_: Type) -> Any:
        return one(self.datatypes, where, self.value, type_, self.room).value


@dataclass(frozen=True)
class Held:
    """The value in a file that is read as a whole."""
    path: str
    file: File
    content: ContentOf

    def opened(self, where: str, wanted: Type | None) -> GivenArgument:
        return GivenArgument(f"{where} (@{self.path})", self.file, self.file)

    def made(self, where: str, type_: Type) -> Any:
        return made(self.path, self.file, type_, self.content)


@dataclass(frozen=True)
class Typed:
    """An expression of NESL."""
    exp: syntax.Exp
    session: Session

    def opened(self, where: str, wanted: Type | None) -> GivenArgument:
        return GivenArgument(where, Written(self.session.type_of(self.exp), self.exp.span))

    def made(self, where: str, type_: Type) -> Any:
        return self.session.value_of(self.exp)


@dataclass(frozen=True)
class Settled:
    """The arguments of the call on each part, once the first part has told their types. `values`: flat ones; at the
    places of `streams`, None, and one after another those of a part's files. `names`: those of the last arguments."""
    types: tuple[Type, ...]
    values: tuple[Any, ...]
    streams: tuple[int, ...]
    names: tuple[str, ...]


def placed(names: Sequence[str], files: Any, given: Sequence[Any],
           named: Mapping[str, Any]) -> tuple[list[Any], dict[str, Any], list[Any]]:
    """The arguments in their order and by name, with a Stream for each of the files, and these. `names`: those of the
    parameters. `files`: of the first parameter that nothing is given for, or a dict of files by parameters."""
    if isinstance(files, Mapping):
        if not files:
            raise NessieError("map_partitions takes files, and here are none")
        by_name = {str(name).lower(): Stream(number) for number, name in enumerate(files)}
        streams, ordered = list(files.values()), list(given)
    else:
        by_name, streams, ordered = {}, [files], [Stream(0), *given]
    own = {name.lower(): value for name, value in named.items()}
    if twice := [name for name in by_name if name in own]:
        raise NessieError(f"{twice[0]} is given twice: files, and a value")
    by_name |= own
    if not by_name:
        return ordered, {}, streams
    free = [name for name in names if name not in by_name]
    if len(ordered) > len(free):
        raise NessieError(f"{len(by_name) + len(ordered)} arguments are given, and there are {len(names)} parameters: "
                          f"{', '.join(names)}")
    return [], {**dict(zip(free, ordered)), **by_name}, streams


def plain(where: str, datatypes: Datatypes) -> Arguments:
    """The record of a conversion in which nothing was done."""
    return Arguments(datatypes, where)
