"""Rewrites failed checks so that LLVM makes vectors of the loops that they stand in.

    for (i = low; i < high; i += 1) {                   for (i = low; i < high; i += 1) {
      float y = ys[i];                                    var int miss = 4611686018427387904;
      if (y == 0.0) {                                     float y = ys[i];
        failed = min(failed, 1099511627776 + i);          if (y == 0.0) { miss = min(miss, 1099511627776 + i); }
      }                                             ->    ...
      ...                                                 failed = min(failed, miss);
    }                                                   }
                                                        failed = failed < 4611686018427387904 ? failed : NO_FAILURE;

A least value that some rounds take stops LLVM; one that each round takes is a vector of least values, and what a round
has of its own is selected. The number that says that none has failed is less than NO_FAILURE, which is the greatest of
all: of a minimum with that, LLVM makes a condition again. Every key is below both.
"""
from __future__ import annotations

from collections.abc import Iterator

from nessie.base.parts import updated
from nessie.cudagen.host.device import NO_FAILURE
from nessie.cudagen.kernels.code import integer, op
from nessie.cudagen.loops.nodes import For, Function, Load, Name, Op, Return, Set, Stmt, Store, Var, While
from nessie.cudagen.loops.walk import BODIES, bound_names, expressions, names, parts, statements

NONE = integer(2**62)           # above every key
DIVISIONS = ("rem", "mod")
FAILED = Name("failed")


def with_least_keys(function: Function) -> Function:
    """The function, of whose innermost loops each round takes the least key."""
    if not records(function.body):
        return function
    misses = (f"miss.{number}" for number in range(1 << 30))         # no name of the text has a point
    return updated(function, body=tuple([new for s in function.body for new in changed(s, misses)]))


def changed(statement: Stmt, misses: Iterator[str]) -> list[Stmt]:
    if not isinstance(statement, For) or any(isinstance(s, For | While | Return) for s in statements(statement.body)):
        return [inside(statement, misses)]
    if not records(statement.body) or is_scalar(statement):
        return [statement]
    miss = Name(next(misses))
    body = (Var(miss.name, "int", NONE), *[renamed(s, miss) for s in statement.body],
            Set(FAILED.name, op("min", FAILED, miss)))
    return [updated(statement, body=body),
            Set(FAILED.name, op("select", op("<", FAILED, NONE), FAILED, integer(NO_FAILURE)))]


def inside(statement: Stmt, misses: Iterator[str]) -> Stmt:
    """The statement, the loops in whose bodies are changed."""
    blocks = {name: tuple([new for s in block for new in changed(s, misses)])
              for name, block in vars(statement).items() if name in ("body", "then", "orelse")}
    return updated(statement, **blocks)


def is_scalar(loop: For) -> bool:
    """Is it never a vector, as it stores where what it computes says, or divides ints? A branch costs it less."""
    if any(isinstance(part, Op) and part.op in DIVISIONS for s in statements(loop.body) for e in expressions(s)
           for part in parts(e)):
        return True
    computed = {*bound_names(loop.body), *[s.name for s in statements(loop.body) if isinstance(s, Set)]}
    return any(isinstance(s, Store) and not computed.isdisjoint(names(s.index)) for s in statements(loop.body))


def combines(loop: For) -> bool:
    """Does it store in an array that it loads from? A place that is selected then waits for what was stored last;
    behind a branch, which the processor foresees, it does not."""
    stored = {s.array for s in statements(loop.body) if isinstance(s, Store)}
    return any(isinstance(part, Load) and part.array in stored for s in statements(loop.body) for e in expressions(s)
               for part in parts(e))


def records(body: tuple[Stmt, ...]) -> bool:
    return any(map(is_failure, statements(body)))


def is_failure(statement: Stmt) -> bool:
    return isinstance(statement, Set) and statement.name == FAILED.name


def renamed(statement: Stmt, name: Name) -> Stmt:
    """The statement, which records its keys under this name."""
    match statement:
        case Set(FAILED.name, Op("min", (Name(FAILED.name), key))):
            return Set(name.name, op("min", name, key))
    return BODIES.map(statement, lambda inner: renamed(inner, name))
