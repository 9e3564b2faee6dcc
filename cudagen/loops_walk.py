"""What is in the statements of a loops function, at any depth, and in their expressions."""
from __future__ import annotations

from collections.abc import Iterator

from nessie.cudagen.loops import (
    Atomic,
    Barrier,
    Call,
    Exp,
    For,
    If,
    Let,
    Load,
    Name,
    Note,
    Op,
    Pause,
    Return,
    Set,
    Shared,
    Shuffle,
    Stmt,
    Store,
    Var,
    Vote,
    While,
)


def statements(body: tuple[Stmt, ...]) -> Iterator[Stmt]:
    """At any depth."""
    waiting = list(body)
    while waiting:
        statement = waiting.pop()
        yield statement
        match statement:
            case For(body=inner) | While(_, inner):
                waiting += inner
            case If(_, then, orelse):
                waiting += (*then, *orelse)


def expressions(statement: Stmt) -> tuple[Exp, ...]:
    """Those of the statement itself; an array that it writes, too, as its name."""
    match statement:
        case Let(_, _, exp) | Var(_, _, exp) | Set(_, exp) | While(exp) | If(exp):
            return (exp,)
        case Store(array, index, value):
            return (Name(array), index, value)
        case For(_, low, high, _, step):
            return (low, high, step)
        case Atomic(_, array, index, value, _, compare):
            return (Name(array), index, value, *([] if compare is None else [compare]))
        case Call(_, _, exps) | Return(exps):
            return exps
        case Shared() | Pause() | Barrier() | Note():
            return ()
    raise TypeError(statement)


def names(exp: Exp) -> Iterator[str]:
    for part in parts(exp):
        match part:
            case Name(name) | Load(name) | Shuffle(name) | Vote(name):
                yield name


def parts(exp: Exp) -> Iterator[Exp]:
    waiting = [exp]
    while waiting:
        part = waiting.pop()
        yield part
        match part:
            case Op(_, arguments):
                waiting += arguments
            case Load(_, inner) | Shuffle(_, inner):
                waiting.append(inner)


def read_names(body: tuple[Stmt, ...]) -> set[str]:
    """Every name that the statements read."""
    return {name for statement in statements(body) for exp in expressions(statement) for name in names(exp)}


def bound_names(body: tuple[Stmt, ...]) -> list[str]:
    """Every name that the statements bind."""
    found: list[str] = []
    for statement in statements(body):
        match statement:
            case Let(name) | Var(name) | Shared(name) | For(name) | Atomic(result=str() as name):
                found.append(name)
            case Call(bound):
                found += bound
    return found


def arrays_in_common(body: tuple[Stmt, ...]) -> set[str]:
    """The arrays that threads change while others look at them: by atomics, or in an order that accesses keep."""
    found = {part.array for statement in statements(body) for exp in expressions(statement) for part in parts(exp)
             if isinstance(part, Load) and part.order}
    for statement in statements(body):
        match statement:
            case Atomic(array=array) | Store(array, release=True):
                found.add(array)
    return found
