"""Calls that have been made before: what a call with arguments of the same kinds needs not find out again.

A function's result is typed, compiled and laid out by the kinds of its arguments alone, if these are scalars and plain
arrays that the program reads where they lie: by Python's types, and by dtypes. A Plan knows what becomes of each
argument, has the program on machines of native code (nessie.cudagen.native.calling), and knows how the result is read.
It is made when the same kinds have come a few times, of calls that need no other thread, have no effects, and run on
the CPU. What does not fit is left to nessie.api.calls.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from nessie.base.types import CHAR, FLOAT, Base, Seq, Type
from nessie.base.values import Flat
from nessie.base.widths import Widths
from nessie.cudagen.host.device import Array
from nessie.cudagen.host.memory import Memory, view
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu.layout import from_names

if TYPE_CHECKING:
    from nessie.cudagen.native.calling import Caller

PATIENCE = 20                   # calls of one kind before they get a plan
SCALARS = (int, float, bool)

Kinds = tuple[Any, ...]         # of arguments: a scalar's type, an array's dtype
Names = list[Any]
Take = Callable[[Any], Names | None]        # None: the value is not what it seemed


def kinds_of(given: Sequence[Any]) -> Kinds | None:
    """The arguments' kinds; None: one has none."""
    kinds: list[Any] = []
    for value in given:
        kind: Any = type(value)
        if kind is np.ndarray:
            flags = value.flags
            if value.ndim != 1 or not flags.c_contiguous or not flags.aligned:
                return None
            kind = value.dtype
        elif kind not in SCALARS:
            return None
        kinds.append(kind)
    return tuple(kinds)


class Plan:
    """`found` is the function at its types. `order`: the numbers of the arguments that the program takes; `takes` makes
    their names' contents; `make` makes a caller, which may take so many bytes."""

    def __init__(self, found: Any, order: Sequence[int], takes: Sequence[Take], layout: ir.Layout, type_: Type,
                 memory: Memory, make: Callable[[int], Caller]) -> None:
        self.found, self.order, self.takes, self.layout, self.memory, self.make = \
            found, order, takes, layout, memory, make
        self.idle: list[Caller] = []
        self.result = self.result_for(layout, type_)

    def names(self, given: Sequence[Any]) -> Names | None:
        """The contents of the names of the program's arguments; None: an argument is not what it seemed."""
        found: Names = []
        for number, take in zip(self.order, self.takes):
            part = take(given[number])
            if part is None:
                return None
            found += part
        return found

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
        return from_names([(release(held) if held.buffer.size else view(held).copy()) if isinstance(held, Array)
                           else held for held in names], self.layout)

    def result_for(self, layout: ir.Layout, type_: Type) -> Callable[[Names], Any] | None:
        """What reads a result for Python of which the caller has no part already. None: nothing simple."""
        if isinstance(type_, Base) and type_ != CHAR:
            return lambda names: names[0]
        match layout, type_:
            case ir.SeqLayout(ir.ScalarLayout(), "dense"), Seq(Base() as element) if element != CHAR:
                return lambda names: self.flat_result(names).column
        return None

    def give_back(self) -> None:
        """Give the memory that no call uses to the device's memory."""
        callers = []
        while self.idle:
            callers.append(self.idle.pop())
            callers[-1].give_back()
        self.idle += callers


def taking(value: Any, argument: Any, type_: Type, widths: Widths) -> Take | None:
    """How a value like this one becomes the contents of names. None: not simply."""
    if isinstance(argument, Flat):
        plain = isinstance(value, np.ndarray) and isinstance(argument.column, np.ndarray) and \
            argument.column.dtype == value.dtype and np.may_share_memory(argument.column, value)
        return (lambda array: [len(array), array]) if plain else None
    if isinstance(value, bool):
        return lambda given: [given]
    if isinstance(value, float):
        return (lambda given: [given]) if widths.floats == 64 else lambda given: [widths.rounded(given)]
    if type_ == FLOAT:
        return partial(real, widths)
    least, most = widths.min_int, widths.max_int
    return lambda given: [given] if least <= given <= most else None


def real(widths: Widths, given: int) -> Names | None:
    try:
        return [widths.rounded(float(given))]
    except OverflowError:
        return None
