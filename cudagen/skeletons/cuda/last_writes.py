"""PERMUTE on the GPU where the last write wins.

Threads come to the elements in any order. So who writes claims the place with the element's index, of which the
greatest stays (an atomic maximum), and leaves its value at that index. When the walk is done a launch takes to each
place what the winner has left. Where no place is written twice, which mode 'distinct' promises, the walk stores values
at once.
"""
from __future__ import annotations

from collections.abc import Mapping

from nessie.base.widths import wide
from nessie.cudagen.kernels.code import Value, integer, op
from nessie.cudagen.kernels.walk import SEGMENT, Step
from nessie.cudagen.loops import nodes as loops
from nessie.cudagen.loops.plan import Buffer
from nessie.cudagen.skeletons.cuda.blocks import each_in_grid, grid, launch
from nessie.cudagen.skeletons.cuda.tiles import known_counts
from nessie.cudagen.skeletons.elements import claims_of, written
from nessie.cudagen.skeletons.kernel import Kernel, size_exp
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu.scope import writes_in_order

UNCLAIMED = -1


def claiming(kernel: Kernel) -> list[tuple[Step, ir.Permute, list[tuple[str, str]]]]:
    """The PERMUTEs, with the names and types of their results."""
    found = []
    for step in kernel.walk.steps:
        named = [(name, type_) for name, type_ in zip(step.bind.names, kernel.walk.bases[step.name], strict=True)
                 if name != "_"]
        if isinstance(step.bind.soac, ir.Permute) and writes_in_order(step.bind.soac) and named:
            found.append((step, step.bind.soac, named))
    return found


def settled(kernel: Kernel) -> set[str]:
    """The arrays that the launches behind the walk write."""
    return {name for _, _, named in claiming(kernel) for name, _ in named}


def claim_buffers(kernel: Kernel, root: ir.Space) -> tuple[Buffer, ...]:
    """The claims, and what elements leave; survivors leave it at the index that the root's element has."""
    elements = size_exp(kernel, root.size if isinstance(root, ir.Flat) else root.total)
    buffers: list[Buffer] = []
    for step, soac, named in claiming(kernel):
        left = size_exp(kernel, root.segments) if isinstance(root, ir.Segmented) and step.place == SEGMENT else elements
        buffers.append(Buffer(claims_of(step), "int", size_exp(kernel, soac.size), UNCLAIMED))
        buffers += [Buffer(written(name), type_, left) for name, type_ in named]
    return tuple(buffers)


def write_winners(kernel: Kernel, root: ir.Space, sizes: Mapping[str, loops.Exp]) -> None:
    """Adds the phases. `sizes`: those of the buffers, by their names, for the host."""
    for number, (step, soac, named) in enumerate(claiming(kernel)):
        code = kernel.code()
        known_counts(kernel, code, root)
        place = loops.Name(code.fresh("place"))
        with code.block() as body:
            winner = code.load(claims_of(step), "int", place).exp
            with code.block() as won:
                for name, type_ in named:
                    left = Value(loops.Load(code.array(written(name), type_), winner), wide(type_))
                    code.store(name, place, left)
            code.add(loops.If(op("/=", winner, integer(UNCLAIMED)), tuple(won)))
        each_in_grid(code, place.name, code.size(soac.size), tuple(body))
        launch(kernel, f"settle{number}", code, grid(sizes[claims_of(step)]),
               about="Of several writes to a place the last one counts: what it has left goes there.")
