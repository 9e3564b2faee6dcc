"""A kernel's plan on the GPU.

    count      where elements read how many survivors there are: the walk, for that alone; `counted` leaves it in cells
    sweep      the walk: all elements, all stores (skeletons.cuda.flat where any order will do, else tiles)
    settle     where a PERMUTE's last write wins: what has won goes to its place (skeletons.cuda.last_writes)
    finish     one block reduces the parts of totals; its first thread knows what carries came to, runs what runs once,
               and leaves scalars in cells

A FILTER's survivors are stored while they are counted, so its results get memory for as many elements as there could
be; how long they are is read off the cells.
"""
from __future__ import annotations

from dataclasses import replace

from nessie.cudagen.kernels.code import Code, integer, op
from nessie.cudagen.kernels.thunks import Tables
from nessie.cudagen.kernels.walk import Walk
from nessie.cudagen.loops import nodes as loops
from nessie.cudagen.loops.module import Module
from nessie.cudagen.loops.plan import THREADS, ArrayResult, Result
from nessie.cudagen.skeletons.cpu.walk import elements_exp
from nessie.cudagen.skeletons.cuda.blocks import THREAD, blocks_here, first_thread, launch, reduce_block, stop_if_failed
from nessie.cudagen.skeletons.cuda.flat import sweep_flat
from nessie.cudagen.skeletons.cuda.last_writes import claim_buffers, write_winners
from nessie.cudagen.skeletons.cuda.runs import runs_of
from nessie.cudagen.skeletons.cuda.tiles import COUNTING, count_tiles, elements_read_counts, sweep_tiles
from nessie.cudagen.skeletons.elements import Sweep, rank_of, states_of
from nessie.cudagen.skeletons.finals import final_values
from nessie.cudagen.skeletons.kernel import (
    CELLS,
    Kernel,
    all_steps,
    counts,
    early_scalars,
    result_buffers,
    result_of,
    returned_scalars,
    size_exp,
    to_cell,
)
from nessie.cudagen.skeletons.states import State, assign, commutative, current, declare, held
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu.selection import selection


def plan_cuda(walk: Walk, tables: Tables, width: int) -> Module:
    """`width`: items a thread, where threads have runs."""
    kernel = Kernel(walk, tables, None, carried(states_of(walk)))
    blocks: loops.Exp = integer(0)
    if walk.root is not None:
        blocks = sweep(kernel, walk.root, width)
    finish(kernel, blocks)
    results = tuple(result(kernel, name) for name in walk.kernel.returns)
    return kernel.module(results, elements_exp(kernel))


def carried(states: dict[str, State]) -> dict[str, State]:
    """A segment's total is a carry that restarts."""
    return {name: replace(state, kind="carry", restarts=True) if state.kind == "segment" else state
            for name, state in states.items()}


def sweep(kernel: Kernel, root: ir.Space, width: int) -> loops.Exp:
    runs = runs_of(kernel, root, width)
    buffers = result_buffers(kernel) + claim_buffers(kernel, root)
    if elements_read_counts(kernel.walk):
        counted(kernel, count_tiles(kernel, runs))
    else:
        buffers = tuple([replace(buffer, size=bound(kernel, buffer.size)) for buffer in buffers])
    any_order = isinstance(root, ir.Flat) and not kernel.carries
    if any_order and isinstance(root, ir.Flat) and all(commutative(state) for state in kernel.states.values()):
        blocks = sweep_flat(kernel, root, buffers)
    else:
        blocks = sweep_tiles(kernel, runs, buffers)
    write_winners(kernel, root, {buffer.name: buffer.size for buffer in buffers})
    return blocks


def counted(kernel: Kernel, tiles: loops.Exp) -> None:
    """Adds the phase that leaves the counts in cells."""
    code = kernel.code()
    many = blocks_here(code, tiles)
    with first_thread(code):
        ranks = {name: kernel.states[rank_of(step, side)] for step in kernel.walk.steps
                 for side, name in enumerate(step.bind.names[:2]) if name in counts(kernel.walk) and name != "_"}
        now = {name: declare(code, kernel.tables, state) for name, state in ranks.items()}
        through_last(code, [(state, now[name]) for name, state in ranks.items()], COUNTING, many)
        for name, state in ranks.items():
            (count,) = current(state, now[name])
            to_cell(kernel, code, name, count)
    launch(kernel, "counted", code, None, about="How many have survived goes to cells.")


def through_last(code: Code, carries: list[tuple[State, tuple[str, ...]]], prefix: str, tiles: loops.Exp) -> None:
    """The variables become what carries come to after the last tile, if there is one."""
    with code.block() as walked:
        for state, names in carries:
            assign(code, names, held(code, state, f"{prefix}prefixes", op("-", tiles, integer(1))))
    if walked:
        code.add(loops.If(op(">", tiles, integer(0)), tuple(walked)))


# Results as long as there are survivors ---------------------------------------------------------


def bound(kernel: Kernel, size: loops.Exp) -> loops.Exp:
    """The size of a buffer, with room for all elements in place of counts."""
    root = kernel.walk.root
    assert root is not None
    match size:
        case loops.Load():
            return size_exp(kernel, root.size if isinstance(root, ir.Flat) else root.total)
        case loops.Op(name, arguments):
            return loops.Op(name, tuple([bound(kernel, a) for a in arguments]))
    return size


def result(kernel: Kernel, name: str) -> Result:
    found, type_ = result_of(kernel, name), kernel.walk.types[name]
    if isinstance(found, ArrayResult) and isinstance(type_, ir.Array) and type_.size in counts(kernel.walk):
        return replace(found, length=size_exp(kernel, type_.size, type_.plus))
    return found


# Finish -----------------------------------------------------------------------------------------


def finish(kernel: Kernel, blocks: loops.Exp) -> None:
    code = kernel.code()
    code.arrays |= {name: type_ for name in kernel.walk.stored
                    if isinstance(type_ := kernel.walk.types[name], ir.Array)}
    early_scalars(kernel, code)
    totals = [state for state in kernel.states.values() if state.kind == "total"]
    ended = [kernel.states[name] for name in sorted(wanted_at_end(kernel))]
    sweep = kernel.sweep(code, [*totals, *ended], all_steps(kernel))
    for state in sweep.states.values():
        sweep.declare(state)
    many = blocks_here(code, blocks) if sweep.states else integer(0)
    if totals:
        add_parts(kernel, sweep, totals, many)
        if code.fails:
            code.note("what any thread of the block has found to fail is recorded before one looks for failures")
            code.record_failures()
            code.add(loops.Barrier())
    with code.block() as first:
        through_last(code, [(state, sweep.variables[state.name]) for state in ended], "", many)
        for step in kernel.walk.steps:
            final_values(kernel, sweep, step, sweep.now)
        returned_scalars(kernel, code)
        for name in sorted(counts(kernel.walk) & kernel.slots.keys() - set(kernel.walk.kernel.returns)):
            to_cell(kernel, code, name, code.values[name])      # the length of a result
        if code.fails or any(p.name == "errors" and p.writable for f in kernel.functions for p in f.parameters):
            stop_if_failed(code)
    if first:
        code.statements += [loops.If(op("==", THREAD, integer(0)), tuple(first))] if totals else first
        launch(kernel, "finish", code, None, alone=not totals, about=about_finish(kernel, code, bool(totals)))


def about_finish(kernel: Kernel, code: Code, totals: bool) -> str:
    does = ["adds up what the blocks have left"] if totals else []
    does += ["leaves scalar results in cells"] if any(name in CELLS.values() for name in code.parameters) else []
    does += ["tells the kernels after this one if a check has failed"] if "errors" in code.parameters else []
    return f"One block {', '.join(does or ['does what is done once'])}."


def wanted_at_end(kernel: Kernel) -> set[str]:
    """The carries whose last value is a result: SCANs' totals, counts of survivors."""
    found = set()
    for step in kernel.walk.steps:
        match step.bind.soac:
            case ir.Scan(total=True):
                found.add(step.name)
        if selected := selection(step.bind):
            found |= {rank_of(step, side) for side, count in enumerate(selected.counts) if count != "_"}
    return found & {state.name for state in kernel.carries}


def add_parts(kernel: Kernel, sweep: Sweep, totals: list[State], blocks: loops.Exp) -> None:
    """Each thread takes a run of parts, in order; the block reduces what the threads have."""
    code = sweep.code
    run = code.let_int("run", op("/", op("+", blocks, integer(THREADS - 1)), integer(THREADS)))
    low = code.let_int("low", op("*", THREAD, run))
    part = code.fresh("part")
    with code.block() as body:
        for state in totals:
            sweep.accumulate(state, held(code, state, "parts", loops.Name(part)))
    code.note("each thread: a run of the blocks' parts")
    code.add(loops.For(part, low, op("min", op("+", low, run), blocks), tuple(body)))
    reduce_block(kernel, code, sweep, totals)
