"""Proves interiors and parts: check_interiors(program) raises IllFormed where one may differ from the thunk.

It takes from a split what its text says, no more: from <= index < before gives facts, one for each place. Of a part,
steps tell of an index's distance from its lower bound what its rests are. Under these facts it brings the thunk and the
interior's thunk to normal forms (lambda_cu.borders.normal), and compares these, and what may fail, in order. Bounds
that may fail are refused.
"""
from __future__ import annotations

from collections.abc import Hashable

from nessie.base.source import IllFormed
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu.borders.facts import UNIT, difference, vector_of
from nessie.lambda_cu.borders.normal import Normal

ROUNDS = 2                      # of taking facts, as some tell more of others


def check_interiors(program: ir.Program) -> None:
    """Raise IllFormed, naming the kernel and the binding, where an interior is not proven."""
    for kernel in program.kernels:
        for bind in kernel.binds:
            soac, place = bind.soac, f"kernel {kernel.name}: let {', '.join(bind.names)}"
            if not isinstance(soac, ir.Map | ir.Reduce):
                continue
            if soac.interior and not is_interior(kernel, soac, soac.interior):
                raise IllFormed(f"{place}: the interior is not proven to be what the thunk is")
            for number, part in enumerate(soac.parts, 1):
                if not is_interior(kernel, soac, part.inside, tuple(zip(part.steps, part.widths, strict=True))):
                    raise IllFormed(f"{place}: part {number} is not proven to be what the thunk is")


def is_interior(kernel: ir.Kernel, soac: ir.Map | ir.Reduce, interior: ir.Interior,
                steps: tuple[tuple[int, int], ...] = ()) -> bool:
    """`steps`: the steps and widths of the axes of a part."""
    whole, inside = Normal(), Normal()
    for normal, of in ((whole, soac.thunk), (inside, interior.thunk)):
        normal.sizes = sizes_of(kernel, soac.space)
        normal.ints = {param.name for param in kernel.params
                       if (param.type.base if isinstance(param.type, ir.Array) else param.type) in ("int", "int32")}
        names = index_names(of)
        normal.bound = {name: vector_of(f"@{text}") for name, text in zip(of.params, names, strict=True)}
        normal.sizes |= {f"@{text}" for text in names}
        normal.bound.update((name, vector_of(f"@{text}")) for name, text in zip(interior.range.params, names))
        walks = [*outer_ranges(interior.rows), (interior.range.body, "@#" if len(names) > 1 else "@#0")]
        for body, index in walks * ROUNDS:
            if not normal.assume(body, index) or normal.events:
                return False
        for (step, width), (body, index) in zip(steps, walks, strict=False):
            normal.assume_steps(body, index, step, width)
        for size, index in extents(soac.space):
            normal.facts.append(difference(vector_of(f"@{size}") if isinstance(size, str) else {UNIT: size},
                                           vector_of(index), 1))
    same = whole.form(soac.thunk.body) == inside.form(interior.thunk.body)
    return (same and list(dict.fromkeys(whole.events)) == list(dict.fromkeys(inside.events))) or whole.is_empty()


def index_names(thunk: ir.Thunk) -> list[str]:
    """Names for the thunk's parameters: #0, #1 ... for those that the range of an interior knows, # for the place."""
    names = [f"#{at}" for at in range(len(thunk.params))]
    return names if len(names) == 1 else [*names[:-2], "#", "#i"]


def outer_ranges(rows: ir.Thunk | None) -> list[tuple[ir.Exp, str]]:
    """From where on the rows lie and before where, for each of their axes."""
    if rows is None:
        return []
    items = rows.body.items if isinstance(rows.body, ir.Tuple) else ()
    return [(ir.Tuple(items[at:at + 2]), f"@#{at // 2}") for at in range(0, len(items), 2)] or [(rows.body, "@#0")]


def sizes_of(kernel: ir.Kernel, space: ir.Space) -> set[Hashable]:
    """The kernel's scalars that are sizes."""
    found = [param.type.size for param in kernel.params if isinstance(param.type, ir.Array)]
    match space:
        case ir.Flat(size):
            found.append(size)
        case ir.Uniform(segments, _, total):
            found += [segments, total, *space.axes]
        case _:
            found += [space.segments, space.total]
    return {f"@{size}" for size in found}


def extents(space: ir.Space) -> list[tuple[ir.Size, str]]:
    """What indices are below."""
    match space:
        case ir.Flat(size):
            return [(size, "@#0")]
        case ir.Uniform(segments, length, _, outer):
            inside = [(size, f"@#{at}") for at, size in enumerate(outer)]
            return [*inside, (segments, f"@#{len(outer)}"), (length, "@#")]
    return [(space.segments, "@#0")]
