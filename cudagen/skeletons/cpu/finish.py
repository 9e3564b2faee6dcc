"""The last phase on the CPU: totals in chunk order, segments that lay in several chunks, what runs once."""
from __future__ import annotations

from nessie.cudagen.kernels.code import Value, integer, op
from nessie.cudagen.kernels.walk import Step
from nessie.cudagen.loops import nodes as loops
from nessie.cudagen.skeletons.chunks import Chunks, each_chunk, span, start_of
from nessie.cudagen.skeletons.cpu.segments import results, segment_states
from nessie.cudagen.skeletons.elements import Sweep, rank_of
from nessie.cudagen.skeletons.kernel import Kernel, all_steps, bind_once, early_scalars, returned_scalars
from nessie.cudagen.skeletons.states import State, assign, combine, held
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu.selection import Selection, selection


def finish(kernel: Kernel, chunks: Chunks | None) -> None:
    code = kernel.code()
    code.arrays |= {name: type_ for name in kernel.walk.stored
                    if isinstance(type_ := kernel.walk.types[name], ir.Array)}
    early_scalars(kernel, code)
    run = kernel.sweep(code, [s for s in kernel.states.values() if s.kind != "carry"], all_steps(kernel))
    if chunks is not None:
        finish_chunks(kernel, run, chunks)
    for step in kernel.walk.steps:
        final_values(kernel, run, chunks, step)
    returned_scalars(kernel, code)
    if code.statements:
        kernel.phase("finish", code, None)


def finish_chunks(kernel: Kernel, run: Sweep, chunks: Chunks) -> None:
    """Chunk by chunk: the segment that it found unfinished, then its totals."""
    code = run.code
    totals = [state for state in run.states.values() if state.kind == "total"]
    if not run.states:
        return
    for state in run.states.values():
        run.declare(state)
    count = code.let_int("chunks", chunks.count(chunks.items(code)))

    def chunk_body(chunk: loops.Exp) -> None:
        if segment_states(kernel):
            finish_segment(kernel, run, chunks, chunk)
        for state in totals:
            run.accumulate(state, held(code, state, "parts", chunk))

    each_chunk(code, chunk_body, integer(0), count)


def finish_segment(kernel: Kernel, run: Sweep, chunks: Chunks, chunk: loops.Exp) -> None:
    """The states hold what earlier chunks have of the segment that is open where this chunk begins."""
    code = run.code
    assert not isinstance(chunks.root, ir.Flat)
    part = span(code, chunks, chunk)
    states = segment_states(kernel)
    with code.block() as ends:
        with code.block() as unfinished:
            totals = {state.name: combine(code, kernel.tables, state, run.now(state),
                                          held(code, state, "heads", chunk)) for state in states}
            run.segment(part.s0, prologue=True)
            results(kernel, run, part.s0, totals)
        code.add(loops.If(op("<", start_of(code, chunks.root, part.s0), part.i0), tuple(unfinished)))
        for state in states:
            assign(code, run.variables[state.name], held(code, state, "tails", chunk))
    with code.block() as goes_on:
        for state in states:
            run.accumulate(state, held(code, state, "tails", chunk))
    code.add(loops.If(op("<", part.s0, part.s1), tuple(ends), tuple(goes_on)))


def final_values(kernel: Kernel, run: Sweep, chunks: Chunks | None, step: Step) -> None:
    """Write the results of a step when all is done: scalars, a SCAN's total, the first of a SEG_FILTER's offsets."""
    code, soac, names = run.code, step.bind.soac, step.bind.names
    match soac:
        case ir.Reduce() if kernel.states[step.name].kind == "total":
            code.values.update(zip(names, run.now(kernel.states[step.name]), strict=True))
        case ir.Scan(space=ir.Flat(size), total=True) if chunks is not None:
            for name, value in zip(names, after_all(run, chunks, kernel.states[step.name]), strict=True):
                if name in kernel.walk.stored:
                    code.store(name, code.size(size), value)
        case ir.Once(thunk) if not code.values.keys() >= set(names) - {"_"} or set(names) == {"_"}:
            bind_once(kernel, code, thunk, names)
    if (selected := selection(step.bind)) and chunks is not None:
        counts(kernel, run, chunks, step, selected)


def after_all(run: Sweep, chunks: Chunks, state: State) -> tuple[Value, ...]:
    """The value of a carry after the last element."""
    count = run.code.let_int("chunks", chunks.count(chunks.items(run.code)))
    return held(run.code, state, "carry", count)


def counts(kernel: Kernel, run: Sweep, chunks: Chunks, step: Step, selected: Selection) -> None:
    for side, count in enumerate(selected.counts):
        state = kernel.states.get(rank_of(step, side))
        if state is not None and count != "_":
            (run.code.values[count],) = run.now(state) if state.kind == "total" else after_all(run, chunks, state)
    for offsets in kernel.walk.stored.intersection(selected.offsets):
        run.code.store(offsets, integer(0), Value(integer(0), "int"))
