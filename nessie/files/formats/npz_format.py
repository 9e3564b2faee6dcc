"""Reads and writes NumPy's archives .npz: rows of any length, as their offsets and content, or a sparse matrix as SciPy
saves it.
"""
from __future__ import annotations

import io
import struct
import zipfile
from functools import partial
from typing import Any

import numpy as np

from nessie.base.source import NessieError
from nessie.base.types import INT, Pair, Seq, Type
from nessie.base.values import Column, Flat, Nested
from nessie.files.fit import Arrays
from nessie.files.formats.numpy_format import Array, elements, load, loading, scalars, wrong
from nessie.files.reading import Reading

NAMES = ("format", "data", "indices", "indptr", "shape", "offsets", "content")
LENGTHS = 26                    # where a member's header has the lengths of what follows it


# Reading ----------------------------------------------------------------------------------------

def read_npz(file: Reading) -> Arrays:
    path, arrays = file.path, load_archive(file)
    if "format" in arrays:
        value, held = sparse_rows(file, arrays)
    elif {"offsets", "content"} <= arrays.keys():
        content, kind = scalars(file, "content", vector(path, arrays, "content"))
        offsets = checked_offsets(file, arrays, "offsets", content.size)
        value, held = Flat(offsets.size - 1, Nested(offsets, content)), Seq(Seq(kind))
    else:
        names = ", ".join(arrays) or "no arrays"
        raise NessieError(f"{path}: holds {names}; a sparse matrix saved by SciPy, or offsets and content, is due")
    return Arrays(held, value, file, partial(wrong, path))


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

def encode_npz(value: Any, type_: Type) -> bytes:
    """The bytes of an .npz file with the offsets and the content of rows of scalars."""
    offsets = value.column.offsets[:value.length + 1]
    data = io.BytesIO()
    np.savez(data, offsets=offsets, content=elements(value.column.content[:offsets[-1]], type_))
    return data.getvalue()
