"""Files that a cluster's workers read, each some row groups of Parquet, where they share the files of this machine.

The numbers of a row group go into a file for each array of the table: of offsets, or of scalars. It is mapped here, as
an .npy file is; so what the driver holds is no more than what it looks at. Few row groups are read at a time: who has
read one waits until all before it are told, and then knows where its numbers belong.
"""
from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol

import numpy as np

from nessie.base.records import dataclass
from nessie.base.source import NessieError
from nessie.base.system.mapped_files import NewFile, mapped
from nessie.base.values import Column, Nested

AHEAD = 2                       # row groups for each worker that are read before they are due

Array = np.ndarray[Any, Any]
Group = tuple[str, int]         # a file, and the number of its row group
ColumnOf = Callable[[str, int], Column]         # of a row group; a function of an importable module
Size = tuple[int, int]          # of an array: how many elements a row group adds, and how far its offsets go


class Hands(Protocol):
    """Who does it: an engine of nessie.cudagen.cluster. `shares`: "" if they have other files than the driver."""
    shares: str

    def submit(self, name: str, function: Any, *arguments: Any, given: Sequence[Any] = ()) -> Any:
        """A task, which is not waited for."""

    def gather(self, waiting: Sequence[Any]) -> list[Any]:
        """What tasks give."""

    def workers(self) -> int:
        """How many tasks run at a time."""


@dataclass
class Room:
    """A file for an array. `count`: the elements that it has by now; `end`: how far its offsets go."""
    file: NewFile
    dtype: np.dtype[Any]
    count: int
    end: int = 0

    def grow(self, size: Size) -> tuple[str, str, int, int]:
        """Room for so many elements more: where they begin, and what is added to them."""
        place = self.file.path, self.dtype.str, self.count, self.end
        self.count, self.end = self.count + size[0], self.end + size[1]
        os.truncate(self.file.path, self.count * self.dtype.itemsize)
        return place

    def array(self) -> Array:
        return mapped(self.file, self.dtype, self.count)


def read_by_workers(hands: Hands, groups: Sequence[Group], column_of: ColumnOf, empty: Column) -> Column | None:
    """The column of a table's rows, of which `empty` has none. None if workers have no such files, or a row group is
    not what it should be."""
    if not hands.shares:
        return None
    rooms = [room_for(array, is_offsets) for array, is_offsets in arrays_of(empty)]
    left, read, writing = deque(enumerate(groups)), deque[tuple[int, Any, Any]](), deque[Any]()
    ahead = AHEAD * hands.workers()
    while left or read:
        while left and len(read) < ahead:
            number, group = left.popleft()
            task = hands.submit(f"read-{number}", numbers_of, column_of, *group)
            read.append((number, task, hands.submit(f"sizes-{number}", sizes_of, given=[task])))
        number, task, told = read.popleft()
        (sizes,) = hands.gather([told])
        if sizes is None:
            return None
        places = [room.grow(size) for room, size in zip(rooms, sizes, strict=True)]
        writing.append(hands.submit(f"write-{number}", put, places, given=[task]))
        if len(writing) > ahead:
            hands.gather([writing.popleft()])
    hands.gather(list(writing))
    return with_arrays(empty, iter([room.array() for room in rooms]))


def room_for(array: Array, is_offsets: bool) -> Room:
    """A file, which has the first of all offsets."""
    room = Room(NewFile(), array.dtype, 0)
    if is_offsets:
        room.grow((1, 0))
    return room


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


def with_arrays(column: Column, arrays: Iterator[Array]) -> Column:
    """A column like this one, of these arrays."""
    match column:
        case tuple():
            return tuple([with_arrays(part, arrays) for part in column])
        case Nested():
            offsets = next(arrays)
            return Nested(offsets, with_arrays(column.content, arrays))
    return next(arrays)


# Workers ----------------------------------------------------------------------------------------


def numbers_of(column_of: ColumnOf, path: str, group: int, given: list[Any]) -> list[tuple[Array, bool]] | None:
    """The arrays of a row group. None if it cannot be read: the driver finds out what to say."""
    try:
        return list(arrays_of(column_of(path, group)))
    except NessieError:
        return None


def sizes_of(given: list[Any]) -> list[Size] | None:
    if given[0] is None:
        return None
    return [(len(array) - is_offsets, int(array[-1]) if is_offsets else 0) for array, is_offsets in given[0]]


def put(places: Sequence[tuple[str, str, int, int]], given: list[Any]) -> None:
    """Write the arrays where they belong."""
    for (path, dtype, start, add), (array, is_offsets) in zip(places, given[0], strict=True):
        found = np.ascontiguousarray(array[1:] + add if is_offsets else array, dtype)
        with open(path, "r+b") as file:
            file.seek(start * found.itemsize)
            file.write(found.data)
