"""Converts NumPy's arrays to columns, in their own memory where the elements have Nessie's representation."""
from __future__ import annotations

from collections.abc import Mapping
from math import prod
from operator import eq
from typing import TYPE_CHECKING, Any

import numpy as np

from nessie.api.values import lists
from nessie.api.values.open_types import element_of
from nessie.api.values.sequences import CHARACTER, a
from nessie.base.fitted import fits, narrower
from nessie.base.types import BOOL, CHAR, FLOAT, INT, STRING, Base, Pair, Seq, Type, components, match_types
from nessie.base.values import DTYPES, Column, Uniform, no_character

if TYPE_CHECKING:
    from nessie.api.values.arguments import Arguments, Found

NARROW = ("int", "float")
Array = np.ndarray[Any, Any]
BASES = {"b": BOOL, "i": INT, "u": INT, "f": FLOAT}
CODE = np.dtype("<i4")
TEXTS = "UT"            # kinds of dtypes: texts of at most so many characters, and of any length


def scalar(arguments: Arguments, value: Any) -> Any:
    """The Python value in an array without dimensions, a NumPy scalar or a record. Anything else is returned
    unchanged."""
    if not hasattr(type(value), "shape") or value.shape != ():
        return value
    if isinstance(value, np.ndarray):
        value = unmasked(arguments, value)
    return value.item() if hasattr(value, "item") else value


def unmasked(arguments: Arguments, array: Array) -> Array:
    """The array as a plain ndarray, since rows of np.matrix are matrices. NessieError if elements are masked, or if a
    text has a code that is not a character's."""
    if array.dtype.kind == "U":
        codes = np.ascontiguousarray(array).reshape(-1).view(CODE.newbyteorder(array.dtype.byteorder))
        if (wrong := no_character(codes)) is not None:
            raise arguments.error(f"an array of texts has the code {codes[wrong]}, which is no character's")
    if type(array) is np.ndarray:
        return array
    if isinstance(array, np.ma.MaskedArray):
        if np.ma.flatten_mask(np.ma.getmaskarray(array)).any():
            raise arguments.error("elements of an array are masked", "x.compressed() leaves them out, x.filled(0) "
                                  "replaces them")
        return array.data.view(np.ndarray)
    return array.view(np.ndarray)


def made_of(arguments: Arguments, value: Any) -> Array:
    """The NumPy array that another library's object converts to."""
    if lacks(value):
        name = getattr(value, "name", None)
        raise arguments.error(f"{a(type(value).__name__)}{f' {name!r}' if name is not None else ''} has missing values",
                              "x.dropna() leaves them out, x.fillna(0) replaces them")
    try:
        array = np.asarray(value)
    except (RuntimeError, TypeError, ValueError) as error:
        raise arguments.error(f"{a(type(value).__name__)} gives no array of NumPy's: {error}") from None
    if array.ndim == 0:
        raise arguments.refused(value)
    return array


def lacks(value: Any) -> bool:
    """Whether a pandas column has missing values, which NumPy would get as nan. A nan in an array of floats is not
    missing."""
    if is_table(value):
        return any(map(lacks, columns_of(value)))
    return hasattr(value, "isna") and not isinstance(getattr(value, "dtype", None), np.dtype) \
        and bool(np.any(value.isna()))


def is_table(value: Any) -> bool:
    """Whether the value is a data frame, of pandas or a similar library."""
    return hasattr(value, "columns") and (hasattr(value, "items") or hasattr(value, "__dataframe__"))


def columns_hint(columns: Mapping[Any, Type], wanted: Pair) -> str:
    """Return the hint that names the columns of these types that would fit, in the order of the components."""
    chosen: list[Any] = []
    for want in components(wanted):
        left = [(name, type_) for name, type_ in columns.items() if name not in chosen]
        same, fitting = [[name for name, type_ in left if fits(want, type_)] for fits in (eq, becomes)]
        chosen += (same or fitting)[:1]
    return f"x[{chosen!r}] fits" if len(chosen) == len(components(wanted)) else ""


def becomes(wanted: Type, type_: Type) -> bool:
    return match_types(wanted, type_) is not None or (wanted, type_) == (FLOAT, INT)


def columns_of(table: Any) -> list[Any]:
    if hasattr(table, "items"):
        return [column for _, column in table.items()]
    return [table[name] for name in table.columns]


def rows(arguments: Arguments, array: Array, wanted: Type | None) -> Found:
    """The column of an array's rows, and their type. Further dimensions are rows of one length."""
    for _ in array.shape[1:]:
        wanted = element_of(wanted)
    return in_rows(array.shape, *elements(arguments, array, wanted))


def in_rows(shape: tuple[int, ...], column: Column, type_: Type) -> Found:
    """The column of the rows, of one length in each dimension, of an array of this shape whose elements these are."""
    for dimension in range(len(shape) - 1, 0, -1):
        column, type_ = Uniform(prod(shape[:dimension]), shape[dimension], column), Seq(type_)
    return column, type_


def elements(arguments: Arguments, array: Array, wanted: Type | None) -> Found:
    """The column of the array's elements in order, of any dtype, and their type."""
    if array.dtype.names:
        flat = array.reshape(-1)
        return arguments.columns([flat[name] for name in array.dtype.names], tuple, wanted,
                                 len(array.dtype.names))
    if array.dtype.kind == "O":
        arguments.note(f"an array of {array.size:,} Python objects, converted one by one")
        return lists.elements(arguments, array.reshape(-1).tolist(), wanted)
    if array.dtype.kind not in TEXTS:
        return scalars(arguments, array, wanted)
    if array.dtype.itemsize != CHARACTER.itemsize or array.dtype.kind != "U" or wanted == STRING:
        return texts(arguments, array, wanted)
    codes = characters(arguments, array)
    if not codes.all():
        raise arguments.error("an array of characters holds an empty text", "a list of texts may: x.tolist()")
    return codes, CHAR


def texts(arguments: Arguments, array: Array, wanted: Type | None) -> Found:
    """The column of the texts in an array, and their type."""
    arguments.note(f"an array of {array.size:,} texts of {array.dtype}, converted")
    items = array.reshape(-1).tolist()
    if not all([isinstance(item, str) for item in items]):
        raise arguments.error("an array of texts has missing values", "a list without them has only texts: "
                              "[s for s in x.tolist() if isinstance(s, str)]")
    return lists.elements(arguments, items, wanted) if items else (arguments.none(STRING), STRING)


def characters(arguments: Arguments, array: Array) -> Column:
    """The code points of an array of dtype U1."""
    array = unmasked(arguments, array)
    if not (array.flags.c_contiguous and array.dtype == CHARACTER):
        arguments.copies(array.size * CHARACTER.itemsize)
    codes = np.ascontiguousarray(array, CHARACTER).reshape(-1).view(CODE).astype(DTYPES["char"], copy=False)
    return shared(arguments, array, codes)


def scalars(arguments: Arguments, array: Array, wanted: Type | None, own: bool = False) -> Found:
    """The column of numbers or bools in order, and their type. `own`: nobody else writes to the array."""
    base = BASES.get(array.dtype.kind)
    if base is None:
        raise arguments.error(f"an array of {array.dtype} is no value of NESL",
                              "np.char.decode(x, 'utf-8') makes texts of bytes" if array.dtype.kind == "S" else
                              "arrays of floats, integers, bools and texts are")
    if base == INT and wanted == FLOAT:
        base = FLOAT
    if base == INT and array.dtype.kind == "u" and array.size and int(array.max()) > np.iinfo(np.int64).max:
        raise arguments.error("there are integers beyond 64 bits")
    dtype = dtype_of(arguments, array, base)
    if array.dtype != dtype or not (array.flags.c_contiguous and array.flags.aligned):
        arguments.copies(array.size * dtype.itemsize)
    with np.errstate(over="ignore"):
        flat = np.require(array, dtype, ["C", "ALIGNED"]).reshape(-1).view(dtype)
    if own and np.may_share_memory(flat, array):
        return flat, base
    return shared(arguments, array, flat), base


def dtype_of(arguments: Arguments, array: Array, base: Base) -> np.dtype[Any]:
    """The dtype that the elements have as those of a column: their own, if the program reads it, else the program's."""
    widths = arguments.datatypes.widths
    if base.name not in NARROW or narrower(array.dtype, base.name, widths):
        return array.dtype if base.name in NARROW else DTYPES[base.name]
    if base == INT and widths.ints == 32 and array.size and not fits(array, widths):
        raise arguments.error("there are integers beyond 32 bits")
    return DTYPES[widths.base(base.name)]


def shared(arguments: Arguments, array: Array, flat: Array) -> Array:
    """Return `flat`, the array's elements in order, and record whether it shares the array's memory or is a copy."""
    if np.may_share_memory(flat, array):
        arguments.shared.append(flat)
    elif array.size:
        why = "not contiguous, copied" if array.dtype in (flat.dtype, CHARACTER) else \
            f"of {array.dtype}, converted to {CHARACTER if array.dtype.kind == 'U' else flat.dtype}"
        arguments.note(f"an array of {array.size:,} elements {why}")
    return flat


def numbers(arguments: Arguments, items: list[Any], base: Base) -> Found:
    """The column of Python numbers, and its type."""
    widths = arguments.datatypes.widths
    dtype = DTYPES[widths.base(base.name)]
    arguments.copies(len(items) * dtype.itemsize)
    try:
        with np.errstate(over="ignore"):
            return np.array(items, dtype), base
    except OverflowError:
        beyond = "what a float holds" if base == FLOAT else f"{widths.ints} bits"
        raise arguments.error(f"there are integers beyond {beyond}") from None
