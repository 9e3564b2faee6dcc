"""Cuts loops where the array changes that they read: a concatenation is a loop for each part.

    for (i = low; i < high; i += 1) {               int cut = max(low, min(n, high));
      bool b = i < n;                               for (i = low; i < cut; i += 1) { x = xs[i]; ... }
      if (b) { x = xs[i]; }                  ->     for (i = cut; i < high; i += 1) { x = ys[i - n]; ... }
      else { x = ys[i - n]; }
      ...
    }

A loop is cut at a condition that compares its index, moved by something that does not change in the loop, with
something that does not change either, where both sides read memory; and each part again, at what it asks then. Few
elements, and numbers that are too large to compute with, take the loop as it was. Loops over a segment stay: they are
perhaps too short, and end where elements do.
"""
from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import count

from nessie.base.parts import updated
from nessie.cudagen.cpu.rewrites.ranges import LARGE, Range, decided, loads, moved_by, narrows
from nessie.cudagen.kernels.code import integer, op
from nessie.cudagen.loops.marks import with_marks
from nessie.cudagen.loops.nodes import Call, Exp, For, Function, If, Let, Name, Return, Stmt, While
from nessie.cudagen.loops.walk import changed_names, statements

SHORT = 16                      # elements that are not worth several loops
MOST = 4                        # conditions at which a loop is cut


def in_cuts(function: Function) -> Function:
    """The function, whose loops over all elements, or a chunk's, do not ask of each which array it comes from."""
    numbers = count()
    return updated(function, body=tuple([s for old in function.body for s in changed(old, numbers, 0)]))


def changed(statement: Stmt, numbers: Iterator[int], depth: int) -> tuple[Stmt, ...]:
    """`depth`: the loops that it stands in."""
    match statement:
        case For(body=body) if depth <= 1 and statement.step == integer(1) and not any(
                isinstance(s, For | While | Call | Return) for s in statements(body)):
            return cut(statement, numbers)
        case For(body=body):
            return (replace(statement, body=tuple([s for old in body for s in changed(old, numbers, depth + 1)])),)
        case If(condition, then, orelse):
            sides = [tuple([s for old in side for s in changed(old, numbers, depth)]) for side in (then, orelse)]
            return (If(condition, *sides),)
    return (statement,)


def cut(loop: For, numbers: Iterator[int]) -> tuple[Stmt, ...]:
    """The loop, or one for each part in its place."""
    mark = f".c{next(numbers)}"
    low, high, small = Name(f"low{mark}"), Name(f"high{mark}"), Name(f"small{mark}")
    bounds: list[Exp] = []
    pieces = in_parts(replace(loop, low=low, high=high), numbers, bounds)
    if len(pieces) == 1:
        return (loop,)
    fine: Exp = op("<=", integer(SHORT), op("-", high, low))
    for exp in bounds:
        fine = op("and", fine, op("and", op("<", integer(-LARGE), exp), op("<", exp, integer(LARGE))))
    as_it_was = with_marks(replace(loop, low=low, high=high), mark)
    return (Let(low.name, "int", loop.low), Let(high.name, "int", loop.high), Let(small.name, "bool", fine),
            If(small, pieces, (as_it_was,)))


def in_parts(loop: For, numbers: Iterator[int], bounds: list[Exp], cuts: int = 0) -> tuple[Stmt, ...]:
    """`bounds`: the numbers that decide where the parts end."""
    found = condition_of(loop) if cuts < MOST else None
    if found is None:
        return (loop,)
    name, holds = found
    at = Name(f"cut.c{next(numbers)}")
    bounds += holds.small
    first = bool(holds.highs)               # does it hold at first, or from there on?
    (end,) = holds.highs or holds.lows
    parts: list[Stmt] = [Let(at.name, "int", op("max", loop.low, op("min", end, loop.high)))]
    for side, (low, high) in ((first, (loop.low, at)), (not first, (at, loop.high))):
        part = with_marks(replace(loop, low=low, high=high, body=decided(loop.body, {name: side})),
                          f".c{next(numbers)}")
        parts += in_parts(part, numbers, bounds, cuts + 1)
    return tuple(parts)


def condition_of(loop: For) -> tuple[str, Range] | None:
    """A condition that is one comparison with the index and chooses what is read, and where it holds."""
    changing = {loop.index, *changed_names(loop.body)}
    chosen = {s.condition.name for s in loop.body if isinstance(s, If) and isinstance(s.condition, Name)
              and loads(s.then) and loads(s.orelse)}
    moved: dict[str, Exp] = {loop.index: integer(0)}
    for statement in loop.body:
        if isinstance(statement, Let):
            if (by := moved_by(statement.value, moved, changing)) is not None:
                moved[statement.name] = by
            holds = Range([], [], [])
            if statement.name in chosen and narrows(statement.value, moved, changing, holds) \
                    and len(holds.lows) + len(holds.highs) == 1:
                return statement.name, holds
    return None
