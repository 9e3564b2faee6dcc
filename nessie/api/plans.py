"""Calls that have been made before: what a call with arguments of the same kinds needs not find out again.

A function's result is typed, compiled and laid out by the kinds of its arguments alone, if these are scalars, texts,
and arrays that the program reads where they lie, in Nested and Tuples too: by Python's types, dtypes and dimensions.
Where types tell lengths (nessie.lengths), shapes count, too: then each call has the lengths of the first.

A Plan knows what becomes of each argument, has the program on machines of native code (nessie.cudagen.native.calling),
and knows how the result is read. It is made when the same kinds have come a few times, of calls that need no other
thread, have no effects, and run on the CPU. A short list of numbers is as good as the array of them. Other arguments of
such calls, as lists of lists, are converted each time (nessie.api.values), and run on the same machines (Callers). What
does not fit is left to nessie.api.calls.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from nessie.api.values.sequences import CHARACTER, Nested, Tuples, recheck
from nessie.base.types import CHAR, FLOAT, Base, Seq, Type
from nessie.base.values import DTYPES, Column, Flat, Uniform, characters, code_points
from nessie.base.values import Nested as Rows
from nessie.base.widths import Widths
from nessie.cudagen.host.device import Array
from nessie.cudagen.host.memory import Memory, view
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu.layout import reader, to_names

if TYPE_CHECKING:
    from nessie.cudagen.native.calling import Caller

PATIENCE = 20                   # calls of one kind before they get a plan
MOST = 400                      # kinds that are known at once
SIMPLE = (int, float, bool, str)
SHORT = 1000                    # elements of a list that is tried as an array
DTYPES_OF: dict[type, Any] = {int: np.int64, float: np.float64, bool: np.bool_}

Kinds = tuple[Any, ...]         # of arguments: a type, an array's dtype or (dimensions, dtype), of parts (type, kinds),
                                # where lengths are told (shape, dtype)
Names = list[Any]
Take = Callable[[Any], Names | None]        # None: the value is not what it seemed


def kinds_of(given: Sequence[Any]) -> Kinds | None:
    """The kinds of arguments, or of the parts of one; None: one has none."""
    kinds: list[Any] = []
    for value in given:
        kind: Any = type(value)
        if kind is np.ndarray:
            flags = value.flags
            if not flags.c_contiguous or not flags.aligned or not value.ndim:
                return None
            kind = value.dtype if value.ndim == 1 else (value.ndim, value.dtype)
        elif kind is Nested or kind is Tuples:
            simple = value.offsets is value.checked if kind is Nested else value.make is None
            inside = kinds_of((value.content,) if kind is Nested else value.columns) if simple else None
            if inside is None:
                return None
            kind = kind, inside
        elif kind not in SIMPLE:
            return None
        kinds.append(kind)
    return tuple(kinds)


def kinds_with_lengths(given: Sequence[Any]) -> Kinds | None:
    """The kinds of arguments that tell all lengths; None: one tells them by what it contains."""
    kinds = kinds_of(given)
    if kinds is None:
        return None
    found: list[Any] = []
    for value, kind in zip(given, kinds):
        if isinstance(value, np.ndarray):
            kind = value.shape, value.dtype
        elif kind not in (int, float, bool):
            return None
        found.append(kind)
    return tuple(found)


def without_lists(given: Sequence[Any]) -> Sequence[Any]:
    """The arguments, of which short lists of numbers of one type are arrays; themselves, if any list is another."""
    found: list[Any] = []
    for value in given:
        if type(value) is list:
            types = set(map(type, value)) if len(value) <= SHORT else ()
            dtype = DTYPES_OF.get(*types) if len(types) == 1 else None
            if dtype is None:
                return given
            try:
                value = np.array(value, dtype)
            except OverflowError:
                return given
        found.append(value)
    return found


class Callers:
    """Machines of native code that run one program's entry, whose result has this layout. `make` makes one that may
    take so many bytes; `memory` has the arrays."""

    def __init__(self, layout: ir.Layout, memory: Memory, make: Callable[[int], Caller]) -> None:
        self.layout, self.memory, self.make, self.read = layout, memory, make, reader(layout)
        self.idle: list[Caller] = []

    def call(self, names: Names, memory: int) -> Names:
        """The contents of the names of the result."""
        try:
            caller = self.idle.pop()
        except IndexError:
            caller = self.make(memory)
        try:
            return caller.call(names, memory)
        finally:
            self.idle.append(caller)

    def flat_result(self, names: Names) -> Any:
        """The flat result. What is not this call's own, such as a constant, is copied."""
        release = self.memory.release
        return self.read(iter([(release(held) if held.buffer.size else view(held).copy()) if isinstance(held, Array)
                               else held for held in names]))

    def give_back(self) -> None:
        """Give the memory that no call uses to the device's memory."""
        callers = []
        while self.idle:
            callers.append(self.idle.pop())
            callers[-1].give_back()
        self.idle += callers


class Plan:
    """`found` is the function at its types, `callers` run it. `takes`: for each argument of the program, the number of
    the one given, and what makes its names' contents. `check` raises NessieError for a result that is not as long as
    its type tells; None: it tells nothing."""

    def __init__(self, found: Any, takes: Sequence[tuple[int, Take]], type_: Type, callers: Callers,
                 check: Callable[[Any], None] | None = None) -> None:
        self.found, self.takes, self.callers, self.check = found, takes, callers, check
        self.result = self.result_for(callers.layout, type_) if check is None else None

    def names(self, given: Sequence[Any]) -> Names | None:
        """The contents of the names of the program's arguments; None: an argument is not what it seemed."""
        found: Names = []
        for number, take in self.takes:
            part = take(given[number])
            if part is None:
                return None
            found += part
        return found

    def result_for(self, layout: ir.Layout, type_: Type) -> Callable[[Names], Any] | None:
        """What reads a result for Python of which the caller has no part already. None: nothing simple."""
        if isinstance(type_, Base) and type_ != CHAR:
            return lambda names: names[0]
        match layout, type_:
            case ir.SeqLayout(ir.ScalarLayout(), "dense"), Seq(Base() as element) if element != CHAR:
                return lambda names: self.callers.flat_result(names).column
        return None


def taking(value: Any, argument: Any, type_: Type, widths: Widths) -> Take | None:
    """How a value like this one becomes the contents of names. None: not simply."""
    if isinstance(value, str):
        return character if type_ == CHAR else text if argument.column.dtype == DTYPES["char"] else text_of_bytes
    if isinstance(argument, Flat):
        inside = reading(value, argument.column)
        return inside and (lambda given: [len(given), *inside(given)])
    if isinstance(value, bool):
        return lambda given: [given]
    if isinstance(value, float):
        return (lambda given: [given]) if widths.floats == 64 else lambda given: [widths.rounded(given)]
    if type_ == FLOAT:
        return partial(real, widths)
    least, most = widths.min_int, widths.max_int
    return lambda given: [given] if least <= given <= most else None


def taking_in_form(value: np.ndarray[Any, Any], argument: Any, layout: ir.Layout) -> Take | None:
    """How an array of the shape of this one becomes the contents of names, if the value that it became reads its
    elements where they lie: all but the elements stay as they are. None: it does not."""
    names = to_names(argument, layout)
    places = [place for place, name in enumerate(names) if isinstance(name, np.ndarray) and name.size
              and (name.size, name.dtype, name.ctypes.data) == (value.size, value.dtype, value.ctypes.data)]
    if len(places) != 1:
        return None
    before, after = names[:places[0]], names[places[0] + 1:]
    return lambda array: [*before, array.reshape(-1), *after]


def always(names: Names, _: Any) -> Names:
    return names


def character(given: str) -> Names | None:
    return [given] if len(given) == 1 else None


def text(given: str) -> Names:
    return [len(given), code_points(given)]


def text_of_bytes(given: str) -> Names | None:
    """The contents of names of a text whose characters take a byte each."""
    found = characters(given)
    return [len(given), found] if found.dtype == DTYPES["char8"] else None


def reading(value: Any, column: Column) -> Callable[[Any], Names] | None:
    """How a sequence like this one, whose elements became this column, becomes the contents of the column's names.
    None: not simply."""
    match value, column:
        case np.ndarray(ndim=1), np.ndarray() if value.dtype == column.dtype:
            return lambda array: [array]
        case np.ndarray(ndim=1), np.ndarray() if value.dtype == CHARACTER:
            return lambda array: [array.view(DTYPES["char"])]
        case np.ndarray(), Uniform() if value.dtype == base_dtype(column):
            return rows_of_array
        case Nested(), Rows():
            inside = reading(value.content, column.content)
            return inside and (lambda given: rows_of(given, inside(given.content)))
        case Tuples(), tuple():
            parts: list[Callable[[Any], Names]] = []
            for number, part in enumerate(value.columns, 1 - len(value.columns)):
                own, column = column if number else (column, None)
                take = reading(part, own)
                if take is None:
                    return None
                parts.append(take)
            return lambda given: [name for take, part in zip(parts, given.columns) for name in take(part)]
    return None


def rows_of(given: Nested, content: Names) -> Names:
    size = len(given.content)
    recheck(given, size)
    return [given.offsets, size, *content]


def rows_of_array(array: np.ndarray[Any, Any]) -> Names:
    names, count = [], len(array)
    for length in array.shape[1:]:
        count *= length
        names += [length, count]
    return [*names, array.reshape(-1)]


def base_dtype(column: Column) -> Any:
    while isinstance(column, Uniform):
        column = column.content
    return column.dtype if isinstance(column, np.ndarray) else None


def real(widths: Widths, given: int) -> Names | None:
    try:
        return [widths.rounded(float(given))]
    except OverflowError:
        return None
