"""NESL values, in two shapes.

    plain   the values of the interpreter and of tests: int, float, bool, a one-character str for
            char, a 2-tuple for a pair (tuples nest to the right), a list for a sequence; a datatype is Record
    flat    the arguments and results of compiled programs, NumPy underneath: scalars and pairs as
            above, but a sequence is Flat(length, column), where a column is
                an array            of scalars: int64, float64, bool_, int32 code points for char; narrower ints and
                                          floats, which are widened where they are read
                (column, column)    of pairs
                Nested(offsets, column)   of sequences: offsets int64, from 0 to the length of the column
                Uniform(count, length, column)   a Nested of so many sequences of one length
                Computed(count, starts, column)  a Nested whose offsets are what starts() returns; those of both are
                                          only made on demand
                Closed(offsets, column, lengths, numbers)   a Nested whose lengths are a formula of the position
            and values from outside may be
                View(starts, lengths, column)    of sequences, anywhere in the column: int64, of one length
                OnDevice        an array in a GPU's memory, or with the workers of a cluster
"""
from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from nessie.base.records import dataclass
from nessie.base.system.forking import cached_property
from nessie.base.types import Base, Pair, Seq, Type

DTYPES: dict[str, np.dtype[Any]] = {
    "int32": np.dtype(np.int32), "int16": np.dtype(np.int16), "int8": np.dtype(np.int8), "uint8": np.dtype(np.uint8),
    "uint16": np.dtype(np.uint16), "uint32": np.dtype(np.uint32), "float32": np.dtype(np.float32),
    "char8": np.dtype(np.uint8),
    "int": np.dtype(np.int64), "float": np.dtype(np.float64), "bool": np.dtype(np.bool_), "char": np.dtype(np.int32)}
BASES = {dtype: base for base, dtype in reversed(DTYPES.items())}       # of two of one dtype, the first


@dataclass(frozen=True)
class Record:
    """A datatype's value: its name and the argument of its constructor."""
    name: str
    content: Any


@dataclass(frozen=True, eq=False)
class Nested:
    offsets: Any                    # np.ndarray | OnDevice
    content: Column

    def over(self, content: Column) -> Nested:
        """Return sequences of these lengths with other elements."""
        return Nested(self.offsets, content)


class Computed(Nested):
    count: int
    starts: Callable[[], np.ndarray[Any, Any]]

    def __init__(self, count: int, starts: Callable[[], np.ndarray[Any, Any]], content: Column) -> None:
        vars(self).update(count=count, starts=starts, content=content)

    @cached_property
    def offsets(self) -> np.ndarray[Any, Any]:
        return self.starts()

    def over(self, content: Column) -> Computed:
        return Computed(self.count, lambda: self.offsets, content)


class Uniform(Computed):
    """`name`: sequences of one name in the arguments of a call are equally long."""
    length: int
    name: str

    def __init__(self, count: int, length: int, content: Column, name: str = "") -> None:
        vars(self).update(count=count, length=length, content=content, name=name)

    @cached_property
    def offsets(self) -> np.ndarray[Any, Any]:
        return np.arange(self.count + 1, dtype=np.int64) * self.length

    def over(self, content: Column) -> Uniform:
        return Uniform(self.count, self.length, content, self.name)


@dataclass(frozen=True, eq=False)
class Closed(Nested):
    """`lengths`: the formula (lambda_cu.nodes.Lengths); `numbers`: what the names in it stand for."""
    lengths: Any
    numbers: tuple[int, ...]

    def over(self, content: Column) -> Closed:
        return Closed(self.offsets, content, self.lengths, self.numbers)


@dataclass(frozen=True, eq=False)
class View:
    starts: np.ndarray[Any, Any]
    lengths: np.ndarray[Any, Any]
    content: Column


ANY_STREAM = -1                 # stands for all of CUDA's streams


@dataclass(frozen=True, eq=False)
class OnDevice:
    """`length` scalars at an address of a device's memory, valid as long as its `owner` exists. Of an array that the
    workers of a cluster have, the owner is its slabs, and the address counts bytes from its begin."""
    base: str
    length: int
    address: int
    owner: Any

    @property
    def dtype(self) -> np.dtype[Any]:
        return DTYPES[self.base]

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, part: slice) -> OnDevice:
        start, stop, step = part.indices(self.length)
        if step != 1:
            raise IndexError("a part of an array on a device has no steps")
        if stop - start == self.length:
            return self
        return OnDevice(self.base, max(0, stop - start), self.address + start * self.dtype.itemsize, self.owner)


Column = Any        # np.ndarray | tuple[Column, Column] | Nested | View | OnDevice


@dataclass(frozen=True, eq=False)
class Flat:
    """`name`: as in Uniform."""
    length: int
    column: Column
    name: str = ""


def length_of(column: Column) -> int:
    """Return the number of values in the column."""
    while isinstance(column, tuple):
        column = column[0]
    if isinstance(column, View):
        return len(column.starts)
    if isinstance(column, Computed):
        return column.count
    return len(column.offsets) - 1 if isinstance(column, Nested) else len(column)


def arrays(value: Any) -> Iterator[np.ndarray[Any, Any]]:
    """NumPy's arrays in a flat value or a column."""
    return (array for array in arrays_anywhere(value) if isinstance(array, np.ndarray))


def arrays_anywhere(value: Any) -> Iterator[np.ndarray[Any, Any] | OnDevice]:
    """The arrays in a flat value or a column, from outside to inside, here and on devices."""
    match value:
        case Flat(_, inner):
            yield from arrays_anywhere(inner)
        case Computed() | View():
            yield from arrays_anywhere(value.content)
        case Nested():
            yield from arrays_anywhere(value.offsets)
            yield from arrays_anywhere(value.content)
        case (first, second):
            yield from arrays_anywhere(first)
            yield from arrays_anywhere(second)
        case np.ndarray() | OnDevice():
            yield value


def text_value(text: str) -> Flat:
    """A text as a flat [char]."""
    return Flat(len(text), code_points(text))


def text_of(value: Flat) -> str:
    """Return the text of a flat [char]."""
    return text_of_codes(value.column[:value.length])


def code_points(text: str) -> np.ndarray[Any, Any]:
    """The code points of a text: a column of chars."""
    if text.isascii():                  # known of each text, and copied as bytes
        return np.frombuffer(text.encode("ascii"), np.uint8).astype(DTYPES["char"])
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.dtype("<i4")).astype(DTYPES["char"])


def characters(text: str) -> np.ndarray[Any, Any]:
    """The code points of a text: a column of chars, of bytes if all are below 256."""
    try:
        return np.frombuffer(text.encode("latin-1"), DTYPES["char8"])
    except UnicodeEncodeError:
        return code_points(text)


def no_character(codes: np.ndarray[Any, Any]) -> int | None:
    """Return the position of the first integer that is not a code point, if there is one."""
    wrong = np.flatnonzero((codes < 0) | (codes > sys.maxunicode))
    return int(wrong[0]) if wrong.size else None


def text_of_codes(codes: np.ndarray[Any, Any]) -> str:
    """Return the text of a column of chars."""
    if codes.size and codes.min() >= 0 and codes.max() < 128:
        return codes.astype(np.uint8).tobytes().decode("ascii")
    return codes.astype("<i4").tobytes().decode("utf-32-le", "surrogatepass")


def flatten_value(value: Any, type_: Type) -> Any:
    """The flat shape of a plain value of this type (datatypes as their content)."""
    match type_:
        case Base():
            return value
        case Pair(first, second):
            return flatten_value(value[0], first), flatten_value(value[1], second)
        case Seq(element):
            return Flat(len(value), column(value, element))
    raise TypeError(type_)


def column(values: list[Any], type_: Type) -> Column:
    """The column of the values, all of this type."""
    match type_:
        case Base("char"):
            return np.array([ord(c) for c in values], DTYPES["char"])
        case Base(name):
            return np.array(values, DTYPES[name])
        case Pair(first, second):
            return column([v[0] for v in values], first), column([v[1] for v in values], second)
        case Seq(element):
            offsets = np.zeros(len(values) + 1, np.int64)
            np.cumsum([len(v) for v in values], out=offsets[1:])
            return Nested(offsets, column([e for v in values for e in v], element))
    raise TypeError(type_)


def plain_value(value: Any, type_: Type) -> Any:
    """The plain shape of a flat value."""
    match type_:
        case Base("char"):
            return value if isinstance(value, str) else chr(value)
        case Base():
            return value
        case Pair(first, second):
            return plain_value(value[0], first), plain_value(value[1], second)
        case Seq(element):
            return plain_column(value.column, element, 0, value.length)
    raise TypeError(type_)


def plain_column(values: Column, type_: Type, start: int, end: int) -> list[Any]:
    """Elements start .. end-1 of a column, as plain values."""
    match type_:
        case Base("char"):
            return [chr(c) for c in values[start:end].tolist()]
        case Base():
            return list(values[start:end].tolist())
        case Pair(first, second):
            return list(zip(plain_column(values[0], first, start, end), plain_column(values[1], second, start, end)))
        case Seq(element):
            offsets = values.offsets[start:end + 1].tolist()
            return [plain_column(values.content, element, a, b) for a, b in zip(offsets, offsets[1:])]
    raise TypeError(type_)


__all__ = [
    "BASES",
    "DTYPES",
    "Closed",
    "Column",
    "Flat",
    "Nested",
    "OnDevice",
    "Record",
    "Uniform",
    "View",
    "arrays",
    "characters",
    "code_points",
    "column",
    "flatten_value",
    "length_of",
    "no_character",
    "plain_column",
    "plain_value",
    "text_of",
    "text_of_codes",
    "text_value",
]
