"""The last phase on the CPU: totals in chunk order, segments that lay in several chunks, what runs once."""
from __future__ import annotations

from functools import partial

from nessie.cudagen.kernels.code import Value, integer, op
from nessie.cudagen.loops import nodes as loops
from nessie.cudagen.skeletons.chunks import Chunks, each_chunk, span, start_of
from nessie.cudagen.skeletons.cpu.segments import segment_states
from nessie.cudagen.skeletons.elements import Sweep
from nessie.cudagen.skeletons.ends import results
from nessie.cudagen.skeletons.finals import final_values
from nessie.cudagen.skeletons.kernel import Kernel, all_steps, early_scalars, returned_scalars
from nessie.cudagen.skeletons.states import State, assign, combine, held
from nessie.lambda_cu import nodes as ir


def finish(kernel: Kernel, chunks: Chunks | None) -> None:
    code = kernel.code()
    code.arrays |= {name: type_ for name in kernel.walk.stored
                    if isinstance(type_ := kernel.walk.types[name], ir.Array)}
    early_scalars(kernel, code)
    run = kernel.sweep(code, [s for s in kernel.states.values() if s.kind != "carry"], all_steps(kernel))
    if chunks is not None:
        finish_chunks(kernel, run, chunks)
    last = None if chunks is None else partial(last_of, run, chunks)
    for step in kernel.walk.steps:
        final_values(kernel, run, step, last)
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


def last_of(run: Sweep, chunks: Chunks, state: State) -> tuple[Value, ...]:
    """The value of a total, or of a carry after the last element."""
    if state.kind == "total":
        return run.now(state)
    count = run.code.let_int("chunks", chunks.count(chunks.items(run.code)))
    return held(run.code, state, "carry", count)
