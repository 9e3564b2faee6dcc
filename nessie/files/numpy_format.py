"""Reads and writes NumPy's files: .npy is a vector, or a matrix as rows; .npz is a sparse matrix as SciPy saves it, or
offsets and content.

Integers of any width become ints, floats of any width floats; arrays of one-character strings are characters.
"""
from __future__ import annotations

import io
import math
import os
import struct
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import IO, Any
from warnings import catch_warnings, simplefilter

import numpy as np

from nessie.base.fitted import narrower
from nessie.base.source import NessieError
from nessie.base.types import BOOL, CHAR, FLOAT, INT, Base, Pair, Seq, Type
from nessie.base.values import DTYPES, Column, Flat, Nested, Uniform, no_character
from nessie.base.widths import FULL
from nessie.files.fit import Arrays
from nessie.files.reading import PIECE, Reading

NAMES = ("format", "data", "indices", "indptr", "shape", "offsets", "content")

LENGTHS = 26                    # where a member's header has the lengths of what follows it

Array = np.ndarray[Any, Any]


def read_npy(file: Reading) -> Arrays:
    return array_rows(file, array_in(file))


def array_in(file: Reading) -> Array:
    """The array of an .npy file."""
    path = file.path
    with loading(path, "a NumPy array of numbers, booleans or characters"), open(path, "rb") as stream:
        if zipfile.is_zipfile(stream):
            raise NessieError(f"{path}: an archive of arrays; name it .npz")
        stream.seek(0)
        return load(file, stream, os.fstat(stream.fileno()).st_size)


def array_rows(file: Reading, array: Array) -> Arrays:
    """The array as a file of its rows."""
    shape = array.shape
    column: Column
    column, kind = scalars(file, "the array", array)
    held: Type = kind
    for dimension in range(len(shape) - 1, 0, -1):
        segments = math.prod(shape[:dimension])
        column = Uniform(segments, shape[dimension], column)
    for _ in shape:
        held = Seq(held)
    value = Flat(shape[0], column) if shape else column.reshape(-1)[0]
    return Arrays(held, value, file, partial(wrong, file.path))


def load(file: Reading, stream: IO[bytes], size: int, begin: int | None = 0) -> Array:
    """The array in a stream of `size` bytes. The size that its header claims is counted before it is allocated, unless
    it is mapped. `begin`: the byte of the file that the stream begins at; None: the file has it packed."""
    version = np.lib.format.read_magic(stream)
    headers = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
    if version not in headers:
        raise ValueError(f"a header of version {version[0]}.{version[1]}, which numbers do not need")
    shape, by_columns, dtype = headers[version](stream)
    if dtype.hasobject:
        raise ValueError("Object arrays")
    count, header = math.prod(shape), stream.tell()
    if count < 0 or min(shape, default=0) < 0:
        raise ValueError(f"the shape {shape}")
    if count * dtype.itemsize > size - header:
        raise ValueError(f"{count * dtype.itemsize:,} bytes are due, {max(0, size - header):,} are there")
    if count and dtype.itemsize == 0:
        raise ValueError(f"elements of type {dtype}, which have no bytes")
    if file.room.mapped and begin is not None and count:
        return np.memmap(file.path, dtype, "r", begin + header, shape, "F" if by_columns else "C")
    file.take(count * dtype.itemsize)
    found = np.empty(count, dtype)
    room = found.view(np.uint8).data if count else memoryview(b"")
    for start in range(0, len(room), PIECE):
        fill(stream, room[start:start + PIECE])
    return found.reshape(shape[::-1]).T if by_columns else found.reshape(shape)


def fill(stream: IO[bytes], room: memoryview) -> None:
    while room:
        piece = stream.read(len(room))
        if not piece:
            raise ValueError("the file ends within the array")
        room[:len(piece)] = piece
        room = room[len(piece):]


@contextmanager
def loading(path: str, what: str) -> Iterator[None]:
    """Turn the many exceptions with which NumPy, zipfile and zlib refuse a file into one NessieError."""
    try:
        with catch_warnings():              # about headers that an old NumPy has written
            simplefilter("ignore")
            yield
    except (NessieError, OSError, MemoryError):
        raise
    except Exception as error:
        reason: object = error
        if "magic string" in str(error):
            reason = "it does not begin as one"
        elif "Object arrays" in str(error):
            reason = "Python objects cannot be read"
        raise NessieError(f"{path}: not {what}: {reason}") from None


def scalars(file: Reading, name: str, array: Array) -> tuple[Array, Base]:
    """The elements as a column of scalars, in order, and their type."""
    if not array.flags.c_contiguous:
        file.take(array.nbytes)
    flat = np.ascontiguousarray(array).reshape(-1)
    match array.dtype.kind:
        case "b":
            return flat, BOOL
        case "u" if flat.size and flat.max() > np.iinfo(np.int64).max:
            raise NessieError(f"{file.path}: {name} has integers beyond 64 bits")
        case "i" | "u":
            return converted(file, flat, "int"), INT
        case "f":
            return converted(file, flat, "float"), FLOAT
        case "U" if array.dtype.itemsize == 4:
            file.take(2 * array.nbytes)
            return characters(file.path, name, flat), CHAR
    raise NessieError(f"{file.path}: {name} has elements of type {array.dtype}; "
                      "integers, floats, booleans and single characters can be read",
                      hint="texts are read from .json, see json.dump(x.tolist())" if array.dtype.kind in "UST" else "")


def converted(file: Reading, flat: Array, base: str) -> Array:
    """The elements as ints or floats; narrower ones stay as they are."""
    if narrower(flat.dtype, base, FULL):
        return flat
    if flat.dtype != DTYPES[base]:
        file.take(flat.size * DTYPES[base].itemsize)
    return flat.astype(DTYPES[base], copy=False)


def characters(path: str, name: str, array: Array) -> Array:
    """Strings of one character as their code points."""
    order = "<" if array.dtype.str[0] == "<" else ">"
    codes = array.view(f"{order}i4").astype(DTYPES["char"])
    wrong = no_character(codes)
    if wrong is not None:
        raise NessieError(f"{path}: {name} has the code {codes[wrong]} at element {wrong}, which is no character's")
    return codes


# .npz -------------------------------------------------------------------------------------------

def read_npz(file: Reading) -> Arrays:
    path, arrays = file.path, load_archive(file)
    if "format" in arrays:
        value, held = sparse_rows(file, arrays)
    elif {"offsets", "content"} <= arrays.keys():
        elements, kind = scalars(file, "content", vector(path, arrays, "content"))
        offsets = checked_offsets(file, arrays, "offsets", elements.size)
        value, held = Flat(offsets.size - 1, Nested(offsets, elements)), Seq(Seq(kind))
    else:
        names = ", ".join(arrays) or "no arrays"
        raise NessieError(f"{path}: holds {names}; a sparse matrix saved by SciPy, or offsets and content, is due")
    return Arrays(held, value, file, partial(wrong, path))


def wrong(path: str, reason: object) -> NessieError:
    return NessieError(f"{path}: {reason}")


def load_archive(file: Reading) -> dict[str, Array]:
    """The archive's arrays by name. Arrays whose names have no meaning here are not read."""
    path = file.path
    with loading(path, "an archive of NumPy arrays"), open(path, "rb") as stream:
        start = stream.read(len(np.lib.format.MAGIC_PREFIX))
        if start == np.lib.format.MAGIC_PREFIX:
            raise NessieError(f"{path}: a single array; name it .npy")
        if not zipfile.is_zipfile(stream):
            raise ValueError("it does not begin as one")
        with zipfile.ZipFile(stream) as archive:
            return {name: member(file, archive, entry) if name in NAMES else np.zeros(0)
                    for entry in archive.infolist() for name in [entry.filename.removesuffix(".npy")]}


def member(file: Reading, archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> Array:
    begin = begin_of(file.path, entry) if entry.compress_type == zipfile.ZIP_STORED else None
    with archive.open(entry) as stream:
        return load(file, stream, entry.file_size, begin)


def begin_of(path: str, entry: zipfile.ZipInfo) -> int:
    """The byte that a member's own begin at, behind its header, its name and more (APPNOTE.TXT, 4.3.7)."""
    with open(path, "rb") as stream:
        stream.seek(entry.header_offset + LENGTHS)
        name, more = struct.unpack("<HH", stream.read(4))
    return entry.header_offset + LENGTHS + 4 + int(name) + int(more)


def sparse_rows(file: Reading, arrays: dict[str, Array]) -> tuple[Flat, Type]:
    """SciPy's compressed rows as rows of (column, value)."""
    path = file.path
    with loading(path, "a sparse matrix of SciPy"):         # the format's name is bytes or characters
        name = "".join(map(str, arrays["format"].reshape(-1)[:1].astype("U")))
    if name != "csr":
        raise NessieError(f"{path}: a sparse matrix of the format {name}; convert it by .tocsr() before saving")
    values, base = scalars(file, "data", vector(path, arrays, "data"))
    columns = integers(file, arrays, "indices")
    shape = integers(file, arrays, "shape")
    if shape.size != 2 or columns.size != values.size:
        raise NessieError(f"{path}: the matrix has {shape.size} dimensions, {columns.size} column indices "
                          f"and {values.size} values")
    offsets = checked_offsets(file, arrays, "indptr", values.size)
    if offsets.size != shape[0] + 1:
        raise NessieError(f"{path}: indptr has {offsets.size} entries, {shape[0] + 1} are due for {shape[0]} rows")
    file.take(2 * columns.size)             # the comparison's masks
    if columns.size and not (columns.min() >= 0 and columns.max() < shape[1]):
        wrong = int(np.flatnonzero((columns < 0) | (columns >= shape[1]))[0])
        raise NessieError(f"{path}: column index {columns[wrong]} (entry {wrong}) is out of range 0 to {shape[1] - 1}")
    content: Column = (columns, values)
    return Flat(int(shape[0]), Nested(offsets, content)), Seq(Seq(Pair(INT, base)))


def vector(path: str, arrays: dict[str, Array], name: str) -> Array:
    if name not in arrays:
        raise NessieError(f"{path}: the array {name} is missing")
    if arrays[name].ndim != 1:
        raise NessieError(f"{path}: {name} has {arrays[name].ndim} dimensions, one is due")
    return arrays[name]


def integers(file: Reading, arrays: dict[str, Array], name: str) -> Array:
    values, base = scalars(file, name, vector(file.path, arrays, name))
    if base != INT:
        raise NessieError(f"{file.path}: {name} has elements of type {base.name}, integers are due")
    return values


def checked_offsets(file: Reading, arrays: dict[str, Array], name: str, total: int) -> Array:
    """The array `name` as offsets that cut `total` elements into segments. NessieError if it is not that."""
    path, offsets = file.path, integers(file, arrays, name)
    file.take(offsets.size)                 # the comparison's mask
    if not offsets.size or offsets[0] != 0 or offsets[-1] != total:
        raise NessieError(f"{path}: {name} must go from 0 to {total}, the number of elements")
    falls = np.flatnonzero(offsets[1:] < offsets[:-1])
    if falls.size:
        raise NessieError(f"{path}: {name} falls at entry {int(falls[0]) + 1}")
    return offsets.astype(np.int64, copy=False)


# Writing ----------------------------------------------------------------------------------------

def encode_npy(path: str, value: Any, type_: Type) -> bytes:
    """The bytes of an .npy file with an array of scalars, of any dimension."""
    data = io.BytesIO()
    np.save(data, array_of_rows(path, value, type_), allow_pickle=False)
    return data.getvalue()


def array_of_rows(path: str, value: Any, type_: Type) -> Array:
    """The array of all scalars, of any dimension. NessieError if rows are not equally long."""
    shape, column = [value.length], value.column
    while isinstance(column, Nested):
        shape.append(row_length(path, column, math.prod(shape)))
        column = column.content
    return elements(column[:math.prod(shape)], type_).reshape(shape)


def encode_npz(value: Any, type_: Type) -> bytes:
    """The bytes of an .npz file with the offsets and the content of rows of scalars."""
    offsets = value.column.offsets[:value.length + 1]
    data = io.BytesIO()
    np.savez(data, offsets=offsets, content=elements(value.column.content[:offsets[-1]], type_))
    return data.getvalue()


def elements(column: Array, type_: Type) -> Array:
    """The scalars of an array of this type as a NumPy array."""
    array = np.ascontiguousarray(column)
    return array.astype("<i4").view("<U1") if scalar_of(type_) == CHAR else array


def row_length(path: str, rows: Nested, count: int) -> int:
    """The common length of the first `count` rows. NessieError if they differ."""
    if isinstance(rows, Uniform):
        return rows.length
    lengths = np.diff(rows.offsets[:count + 1])
    if (lengths != lengths[:1]).any():
        other = int(np.flatnonzero(lengths != lengths[0])[0])
        raise NessieError(f"{path}: row 0 has length {lengths[0]}, row {other} has {lengths[other]}",
                          hint="an .npz file holds rows of any length; flatten(rows) is a vector of their elements, "
                               "which an .npy file holds")
    return int(lengths[0]) if count else 0


def scalar_of(type_: Type) -> Type:
    """The type of the scalars in an array of this type."""
    while isinstance(type_, Seq):
        type_ = type_.element
    return type_
