"""Converts flat values to Python's: scalars, str, tuples, datatypes' named tuples; sequences as arrays, Nested, Tuples.

Arrays stay in the memory in which the program has left them, unless the caller can write to it through another array:
an array that shares memory with an argument, or with another part of the result, is copied.
"""
from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import numpy as np

from nessie.api.values.device import DeviceArray
from nessie.api.values.sequences import CHARACTER, Nested, Tuples
from nessie.base import values
from nessie.base.source import Unsupported
from nessie.base.text.types_text import show_scheme
from nessie.base.types import (
    CHAR,
    STRING,
    Base,
    ContentOf,
    Data,
    Pair,
    Seq,
    Type,
    components,
    expand,
    holds_function,
)
from nessie.base.values import Column, Computed, Flat, OnDevice
from nessie.cudagen.host.memory import address_of

Array = np.ndarray[Any, Any]
Place = tuple[int, int]         # addresses: the first, and the one after the last


class Results:
    """The conversion of one result. `content` gives the content of a datatype, `classes` its named tuple; `shared` are
    arrays that the caller has."""

    def __init__(self, content: ContentOf, classes: Callable[[str], Any], shared: Iterable[Array]) -> None:
        self.content, self.classes = content, classes
        self.written = [bounds(array) for array in shared if array.size]         # memory that the caller may write to
        self.read: list[Place] = []                                             # memory that it may only read

    def value(self, what: str, value: Any, type_: Type) -> Any:
        """Convert a flat value, which messages call `what`. Unsupported if it holds a function."""
        check_leaves(what, type_, self.content)
        return self.plain(value, type_)

    def plain(self, value: Any, type_: Type) -> Any:
        match type_:
            case Base("char"):
                return value if isinstance(value, str) else chr(value)
            case Base():
                return value
            case Pair():
                return tuple([self.plain(v, t) for v, t in parts(value, type_)])
            case Data(name):
                return self.classes(name)(*[self.plain(v, t) for v, t in parts(value, self.content(type_))])
            case Seq(Base("char")):
                return values.text_of(Flat(value.length, fetched(value.column)))
            case Seq(element):
                return self.column(value.column, element, value.length)
        raise TypeError(type_)

    def column(self, column: Column, type_: Type, length: int) -> Any:
        """The first `length` values of the column, as a Python sequence."""
        match type_:
            case Base():
                return self.array(column[:length], type_)
            case Pair():
                return made(Tuples, columns=self.columns(column, type_, length), make=None)
            case Data(name):
                return made(Tuples, columns=self.columns(column, self.content(type_), length), make=self.classes(name))
            case Seq(element) if isinstance(column, Computed) and column.count == length and type_ != STRING:
                content = self.column(column.content, element, values.length_of(column.content))
                return made(Nested, starts=partial(read_only, column), content=content)
            case Seq(element):
                offsets = column.offsets[:length + 1]
                if isinstance(offsets, OnDevice) and type_ == STRING:
                    offsets = fetched(offsets)
                size = values.length_of(column.content) if isinstance(offsets, OnDevice) else int(offsets[-1])
                offsets = self.offsets(offsets)
                content = self.column(column.content, element, size)
                return made(Nested, offsets=offsets, checked=offsets, content=content)
        raise TypeError(type_)

    def columns(self, column: Column, type_: Type, length: int) -> tuple[Any, ...]:
        return tuple([self.column(c, t, length) for c, t in parts(column, type_)])

    def array(self, array: Array | OnDevice, type_: Type) -> Any:
        if isinstance(array, OnDevice) and type_ != CHAR:
            return DeviceArray(array)
        own = self.own(fetched(array))
        return own.view(CHARACTER) if type_ == CHAR else own

    def offsets(self, offsets: Array | OnDevice) -> Any:
        """The offsets as a read-only array, which parts of the result may share."""
        if isinstance(offsets, OnDevice):
            return DeviceArray(offsets)
        offsets = offsets.copy() if overlaps(bounds(offsets), self.written) else offsets[:]
        self.read.append(bounds(offsets))
        offsets.flags.writeable = False
        return offsets

    def own(self, array: Array) -> Array:
        """The array, or a copy if the caller already has its memory."""
        if not array.size:
            return array
        place = bounds(array)
        if overlaps(place, self.written) or overlaps(place, self.read):
            array = array.copy()
            place = bounds(array)
        self.written.append(place)
        return array


def read_only(rows: Computed) -> Array:
    """The offsets, which nobody else has."""
    rows.offsets.flags.writeable = False
    return rows.offsets


def check_leaves(what: str, type_: Type, content: ContentOf) -> None:
    """Raise Unsupported if values of the type hold a function, which is meaningless outside of the program."""
    if holds_function(expand(type_, content)):
        raise Unsupported(f"{what} is {show_scheme(type_)}: a function cannot leave the program",
                          hint="write a NESL function that applies it")


def made(kind: type, **attributes: Any) -> Any:
    """Make an object without running its checks, as its parts are known to be right."""
    found: Any = object.__new__(kind)
    vars(found).update(attributes)
    return found


def parts(value: Any, type_: Type) -> list[tuple[Any, Type]]:
    """The components of a tuple, with their types; for anything else, the value itself."""
    found, types = [], components(type_)
    for inner in types[:-1]:
        found.append((value[0], inner))
        value = value[1]
    return [*found, (value, types[-1])]


def overlaps(place: Place, taken: list[Place]) -> bool:
    low, high = place
    return any([low < end and start < high for start, end in taken])


def fetched(column: Column) -> Any:
    return DeviceArray(column).to_numpy() if isinstance(column, OnDevice) else column


def bounds(array: Array) -> Place:
    """The first address of a contiguous array, and the one after its end."""
    start = address_of(array)
    return start, start + array.nbytes
