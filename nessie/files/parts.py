"""Parts of arguments. A part describes the values at one place of a type, before the values are made.

A part may fit several types. It lists the likely ones, the likeliest first. For a given type it also lists its own
parts with their types. `nessie.arguments.types` infers the types of all arguments from the parts of all of them.

    Chars                           characters
    Columns                         a column: ints may be floats, texts of one character characters, tuples a datatype's
    formats.json_format.Values      values of JSON: an array may be a sequence, a tuple or a datatype's value
    formats.table.Rows, Cells       rows and columns of a table
    formats.text.Text, Words        text, its lines or its numbers
"""
from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import field
from typing import Any, Protocol

import numpy as np

from nessie.base.records import dataclass
from nessie.base.source import NessieError
from nessie.base.text.types_text import show_scheme
from nessie.base.types import CHAR, FLOAT, INT, STRING, Base, ContentOf, Data, Pair, Seq, Type, Var, show_type
from nessie.base.values import Flat, View

ANY = Var("...")                # in likely types: any element or component


class Misfit(Exception):
    """An argument's contents are not of the type wanted."""


class OtherComponents(Misfit):
    """The rows of a table are tuples of as many components as wanted, of other types."""


class Part(Protocol):
    def likely(self) -> Sequence[Type]:
        """The types that the part may have if nothing else is known, the likeliest first; none if there are no values.
        Each type is only the outermost shape, and what is inside is ANY. Misfit if the part fits no type."""

    def inside(self, type_: Type, content: ContentOf) -> Iterable[tuple[Part, Type]]:
        """The parts inside this one, with the types that they have if this part has `type_`, which is not a variable.
        Misfit if it cannot have that type."""


class File(Part, Protocol):
    """The contents of a file."""

    def made(self, type_: Type, content: ContentOf) -> Any:
        """The flat value of `type_`, which has no variables and fits. NessieError for a misfit that only shows now."""

    def complaint(self, type_: Type, content: ContentOf, misfit: Misfit) -> NessieError:
        """The error that says why the file does not fit `type_`, which may have variables."""


@dataclass(frozen=True)
class Chars:
    """The characters of texts."""

    def likely(self) -> Sequence[Type]:
        return (CHAR,)

    def inside(self, type_: Type, content: ContentOf) -> Iterable[tuple[Part, Type]]:
        require(type_ == CHAR)
        return ()


@dataclass(frozen=True)
class Columns:
    """A column or a flat value of the type `held`, which has a variable where nothing is held. `letters`: its
    characters may be texts, too, of one character each."""
    held: Type
    values: Any
    letters: bool = field(default=False, kw_only=True)

    def likely(self) -> Sequence[Type]:
        match self.held:
            case Var():
                return ()
            case Base("int"):
                return INT, FLOAT
            case Seq():
                return (Seq(ANY), CHAR) if self.held == STRING and is_single(self.values) else (Seq(ANY),)
            case Pair():
                return (Pair(ANY, ANY),)
            case Base("char") if self.letters:
                return CHAR, Seq(ANY)
            case Data(name, arguments):
                return (Data(name, (ANY,) * len(arguments)),)
        return (self.held,)

    def inside(self, type_: Type, content: ContentOf) -> Iterable[tuple[Part, Type]]:
        match self.held, type_:
            case (Var(), _) | (Base("int"), Base("float")):
                return []
            case Base(a), Base(b) if a == b:
                return []
            case Seq(Base("char")), Base("char") if is_single(self.values):
                return []
            case Base("char"), Seq(a) if self.letters:
                return [(Columns(self.held, self.values), a)]
            case Seq(a), Seq(b):
                values = self.values
                return [(self.part(a, values.column if isinstance(values, Flat) else values.content), b)]
            case Pair(a, b), Pair(c, d):
                return [(self.part(a, self.values[0]), c), (self.part(b, self.values[1]), d)]
            case Data(a), Data(b) if a == b:
                return [(self.part(content(self.held), self.values), content(type_))]
            case Pair(), Data():
                return [(self, content(type_))]
        raise misfit(self.held, type_)

    def part(self, held: Type, values: Any) -> Columns:
        return Columns(held, values, letters=self.letters)


def is_single(texts: Any) -> bool:
    """Whether each of the texts has one character."""
    match texts:
        case Flat(length):
            return length == 1
        case View(_, lengths):
            return bool((lengths == 1).all())
    return isinstance(texts.offsets, np.ndarray) and bool((np.diff(texts.offsets) == 1).all())


def require(fits: bool) -> None:
    """Raise Misfit unless `fits`. The file adds the place."""
    if not fits:
        raise Misfit("does not hold what is wanted")


def misfit(held: Type, wanted: Type) -> Misfit:
    return Misfit(f"holds {show_type(held, False)} where {wanted_text(wanted)} is wanted")


def wanted_text(type_: Type) -> str:
    """The name that messages give to this wanted type."""
    if isinstance(type_, Var) and type_.cls != "any":
        return "a number or a character" if type_.cls == "ordinal" else f"a {type_.cls}"
    shown = show_scheme(type_)
    return f"({shown})" if isinstance(type_, Pair) and " :: " not in shown else shown
