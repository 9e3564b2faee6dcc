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

from collections.abc import Mapping

from nessie.base.records import dataclass
from nessie.cudagen.kernels.code import COUNTS, Code, Value
from nessie.cudagen.kernels.thunks import Tables, apply, scalar
from nessie.cudagen.loops import nodes as loops
from nessie.cudagen.loops import walk as loops_walk
from nessie.lambda_cu import nodes as ir


@dataclass(frozen=True)
class Monoid:
    types: tuple[str, ...]
    identity: tuple[ir.Exp, ...]
    operator: ir.Thunk


COUNT = Monoid(("int",), (ir.Const(0, "int"),),
               ir.Thunk(COUNTS, ir.Op("+", tuple([ir.Var(name) for name in COUNTS]))))
NOW = "_now"                    # ends the name of a variable that holds a component
EXCHANGED = frozenset({"+", "*", "max", "min", "and", "or", "xor", "==", "/="})       # operands may be exchanged
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
    """Is the operator evidently the same with its sides exchanged?"""
    operator, half = state.monoid.operator, len(state.monoid.types)
    left, right = operator.params[:half], operator.params[half:]
    body = where_both_are(operator.body, left, right)
    numbers: dict[object, int] = {}
    sides_of = {name: ((side, k),) for side, names in enumerate((left, right)) for k, name in enumerate(names)}
    exchanged = {name: ((1 - side, k),) for name, ((side, k),) in sides_of.items()}
    there: dict[str, Numbered] = {} if body is None else {left[0]: ("there",), right[0]: ("there",)}
    found = [numbered(body or operator.body, {**names, **there}, numbers) for names in (sides_of, exchanged)]
    return found[0] is not None and found[0] == found[1]


def where_both_are(body: ir.Exp, left: tuple[str, ...], right: tuple[str, ...]) -> ir.Exp | None:
    """The operator's result where both sides are there, if each begins with whether it is, and is the result where the
    other is not. Where neither is, both are the identity."""
    match body:
        case ir.Let((both,), ir.Op("and", (ir.Var(p), ir.Var(q))), ir.If(ir.Var(test), then, ir.If(ir.Var(r), a, b))):
            sides = [ir.Tuple(tuple(map(ir.Var, names))) for names in (left, right)]
            if both == test and p == r == left[0] and q == right[0] and [a, b] == sides:
                return then
    return None


Numbered = tuple[object, ...]           # what stands for the components of an expression


def numbered(exp: ir.Exp, names: Mapping[str, Numbered], numbers: dict[object, int]) -> Numbered | None:
    """Return the same for expressions that are the same but for lets and the order of operands that may be exchanged;
    None for what is no arithmetic."""
    match exp:
        case ir.Var(name):
            return names.get(name, (name,))
        case ir.Const(value, base):
            return ((base, repr(value)),)
        case ir.Let(bound, value, body):
            whole = numbered(value, names, numbers)
            parts = [(part,) for part in whole or ()]
            return whole and numbered(body, {**names, **dict(zip(bound, parts, strict=True))}, numbers)
        case ir.Op(name, inner):
            return made_of(name, [numbered(part, names, numbers) for part in inner], numbers)
        case ir.If(condition, then, orelse):
            return made_of("if", [numbered(part, names, numbers) for part in (condition, then, orelse)], numbers)
        case ir.Tuple(items):
            found = [numbered(item, names, numbers) for item in items]
            return None if None in found else tuple([part for item in found for part in item or ()])
    return None


def made_of(name: str, parts: list[Numbered | None], numbers: dict[object, int]) -> Numbered | None:
    """Return what stands for the operation on these, component by component; a condition has one for all."""
    whole = [part for part in parts if part is not None]
    if len(whole) < len(parts):
        return None
    found = []
    for k in range(max(map(len, whole))):
        operands = [part[k] if len(part) > 1 else part[0] for part in whole]
        if name in EXCHANGED:
            operands.sort(key=repr)
        found.append(numbers.setdefault((name, *operands), len(numbers)))
    return tuple(found)


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
