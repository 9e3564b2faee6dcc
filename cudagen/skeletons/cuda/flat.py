"""The GPU's walk in any order, of a flat space or of a nest without carries: each thread takes elements that are a grid
apart, so that neighbouring threads take neighbouring elements, which memory likes; each block reduces its threads'
totals to one in `parts`.

Of a nest, a thread divides for its first element only. It goes on as one adds numbers of two digits, the row and the
place in it:

    row = row + rows; place = place + rest;                 threads = rows * length + rest
    if (place >= length) { row = row + 1; place = place - length; }

The number of blocks depends on the length alone, and with it the shape of the reduction's tree.
"""
from __future__ import annotations

from nessie.base.records import dataclass
from nessie.cudagen.kernels.code import Code, integer, op
from nessie.cudagen.loops import nodes as loops
from nessie.cudagen.loops.plan import Buffer
from nessie.cudagen.skeletons.cuda.blocks import BLOCK, grid, in_grid, keep_parts, launch
from nessie.cudagen.skeletons.cuda.finish import finish_walk
from nessie.cudagen.skeletons.elements import Sweep
from nessie.cudagen.skeletons.interiors import Inside, fixed_interior, inside_or_not
from nessie.cudagen.skeletons.kernel import Kernel, all_steps, early_scalars, size_exp
from nessie.lambda_cu import nodes as ir

ABOUT = "All elements, in any order: neighbouring threads take neighbouring elements."
PARTS = "\nEach block leaves what its elements come to in `parts`."


def sweep_flat(kernel: Kernel, root: ir.Flat | ir.Uniform, buffers: tuple[Buffer, ...], ends: bool) -> loops.Exp:
    """Adds the phase that walks, and `ends` the kernel, perhaps; the number of its blocks."""
    elements = root.size if isinstance(root, ir.Flat) else root.total
    size = size_exp(kernel, elements)
    blocks = grid(size)
    code, states = kernel.code(), list(kernel.states.values())
    early_scalars(kernel, code)
    sweep = kernel.sweep(code, states, all_steps(kernel))
    for state in states:
        sweep.declare(state)
    inner = fixed_interior(sweep)
    index = loops.Name(code.fresh("i"))
    code.note("each thread: elements that are a grid apart")
    thread, threads = in_grid(code)
    rows = None if isinstance(root, ir.Flat) else rows_of(code, code.size(root.length), thread, threads)
    with code.block() as body:
        if rows is None:
            inside_or_not(sweep, inner, index, index, lambda: sweep.root(index))
        else:
            in_row(sweep, index, rows, inner)
    code.add(loops.For(index.name, thread, code.size(elements), tuple(body), threads))
    buffers += keep_parts(kernel, sweep, states, BLOCK, op("max", blocks, integer(1)))
    launched, more = finish_walk(kernel, code, blocks) if ends else (blocks, "")
    launch(kernel, "sweep", code, launched, buffers, about=ABOUT + (PARTS if states else "") + more)
    return blocks


@dataclass(frozen=True)
class Rows:
    """The variables that hold the row of a thread's element and its place in it; by what they grow, to the next."""
    row: str
    place: str
    length: loops.Exp
    rows: loops.Exp
    rest: loops.Exp


def rows_of(code: Code, length: loops.Exp, first: loops.Exp, step: loops.Exp) -> Rows:
    row = code.var("row", "int", op("/", first, length))
    place = code.var("place", "int", op("-", first, op("*", loops.Name(row), length)))
    rows = code.let_int("rows", op("/", step, length))
    return Rows(row, place, length, rows, code.let_int("rest", op("-", step, op("*", rows, length))))


def in_row(sweep: Sweep, index: loops.Exp, rows: Rows, inner: Inside | None) -> None:
    """What is done at an element; then its row and place become those of the next."""
    code, row, place = sweep.code, loops.Name(rows.row), loops.Name(rows.place)
    sweep.divide(row)
    inside_or_not(sweep, inner, place, place, lambda: sweep.root(index, row, op("-", index, place), place), row)
    code.add(loops.Set(rows.row, op("+", row, rows.rows)))
    code.add(loops.Set(rows.place, op("+", place, rows.rest)))
    code.add(loops.If(op("<=", rows.length, place), (loops.Set(rows.row, op("+", row, integer(1))),
                                                     loops.Set(rows.place, op("-", place, rows.length)))))
