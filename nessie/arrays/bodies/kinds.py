"""Kinds: what Python's values are in a body. They are found forward, from those of the arguments."""
from __future__ import annotations

from collections.abc import Sequence
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
class Ends(Items):
    """What the side of a branch has set, side by side: each of them has a kind of its own."""


@dataclass(frozen=True)
class Rows:
    """A sequence of elements of one kind."""
    element: Kind


@dataclass(frozen=True)
class Grid:
    """An array of `rank` dimensions, whose rows are of one length: what a host section computes with. `thin`: the axes,
    counted from the last, that are known to have length 1."""
    element: Kind
    rank: int
    thin: tuple[int, ...] = ()

    @property
    def rows(self) -> Kind:
        """The sequences that it is in NESL."""
        return rows_of(self.element, self.rank)


@dataclass(frozen=True)
class Union:
    """A value in a host section that is of one of these kinds; which, only the run knows."""
    kinds: tuple[Kind, ...]

    @property
    def columns(self) -> Items:
        """What it is in NESL: the number of its kind, and a value of each, of which that one counts."""
        return Items((INT, *self.kinds))


Kind = str | Items | Rows | Grid | Union


def thin_axes(shape: Sequence[int | None]) -> tuple[int, ...]:
    """Return the axes of length 1, counted from the last, of an array of several dimensions."""
    return tuple([k for k, n in enumerate(reversed(shape), 1) if n == 1]) if len(shape) > 1 else ()


def rows_of(kind: Kind, rank: int) -> Kind:
    """Return the kind of sequences of sequences, `rank` levels of them, of elements of the kind."""
    return rows_of(Rows(kind), rank - 1) if rank else kind


class Unknown(Exception):
    """A function calls itself, and the kind of its result is not known yet: `of` it."""

    def __init__(self, of: Any) -> None:
        super().__init__()
        self.of = of


def has_single(kind: Kind) -> bool:
    """Is there a tuple of one item in it? In a body that is its item."""
    match kind:
        case Items(items):
            return len(items) == 1 or any(map(has_single, items))
        case Rows(element) | Grid(element):
            return has_single(element)
        case Union(kinds):
            return any(map(has_single, kinds))
    return False


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
        case Grid(x, n, p), Grid(y, m, q) if n == m:
            element = joined(x, y)
            return None if element is None else Grid(element, n, tuple([k for k in p if k in q]))
    return None


def united(a: Kind, b: Kind) -> Kind:
    """Return the kind that both are in a host section: what is not one kind is of several."""
    if isinstance(a, Ends) and isinstance(b, Ends):
        return Ends(tuple([united(x, y) for x, y in zip(a.items, b.items)]))
    found = list(a.kinds if isinstance(a, Union) else [a])
    for kind in b.kinds if isinstance(b, Union) else [b]:
        both = [merged(one, kind) for one in found]
        at = next((k for k, one in enumerate(both) if one is not None), None)
        if at is None:
            found.append(kind)
        else:
            found[at] = both[at] or kind
    return found[0] if len(found) == 1 else Union(tuple(found))


def merged(a: Kind, b: Kind) -> Kind | None:
    """Return the kind that both become in a host section: ints become floats, and truth values stay what they are."""
    if a == b:
        return a
    match a, b:
        case str(), str():
            return None if BOOL in (a, b) else FLOAT
        case Items(xs), Items(ys) if len(xs) == len(ys):
            return None if None in [merged(x, y) for x, y in zip(xs, ys)] else joined(a, b)
        case Rows(x), Rows(y):
            return None if merged(x, y) is None else joined(a, b)
        case Grid(x, n), Grid(y, m) if n == m:
            return None if merged(x, y) is None else joined(a, b)
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
        case Union(kinds):
            return " or ".join(map(shown, kinds))
    return kind
