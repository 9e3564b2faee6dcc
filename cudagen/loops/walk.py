"""Walks over the statements of a loops function, at any depth, and over their expressions."""
from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from nessie.base.parts import Parts, updated
from nessie.cudagen.loops.nodes import (
    Atomic,
    Barrier,
    Call,
    Distance,
    Exp,
    For,
    Function,
    Load,
    LoadPair,
    Name,
    Peers,
    Shuffle,
    Stmt,
    Store,
    StorePair,
    Vote,
)

EXPRESSIONS = Parts[Exp]("Exp", order={For: ("low", "high", "step")})
BODIES = Parts[Stmt]("Stmt")
WRITTEN = Parts[str]("Written")
BOUND = Parts[str]("Bound")
CHANGED = Parts[str]("Bound", "Assigned")
parts = EXPRESSIONS.inside


def statements(body: Iterable[Stmt]) -> Iterator[Stmt]:
    """At any depth."""
    return BODIES.inside(*body)


def blocks(statement: Stmt) -> dict[str, tuple[Stmt, ...]]:
    """The statement's own blocks, by their fields."""
    return {name: getattr(statement, name) for name, _, _ in BODIES.fields_of(type(statement))}


def with_blocks(statement: Stmt, change: Callable[[Stmt], Iterable[Stmt]]) -> Stmt:
    """The statement, each of whose own blocks has, for each of its statements, those that it is changed to."""
    changed = {name: tuple([new for s in block for new in change(s)]) for name, block in blocks(statement).items()}
    return updated(statement, **changed) if changed else statement


def expressions(statement: Stmt) -> tuple[Exp, ...]:
    """The expressions of the statement itself; an array that it writes, or others do meanwhile, too, as its name."""
    return (*map(Name, WRITTEN.of(statement)), *EXPRESSIONS.of(statement))


def all_parts(body: Iterable[Stmt]) -> Iterator[Exp]:
    """The expressions of the statements, at any depth, and all in them."""
    return (part for statement in statements(body) for part in parts(*expressions(statement)))


def names(exp: Exp) -> Iterator[str]:
    for part in parts(exp):
        match part:
            case Name(name) | Load(name) | Shuffle(name) | Vote(name) | Peers(name):
                yield name
            case Distance(array, start):
                yield from (array, start)


def called(body: tuple[Stmt, ...]) -> Iterator[str]:
    """The functions that the statements call, at any depth, with repeats."""
    return (statement.function for statement in statements(body) if isinstance(statement, Call))


def read_names(body: tuple[Stmt, ...]) -> set[str]:
    """Every name that the statements read."""
    return {name for statement in statements(body) for exp in expressions(statement) for name in names(exp)}


def bound_names(body: Iterable[Stmt]) -> list[str]:
    """Every name that the statements bind."""
    return [name for statement in statements(body) for name in BOUND.of(statement)]


def changed_names(body: Iterable[Stmt]) -> set[str]:
    """Every name that the statements bind or assign."""
    return {name for statement in statements(body) for name in CHANGED.of(statement)}


def arrays_in_common(functions: Sequence[Function]) -> dict[str, set[str]]:
    """The arrays of each function that threads change while others look at them: by atomics, or in an order that
    accesses keep. What is such an array in one function is one, too, in those that pass it, or that it is passed to."""
    found = {f.name: set(accessed_in_common(f.body)) for f in functions}
    passed = [links for f in functions for links in passed_arrays(f, {g.name: g for g in functions})]
    grows = True
    while grows:
        grows = False
        for ends in passed:
            told = [array in found[function] for function, array in ends]
            if any(told) and not all(told):
                grows = True
                for function, array in ends:
                    found[function].add(array)
    return found


def accessed_in_common(body: tuple[Stmt, ...]) -> Iterator[str]:
    """The arrays of which the statements themselves tell so. What is ordered, by an atomic or a barrier, tells of all
    that a function both stores and loads: a thread may see there what others have stored."""
    if any(isinstance(s, Barrier) or (isinstance(s, Atomic) and s.ordered) for s in statements(body)):
        stored = {statement.array for statement in statements(body) if isinstance(statement, Store)}
        yield from [part.array for statement in statements(body) for exp in expressions(statement)
                    for part in parts(exp) if isinstance(part, Load) and part.array in stored]
    for statement in statements(body):
        match statement:
            case Atomic(array=array) | Store(array, release=True) | StorePair(array) | LoadPair(array=array):
                yield array
        yield from [part.array for exp in expressions(statement) for part in parts(exp)
                    if isinstance(part, Load) and part.order]


def passed_arrays(caller: Function, functions: Mapping[str, Function]) -> Iterator[tuple[tuple[str, str], ...]]:
    """The names of each array that a call passes: the caller and its name there, the callee and its name there."""
    for statement in statements(caller.body):
        if isinstance(statement, Call):
            callee = functions[statement.function]
            for argument, parameter in zip(statement.arguments, callee.parameters, strict=True):
                if parameter.array and isinstance(argument, Name):
                    yield (caller.name, argument.name), (callee.name, parameter.name)
