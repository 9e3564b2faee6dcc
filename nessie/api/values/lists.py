"""Converts Python's lists to columns. The elements of a list have one type."""
from __future__ import annotations

from collections import UserString
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from nessie.api.values import numpy_arrays
from nessie.api.values.device import DeviceArray, has_interface
from nessie.api.values.open_types import element_of, known
from nessie.api.values.sequences import Nested as PyNested
from nessie.api.values.sequences import Tuples, listed
from nessie.base import values
from nessie.base.types import CHAR, FLOAT, STRING, Base, Seq, Type

if TYPE_CHECKING:
    from nessie.api.values.arguments import Arguments, Found

OFFSET, CODES = 8, 12           # bytes of an offset, or a list's slot; of a character, with its intermediate copies
MOST_NESTED = 100               # levels of lists in lists
SCALARS: dict[str, tuple[type, ...]] = {
    "bool": (bool, np.bool_),
    "int": (int, np.integer),
    "float": (int, float, np.integer, np.floating),
}


def check_depth(arguments: Arguments, items: list[Any]) -> None:
    """Refuse a list that is nested too deeply, or holds itself. All elements have one type, so one of them suffices."""
    inner: Any = items
    for _ in range(MOST_NESTED):
        if not inner or not isinstance(inner[0], list | tuple):
            return
        inner = next(filter(len, inner), None) if all(isinstance(i, list | tuple) for i in inner) else None
    raise arguments.error(f"a list is nested more than {MOST_NESTED} deep, or holds itself")


def elements(arguments: Arguments, items: list[Any], wanted: Type | None) -> Found:
    """The column of a list's elements, which have one type, and that type."""
    if not items:
        type_ = known(wanted)
        return arguments.none(type_), type_
    kinds = set(map(type, items))
    if any(hasattr(kind, "shape") and not issubclass(kind, np.number | np.bool_) for kind in kinds):
        items = [numpy_arrays.scalar(arguments, item) for item in items]
        kinds = set(map(type, items))
    for name, classes in SCALARS.items():
        if all(issubclass(kind, classes) and (name == "bool" or not issubclass(kind, bool)) for kind in kinds):
            return numpy_arrays.numbers(arguments, items, FLOAT if wanted == FLOAT and name != "bool" else Base(name))
    if all(issubclass(kind, str) for kind in kinds):
        return text_column(arguments, items, wanted)
    if all(issubclass(kind, tuple) for kind in kinds):
        return tuples(arguments, items, kinds, wanted)
    if not any(issubclass(kind, (*chain(*SCALARS.values()), str, tuple)) for kind in kinds):
        return sequences(arguments, items, kinds, wanted)
    names = sorted({kind.__name__ for kind in kinds})
    raise arguments.error(f"the elements of a list differ: there are {', '.join(names[:-1])} and {names[-1]}",
                          "the elements of a sequence have one type")


def text_column(arguments: Arguments, items: list[str], wanted: Type | None) -> Found:
    arguments.copies(CODES * sum(map(len, items)) + OFFSET * len(items))
    if wanted == CHAR and all(len(item) == 1 for item in items):
        return values.characters("".join(items)), CHAR
    offsets = np.zeros(len(items) + 1, np.int64)
    np.cumsum([len(item) for item in items], out=offsets[1:])
    return values.Nested(offsets, values.characters("".join(items))), STRING


def tuples(arguments: Arguments, items: list[Any], kinds: set[type], wanted: Type | None) -> Found:
    lengths = {len(item) for item in items}
    if len(lengths) > 1:
        raise arguments.error(f"the tuples in a list have one length, not {min(lengths)} and {max(lengths)}")
    kind = kinds.pop() if len(kinds) == 1 else tuple
    return arguments.columns([list(column) for column in zip(*items)], kind, wanted, len(items[0]))


def sequences(arguments: Arguments, items: list[Any], kinds: set[type], wanted: Type | None) -> Found:
    """The column of sequences: offsets, and the concatenation of their elements."""
    for kind in kinds:
        check_element(arguments, next(item for item in items if type(item) is kind))
    inner = element_of(wanted)
    arguments.copies(OFFSET * len(items))
    offsets = np.zeros(len(items) + 1, np.int64)
    np.cumsum([len(item) for item in items], out=offsets[1:])
    if kinds == {np.ndarray} and all(item.ndim == 1 and item.dtype.kind in "biuf" for item in items) \
            and len({item.dtype for item in items}) == 1:
        arguments.copies(sum(item.nbytes for item in items))
        content, element = numpy_arrays.scalars(arguments, np.concatenate(items), inner, own=True)
    else:
        arguments.copies(OFFSET * int(offsets[-1]))
        joined = list(chain.from_iterable([pieces(arguments, item) for item in items]))
        content, element = elements(arguments, joined, inner)
    return values.Nested(offsets, content), Seq(element)


def check_element(arguments: Arguments, item: Any) -> None:
    """Raise NessieError unless the item is a sequence that can be concatenated with others."""
    if is_known(item) and hasattr(item, "__len__"):
        return
    if has_interface(item):
        raise arguments.error("a list of arrays on a GPU is not put together there",
                              "nessie.Nested(offsets, content) takes one array of all elements")
    if not (hasattr(item, "__len__") and hasattr(item, "__array__")) or isinstance(item, np.generic):
        raise arguments.refused(item)


def pieces(arguments: Arguments, item: Any) -> Iterable[Any]:
    """The elements of a sequence in a list."""
    if isinstance(item, list | tuple | range | set | frozenset):
        return item
    if isinstance(item, np.ndarray):
        item = numpy_arrays.unmasked(arguments, item)
    return listed(item if is_known(item) else numpy_arrays.made_of(arguments, item))


def is_known(value: Any) -> bool:
    return isinstance(value, np.ndarray | PyNested | Tuples | DeviceArray) or is_sequence(value) or is_foreign(value)


def is_sequence(value: Any) -> bool:
    """Whether the value is a Python sequence or set of values; texts and bytes are not."""
    return isinstance(value, Sequence | set | frozenset) and not isinstance(value, str | bytes | bytearray | UserString)


def is_foreign(value: Any) -> bool:
    """Whether the value is an Awkward or Arrow array."""
    return type(value).__module__.partition(".")[0] in ("awkward", "pyarrow")
