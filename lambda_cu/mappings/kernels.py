"""Mappings of kernels: which of them may walk a kernel, and the reason where one may not.

    kernel K1 (n : int, m : int, t : int) -> [int; t] by GridBlock(1, Gen) {
      let y = SEG_MAP { (s, j, i) => s + j } uniform(n, m, t) ...
    }

Two kinds of mappings walk kernels. Owners hold whole segments, one after another (lambda_cu.mappings.owners). All
others give each index of the kernel's axes to a thread, in any order; so they walk what any order will do for, over
axes of one length: MAPs, PERMUTEs that write no place twice, REDUCEs whose operator lets its sides be exchanged.
"""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from nessie.base.names import Names
from nessie.base.records import dataclass
from nessie.base.source import IllFormed
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu.commuting import commutes
from nessie.lambda_cu.mappings import nodes as maps
from nessie.lambda_cu.mappings.axes import OUTER, Axis, Space
from nessie.lambda_cu.mappings.combinators import Unmappable
from nessie.lambda_cu.mappings.levels import beyond
from nessie.lambda_cu.mappings.mapped import PLACES, Mapped, mapped
from nessie.lambda_cu.mappings.owners import by_owners, owned
from nessie.lambda_cu.mappings.strategies import mapping_of
from nessie.lambda_cu.text.soacs import keyword
from nessie.lambda_cu.typing import require

ORDERED = {ir.Scan: "each of its elements needs those before it", ir.Filter: "where survivors are stored depends on "
           "those before them", ir.Partition: "where elements are stored depends on those before them",
           ir.Order: "it sorts", ir.ReduceByIndex: "it combines elements in their order", ir.Once: "it has no space"}


@dataclass(frozen=True)
class Walk:
    """A mapping of a kernel's space. `sizes`: what each name of the mapping's host code that is not bound there is."""
    mapped: Mapped
    root: ir.Flat | ir.Uniform
    sizes: Mapping[str, ir.Size]


def why_not(kernel: ir.Kernel) -> Unmappable | None:
    """Return the reason why the kernel's mapping cannot walk it; None if it can, or if there is no mapping."""
    try:
        if by_owners(kernel):
            owned(kernel)
        elif kernel.by is not None:
            walk_of(kernel)
    except Unmappable as refused:
        return refused
    except IllFormed as refused:
        return Unmappable(kernel.by, str(refused))
    return None


def with_mapping(kernel: ir.Kernel, mapping: maps.Mapping) -> ir.Kernel:
    """The kernel, walked by a mapping that can walk it; a strategy is what it makes for its space."""
    if not isinstance(mapping, maps.Strategy):
        return replace(kernel, by=mapping)
    found = walk_of(replace(kernel, by=mapping))
    return replace(kernel, by=found.mapped.mapping if found is not None else None)


def in_threads(kernel: ir.Kernel) -> bool:
    """Does a mapping say which thread has which index of the kernel?"""
    return not by_owners(kernel) and kernel.by not in (None, maps.Strategy("none"))


def walk_of(kernel: ir.Kernel) -> Walk | None:
    """Return how threads walk the kernel's space by its mapping; raise Unmappable, or IllFormed, where they cannot.
    None: as they walk any."""
    assert kernel.by is not None
    root = root_of(kernel)
    space, sizes = space_of(root)
    top = mapping_of(kernel.by, space) if isinstance(kernel.by, maps.Strategy) else kernel.by
    if top is None:
        return None
    made = mapped(top, space, Names({*sizes, *PLACES}))
    known = tuple([int(exp.value) if isinstance(exp, ir.Const) else 1 for exp in made.block])
    if over := beyond((1, 1, 1), known):
        raise Unmappable(kernel.by, over)
    return Walk(made, root, sizes)


def ordered(soac: ir.Soac) -> str:
    """The reason why its elements have an order; '' if any order will do."""
    match soac:
        case ir.Permute(mode="last"):
            return "of two writes to one place the later one wins"
        case ir.Reduce(space=ir.Flat(), operator=operator):
            return "" if commutes(operator) else "its operator takes elements in their order"
        case ir.Reduce():
            return "it adds up rows, which owners hold, by Levels([warp, lane], Gen)"
    return ORDERED.get(type(soac), "")


def root_of(kernel: ir.Kernel) -> ir.Flat | ir.Uniform:
    """Return the space of all bindings, of which each may be walked in any order."""
    spaces: dict[ir.Space, None] = {}
    for bind in kernel.binds:
        soac, names = bind.soac, ", ".join(bind.names)
        if reason := ordered(soac):
            raise Unmappable(kernel.by, f"{names} is computed by {keyword(soac)}: {reason}, and threads of a mapping "
                                        "come in any order")
        assert not isinstance(soac, ir.Once)
        spaces[soac.space] = None
    segmented = [space for space in spaces if not isinstance(space, ir.Flat)]
    root = next(iter((*segmented, *spaces)))
    if not isinstance(root, ir.Flat | ir.Uniform):
        raise Unmappable(kernel.by, "rows of its space have lengths of their own, and threads of a mapping go along "
                                    "axes of one length; Levels([warp, lane], Gen) lets owners hold rows")
    total = root.size if isinstance(root, ir.Flat) else root.total
    require(spaces.keys() <= {root, ir.Flat(total)}, "its bindings have several spaces, and a mapping walks one")
    return root


def space_of(root: ir.Flat | ir.Uniform) -> tuple[Space, dict[str, ir.Size]]:
    """Return the axes of the space, and the sizes that they name: by names of the kernel's, as far as mappings do not
    have them for themselves."""
    axes = (root.size,) if isinstance(root, ir.Flat) else root.axes
    sizes: dict[str, ir.Size] = {}
    space = []
    for size in axes:
        if isinstance(size, str):
            name = f"{size}_" if OUTER.match(size) or size in PLACES else size
            sizes[name] = size
            space.append(Axis(ir.Var(name)))
        else:
            space.append(Axis(ir.Const(size, "int")))
    return tuple(space), sizes
