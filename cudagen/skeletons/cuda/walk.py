"""A kernel's plan on the GPU.

    count      where elements read how many survivors there are: the walk, for that alone, which leaves it in cells
    sweep      the walk: all elements, all stores (skeletons.cuda.flat where any order will do, else tiles); its last
               block does what is done once (skeletons.cuda.finish)
    settle     where a PERMUTE's last write wins: what has won goes to its place (skeletons.cuda.last_writes)

A FILTER's survivors are stored while they are counted, so its results get memory for as many elements as there could
be; how long they are is read off the cells.
"""
from __future__ import annotations

from dataclasses import replace

from nessie.cudagen.kernels.code import integer
from nessie.cudagen.kernels.thunks import Tables
from nessie.cudagen.kernels.walk import SEGMENT, Walk
from nessie.cudagen.loops import nodes as loops
from nessie.cudagen.loops.module import Module
from nessie.cudagen.loops.plan import ArrayResult, Result
from nessie.cudagen.skeletons.cuda.finish import ends_walk, finish_alone, last_of
from nessie.cudagen.skeletons.cuda.flat import sweep_flat
from nessie.cudagen.skeletons.cuda.last_writes import claim_buffers, settled, write_winners
from nessie.cudagen.skeletons.cuda.runs import runs_of
from nessie.cudagen.skeletons.cuda.tiles import count_tiles, sweep_tiles
from nessie.cudagen.skeletons.elements import states_of
from nessie.cudagen.skeletons.kernel import (
    Kernel,
    counts,
    elements_exp,
    elements_read_counts,
    result_buffers,
    result_of,
    size_exp,
)
from nessie.cudagen.skeletons.states import State, commutative
from nessie.lambda_cu import nodes as ir


def plan_cuda(walk: Walk, tables: Tables, width: int) -> Module:
    """`width`: items a thread, where threads have runs."""
    kernel = Kernel(walk, tables, None, carried(states_of(walk)))
    if walk.root is None:
        finish_alone(kernel, integer(0))
    else:
        sweep(kernel, walk.root, width)
    results = tuple(result(kernel, name) for name in walk.kernel.returns)
    return kernel.module(results, elements_exp(kernel))


def carried(states: dict[str, State]) -> dict[str, State]:
    """A segment's total is a carry that restarts."""
    return {name: replace(state, kind="carry", restarts=True) if state.kind == "segment" else state
            for name, state in states.items()}


def sweep(kernel: Kernel, root: ir.Space, width: int) -> None:
    runs = runs_of(kernel, root, width)
    buffers = result_buffers(kernel) + claim_buffers(kernel, root)
    if elements_read_counts(kernel.walk):
        count_tiles(kernel, runs)
    else:
        buffers = tuple([replace(buffer, size=bound(kernel, buffer.size)) for buffer in buffers])
    any_order = not kernel.carries and all(commutative(state) for state in kernel.states.values())
    ends = ends_walk(kernel, settled(kernel))
    if any_order and (isinstance(root, ir.Flat) or (isinstance(root, ir.Uniform) and not kernel.walk.at(SEGMENT))):
        blocks = sweep_flat(kernel, root, buffers, ends)
    else:
        blocks = sweep_tiles(kernel, runs, buffers, ends)
    write_winners(kernel, root, {buffer.name: buffer.size for buffer in buffers})
    if not ends:
        finish_alone(kernel, blocks)


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
    if isinstance(found, ArrayResult):
        found = replace(found, last=kernel.slots.get(last_of(name)))
    if isinstance(found, ArrayResult) and isinstance(type_, ir.Array) and type_.size in counts(kernel.walk):
        return replace(found, length=size_exp(kernel, type_.size, type_.plus))
    return found
