"""Mappings of kernels: which of them may walk a kernel, and the reason where one may not.

    kernel K1 (n : int, m : int, t : int) -> [int; t] by GridBlock(1, Gen) {
      let y = SEG_MAP { (s, j, i) => s + j } uniform(n, m, t) ...
    }

Two kinds of mappings walk kernels. Owners hold whole segments, one after another (lambda_cu.mappings.owners). All
others give each index of the kernel's axes to a thread, in any order; so they walk what any order will do for: MAPs,
PERMUTEs that write no place twice, REDUCEs whose operator lets its sides be exchanged. Axes have one length, or lengths
that are straight lines, under a Hull.

A mapping with cases gives each partition of the space (lambda_cu.borders.partitions) a launch of its own.
"""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, replace

from nessie.base.names import Names
from nessie.base.records import dataclass
from nessie.base.source import IllFormed
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu.borders.partitions import with_parts
from nessie.lambda_cu.commuting import commutes
from nessie.lambda_cu.mappings import nodes as maps
from nessie.lambda_cu.mappings.axes import OUTER, Axis, Space
from nessie.lambda_cu.mappings.combinators import Unmappable, is_line, most
from nessie.lambda_cu.mappings.mapped import PLACES, Mapped, launchable, mapped
from nessie.lambda_cu.mappings.owners import by_owners, called, is_of_owners, owned
from nessie.lambda_cu.mappings.strategies import AUTO, mapping_of
from nessie.lambda_cu.mappings.text import show_case
from nessie.lambda_cu.rename import substitute
from nessie.lambda_cu.scope import free_names, space_names
from nessie.lambda_cu.scope import space_of as space_of_soac
from nessie.lambda_cu.spaces.closed import INTS, ZERO
from nessie.lambda_cu.spaces.segments import length_at
from nessie.lambda_cu.text.soacs import keyword
from nessie.lambda_cu.typing import require

Root = ir.Flat | ir.Uniform | ir.Closed
ROW = ir.Var("#row")            # no name of a kernel's
ORDERED = {ir.Scan: "each of its elements needs those before it", ir.Filter: "where survivors are stored depends on "
           "those before them", ir.Partition: "where elements are stored depends on those before them",
           ir.Order: "it sorts", ir.ReduceByIndex: "it combines elements in their order", ir.Once: "it has no space"}


@dataclass(frozen=True)
class Walk:
    """A mapping of a kernel's space, or of a part of it, which has this `number`. `sizes`: what each name of the
    mapping's host code that is not bound there is, if it is a size; `bounds`: what it is, if it is a part's bound, in
    the kernel's names."""
    mapped: Mapped
    root: Root
    sizes: Mapping[str, ir.Size]
    number: int | None = None
    case: int = maps.REST
    bounds: Mapping[str, ir.Exp] = field(default_factory=dict)


def why_not(kernel: ir.Kernel) -> Unmappable | None:
    """Return the reason why the kernel's mapping cannot walk it; None if it can, or if there is no mapping."""
    try:
        if by_owners(kernel):
            owned(kernel)
        elif kernel.by is not None:
            walks_of(kernel)
    except Unmappable as refused:
        return refused
    except IllFormed as refused:
        return Unmappable(kernel.by, str(refused))
    return None


def with_mapping(kernel: ir.Kernel, mapping: maps.Mapping) -> ir.Kernel:
    """The kernel, walked by a mapping that can walk it; a strategy is what it makes for its space. What `auto` is
    will be chosen when all is known that the kernel computes."""
    if not isinstance(mapping, maps.Strategy) or mapping in (AUTO, maps.NONE):
        return replace(kernel, by=mapping)
    found = walks_of(replace(kernel, by=mapping))
    return replace(kernel, by=found[0].mapped.mapping if found else None)


def in_threads(kernel: ir.Kernel) -> bool:
    """Does a mapping say which thread has which index of the kernel?"""
    return not by_owners(kernel) and kernel.by not in (None, maps.NONE)


def walks_of(kernel: ir.Kernel) -> list[Walk]:
    """Return how threads walk the kernel's space by its mapping, a walk for each of its parts; raise Unmappable, or
    IllFormed, where they cannot. Where there is no walk, they go as they walk any."""
    assert kernel.by is not None
    if kernel.by == maps.NONE:
        return []
    root = root_of(kernel)
    if isinstance(kernel.by, maps.Cases):
        if isinstance(root, ir.Closed):
            raise Unmappable(kernel.by, "cases are of axes that have one length")
        natural, cases = natural_of(kernel), dict(kernel.by.of)
        return [part_walk(root, number, part, cases.get(part.case, AUTO), natural)
                for number, part in enumerate(parts_of(kernel, kernel.by))]
    space, sizes = space_of(root)
    top = mapping_of(kernel.by, space) if isinstance(kernel.by, maps.Strategy) else kernel.by
    return [] if top is None else [Walk(launchable(mapped(top, space, Names({*sizes, *PLACES}))), root, sizes)]


# Parts ------------------------------------------------------------------------------------------

NO_TESTS = ("no conditional here has a case: its test must compare an index with what is alike for all elements, or "
            "take some of each k from a lower bound on (i >= l and rem(i - l, k) < w), and nothing else may stand "
            "around it")


class NoCase(Unmappable):
    """A mapping has a case that a kernel does not have."""


def parts_in(kernel: ir.Kernel) -> tuple[ir.Part, ...]:
    """The parts of the kernel's space, which one binding has."""
    return next((bind.soac.parts for bind in kernel.binds
                 if isinstance(bind.soac, ir.Map | ir.Reduce) and bind.soac.parts), ())


def parts_of(kernel: ir.Kernel, by: maps.Cases) -> tuple[ir.Part, ...]:
    """The same, made here if they have not been; raise NoCase where there is none, or a case has none."""
    parts = parts_in(kernel) or parts_in(with_parts(kernel))
    if not parts:
        raise NoCase(by, NO_TESTS)
    there = sorted({part.case for part in parts}, key=lambda case: (case == maps.REST, case))
    for case, _ in by.of:
        if case not in there:
            raise NoCase(by, f"no element is in case {show_case(case)}: those of tests of indices here "
                             f"{'are' if len(there) > 1 else 'is'} "
                             f"{', '.join([f'case {show_case(case)}' for case in there])}")
    return parts


def part_walk(root: ir.Flat | ir.Uniform, number: int, part: ir.Part, walk: maps.Walk, natural: set[str]) -> Walk:
    """The walk of one part. An axis that begins at 0 does not end before it: what begins elsewhere is shifted."""
    names = Names(PLACES)
    sizes, bounds = dict[str, ir.Size](), dict[str, ir.Exp]()

    def named(exp: ir.Exp, hint: str) -> ir.Exp:
        if isinstance(exp, ir.Const):
            return exp
        if isinstance(exp, ir.Var) and not OUTER.match(exp.name) and exp.name not in PLACES:
            sizes[exp.name] = exp.name
            return exp
        name = names.fresh(f"{hint}_" if OUTER.match(hint) else hint)
        bounds[name] = exp
        return ir.Var(name)
    names.reserve([exp.name for side in sides_of(part) for exp in side if isinstance(exp, ir.Var)])
    space = tuple([replace(axis, high=named(ends, f"ub{at}"), low=named(axis.low, f"lb{at}"))
                   for at, axis in enumerate(space_of_part(part))
                   for ends in [most(axis.high, ZERO) if axis.low == ZERO and not is_natural(axis.high, natural)
                                else axis.high]])
    if is_of_owners(walk):
        raise Unmappable(walk, "owners hold segments, and a case has none: GridBlock(...) or a strategy walks it")
    top = mapping_of(walk, space) if isinstance(walk, maps.Strategy) else walk
    if top is None:
        raise Unmappable(walk, "parts have launches of their own, which need a mapping: `none` is for all of a kernel")
    made = launchable(mapped(top, space, Names({*sizes, *bounds, *PLACES})))
    return Walk(made, root, sizes, number, part.case, bounds)


def is_natural(exp: ir.Exp, natural: set[str]) -> bool:
    """Is it surely not negative?"""
    match exp:
        case ir.Const(int(value)):
            return value >= 0
        case ir.Var(name):
            return name in natural
        case ir.Op("min", arguments):
            return all([is_natural(part, natural) for part in arguments])
        case ir.Op("max", arguments):
            return any([is_natural(part, natural) for part in arguments])
        case ir.If(_, then, orelse):
            return is_natural(then, natural) and is_natural(orelse, natural)
    return False


def space_of_part(part: ir.Part) -> Space:
    """The axes of a part, in the kernel's names."""
    return tuple([Axis(high, low, ir.Const(step, "int"), ir.Const(width, "int")) for (low, high), step, width
                  in zip(sides_of(part), part.steps, part.widths, strict=True)])


def extents_of(root: ir.Space) -> tuple[ir.Exp, ...]:
    """The lengths of the axes of a space whose axes each have one."""
    assert isinstance(root, ir.Flat | ir.Uniform)
    return tuple([INTS.size(size) for size in ((root.size,) if isinstance(root, ir.Flat) else root.axes)])


def natural_of(kernel: ir.Kernel) -> set[str]:
    """The names of the kernel that are sizes, and never negative."""
    arrays = [param.type.size for param in kernel.params if isinstance(param.type, ir.Array)]
    spaces = [name for bind in kernel.binds for name in space_names(space_of_soac(bind.soac))]
    return {name for name in (*arrays, *spaces) if isinstance(name, str)}


def sides_of(part: ir.Part) -> list[tuple[ir.Exp, ir.Exp]]:
    """From where on the part is, and before where, for each axis."""
    bodies = [thunk.body for thunk in (part.inside.rows, part.inside.range) if thunk is not None]
    items = [item for body in bodies if isinstance(body, ir.Tuple) for item in body.items]
    return list(zip(items[::2], items[1::2], strict=True))


# Spaces -----------------------------------------------------------------------------------------


def ordered(soac: ir.Soac) -> str:
    """The reason why its elements have an order; '' if any order will do."""
    match soac:
        case ir.Permute(mode="last"):
            return "of two writes to one place the later one wins"
        case ir.Reduce(space=ir.Flat(), operator=operator):
            return "" if commutes(operator) else "its operator takes elements in their order"
        case ir.Reduce():
            return "it reduces rows, which owners hold, by Levels([warp, lane], Gen)"
    return ORDERED.get(type(soac), "")


def root_of(kernel: ir.Kernel) -> Root:
    """Return the space of all bindings, of which each may be walked in any order."""
    spaces: dict[ir.Space, None] = {}
    for bind in kernel.binds:
        soac = bind.soac
        if reason := ordered(soac):
            raise Unmappable(kernel.by, f"{called(bind)} is computed by {keyword(soac)}: {reason}, and threads of a "
                                        "mapping come in any order")
        assert not isinstance(soac, ir.Once)
        spaces[soac.space] = None
    segmented = [space for space in spaces if not isinstance(space, ir.Flat)]
    root = next(iter((*segmented, *spaces)))
    if not isinstance(root, ir.Flat | ir.Uniform) and not (isinstance(root, ir.Closed) and straight(root)):
        what = ("rows of its space have lengths of their own, and threads of a mapping go along axes of one length, or "
                "along rows whose lengths their place tells"
                if not isinstance(root, ir.Closed) else "the lengths of its rows are no straight lines, so that nobody "
                "knows the longest before the launch")
        raise Unmappable(kernel.by, f"{what}; Levels([warp, lane], Gen) lets owners hold rows")
    total = root.size if isinstance(root, ir.Flat) else root.total
    require(spaces.keys() <= {root, ir.Flat(total)}, "its bindings have several spaces, and a mapping walks one")
    return root


def straight(root: ir.Closed) -> bool:
    """Are the lengths of its rows straight lines, which begin at some rows? Then the longest is at an end of one."""
    return is_line(length_at(root, ROW), ROW.name)


def space_of(root: Root) -> tuple[Space, dict[str, ir.Size]]:
    """Return the axes of the space, and the sizes that they name: by names of the kernel's, as far as mappings do not
    have them for themselves."""
    axes = [INTS.size(root.segments), length_at(root, ROW)] if isinstance(root, ir.Closed) else extents_of(root)
    names = {name for axis in axes for name in free_names(axis)} - {ROW.name}
    known = {name: f"{name}_" if OUTER.match(name) or name in PLACES else name for name in names}
    places = {name: ir.Var(inside) for name, inside in known.items()} | {ROW.name: ir.Var("i0")}
    return (tuple([Axis(substitute(axis, places)) for axis in axes]),
            {inside: name for name, inside in known.items()})
