"""A loops function while it is being written: statements, names, parameters, and what is already in registers.

`known` maps (array, index) to the value that registers hold: own-index reads of arrays that the kernel itself makes,
and loads made before, so that an element of an array is loaded once. Entries live as long as the block that made them.
"""
from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from nessie.base.records import dataclass
from nessie.base.source import Origin
from nessie.base.types import ZEROS
from nessie.base.widths import wide
from nessie.cudagen.host.device import FAILURE, INDEX_BITS, NO_FAILURE
from nessie.cudagen.loops import nodes as loops
from nessie.cudagen.loops.plan import EPOCH, TICKETS
from nessie.lambda_cu import nodes as ir

COUNTS = ("counted_before", "counted_more")

# Names that skeletons give to what they add to a function.
RESERVED = frozenset({"failed", "errors", "interrupt", "cells", "cells_float", "cells_bool", "cells_char", "ends",
                      TICKETS, EPOCH, *COUNTS, *loops.CHUNK_RANGE, *loops.NESTING, loops.FRAME,
                      *loops.PLACES})
NOTHING: Mapping[str, Any] = {}
ODD = re.compile("[^A-Za-z0-9_]")


@dataclass(frozen=True)
class Value:
    """A typed expression. `tainted`: it may be the zero that stands for a failed check, so an index made of it
    proves nothing."""
    exp: loops.Exp
    type: str
    tainted: bool = False


def integer(value: int) -> loops.Const:
    return loops.Const(value, "int")


def zero(type_: str) -> loops.Const:
    return loops.Const(ZEROS[type_], type_)


def op(name: str, *arguments: loops.Exp) -> loops.Op:
    return loops.Op(name, arguments)


def error_key(site: int) -> loops.Const:
    """The key of the site's failure at index 0."""
    return integer(site << INDEX_BITS)


def identifier(name: str) -> str:
    """The name in letters, digits and underscores, which every dialect takes."""
    return ODD.sub(lambda odd: f"_{ord(odd.group()):x}_", name)


class Code:
    """One function's text so far. `scalars` and `arrays`: the kernel's names that it may refer to, with their types;
    `narrow`: the types of the elements of arrays that are narrower than those that are computed with."""

    def __init__(self, scalars: dict[str, str], arrays: dict[str, ir.Array], reserved: Collection[str] = (),
                 narrow: Mapping[str, str] = NOTHING) -> None:
        self.scalars, self.arrays, self.narrow = scalars, arrays, narrow
        self.statements: list[loops.Stmt] = []
        self.parameters: dict[str, loops.Parameter] = {}
        self.known: dict[tuple[str, loops.Exp], Value] = {}
        self.values: dict[str, Value] = {}
        self.once: dict[loops.Exp, Value] = {}      # what need not be computed again in this block
        self.recording = True               # False where another function records the same failures
        self.fails = False
        self.order_index: loops.Exp = integer(0)        # of what is computed: grows in the order of evaluation
        self.returns: tuple[str, ...] | None = None     # the results of the scalar function that this is
        self.starts: dict[str, Callable[[loops.Exp], loops.Exp]] = {}       # by offsets, where they are at hand
        self.given: dict[str, str] = {}     # the names here of the arrays that the scalar function is given
        self.wary = False                   # a scalar function whose arguments may be tainted
        self.above: list[loops.Stmt] = []
        self.left = frozenset[str]()        # arrays that the function itself has filled before it reads them
        self._trail: list[tuple[str, loops.Exp]] = []
        self._taken = {*scalars, *arrays, *reserved, *RESERVED}

    # Names and blocks -----------------------------------------------------------------------

    def fresh(self, hint: str) -> str:
        """A name that this function has not bound yet."""
        hint = identifier(hint)
        name, number = hint, 1
        while name in self._taken:
            number += 1
            name = f"{hint}_{number}"
        self._taken.add(name)
        return name

    @contextmanager
    def block(self) -> Iterator[list[loops.Stmt]]:
        """A nested block: what is learnt in it is forgotten at its end, that nothing has failed before it, too, and at
        which index it is."""
        outer, self.statements = self.statements, []
        index = self.order_index
        once, self.once = self.once, dict(self.once)
        mark, fails = len(self._trail), self.fails
        yield self.statements
        self.statements, self.fails, self.once, self.order_index = outer, self.fails or fails, once, index
        for key in self._trail[mark:]:
            del self.known[key]
        del self._trail[mark:]

    def learn(self, array: str, index: loops.Exp, value: Value) -> None:
        if (array, index) not in self.known:
            self.known[array, index] = value
            self._trail.append((array, index))

    # Parameters -----------------------------------------------------------------------------

    def scalar(self, name: str, type_: str) -> loops.Name:
        self.parameters.setdefault(name, loops.Parameter(name, type_))
        self._taken.add(name)
        return loops.Name(name)

    def array(self, name: str, base: str, writable: bool = False) -> str:
        self._taken.add(name)
        old = self.parameters.get(name)
        writable |= old is not None and old.writable
        self.parameters[name] = loops.Parameter(name, self.narrow.get(name, base), True, writable)
        return name

    def size(self, size: ir.Size) -> loops.Exp:
        if isinstance(size, int):
            return integer(size)
        return self.values[size].exp if size in self.values else self.scalar(size, "int")

    # Statements -----------------------------------------------------------------------------

    def add(self, statement: loops.Stmt) -> None:
        self.statements.append(statement)

    def note(self, text: str) -> None:
        """Says what comes next."""
        self.add(loops.Note(text))

    def let(self, hint: str, value: Value) -> Value:
        """The value as something that costs nothing to name twice."""
        if isinstance(value.exp, (loops.Name, loops.Const)):
            return value
        name = self.fresh(hint)
        self.add(loops.Let(name, value.type, value.exp))
        return Value(loops.Name(name), value.type, value.tainted)

    def let_int(self, hint: str, exp: loops.Exp) -> loops.Exp:
        return self.let(hint, Value(exp, "int")).exp

    def var(self, hint: str, type_: str, initial: loops.Exp) -> str:
        name = self.fresh(hint)
        self.add(loops.Var(name, type_, initial))
        return name

    def shared(self, hint: str, type_: str, size: int) -> str:
        """An array of the block's own. Called while the function's own statements are written, none within others."""
        name = self.fresh(hint)
        self.statements.insert(0, loops.Shared(name, type_, size))
        return name

    def shared_above(self, hint: str, type_: str, size: int) -> str:
        """The same within other statements: whoever has written the function's own puts `above` before them."""
        name = self.fresh(hint)
        self.above.append(loops.Shared(name, type_, size))
        return name

    def load(self, array: str, base: str, index: loops.Exp) -> Value:
        """array[index], loaded unless registers hold it; the index is a name or constant."""
        held = self.known.get((array, index))
        if held is None:
            loaded = Value(loops.Load(self.array(array, base), index), wide(base), array in self.left and self.fails)
            held = self.let(f"{array}_at", loaded)
            self.learn(array, index, held)
        return held

    def store(self, array: str, index: loops.Exp, value: Value) -> None:
        self.add(loops.Store(self.array(array, value.type, writable=True), index, value.exp))

    def fail(self, site: int) -> None:
        """Record the site's key at the current index, unless a lesser one is recorded."""
        if self.recording:
            self.fails = True
            failed = loops.Name("failed")
            self.add(loops.Set("failed", op("min", failed, op("+", error_key(site), self.order_index))))

    # The whole ------------------------------------------------------------------------------

    def function(self, name: str, first: tuple[loops.Parameter, ...] = (), kind: str = "host",
                 origin: Origin = ()) -> loops.Function:
        """The function written so far; its failures go to the error word at its end."""
        body = tuple(self.statements)
        if self.fails:
            shared = sum(isinstance(statement, loops.Shared) for statement in body)      # at the top
            body = (*body[:shared], loops.Var("failed", "int", integer(NO_FAILURE)), *body[shared:], self._report())
        return loops.Function(name, kind, first + tuple(self.parameters.values()), body, (), origin=origin)

    def record_failures(self) -> None:
        """Those so far go to the error word here; at the end only what comes after."""
        if self.fails:
            report = self._report()
            self.add(replace(report, then=(*report.then, loops.Set("failed", integer(NO_FAILURE)))))

    def _report(self) -> loops.If:
        failed = loops.Name("failed")
        record = loops.Atomic("min", self.array("errors", "int", writable=True), integer(FAILURE), failed)
        return loops.If(op("<", failed, integer(NO_FAILURE)), (record,))
