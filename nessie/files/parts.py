"""Parts of arguments: what is known of the values at one place of a type before they are made.

A part may be of several types. It tells which are likely, the likeliest first, and what its own parts have to be where
it is of a type. `nessie.arguments.types` finds the types of all arguments from the parts of all of them.

    Chars                           characters
    Columns                         a column: ints may be floats, texts of one character characters, tuples a datatype's
    files.json_format.Values        values of JSON: an array may be a sequence, a tuple or a datatype's value
    files.table.Rows, Cells         rows and columns of a table
    files.text.Text, Words          text, its lines or its numbers
"""
from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Protocol

import numpy as np

from nessie.base.records import dataclass
from nessie.base.source import NessieError
from nessie.base.types import CHAR, FLOAT, INT, STRING, Base, ContentOf, Data, Pair, Seq, Type, Var, show_type
from nessie.base.values import Flat, View

ANY = Var("...")                # in likely types: whatever this is of


class Misfit(Exception):
    """The error of an argument that is not of the type wanted."""


class Part(Protocol):
    def likely(self) -> Sequence[Type]:
        """The types that it may be of where nothing else is known, the likeliest first; nothing, where there are no
        values. Only the outermost shape: what is inside is ANY. Misfit, if it is of none."""

    def inside(self, type_: Type, content: ContentOf) -> Iterable[tuple[Part, Type]]:
        """Its parts, with the types that these have where it is of this type, which is no variable. Misfit, if it
        cannot be."""


class File(Part, Protocol):
    """The contents of a file."""

    def made(self, type_: Type, content: ContentOf) -> Any:
        """The flat value of this type, which is known in full and fits. NessieError, where that is found now only."""

    def complaint(self, type_: Type, content: ContentOf, misfit: Misfit) -> NessieError:
        """The reason why it is not of this type, which may have variables."""


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
    """A column or a flat value of the type `held`, a variable where there is none."""
    held: Type
    values: Any

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
            case Seq(a), Seq(b):
                values = self.values
                return [(Columns(a, values.column if isinstance(values, Flat) else values.content), b)]
            case Pair(a, b), Pair(c, d):
                return [(Columns(a, self.values[0]), c), (Columns(b, self.values[1]), d)]
            case Data(a), Data(b) if a == b:
                return [(Columns(content(self.held), self.values), content(type_))]
            case Pair(), Data():
                return [(self, content(type_))]
        raise misfit(self.held, type_)


def is_single(texts: Any) -> bool:
    """Has each of the texts one character?"""
    match texts:
        case Flat(length):
            return length == 1
        case View(_, lengths):
            return bool((lengths == 1).all())
    return isinstance(texts.offsets, np.ndarray) and bool((np.diff(texts.offsets) == 1).all())


def require(fits: bool) -> None:
    """Misfit, if it does not; the file tells the place."""
    if not fits:
        raise Misfit("does not hold what is wanted")


def misfit(held: Type, wanted: Type) -> Misfit:
    return Misfit(f"holds {show_type(held, False)} where {wanted_text(wanted)} is wanted")


def wanted_text(type_: Type) -> str:
    """The words for this type in messages that say what is wanted."""
    if isinstance(type_, Var) and type_.cls != "any":
        return f"{'an' if type_.cls == 'ordinal' else 'a'} {type_.cls}"
    return show_type(type_, False)
