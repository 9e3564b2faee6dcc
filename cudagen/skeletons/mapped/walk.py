"""The walk of a kernel by a mapping (lambda_cu.mappings): a launch of blocks in up to three directions, and of threads
in each, which find the index that is theirs.

    kernel K (n, m, k, ...) by GridBlock(2, ShiftLB(Gen)) { SEG_MAP ... }         a nest of three axes

    K_sweep<<<(n, 1, 1), (k, m, 1)>>>(...)
      int row = blockIdx * m + threadIdx_y;         no division: what the mapping folds, and nothing else, divides
      int i = row * k + threadIdx;

A kernel whose mapping has cases has a launch for each part of its space, one after another, all of which write into the
same results, or leave what their blocks come to behind each other's.

What the host computes of sizes is passed. All guards of the mapping are one condition around what is done at an
element. Axes that the mapping gives to `serial` or `thread` are loops.
"""
from __future__ import annotations

from collections.abc import Mapping
from functools import reduce

from nessie.base.names import Names
from nessie.cudagen.kernels.code import integer, op
from nessie.cudagen.kernels.thunks import Tables
from nessie.cudagen.kernels.walk import walk_of as places_of
from nessie.cudagen.loops import nodes as loops
from nessie.cudagen.loops.module import Module
from nessie.cudagen.loops.plan import Buffer, Shape
from nessie.cudagen.skeletons.chunks import start_of
from nessie.cudagen.skeletons.cuda.blocks import launch
from nessie.cudagen.skeletons.cuda.finish import finish_alone
from nessie.cudagen.skeletons.elements import Sweep, number_at, states_of
from nessie.cudagen.skeletons.interiors import Inside, fixed_interior, inside_or_not
from nessie.cudagen.skeletons.kernel import (
    Kernel,
    all_steps,
    elements_exp,
    result_buffers,
    result_of,
    size_exp,
    state_buffers,
)
from nessie.cudagen.skeletons.mapped.sums import leave_parts
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu.mappings.axes import show_space, substitute_all
from nessie.lambda_cu.mappings.kernels import Root, Walk, walks_of
from nessie.lambda_cu.mappings.mapped import PLACES
from nessie.lambda_cu.mappings.nodes import REST
from nessie.lambda_cu.mappings.text import show_mapping
from nessie.lambda_cu.scope import free_names

Known = Mapping[str, loops.Exp]


def plan_mapped(kernel: ir.Kernel, program: ir.Program, tables: Tables) -> Module:
    """The plan: a launch, or one for each part of the kernel's space, and an end behind all."""
    walk = places_of(kernel, program)
    made = Kernel(walk, tables, None, states_of(walk))
    found, uses = walks_of(kernel), Names()
    blocks: loops.Exp = integer(0)
    hosts = [on_host(made, one) for one in found]
    shapes = [shape_of(one, host) for one, host in zip(found, hosts, strict=True)]
    total = reduce(lambda a, b: op("+", a, b), map(launched, shapes))
    buffers = (*result_buffers(made), *[buffer for state in made.states.values()
                                        for buffer in state_buffers(state, "parts", total)])
    for one, host, shape in zip(found, hosts, shapes, strict=True):
        threads(made, one, host, shape, blocks, uses.fresh(use_of(one)), buffers)
        blocks, buffers = op("+", blocks, launched(shape)), ()
    finish_alone(made, total)
    return made.module(tuple([result_of(made, name) for name in kernel.returns]), elements_exp(made))


def use_of(found: Walk) -> str:
    """What the launch is called: of a part, by its case."""
    return "sweep" if found.number is None else "rest" if found.case == REST else f"case{found.case}"


def shape_of(found: Walk, host: Known) -> Shape:
    return Shape(*[tuple([translated(size, host) for size in sizes])
                   for sizes in (found.mapped.grid, found.mapped.block)])


def threads(made: Kernel, found: Walk, host: Known, shape: Shape, earlier: loops.Exp, use: str,
            buffers: tuple[Buffer, ...]) -> None:
    """Adds a launch, before which there are so many earlier blocks."""
    code, states = made.code(), list(made.states.values())
    sweep = made.sweep(code, states, all_steps(made))
    sweep.part = found.number
    for state in states:
        sweep.declare(state)
    computed = [name for name in found.mapped.passed if name in found.mapped.host or name in found.bounds]
    parameters = list(map(code.fresh, computed))
    given = {parameter: host[name] for name, parameter in zip(computed, parameters, strict=True)}
    here: dict[str, loops.Exp] = {name: loops.Name(place) for name, place in SPECIAL.items()}
    here |= {name: code.scalar(parameter, "int") for name, parameter in zip(computed, parameters, strict=True)}
    here |= {name: code.size(found.sizes[name]) for name in found.mapped.passed if name in found.sizes}
    walk_threads(sweep, found, here)
    if states:
        first = earlier
        if found.number:
            name = code.fresh("earlier")
            first, given = code.scalar(name, "int"), {**given, name: earlier}
        leave_parts(made, sweep, states, shape.most_threads, first)
    launch(made, use, code, None, buffers, about=about(found), shape=shape, given=given)


def about(found: Walk) -> str:
    mapping = show_mapping(found.mapped.mapping)
    if found.number is None:
        return f"{mapping}: each index of {axes(found.root)} has a thread."
    part = substitute_all(found.mapped.stages[0], found.bounds)
    case = "What no test takes" if found.case == REST else f"Case {found.case}"
    return f"{case}: {show_space(part)}\n{mapping}: each of these indices has a thread."


def launched(shape: Shape) -> loops.Exp:
    """The number of blocks; none where they have no threads."""
    threads = reduce(lambda a, b: op("*", a, b), shape.block)
    return reduce(lambda a, b: op("*", a, b), (*shape.grid, op("min", threads, integer(1))))


SPECIAL = {place: place.removesuffix("_x") for place in PLACES}


def axes(root: Root) -> str:
    count = 1 if isinstance(root, ir.Flat) else len(root.axes) if isinstance(root, ir.Uniform) else 2
    return f"the {count} axes" if count > 1 else "the axis"


def on_host(kernel: Kernel, found: Walk) -> dict[str, loops.Exp]:
    """What the names of the mapping's host code, and the sizes that it begins with, are in sizes of the kernel."""
    known = {name: size_exp(kernel, size) for name, size in found.sizes.items()}
    for name, exp in found.bounds.items():
        known[name] = translated(exp, {size: size_exp(kernel, size) for size in free_names(exp)})
    for name, exp in found.mapped.host.items():
        known[name] = translated(exp, known)
    return known


def translated(exp: ir.Exp, known: Known) -> loops.Exp:
    """The mapping's expression in the names of a function or of a plan."""
    match exp:
        case ir.Const(value, type_):
            return loops.Const(value, type_)
        case ir.Var(name):
            return known[name]
        case ir.Op(name, arguments):
            return loops.Op(name, tuple([translated(argument, known) for argument in arguments]))
        case ir.If(condition, then, orelse):
            return loops.Op("select", tuple([translated(part, known) for part in (condition, then, orelse)]))
    raise TypeError(exp)


def walk_threads(sweep: Sweep, found: Walk, known: Known) -> None:
    """Write what a thread does: its loops, how it finds its index, and, if it has one, what is done there."""
    code, made, here = sweep.code, found.mapped, dict(known)
    inner = fixed_interior(sweep)
    indices = {name: code.fresh("step") for name in made.loops}
    here |= {name: loops.Name(index) for name, index in indices.items()}
    with code.block() as each:
        for name, exp in made.code.items():
            here[name] = code.let_int(name, translated(exp, here))
        index = tuple([translated(exp, here) for exp in made.index])
        guards = [translated(guard, here) for guard in made.guards]
        with code.block() as body:
            element(sweep, found.root, index, inner)
        if guards:
            code.add(loops.If(reduce(lambda a, b: op("and", a, b), guards), tuple(body)))
        else:
            code.statements += body
    statements = tuple(each)
    for name, length in reversed(list(made.loops.items())):
        statements = (loops.For(indices[name], integer(0), translated(length, here), statements),)
    code.statements += statements


def element(sweep: Sweep, root: Root, at: tuple[loops.Exp, ...], inner: Inside | None) -> None:
    """What is done at an index, which is told by axes."""
    code = sweep.code
    if isinstance(root, ir.Flat):
        index = code.let_int("i", at[0])
        inside_or_not(sweep, inner, index, index, lambda: sweep.root(index))
        return
    *outer, place = [code.let_int(hint, exp) for hint, exp in zip((*["row"] * (len(at) - 1), "place"), at, strict=True)]
    sizes = root.axes if isinstance(root, ir.Uniform) else (root.segments,)
    row = code.let_int("segment", number_at(outer, tuple(map(code.size, sizes))))
    start = code.let_int("start", start_of(code, root, row))
    index = code.let_int("i", op("+", start, place))
    if sweep.axes:
        sweep.counted(row, outer)
    sweep.divide(row)
    inside_or_not(sweep, inner, place, place, lambda: sweep.root(index, row, start, place), outer)
