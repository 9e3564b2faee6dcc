"""Loops over indices, and how many parts a size has."""
from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from nessie.cudagen.kernels.code import Code, integer, op
from nessie.cudagen.loops import nodes as loops
from nessie.cudagen.loops.walk import bound_names, names

ONE = integer(1)


def count_of(size: loops.Exp, each: int) -> loops.Exp:
    """How many parts of so many it has, the last of which may be smaller."""
    return op("/", op("+", size, integer(each - 1)), integer(each))


@contextmanager
def loop(code: Code, hint: str, low: loops.Exp, high: loops.Exp, step: loops.Exp = ONE,
         surely: bool = False) -> Iterator[loops.Exp]:
    """Do what is written meanwhile for each index. `surely`: there is one; what is alike for all goes before the loop,
    which LLVM makes vectors of then (cpu.row_loops)."""
    index = loops.Name(code.fresh(hint))
    with code.block() as body:
        yield index
    own = {index.name, *bound_names(tuple(body))}
    for statement in tuple(body) if surely else ():
        if isinstance(statement, loops.Let) and own.isdisjoint(names(statement.value)):
            own.remove(statement.name)
            body.remove(statement)
            code.add(statement)
    code.add(loops.For(index.name, low, high, tuple(body), step))
