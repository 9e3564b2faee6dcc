"""Converts Python's values to NESL's: flat values (nessie.base.values) with their types.

A number, a bool or a str is a scalar or a text; a tuple is a tuple, and a datatype's named tuple the datatype's value.
Sequences are NumPy arrays (nessie.api.values.numpy_arrays), Nested, Tuples, Awkward's and Arrow's arrays
(nessie.api.values.awkward_arrays), arrays on a GPU, data frames, SciPy's sparse matrices and networkx's graphs
(nessie.api.values.graphs), and Python's lists for small data (nessie.api.values.lists). Contiguous arrays of float64,
int64 and bool are used in place; `notes` tell of conversions.

The parameter's type decides what Python leaves open: whether an int is a float, whether a text of one character is a
character, and the element type of an empty list. What both leave open is a type variable.
"""
from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from nessie.api.values import graphs, lists, numpy_arrays
from nessie.api.values.datatypes import Datatypes
from nessie.api.values.device import DeviceArray, has_interface, on_device
from nessie.api.values.lists import is_foreign, is_sequence
from nessie.api.values.open_types import element_of, split
from nessie.api.values.sequences import Nested as PyNested
from nessie.api.values.sequences import Tuples, a, is_text, recheck
from nessie.base import values
from nessie.base.source import NessieError
from nessie.base.system.memory import MemoryBudget
from nessie.base.types import BOOL, CHAR, FLOAT, INT, STRING, Base, Data, Pair, Seq, Type, nest_right
from nessie.base.values import DTYPES, Column, Flat, OnDevice
from nessie.base.widths import FULL, Widths

Found = tuple[Column, Type]


@dataclass
class Arguments:
    """The conversion of one argument, which messages call `where`. `room`: memory for copies; `shared`: the caller's
    own arrays, to which it may still write; `awkward`, `device`: whether there was such an array; `places`: arrays on a
    GPU; `streams`: those in which a GPU may still work on them; `unchecked`: offsets on a GPU that are not checked yet,
    each with the length of its content."""
    datatypes: Datatypes
    where: str = ""
    room: MemoryBudget = field(default_factory=MemoryBudget)
    notes: list[str] = field(default_factory=list)
    shared: list[np.ndarray[Any, Any]] = field(default_factory=list)
    awkward: bool = False
    device: bool = False
    streams: set[int] = field(default_factory=set)
    places: list[OnDevice] = field(default_factory=list)
    unchecked: list[tuple[OnDevice, int]] = field(default_factory=list)

    def value(self, value: Any, wanted: Type | None) -> tuple[Any, Type]:
        """The flat value and its type. `wanted`: the parameter's type, as far as it is known."""
        value = numpy_arrays.scalar(self, value)
        match value:
            case bool() | np.bool_():
                return bool(value), BOOL
            case int() | np.integer():
                return (self.real(value), FLOAT) if wanted == FLOAT else (self.whole(int(value)), INT)
            case float() | np.floating():
                return self.datatypes.widths.rounded(float(value)), FLOAT
            case str() if wanted == CHAR and len(value) == 1:
                return value, CHAR
            case tuple():
                return self.components(value, wanted)
        length, column, element = self.sequence(value, element_of(wanted))
        return Flat(length, column), Seq(element)

    def components(self, value: tuple[Any, ...], wanted: Type | None) -> tuple[Any, Type]:
        data, wants = self.kind_of_tuple(type(value), len(value), wanted)
        parts = [self.value(item, want) for item, want in zip(value, wants, strict=True)]
        type_ = nest_right([t for _, t in parts], Pair)
        return pairs([v for v, _ in parts]), self.datatypes.applied(data, type_) if data else type_

    def kind_of_tuple(self, kind: type, length: int, wanted: Type | None) -> tuple[str | None, list[Type | None]]:
        """The datatype that such a tuple stands for, if any, and the wanted types of its components."""
        return self.components_of(self.datatypes.of(kind) or (wanted.name if isinstance(wanted, Data) else None),
                                  length, wanted)

    def components_of(self, data: str | None, length: int, wanted: Type | None) -> \
            tuple[str | None, list[Type | None]]:
        if data is not None and isinstance(wanted, Data) and wanted.name == data:
            wanted = self.datatypes.content(wanted)
        elif data is not None:
            wanted = self.datatypes.general(data)
        if length < (1 if data else 2):
            raise self.error(f"a tuple of {length} component{'' if length == 1 else 's'} is nothing in NESL")
        return data, split(wanted, length)

    # Sequences ----------------------------------------------------------------------------------

    def sequence(self, value: Any, wanted: Type | None) -> tuple[int, Column, Type]:
        """The number of elements, their column and their type. `wanted` is the type of an element."""
        for converter in CONVERTERS:
            if converter.takes(value, wanted):
                return converter.convert(self, value, wanted)
        raise self.refused(value)

    def nested(self, nested: PyNested, wanted: Type | None) -> Found:
        length, content, element = self.part(nested.content, element_of(wanted))
        if has_interface(nested.offsets):
            offsets, shape, _ = self.placed(nested.offsets, FULL)
            if offsets.base != "int" or len(shape) != 1:
                raise self.error("the offsets of a Nested are integers of 64 bits")
            if not isinstance(nested.offsets, DeviceArray):         # Nessie's own are right
                self.unchecked.append((offsets, length))
            return values.Nested(offsets, content), Seq(element)
        if nested.converted:
            self.note(nested.converted)
        recheck(nested, length)
        self.shared.append(nested.offsets)
        return values.Nested(nested.offsets, content), Seq(element)

    def placed(self, value: Any, widths: Widths) -> tuple[OnDevice, tuple[int, ...], Base]:
        """An array on a GPU, its shape and the type of its elements in a program of these widths."""
        place, shape, base, streams = on_device(value, widths)
        self.device = True
        self.places.append(place)
        self.streams |= streams
        return place, shape, base

    def tuples(self, tuples: Tuples, wanted: Type | None) -> Found:
        make = tuples.make if isinstance(tuples.make, type) else tuple
        return self.columns(tuples.columns, make, wanted, len(tuples.columns))

    def part(self, column: Any, wanted: Type | None) -> tuple[int, Column, Type]:
        """The length, column and element type of a content or a component. An array of characters is characters here,
        also empty ones, unless texts are wanted."""
        if is_text(column) and wanted != STRING:
            return len(column), numpy_arrays.characters(self, column), CHAR
        return self.sequence(column, wanted)

    def columns(self, columns: Iterable[Any], kind: type, wanted: Type | None, count: int) -> Found:
        """The column of tuples of this class, given the columns of their `count` components."""
        data, wants = self.kind_of_tuple(kind, count, wanted)
        parts = [self.part(column, want)[1:] for column, want in zip(columns, wants, strict=True)]
        type_ = nest_right([t for _, t in parts], Pair)
        return pairs([c for c, _ in parts]), self.datatypes.applied(data, type_) if data else type_

    def table(self, table: Any, wanted: Type | None) -> Found:
        """The column of a table's rows as tuples. The components are the columns in order, whatever their names."""
        names, columns = list(table.columns), numpy_arrays.columns_of(table)
        if len(columns) == 1 and not isinstance(wanted, Data):
            raise self.error("a table of one column has no tuples", f"its column is a sequence: x[{names[0]!r}]")
        where = self.where

        def named() -> Iterator[Any]:
            for name, column in zip(names, columns, strict=True):
                self.where = f"{where}, column {name!r}"
                yield column
        try:
            return self.columns(named(), tuple, wanted, len(columns))
        except NessieError as error:
            due = self.datatypes.content(wanted) if isinstance(wanted, Data) else wanted
            if not error.hint and isinstance(due, Pair):
                own = [self.part(column, None)[2] for column in columns]
                error.hint = numpy_arrays.columns_hint(dict(zip(names, own)), due)
            raise
        finally:
            self.where = where

    def none(self, type_: Type) -> Column:
        """An empty column of this type."""
        match type_:
            case Pair(first, second):
                return self.none(first), self.none(second)
            case Data():
                return self.none(self.datatypes.content(type_))
            case Seq(element):
                return values.Nested(np.zeros(1, np.int64), self.none(element))
            case Base(name):
                return np.zeros(0, DTYPES[name])
        return np.zeros(0, np.int64)

    # What is wrong, and what is told ------------------------------------------------------------

    def whole(self, number: int) -> int:
        widths = self.datatypes.widths
        if not widths.min_int <= number <= widths.max_int:
            raise self.error(f"{shortened(number)} is beyond {widths.ints} bits", "a float holds it: float(n)")
        return number

    def real(self, number: Any) -> float:
        try:
            return self.datatypes.widths.rounded(float(number))
        except OverflowError:
            raise self.error("an integer is beyond what a float holds") from None

    def copies(self, size: int) -> None:
        """Count `size` bytes that are about to be copied or allocated."""
        self.room.take(size, self.where)

    def note(self, what: str) -> None:
        self.notes.append(f"{self.where}: {what}")

    def refused(self, value: Any) -> NessieError:
        if isinstance(value, Mapping):
            return self.error(f"{a(type(value).__name__)} is no value of NESL", "a tuple, or a datatype's value, is: "
                              "tuple(d.values()), if they are in the order of its components")
        if isinstance(value, bytes | bytearray):
            return self.error(f"{a(type(value).__name__)} is no value of NESL",
                              "x.decode() makes a text of bytes, list(x) numbers")
        return self.error(f"{a(type(value).__name__)} is no value of NESL", "numbers, bools, str, tuples, lists, "
                          "NumPy's and Awkward's arrays are")

    def error(self, what: str, hint: str = "") -> NessieError:
        return NessieError(f"{self.where}: {what}" if self.where else what, hint=hint)


def pairs(items: list[Any]) -> Any:
    return nest_right(items, lambda first, rest: (first, rest))


def shortened(number: int) -> str:
    return str(number) if abs(number) < 10**40 else "an integer"


# Sequences of Python and of its libraries ---------------------------------------------------------


class Converter(NamedTuple):
    """Whether a value, of which this type of elements is wanted, is of one kind; and its length, column and elements'
    type."""
    kind: str
    takes: Callable[[Any, Type | None], bool]
    convert: Callable[[Arguments, Any, Type | None], tuple[int, Column, Type]]


def from_text(arguments: Arguments, value: str, wanted: Type | None) -> tuple[int, Column, Type]:
    return len(value), values.characters(value), CHAR


def from_numpy(arguments: Arguments, value: Any, wanted: Type | None) -> tuple[int, Column, Type]:
    return len(value), *numpy_arrays.rows(arguments, numpy_arrays.unmasked(arguments, value), wanted)


def from_nested(arguments: Arguments, value: PyNested, wanted: Type | None) -> tuple[int, Column, Type]:
    return len(value), *arguments.nested(value, wanted)


def from_tuples(arguments: Arguments, value: Tuples, wanted: Type | None) -> tuple[int, Column, Type]:
    return len(value), *arguments.tuples(value, wanted)


def from_gpu(arguments: Arguments, value: Any, wanted: Type | None) -> tuple[int, Column, Type]:
    place, shape, base = arguments.placed(value, arguments.datatypes.widths)
    return shape[0], *numpy_arrays.in_rows(shape, place, base)


def from_awkward(arguments: Arguments, value: Any, wanted: Type | None) -> tuple[int, Column, Type]:
    from nessie.api.values.awkward_arrays import taken
    arguments.awkward = True
    return taken(arguments, value, wanted)


def from_table(arguments: Arguments, value: Any, wanted: Type | None) -> tuple[int, Column, Type]:
    return len(value), *arguments.table(value, wanted)


def from_array(arguments: Arguments, value: Any, wanted: Type | None) -> tuple[int, Column, Type]:
    return arguments.sequence(numpy_arrays.made_of(arguments, value), wanted)


def from_items(arguments: Arguments, value: Any, wanted: Type | None) -> tuple[int, Column, Type]:
    items = list(value)
    lists.check_depth(arguments, items)
    return len(items), *lists.elements(arguments, items, wanted)


def from_sparse(arguments: Arguments, value: Any, wanted: Type | None) -> tuple[int, Column, Type]:
    return from_nested(arguments, graphs.rows_of_matrix(arguments, value), wanted)


def from_graph(arguments: Arguments, value: Any, wanted: Type | None) -> tuple[int, Column, Type]:
    return from_nested(arguments, graphs.rows_of_graph(arguments, value, wanted), wanted)


def is_array(value: Any, wanted: Type | None) -> bool:
    return hasattr(value, "__array__") and not isinstance(value, np.generic)


CONVERTERS = (          # the first that takes the value converts it
    Converter("a text", lambda value, wanted: isinstance(value, str), from_text),
    Converter("NumPy's array", lambda value, wanted: isinstance(value, np.ndarray), from_numpy),
    Converter("Nested", lambda value, wanted: isinstance(value, PyNested), from_nested),
    Converter("Tuples", lambda value, wanted: isinstance(value, Tuples), from_tuples),
    Converter("an array on a GPU", lambda value, wanted: has_interface(value), from_gpu),
    Converter("Awkward's or Arrow's array", lambda value, wanted: is_foreign(value), from_awkward),
    Converter("a data frame", lambda value, wanted: numpy_arrays.is_table(value) and not isinstance(wanted, Seq),
              from_table),
    Converter("a sparse matrix of SciPy's", lambda value, wanted: graphs.is_sparse(value), from_sparse),
    Converter("a graph of networkx's", lambda value, wanted: graphs.is_graph(value), from_graph),
    Converter("what NumPy makes an array of", is_array, from_array),
    Converter("a list or another sequence", lambda value, wanted: is_sequence(value), from_items),
)
