"""Arrays that lie in slabs on workers: each a range of elements that a task gave.

A task gives arrays by names. A slab says which of them has its elements, and the index of that one's first; so parts of
slabs are slabs, and what is written anew in the middle of an array parts what was there.
"""
from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import field, replace
from typing import Any

import numpy as np

from nessie.base.records import dataclass
from nessie.base.system.mapped_files import NewFile, Place
from nessie.base.system.seen_files import Seen, refuse_other
from nessie.base.values import DTYPES

Arrays = dict[str, np.ndarray[Any, Any]]        # what a task gives
Piece = tuple[int, int, int, str, int]      # a slab for a worker: low, high, the number of what is given, name, start


@dataclass(frozen=True)
class InFile:
    """Stands for a task that has given an array, which lies at this place in a file. Its parts are read when they are
    needed, and never lost. `own`: the file is the driver's own, and goes when nobody needs it."""
    place: Place
    file: Seen
    own: NewFile | None = None

    def __getitem__(self, name: str) -> np.ndarray[Any, Any]:
        refuse_other(self.file)
        return self.place.array()

    def __reduce__(self) -> tuple[Any, ...]:
        return InFile, (self.place, self.file)


@dataclass(frozen=True, eq=False)
class Uploaded:
    """A task that gives an array of the driver's, who has it still."""
    task: Any
    values: np.ndarray[Any, Any]

    def __getitem__(self, name: str) -> np.ndarray[Any, Any]:
        return self.values


@dataclass(frozen=True, eq=False)
class Slab:
    """Elements from `low` to before `high`. Of what the task gave, the array `name` has them from index `start` on.
    `whole`: the task gives hardly more."""
    low: int
    high: int
    task: Any
    name: str = ""
    start: int = 0
    whole: bool = False

    @property
    def is_here(self) -> bool:
        """Has the driver the elements?"""
        return isinstance(self.task, InFile | Uploaded)

    def of(self, given: Any) -> np.ndarray[Any, Any]:
        """The elements, of what the task gave."""
        found: np.ndarray[Any, Any] = given[self.name][self.start:self.start + self.high - self.low]
        return found


@dataclass(eq=False)
class Spread:
    """An array in slabs, in order. What no slab has, nobody has written: it is `fill`, or anything. `borders`: where
    chunks of segments begin, of which these are the offsets, by their width and number."""
    base: str
    length: int
    slabs: list[Slab] = field(default_factory=list)
    fill: int | float | bool | None = None
    borders: dict[tuple[int, int], np.ndarray[Any, Any]] = field(default_factory=dict)

    @property
    def bytes(self) -> int:
        return self.length * DTYPES[self.base].itemsize

    @property
    def is_in_file(self) -> bool:
        """Does each task read what it needs of a file?"""
        return all([isinstance(slab.task, InFile) for slab in self.slabs])

    def between(self, low: int, high: int) -> Iterator[Slab]:
        """The parts of slabs that have elements from `low` to before `high`."""
        first = bisect_right(self.slabs, low, key=lambda slab: slab.high)
        last = bisect_left(self.slabs, high, key=lambda slab: slab.low)
        return (part(slab, low, high) for slab in self.slabs[first:last] if slab.low < slab.high)

    def write(self, slabs: Sequence[Slab]) -> None:
        """These slabs, in order, are what the array has there from now on."""
        kept = [slab for slab in self.slabs if slab.low < slab.high]
        for new in slabs:
            kept = [left for slab in kept for left in without(slab, new)]
        self.slabs = sorted([*kept, *slabs], key=lambda slab: slab.low)

    def is_whole(self) -> bool:
        """Has all been written?"""
        ends = [0, *[slab.high for slab in self.slabs]]
        return self.fill is not None or (ends[-1] == self.length and all(
            slab.low == end for slab, end in zip(self.slabs, ends)))


def part(slab: Slab, low: int, high: int) -> Slab:
    first, last = max(slab.low, low), min(slab.high, high)
    return replace(slab, low=first, high=last, start=slab.start + first - slab.low,
                   whole=slab.whole and 2 * (last - first) > slab.high - slab.low)


def without(slab: Slab, other: Slab) -> list[Slab]:
    """What is left of a slab where another is."""
    if slab.high <= other.low or other.high <= slab.low:
        return [slab]
    sides = part(slab, slab.low, other.low), part(slab, other.high, slab.high)
    return [side for side in sides if side.low < side.high]


def pieces(slabs: Sequence[Slab], given: list[Any]) -> list[Piece]:
    """The slabs for a worker; their tasks join those that are given."""
    numbers = {id(task): number for number, task in enumerate(given)}
    found = []
    for slab in slabs:
        if id(slab.task) not in numbers:
            numbers[id(slab.task)] = len(given)
            given.append(slab.task)
        found.append((slab.low, slab.high, numbers[id(slab.task)], slab.name, slab.start))
    return found
