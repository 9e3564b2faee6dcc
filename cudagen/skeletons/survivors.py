"""A FILTER without a branch that is hard to foretell.

    if p { x = xs[i]; ys[rank] = x; count = count + 1 }

becomes, where what is done for survivors does no harm for others,

    x = xs[i]; if rank < limit { ys[rank] = x }; count = count + btoi(p)

A value that does not survive is overwritten by the next that does. `limit` is the count at the chunk's end: once it is
reached, nothing is written into the next chunk's part. One thread that does all needs none: there is room for all
elements, and before element i there are at most i survivors.
"""
from __future__ import annotations

from nessie.cudagen.kernels.code import op
from nessie.cudagen.kernels.thunks import COSTLY
from nessie.cudagen.loops import nodes as loops
from nessie.cudagen.loops.walk import parts

MOST_STORES = 3


def branch_free(survives: list[loops.Stmt], index: loops.Exp) -> bool:
    """Only cheap values, loads at the element's own index, stores at the rank, and counting."""
    return bool(survives) and len(stores(survives)) <= MOST_STORES and all(harmless(s, index) for s in survives)


def stores(survives: list[loops.Stmt]) -> tuple[loops.Store, ...]:
    return tuple(s for s in survives if isinstance(s, loops.Store))


def harmless(statement: loops.Stmt, index: loops.Exp) -> bool:
    match statement:
        case loops.Let(value=value) | loops.Store(value=value):
            return not any(costly(part, index) for part in parts(value))
        case loops.Set(name, loops.Op("+", (loops.Name(same), loops.Const(1, "int")))):
            return name == same
    return False


def costly(exp: loops.Exp, index: loops.Exp) -> bool:
    match exp:
        case loops.Op(name):
            return name in COSTLY
        case loops.Load(index=at):
            return at != index
        case loops.Const() | loops.Name():
            return False
    return True


def without_branch(survives: list[loops.Stmt], holds: loops.Exp, limit: loops.Exp | None) -> list[loops.Stmt]:
    stored = stores(survives)
    result: list[loops.Stmt] = [s for s in survives if isinstance(s, loops.Let)]
    if stored:
        result += stored if limit is None else (loops.If(op("<", stored[0].index, limit), stored),)
    return result + [loops.Set(s.name, op("+", loops.Name(s.name), op("btoi", holds)))
                     for s in survives if isinstance(s, loops.Set)]
