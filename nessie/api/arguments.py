"""Python's values as NESL's: flat values (nessie.base.values) with their types.

A number, a bool or a str is a scalar or a text; a tuple a tuple, a datatype's named tuple the datatype. Sequences are
NumPy arrays, Nested, Tuples, Awkward's and Arrow's arrays, those of a GPU, and Python's lists for small data. Arrays of
float64, int64 and bool that are contiguous are used where they lie; what has to be converted is told in `notes`.

What the parameter's type says decides where Python does not: whether an int is a float, a text of one character a
character, what an empty list is of. What neither says is a type variable.
"""
from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

import numpy as np

from nessie.api.device import DeviceArray, has_interface, on_device
from nessie.api.sequences import Nested as PyNested
from nessie.api.sequences import Tuples, check_offsets, listed
from nessie.base import values
from nessie.base.source import NessieError
from nessie.base.types import (
    BOOL,
    CHAR,
    FLOAT,
    INT,
    STRING,
    Base,
    ContentOf,
    Data,
    Pair,
    Seq,
    Type,
    Var,
    components,
    free_variables,
    nest_right,
)
from nessie.base.values import DTYPES, Column, Flat, OnDevice, Uniform

UNKNOWN = Var("what is in an empty sequence")
Found = tuple[Column, Type]


@dataclass
class Datatypes:
    """Those of a program: `content` what a datatype is made of, `general` the same whatever it is applied to; `applied`
    the datatype whose constructor takes this type, by its name; `named` which named tuples stand for which."""
    content: ContentOf
    general: Callable[[str], Type]
    applied: Callable[[str, Type], Data]
    named: dict[type, str] = field(default_factory=dict)

    def of(self, value: Any) -> str | None:
        """The datatype that the value, or the class, is of."""
        return self.named.get(value if isinstance(value, type) else type(value))


@dataclass
class Arguments:
    """The arguments of one call. `shared`: arrays that are still the caller's, who may write to them; `awkward`,
    `device`: has there been such an array?; `places`: those on a GPU; `pending`: may a GPU still be at work on one?;
    `unchecked`: offsets on a GPU that are yet to be checked, with the length of what they are of."""
    datatypes: Datatypes
    where: str = ""
    notes: list[str] = field(default_factory=list)
    shared: list[np.ndarray[Any, Any]] = field(default_factory=list)
    awkward: bool = False
    device: bool = False
    pending: bool = False
    places: list[OnDevice] = field(default_factory=list)
    unchecked: list[tuple[OnDevice, int]] = field(default_factory=list)

    def value(self, value: Any, wanted: Type | None) -> tuple[Any, Type]:
        """The flat value, and its type; `wanted` as far as it is known."""
        if isinstance(value, np.ndarray) and value.ndim == 0:
            value = value.item()
        match value:
            case bool() | np.bool_():
                return bool(value), BOOL
            case int() | np.integer():
                return (float(value), FLOAT) if wanted == FLOAT else (self.whole(int(value)), INT)
            case float() | np.floating():
                return float(value), FLOAT
            case str():
                return (value, CHAR) if wanted == CHAR and len(value) == 1 else (values.text_value(value), STRING)
            case tuple():
                return self.components(value, wanted)
        length, column, element = self.sequence(value, wanted.element if isinstance(wanted, Seq) else None)
        return Flat(length, column), Seq(element)

    def components(self, value: tuple[Any, ...], wanted: Type | None) -> tuple[Any, Type]:
        data, wants = self.kind_of_tuple(type(value), len(value), wanted)
        parts = [self.value(item, want) for item, want in zip(value, wants, strict=True)]
        type_ = nest_right([t for _, t in parts], Pair)
        return pairs([v for v, _ in parts]), self.datatypes.applied(data, type_) if data else type_

    def kind_of_tuple(self, kind: type, length: int, wanted: Type | None) -> tuple[str | None, list[Type | None]]:
        """The datatype that such a tuple stands for, if any, and what its components should be."""
        data = self.datatypes.of(kind) or (wanted.name if isinstance(wanted, Data) else None)
        if data is not None and isinstance(wanted, Data) and wanted.name == data:
            wanted = self.datatypes.content(wanted)
        elif data is not None:
            wanted = self.datatypes.general(data)
        if length < (1 if data else 2):
            raise self.error(f"a tuple of {length} component{'' if length == 1 else 's'} is nothing in NESL")
        return data, split(wanted, length)

    # Sequences ----------------------------------------------------------------------------------

    def sequence(self, value: Any, wanted: Type | None) -> tuple[int, Column, Type]:
        """How many elements there are, their column and their type; `wanted` is that of an element."""
        match value:
            case str():
                return len(value), values.code_points(value), CHAR
            case np.ndarray():
                return self.array(value, wanted)
            case PyNested():
                return len(value), *self.nested(value, wanted)
            case Tuples():
                return len(value), *self.tuples(value, wanted)
        if has_interface(value):
            place, base, pending = on_device(value)
            self.device, self.pending = True, self.pending or pending
            self.places.append(place)
            return len(place), place, base
        if is_foreign(value):
            from nessie.api.awkward_arrays import taken
            self.awkward = True
            return taken(self, value, wanted)
        if hasattr(value, "__array__"):
            return self.array(np.asarray(value), wanted)
        if isinstance(value, Sequence | set | frozenset) and not isinstance(value, bytes | bytearray):
            return len(value), *self.items(list(value), wanted)
        raise self.error(f"a {type(value).__name__} is no value of NESL", "numbers, bools, str, tuples, lists, NumPy's "
                         "and Awkward's arrays are")

    def array(self, array: np.ndarray[Any, Any], wanted: Type | None) -> tuple[int, Column, Type]:
        """A NumPy array; of more dimensions, rows of one length."""
        length = len(array)
        if array.dtype.kind == "O":
            return length, *self.items(array.tolist(), wanted)
        if array.dtype.names:
            fields = [array[name] for name in array.dtype.names]
            return length, *self.columns(fields, tuple, wanted)
        if array.dtype.kind == "U" and array.dtype.itemsize != 4:
            return length, *self.items([str(item) for item in array.reshape(-1)] if array.ndim == 1
                                       else array.tolist(), wanted)
        inner = wanted
        for _ in array.shape[1:]:
            inner = inner.element if isinstance(inner, Seq) else None
        column: Column
        type_: Type
        column, type_ = self.scalars(array, inner)
        for dimension in range(array.ndim - 1, 0, -1):
            rows = int(np.prod(array.shape[:dimension]))
            column, type_ = Uniform(rows, array.shape[dimension], column), Seq(type_)
        return length, column, type_

    def scalars(self, array: np.ndarray[Any, Any], wanted: Type | None, own: bool = False) -> Found:
        """Its elements in order. `own`: nobody writes to it, as far as Nessie knows."""
        if array.dtype.kind == "U":
            return np.ascontiguousarray(array).reshape(-1).view(np.int32).astype(DTYPES["char"], copy=False), CHAR
        base = {"b": BOOL, "i": INT, "u": INT, "f": FLOAT}.get(array.dtype.kind)
        if base is None:
            raise self.error(f"an array of {array.dtype} is no value of NESL", "arrays of floats, integers, bools and "
                             "characters are")
        if array.dtype.kind == "u" and array.size and int(array.max()) > np.iinfo(np.int64).max:
            raise self.error("there are integers beyond 64 bits")
        if base == INT and wanted == FLOAT:
            base = FLOAT
        dtype = DTYPES[base.name]
        if array.dtype == dtype and array.flags.c_contiguous:
            flat = array.reshape(-1)
            if not own:
                self.shared.append(flat)
            return flat.view(np.ndarray) if array.dtype is dtype else flat.view(np.ndarray).view(dtype), base
        why = f"of {array.dtype}, converted to {dtype}" if array.dtype != dtype else "not contiguous, copied"
        self.notes.append(f"{self.where}: an array of {array.size:,} elements {why}")
        return np.ascontiguousarray(array, dtype).reshape(-1), base

    def nested(self, nested: PyNested, wanted: Type | None) -> Found:
        inner = wanted.element if isinstance(wanted, Seq) else None
        length, content, element = self.sequence(nested.content, inner)
        if has_interface(nested.offsets):
            offsets, base, pending = on_device(nested.offsets)
            if base != INT:
                raise self.error("the offsets of a Nested are integers")
            if not isinstance(nested.offsets, DeviceArray):         # Nessie's own are right
                self.unchecked.append((offsets, length))
            self.device, self.pending = True, self.pending or pending
            self.places.append(offsets)
            return values.Nested(offsets, content), Seq(element)
        check_offsets(nested.offsets, length)
        if nested.offsets.flags.writeable:
            self.shared.append(nested.offsets)
        return values.Nested(nested.offsets, content), Seq(element)

    def tuples(self, tuples: Tuples, wanted: Type | None) -> Found:
        make = tuples.make if isinstance(tuples.make, type) else tuple
        return self.columns(list(tuples.columns), make, wanted)

    def columns(self, columns: list[Any], kind: type, wanted: Type | None) -> Found:
        """Components of equally many tuples, of this class."""
        data, wants = self.kind_of_tuple(kind, len(columns), wanted)
        parts = [self.sequence(column, want)[1:] for column, want in zip(columns, wants, strict=True)]
        type_ = nest_right([t for _, t in parts], Pair)
        return pairs([c for c, _ in parts]), self.datatypes.applied(data, type_) if data else type_

    # Lists --------------------------------------------------------------------------------------

    def items(self, items: list[Any], wanted: Type | None) -> Found:
        """The column of a list's elements, all of one type."""
        if not items:
            type_ = known(wanted)
            return self.none(type_), type_
        kinds = set(map(type, items))
        for name, classes in SCALARS.items():
            if all(issubclass(kind, classes) and (name == "bool" or not issubclass(kind, bool)) for kind in kinds):
                return self.numbers(items, FLOAT if wanted == FLOAT and name != "bool" else Base(name))
        if all(issubclass(kind, str) for kind in kinds):
            return text_column(items, wanted)
        if all(issubclass(kind, tuple) for kind in kinds):
            return self.rows(items, kinds, wanted)
        if not any(issubclass(kind, (*chain(*SCALARS.values()), str, tuple)) for kind in kinds):
            return self.lists(items, wanted)
        names = sorted({kind.__name__ for kind in kinds})
        raise self.error(f"the elements of a list differ: there are {', '.join(names[:-1])} and {names[-1]}",
                         "the elements of a sequence have one type")

    def numbers(self, items: list[Any], base: Base) -> Found:
        try:
            return np.array(items, DTYPES[base.name]), base
        except OverflowError:
            raise self.error("there are integers beyond 64 bits") from None

    def rows(self, items: list[Any], kinds: set[type], wanted: Type | None) -> Found:
        lengths = {len(item) for item in items}
        if len(lengths) > 1:
            raise self.error(f"the tuples in a list have one length, not {min(lengths)} and {max(lengths)}")
        kind = kinds.pop() if len(kinds) == 1 else tuple
        return self.columns([list(column) for column in zip(*items)], kind, wanted)

    def lists(self, items: list[Any], wanted: Type | None) -> Found:
        """A column of sequences: their elements one after another."""
        inner = wanted.element if isinstance(wanted, Seq) else None
        offsets = np.zeros(len(items) + 1, np.int64)
        np.cumsum([len(item) if hasattr(item, "__len__") else self.refused(item) for item in items], out=offsets[1:])
        if all(isinstance(item, np.ndarray) and item.ndim == 1 and item.dtype.kind in "biuf" for item in items) \
                and len({item.dtype for item in items}) == 1:
            content, element = self.scalars(np.concatenate(items), inner, own=True)
        else:
            content, element = self.items(list(chain.from_iterable(map(pieces, items))), inner)
        return values.Nested(offsets, content), Seq(element)

    def refused(self, item: Any) -> int:
        self.sequence(item, None)
        raise self.error(f"a {type(item).__name__} is no element of a list")

    def none(self, type_: Type) -> Column:
        """The column of no elements."""
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

    def whole(self, number: int) -> int:
        if not -2**63 <= number < 2**63:
            raise self.error(f"{number} is beyond 64 bits", "a float holds it: float(n)")
        return number

    def error(self, what: str, hint: str = "") -> NessieError:
        return NessieError(f"{self.where}: {what}" if self.where else what, hint=hint)


SCALARS: dict[str, tuple[type, ...]] = {
    "bool": (bool, np.bool_),
    "int": (int, np.integer),
    "float": (int, float, np.integer, np.floating),
}


def is_open(type_: Type) -> bool:
    """Are there variables in it?"""
    return next(free_variables(type_), None) is not None


def known(wanted: Type | None) -> Type:
    """The type of an element that is not there."""
    return UNKNOWN if wanted is None or is_open(wanted) else wanted


def split(wanted: Type | None, length: int) -> list[Type | None]:
    """The types of so many components, as far as they are known."""
    if not isinstance(wanted, Pair):
        return [wanted] if length == 1 else [None] * length
    known = list(components(wanted))
    if len(known) > length:
        known[length - 1:] = [nest_right(known[length - 1:], Pair)]
    return [*known, *[None] * (length - len(known))]


def pairs(items: list[Any]) -> Any:
    return nest_right(items, lambda first, rest: (first, rest))


def text_column(items: list[str], wanted: Type | None) -> Found:
    if wanted == CHAR and all(len(item) == 1 for item in items):
        return values.code_points("".join(items)), CHAR
    offsets = np.zeros(len(items) + 1, np.int64)
    np.cumsum([len(item) for item in items], out=offsets[1:])
    return values.Nested(offsets, values.code_points("".join(items))), STRING


def pieces(item: Any) -> Iterable[Any]:
    """The elements of a sequence in a list."""
    return item if isinstance(item, list | tuple | range | set | frozenset) else listed(item)


def is_foreign(value: Any) -> bool:
    """Is it an array of Awkward or Arrow?"""
    return type(value).__module__.partition(".")[0] in ("awkward", "pyarrow")


