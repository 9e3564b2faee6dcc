"""A kernel's plan on the GPU, for MAP, REDUCE, distinct PERMUTE and ONCE over one flat space, fused in any mixture.

    sweep      each thread walks elements, a grid apart, or where an operator must keep its order a piece of neighbours;
               each block reduces its threads' totals by shuffles within warps, then over warps, to one in `parts`
    finish     one block reduces the parts in the same way; its first thread runs what runs once

The number of blocks depends on the length alone, and with it the shape of the reduction's tree.
"""
from __future__ import annotations

from nessie.base.source import Unsupported, user_span
from nessie.cudagen import loops
from nessie.cudagen.code import Code, Value, integer, op
from nessie.cudagen.plan import THREADS, Plan
from nessie.cudagen.skeletons.elements import Sweep, states_of
from nessie.cudagen.skeletons.kernel import (
    Kernel,
    all_steps,
    early_scalars,
    once,
    result_buffers,
    result_of,
    returned_scalars,
    size_exp,
    state_buffers,
)
from nessie.cudagen.skeletons.states import State, assign, combine, current, held, keep
from nessie.cudagen.thunks import Tables
from nessie.cudagen.walk import ROOT, Step, Walk
from nessie.lambda_cu import ir

WARP = 32
MOST_BLOCKS = 1024
COMMUTATIVE = frozenset({"+", "*", "max", "min", "and", "or", "xor"})
THREAD, BLOCK, BLOCKS = loops.Name("threadIdx"), loops.Name("blockIdx"), loops.Name("gridDim")


def plan_cuda(walk: Walk, tables: Tables) -> Plan:
    for step in walk.steps:
        refuse_others(step)
    kernel = Kernel(walk, tables, None, states_of(walk))
    elements: loops.Exp = integer(1)
    blocks: loops.Exp = integer(0)
    if isinstance(walk.root, ir.Flat):
        elements = size_exp(kernel, walk.root.size)
        blocks = op("min", op("/", op("+", elements, integer(THREADS - 1)), integer(THREADS)), integer(MOST_BLOCKS))
        sweep(kernel, walk.root, blocks)
    finish(kernel, blocks)
    results = tuple(result_of(kernel, name) for name in walk.kernel.returns)
    return Plan(walk.kernel, tuple(kernel.functions), tuple(kernel.phases), results, len(kernel.slots), elements)


def refuse_others(step: Step) -> None:
    soac = step.bind.soac
    flat = isinstance(soac, ir.Once) or (isinstance(soac.space, ir.Flat) and step.place == ROOT)
    if flat and (isinstance(soac, (ir.Map, ir.Reduce, ir.Once)) or (isinstance(soac, ir.Permute)
                 and (soac.mode == "distinct" or (soac.mode == "max" and isinstance(soac.default[0].value, int))))):
        return
    name = type(soac).__name__.upper()
    if isinstance(soac, ir.Permute):
        name = f"PERMUTE {soac.mode}"
    span = user_span(step.bind.origin)
    raise Unsupported(f"the cuda target cannot run {name if flat else f'{name} on segments or survivors'} yet",
                      *([(span, "needed here")] if span else []))


# The walk ---------------------------------------------------------------------------------------


def sweep(kernel: Kernel, root: ir.Flat, blocks: loops.Exp) -> None:
    code = kernel.code()
    early_scalars(kernel, code)
    run = Sweep(code, kernel.tables, kernel.walk, kernel.states, all_steps(kernel))
    states = list(kernel.states.values())
    for state in states:
        run.declare(state)
    size = code.size(root.size)
    each_element(code, run, size, all(commutative(state) for state in states))
    reduce_block(kernel, code, run, states)
    with code.block() as first:
        for state in states:
            keep(code, state, "parts", BLOCK, run.now(state))
    if first:
        code.add(loops.If(op("==", THREAD, integer(0)), tuple(first)))
    buffers = result_buffers(kernel)
    for state in states:
        buffers += state_buffers(state, "parts", blocks)
    kernel.phase("sweep", code, blocks, buffers, "cuda")


def each_element(code: Code, run: Sweep, size: loops.Exp, any_order: bool) -> None:
    """Neighbouring threads take neighbouring elements, which memory likes; in order, each takes a run of them."""
    index = code.fresh("i")
    with code.block() as body:
        run.root(loops.Name(index))
    thread = code.let_int("thread", op("+", op("*", BLOCK, integer(THREADS)), THREAD))
    threads = code.let_int("threads", op("*", BLOCKS, integer(THREADS)))
    if any_order:
        code.add(loops.For(index, thread, size, tuple(body), threads))
    else:
        low, high = piece(code, size, thread, threads)
        code.add(loops.For(index, low, high, tuple(body)))


def piece(code: Code, size: loops.Exp, thread: loops.Exp, threads: loops.Exp) -> tuple[loops.Exp, loops.Exp]:
    """Where a thread's run of neighbours starts and ends."""
    run = code.let_int("run", op("/", op("-", op("+", size, threads), integer(1)), threads))
    low = code.let_int("low", op("*", thread, run))
    return low, op("min", op("+", low, run), size)


def commutative(state: State) -> bool:
    """One operator that commutes, or several side by side."""
    operator = state.monoid.operator
    body, half = operator.body, len(operator.params) // 2
    items = body.items if isinstance(body, ir.Tuple) else (body,)
    return all(isinstance(e, ir.Op) and e.op in COMMUTATIVE and e.arguments in (
        (ir.Var(a), ir.Var(b)), (ir.Var(b), ir.Var(a)))
        for e, a, b in zip(items, operator.params[:half], operator.params[half:]))


# Reduction --------------------------------------------------------------------------------------


def reduce_block(kernel: Kernel, code: Code, run: Sweep, states: list[State]) -> None:
    """Afterwards thread 0 holds the totals of the block, threads taken in order."""
    for state in states:
        names = run.variables[state.name]
        for offset in (1, 2, 4, 8, 16):
            above = tuple(code.let("above", Value(loops.Shuffle(name, integer(offset)), type_))
                          for name, type_ in zip(names, state.monoid.types, strict=True))
            assign(code, names, combine(code, kernel.tables, state, current(state, names), above))
        over_warps(kernel, code, state, names)


def over_warps(kernel: Kernel, code: Code, state: State, names: tuple[str, ...]) -> None:
    shared = [code.fresh(f"{state.name}_warps") for _ in names]
    code.statements[:0] = [loops.Shared(s, t, THREADS // WARP) for s, t in zip(shared, state.monoid.types, strict=True)]
    warp = op("/", THREAD, integer(WARP))
    leaders = tuple(loops.Store(s, warp, loops.Name(n)) for s, n in zip(shared, names, strict=True))
    code.add(loops.If(op("==", op("and", THREAD, integer(WARP - 1)), integer(0)), leaders))
    code.add(loops.Barrier())
    number = code.fresh("warp")
    with code.block() as rest:
        others = tuple(code.let("total", Value(loops.Load(s, loops.Name(number)), t))
                       for s, t in zip(shared, state.monoid.types, strict=True))
        assign(code, names, combine(code, kernel.tables, state, current(state, names), others))
    code.add(loops.If(op("==", THREAD, integer(0)),
                      (loops.For(number, integer(1), integer(THREADS // WARP), tuple(rest)),)))


# Finish -----------------------------------------------------------------------------------------


def finish(kernel: Kernel, blocks: loops.Exp) -> None:
    code = kernel.code()
    code.arrays |= {name: type_ for name in kernel.walk.stored
                    if isinstance(type_ := kernel.walk.types[name], ir.Array)}
    run = Sweep(code, kernel.tables, kernel.walk, kernel.states, all_steps(kernel))
    states = list(kernel.states.values())
    for state in states:
        run.declare(state)
    if states:
        for parameter in names_in(blocks):
            code.scalar(parameter, "int")
        low, high = piece(code, code.let_int("blocks", blocks), THREAD, integer(THREADS))
        at = code.fresh("part")
        with code.block() as body:
            for state in states:
                run.accumulate(state, held(code, state, "parts", loops.Name(at)))
        code.add(loops.For(at, low, high, tuple(body)))
        reduce_block(kernel, code, run, states)
    with code.block() as first:
        scalars(kernel, code, run)
    if first:
        code.add(loops.If(op("==", THREAD, integer(0)), tuple(first)))
        kernel.phase("finish", code, None, kind="cuda")


def scalars(kernel: Kernel, code: Code, run: Sweep) -> None:
    """What the first thread does with the totals."""
    for step in kernel.walk.steps:
        match step.bind.soac:
            case ir.Reduce():
                code.values.update(zip(step.bind.names, run.now(kernel.states[step.name]), strict=True))
            case ir.Once(thunk):
                once(kernel, code, thunk, step.bind.names)
    returned_scalars(kernel, code)


def names_in(exp: loops.Exp) -> set[str]:
    match exp:
        case loops.Name(name):
            return {name}
        case loops.Op(_, arguments):
            return set().union(*[names_in(a) for a in arguments])
    return set()
