"""Reads of places that data say, without the whole array: a run that only notes the places, then one that is told.

    float v_at = v[j_at];            v_number = v_number + 1;                                   a chunk asks
                                     if (v_number < v_room) { v_asked[v_number] = j_at; }

                                     v_number = v_number + 1;                                   a chunk is told
                                     float v_at = v[v_number];

Both runs come to the same places in the same order, since nothing that decides where they go depends on what is read
so. Where it does (a chain of places, a loop until something is found), the array goes to all workers.
"""
from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace

from nessie.base.names import Names
from nessie.base.records import dataclass
from nessie.base.widths import wide
from nessie.cudagen.kernels.code import integer, op
from nessie.cudagen.loops.nodes import (
    Atomic,
    Call,
    Exp,
    For,
    Function,
    If,
    Let,
    Load,
    Name,
    Parameter,
    Prefetch,
    Return,
    Set,
    Shared,
    Stmt,
    Store,
    Var,
    While,
)
from nessie.cudagen.loops.walk import EXPRESSIONS, blocks, names, parts, statements, with_blocks

KNOWN = ("_carry", "_borders", "_kept", "cells")        # ends of arrays whose elements are known before a phase
SIMPLE = (Let, Var, Set, Store, If, For, While, Atomic, Call, Shared, Prefetch, Return)
ASKED, ROOM = "asked", "room"


@dataclass(frozen=True)
class Asking:
    """Of a function: the arrays that it reads at places which data say, the function that asks for these, and the one
    that is told. To the first, each array has two parameters more, `array_asked` and `array_room`."""
    arrays: tuple[str, ...]
    asks: Function
    told: Function


def asking(function: Function, offsets: Collection[str]) -> Asking | None:
    """None: there is nothing to ask for, or who asks would have to know what is told."""
    body = function.body
    if not all(isinstance(statement, SIMPLE) for statement in statements(body)):
        return None
    read = {p.name for p in function.parameters if p.array and not p.writable}
    plain = {name for name in read if name not in offsets and not name.endswith(KNOWN)}
    of_data = derived(body, plain)
    wanted = tuple(sorted({load.array for load in loads(body) if load.array in plain
                           and (set(names(load.index)) & (of_data | plain))}))
    written = {p.name for p in function.parameters if p.array and p.writable}
    if not wanted or not may_ask(body, {*wanted}, written):
        return None
    bound = Names({name for statement in statements(body) for exp in EXPRESSIONS.of(statement) for name in names(exp)}
                  | {p.name for p in function.parameters})
    numbers = {name: bound.fresh(f"{name}_number") for name in wanted}
    started = tuple([Var(number, "int", integer(-1)) for number in numbers.values()])
    types = {p.name: p.type for p in function.parameters}
    told = Rewriting(numbers, types, bound, asks=False)
    asks = Rewriting(numbers, types, bound, asks=True, written=written)
    ends = tuple([Store(f"{name}_{ASKED}", integer(0), Name(number)) for name, number in numbers.items()])
    more = [parameter for name in wanted for parameter in (
        Parameter(f"{name}_{ASKED}", "int", True, True), Parameter(f"{name}_{ROOM}", "int"))]
    return Asking(wanted,
                  replace(function, name=f"{function.name}_asks", parameters=(*function.parameters, *more),
                          body=(*started, *asks.block(body), *ends)),
                  replace(function, name=f"{function.name}_told", body=(*started, *told.block(body))))


def loads(body: tuple[Stmt, ...]) -> Iterator[Load]:
    return (part for statement in statements(body) for exp in EXPRESSIONS.of(statement) for part in parts(exp)
            if isinstance(part, Load))


def derived(body: tuple[Stmt, ...], arrays: Collection[str]) -> set[str]:
    """The names that depend on elements of these arrays, by their values or by whether they are set."""
    found: set[str] = set()
    before = -1
    while len(found) > before:
        before = len(found)
        derive(body, {*arrays}, found, False)
    return found


def derive(body: tuple[Stmt, ...], arrays: set[str], found: set[str], within: bool) -> None:
    for statement in body:
        depends = within or any(set(names(exp)) & (arrays | found) for exp in EXPRESSIONS.of(statement))
        match statement:
            case Let(name) | Var(name) | Set(name) | For(name):
                found |= {name} if depends else set()
            case Store(array) if isinstance(array, str):
                found |= {array} if depends else set()
            case Call(results):
                found |= {*results} if depends else set()
        for block in blocks(statement).values():
            derive(block, arrays, found, depends)


def may_ask(body: tuple[Stmt, ...], arrays: set[str], written: set[str]) -> bool:
    """Does nothing that leads to a read of these arrays depend on what they hold, or on what the function writes?"""
    later = derived(body, arrays | written)
    for statement in statements(body):
        reads = any(load.array in arrays for block in blocks(statement).values() for load in loads(block))
        own = [set(names(exp)) for exp in EXPRESSIONS.of(statement)]
        match statement:
            case Call(arguments=arguments) if any(set(names(a)) & arrays for a in arguments):
                return False
            case While(condition) if reads or set(names(condition)) & arrays:
                return False
            case If() | For() if reads and any(found & (later | arrays | written) for found in own):
                return False
        for load in loads((statement,)):
            if load.array in arrays and set(names(load.index)) & (later | arrays | written):
                return False
    return True


@dataclass
class Rewriting:
    """Writes one of the two functions. `numbers`: the variables that count an array's reads; `written`: arrays that who
    asks does not write."""
    numbers: Mapping[str, str]
    types: Mapping[str, str]
    fresh: Names
    asks: bool
    written: Collection[str] = ()

    def block(self, body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
        return tuple([new for statement in body for new in self.statement(statement)])

    def statement(self, statement: Stmt) -> Iterator[Stmt]:
        if isinstance(statement, Prefetch) and statement.array in self.numbers:
            return
        before: list[Stmt] = []
        changed = EXPRESSIONS.map(statement, lambda exp: self.expression(exp, before))
        yield from before
        if not (self.asks and isinstance(statement, Store | Atomic | Prefetch) and statement.array in self.written):
            yield with_blocks(changed, self.statement)

    def expression(self, exp: Exp, before: list[Stmt]) -> Exp:
        if isinstance(exp, Load) and exp.array in self.numbers:
            before += self.noted(exp)
            element = self.fresh.fresh(f"{exp.array}_told")
            at = integer(0) if self.asks else Name(self.numbers[exp.array])
            before.append(Let(element, wide(self.types[exp.array]), Load(exp.array, at)))
            return Name(element)
        return EXPRESSIONS.map(exp, lambda part: self.expression(part, before))

    def noted(self, load: Load) -> list[Stmt]:
        number = self.numbers[load.array]
        made: list[Stmt] = [Set(number, op("+", Name(number), integer(1)))]
        if self.asks:
            inside = op("<", Name(number), Name(f"{load.array}_{ROOM}"))
            made.append(If(inside, (Store(f"{load.array}_{ASKED}", op("+", Name(number), integer(1)), load.index),)))
        return made

