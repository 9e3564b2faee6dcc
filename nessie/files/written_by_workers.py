"""Results that a cluster's workers write, each a part: an .npy file by ranges of its elements, a table as a folder of
Parquet files of some rows each. Large arrays lie in files, of which workers map what they need; small ones go along
with tasks.

Parts depend on sizes alone, never on the number of workers. A folder that has files is never written to.
"""
from __future__ import annotations

import io
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import numpy as np

from nessie.base.records import dataclass
from nessie.base.source import NessieError
from nessie.base.system.mapped_files import NewFile, Place, mapped, place_of
from nessie.base.values import Column, Flat, Nested
from nessie.files.read_by_workers import Array, Hands, arrays_of, with_arrays

BYTES = 32 << 20                # of a part
SMALL = 1 << 18                 # bytes of an array that goes along with tasks


@dataclass(frozen=True)
class Rows:
    """Rows on their way to a worker: offsets into all of the content, and what is between them."""
    offsets: Place | Array
    content: Any


def refuse_used(folder: str) -> None:
    """NessieError if something is there already."""
    if os.path.exists(folder) and (not os.path.isdir(folder) or os.listdir(folder)):
        raise NessieError(f"{folder} is there already: results go to a new folder")


def make_folder(folder: str) -> None:
    refuse_used(folder)
    try:
        os.makedirs(folder, exist_ok=True)
    except OSError as error:
        raise NessieError(f"{folder}: cannot be written: {error.strerror or error}") from None


def do(hands: Hands, tasks: Sequence[tuple[Any, ...]]) -> None:
    """These functions on these arguments: by workers, or here, if workers have other files. NessieError, with what the
    first of them that fails says."""
    if hands.shares:
        said = hands.gather([hands.submit(f"write-{number}", *task) for number, task in enumerate(tasks)])
    else:
        said = [function(*arguments, []) for function, *arguments in tasks]
    if message := next(filter(None, said), ""):
        raise NessieError(message)


# Tables -----------------------------------------------------------------------------------------


def write_tables(hands: Hands, folder: str, value: Flat, encode: Callable[[str, Flat], bytes]) -> None:
    """Each part's bytes, which `encode` makes of its path and rows, as a file of the folder."""
    make_folder(folder)
    size = sum([array.nbytes for array, _ in arrays_of(value.column)])
    column = value.column if not hands.shares else with_arrays(value.column, iter(
        [in_file(array) for array, _ in arrays_of(value.column)]))
    rows = max(1, BYTES * value.length // max(1, size))
    firsts = range(0, max(1, value.length), rows)
    parts = [(os.path.join(folder, f"part-{number:05}.parquet"), first, min(rows, value.length - first))
             for number, first in enumerate(firsts)]
    do(hands, [(write_table, path, count, sent(column, first, first + count), encode)
               for path, first, count in parts])


def in_file(array: Array) -> Array:
    """The array, which lies in a file if it is not small."""
    if array.nbytes <= SMALL or place_of(array, "rc") is not None:
        return array
    file = NewFile()
    array.tofile(file.path)
    return mapped(file, array.dtype, len(array))


def sent(column: Column, low: int, high: int) -> Any:
    """Rows from `low` to before `high`, for a worker."""
    match column:
        case tuple():
            return tuple([sent(part, low, high) for part in column])
        case Nested():
            offsets = column.offsets[low:high + 1]
            return Rows(place_of(offsets, "rc") or offsets, sent(column.content, int(offsets[0]), int(offsets[-1])))
    return place_of(column[low:high], "rc") or np.asarray(column[low:high])


def received(column: Any) -> Column:
    """The rows, of which the first begins at 0."""
    match column:
        case tuple():
            return tuple([received(part) for part in column])
        case Rows():
            offsets = received(column.offsets)
            return Nested(offsets - offsets[0], received(column.content))
        case Place():
            return column.array()
    return column


def write_table(path: str, length: int, column: Any, encode: Callable[[str, Flat], bytes], given: list[Any]) -> str:
    """What is wrong, if something is. The file is there as a whole, or not at all."""
    try:
        data = encode(path, Flat(length, received(column)))
        with new_file(path) as new, open(new, "wb") as file:
            file.write(data)
    except NessieError as error:
        return error.message
    return ""


@contextmanager
def new_file(path: str) -> Iterator[str]:
    """The path of a file that becomes the one at `path` when it is complete, and goes if it does not become so."""
    target = os.path.realpath(path)
    new = f"{target}.new"
    try:
        yield new
        os.replace(new, target)
    except OSError as error:
        raise NessieError(f"{path}: cannot be written: {error.strerror or error}") from None
    finally:
        with suppress(FileNotFoundError):
            os.unlink(new)


# Arrays -----------------------------------------------------------------------------------------


def write_array(hands: Hands, path: str, array: Array) -> bool:
    """Write an .npy file, if the array lies in a file, and the path is free or that of a plain file; was it?"""
    place = place_of(array, "rc")
    if place is None or not hands.shares or (os.path.exists(path) and not os.path.isfile(path)):
        return False
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, {"descr": np.lib.format.dtype_to_descr(array.dtype),
                                                  "fortran_order": False, "shape": array.shape})
    begin = len(header.getvalue())
    with new_file(path) as new:
        with open(new, "wb") as file:
            file.write(header.getvalue())
            file.truncate(begin + array.nbytes)
        step = BYTES // array.itemsize
        cuts = [(first, min(step, array.size - first)) for first in range(0, array.size, step)]
        do(hands, [(write_range, new, begin + first * array.itemsize, Place(
            place.path, place.offset + first * array.itemsize, place.dtype, count)) for first, count in cuts])
    return True


def write_range(path: str, begin: int, values: Place, given: list[Any]) -> str:
    try:
        with open(path, "r+b") as file:
            file.seek(begin)
            file.write(values.array().data)
    except OSError as error:
        return f"{path}: cannot be written: {error.strerror or error}"
    return ""
