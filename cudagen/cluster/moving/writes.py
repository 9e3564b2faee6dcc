"""Kernels that write to places which data say, in two: what is written and where, as arrays; and the writes themselves.

    let h = REDUCE_BY_INDEX { i => f(i) } { i => p(i) } (0.0) { (a, b) => a + b } (n) -> (m) 0.0

    let h_place = MAP { i => p(i) } (n)             the kernel on the cluster, in parts like any other
    let h_value = MAP { i => f(i) } (n)

    let h = REDUCE_BY_INDEX { i => value[i] } { i => place[i] } ... (count) -> (places) before

The second kernel is generated for one chunk of any width, so that it writes in order: a worker calls it for the places
that it has. What goes to one place comes in the order of the CPU target, so the bits are its bits.

    left as they are    writes that scalar code of the same kernel reads, or whose number of places the kernel finds;
                        those over segments that come in order, since the CPU cuts chunks for them otherwise; those
                        whose operators call functions or may fail
"""
from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from nessie.base.names import Names
from nessie.base.records import dataclass
from nessie.cudagen.generate import generate, with_good_names
from nessie.cudagen.kernels.walk import SEGMENT, Place, Step, Walk, walk_of
from nessie.cudagen.loops import nodes as loops
from nessie.cudagen.loops.plan import Plan
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu.scope import arrays_read, can_fail, thunk, writes_in_order
from nessie.lambda_cu.typing import Scope, bound_types

ONE_CHUNK = 1 << 40             # items: more than any launch has
EXACT = frozenset({"+", "min", "max"})          # of ints, in whatever order
Value = int | float | bool | str


@dataclass(frozen=True)
class Apart:
    """A write by itself. `results`: of the kernel, each with its base; `place` and `values`: arrays that the kernel
    leaves instead; `before`: for each result a constant, or a parameter's name; `size`: places. `neutral`, of what
    combines: what changes nothing; `exact`: any order gives the same. `at`: where the walk does it. `plan` writes:
    its parameters are the number of elements, that of places, the place, the values, and what is there before."""
    results: tuple[str, ...]
    bases: tuple[str, ...]
    place: str
    values: tuple[str, ...]
    before: tuple[ir.Exp, ...]
    size: ir.Size
    neutral: tuple[Value, ...] | None
    exact: bool
    at: Place
    plan: Plan


@dataclass(frozen=True)
class WithoutWrites:
    """`kernel` without writes, which are `apart`; `returns`: what the kernel returned with them."""
    kernel: ir.Kernel
    apart: tuple[Apart, ...]
    returns: tuple[str, ...]


@dataclass(frozen=True)
class Split:
    """The kernels that are in two, by name, and the functions that write."""
    kernels: dict[str, WithoutWrites]
    functions: tuple[loops.Function, ...]

    def new(self, others: Iterable[loops.Function]) -> list[loops.Function]:
        """The functions that are not among others: scalar functions are."""
        there = {function.name for function in others}
        return [function for function in self.functions if function.name not in there]


def split(program: ir.Program) -> Split:
    kernels: dict[str, WithoutWrites] = {}
    functions: list[loops.Function] = []
    for kernel in map(with_good_names, program.kernels):
        if any([isinstance(bind.soac, ir.Write) for bind in kernel.binds]):
            walk = walk_of(kernel, program)
            if all([may_be_apart(kernel, step) for step in writes_of(walk)]):
                kernels[kernel.name] = without_writes(walk, program, functions)
    return Split(kernels, tuple(functions))


def writes_of(walk: Walk) -> Iterator[Step]:
    return (step for step in walk.steps if isinstance(step.bind.soac, ir.Write))


def may_be_apart(kernel: ir.Kernel, step: Step) -> bool:
    soac = step.bind.soac
    assert isinstance(soac, ir.Write)
    bound = {name for bind in kernel.binds for name in bind.names}
    read = {name for bind in kernel.binds if isinstance(bind.soac, ir.Once)
            for name in arrays_read(bind.soac.thunk.body)}
    if soac.size in bound or read & set(step.bind.names) or (step.place == SEGMENT and writes_in_order(soac)):
        return False
    if isinstance(soac, ir.ReduceByIndex):
        constant = all([isinstance(exp, ir.Const) for exp in soac.identity])
        return constant and not soac.operator.using and not can_fail(soac.operator.body)
    return True


def without_writes(walk: Walk, program: ir.Program, functions: list[loops.Function]) -> WithoutWrites:
    """The kernel in two. The functions of its writes join the others."""
    kernel = walk.kernel
    scope = Scope({p.name: p.type for p in kernel.params}, {f.name: f for f in program.scalar_functions})
    names = Names({*walk.types, *[name for bind in kernel.binds for name in bind.names]})
    binds: list[ir.Bind] = []
    apart: list[Apart] = []
    for number, step in enumerate(walk.steps):
        bind, soac = step.bind, step.bind.soac
        if not isinstance(soac, ir.Write):
            binds.append(bind)
        else:
            wanted = set(bind.names) != {"_"}
            place, *values = [names.fresh(name) if wanted else "_" for name in ("place", *["value"] * len(bind.names))]
            maps = [ir.Bind(tuple(values), ir.Map(soac.value, soac.space)),
                    ir.Bind((place,), ir.Map(soac.index, soac.space))]
            binds += maps
            if wanted:
                bases = tuple([type_.base for type_ in bound_types(maps[0], scope) if isinstance(type_, ir.Array)])
                apart.append(write_apart(walk, step, f"{kernel.name}_write{number}", (place, *values), bases, program,
                                         functions))
        scope = scope.with_names(dict(zip(bind.names, bound_types(bind, scope), strict=True)))
    written = {name for write in apart for name in write.results}
    returns = [name for name in dict.fromkeys(kernel.returns) if name not in written]
    returns += [name for write in apart for name in (write.place, *write.values)]
    made = replace(kernel, name=f"{kernel.name}_values", binds=tuple(binds), returns=tuple(returns))
    return WithoutWrites(made, tuple(apart), kernel.returns)


def write_apart(walk: Walk, step: Step, name: str, arrays: tuple[str, ...], bases: tuple[str, ...],
                program: ir.Program, functions: list[loops.Function]) -> Apart:
    soac, names = step.bind.soac, step.bind.names
    assert isinstance(soac, ir.Write)
    results = [walk.types[result] if result != "_" else ir.Array(base, soac.size)
               for result, base in zip(names, bases, strict=True)]
    of_results = tuple([type_.base for type_ in results if isinstance(type_, ir.Array)])
    kernel = kernel_of_write(soac, name, bases, of_results)
    made = generate(replace(program, kernels=(kernel,), functions=()), "cpu", ONE_CHUNK)
    known = {function.name for function in functions}
    functions += [function for function in made.functions if function.name not in known]
    (plan,) = [plan for plan in made.plans if plan.name == name]
    neutral, exact = None, False
    if isinstance(soac, ir.ReduceByIndex):
        neutral = tuple([identity.value for identity in soac.identity if isinstance(identity, ir.Const)])
        exact = set(of_results) == {"int"} and isinstance(soac.operator.body, ir.Op) and soac.operator.body.op in EXACT
    return Apart(names, of_results, arrays[0], arrays[1:], soac.before, soac.size, neutral, exact, step.place, plan)


def kernel_of_write(soac: ir.Write, name: str, bases: tuple[str, ...], of_results: tuple[str, ...]) -> ir.Kernel:
    """The write of what arrays have."""
    values = [f"value{k}" for k, _ in enumerate(bases)]
    before = [f"earlier{k}" for k, _ in enumerate(bases)]
    reads = tuple([ir.Read(value, ir.Var("i")) for value in values])
    changed = replace(
        soac, value=thunk(("i",), reads[0] if len(reads) == 1 else ir.Tuple(reads)), space=ir.Flat("elements"),
        index=thunk(("i",), ir.Read("place", ir.Var("i"))), size="places", before=tuple(map(ir.Var, before)))
    params = [ir.Param("elements", "int"), ir.Param("places", "int"), ir.Param("place", ir.Array("int", "elements")),
              *[ir.Param(value, ir.Array(base, "elements")) for value, base in zip(values, bases, strict=True)],
              *[ir.Param(array, ir.Array(base, "places")) for array, base in zip(before, of_results, strict=True)]]
    results = tuple([f"written{k}" for k, _ in enumerate(bases)])
    return ir.Kernel(name, tuple(params), (ir.Bind(results, changed),), results)

