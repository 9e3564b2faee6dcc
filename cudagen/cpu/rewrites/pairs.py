"""Goes round long loops with two elements at a time.

    for (i = low; i < high; i += 1) {               for (i = low; i < high - 1; i += 2) {
      int a = mod(i, m);                              int j = i + 1;
      int b = mod(a, n);                     ->       int a = mod(i, m);  int a_2 = mod(j, m);
      ...                                             int b = mod(a, n);  int b_2 = mod(a_2, n);
      out[i] = z;                                     ...
    }                                                 out[i] = z;  out[j] = z_2;
                                                    }
                                                    and what is left of the loop, as it was

While a result is awaited, a processor does what does not need it, some hundreds of instructions ahead. Where each
operation of an element waits for the one before, and an element takes more instructions than that, nothing else is in
sight: a fused chain of maps takes longer than its maps one by one. The second element is.

No loop is taken whose elements know of each other: that keeps anything but the first failure from one to the next, or
reads what it writes. Of loops without failures LLVM makes vectors, or does the same.
"""
from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import count

from nessie.base.parts import updated
from nessie.cudagen.cpu.rewrites.held import is_failure
from nessie.cudagen.kernels.code import integer, op
from nessie.cudagen.loops.marks import with_marks
from nessie.cudagen.loops.nodes import Exp, For, Function, If, Let, Load, Name, Op, Set, Stmt, Store, Var
from nessie.cudagen.loops.walk import all_parts, bound_names, statements, with_blocks

LONG = 250                      # cycles that the operations of an element wait for each other
CYCLES = {"mod": 12, "rem": 12, "/": 12, "*": 4}          # of others: 1
MEMORY = 5                      # cycles until an element of an array is there


def in_pairs(function: Function) -> Function:
    """The function, whose long loops have two elements in sight."""
    numbers = count()
    return updated(function, body=tuple([new for s in function.body for new in changed(s, numbers)]))


def changed(statement: Stmt, numbers: Iterator[int]) -> tuple[Stmt, ...]:
    if isinstance(statement, For) and is_long(statement):
        return paired(statement, numbers)
    return (with_blocks(statement, lambda inner: changed(inner, numbers)),)


def is_long(loop: For) -> bool:
    """Does one element follow the other, each after a long wait, and could they change places?"""
    inside, own = list(statements(loop.body)), frozenset(bound_names(loop.body))
    if loop.step != integer(1) or not all([isinstance(s, Let | Var | If | Store) or is_failure(s) or (
            isinstance(s, Set) and s.name in own) for s in inside]):
        return False
    written = {s.array for s in inside if isinstance(s, Store)}
    read = {p.array for p in all_parts(loop.body) if isinstance(p, Load)}
    return any(map(is_failure, inside)) and not written & read and cycles(inside) >= LONG


def cycles(body: list[Stmt]) -> int:
    """How long the operations wait for each other."""
    ready: dict[str, int] = {}

    def at(exp: Exp) -> int:
        match exp:
            case Name(name):
                return ready.get(name, 0)
            case Load(_, index):
                return at(index) + MEMORY
            case Op(operator, arguments):
                return max(map(at, arguments), default=0) + CYCLES.get(operator, 1)
        return 0
    for statement in body:
        match statement:
            case Let(name, _, value) | Var(name, _, value) | Set(name, value):
                ready[name] = max(at(value), ready.get(name, 0))
    return max(ready.values(), default=0)


def paired(loop: For, numbers: Iterator[int]) -> tuple[Stmt, ...]:
    """The loop for two elements at a time, and for the one that may be left."""
    number = next(numbers)
    low, high, left = [Name(f"{name}.p{number}") for name in ("low", "high", "left")]
    second = with_marks(loop, f".p{number}")
    both = [s for pair in zip(loop.body, second.body, strict=True) for s in pair]
    following = Let(second.index, "int", op("+", Name(loop.index), integer(1)))
    whole = op("and", op("max", op("-", high, low), integer(0)), integer(-2))
    bounds = ((low, loop.low), (high, loop.high), (left, op("+", low, whole)))
    return (*[Let(name.name, "int", value) for name, value in bounds],
            replace(loop, low=low, high=left, step=integer(2), body=(following, *both)),
            with_marks(replace(loop, low=left, high=high), f".l{number}"))
