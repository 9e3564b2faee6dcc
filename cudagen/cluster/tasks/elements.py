"""Arrays in parts: a task puts together what it needs of them from what other tasks gave."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from nessie.base.fitted import BEYOND, HINT
from nessie.base.records import dataclass
from nessie.base.source import NessieError
from nessie.base.system.mapped_files import place_of
from nessie.base.values import DTYPES
from nessie.cudagen.cluster.slabs import Arrays, InFile, Piece, Spread, pieces


@dataclass(frozen=True)
class Given:
    """An array that is read: elements from `low` to before `high`."""
    base: str
    low: int
    high: int
    pieces: Sequence[Piece]
    fill: Any = None

    @classmethod
    def of(cls, spread: Spread, low: int, high: int, given: list[Any]) -> Given:
        """Such a part of an array in slabs, whose tasks join those that are given."""
        return cls(spread.base, low, high, pieces(list(spread.between(low, high)), given), spread.fill)

    def array(self, given: list[Any]) -> np.ndarray[Any, Any]:
        """The elements, where the task is done."""
        return assembled(self, given)


@dataclass(frozen=True)
class Made:
    """An array that the task gives: elements from `low` to before `high`. What they are before it writes is in pieces,
    or in `fill`, or came with the task. Two of one name are one array: the code knows cells by several types."""
    name: str
    base: str
    low: int
    high: int
    pieces: Sequence[Piece] = ()
    fill: Any = None
    values: np.ndarray[Any, Any] | None = None


def assembled(part: Given | Made, given: list[Any]) -> np.ndarray[Any, Any]:
    """Its elements; without a copy where one piece has them all."""
    low, high = part.low, part.high
    for first, last, number, name, start in part.pieces:
        if first <= low and high <= last:
            return np.ascontiguousarray(given[number][name][start + low - first:start + high - first])
    array = np.empty(high - low, DTYPES[part.base])
    if sum(last - first for first, last, *_ in part.pieces) < high - low:
        array[:] = 0 if part.fill is None else part.fill
    for first, last, number, name, start in part.pieces:
        array[first - low:last - low] = given[number][name][start:start + last - first]
    return array


def in_memory(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The array; of a file, which may change when the task is done, a copy."""
    return array if place_of(array) is None else np.array(array)


def cast(array: Given, base: str, given: list[Any]) -> Arrays:
    """An array with elements of another type. NessieError for ints that it does not have."""
    found = assembled(array, given)
    with np.errstate(over="ignore"):
        made = found.astype(DTYPES[base])
    if made.dtype.kind == "i" and not np.array_equal(made, found):
        raise NessieError(f"{BEYOND} ({HINT})")
    return {"": made}


def whole(array: Given, given: list[Any]) -> Arrays:
    """An array that many tasks read, put together once."""
    return {"": in_memory(assembled(array, given))}


def values(array: np.ndarray[Any, Any], given: list[Any]) -> Arrays:
    """An array that came with the task."""
    return {"": array}


def same(value: Any, given: list[Any]) -> Any:
    """What many tasks get."""
    return value


def from_file(array: InFile, low: int, high: int, given: list[Any]) -> Arrays:
    """Elements of an array that lies in a file."""
    return {"": np.array(array[""][low:high])}


def into_file(path: str, array: Given, given: list[Any]) -> None:
    """Write the elements where they belong in a file of an array."""
    found = assembled(array, given)
    try:
        with open(path, "r+b") as file:
            file.seek(array.low * found.itemsize)
            file.write(found.data)
    except OSError as error:
        raise NessieError(f"{path}: cannot be written: {error.strerror or error}") from None


def some_of(names: Sequence[str], given: list[Any]) -> Arrays:
    """The arrays of these names, of those that a task gave."""
    return {name: given[0][name] for name in names}


def picked(array: Given, places: np.ndarray[Any, Any] | None, given: list[Any]) -> np.ndarray[Any, Any]:
    """All elements between the array's bounds, or those at places."""
    found = assembled(array, given)
    return in_memory(found) if places is None else found[places - array.low]


def patched(array: Given, places: np.ndarray[Any, Any], values: np.ndarray[Any, Any], given: list[Any]) -> Arrays:
    """The array, with these elements at these places."""
    found = np.array(assembled(array, given))
    found[places - array.low] = values
    return {"": found}
