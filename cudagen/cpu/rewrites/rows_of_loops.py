"""Divides no index of a loop by what is alike in all its rounds: the loop goes by rows, of as many rounds as that says.

    for (i = low; i < high; i += 1) {          if (0 <= low and 16 <= width) {
      int row = i / width;                       for (quotient = low / width; quotient * width < high; quotient += 1) {
      int column = i rem width;                    int begin = quotient * width;
      ...                              ->          for (i = max(low, begin); i < high and i < begin + width; i += 1) {
    }                                                int row = quotient;
                                                     int column = i - begin;
                                                     ...
                                                   }
                                                 }
                                               } else { the loop as it was }

A division takes as long as ten other operators, and no vectors divide ints; what is left is a loop that LLVM makes
vectors of. Rows that are short gain nothing. Of several numbers that a loop divides by, the first makes the rows.
"""
from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import count

from nessie.base.parts import updated
from nessie.cudagen.cpu.rewrites.ranges import REST
from nessie.cudagen.kernels.code import integer, op
from nessie.cudagen.loops.marks import with_marks
from nessie.cudagen.loops.nodes import Call, Const, Exp, For, Function, If, Let, Name, Op, Stmt, While
from nessie.cudagen.loops.walk import (
    BODIES,
    EXPRESSIONS,
    all_parts,
    changed_names,
    statements,
)

DIVISIONS = ("/", "rem", "mod")
LEAST = 16                      # rounds of a row


def by_rows(function: Function) -> Function:
    """The function, whose innermost loops do not divide their index by what does not change in them."""
    numbers = count()
    return updated(function, body=tuple([changed(s, numbers) for s in function.body]))


def changed(statement: Stmt, numbers: Iterator[int]) -> Stmt:
    if isinstance(statement, For) and REST not in statement.index and (divisor := divisor_of(statement)) is not None:
        return nest(statement, divisor, f".r{next(numbers)}")
    return BODIES.map(statement, lambda inner: changed(inner, numbers))


def divisor_of(loop: For) -> Exp | None:
    """What the innermost loop divides its index by, if that is alike in all rounds; a power of two is a shift."""
    if loop.step != integer(1) or any(isinstance(s, For | While | Call) for s in statements(loop.body)):
        return None
    changing = {loop.index, *changed_names(loop.body)}
    for part in all_parts(loop.body):
        match part:
            case Op(name, (Name(loop.index), divisor)) if name in DIVISIONS:
                if isinstance(divisor, Name) and divisor.name not in changing:
                    return divisor
                if isinstance(divisor, Const) and is_long(int(divisor.value)):
                    return divisor
    return None


def is_long(row: int) -> bool:
    """Is a row of so many worth a loop, and no power of two?"""
    return row >= LEAST and row.bit_count() > 1


def nest(loop: For, divisor: Exp, mark: str) -> If:
    """The loop by rows, where they are long enough. `mark` makes names of their own."""
    low, high, begin, quotient = [Name(f"{name}{mark}") for name in ("low", "high", "begin", "quotient")]
    index = Name(loop.index)
    known: dict[Op, Exp] = {Op(name, (index, divisor)): op("-", index, begin) for name in ("rem", "mod")}
    known[Op("/", (index, divisor))] = quotient
    row = replace(loop, low=op("max", low, begin), high=op("min", high, op("+", begin, divisor)),
                  body=tuple([with_known(s, known) for s in loop.body]))
    last = op("+", op("/", op("-", high, integer(1)), divisor), integer(1))
    beyond = op("select", op("<", low, high), last, integer(0))
    rows = For(quotient.name, op("/", low, divisor), beyond, (Let(begin.name, "int", op("*", quotient, divisor)), row))
    long = op("and", op("<=", integer(0), loop.low), op("<=", integer(LEAST), divisor))
    return If(long, (Let(low.name, "int", loop.low), Let(high.name, "int", loop.high), rows), (with_marks(loop, mark),))


def with_known(statement: Stmt, known: dict[Op, Exp]) -> Stmt:
    """The statement, in which these are computed already."""
    def exp(found: Exp) -> Exp:
        return known[found] if isinstance(found, Op) and found in known else EXPRESSIONS.map(found, exp)
    return BODIES.map(EXPRESSIONS.map(statement, exp), lambda inner: with_known(inner, known))
