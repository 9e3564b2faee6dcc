"""A kernel's plan on the CPU: what each phase's function does, around the walk of its chunks.

    summary    chunked   only where there are carries: each chunk's total of each carry, and which elements survive a
                         FILTER whose predicate reads elements that lie anywhere: the sweep need not find them again;
                         where it does nothing else, their values are kept, and the sweep walks these
    prefixes   once      turns the totals into what comes before each chunk; the counts of survivors become known
    sweep      chunked   the walk: all elements, all stores
    joined     chunked   what chains of chunks have combined by index, each in a table (skeletons.cpu.tables)
    finish     once      totals in chunk order, segments that lay in several chunks, what runs once; scalars to cells

Memory for results is taken before `sweep`, when every size is known. Where there is one chunk, a plan of one phase does
what `summary` and those after it do (skeletons.cpu.alone).
"""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from nessie.cudagen.kernels.code import Code, Value, identifier, integer, op
from nessie.cudagen.kernels.thunks import Tables
from nessie.cudagen.kernels.walk import ROOT, SEGMENT, UNIT, Step, Walk, using
from nessie.cudagen.loops import nodes as loops
from nessie.cudagen.loops.module import Module
from nessie.cudagen.loops.plan import Alone, Buffer
from nessie.cudagen.skeletons.chunks import (
    Chunks,
    Span,
    border_function,
    each_chunk,
    first_element,
    segmented_chunk,
    span,
)
from nessie.cudagen.skeletons.cpu.alone import plan_alone
from nessie.cudagen.skeletons.cpu.finish import finish
from nessie.cudagen.skeletons.cpu.lanes import elements, rounds, use_lanes
from nessie.cudagen.skeletons.cpu.neighbours import neighbours
from nessie.cudagen.skeletons.cpu.segments import walk_chunk
from nessie.cudagen.skeletons.cpu.tables import chains, chains_here, choose_tables, join_tables, table_buffers
from nessie.cudagen.skeletons.elements import Sweep, kept_of, position_of, rank_of, states_of, told_by
from nessie.cudagen.skeletons.kernel import (
    Kernel,
    all_steps,
    chunk_count,
    early_scalars,
    elements_exp,
    result_buffers,
    result_of,
    size_exp,
    state_buffers,
    to_cell,
)
from nessie.cudagen.skeletons.states import COUNT, assign, combine, current, declare, held, keep
from nessie.cudagen.skeletons.told import kept, told
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu.scope import writes_in_order
from nessie.lambda_cu.selection import selection


def plan_walk(walk: Walk, tables: Tables, width: int, alone: bool = False) -> Module:
    """The plan of a kernel whose bindings one walk computes, with its functions. `alone`: and where that saves a phase,
    the plan for one chunk."""
    border = f"{identifier(walk.kernel.name)}_border"
    whole = any(writes_in_order(step.bind.soac) for step in walk.at(SEGMENT))
    chunks = None if walk.root is None else Chunks(walk.root, width, border, whole)
    kernel = Kernel(walk, tables, chunks, states_of(walk))
    if chunks is not None:
        if walk.segmented:
            kernel.functions.append(border_function(chunks))
        summarised = None
        if kernel.carries:
            summarised = summary(kernel, chunks)
            prefixes(kernel, chunks)
        if summarised is not None and summarised.kept:
            sweep_of_kept(kernel, chunks, summarised)
        else:
            sweep(kernel, chunks)
    finish(kernel, chunks)
    results = tuple(result_of(kernel, name) for name in walk.kernel.returns)
    made = kernel.module(results, elements_exp(kernel))
    single = plan_alone(walk, tables, made.plans[0].elements) if alone and chunks is not None else None
    if single is None or chunks is None:
        return made
    plan = replace(made.plans[0], alone=Alone(single.plans[0].name, chunk_count(kernel, chunks)))
    return Module((*made.functions, *single.functions), (plan, *single.plans))


# Summary and prefixes ---------------------------------------------------------------------------


def summary(kernel: Kernel, chunks: Chunks) -> Sweep:
    """What it has done. It records the failures of what the sweep does not do again."""
    code = kernel.code()
    filtered = kept_by_summary(kernel)
    early_scalars(kernel, code)
    code.recording = filtered is not None
    active = needed_by_carries(kernel)
    if filtered is not None:
        active |= {step.name for step in kernel.walk.at(ROOT)}
    run = kernel.sweep(code, kernel.carries, active, writing=False)
    run.told = told_by_summary(kernel)
    if filtered is not None:
        run.kept = filtered.name
        run.limits[rank_of(filtered, 0)] = None
    use_lanes(run, kernel.carries)

    def chunk_body(chunk: loops.Exp) -> None:
        for state in kernel.carries:
            run.declare(state)
        part = summary_walk(kernel, run, chunks, chunk)
        for state in kernel.carries:
            keep(code, state, "carry", chunk, run.now(state))
        if part is not None and restarting(kernel):
            ends = op("btoi", op("<", part.s0, part.s1))
            code.store("ends", chunk, Value(ends, "int"))

    each_chunk(code, chunk_body)
    count = chunk_count(kernel, chunks)
    buffers = [b for state in kernel.carries for b in state_buffers(state, "carry", op("+", count, integer(1)))]
    if restarting(kernel):
        buffers.append(Buffer("ends", "int", count))
    size = elements_in(kernel, chunks.root)
    if filtered is not None:
        buffers += [Buffer(kept_of(name), base_of(kernel, name), size) for name in values_of(filtered)]
    else:
        buffers += [Buffer(told_by(step), "bool", size) for step in kernel.walk.at(ROOT) if step.name in run.told]
    kernel.phase("summary", code, count, tuple(buffers))
    return run


def summary_walk(kernel: Kernel, run: Sweep, chunks: Chunks, chunk: loops.Exp) -> Span | None:
    """The start of a chunk's summary: only its last segment counts where every carry starts afresh in each segment."""
    if not all(state.restarts for state in kernel.carries):
        return walk_chunk(kernel, run, chunks, chunk)
    assert not isinstance(chunks.root, ir.Flat)
    part = span(run.code, chunks, chunk)
    last = Span(part.s1, part.i0, part.s1, part.i1)
    segmented_chunk(run.code, chunks.root, last, lambda s: run.segment(s, prologue=True),
                    lambda low, high, s, start: elements(run, low, high, s, start), lambda s: None, run)
    return part


def restarting(kernel: Kernel) -> bool:
    return any(state.restarts for state in kernel.carries)


def walks_all(kernel: Kernel) -> bool:
    """Does a summary walk all elements?"""
    return not all(state.restarts for state in kernel.carries)


def told_by_summary(kernel: Kernel) -> frozenset[str]:
    return told(kernel.walk, needed_by_carries(kernel)) if walks_all(kernel) else frozenset()


def kept_by_summary(kernel: Kernel) -> Step | None:
    """The FILTER whose survivors a summary keeps. It does not where sums round: their order is the elements'."""
    rounding = any(rounds(state) for state in kernel.states.values())
    return kept(kernel.walk, needed_by_carries(kernel)) if walks_all(kernel) and not rounding else None


def values_of(step: Step) -> tuple[str, ...]:
    """The FILTER's results that somebody reads."""
    selected = selection(step.bind)
    return tuple([name for name in selected.values[0] if name != "_"]) if selected else ()


def base_of(kernel: Kernel, name: str) -> str:
    type_ = kernel.walk.types[name]
    assert isinstance(type_, ir.Array)
    return type_.base


def elements_in(kernel: Kernel, root: ir.Space) -> loops.Exp:
    return size_exp(kernel, root.size if isinstance(root, ir.Flat) else root.total)


def needed_by_carries(kernel: Kernel) -> frozenset[str]:
    """The steps that the carries' own values are made by, their FILTERs among them."""
    walk = kernel.walk
    active: set[str] = set()
    needed: set[str] = set()
    for step in reversed(walk.steps):
        names = set(step.bind.names) - {"_"}
        own = {step.name, *(use(step, side) for use in (rank_of, position_of) for side in (0, 1))}
        carried = any(state.name in own for state in kernel.carries)
        if step.place != UNIT and (carried or names & needed or step.name in needed):
            active |= {step.name} | (names & needed)
            needed |= summary_reads(step, needed)
            if step.place.kind == "residual":
                needed.add(step.place.filter)
    return frozenset(active)


def summary_reads(step: Step, needed: set[str]) -> set[str]:
    """The names that a summary reads for this step: a FILTER's values only if something on its survivors reads them."""
    soac = step.bind.soac
    if selected := selection(step.bind):
        used = any(needed & set(names) for names in selected.values)
        return set(selected.soac.predicate.using) | (set(selected.soac.value.using) if used else set())
    return using(soac)


def prefixes(kernel: Kernel, chunks: Chunks) -> None:
    """Called once: in `carry`, each chunk's total becomes what all chunks before it come to, and the end's is added; a
    carry that restarts with each segment goes on from the chunk's total alone where a segment has ended in it. The
    counts of survivors are known then."""
    code = kernel.code()
    early_scalars(kernel, code)
    count = code.let_int("chunks", chunks.count(chunks.items(code)))
    running = {state.name: declare(code, kernel.tables, state) for state in kernel.carries}

    def chunk_body(chunk: loops.Exp) -> None:
        for state in kernel.carries:
            names = running[state.name]
            total = held(code, state, "carry", chunk)
            keep(code, state, "carry", chunk, current(state, names))
            with code.block() as goes_on:
                assign(code, names, combine(code, kernel.tables, state, current(state, names), total))
            if not state.restarts:
                code.statements += goes_on
                continue
            with code.block() as restarts:
                assign(code, names, total)
            ends = op("/=", loops.Load(code.array("ends", "int"), chunk), integer(0))
            code.add(loops.If(ends, tuple(restarts), tuple(goes_on)))

    each_chunk(code, chunk_body, integer(0), count)
    for state in kernel.carries:
        keep(code, state, "carry", count, current(state, running[state.name]))
    for step in kernel.walk.steps:
        for side in (0, 1):
            if rank_of(step, side) in running and step.bind.names[side] != "_":
                (total,) = running[rank_of(step, side)]
                to_cell(kernel, code, step.bind.names[side], Value(loops.Name(total), "int"))
    kernel.phase("prefixes", code, None)


# The sweep --------------------------------------------------------------------------------------


def sweep(kernel: Kernel, chunks: Chunks) -> None:
    run = kernel.sweep(begun(kernel), list(kernel.states.values()), all_steps(kernel))
    run.told = told_by_summary(kernel)
    use_lanes(run, [state for state in kernel.states.values() if state.kind != "carry"])
    together = neighbours(run, chunks.root)
    chunk_by_chunk(kernel, run, chunks, lambda chunk: walk_chunk(kernel, run, chunks, chunk, together))


def sweep_of_kept(kernel: Kernel, chunks: Chunks, summarised: Sweep) -> None:
    """The survivors that the summary has kept, all of whose ranks are known."""
    (step,) = [step for step in kernel.walk.at(ROOT) if step.name == summarised.kept]
    run = kernel.sweep(begun(kernel), list(kernel.states.values()), all_steps(kernel))
    run.doubtful = summarised.doubtful

    def chunk_body(chunk: loops.Exp) -> None:
        code, rank = run.code, rank_of(step, 0)
        count = code.let_int("survivors", op("-", run.limits[rank] or integer(0), loops.Name(run.variables[rank][0])))
        first = first_element(code, chunks, chunk)
        run.survivors(step, values_of(step), first, code.let_int("beyond", op("+", first, count)))

    chunk_by_chunk(kernel, run, chunks, chunk_body)


def begun(kernel: Kernel) -> Code:
    code = kernel.code()
    early_scalars(kernel, code)
    counted_sizes(kernel, code)
    return code


def chunk_by_chunk(kernel: Kernel, run: Sweep, chunks: Chunks, walk: Callable[[loops.Exp], object]) -> None:
    """The phase: each chunk's states before and after its walk."""
    code = run.code
    several = chains(kernel, chunks)
    here = chains_here(kernel, chunks, code) if several else None

    def chunk_body(chunk: loops.Exp) -> None:
        for state in kernel.states.values():
            run.declare(state)
            if state.kind == "carry":
                assign(code, run.variables[state.name], held(code, state, "carry", chunk))
                if state.monoid is COUNT and not state.restarts:
                    (run.limits[state.name],) = (v.exp for v in held(code, state, "carry", op("+", chunk, integer(1))))
        if here is not None:
            choose_tables(kernel, run, chunks, chunk, here)
        walk(chunk)
        for state in kernel.states.values():
            if state.kind != "carry":
                keep(code, state, "tails" if state.kind == "segment" else "parts", chunk, run.now(state))

    each_chunk(code, chunk_body)
    count = chunk_count(kernel, chunks)
    buffers = (*result_buffers(kernel), *table_buffers(kernel, chunks))
    for state in kernel.states.values():
        uses = {"segment": ("tails", "heads"), "total": ("parts",), "carry": ()}[state.kind]
        for use in uses:
            buffers += state_buffers(state, use, count)
    kernel.phase("sweep", code, count, buffers, in_order=kernel.walk.sequential, chains=several)
    join_tables(kernel, chunks)


def counted_sizes(kernel: Kernel, code: Code) -> None:
    """Scatters into as many elements as survive find that number in its cell."""
    for step in kernel.walk.steps:
        soac = step.bind.soac
        if isinstance(soac, ir.Write) and soac.size in kernel.slots:
            count = loops.Load(code.array("cells", "int"), integer(kernel.slots[str(soac.size)]))
            code.values[str(soac.size)] = Value(count, "int")
