"""Ends folds that ask whether all hold, or any does, once that is decided.

    var bool x = true;                              var bool x = true;
    for (j = 0; j < count; j += 1) {                var int round = 0;
      bool b = xs[j] == ys[i + j];           ->     while (x and round < count) {
      x = x and b;                                    int j = round;
    }                                                 bool b = xs[j] == ys[i + j];
                                                      x = x and b;
                                                      round = round + 1;
                                                    }

Whoever compares what lies anywhere sees a difference soon, most often. What goes round in lanes
(cudagen.cpu.rewrites.folds) is none of it: there a round is an eighth of an instruction.
"""
from __future__ import annotations

from collections.abc import Iterator, Set
from itertools import count

from nessie.base.parts import updated
from nessie.cudagen.kernels.code import integer, op
from nessie.cudagen.loops import nodes as loops
from nessie.cudagen.loops.nodes import Exp, For, Function, Let, Name, Op, Stmt, Var, While
from nessie.cudagen.loops.walk import names, statements, with_blocks


def until_decided(function: Function) -> Function:
    """The function, whose folds of bools end early."""
    bools = {s.name for s in statements(function.body) if isinstance(s, Var) and s.type == "bool"}
    numbers = count()
    return updated(function, body=tuple([new for s in function.body for new in changed(s, bools, numbers)]))


def changed(statement: Stmt, bools: Set[str], numbers: Iterator[int]) -> list[Stmt]:
    if not isinstance(statement, For) or (goes_on := undecided(statement, bools)) is None:
        return [with_blocks(statement, lambda inner: changed(inner, bools, numbers))]
    index = Name(f"round.d{next(numbers)}")
    body = (Let(statement.index, "int", index), *statement.body, loops.Set(index.name, op("+", index, integer(1))))
    return [Var(index.name, "int", statement.low),
            While(op("and", goes_on, op("<", index, statement.high)), body)]


def undecided(loop: For, bools: Set[str]) -> Exp | None:
    """The condition under which a round may change something, if the loop is a fold that only combines bools by one
    `and` or `or`, and so many times as a name says."""
    if loop.low != integer(0) or loop.step != integer(1) or not isinstance(loop.high, Name):
        return None
    *lets, last = loop.body
    match last:
        case loops.Set(name, Op("and" | "or" as operator, (Name(held), exp))) if held == name and name in bools:
            values = [exp, *[let.value if isinstance(let, Let) else Name(name) for let in lets]]
            if not any([name in names(value) for value in values]):
                return Name(name) if operator == "and" else op("not", Name(name))
    return None
