"""Facts about loops for LLVM, which cannot tell how they are meant.

A walk of irregular segments has a loop for each segment, of few elements often, and nobody can tell how many. Where it
reads at indices that it has read, vectors gain nothing, and to begin and end them costs as much as the elements do: a
sparse matrix with ten values in a row takes a third more time. So such a loop is not vectorised.

A loop over lanes is a vector. LLVM would unroll it first, as it does with short loops, and then find fewer vectors in
it: none of calls, say, so that sums of exponentials would take four times as long.
"""
from __future__ import annotations

from collections.abc import Iterable

from nessie.cudagen.loops.nodes import Const, Exp, For, If, Let, Load, Name, Op, Set, Stmt, Store
from nessie.cudagen.loops.walk import statements


def waits_for_memory(loop: For) -> bool:
    """Does the innermost loop, whose end was read from memory, read at indices that it has read?"""
    return reads(loop.high) and gathers(loop.body, set())


def lanes(loop: For) -> bool:
    """Does each of a known number of rounds store something?"""
    known = isinstance(loop.low, Const) and isinstance(loop.high, Const)
    return known and any(isinstance(statement, Store) for statement in statements(loop.body))


def gathers(body: Iterable[Stmt], read: set[str]) -> bool:
    """`read`: the names that hold what was read, or what was computed from it."""
    for statement in body:
        match statement:
            case Let(name, _, value) | Set(name, value):
                if at_read_index(value, read):
                    return True
                if depends(value, read):
                    read.add(name)
            case Store(_, index, value):
                if at_read_index(index, read) or at_read_index(value, read):
                    return True
            case If(condition, then, orelse):
                if at_read_index(condition, read) or gathers(then, read) or gathers(orelse, read):
                    return True
            case For():
                return False
    return False


def at_read_index(exp: Exp, read: set[str]) -> bool:
    """Is there a load in it whose index depends on memory?"""
    match exp:
        case Load(_, index):
            return depends(index, read) or at_read_index(index, read)
        case Op(_, arguments):
            return any(at_read_index(a, read) for a in arguments)
    return False


def depends(exp: Exp, read: set[str]) -> bool:
    match exp:
        case Load():
            return True
        case Op(_, arguments):
            return any(depends(a, read) for a in arguments)
        case Name(name):
            return name in read
    return False


def reads(exp: Exp) -> bool:
    return depends(exp, set())
