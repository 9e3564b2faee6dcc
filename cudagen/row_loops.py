"""How LLVM should vectorise the loops over rows: not at all, or with masks.

A walk of irregular segments has a loop for each segment, of few elements often, and nobody can tell how many. Where it
reads at indices that it has read, vectors gain nothing, and to begin and end them costs as much as the elements do: a
sparse matrix with ten values in a row takes a third more time. Where it only computes, vectors with masked lanes do a
short row in one step. What whole vectors leave over takes a jump for each element otherwise, and the processor guesses
wrong which is the last: sums of ten elements a row take more than twice the time.
"""
from __future__ import annotations

from collections.abc import Iterable

from nessie.cudagen.loops import Const, Exp, For, If, Let, Load, Name, Op, Set, Stmt, Store

MASKED = {"+", "-", "*", "neg", "abs", "max", "min", "and", "or", "xor", "not", "==", "/=", "<", "<=", ">", ">=",
          "float", "btoi", "select"}        # operators that a vector has, masked or not


def waits_for_memory(loop: For) -> bool:
    """Does the innermost loop, whose end was read from memory, read at indices that it has read?"""
    return reads(loop.high) and gathers(loop.body, set())


def fits_masks(loop: For) -> bool:
    """Does the innermost loop, whose end was read from memory, only compute with what lies at its index?"""
    return reads(loop.high) and not waits_for_memory(loop) and computes(loop.body)


def computes(body: Iterable[Stmt]) -> bool:
    return all(isinstance(statement, Let | Set) and masked(statement.value) for statement in body)


def masked(exp: Exp) -> bool:
    """Has it only operators that vectors have?"""
    match exp:
        case Op(op, arguments):
            return op in MASKED and all(map(masked, arguments))
        case Load(_, index, order):
            return not order and masked(index)
    return isinstance(exp, Const | Name)


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
