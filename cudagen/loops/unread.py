"""Pass: drop what a function computes and nobody reads. Thunks and skeletons bind names before it is known who reads
them, and a compiler for GPUs warns of each.

  in    loops
  out   functions with the same effects, in which everything that is bound is read, save for parameters, loop indices
        and what calls give; no If and no For is empty, and no Note speaks of nothing
  how   a name is needed if an effect reads it, or what a needed name is given: a Let, a Var by all its Sets, a Shared
        array by all its Stores. The rest goes, then what is empty, and what only that has read goes next
  why   operators are total, and a load that nobody reads cannot be missed, unless it orders others
"""
from __future__ import annotations

from collections import defaultdict
from dataclasses import replace

from nessie.base.call_graph import reachable
from nessie.cudagen.loops.module import Module
from nessie.cudagen.loops.nodes import (
    Atomic,
    For,
    Function,
    If,
    Let,
    Load,
    LoadPair,
    Note,
    Op,
    Set,
    Shared,
    Stmt,
    Store,
    Var,
    While,
)
from nessie.cudagen.loops.walk import expressions, names, parts, statements


def unread(module: Module) -> Module:
    return replace(module, functions=tuple(map(cleaned_function, module.functions)))


def cleaned_function(function: Function) -> Function:
    return replace(function, body=with_effects(function.body))


def with_effects(body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
    """The statements, without those that only bind what none of them needs: nothing is left of what has no effect."""
    while (kept := cleaned(body, needed(body))) != body:
        body = kept
    return body


def needed(body: tuple[Stmt, ...]) -> set[str]:
    own = {s.name for s in statements(body) if isinstance(s, (Let, Var, Shared))}
    given = defaultdict[str, set[str]](set)             # what is read for what a name is given
    waiting = list[str]()
    for statement in statements(body):
        read = [name for exp in expressions(statement) for name in names(exp)]
        match statement:
            case Let(name) | Var(name) | Set(name) | Store(name) if name in own and not orders(statement):
                given[name].update(read)
            case Let(name) | Var(name) | Set(name):
                waiting += [name, *read]
            case LoadPair(pair):
                for name in pair:
                    given[name].update(read)
            case _:
                waiting += read
    return reachable(given, waiting)


def cleaned(body: tuple[Stmt, ...], wanted: set[str]) -> tuple[Stmt, ...]:
    """The statements, without those that bind or set what is not wanted."""
    kept = list[Stmt]()
    for statement in body:
        match statement:
            case Let(name) | Var(name) | Set(name) | Shared(name) | Store(name) if name not in wanted:
                continue
            case LoadPair(pair) if wanted.isdisjoint(pair):
                continue
            case Atomic(result=str() as name) if name not in wanted:
                statement = replace(statement, result=None)
            case For(body=inner):
                statement = replace(statement, body=cleaned(inner, wanted))
                if not statement.body:
                    continue
            case While(_, inner):
                statement = replace(statement, body=cleaned(inner, wanted))
            case If(condition, then, orelse):
                then, orelse = cleaned(then, wanted), cleaned(orelse, wanted)
                if not then and not orelse:
                    continue
                statement = If(condition, then, orelse) if then else If(Op("not", (condition,)), orelse)
        if isinstance(statement, Note) and kept and isinstance(kept[-1], Note):
            kept.pop()
        kept.append(statement)
    while kept and isinstance(kept[-1], Note):
        kept.pop()
    return tuple(kept)


def orders(statement: Stmt) -> bool:
    """Does it tell others of what was done, or see what they do?"""
    return (isinstance(statement, Store) and statement.release) or any([
        isinstance(part, Load) and part.order != "" for exp in expressions(statement) for part in parts(exp)])
