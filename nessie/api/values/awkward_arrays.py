"""Converts Awkward's arrays to NESL's values and back, in their own memory; and Arrow's, by way of Awkward.

    ListOffsetArray, LargeList      Nested: the same offsets, if they are 64 bits wide and begin with 0
    ListArray                       View: starts and lengths
    RegularArray                    Uniform
    RecordArray                     a tuple, or the datatype that its name or the parameter's type says
    option types                    their content, if nothing is missing
    strings                         texts: characters of 32 bits, a copy

Awkward treats its arrays as immutable values. So does Nessie, and a result may share their memory.
"""
from __future__ import annotations

from typing import Any

import numpy as np

from nessie.api.values.arguments import Arguments
from nessie.api.values.device import DeviceArray
from nessie.api.values.lists import elements
from nessie.api.values.numpy_arrays import scalars
from nessie.api.values.open_types import element_of, known
from nessie.api.values.sequences import Nested as PyNested
from nessie.api.values.sequences import Tuples, a, characters, check_offsets, ends_of, is_text, on_host
from nessie.base import values
from nessie.base.source import NessieError, Unsupported
from nessie.base.system.extras import install
from nessie.base.system.forking import STEADY
from nessie.base.types import CHAR, STRING, Data, Pair, Seq, Type, nest_right
from nessie.base.values import Column, Uniform, View


def awkward() -> Any:
    try:
        with STEADY:
            import awkward
    except ImportError:
        raise Unsupported("Awkward Array is not installed", hint=install("python")) from None
    return awkward


class Absent(Exception):
    """Raised where an array has missing values."""


def taken(arguments: Arguments, value: Any, wanted: Type | None) -> tuple[int, Column, Type]:
    """The length, column and element type of an Awkward or Arrow array. `wanted` is the type of an element."""
    ak, kind, given = awkward(), a(type(value).__name__), value
    if hasattr(value, "as_py"):
        raise arguments.error(f"{kind} of Arrow's is no sequence", "its value is: x.as_py()")
    if type(value).__module__.startswith("pyarrow"):
        value = from_arrow(arguments, value)
    if not isinstance(value, ak.Array):
        raise arguments.error(f"{kind} of Awkward's is no sequence", "its items are: x.tolist()")
    if ak.backend(value) != "cpu":
        raise arguments.error(f"an Awkward array of the backend {ak.backend(value)}",
                              "nessie.Nested(offsets, content) takes its parts where they are")
    try:
        column, type_ = column_of(arguments, value.layout, wanted)
    except Absent:
        raise missing(arguments, given) from None
    except (IndexError, TypeError, ValueError) as error:
        raise arguments.error(f"an Awkward array is broken: {ak.validity_error(value) or error}") from None
    return len(value), column, type_


def missing(arguments: Arguments, given: Any) -> NessieError:
    if not type(given).__module__.startswith("pyarrow"):
        return arguments.error("there are missing values in an Awkward array",
                               "ak.drop_none or ak.fill_none replace them")
    kind = a(type(given).__name__)
    if getattr(given, "null_count", None) == 0:
        return arguments.error(f"there are missing values inside {kind} of Arrow's",
                               "ak.drop_none or ak.fill_none of ak.from_arrow(x) replace them")
    filled = ", x.fill_null(0) replaces them" if hasattr(given, "fill_null") else ""
    return arguments.error(f"there are missing values in {kind} of Arrow's", f"x.drop_null() leaves them out{filled}")


def from_arrow(arguments: Arguments, value: Any) -> Any:
    """The Awkward array over the same memory."""
    kind = str(getattr(value, "type", "")) or str(value.schema)
    try:
        found = awkward().from_arrow(value)
    except Exception as error:          # Awkward raises various classes for Arrow types that it does not know
        raise arguments.error(f"Awkward has nothing for {a(type(value).__name__)} of type {kind}",
                              "x.cast(...) makes a type of it that Awkward has") from error
    chunks = getattr(value, "chunks", [value])
    if len(chunks) > 1:
        arguments.note(f"{len(chunks)} chunks of Arrow's, put together")
    if "bool" in kind:
        arguments.note("bools of Arrow's, which are bits, converted")
    return found


def column_of(arguments: Arguments, layout: Any, wanted: Type | None) -> tuple[Column, Type]:
    """The column of a layout, and its type."""
    while layout.is_option or layout.is_indexed:
        if layout.is_option and layout.mask_as_bool(valid_when=False).any():
            raise Absent
        if type(layout).__name__ == "UnmaskedArray":
            layout = layout.content
        else:
            layout = layout.project()
            arguments.note(f"an Awkward array of {layout.length:,} elements that are selected by indices, copied")
    if layout.is_unknown:
        type_ = known(wanted)
        return arguments.none(type_), type_
    if layout.is_record:
        return record(arguments, layout, wanted)
    if layout.is_numpy and layout.data.ndim == 1:
        return scalars(arguments, layout.data, wanted, own=True)
    if layout.is_numpy:
        layout = layout.to_RegularArray()
    if layout.parameter("__array__") in ("string", "bytestring"):
        return texts_of(arguments, layout, wanted)
    if layout.is_list:
        return lists(arguments, layout, element_of(wanted))
    raise arguments.error("the elements of an Awkward array differ in type", "the elements of a sequence have one type")


def record(arguments: Arguments, layout: Any, wanted: Type | None) -> tuple[Column, Type]:
    """The column and type of a record: the datatype that the parameter wants; else the datatype of the record's name,
    if the fields match its components; else a tuple."""
    types = arguments.datatypes
    named = wanted.name if isinstance(wanted, Data) else types.called(layout.parameter("__record__"))
    if named is not None and not isinstance(wanted, Data) and len(layout.contents) != types.count(named):
        named = None
    data, wants = arguments.components_of(named, len(layout.contents), wanted)
    parts = [column_of(arguments, part[:layout.length], want)
             for part, want in zip(layout.contents, wants, strict=True)]
    type_ = nest_right([t for _, t in parts], Pair)
    column = nest_right([c for c, _ in parts], lambda first, rest: (first, rest))
    if data is None:
        return column, type_
    return column, types.applied(data, type_) if isinstance(wanted, Data) else types.found(data, type_) or type_


def lists(arguments: Arguments, layout: Any, wanted: Type | None) -> tuple[Column, Type]:
    if layout.is_regular:
        content, element = column_of(arguments, layout.content[:layout.length * layout.size], wanted)
        return Uniform(layout.length, layout.size, content), Seq(element)
    if not hasattr(layout, "offsets"):
        return views(arguments, layout, wanted)
    offsets = np.asarray(layout.offsets.data)
    if offsets.dtype != np.int64:
        arguments.note(f"{offsets.size:,} offsets of {offsets.dtype}, converted to int64")
    first, last = int(offsets[0]), int(offsets[-1])
    if first < 0 or last > layout.content.length:
        raise outside(arguments)
    offsets = np.ascontiguousarray(offsets if first == 0 else offsets - first, np.int64)
    check_offsets(offsets, last - first)
    content, element = column_of(arguments, layout.content[first:last], wanted)
    return values.Nested(offsets, content), Seq(element)


def views(arguments: Arguments, layout: Any, wanted: Type | None) -> tuple[Column, Type]:
    """A View: rows anywhere in their content. The rows are copied if values may be missing in the content, since those
    may lie outside of the rows."""
    starts = np.ascontiguousarray(layout.starts.data, np.int64)
    stops = np.asarray(layout.stops.data)[:len(starts)].astype(np.int64, copy=False)
    lengths = stops - starts
    filled = lengths != 0
    if (lengths < 0).any() or (starts[filled] < 0).any() or (stops[filled] > layout.content.length).any():
        raise outside(arguments)
    if has_options(layout.content):
        arguments.note(f"{len(starts):,} rows of values that might be missing, copied")
        return lists(arguments, layout.to_ListOffsetArray64(True), wanted)
    for ends in (layout.starts.data, layout.stops.data):
        if ends.dtype != np.int64:
            arguments.note(f"{len(ends):,} starts or stops of {ends.dtype}, converted to int64")
    content, element = column_of(arguments, layout.content, wanted)
    return View(np.where(filled, starts, 0) if not filled.all() else starts, lengths, content), Seq(element)


def has_options(layout: Any) -> bool:
    """Whether the layout may have missing values."""
    inside = layout.contents if hasattr(layout, "contents") else [layout.content] if hasattr(layout, "content") else []
    return bool(layout.is_option) or any(has_options(part) for part in inside)


def outside(arguments: Arguments) -> NessieError:
    return arguments.error("an Awkward array is broken: rows lie outside of their content")


def texts_of(arguments: Arguments, layout: Any, wanted: Type | None) -> tuple[Column, Type]:
    layout = layout.to_ListOffsetArray64(True)
    offsets, data = np.asarray(layout.offsets.data), np.asarray(layout.content.data)
    if int(offsets[-1]) > len(data):
        raise outside(arguments)
    data = data[:int(offsets[-1])]
    arguments.note("texts, converted to characters of 32 bits")
    if data.size and data.max() >= 128:         # some characters have several bytes
        return elements(arguments, awkward().Array(layout).to_list(), wanted)
    if wanted == CHAR and (np.diff(offsets) == 1).all():
        return data.astype(np.int32), CHAR
    check_offsets(offsets, len(data))
    return values.Nested(offsets, data.astype(np.int32)), STRING


# Results ----------------------------------------------------------------------------------------


def as_awkward(value: Any) -> Any:
    """Convert a result or a part of one (an array, Nested, Tuples) to an Awkward array over the same memory; from a
    GPU it is copied to the host. A tuple is converted component by component; anything else is returned unchanged."""
    ak = awkward()
    if isinstance(value, tuple):
        parts = [as_awkward(part) for part in value]
        return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
    if isinstance(value, PyNested | Tuples | DeviceArray | np.ndarray):
        return ak.Array(layout_of(value))
    return value


def layout_of(value: Any) -> Any:
    ak = awkward()
    contents = ak.contents
    value = on_host(value)
    if isinstance(value, PyNested):
        if is_text(value.content):
            return texts(value.to_list())
        return contents.ListOffsetArray(ak.index.Index64(value.offsets), layout_of(value.content))
    if isinstance(value, Tuples):
        name = getattr(value.make, "__name__", None)
        return contents.RecordArray([layout_of(column) for column in value.columns], None, length=len(value),
                                    parameters={"__record__": name} if name else None)
    if isinstance(value, np.ndarray):
        return texts(characters(value)) if is_text(value) else contents.NumpyArray(value)
    raise NessieError(f"{a(type(value).__name__)} is no sequence of Nessie's")


def texts(items: list[str]) -> Any:
    """Awkward's strings, a copy in UTF-8."""
    contents, index = awkward().contents, awkward().index
    try:
        encoded = [item.encode() for item in items]
    except UnicodeEncodeError as error:
        raise NessieError(f"a text is no UTF-8, as Awkward has it: {error.reason}") from None
    content = contents.NumpyArray(np.frombuffer(b"".join(encoded), np.uint8), parameters={"__array__": "char"})
    return contents.ListOffsetArray(index.Index64(ends_of(encoded)), content, parameters={"__array__": "string"})
