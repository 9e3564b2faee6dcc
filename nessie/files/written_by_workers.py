"""Results that a cluster's workers write, each a part: an .npy file by ranges of its elements, a table as a folder of
Parquet files of some rows each.

Elements that workers have go to who writes them; those that the driver has go along with tasks, if there are few. Where
no worker sees the folder, the driver writes the same parts, one after another, each fetched when it is due.

Parts depend on sizes alone, never on the number of workers. A folder that has files is never written to.
"""
from __future__ import annotations

import io
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from nessie.base.records import dataclass
from nessie.base.source import NessieError
from nessie.base.system.mapped_files import NewFile
from nessie.base.system.seen_files import Seen, is_there, look
from nessie.base.system.writing import replace_file, replacing
from nessie.base.values import Column, Flat, Nested, OnDevice, Uniform
from nessie.files.names import shown_in
from nessie.files.read_by_workers import Array, Hands, arrays_of, with_arrays

BYTES = 32 << 20                # of a part
SMALL = 1 << 18                 # bytes of an array that goes along with tasks

Fetch = Callable[["Part"], Any]         # what is sent of a part of an array


@dataclass(frozen=True)
class Part:
    """Elements of an array from `low` to before `high`."""
    array: Array | OnDevice
    low: int
    high: int


@dataclass(frozen=True)
class Rows:
    """Rows, one part of a table: offsets into all of the content, and what is between them."""
    offsets: Any
    content: Any


def refuse_used(folder: str) -> None:
    """NessieError if something is there already, which is not hidden, or the folder that it is to be in is not."""
    if not (parent := Path(folder).parent).is_dir():
        raise NessieError(f"{folder}: cannot be written: there is no folder {parent}")
    if os.path.exists(folder) and not (os.path.isdir(folder) and not shown_in(folder)):
        raise NessieError(f"{folder} is there already: results go to a new folder")


def make_folder(folder: str) -> None:
    refuse_used(folder)
    try:
        Path(folder).mkdir(exist_ok=True)
    except OSError as error:
        raise NessieError(f"{folder}: cannot be written: {error.strerror or error}") from None


def do(hands: Hands, file: Seen | None, function: Callable[..., None], parts: Sequence[tuple[tuple[Any, ...], Any]],
       names: Sequence[str]) -> None:
    """The function on these arguments and parts, by the workers that see the file, or here if nobody does. `names`:
    what messages say that is done with each part."""
    on = hands.sees(file) if file is not None else frozenset()
    if on == frozenset():
        for arguments, part in parts:
            function(*arguments, sent(part, partial(fetched, hands)), None, [])
    else:
        hands.gather([by_worker(hands, f"write-{number}", function, arguments, part, file, on)
                      for number, (arguments, part) in enumerate(parts)], names)


def by_worker(hands: Hands, name: str, function: Callable[..., None], arguments: tuple[Any, ...], part: Any,
              file: Seen | None, on: frozenset[str] | None) -> Any:
    given: list[Any] = []
    there = sent(part, partial(placed, hands, given))
    return hands.submit(name, function, *arguments, there, file, given=given, on=on)


def sent(part: Any, how: Fetch) -> Any:
    """A part of a column, with the elements of its arrays."""
    match part:
        case tuple():
            return tuple([sent(one, how) for one in part])
        case Rows(offsets, content):
            return Rows(sent(offsets, how), sent(content, how))
    return how(part)


def fetched(hands: Hands, part: Part) -> Array:
    if isinstance(part.array, OnDevice):
        return hands.fetched(part.array, part.low, part.high)
    return np.asarray(part.array[part.low:part.high])


def placed(hands: Hands, given: list[Any], part: Part) -> Any:
    if isinstance(part.array, OnDevice):
        return hands.part(part.array, part.low, part.high, given)
    return np.asarray(part.array[part.low:part.high])


# Tables -----------------------------------------------------------------------------------------


def write_tables(hands: Hands, folder: str, value: Flat, encode: Callable[[str, Flat], bytes]) -> None:
    """Each part's bytes, which `encode` makes of its path and rows, as a file of the folder."""
    make_folder(folder)
    arrays = [lying(hands, array) for array, _ in arrays_of(value.column)]
    size = sum([len(array) * array.dtype.itemsize for array in arrays])
    rows = max(1, BYTES * value.length // max(1, size))
    cuts = np.array([*range(0, max(1, value.length), rows), value.length])
    parts = in_parts(hands, with_arrays(value.column, iter(arrays)), cuts)
    paths = [os.path.join(folder, f"part-{number:05}.parquet") for number in range(len(parts))]
    counts = np.diff(cuts).tolist()
    all_here = any([isinstance(array, np.ndarray) and array.nbytes > SMALL for array in arrays])
    with refusing(folder):
        token = NewFile(folder)
    do(hands, None if all_here else look(token.path), write_table,
       [((encode, path, count), part) for path, count, part in zip(paths, counts, parts, strict=True)],
       [f"writing {path} (rows {low} to {high - 1})"
        for path, low, high in zip(paths, cuts[:-1], cuts[1:], strict=True)])


def lying(hands: Hands, array: Array | OnDevice) -> Array | OnDevice:
    """An array that is not small goes to a file that all workers see, if they do."""
    if isinstance(array, OnDevice) or array.nbytes <= SMALL:
        return array
    found = hands.in_file(array)
    return array if found is None else found


def in_parts(hands: Hands, column: Column, cuts: Array) -> list[Any]:
    """The column's elements between the cuts."""
    match column:
        case tuple():
            return list(zip(*[in_parts(hands, part, cuts) for part in column], strict=True))
        case Nested(offsets=offsets, content=content):
            ends = hands.elements(offsets, cuts) if isinstance(offsets, OnDevice) else np.asarray(offsets[cuts])
            of_offsets = [Part(offsets, int(low), int(high) + 1) for low, high in zip(cuts[:-1], cuts[1:], strict=True)]
            return [Rows(*both) for both in zip(of_offsets, in_parts(hands, content, ends), strict=True)]
    return [Part(column, int(low), int(high)) for low, high in zip(cuts[:-1], cuts[1:], strict=True)]


def received(column: Any, given: list[Any]) -> Column:
    """The rows, of which the first begins at 0."""
    match column:
        case tuple():
            return tuple([received(part, given) for part in column])
        case Rows():
            offsets = received(column.offsets, given)
            return Nested(offsets - offsets[0], received(column.content, given))
    return column if isinstance(column, np.ndarray) else column.array(given)


def write_table(encode: Callable[[str, Flat], bytes], path: str, length: int, column: Any, token: Seen | None,
                given: list[Any]) -> None:
    """The file is there as a whole, or not at all. NessieError if it cannot be written."""
    if token is not None and not is_there(token):
        raise NessieError(f"{path}: a worker does not see the folder; all that have joined since the program began "
                          "must")
    data = encode(path, Flat(length, received(column, given)))
    with refusing(path):
        replace_file(path, data, 0o666)


@contextmanager
def new_file(path: str) -> Iterator[str]:
    """The path of a file that takes the place of the one at `path` when it is complete (nessie.base.system.writing)."""
    with refusing(path), replacing(path) as new:
        yield new


@contextmanager
def refusing(path: str) -> Iterator[None]:
    """NessieError where the system refuses to write."""
    try:
        yield
    except OSError as error:
        raise NessieError(f"{path}: cannot be written: {error.strerror or error}") from None


# Arrays -----------------------------------------------------------------------------------------


def write_array(hands: Hands, path: str, value: Flat) -> bool:
    """Write an .npy file, if workers have the elements, all rows are equally long, and the path is free or that of a
    plain file; was it?"""
    column, shape = value.column, [value.length]
    while isinstance(column, Uniform):
        column, shape = column.content, [*shape, column.length]
    if not isinstance(column, OnDevice) or (os.path.exists(path) and not os.path.isfile(path)):
        return False
    header, bytes_each = io.BytesIO(), column.dtype.itemsize
    np.lib.format.write_array_header_1_0(header, {"descr": np.lib.format.dtype_to_descr(column.dtype),
                                                  "fortran_order": False, "shape": tuple(shape)})
    begin = len(header.getvalue())
    with new_file(path) as new:
        with open(new, "wb") as file:
            file.write(header.getvalue())
            file.truncate(begin + len(column) * bytes_each)
        cuts = [0, *range(max(1, (BYTES - begin) // bytes_each), len(column), BYTES // bytes_each), len(column)]
        do(hands, look(new), write_range, [((new, begin + low * bytes_each), Part(column, low, high))
                                           for low, high in zip(cuts[:-1], cuts[1:], strict=True)],
           [f"writing {path} (elements {low} to {high - 1})" for low, high in zip(cuts[:-1], cuts[1:], strict=True)])
    return True


def write_range(path: str, begin: int, values: Any, token: Seen | None, given: list[Any]) -> None:
    """NessieError if they cannot be written."""
    with refusing(path), open(path, "r+b") as file:
        file.seek(begin)
        file.write(np.ascontiguousarray(received(values, given)).data)


def brought(hands: Hands, value: Any) -> Any:
    """The value, with all elements that workers have, here."""
    if isinstance(value, Flat):
        return Flat(value.length, brought(hands, value.column), value.name)
    if isinstance(value, tuple):
        return tuple([brought(hands, part) for part in value])
    if isinstance(value, Nested):
        content = brought(hands, value.content)
        if isinstance(value, Uniform) or not isinstance(value.offsets, OnDevice):
            return value.over(content)
        return Nested(brought(hands, value.offsets), content)
    return hands.fetched(value, 0, len(value)) if isinstance(value, OnDevice) else value
