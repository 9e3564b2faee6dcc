"""What types tell of lengths: names that stand for numbers, and the lengths of rows that formulas then are."""
from __future__ import annotations

from dataclasses import field
from typing import Any

import numpy as np

from nessie.base.records import dataclass
from nessie.base.source import NessieError
from nessie.base.types import Type
from nessie.lengths import formulas
from nessie.lengths.formulas import Beyond, names_in, places
from nessie.syntax import nodes as syntax
from nessie.syntax.text import show_expression

Lengths = np.ndarray[Any, Any]
Indices = tuple[tuple[str, Any], ...]       # the positions around, innermost first: names, and numbers or an array


@dataclass(frozen=True)
class Given:
    """A flat value of `type`, which messages call `name`, where `written` is due."""
    name: str
    written: syntax.TypeExp
    type: Type
    value: Any


@dataclass
class Told:
    """What names of lengths stand for, and which argument has told so."""
    numbers: dict[str, int] = field(default_factory=dict)
    by: dict[str, str] = field(default_factory=dict)

    def tell(self, name: str, number: int, by: str) -> None:
        if name not in self.numbers:
            self.numbers[name], self.by[name] = number, by

    def copy(self) -> Told:
        """Return what is told so far, to be extended apart."""
        return Told(dict(self.numbers), dict(self.by))

    def why(self, length: syntax.Exp) -> str:
        """Say what the names in a length stand for."""
        names = dict.fromkeys([name.name for name in names_in(length) if name.name in self.numbers])
        return ", ".join([f"{name} is {self.numbers[name]} by {self.by[name]}" for name in names])


def lengths(written: syntax.TypeSeq, around: Indices, count: int, told: Told) -> Lengths:
    """Return the `count` lengths that the type tells. NessieError for the first that is negative."""
    assert written.length is not None
    numbers = {**told.numbers, **dict(reversed(around))}
    try:
        found = np.broadcast_to(np.asarray(formulas.value(written.length, numbers), np.int64), (count,))
    except Beyond:
        raise NessieError(f"{show_expression(written.length)} leaves the ints", *places(written.length.span, "")) \
            from None
    if count and found.min() < 0:
        first = int(np.flatnonzero(found < 0)[0])
        where = ", ".join([f"{name} = {np.broadcast_to(at, (count,))[first]}" for name, at in around if name])
        raise NessieError(f"a length is {found[first]}{where and f', for {where}'}",
                          *places(written.length.span, "is negative there"),
                          hint=f"max(0, {show_expression(written.length)}) is never negative")
    return found


def offsets_of(lengths: Lengths) -> Lengths:
    offsets = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=offsets[1:])
    return offsets


def positions(index: str, offsets: Lengths, around: Indices) -> Indices:
    """Return the positions of each element of the rows that have these offsets; `around`: the positions of the rows."""
    starts, found = offsets[:-1], np.diff(offsets)
    own = np.arange(int(offsets[-1]), dtype=np.int64) - np.repeat(starts, found)
    outer = [(name, np.repeat(np.broadcast_to(at, found.shape), found)) for name, at in around]
    return ((index, own), *outer)
