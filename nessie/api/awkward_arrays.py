"""Awkward's arrays as NESL's values and back, in the memory that they have; Arrow's by way of Awkward.

    ListOffsetArray, LargeList      Nested: the same offsets, if they are 64 bits wide and begin with 0
    ListArray                       View: starts and lengths
    RegularArray                    Uniform
    RecordArray                     a tuple, or the datatype that its name or the parameter's type says
    option types                    what is in them, where nothing is missing
    strings                         texts: characters of 32 bits, a copy

Awkward takes its arrays for values that nobody changes; so does Nessie, and a result may share their memory.
"""
from __future__ import annotations

from typing import Any

import numpy as np

from nessie.api.arguments import Arguments, known
from nessie.api.sequences import Nested as PyNested
from nessie.api.sequences import Tuples, characters, check_offsets, is_text
from nessie.base import values
from nessie.base.source import NessieError, Unsupported
from nessie.base.types import STRING, Pair, Seq, Type, nest_right
from nessie.base.values import Column, Uniform, View


def awkward() -> Any:
    try:
        import awkward
    except ImportError:
        raise Unsupported("Awkward Array is not installed", hint="pip install 'nessie-nesl[python]'") from None
    return awkward


def taken(arguments: Arguments, value: Any, wanted: Type | None) -> tuple[int, Column, Type]:
    """An Awkward or Arrow array's elements; `wanted` is the type of one."""
    ak = awkward()
    if type(value).__module__.startswith("pyarrow"):
        value = ak.from_arrow(value)
    if not isinstance(value, ak.Array):
        raise arguments.error(f"a {type(value).__name__} of Awkward is no sequence", "its items are: x.tolist()")
    if ak.backend(value) != "cpu":
        raise arguments.error(f"an Awkward array of the backend {ak.backend(value)}",
                              "nessie.Nested(offsets, content) takes its parts where they are")
    column, type_ = Taking(arguments).column(value.layout, wanted)
    return len(value), column, type_


class Taking:
    """Layouts as columns with their types."""

    def __init__(self, arguments: Arguments) -> None:
        self.arguments = arguments

    def column(self, layout: Any, wanted: Type | None) -> tuple[Column, Type]:
        while layout.is_option or layout.is_indexed:
            if layout.is_option and layout.mask_as_bool(valid_when=False).any():
                raise self.arguments.error("there are missing values in an Awkward array",
                                           "ak.drop_none or ak.fill_none replace them")
            layout = layout.content if type(layout).__name__ == "UnmaskedArray" else layout.project()
        if layout.is_unknown:
            type_ = known(wanted)
            return self.arguments.none(type_), type_
        if layout.is_record:
            return self.record(layout, wanted)
        if layout.is_numpy and layout.data.ndim == 1:
            return self.arguments.scalars(layout.data, wanted, own=True)
        if layout.is_numpy:
            layout = layout.to_RegularArray()
        if layout.parameter("__array__") in ("string", "bytestring"):
            return self.text(layout, wanted)
        if layout.is_list:
            return self.lists(layout, wanted.element if isinstance(wanted, Seq) else None)
        raise self.arguments.error("the elements of an Awkward array differ in type",
                                   "the elements of a sequence have one type")

    def record(self, layout: Any, wanted: Type | None) -> tuple[Column, Type]:
        types = self.arguments.datatypes
        named = next((kind for kind, name in types.named.items() if name == layout.parameter("__record__")), tuple)
        data, wants = self.arguments.kind_of_tuple(named, len(layout.contents), wanted)
        parts = [self.column(part[:layout.length], want) for part, want in zip(layout.contents, wants, strict=True)]
        type_ = nest_right([t for _, t in parts], Pair)
        column = nest_right([c for c, _ in parts], lambda first, rest: (first, rest))
        return column, types.applied(data, type_) if data else type_

    def lists(self, layout: Any, wanted: Type | None) -> tuple[Column, Type]:
        if layout.is_regular:
            content, element = self.column(layout.content[:layout.length * layout.size], wanted)
            return Uniform(layout.length, layout.size, content), Seq(element)
        if not hasattr(layout, "offsets"):
            return self.views(layout, wanted)
        offsets = np.asarray(layout.offsets.data)
        if offsets.dtype != np.int64:
            self.arguments.notes.append(f"{self.arguments.where}: {offsets.size:,} offsets of {offsets.dtype}, "
                                        "converted to int64")
        first, last = int(offsets[0]), int(offsets[-1])
        offsets = np.ascontiguousarray(offsets if first == 0 else offsets - first, np.int64)
        check_offsets(offsets, last - first)
        content, element = self.column(layout.content[first:last], wanted)
        return values.Nested(offsets, content), Seq(element)

    def views(self, layout: Any, wanted: Type | None) -> tuple[Column, Type]:
        starts = np.ascontiguousarray(layout.starts.data, np.int64)
        stops = np.asarray(layout.stops.data)[:len(starts)].astype(np.int64, copy=False)
        lengths = stops - starts
        if len(starts) and (starts.min() < 0 or lengths.min() < 0 or stops.max() > layout.content.length):
            raise self.arguments.error("an Awkward array is broken: rows lie outside of their content")
        content, element = self.column(layout.content, wanted)
        return View(starts, lengths, content), Seq(element)

    def text(self, layout: Any, wanted: Type | None) -> tuple[Column, Type]:
        layout = layout.to_ListOffsetArray64(True)
        data = np.asarray(layout.content.data)[:int(layout.offsets.data[-1])]
        self.arguments.notes.append(f"{self.arguments.where}: texts, converted to characters of 32 bits")
        if data.size and data.max() >= 128:         # of several bytes
            return self.arguments.items(awkward().Array(layout).to_list(), wanted)
        offsets = np.asarray(layout.offsets.data)
        if wanted is not None and not isinstance(wanted, Seq) and (np.diff(offsets) == 1).all():
            return data.astype(np.int32), wanted
        return values.Nested(offsets, data.astype(np.int32)), STRING


def as_awkward(value: Any) -> Any:
    """A result (an array, Nested, Tuples), or a part of one, as an Awkward array in the same memory; tuples of such one
    by one; anything else as it is."""
    ak = awkward()
    if isinstance(value, tuple):
        parts = [as_awkward(part) for part in value]
        return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
    if isinstance(value, PyNested | Tuples | np.ndarray):
        return ak.Array(layout_of(value))
    return value


def layout_of(value: Any) -> Any:
    ak = awkward()
    contents = ak.contents
    if isinstance(value, PyNested):
        value = value.to_numpy()
        if is_text(value.content):
            return texts(value.to_list())
        return contents.ListOffsetArray(ak.index.Index64(value.offsets), layout_of(value.content))
    if isinstance(value, Tuples):
        name = getattr(value.make, "__name__", None)
        return contents.RecordArray([layout_of(column) for column in value.columns], None, length=len(value),
                                    parameters={"__record__": name} if name else None)
    if isinstance(value, np.ndarray):
        return texts(characters(value)) if is_text(value) else contents.NumpyArray(value)
    raise NessieError(f"a {type(value).__name__} is no sequence of Nessie's")


def texts(items: list[str]) -> Any:
    """Awkward's strings: bytes of UTF-8, a copy."""
    return awkward().to_layout(awkward().Array([*items, ""])[:-1])
