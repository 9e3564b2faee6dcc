"""The GPU's walk of a flat space in any order: each thread takes elements that are a grid apart, so that neighbouring
threads take neighbouring elements, which memory likes; each block reduces its threads' totals to one in `parts`.

The number of blocks depends on the length alone, and with it the shape of the reduction's tree.
"""
from __future__ import annotations

from nessie.cudagen.kernels.code import integer, op
from nessie.cudagen.loops import nodes as loops
from nessie.cudagen.loops.plan import Buffer
from nessie.cudagen.skeletons.cuda.blocks import BLOCK, each_in_grid, grid, keep_parts, launch
from nessie.cudagen.skeletons.cuda.finish import finish_walk
from nessie.cudagen.skeletons.interiors import flat_interior, inside_or_not
from nessie.cudagen.skeletons.kernel import Kernel, all_steps, early_scalars, size_exp
from nessie.lambda_cu import nodes as ir

ABOUT = "All elements, in any order: neighbouring threads take neighbouring elements."
PARTS = "\nEach block leaves what its elements come to in `parts`."


def sweep_flat(kernel: Kernel, root: ir.Flat, buffers: tuple[Buffer, ...], ends: bool) -> loops.Exp:
    """Adds the phase that walks, and `ends` the kernel, perhaps; the number of its blocks."""
    size = size_exp(kernel, root.size)
    blocks = grid(size)
    code, states = kernel.code(), list(kernel.states.values())
    early_scalars(kernel, code)
    sweep = kernel.sweep(code, states, all_steps(kernel))
    for state in states:
        sweep.declare(state)
    inner = flat_interior(sweep)
    index = loops.Name(code.fresh("i"))
    code.note("each thread: elements that are a grid apart")
    with code.block() as body:
        inside_or_not(sweep, inner, index, index, lambda: sweep.root(index))
    each_in_grid(code, index.name, code.size(root.size), tuple(body))
    buffers += keep_parts(kernel, sweep, states, BLOCK, op("max", blocks, integer(1)))
    launched, more = finish_walk(kernel, code, blocks) if ends else (blocks, "")
    launch(kernel, "sweep", code, launched, buffers, about=ABOUT + (PARTS if states else "") + more)
    return blocks
