"""Kinds: what Python's values are in a body. They are found forward, from those of the arguments."""
from __future__ import annotations

from typing import Any

from nessie.base.records import dataclass

INT, FLOAT, BOOL = "int", "float", "bool"
WIDER = (BOOL, INT, FLOAT)          # each of the numbers can be the next


@dataclass(frozen=True)
class Items:
    """A tuple. Of a NamedTuple or a dataclass, `names` are the attributes and `make` the class."""
    items: tuple[Kind, ...]
    names: tuple[str, ...] = ()
    make: Any = None


@dataclass(frozen=True)
class Rows:
    """A sequence of elements of one kind."""
    element: Kind


@dataclass(frozen=True)
class Grid:
    """An array of `rank` dimensions, whose rows are of one length: what a host section computes with."""
    element: Kind
    rank: int

    @property
    def rows(self) -> Kind:
        """The sequences that it is in NESL."""
        return rows_of(self.element, self.rank)


Kind = str | Items | Rows | Grid


def rows_of(kind: Kind, rank: int) -> Kind:
    """Return the kind of sequences of sequences, `rank` levels of them, of elements of the kind."""
    return rows_of(Rows(kind), rank - 1) if rank else kind


class Unknown(Exception):
    """A function calls itself, and the kind of its result is not known yet: `of` it."""

    def __init__(self, of: Any) -> None:
        super().__init__()
        self.of = of


def is_number(kind: Kind) -> bool:
    """Is it a kind with which Python computes? Truth values count as ints."""
    return kind in WIDER


def joined(a: Kind, b: Kind) -> Kind | None:
    """Return the kind that both can become; None if there is none."""
    if a == b:
        return a
    match a, b:
        case str(), str():
            return max(a, b, key=WIDER.index)
        case Items(xs), Items(ys) if len(xs) == len(ys):
            items = [joined(x, y) for x, y in zip(xs, ys)]
            names, make = a.names if a.names == b.names else (), a.make if a.make == b.make else None
            return None if None in items else Items(tuple([x for x in items if x is not None]), names, make)
        case Rows(x), Rows(y):
            element = joined(x, y)
            return None if element is None else Rows(element)
        case Grid(x, n), Grid(y, m) if n == m:
            element = joined(x, y)
            return None if element is None else Grid(element, n)
    return None


def shown(kind: Kind) -> str:
    """Return the kind as messages call it."""
    match kind:
        case Items(items, _, make):
            return make.__name__ if make is not None else f"({', '.join(map(shown, items))})"
        case Rows(element):
            return f"a sequence of {shown(element)}"
        case Grid(element, rank):
            return f"an array of {shown(element)}{f' of {rank} dimensions' if rank > 1 else ''}"
    return kind
