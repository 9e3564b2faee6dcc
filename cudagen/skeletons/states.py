"""Running values of a walk: a reduction's accumulator, a scan's prefix, a count of survivors.

    total      a chunk's total goes to `parts`; the totals are combined in chunk order when all chunks are done
    carry      what an element needs of all elements before it: chunk totals come first, in a sweep of their own, and
               become prefixes in place; with `restarts`, the value starts afresh in each segment
    segment    a segment's total (SEG_REDUCE). A segment that began in an earlier chunk is finished when all chunks
               are done: the chunk leaves what it has of it in `heads`, and what it has of its last segment in `tails`

A state has as many components as its monoid, each with a name: that of the result which it becomes. Component c has in
buffer b the array c_b.
"""
from __future__ import annotations

from nessie.base.records import dataclass
from nessie.cudagen.kernels.code import COUNTS, Code, Value
from nessie.cudagen.kernels.thunks import Tables, apply, scalar
from nessie.cudagen.loops import nodes as loops
from nessie.cudagen.loops import walk as loops_walk
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu.commuting import commutes


@dataclass(frozen=True)
class Monoid:
    types: tuple[str, ...]
    identity: tuple[ir.Exp, ...]
    operator: ir.Thunk


COUNT = Monoid(("int",), (ir.Const(0, "int"),),
               ir.Thunk(COUNTS, ir.Op("+", tuple([ir.Var(name) for name in COUNTS]))))
NOW = "_now"                    # ends the name of a variable that holds a component
ONE = (Value(loops.Const(1, "int"), "int"),)


@dataclass(frozen=True)
class State:
    name: str
    monoid: Monoid
    kind: str                   # 'total', 'carry', 'segment'
    restarts: bool = False
    results: tuple[str, ...] = ()           # the names of several components

    @property
    def components(self) -> tuple[str, ...]:
        return self.results or (self.name,)

    def buffers(self, use: str) -> tuple[str, ...]:
        return tuple(f"{component}_{use}" for component in self.components)


def identity(code: Code, tables: Tables, state: State) -> tuple[Value, ...]:
    return tuple(scalar(code, tables, exp) for exp in state.monoid.identity)


def combine(code: Code, tables: Tables, state: State, left: tuple[Value, ...],
            right: tuple[Value, ...]) -> tuple[Value, ...]:
    """left (+) right"""
    right = tuple(code.let("term", value) for value in right)
    return apply(code, tables, state.monoid.operator, left + right)


def commutative(state: State) -> bool:
    return commutes(state.monoid.operator)


def declare(code: Code, tables: Tables, state: State, hint: str = "") -> tuple[str, ...]:
    """Variables that hold the state, the identity at first."""
    first = identity(code, tables, state)
    return tuple(code.var(f"{component}{hint or NOW}", v.type, v.exp)
                 for component, v in zip(state.components, first, strict=True))


def current(state: State, names: tuple[str, ...]) -> tuple[Value, ...]:
    return tuple(Value(loops.Name(n), t) for n, t in zip(names, state.monoid.types, strict=True))


def assign(code: Code, names: tuple[str, ...], values: tuple[Value, ...]) -> None:
    """All at once: a value that reads a variable which is assigned before it is computed first."""
    early = [any(read in names[:at] for read in loops_walk.names(value.exp)) for at, value in enumerate(values)]
    values = tuple(code.let(f"{name.removesuffix(NOW)}_next", value) if first else value
                   for name, value, first in zip(names, values, early, strict=True))
    for name, value in zip(names, values, strict=True):
        code.add(loops.Set(name, value.exp))


def held(code: Code, state: State, use: str, index: loops.Exp) -> tuple[Value, ...]:
    """The state as buffers hold it at this index. Loaded afresh: the buffers are rewritten in place."""
    values = []
    for buffer, type_ in zip(state.buffers(use), state.monoid.types, strict=True):
        name = code.fresh(f"{buffer}_at")
        code.add(loops.Let(name, type_, loops.Load(code.array(buffer, type_), index)))
        values.append(Value(loops.Name(name), type_))
    return tuple(values)


def keep(code: Code, state: State, use: str, index: loops.Exp, values: tuple[Value, ...]) -> None:
    for buffer, value in zip(state.buffers(use), values, strict=True):
        code.store(buffer, index, value)
