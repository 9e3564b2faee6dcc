"""Rewrites failed checks so that LLVM makes vectors of the loops that they stand in: two editions of a function.

    f: for (i = low; i < high; i += 1) {                 f: for (i = low; i < high; i += 1) {
         float y = ys[i];                                     var int miss = 2;
         if (y == 0.0) {                                      float y = ys[i];
           failed = min(failed, 1099511627776 + i);           if (y == 0.0) { miss = 3; }
         }                                         ->         ...
         ...                                                  missed = missed or miss;
       }                                                    }
                                                            ...
                                                            if (missed and 1 /= 0) { f.again(...); }

A least key that some rounds take stops LLVM, and one that each round takes costs it several instructions; whether any
has failed is one bit of each lane. (The other bit is for LLVM: of an `or` with 0 it makes a condition again.) `f.again`
is the function as it was. It is called where an element has failed, does the same once more, and finds which: so it may
be slow, and LLVM does not look at it. A loop over lanes (skeletons.cpu.lanes) has a word for each lane.

What is done twice must come to the same twice: a function that stores in an array that it loads from, or that may loop
for ever, stays as it is.
"""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import count

from nessie.base.parts import updated
from nessie.cudagen.cpu.rewrites.held import held, is_failure
from nessie.cudagen.cpu.row_loops import divides, in_order, lanes, names_of_read
from nessie.cudagen.kernels.code import integer, op
from nessie.cudagen.loops import nodes as loops
from nessie.cudagen.loops.nodes import Exp, For, Function, If, Load, Name, Return, Set, Stmt, Store, Var, While
from nessie.cudagen.loops.walk import BODIES, bound_names, expressions, names, parts, statements, with_blocks

MISSED = Name("missed.")        # no name of the text has a point
MISSED_LANES = "missed.lanes"   # an array
AGAIN = "again"
PASSED, MISS = integer(2), integer(3)


def editions(function: Function, plain: Function) -> tuple[Function, ...]:
    """The function; or one that only sees whether a check fails, and calls the other, which tells: `plain`, as it was
    before other loops were made of its own."""
    if not repeatable(function):
        return (function,)
    noter = Noter(function)
    body = tuple([new for s in function.body for new in noter.changed(s)])
    if body == function.body:
        return (function,)
    again = replace(plain, name=again_of(function.name), kind="device")
    called = loops.Call((), again.name, tuple([Name(p.name) for p in function.parameters]))
    shared = sum(isinstance(statement, loops.Shared) for statement in body)                 # at the top
    begin: list[Stmt] = [If(op("<=", Name(size), integer(0)), (called, Return(()))) for size in sorted(noter.sizes)]
    begin.append(Var(MISSED.name, "int", integer(0)))
    end: list[Stmt] = [If(op("/=", op("and", MISSED, integer(1)), integer(0)), (called,))]
    declared: list[Stmt] = []
    if sizes := {s.high for s in statements(body) if isinstance(s, For) and stores_misses(s)}:
        size = max(sizes, key=lambda size: int(size.value) if isinstance(size, loops.Const) else 0)
        declared = [loops.Shared(MISSED_LANES, "int", int(size.value))] if isinstance(size, loops.Const) else []
        begin.append(each("lane.before", size, lambda lane: Store(MISSED_LANES, lane, integer(0))))
        found = each("lane.after", size, lambda lane: Set(MISSED.name, op("or", MISSED, Load(MISSED_LANES, lane))))
        end.insert(0, found)
    fast = replace(function, body=(*declared, *body[:shared], *begin, *body[shared:], *end))
    return fast, again


def each(index: str, size: Exp, body: Callable[[Name], Stmt]) -> For:
    return For(index, integer(0), size, (body(Name(index)),))


def again_of(name: str) -> str:
    return f"{name}.{AGAIN}"


def repeatable(function: Function) -> bool:
    """Does it come to the same if it is done twice, and come to an end?"""
    if function.kind != "host" or not records(function.body) or any(p.name == "interrupt" for p in function.parameters):
        return False
    given = {p.name for p in function.parameters if p.array}
    stored = {s.array for s in statements(function.body) if isinstance(s, Store)} & given
    return stored.isdisjoint(part.array for s in statements(function.body) for e in expressions(s) for part in parts(e)
                             if isinstance(part, Load))


class Noter:
    """Rewrites the innermost loops of a function: each round only says whether it fails. `read`: the names of what the
    function has read; `fixed`: of its scalars; `sizes`: those of them that must be above 0."""

    def __init__(self, function: Function) -> None:
        self.misses = (Name(f"miss.{number}") for number in count())
        self.read = names_of_read(function)
        self.fixed = frozenset({p.name for p in function.parameters if not p.array})
        self.sizes: set[str] = set()

    def changed(self, statement: Stmt) -> list[Stmt]:
        inside = statements(statement.body) if isinstance(statement, For) else ()
        if not isinstance(statement, For) or any(isinstance(s, For | While | Return) for s in inside):
            return [with_blocks(statement, self.changed)]
        if not records(statement.body) or is_scalar(statement):
            return [statement]
        jumps = in_order(statement, self.read)
        loop, sizes = held(statement, self.fixed, jumps)
        if jumps and not (lanes(loop) and sizes):
            return [statement]
        self.sizes |= sizes
        miss = next(self.misses)
        missed: Stmt = Set(MISSED.name, op("or", MISSED, miss))
        if lanes(loop):
            lane = Name(loop.index)
            missed = Store(MISSED_LANES, lane, op("or", Load(MISSED_LANES, lane), miss))
        return [updated(loop, body=(Var(miss.name, "int", PASSED), *[missing(s, miss) for s in loop.body], missed))]


def stores_misses(loop: For) -> bool:
    return any(isinstance(s, Store) and s.array == MISSED_LANES for s in loop.body)


def missing(statement: Stmt, miss: Name) -> Stmt:
    """The statement, which says that there is a failure in place of which."""
    if is_failure(statement):
        return Set(miss.name, MISS)
    return BODIES.map(statement, lambda inner: missing(inner, miss))


def is_scalar(loop: For) -> bool:
    """Is it never a vector, as it stores where what it computes says, or divides ints? A branch costs it less."""
    if divides(loop.body):
        return True
    computed = {*bound_names(loop.body), *[s.name for s in statements(loop.body) if isinstance(s, Set)]}
    return any(isinstance(s, Store) and not computed.isdisjoint(names(s.index)) for s in statements(loop.body))


def records(body: tuple[Stmt, ...]) -> bool:
    return any(map(is_failure, statements(body)))
