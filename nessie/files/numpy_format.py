"""NumPy's files: .npy, a vector, or a matrix as rows; .npz, a sparse matrix as SciPy saves it, or offsets and content.

Integers of any width become ints, floats of any width floats; arrays of one-character strings are characters.
"""
from __future__ import annotations

import io
import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from nessie.base.source import NessieError
from nessie.base.types import BOOL, CHAR, FLOAT, INT, Base, ContentOf, Pair, Seq, Type
from nessie.base.values import DTYPES, Column, Flat, Nested, Uniform
from nessie.files.fit import Misfit, fitted

Array = np.ndarray[Any, Any]


def read_npy(path: str, type_: Type, content: ContentOf) -> tuple[Any, Type]:
    with loading(path, "a NumPy array of numbers, booleans or characters"):
        array = np.load(path, allow_pickle=False)
    if not isinstance(array, np.ndarray):
        raise NessieError(f"{path}: an archive of arrays; name it .npz")
    column: Column
    column, kind = scalars(path, "the array", array)
    held: Type = kind
    for dimension in range(array.ndim - 1, 0, -1):
        segments = math.prod(array.shape[:dimension])
        column = Uniform(segments, array.shape[dimension], column)
    for _ in array.shape:
        held = Seq(held)
    value = Flat(array.shape[0], column) if array.ndim else column.reshape(-1)[0]
    return fit(path, value, held, type_, content)


@contextmanager
def loading(path: str, what: str) -> Iterator[None]:
    """NumPy, zipfile and zlib have many ways to refuse a file."""
    try:
        yield
    except (NessieError, OSError, MemoryError):
        raise
    except Exception as error:
        reason: object = error
        if "pickle" in str(error):          # what begins as no format does is taken for a pickle
            reason = "Python objects cannot be read" if "Object arrays" in str(error) else "it does not begin as one"
        raise NessieError(f"{path}: not {what}: {reason}") from None


def fit(path: str, value: Any, held: Type, type_: Type, content: ContentOf) -> tuple[Any, Type]:
    try:
        return fitted(value, held, type_, content)
    except Misfit as error:
        raise NessieError(f"{path}: {error}") from None


def scalars(path: str, name: str, array: Array) -> tuple[Array, Base]:
    """The elements in order, as a column of scalars, and their type."""
    flat = np.ascontiguousarray(array).reshape(-1)
    match array.dtype.kind:
        case "b":
            return flat, BOOL
        case "u" if flat.size and flat.max() > np.iinfo(np.int64).max:
            raise NessieError(f"{path}: {name} has integers beyond 64 bits")
        case "i" | "u":
            return flat.astype(DTYPES["int"]), INT
        case "f":
            return flat.astype(DTYPES["float"]), FLOAT
        case "U" if array.dtype.itemsize == 4:
            return flat.astype("<U1").view("<i4").astype(DTYPES["char"]), CHAR
    raise NessieError(f"{path}: {name} has elements of type {array.dtype}; "
                      "integers, floats, booleans and single characters can be read")


# .npz -------------------------------------------------------------------------------------------

def read_npz(path: str, type_: Type, content: ContentOf) -> tuple[Any, Type]:
    arrays = load_archive(path)
    if "format" in arrays:
        value, held = sparse_rows(path, arrays)
    elif {"offsets", "content"} <= arrays.keys():
        elements, kind = scalars(path, "content", vector(path, arrays, "content"))
        offsets = checked_offsets(path, arrays, "offsets", elements.size)
        value, held = Flat(offsets.size - 1, Nested(offsets, elements)), Seq(Seq(kind))
    else:
        names = ", ".join(arrays) or "no arrays"
        raise NessieError(f"{path}: holds {names}; a sparse matrix saved by SciPy, or offsets and content, is due")
    return fit(path, value, held, type_, content)


def load_archive(path: str) -> dict[str, Array]:
    with loading(path, "an archive of NumPy arrays"):
        found = np.load(path, allow_pickle=False)
        if isinstance(found, np.ndarray):
            raise NessieError(f"{path}: a single array; name it .npy")
        with found as archive:
            return {name: archive[name] for name in archive.files}


def sparse_rows(path: str, arrays: dict[str, Array]) -> tuple[Flat, Type]:
    """SciPy's compressed rows as rows of (column, value)."""
    kind = arrays["format"].reshape(-1)[:1].tolist()
    name = kind[0].decode() if kind and isinstance(kind[0], bytes) else str(kind[0] if kind else "")
    if name != "csr":
        raise NessieError(f"{path}: a sparse matrix of the format {name}; convert it by .tocsr() before saving")
    values, base = scalars(path, "data", vector(path, arrays, "data"))
    columns = integers(path, arrays, "indices")
    shape = integers(path, arrays, "shape")
    if shape.size != 2 or columns.size != values.size:
        raise NessieError(f"{path}: the matrix has {shape.size} dimensions, {columns.size} column indices "
                          f"and {values.size} values")
    offsets = checked_offsets(path, arrays, "indptr", values.size)
    if offsets.size != shape[0] + 1:
        raise NessieError(f"{path}: indptr has {offsets.size} entries, {shape[0] + 1} are due for {shape[0]} rows")
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


def integers(path: str, arrays: dict[str, Array], name: str) -> Array:
    values, base = scalars(path, name, vector(path, arrays, name))
    if base != INT:
        raise NessieError(f"{path}: {name} has elements of type {base.name}, integers are due")
    return values


def checked_offsets(path: str, arrays: dict[str, Array], name: str, total: int) -> Array:
    """Offsets that cut `total` elements into segments."""
    offsets = integers(path, arrays, name)
    if not offsets.size or offsets[0] != 0 or offsets[-1] != total:
        raise NessieError(f"{path}: {name} must go from 0 to {total}, the number of elements")
    falls = np.flatnonzero(offsets[1:] < offsets[:-1])
    if falls.size:
        raise NessieError(f"{path}: {name} falls at entry {int(falls[0]) + 1}")
    return offsets


# Writing ----------------------------------------------------------------------------------------

def encode_npy(path: str, value: Any, type_: Type) -> bytes:
    """An array of scalars, of any dimension, as the bytes of an .npy file."""
    shape, column = [value.length], value.column
    while isinstance(column, Nested):
        shape.append(row_length(path, column, math.prod(shape)))
        column = column.content
    array = elements(column[:math.prod(shape)], type_)
    data = io.BytesIO()
    np.save(data, array.reshape(shape), allow_pickle=False)
    return data.getvalue()


def encode_npz(value: Any, type_: Type) -> bytes:
    """Rows of scalars as the bytes of an .npz file with their offsets and content."""
    offsets = value.column.offsets[:value.length + 1]
    data = io.BytesIO()
    np.savez(data, offsets=offsets, content=elements(value.column.content[:offsets[-1]], type_))
    return data.getvalue()


def elements(column: Array, type_: Type) -> Array:
    """The scalars of an array of this type as NumPy's."""
    array = np.ascontiguousarray(column)
    return array.astype("<i4").view("<U1") if scalar_of(type_) == CHAR else array


def row_length(path: str, rows: Nested, count: int) -> int:
    """The length of all of so many rows."""
    if isinstance(rows, Uniform):
        return rows.length
    lengths = np.diff(rows.offsets[:count + 1])
    if (lengths != lengths[:1]).any():
        other = int(np.flatnonzero(lengths != lengths[0])[0])
        raise NessieError(f"{path}: row 0 has length {lengths[0]}, row {other} has {lengths[other]}",
                          hint="an .npy file holds rows of one length, an .npz or .json file any")
    return int(lengths[0]) if count else 0


def scalar_of(type_: Type) -> Type:
    """What an array of this type holds."""
    while isinstance(type_, Seq):
        type_ = type_.element
    return type_
