"""A kernel's plan while it is made: functions, phases, cells, and the expressions for sizes that the host evaluates."""
from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import field, replace
from typing import Any

from nessie.base.records import dataclass
from nessie.base.widths import WIDE
from nessie.cudagen.kernels.code import NOTHING, Code, Value, identifier, integer, op
from nessie.cudagen.kernels.thunks import Tables, apply
from nessie.cudagen.kernels.walk import UNIT, Walk, using
from nessie.cudagen.loops import nodes as loops
from nessie.cudagen.loops.module import Module
from nessie.cudagen.loops.plan import CELL_STRIDE, ArrayResult, Buffer, Input, Phase, Plan, Result, ScalarResult, Shape
from nessie.cudagen.skeletons.chunks import CHUNK_RANGE_PARAMETERS, Chunks
from nessie.cudagen.skeletons.elements import Sweep, kept_of, written
from nessie.cudagen.skeletons.states import State
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu.parts import subexpressions
from nessie.lambda_cu.selection import selection

CELLS = {"int": "cells", "float": "cells_float", "bool": "cells_bool", "char": "cells_char"}


@dataclass
class Kernel:
    """A plan being made."""
    walk: Walk
    tables: Tables
    chunks: Chunks | None
    states: dict[str, State]
    slots: dict[str, int] = field(default_factory=dict)
    functions: list[loops.Function] = field(default_factory=list)
    phases: list[Phase] = field(default_factory=list)

    @property
    def carries(self) -> list[State]:
        return [state for state in self.states.values() if state.kind == "carry"]

    def slot(self, name: str) -> int:
        return self.slots.setdefault(name, len(self.slots))

    def code(self) -> Code:
        """An empty function, which knows the kernel's parameters and the scalars that can be had before the walk."""
        walk = self.walk
        params = walk.kernel.params
        scalars = {p.name: p.type for p in params if not isinstance(p.type, ir.Array)}
        arrays = {p.name: p.type for p in params if isinstance(p.type, ir.Array)}
        narrow = {name: type_.base for name, type_ in walk.types.items()
                  if isinstance(type_, ir.Array) and type_.base in WIDE}
        narrow |= {of(name): base for name, base in narrow.items() for of in (written, kept_of)}
        return Code(scalars, arrays, walk.stored, narrow)

    def sweep(self, code: Code, states: list[State], active: frozenset[str], writing: bool = True) -> Sweep:
        return Sweep(code, self.tables, self.walk, {state.name: state for state in states}, active, writing,
                     self.chunks is None)

    def phase(self, use: str, code: Code, chunks: loops.Exp | None, buffers: tuple[Buffer, ...] = (),
              kind: str = "host", about: str = "", in_order: bool = False, chains: loops.Exp | None = None,
              shape: Shape | None = None, given: Mapping[str, loops.Exp] = NOTHING) -> None:
        """`given`: the sizes that parameters of these names are."""
        name = f"{identifier(self.walk.kernel.name)}_{use}"
        first = CHUNK_RANGE_PARAMETERS if kind == "host" and chunks is not None else ()
        function = replace(code.function(name, first, kind, self.walk.kernel.origin), about=about)
        self.functions.append(function)
        arguments = tuple([given.get(p.name) or loops.Name("cells" if p.name in CELLS.values() else p.name)
                           for p in function.parameters[len(first):]])
        self.phases.append(Phase(name, arguments, chunks, buffers, in_order=in_order, chains=chains, shape=shape))

    def module(self, results: tuple[Result, ...], elements: loops.Exp) -> Module:
        """The functions, and the plan that launches them."""
        of = self.walk.kernel
        inputs = tuple([input_of(p) for p in of.params])
        plan = Plan(of.name, inputs, tuple(self.phases), results, len(self.slots), elements, asked=of.asked,
                    origin=of.origin)
        return Module(tuple(self.functions), (plan,))


def input_of(parameter: ir.Param) -> Input:
    type_ = parameter.type
    if not isinstance(type_, ir.Array):
        return Input(parameter.name, type_)
    if isinstance(type_.size, int):
        return Input(parameter.name, type_.base, integer(type_.size + type_.plus))
    size = loops.Name(type_.size)
    return Input(parameter.name, type_.base, op("+", size, integer(type_.plus)) if type_.plus else size)


def result_of(kernel: Kernel, name: str) -> Result:
    type_ = kernel.walk.types[name]
    return ArrayResult(name) if isinstance(type_, ir.Array) else ScalarResult(name, kernel.slot(name), type_)


# Sizes and buffers ------------------------------------------------------------------------------


def size_exp(kernel: Kernel, size: ir.Size, plus: int = 0) -> loops.Exp:
    """A size for the host: of parameters, and of counts that are in cells when it is asked."""
    exp: loops.Exp
    if isinstance(size, int):
        return integer(size + plus)
    exp = loops.Load("cells", integer(kernel.slot(size))) if size in counts(kernel.walk) else loops.Name(size)
    return op("+", exp, integer(plus)) if plus else exp


def counts(walk: Walk) -> set[str]:
    """The names of counts of survivors."""
    return {count for step in walk.steps if (selected := selection(step.bind)) for count in selected.counts}


def elements_read_counts(walk: Walk) -> bool:
    """Must they be known before the walk?"""
    return any(using(step.bind.soac) & counts(walk) for step in walk.steps if step.place != UNIT)


def items_exp(kernel: Kernel, root: ir.Space) -> loops.Exp:
    if isinstance(root, ir.Flat):
        return size_exp(kernel, root.size)
    return op("+", size_exp(kernel, root.total), size_exp(kernel, root.segments))


def elements_exp(kernel: Kernel) -> loops.Exp:
    """The items of the walk; and what writes fill before it. What they copy counts where it is copied."""
    walk = kernel.walk
    elements = integer(1) if walk.root is None else items_exp(kernel, walk.root)
    for step in walk.steps:
        soac = step.bind.soac
        if isinstance(soac, ir.Write) and any([isinstance(exp, ir.Const) for exp in soac.before]):
            elements = op("+", elements, size_exp(kernel, soac.size))
    return elements


def chunk_count(kernel: Kernel, chunks: Chunks) -> loops.Exp:
    return chunks.count(items_exp(kernel, chunks.root))


def result_buffers(kernel: Kernel) -> tuple[Buffer, ...]:
    found = []
    for step in kernel.walk.steps:
        for at, name in enumerate(step.bind.names):
            type_ = kernel.walk.types[name]
            if name in kernel.walk.stored and isinstance(type_, ir.Array):
                soac = step.bind.soac
                size = size_exp(kernel, type_.size, type_.plus)
                found.append(replace(Buffer(name, type_.base, size), **beginning(soac, at)))
    return tuple(found)


def beginning(soac: ir.Soac, at: int) -> dict[str, Any]:
    """The fields that say what the buffer for a result holds at first."""
    if isinstance(soac, ir.Permute) and soac.mode == "all":
        return {}
    match soac.before[at] if isinstance(soac, ir.Write) else None:
        case ir.Const(value):
            return {"fill": value}
        case ir.Var(name):
            return {"copy": name}
    return {}


def state_buffers(state: State, use: str, size: loops.Exp) -> tuple[Buffer, ...]:
    return tuple(Buffer(name, type_, size) for name, type_ in zip(state.buffers(use), state.monoid.types, strict=True))


def all_steps(kernel: Kernel) -> frozenset[str]:
    return frozenset(step.name for step in kernel.walk.steps)


# Scalars ----------------------------------------------------------------------------------------


def to_cell(kernel: Kernel, code: Code, name: str, value: Value) -> None:
    slot = kernel.slot(name) * CELL_STRIDE[value.type]
    code.store(CELLS[value.type], integer(slot), value)


def returned_scalars(kernel: Kernel, code: Code, told: Collection[str] = ()) -> None:
    """They go to cells, but for those that are there already."""
    for name in kernel.walk.kernel.returns:
        if name in code.values and name not in told and not isinstance(kernel.walk.types[name], ir.Array):
            to_cell(kernel, code, name, code.values[name])


def early_scalars(kernel: Kernel, code: Code) -> None:
    """ONCEs that need nothing of this kernel and that its elements read come before the walk."""
    walk = kernel.walk
    wanted = {name for step in walk.steps if step.place != UNIT for name in scalars_of(step.bind.soac)}
    for step in walk.at(UNIT):
        if isinstance(step.bind.soac, ir.Once) and wanted & set(step.bind.names):
            bind_once(kernel, code, step.bind.soac.thunk, step.bind.names)


def bind_once(kernel: Kernel, code: Code, thunk: ir.Thunk, names: tuple[str, ...]) -> None:
    code.order_index = integer(0)
    values = apply(code, kernel.tables, thunk, ())
    code.values.update((name, code.let(name, value)) for name, value in zip(names, values, strict=True) if name != "_")


def scalars_of(soac: ir.Soac) -> set[str]:
    """Names that the SOAC's thunks and identity read."""
    names = using(soac)
    if isinstance(soac, (ir.Reduce, ir.Scan)):
        names |= set(soac.operator.using)
        names |= {e.name for exp in soac.identity for e in subexpressions(exp) if isinstance(e, ir.Var)}
    return names
