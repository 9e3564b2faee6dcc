"""Copies of statements in one function: each has names of its own, with a mark."""
from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import TypeVar

from nessie.cudagen.loops.nodes import Atomic, Call, Exp, For, Let, Name, Set, Stmt, Var
from nessie.cudagen.loops.walk import BODIES, EXPRESSIONS, bound_names

S = TypeVar("S", bound=Stmt)


def with_marks(statement: S, mark: str) -> S:
    """The statement, in which all names that it binds are others."""
    return marked(statement, frozenset(bound_names((statement,))), mark)


def all_marked(body: tuple[Stmt, ...], mark: str) -> tuple[Stmt, ...]:
    bound = frozenset(bound_names(body))
    return tuple([marked(statement, bound, mark) for statement in body])


def marked(statement: S, bound: Collection[str], mark: str) -> S:
    def name(old: str) -> str:
        return f"{old}{mark}" if old in bound else old

    def exp(found: Exp) -> Exp:
        return Name(name(found.name)) if isinstance(found, Name) else EXPRESSIONS.map(found, exp)

    new = BODIES.map(EXPRESSIONS.map(statement, exp), lambda inner: marked(inner, bound, mark))
    match new:
        case Let(old) | Var(old) | Set(old):
            return replace(new, name=name(old))
        case For(old):
            return replace(new, index=name(old))
        case Call(names):
            return replace(new, names=tuple(map(name, names)))
        case Atomic(result=str() as old):
            return replace(new, result=name(old))
    return new
