"""The GPU's walk in any order, of a flat space or of a nest without carries: each thread takes elements that are a grid
apart, so that neighbouring threads take neighbouring elements, which memory likes; each block reduces its threads'
totals to one in `parts`.

Of a nest, a thread divides for its first element only. It goes on as one adds numbers of several digits, one for each
axis; here the row and the place in it:

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
from nessie.cudagen.skeletons.elements import Sweep, number_at
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
    rows = None
    if isinstance(root, ir.Uniform):
        rows = digits_of(code, (*(sweep.axes or (root.segments,)), root.length), thread, threads)
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
class Digits:
    """The variables that hold a thread's element as the indices of axes; by how much each grows, to the next."""
    indices: tuple[loops.Name, ...]
    sizes: tuple[loops.Exp, ...]
    steps: tuple[loops.Exp, ...]


def digits_of(code: Code, axes: tuple[ir.Size, ...], first: loops.Exp, step: loops.Exp) -> Digits:
    sizes = tuple(map(code.size, axes))
    begin, steps = split(code, sizes, first), split(code, sizes, step)
    hints = (*["row"] * (len(axes) - 1), "place")
    indices = [loops.Name(code.var(hint, "int", index)) for hint, index in zip(hints, begin, strict=True)]
    return Digits(tuple(indices), sizes, steps)


def split(code: Code, sizes: tuple[loops.Exp, ...], number: loops.Exp) -> tuple[loops.Exp, ...]:
    """The number's digits, where so many of each make one of the next."""
    found: list[loops.Exp] = []
    for size in sizes[:0:-1]:
        rows = code.let_int("rows", op("/", number, size))
        found.append(code.let_int("rest", op("-", number, op("*", rows, size))))
        number = rows
    return (number, *reversed(found))


def in_row(sweep: Sweep, index: loops.Exp, at: Digits, inner: Inside | None) -> None:
    """What is done at an element; then the indices become those of the next."""
    code, place = sweep.code, at.indices[-1]
    row = code.let_int("segment", number_at(at.indices[:-1], at.sizes))
    if sweep.axes:
        sweep.counted(row, at.indices[:-1])
    sweep.divide(row)
    inside_or_not(sweep, inner, place, place, lambda: sweep.root(index, row, op("-", index, place), place),
                  at.indices[:-1])
    for digit, more in zip(at.indices, at.steps, strict=True):
        code.add(loops.Set(digit.name, op("+", digit, more)))
    for before, digit, size in reversed([*zip(at.indices, at.indices[1:], at.sizes[1:], strict=False)]):
        code.add(loops.If(op("<=", size, digit), (loops.Set(before.name, op("+", before, integer(1))),
                                                  loops.Set(digit.name, op("-", digit, size)))))
