"""What comes into expressions of arrays, and what comes out."""
from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from nessie.api.values.device import DeviceArray, has_interface
from nessie.api.values.graphs import is_sparse
from nessie.api.values.sequences import Nested, Tuples, on_host
from nessie.arrays import nodes, others
from nessie.arrays.bodies import outside
from nessie.arrays.bodies.kinds import BOOL, FLOAT, INT, Items, Kind, Rows, Union
from nessie.arrays.bodies.outside import KINDS, Seen, describe
from nessie.arrays.devices import GPU, HOST
from nessie.base.source import NessieError

Array = np.ndarray[Any, Any]
SEQUENCES = "nest takes a sequence of sequences"


def leaf(value: Any, copy: bool) -> nodes.Node:
    """Return the node of a value: a number, NumPy's array of numbers or records, nested lists, nessie.Nested; an array
    on a GPU, which is not copied."""
    match value:
        case bool() | np.bool_():
            return nodes.leaf((), BOOL, bool(value))
        case int() | np.integer():
            if outside.beyond_64_bits(value):
                raise NessieError(f"{value} has more than 64 bits", hint=outside.FLOAT_HOLDS_IT)
            return nodes.leaf((), INT, int(value))
        case float() | np.floating():
            return nodes.leaf((), FLOAT, float(value))
        case str():
            raise NessieError("a text is no array", hint="[ord(c) for c in text] has its characters' numbers, "
                              "text.encode() its bytes")
        case bytes():
            return leaf(np.frombuffer(value, np.uint8), copy)
        case _ if has_interface(value):
            return on_gpu(value)
        case Nested():
            place = GPU if has_interface(value.content) else HOST
            return nodes.leaf((len(value),), Rows(kind_of_column(value.content)), value, place)
        case Tuples():
            return nodes.leaf((len(value),), kind_of_column(value), value, HOST)
        case [first, *_] if (names := outside.names_of(type(first))) and not outside.names_of(type(value)):
            return leaf(of_records(value, type(first), names), copy)
    if not is_sparse(value) and (ours := others.taken(value)) is not value:
        return leaf(ours, copy)
    array = as_array(value)
    if array.ndim == 0 and array.dtype.kind not in KINDS:
        raise NessieError(f"{describe(value)} cannot be in an array", hint="numbers, truth values and records of them "
                          "can")
    if array.ndim == 0:
        return leaf(array.item(), copy)
    kind = kind_of_dtype(array)
    array = np.array(array, order="C") if copy or not array.flags.c_contiguous else array.view()
    array.flags.writeable = False               # an array never changes
    return nodes.leaf(array.shape, kind, array, HOST)


def on_gpu(value: Any) -> nodes.Node:
    """Return the node of an array that lies on a GPU."""
    interface = value.__cuda_array_interface__
    kind = kind_of_dtype(np.empty(0, np.dtype(interface["typestr"])))
    return nodes.leaf(tuple(interface["shape"]), kind, value, GPU)


def is_of_others(value: Any) -> bool:
    """Is it an array of another library's on a GPU, or are rows of one?"""
    inner = value.content if isinstance(value, Nested) else value
    return has_interface(inner) and not isinstance(inner, DeviceArray)


def fetched(node: nodes.Node) -> Any:
    """Return the node's value in the computer's memory."""
    if not node.shape:
        return one_value(node.value, node.kind)
    if node.device == HOST:
        return node.value
    found = on_host(node.value)
    if isinstance(found, np.ndarray):
        found.flags.writeable = False
    return found


def of_records(given: Sequence[Any], of: type, names: Sequence[str]) -> Tuples:
    """Return the columns of objects of one class, by its attributes."""
    if any([type(one) is not of for one in given]):
        raise NessieError(f"these are not all of the class {of.__name__}")
    columns = [leaf([getattr(one, name) for one in given], False).value for name in names]
    if any([np.ndim(column) > 1 for column in columns if isinstance(column, np.ndarray)]):
        raise NessieError(f"the attributes of {of.__name__} are no numbers")
    return Tuples(*columns, make=of)


def as_array(value: Any) -> Array:
    if outside.is_masked(value):
        raise NessieError(outside.MASKED, hint=outside.UNMASKED)
    try:
        array = np.asarray(value) if not isinstance(value, bytes) else np.frombuffer(value, np.uint8)
    except ValueError:
        raise NessieError("these rows are not of one length",
                          hint="nessie.nest(rows) takes rows of any lengths") from None
    if outside.beyond_64_bits(array):
        raise NessieError(outside.BEYOND, hint=outside.FLOAT_HOLDS_IT)
    if array.dtype.kind == "O":
        raise of_objects(value, array)
    return array


def of_objects(value: Any, array: Array) -> NessieError:
    """Return the error of Python objects: what they are, and what is given instead of them."""
    held = [one for one in array.flat if not isinstance(one, bool | int | float | np.generic)]
    if not held and isinstance(value, np.ndarray):
        return NessieError("an array of objects has no fixed width",
                           hint="x.astype(int) and x.astype(float) have; x.tolist() is taken as a list is")
    if not held:
        return NessieError(outside.BEYOND_64, hint=outside.FLOAT_HOLDS_IT)
    if array.ndim and held[0] is None:
        return NessieError("None is no number: an array has a value at each place",
                           hint="math.nan stands for a missing float")
    if array.ndim == 0 and isinstance(value, dict):
        return NessieError("a dict has no order of its elements by number", hint="list(d.values()) has its values")
    if is_sparse(value):
        return NessieError("a sparse matrix has no elements at most of its places",
                           hint="x.toarray() has zeros there; nessie.nest(x) has the columns and values of each row")
    if array.ndim == 0 and isinstance(value, Iterable):
        return NessieError(f"{describe(value)} has no elements at places", hint="list(x) has them in order")
    return NessieError(f"{describe(value) if array.ndim == 0 else describe(held[0])} cannot be in an array: it holds "
                       "numbers, truth values or records",
                       hint="nessie.nest(rows) takes rows of any lengths" if isinstance(held[0], list | tuple)
                       else "numbers that stand for the others can be: [ids[x] for x in values]")


def kind_of_dtype(array: Array) -> Kind:
    if array.dtype.names:
        return Items(tuple([kind_of_dtype(array[name]) for name in array.dtype.names]), tuple(array.dtype.names))
    if array.dtype.kind not in KINDS:
        raise NessieError(f"an array of {array.dtype} holds no numbers", hint="numbers, truth values and records of "
                          "them can be in an array")
    return KINDS[array.dtype.kind]


def dtype_of(value: Any, kind: Kind) -> np.dtype[Any]:
    """Return the dtype of a node's elements: of tuples, the one of records; of rows, that of their elements. A value
    may be narrower than what is not computed yet will be."""
    if isinstance(value, np.ndarray):
        own: np.dtype[Any] = value.dtype
        return own
    match kind:
        case Items(items, names):
            columns = value.columns if isinstance(value, Tuples) else [None] * len(items)
            fields = names or [f"f{n}" for n in range(len(items))]
            return np.dtype([(field, dtype_of(column, one)) for field, column, one in zip(fields, columns, items)])
        case Rows(element):
            return dtype_of(value.content if isinstance(value, Nested) else None, element)
    return np.dtype(nodes.DTYPES[str(kind)])


def kind_of_column(column: Any) -> Kind:
    match column:
        case Tuples():
            names = outside.names_of(column.make)
            return Items(tuple([kind_of_column(one) for one in column.columns]), names, column.make)
        case Nested():
            return Rows(kind_of_column(column.content))
    return kind_of_dtype(column)


def nested(rows: Any) -> nodes.Node:
    """Return the node of rows of any lengths."""
    rows = others.taken(rows)
    if isinstance(rows, Nested):
        return leaf(rows, False)
    if isinstance(rows, Tuples):
        raise NessieError(f"{SEQUENCES}, and this is one of tuples",
                          hint="nessie.array(x) is an array of tuples")
    if not isinstance(rows, Iterable):
        raise NessieError(f"{SEQUENCES}, and this is {describe(rows)}", hint="[[1, 2], [], [3]]")
    rows = list(rows)
    return leaf(rows_of_rows(rows, max([depth(row) for row in rows], default=1)), False)


def depth(row: Any) -> int:
    """Return how many levels of sequences there are."""
    if outside.names_of(type(row)):         # a record
        return 0
    if isinstance(row, str):
        raise NessieError("a text is no row of numbers", hint="text.encode() has its bytes")
    if isinstance(row, bytes):
        return 1
    if not isinstance(row, Sequence | Nested):
        return np.ndim(row)
    within = [depth(one) for one in row] if len(row) and depth(row[0]) else [0]
    return 1 + max(within)


def rows_of_rows(rows: Any, levels: int) -> Nested:
    """Return the rows, which have so many levels of sequences in each."""
    if any([depth(row) == 0 for row in rows]):
        raise NessieError(SEQUENCES, hint="nessie.array(x) takes a sequence of numbers")
    offsets = np.cumsum([0, *[len(row) for row in rows]])
    if levels > 1:
        return Nested(offsets, rows_of_rows([one for row in rows for one in row], levels - 1))
    first = next((row[0] for row in rows if len(row)), None)
    if names := outside.names_of(type(first)):
        return Nested(offsets, of_records([one for row in rows for one in row], type(first), names))
    filled = [as_array(row) for row in rows if len(row)]
    content = np.concatenate(filled) if filled else np.empty(0)
    kind_of_dtype(content)
    return Nested(offsets, content)


def result(value: Any, shape: nodes.Shape, kind: Kind) -> Any:
    """Return what a call gives as a node's value: an array of the shape, read-only."""
    if not shape:
        return value
    content = value
    for _ in shape[1:]:
        content = content.content
    if isinstance(kind, Items):
        content = grouped(content.columns if isinstance(content, Tuples) else (content,), kind)
        if len(shape) > 1:
            content = records(content, kind)
    if isinstance(content, DeviceArray):
        known = tuple([length for length in shape if length is not None])
        return content.reshape(known) if len(known) == len(shape) else content
    if isinstance(content, np.ndarray):
        if len(shape) > 1:
            content = content.reshape(shape if None not in shape else whole_shape(value, shape))
        content.flags.writeable = False
    return content


def one_value(value: Any, kind: Kind) -> Any:
    """Return a number, or a tuple, that a call gives; of a class of records, an object of it."""
    if not isinstance(kind, Items):
        return value
    return of_items(kind, [one_value(part, of) for part, of in zip(parts(value, kind.items), kind.items)])


def of_items(kind: Items, items: Sequence[Any]) -> Any:
    """Return the tuple, or the record, of these items."""
    return tuple(items) if kind.make is None else kind.make(*items)


def whole_shape(value: Any, shape: nodes.Shape) -> tuple[int, ...]:
    """Return the shape, of which some lengths are known only now. All rows are as long as the first."""
    row, lengths, content = value, [], value
    for known in shape:
        lengths.append(known if known is not None else 0 if row is None else len(row))
        row = row[0] if isinstance(row, Nested) and len(row) else None
        content = content.content if isinstance(content, Nested) else content
    if math.prod(lengths) != len(content):
        raise NessieError("rows of an array of several dimensions have one length, and these have several")
    return tuple(lengths)


def narrowed(operation: nodes.Narrowed) -> Any:
    """Return the elements of what is narrowed in its dtype, each in its range."""
    wide, dtype = np.asarray(fetched(operation.of)), operation.dtype
    if dtype.kind in "iu":
        least, most = np.iinfo(dtype).min, np.iinfo(dtype).max
        beyond = (wide < least) | (wide > most) if wide.size and (wide.min() < least or wide.max() > most) else None
        if beyond is not None:
            first = np.unravel_index(np.argmax(beyond), wide.shape)
            raise NessieError(f"{wide[first]} is no {dtype}: the least is {least}, the greatest {most}",
                              *places_of(operation.body, "".join([f"[{i}]" for i in first])),
                              hint=f"a.clip({least}, {most}) is within them")
    with np.errstate(over="ignore"):
        found = wide.astype(dtype)
    if not operation.of.shape:
        return found.item()
    found.flags.writeable = False
    return found


def places_of(body: Seen | None, element: str) -> list[tuple[Any, str]]:
    """Where a body stands, for an error at this element; '' if it is of one value."""
    if body is None:
        return []
    span = body.span(body.written.tree) if body.caller is None else body.caller.span
    return [(span, f"at element {element}" if element else "")] if span is not None else []


def parts(value: Any, items: Sequence[Kind]) -> list[Any]:
    """Return the parts of a tuple as NESL has it, in which the parts of a last tuple lie side by side."""
    if len(items) == 1:
        return [value]
    last = value[len(items) - 1:] if isinstance(items[-1], Items | Union) else value[len(items) - 1]
    return [*value[:len(items) - 1], last]


def grouped(columns: Sequence[Any], kind: Items) -> Tuples:
    """Return the columns of tuples as Tuples, the last ones within others."""
    found = [column if not isinstance(of, Items) else
             grouped(column.columns if isinstance(column, Tuples) else column, of)
             for column, of in zip(parts(columns, kind.items), kind.items)]
    return Tuples(*found, make=kind.make)


def records(column: Tuples, kind: Items) -> Array:
    """Return the tuples as an array of records, whose fields are the attributes, or f0, f1, ..."""
    names = kind.names or [f"f{n}" for n in range(len(kind.items))]
    columns = [records(one, of) if isinstance(one, Tuples) and isinstance(of, Items) else np.asarray(on_host(one))
               for one, of in zip(column.columns, kind.items)]
    found = np.empty(len(column), [(name, part.dtype) for name, part in zip(names, columns)])
    for name, part in zip(names, columns):
        found[name] = part
    return found
