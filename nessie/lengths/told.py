"""What types tell of lengths: names that stand for numbers, and the lengths of rows that formulas then are."""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any

import numpy as np

from nessie.base.records import dataclass
from nessie.base.source import NessieError
from nessie.base.types import Type
from nessie.base.values import Nested
from nessie.lengths import formulas
from nessie.lengths.formulas import Beyond, places
from nessie.syntax import nodes as syntax
from nessie.syntax.text import show_expression
from nessie.syntax.types import names_in, sequences

BLOCK = 2 ** 13                 # positions at a time, so that what is in between stays in caches
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
    mentioned = {name.name for name in names_in(written.length)}
    here = {name: at for name, at in reversed(around) if name in mentioned}
    if not any(np.ndim(at) for at in here.values()):
        return np.broadcast_to(part(written, here, told, bool(count)), (count,))
    found = np.empty(count, np.int64)
    for start in range(0, count, BLOCK):
        inside = {name: at[start:start + BLOCK] if np.ndim(at) else at for name, at in here.items()}
        found[start:start + BLOCK] = part(written, inside, told, True)
    return found


def part(written: syntax.TypeSeq, here: Mapping[str, Any], told: Told, some: bool) -> Any:
    """Return the lengths at these positions; `some`: there are any."""
    assert written.length is not None
    try:
        found = np.asarray(formulas.value(written.length, {**told.numbers, **here}), np.int64)
    except Beyond:
        raise NessieError(f"{show_expression(written.length)} leaves the ints", *places(written.length.span, "")) \
            from None
    if some and found.min() < 0:
        found, *at = np.broadcast_arrays(found, *here.values())
        first = int(np.flatnonzero(found < 0)[0])
        where = ", ".join([f"{name} = {one.flat[first]}" for name, one in zip(here, at, strict=True)][::-1])
        raise NessieError(f"a length is {found.flat[first]}{where and f', for {where}'}",
                          *places(written.length.span, "is negative there"),
                          hint=f"max(0, {show_expression(written.length)}) is never negative")
    return found


def offsets_of(lengths: Lengths) -> Lengths:
    offsets = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=offsets[1:])
    return offsets


def inner_positions(level: syntax.TypeSeq, rows: Nested, count: int, around: Indices) -> Indices:
    """Return the positions of each element of these rows; `around`: those of the rows. A position that no length
    further inside mentions is 0."""
    needed = mentioned_in(level.element)
    if needed.isdisjoint([level.index, *[name for name, _ in around]]):
        return tuple([(name, 0) for name in (level.index, *[name for name, _ in around])])
    starts = rows.offsets[:count + 1]
    found = np.diff(starts)
    own = np.arange(int(starts[-1]), dtype=np.int64) - np.repeat(starts[:-1], found) if level.index in needed else 0
    outer = [(name, np.repeat(np.broadcast_to(at, found.shape), found) if name in needed else 0) for name, at in around]
    return ((level.index, own), *outer)


def mentioned_in(written: syntax.TypeExp) -> set[str]:
    """Return the names that lengths in the type mention."""
    return {name.name for one in sequences(written) if one.length is not None for name in names_in(one.length)}
