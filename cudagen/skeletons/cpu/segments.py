"""One chunk of the CPU's walk: its elements and, where there are segments, what happens at their ends."""
from __future__ import annotations

from functools import partial

from nessie.cudagen.kernels.code import integer, op
from nessie.cudagen.loops import nodes as loops
from nessie.cudagen.loops.walk import statements as inside
from nessie.cudagen.skeletons.chunks import Chunks, Span, segmented_chunk, span, start_of
from nessie.cudagen.skeletons.cpu.lanes import elements
from nessie.cudagen.skeletons.cpu.neighbours import Neighbours
from nessie.cudagen.skeletons.elements import Sweep
from nessie.cudagen.skeletons.ends import results, survivors_offsets
from nessie.cudagen.skeletons.kernel import Kernel
from nessie.cudagen.skeletons.states import State, assign, identity, keep
from nessie.lambda_cu import nodes as ir


def walk_chunk(kernel: Kernel, run: Sweep, chunks: Chunks, chunk: loops.Exp, together: Neighbours | None = None
               ) -> Span | None:
    """The chunk's elements and, where there are segments, their beginnings and ends; neighbours `together`, if so."""
    code = run.code
    if isinstance(chunks.root, ir.Flat):
        run.first, beyond = chunks.bounds(code, chunk)
        elements(run, run.first, beyond)
        return None
    part = span(code, chunks, chunk)
    run.first = part.i0
    unfinished: loops.Exp = integer(-1)
    if run.writing and segment_states(kernel):
        start = start_of(code, chunks.root, part.s0)
        unfinished = code.let_int("unfinished", op("select", op("<", start, part.i0), part.s0, integer(-1)))
    with code.block() as walked:
        beside = None
        if together is not None:
            together.begin(part)
            beside = partial(together.walk, part, partial(segment_results, kernel, run))
        segmented_chunk(code, chunks.root, part, lambda s: run.segment(s, prologue=True),
                        lambda low, high, s, start: elements(run, low, high, s, start),
                        lambda s: segment_end(kernel, run, chunk, s, unfinished), run, beside)
    if isinstance(chunks.root, ir.Irregular) and run.writing and (empty := empty_segments(kernel, run, chunk, part)):
        code.add(loops.If(op("==", part.i0, part.i1), empty, tuple(walked)))
    else:
        code.statements += walked
    return part


def empty_segments(kernel: Kernel, run: Sweep, chunk: loops.Exp, part: Span) -> tuple[loops.Stmt, ...]:
    """What happens at the segments of a chunk without elements: each begins and ends in it, and LLVM makes vectors of
    the loop. Nothing, where nothing happens at segments' ends."""
    code = run.code
    segment = loops.Name(code.fresh("empty"))
    with code.block() as statements:
        run.segment(segment, prologue=True)
        segment_end(kernel, run, chunk, segment, None)
    ends = any(isinstance(statement, loops.Store) for statement in inside(tuple(statements)))
    return (loops.For(segment.name, part.s0, part.s1, tuple(statements)),) if ends else ()


def segment_end(kernel: Kernel, run: Sweep, chunk: loops.Exp, segment: loops.Exp, unfinished: loops.Exp | None) -> None:
    """Results of a segment. One that began in an earlier chunk is left to `finish`; None: there is none."""
    code = run.code
    if run.writing:
        survivors_offsets(kernel, run, segment)
        with code.block() as complete:
            segment_results(kernel, run, segment)
        if segment_states(kernel) and unfinished is not None:
            with code.block() as later:
                for state in segment_states(kernel):
                    keep(code, state, "heads", chunk, run.now(state))
            code.add(loops.If(op("==", segment, unfinished), tuple(later), tuple(complete)))
        else:
            code.statements += complete
    for state in run.states.values():
        if state.kind == "segment" or state.restarts:
            assign(code, run.variables[state.name], identity(code, kernel.tables, state))


def segment_states(kernel: Kernel) -> list[State]:
    return [state for state in kernel.states.values() if state.kind == "segment"]


def segment_results(kernel: Kernel, run: Sweep, segment: loops.Exp) -> None:
    """The results of a segment that has begun and ended here."""
    results(kernel, run, segment, {s.name: run.now(s) for s in segment_states(kernel)})
