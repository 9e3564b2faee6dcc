"""Reads and writes NumPy's files .npy: a vector, or a matrix as rows. Archives of them are formats.npz_format.

Integers of any width become ints, floats of any width floats; arrays of one-character strings are characters.
"""
from __future__ import annotations

import io
import math
import os
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import IO, Any
from warnings import catch_warnings, simplefilter

import numpy as np

from nessie.base.fitted import narrower
from nessie.base.source import NessieError
from nessie.base.types import BOOL, CHAR, FLOAT, INT, Base, Seq, Type
from nessie.base.values import DTYPES, Column, Flat, Nested, Uniform, no_character
from nessie.base.widths import FULL
from nessie.files.fit import Arrays
from nessie.files.reading import PIECE, Reading

Array = np.ndarray[Any, Any]

ANY_LENGTH = ("an .npz file holds rows of any length; flatten(rows) is a vector of their elements, which an .npy file "
              "holds")


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


def wrong(path: str, reason: object) -> NessieError:
    return NessieError(f"{path}: {reason}")


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


# Writing ----------------------------------------------------------------------------------------

def encode_npy(path: str, value: Any, type_: Type) -> bytes:
    """The bytes of an .npy file with an array of scalars, of any dimension."""
    data = io.BytesIO()
    np.save(data, array_of_rows(path, value, type_), allow_pickle=False)
    return data.getvalue()


def array_of_rows(path: str, value: Any, type_: Type, first: int = 0, hint: str = ANY_LENGTH) -> Array:
    """The array of all scalars, of any dimension. NessieError, with this hint, if rows are not equally long. `first`:
    the number of the first row."""
    shape, column = [value.length], value.column
    while isinstance(column, Nested):
        shape.append(row_length(path, column, math.prod(shape), first * (len(shape) == 1), hint))
        column = column.content
    return elements(column[:math.prod(shape)], type_).reshape(shape)


def elements(column: Array, type_: Type) -> Array:
    """The scalars of an array of this type as a NumPy array."""
    array = np.ascontiguousarray(column)
    return array.astype("<i4").view("<U1") if scalar_of(type_) == CHAR else array


def row_length(path: str, rows: Nested, count: int, first: int, hint: str) -> int:
    """The common length of the first `count` rows. NessieError if they differ."""
    if isinstance(rows, Uniform):
        return rows.length
    lengths = np.diff(rows.offsets[:count + 1])
    if (lengths != lengths[:1]).any():
        other = int(np.flatnonzero(lengths != lengths[0])[0])
        raise NessieError(f"{path}: row {first} has length {lengths[0]}, row {first + other} has {lengths[other]}",
                          hint=hint)
    return int(lengths[0]) if count else 0


def scalar_of(type_: Type) -> Type:
    """The type of the scalars in an array of this type."""
    while isinstance(type_, Seq):
        type_ = type_.element
    return type_
