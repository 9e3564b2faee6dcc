"""NESL's sequences that NumPy has no array for, as light Python objects over arrays.

    Nested(offsets, content)    a sequence of sequences: the i-th is content[offsets[i]:offsets[i + 1]]
    Tuples(xs, ys, ...)         a sequence of tuples: the i-th is (xs[i], ys[i], ...)

Contents and columns are NumPy arrays, a GPU's (nessie.api.device), Nested or Tuples. An array of dtype <U1 holds
characters: as the content of a Nested it makes the elements texts.
"""
from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from nessie.api.device import DeviceArray, has_interface
from nessie.base.source import NessieError
from nessie.base.values import text_of_codes

CHARACTER = np.dtype("<U1")
SHOWN = 6                       # elements at either end of a long sequence


class Nested(Sequence[Any]):
    """`offsets`: int64, one more than there are sequences; from 0 to the length of the content, never falling."""

    def __init__(self, offsets: Any, content: Any) -> None:
        if not has_interface(offsets):
            offsets = np.asarray(offsets)
            if offsets.ndim != 1 or offsets.dtype.kind not in "iu" or offsets.size == 0:
                raise NessieError("the offsets of a Nested are a one-dimensional array of integers, one more than it "
                                  "has sequences")
            offsets = np.ascontiguousarray(offsets, np.int64)
            check_offsets(offsets, len(content))
        elif len(offsets) == 0:
            raise NessieError("the offsets of a Nested are one more than it has sequences")
        if isinstance(content, list | tuple):
            content = np.asarray(content)
        self.offsets, self.content = offsets, content

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, index: Any) -> Any:
        """A sequence; of a slice without steps, a Nested that shares the content."""
        if isinstance(index, slice):
            start, stop, step = index.indices(len(self))
            if step != 1:
                raise NessieError("a part of a Nested has no steps")
            bounds = listed(self.offsets[start:max(start, stop) + 1])
            return Nested(np.array(bounds) - bounds[0], self.content[bounds[0]:bounds[-1]])
        at = position(index, len(self))
        part = self.content[int(self.offsets[at]):int(self.offsets[at + 1])]
        return text(part) if is_text(part) else part

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
        """The same with all arrays in the computer's memory."""
        return Nested(on_host(self.offsets), on_host(self.content))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Nested) and self.to_list() == other.to_list()

    __hash__ = None         # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"<nessie.Nested of {len(self):,}: {shown(self)}>"


class Tuples(Sequence[Any]):
    """`columns`: the components, each a sequence; `make`: what makes an element of its components, if it is no plain
    tuple (a datatype's named tuple)."""

    def __init__(self, *columns: Any, make: Callable[..., Any] | None = None) -> None:
        self.columns = tuple([np.asarray(c) if isinstance(c, list | tuple) else c for c in columns])
        self.make = make
        if len(self.columns) < (1 if make else 2):
            raise NessieError("Tuples have two components at least", hint="nessie.Tuples(xs, ys) pairs two sequences")
        lengths = [len(column) for column in self.columns]
        if len(set(lengths)) > 1:
            raise NessieError(f"the components of Tuples are sequences of one length, not of {listing(lengths)}")

    def __len__(self) -> int:
        return len(self.columns[0])

    def __getitem__(self, index: Any) -> Any:
        """A tuple of Python's numbers; of a slice, Tuples that share the columns."""
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

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Tuples) and self.to_list() == other.to_list()

    __hash__ = None         # type: ignore[assignment]

    def __repr__(self) -> str:
        name = getattr(self.make, "__name__", "")
        return f"<nessie.Tuples of {len(self):,}{f', {name}' if name else ''}: {shown(self)}>"


def check_offsets(offsets: np.ndarray[Any, Any], length: int) -> None:
    """Kernels rely on them."""
    if offsets[0] != 0 or offsets[-1] != length or (offsets[1:] < offsets[:-1]).any():
        raise NessieError(f"offsets run from 0 to the length of the content, here {length:,}, and never fall",
                          hint=f"these begin with {offsets[0]} and end with {offsets[-1]}")


def position(index: Any, length: int) -> int:
    at = int(index)
    if not -length <= at < length:
        raise IndexError(f"index {at} of {length} elements")
    return at % length


def plain(column: Any, at: int) -> Any:
    """An element, a number as Python's."""
    element = column[at]
    return element.item() if isinstance(element, np.generic) else element


def elements_of(column: Any) -> Any:
    """The elements one by one, numbers as Python's."""
    return column.tolist() if isinstance(column, np.ndarray) else iter(column)


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
    """One by one; NumPy takes chr(0) for no character."""
    return list(text(column))


def text(column: np.ndarray[Any, Any]) -> str:
    return text_of_codes(np.ascontiguousarray(column).view(np.int32))


def shown(sequence: Sequence[Any]) -> str:
    """The elements at either end."""
    def of(part: Any) -> list[str]:
        return [repr(listed(e) if isinstance(e, np.ndarray | DeviceArray | Nested | Tuples) else e) for e in part]
    if len(sequence) <= 2 * SHOWN:
        return f"[{', '.join(of(sequence))}]"
    ends = [*of(sequence[:SHOWN]), "...", *of(sequence[len(sequence) - SHOWN:])]
    return f"[{', '.join(ends)}]"


def listing(items: Sequence[Any]) -> str:
    return ", ".join(map(str, items[:-1])) + f" and {items[-1]}"
