"""Light Python objects over arrays for NESL's sequences that NumPy has no array for.

    Nested(offsets, content)    a sequence of sequences: the i-th is content[offsets[i]:offsets[i + 1]]
    Tuples(xs, ys, ...)         a sequence of tuples: the i-th is (xs[i], ys[i], ...)

Contents and columns are NumPy arrays, a GPU's (nessie.api.values.device), Nested or Tuples. An array of dtype <U1 holds
characters: as the content of a Nested it makes the elements texts.
"""
from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from operator import index as index_of
from typing import Any

import numpy as np

from nessie.api.values.device import DeviceArray, has_interface
from nessie.base.source import NessieError
from nessie.base.system.forking import cached_property
from nessie.base.values import code_points, text_of_codes

CHARACTER = np.dtype("<U1")
SHOWN = 6                       # elements at either end of a long sequence


class Elements(Sequence[Any]):
    """The base of Nested and Tuples. Elements are compared as lists and tuples of Python's numbers."""

    def to_list(self) -> list[Any]:
        raise NotImplementedError

    def to_pandas(self) -> Any:
        """The DataFrame of Tuples; the Series of a Nested."""
        from nessie.api.values import tables
        return tables.to_pandas(self)

    def to_arrow(self) -> Any:
        """The array of Arrow's, over the same memory where Arrow has the same layout."""
        from nessie.api.values import tables
        return tables.to_arrow(self)

    def __arrow_c_array__(self, requested_schema: Any = None) -> Any:
        return self.to_arrow().__arrow_c_array__(requested_schema)

    def _repr_html_(self) -> str:
        from nessie.api.values import tables
        return tables.as_html(self)

    def __contains__(self, value: object) -> bool:
        return unboxed(value) in self.to_list()

    def index(self, value: Any, *bounds: int) -> int:
        return self.to_list().index(unboxed(value), *bounds)

    def count(self, value: Any) -> int:
        return self.to_list().count(unboxed(value))

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and isinstance(other, Elements) and self.to_list() == other.to_list()

    __hash__ = None         # type: ignore[assignment]


class Nested(Elements):
    """A sequence of sequences. `offsets`: int64, one more than there are sequences; from 0 to the length of the
    content, never falling. They are the object's own, and nobody writes to them: they are checked once. Those of a
    result may be computed when they are first asked for, by `starts`."""
    converted = ""          # a note on offsets of another type
    checked: Any = None     # the offsets, if they are known to be right
    starts: Callable[[], Any]

    def __init__(self, offsets: Any, content: Any) -> None:
        self.content = column_of(content, "the content of a Nested")
        if has_interface(offsets):
            if len(offsets) == 0:
                raise NessieError("the offsets of a Nested are one more than it has sequences")
            self.offsets = offsets
            return
        given = as_array(offsets)
        if given.ndim != 1 or given.dtype.kind not in "iu" or given.size == 0:
            raise NessieError("the offsets of a Nested are a one-dimensional array of integers, one more than it has "
                              "sequences")
        if isinstance(offsets, np.ndarray) and (given.dtype != np.int64 or not given.flags.c_contiguous):
            self.converted = f"{offsets.size:,} offsets of {offsets.dtype}, copied as contiguous int64"
        self.offsets = np.array(given, np.int64)
        self.offsets.flags.writeable = False
        check_offsets(self.offsets, len(self.content))
        self.checked = self.offsets

    @cached_property
    def offsets(self) -> Any:
        self.checked = self.starts()
        return self.checked

    def __getstate__(self) -> dict[str, Any]:
        return {"offsets": self.offsets, "checked": self.checked, "content": self.content}

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, index: Any) -> Any:
        """A sequence; for a slice, a Nested, which shares the content if the slice has no steps; for a list or an array
        of indices or bools, a Nested with copies of the chosen sequences."""
        if chooses(index):
            return self.rows(chosen(index, len(self)))
        if isinstance(index, slice):
            start, stop, step = index.indices(len(self))
            if step != 1:
                return self.rows(np.arange(start, stop, step))
            offsets = on_host(self.offsets[start:max(start, stop) + 1])
            return Nested(offsets - offsets[0], self.content[int(offsets[0]):int(offsets[-1])])
        at = position(index, len(self))
        part = self.content[int(self.offsets[at]):int(self.offsets[at + 1])]
        return text(part) if is_text(part) else part

    def rows(self, numbers: np.ndarray[Any, Any]) -> Nested:
        """The sequences at these indices, with their elements copied."""
        offsets = on_host(self.offsets)
        starts, lengths = offsets[numbers], np.diff(offsets)[numbers]
        ends = np.concatenate([[0], np.cumsum(lengths)])
        return Nested(ends, elements_at(self.content, np.arange(ends[-1]) + np.repeat(starts - ends[:-1], lengths)))

    def __iter__(self) -> Iterator[Any]:
        return map(self.__getitem__, range(len(self)))

    def to_list(self) -> list[Any]:
        content, offsets = self.content, listed(self.offsets)
        if is_text(content):
            whole = text(content)
            return [whole[a:b] for a, b in zip(offsets, offsets[1:])]
        elements = listed(content)
        return [elements[a:b] for a, b in zip(offsets, offsets[1:])]

    def to_numpy(self) -> Nested:
        """The same value with all arrays in the computer's memory."""
        return Nested(on_host(self.offsets), on_host(self.content))

    def __repr__(self) -> str:
        return f"<nessie.Nested of {len(self):,}: {shown(self)}>"


class Tuples(Elements):
    """A sequence of tuples. `columns`: the components, each a sequence; `make`: makes an element of its components, if
    elements are not plain tuples (a datatype's named tuple)."""

    def __init__(self, *columns: Any, make: Callable[..., Any] | None = None) -> None:
        self.columns = tuple([column_of(column, "a component of Tuples") for column in columns])
        self.make = make
        if len(self.columns) < (1 if make else 2):
            raise NessieError("Tuples have two components at least", hint="nessie.Tuples(xs, ys) pairs two sequences")
        lengths = [len(column) for column in self.columns]
        if len(set(lengths)) > 1:
            raise NessieError(f"the components of Tuples are sequences of one length, not of {listing(lengths)}")

    def __len__(self) -> int:
        return len(self.columns[0])

    def __getitem__(self, index: Any) -> Any:
        """A tuple of Python's numbers; for a slice, Tuples that share the columns; for a list or an array of indices or
        bools, Tuples with copies of the chosen elements."""
        if chooses(index):
            return elements_at(self, chosen(index, len(self)))
        if isinstance(index, slice):
            return Tuples(*[column[index] for column in self.columns], make=self.make)
        at = position(index, len(self))
        return self.element([plain(column, at) for column in self.columns])

    def __iter__(self) -> Iterator[Any]:
        return map(self.element, zip(*[elements_of(column) for column in self.columns]))

    def element(self, components: Any) -> Any:
        return tuple(components) if self.make is None else self.make(*components)

    def to_list(self) -> list[Any]:
        return list(map(self.element, zip(*map(listed, self.columns))))

    def to_numpy(self) -> Tuples:
        """The same with all arrays in the computer's memory."""
        return Tuples(*map(on_host, self.columns), make=self.make)

    def __repr__(self) -> str:
        name = getattr(self.make, "__name__", "")
        return f"<nessie.Tuples of {len(self):,}{f', {name}' if name else ''}: {shown(self)}>"


# Making them ------------------------------------------------------------------------------------


def as_array(given: Any) -> np.ndarray[Any, Any]:
    """The NumPy array of the value; an array of objects if there is none."""
    try:
        return np.asarray(given)
    except (TypeError, ValueError, RuntimeError):
        return np.asarray(None)


def column_of(given: Any, what: str) -> Any:
    """A content or component. A list becomes arrays, Nested and Tuples; anything else that has a length stays as it
    is."""
    try:
        if isinstance(given, list | tuple):
            return column_of_items(list(given), what)
        len(given)
    except RecursionError:
        raise NessieError(f"{what} is nested too deeply, or holds itself") from None
    except TypeError:
        raise NessieError(f"{what} is a sequence, not {a(type(given).__name__)}") from None
    return given


def column_of_items(items: list[Any], what: str) -> Any:
    kinds = set(map(type, items))
    if all(issubclass(kind, bool | np.bool_) for kind in kinds) \
            or all(issubclass(kind, int | float | np.number) and kind is not bool for kind in kinds):
        return np.asarray(items)
    if all(issubclass(kind, str) for kind in kinds):
        characters = code_points("".join(items)).astype("<i4", copy=False).view(CHARACTER)
        return characters if len(characters) == len(items) and all(items) else Nested(ends_of(items), characters)
    if all(issubclass(kind, tuple) for kind in kinds) and len(set(map(len, items))) == 1:
        make = kinds.pop() if len(kinds) == 1 else tuple
        return Tuples(*map(list, zip(*items)), make=None if make is tuple else make)
    if any(issubclass(kind, int | float | np.generic | str) or not hasattr(kind, "__len__") for kind in kinds):
        names = sorted(kind.__name__ for kind in kinds)
        raise NessieError(f"the elements of {what} are of one type that NESL has, not {' and '.join(names)}")
    return Nested(ends_of(items), column_of_items(list(chain.from_iterable(map(listed, items))), what))


def ends_of(items: list[Any]) -> np.ndarray[Any, Any]:
    return np.cumsum([0, *map(len, items)], dtype=np.int64)


def recheck(nested: Nested, length: int) -> None:
    """Raise NessieError unless the offsets fit a content of this length, whoever may have exchanged them."""
    own = nested.offsets is nested.checked and not nested.offsets.flags.writeable
    if not own or nested.offsets[-1] != length:
        check_offsets(nested.offsets, length)


def check_offsets(offsets: np.ndarray[Any, Any], length: int) -> None:
    """Raise NessieError unless the offsets fit a content of this length. Kernels rely on them."""
    if offsets[0] != 0 or offsets[-1] != length or (offsets[1:] < offsets[:-1]).any():
        raise NessieError(f"offsets run from 0 to the length of the content, here {length:,}, and never fall",
                          hint=f"these begin with {offsets[0]} and end with {offsets[-1]}")


# Their elements ---------------------------------------------------------------------------------


def chooses(index: Any) -> bool:
    """Whether the index is a list or an array (of indices or bools)."""
    return isinstance(index, list) or (isinstance(index, np.ndarray) and index.ndim > 0)


def chosen(index: Any, length: int) -> np.ndarray[Any, Any]:
    """The indices of the elements that a list or an array chooses: its own indices, or the positions where it is
    True."""
    given = as_array(index) if len(index) else np.zeros(0, np.int64)
    if given.ndim != 1 or given.dtype.kind not in "biu":
        raise TypeError("elements are chosen by a sequence of indices, or one of as many bools as there are elements")
    if given.dtype.kind == "b":
        if len(given) != length:
            raise IndexError(f"{len(given):,} bools for {length:,} elements")
        return np.flatnonzero(given)
    wrong = (given < -length) | (given >= length)
    if wrong.any():
        raise IndexError(f"index {given[wrong][0]} of {length} elements")
    numbers = given.astype(np.int64)
    return np.where(numbers < 0, numbers + length, numbers)


def position(index: Any, length: int) -> int:
    if isinstance(index, tuple):
        raise TypeError("one index at a time: x[i][j]")
    at = index_of(index)
    if not -length <= at < length:
        raise IndexError(f"index {at} of {length} elements")
    return at % length


def plain(column: Any, at: int) -> Any:
    """The element at `at`; a number is Python's."""
    if is_text(column):
        return text(column[at:at + 1])
    element = column[at]
    return element.item() if isinstance(element, np.generic) else element


def elements_of(column: Any) -> Any:
    """The elements one by one; numbers are Python's."""
    return listed(column) if isinstance(column, np.ndarray | DeviceArray) else iter(column)


def elements_at(column: Any, numbers: np.ndarray[Any, Any]) -> Any:
    """Copies of the elements at these indices."""
    if isinstance(column, Nested):
        return column.rows(numbers)
    if isinstance(column, Tuples):
        return Tuples(*[elements_at(c, numbers) for c in column.columns], make=column.make)
    if isinstance(column, np.ndarray):
        return column[numbers]
    raise NessieError("steps, lists of indices and masks choose from arrays in the computer's memory",
                      hint="x.to_numpy()[::2], x.to_numpy()[[2, 0]]")


def unboxed(value: Any) -> Any:
    """The value as lists and tuples of Python's numbers."""
    if isinstance(value, tuple):
        return tuple(map(unboxed, value))
    return listed(value) if isinstance(value, np.ndarray | DeviceArray | Elements) else value


def listed(column: Any) -> list[Any]:
    """The column as lists of Python's numbers."""
    column = column.to_numpy() if isinstance(column, DeviceArray) else column
    if isinstance(column, np.ndarray):
        return list(characters(column)) if is_text(column) else list(column.tolist())
    to_list = getattr(column, "to_list", None)
    return list(to_list() if to_list is not None else column)


def on_host(column: Any) -> Any:
    return column.to_numpy() if isinstance(column, DeviceArray | Nested | Tuples) else column


def is_text(column: Any) -> bool:
    return isinstance(column, np.ndarray) and column.dtype == CHARACTER


def characters(column: np.ndarray[Any, Any]) -> list[str]:
    """The characters one by one. NumPy itself would drop chr(0)."""
    return list(text(column))


def text(column: np.ndarray[Any, Any]) -> str:
    return text_of_codes(np.ascontiguousarray(column).view(np.int32))


def shown(sequence: Sequence[Any]) -> str:
    """The text of the elements at either end."""
    def of(part: Any) -> list[str]:
        return [repr(listed(e) if isinstance(e, np.ndarray | DeviceArray | Elements) else e) for e in part]
    if len(sequence) <= 2 * SHOWN:
        return f"[{', '.join(of(sequence))}]"
    ends = [*of(sequence[:SHOWN]), "...", *of(sequence[len(sequence) - SHOWN:])]
    return f"[{', '.join(ends)}]"


def listing(items: Sequence[Any]) -> str:
    return ", ".join(map(str, items[:-1])) + f" and {items[-1]}"


def a(name: str) -> str:
    """The name with its article."""
    return f"{'an' if name[:1].lower() in 'aeio' else 'a'} {name}"
