"""Files that a cluster's workers read, each some row groups of Parquet.

What a row group adds to the arrays of the table stays with who has read it: offsets, once all row groups before it are
told, and scalars. The driver knows how many there are, and has none of them. If a worker dies, its row groups are read
again; a file that is another one by then is told.
"""
from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol

import numpy as np

from nessie.base.source import NessieError
from nessie.base.system.seen_files import Seen, look, refuse_other
from nessie.base.values import BASES, Column, Nested, OnDevice

AHEAD = 2                       # row groups for each worker that are read before they are due

Array = np.ndarray[Any, Any]
Group = tuple[str, int]         # a file, and the number of its row group
ColumnOf = Callable[[str, int], Column]         # of a row group; a function of an importable module
Size = tuple[int, int]          # of an array: how many elements a row group adds, and how far its offsets go


class Hands(Protocol):
    """Who does it: nessie.cudagen.cluster.files.hands. Names of workers, of whom None stands for all."""

    def submit(self, name: str, function: Any, *arguments: Any, given: Sequence[Any] = (),
               on: frozenset[str] | None = None) -> Any:
        """A task, which is not waited for."""

    def gather(self, waiting: Sequence[Any], names: Sequence[str] = ()) -> list[Any]:
        """What tasks give. `names`: what messages say they do."""

    def workers(self) -> int:
        """How many tasks run at a time."""

    def sees(self, file: Seen) -> frozenset[str] | None:
        """The workers that see the file."""

    def array(self, base: str, parts: Sequence[tuple[Any, int]]) -> OnDevice:
        """An array that stays with workers: what the tasks give, each so many elements."""

    def part(self, array: OnDevice, low: int, high: int, given: list[Any]) -> Any:
        """Elements of it for a task, whose own tasks join those that are given; there, `array(given)` has them."""

    def in_file(self, array: Array) -> OnDevice | None:
        """The array in a file, of which workers read what they need, if all of them see it."""

    def fetched(self, array: OnDevice, low: int, high: int) -> Array:
        """Elements of it, brought here."""

    def elements(self, array: OnDevice, places: Array) -> Array:
        """The elements at places, which ascend, brought here."""

    def cast(self, array: OnDevice, base: str) -> OnDevice:
        """Its elements as ones of this type."""


def read_by_workers(hands: Hands, groups: Sequence[Group], column_of: ColumnOf, empty: Column) -> Column | None:
    """The column of a table's rows, of which `empty` has none. None if no worker sees such a file, or a row group is
    not what it should be."""
    files = {path: look(path) for path, _ in groups}
    sight = {path: hands.sees(file) if file else frozenset() for path, file in files.items()}
    if frozenset() in sight.values():
        return None
    kinds = list(arrays_of(empty))
    parts: list[list[tuple[Any, int]]] = [[] for _ in kinds]
    ends = [0] * len(kinds)
    left, read = deque(enumerate(groups)), deque[tuple[int, Any, Any]]()
    while left or read:
        while left and len(read) < AHEAD * hands.workers():
            number, (path, group) = left.popleft()
            task = hands.submit(f"read-{number}", numbers_of, column_of, files[path], group, on=sight[path])
            read.append((number, task, hands.submit(f"sizes-{number}", sizes_of, given=[task])))
        number, task, told = read.popleft()
        (sizes,) = hands.gather([told])
        if sizes is None:
            return None
        for at, (count, end) in enumerate(sizes):
            first = int(kinds[at][1] and number == 0)       # of all offsets, the first one
            part = hands.submit(f"part-{number}", part_of, at, first, ends[at], given=[task])
            parts[at].append((part, first + count))
            ends[at] += end
    made = [hands.array(BASES[array.dtype], some) if some else array
            for (array, _), some in zip(kinds, parts, strict=True)]
    return with_arrays(empty, iter(made))


def arrays_of(column: Column) -> Iterator[tuple[Array, bool]]:
    """The arrays of a column, from outside to inside; are they offsets?"""
    match column:
        case tuple():
            for part in column:
                yield from arrays_of(part)
        case Nested(offsets, content):
            yield offsets, True
            yield from arrays_of(content)
        case _:
            yield column, False


def with_arrays(column: Column, arrays: Iterator[Array | OnDevice]) -> Column:
    """A column like this one, of these arrays."""
    match column:
        case tuple():
            return tuple([with_arrays(part, arrays) for part in column])
        case Nested():
            offsets = next(arrays)
            return Nested(offsets, with_arrays(column.content, arrays))
    return next(arrays)


# Workers ----------------------------------------------------------------------------------------


def numbers_of(column_of: ColumnOf, file: Seen, group: int, given: list[Any]) -> list[tuple[Array, bool]] | None:
    """The arrays of a row group. None if it cannot be read: the driver finds out what to say."""
    refuse_other(file)
    try:
        found = list(arrays_of(column_of(file.path, group)))
    except NessieError:
        found = None
    refuse_other(file)
    return found


def sizes_of(given: list[Any]) -> list[Size] | None:
    if given[0] is None:
        return None
    return [(len(array) - is_offsets, int(array[-1]) if is_offsets else 0) for array, is_offsets in given[0]]


def part_of(at: int, first: int, end: int, given: list[Any]) -> dict[str, Array]:
    """One of the arrays of a row group; offsets begin at `end`, whose element is there if it is the `first`."""
    array, is_offsets = given[0][at]
    return {"": array[1 - first:] + end if is_offsets else array}
