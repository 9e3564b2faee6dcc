"""A kernel that has one chunk: one function, called once, does in one walk what several phases do for many chunks.

    summary, prefixes, sweep, finish        ->      alone

What an element needs of those before it is known when the walk comes to it. A FILTER's survivors go to memory for as
many as there can be, of which the result is the beginning. Most launches of a loop over little data are such.
"""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from nessie.cudagen.kernels.code import identifier, integer
from nessie.cudagen.kernels.thunks import Tables
from nessie.cudagen.kernels.walk import Walk
from nessie.cudagen.loops import nodes as loops
from nessie.cudagen.loops.module import Module
from nessie.cudagen.loops.plan import Buffer, Result, ScalarResult
from nessie.cudagen.skeletons.chunks import Chunks, segmented_chunk, whole_of
from nessie.cudagen.skeletons.cpu.lanes import elements, rounds, use_lanes
from nessie.cudagen.skeletons.cpu.segments import segment_end
from nessie.cudagen.skeletons.elements import Sweep, rank_of, states_of
from nessie.cudagen.skeletons.finals import final_values
from nessie.cudagen.skeletons.kernel import (
    Kernel,
    all_steps,
    counts,
    early_scalars,
    elements_read_counts,
    result_buffers,
    result_of,
    returned_scalars,
    size_exp,
    to_cell,
)
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu.selection import selection


def alone_name(name: str) -> str:
    """The name of the plan for one chunk, of the kernel of this name."""
    return f"{identifier(name)}_alone"


def plan_alone(walk: Walk, tables: Tables, walked: loops.Exp) -> Module | None:
    """The plan for one chunk, with its function; `walked`: how many elements there are. None: chunks have no first
    phase, or a sum of floats would be another, or something begins filled that is as long as a count says."""
    root = walk.root
    if root is None:
        return None
    kernel = Kernel(walk, tables, Chunks(root, 1, ""), states_of(walk))
    counted = any([isinstance(s.bind.soac, ir.Write) and s.bind.soac.size in counts(walk) for s in walk.steps])
    if not kernel.carries or any(map(rounds, kernel.carries)) or counted or elements_read_counts(walk):
        return None
    code = kernel.code()
    code.arrays |= {name: type_ for name in walk.stored if isinstance(type_ := walk.types[name], ir.Array)}
    early_scalars(kernel, code)
    run = kernel.sweep(code, list(kernel.states.values()), all_steps(kernel))
    walk_whole(kernel, run, root, partial(elements, run))
    for step in walk.steps:
        final_values(kernel, run, step, run.now)
    for name in counted_in(walk):
        to_cell(kernel, code, name, code.values[name])
    returned_scalars(kernel, code, counted_in(walk))
    bounds = tuple([bounded(kernel, root, buffer) for buffer in result_buffers(kernel)])
    kernel.phase("alone", code, None, bounds)
    results = tuple([beginning_of(kernel, name) for name in walk.kernel.returns])
    made = kernel.module(results, walked)
    return replace(made, plans=(replace(made.plans[0], name=alone_name(walk.kernel.name)),))


def walk_whole(kernel: Kernel, run: Sweep, root: ir.Space, walked: Callable[..., None]) -> None:
    """Walk all elements, from first to last. `walked` takes those from an index to before another; of a segment, its
    number and start, too (lanes.elements)."""
    code = run.code
    use_lanes(run, [state for state in kernel.states.values() if state.kind != "carry"])
    for state in kernel.states.values():
        run.declare(state)
    for step in kernel.walk.steps:
        for side in (0, 1):
            run.limits[rank_of(step, side)] = None
    if isinstance(root, ir.Flat):
        return walked(integer(0), code.size(root.size))
    segmented_chunk(code, root, whole_of(code, root), lambda s: run.segment(s, prologue=True), walked,
                    lambda s: segment_end(kernel, run, integer(0), s, None), run)


def counted_in(walk: Walk) -> list[str]:
    """The names of counts of survivors that somebody needs: who gets them, or memory for as many."""
    sizes = {type_.size for name in walk.stored if isinstance(type_ := walk.types[name], ir.Array)}
    wanted = sizes | set(walk.kernel.returns)
    return [count for step in walk.steps if (selected := selection(step.bind)) for count in selected.counts
            if count != "_" and count in wanted]


def bounded(kernel: Kernel, root: ir.Space, buffer: Buffer) -> Buffer:
    """The buffer, with memory for all elements where a count says how many there are."""
    type_ = kernel.walk.types[buffer.name]
    assert isinstance(type_, ir.Array)
    if type_.size not in counts(kernel.walk):
        return buffer
    return replace(buffer, size=size_exp(kernel, root.size if isinstance(root, ir.Flat) else root.total, type_.plus))


def beginning_of(kernel: Kernel, name: str) -> Result:
    """The result: of a bounded buffer as much as there is."""
    result, type_ = result_of(kernel, name), kernel.walk.types[name]
    if isinstance(result, ScalarResult) or not isinstance(type_, ir.Array) or type_.size not in counts(kernel.walk):
        return result
    return replace(result, length=size_exp(kernel, type_.size, type_.plus))
