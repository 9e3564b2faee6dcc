"""The walk of a nested space: in which row a segment lies is searched once, for the first; then the walk counts.

    int row = ...; int row_start = ...; int row_stop = ...; int start = 0; int stop = ...;
    for (s = ...) {
      while (row_stop <= s) { row += 1; row_start = row_stop; row_stop = ...; }
      start = stop;
      stop = start + length(row, s - row_start);
      ...
    }

What a thunk computes to find the row of its segment is the walk's row: it is computed nowhere (Code.once).
"""
from __future__ import annotations

from collections.abc import Callable

from nessie.base.names import Names
from nessie.cudagen.kernels.code import Code, Value, integer, op
from nessie.cudagen.loops import nodes as loops
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu.spaces.rows import PLACE, ROW, Fresh, row_in_parts
from nessie.lambda_cu.spaces.segments import start_at, within

Position = Callable[[ir.Exp, dict[str, loops.Exp]], loops.Exp]
SEGMENT = ir.Var("#segment")


class RowsWalked:
    """The rows of the segments in a loop over segments: made before the loop, which begins with segment `first`."""

    def __init__(self, code: Code, space: ir.Nested, first: loops.Exp, position: Position) -> None:
        self.code, self.space, self.position = code, space, position
        parts, row = row_in_parts(space.rows, SEGMENT, searched())
        known = {SEGMENT.name: first}
        for name, exp in parts:
            known[name] = code.let_int("part", position(exp, known))
        self.row = code.var("row", "int", position(row, known))
        self.start = code.var("row_start", "int", self.row_start(loops.Name(self.row)))
        self.stop = code.var("row_stop", "int", self.row_start(op("+", loops.Name(self.row), integer(1))))
        self.begins = code.var("start", "int", integer(0))
        self.ends = code.var("stop", "int", position(start_at(space, SEGMENT), {SEGMENT.name: first}))

    def row_start(self, row: loops.Exp) -> loops.Exp:
        assert not isinstance(self.space.rows, ir.Flat)
        return self.position(start_at(self.space.rows, SEGMENT), {SEGMENT.name: row})

    def __call__(self, segment: loops.Exp) -> tuple[loops.Exp, loops.Exp]:
        """Where the segment, which is the next one, starts and stops."""
        code = self.code
        with code.block() as later:
            code.add(loops.Set(self.row, op("+", loops.Name(self.row), integer(1))))
            code.add(loops.Set(self.start, loops.Name(self.stop)))
            code.add(loops.Set(self.stop, self.row_start(op("+", loops.Name(self.row), integer(1)))))
        code.add(loops.While(op("<=", loops.Name(self.stop), segment), tuple(later)))
        row, row_start, start, stop = [loops.Name(name) for name in (self.row, self.start, self.begins, self.ends)]
        rows_known(code, self.space, self.position, segment, row, row_start)
        place = code.let_int("place", op("-", segment, row_start))
        length = self.position(within(self.space.lengths, 0), {ROW.name: row, PLACE.name: place})
        code.add(loops.Set(self.begins, stop))
        code.add(loops.Set(self.ends, op("+", start, length)))
        return start, stop


def rows_known(code: Code, space: ir.Nested, position: Position, segment: loops.Exp, row: loops.Exp,
               begins: loops.Exp) -> None:
    """Let the segment's row, and where that begins, be known by the expressions that search for them: of a guess that
    is right, the row is made, be it in the one piece or in the other."""
    parts, found = row_in_parts(space.rows, SEGMENT, searched())
    known = {SEGMENT.name: segment}
    for name, exp in parts:
        known[name] = begins if name.startswith("#begin") else row
        code.once[position(exp, known)] = Value(known[name], "int")
    code.once[position(found, known)] = Value(row, "int")


def searched() -> Fresh:
    """Names that no program has."""
    names = Names()
    return lambda hint: names.fresh(f"#{hint}")
