"""Proves interiors and parts: check_interiors(program) raises IllFormed where one may differ from the thunk.

It takes from a split what its text says, no more: from <= index < before gives facts, one for each place. Of a part,
steps tell of an index's distance from its lower bound what its rests are. Under these facts it brings the thunk and the
interior's thunk to normal forms (lambda_cu.borders.normal), and compares these.

    failures    are the same in both, in the same order; a bound has none
    reads       of the interior's thunk are those of the thunk, under no other conditions, since what is nowhere read
                need not be there; those of a bound are surely read by all elements that it is asked for
"""
from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Sequence

from nessie.base.records import dataclass
from nessie.base.source import IllFormed
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu.borders.facts import UNIT, difference, vector_of
from nessie.lambda_cu.borders.normal import Event, Normal

Range = tuple[ir.Exp, str]      # (from, before), and the index that is in between
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
    claim = Claim(kernel, soac, interior)
    rows, inner = outer_ranges(interior.rows), (interior.range.body, "@#" if len(soac.thunk.params) > 1 else "@#0")
    whole, inside = claim.under([*rows, inner]), claim.under([*rows, inner])
    if whole is None or inside is None or not claim.asks_what_is_there(rows, []) or not claim.asks_what_is_there(
            [inner], rows):
        return False
    for (step, width), (body, index) in zip(steps, [*rows, inner], strict=False):
        whole.assume_steps(body, index, step, width)
        inside.assume_steps(body, index, step, width)
    same = whole.form(soac.thunk.body) == inside.form(interior.thunk.body)
    return whole.is_empty() or (same and failures(whole.events) == failures(inside.events)
                                and all_read(inside.events, whole.events))


@dataclass(frozen=True)
class Claim:
    """That an interior, or a part's, is what the SOAC's thunk is."""
    kernel: ir.Kernel
    soac: ir.Map | ir.Reduce
    interior: ir.Interior

    def under(self, ranges: Sequence[Range]) -> Normal | None:
        """Normal forms for indices in these ranges; None: these are no ranges."""
        normal, names = Normal(), index_names(self.soac.thunk)
        normal.sizes = sizes_of(self.kernel, self.soac.space) | {f"@{text}" for text in names}
        normal.ints = {param.name for param in self.kernel.params
                       if (param.type.base if isinstance(param.type, ir.Array) else param.type) in ("int", "int32")}
        for of in (self.soac.thunk, self.interior.thunk, self.interior.range):
            normal.bound.update((name, vector_of(f"@{text}")) for name, text in zip(of.params, names, strict=False))
        for body, index in [*ranges] * ROUNDS:
            if not normal.assume(body, index):
                return None
        for size, index in extents(self.soac.space):
            normal.take(difference(vector_of(f"@{size}") if isinstance(size, str) else {UNIT: size},
                                   vector_of(index), 1))
        normal.events.clear()
        return normal

    def asks_what_is_there(self, ranges: Sequence[Range], known: Sequence[Range]) -> bool:
        """Can no bound of these fail, and does each element within the known ranges read what they read?"""
        normal = self.under(known)
        if normal is None:
            return False
        for body, _ in ranges:
            normal.form(body)
        asked, normal.events = normal.events, []
        if not asked or failures(asked):
            return not asked
        normal.form(self.soac.thunk.body)
        return all_read(asked, normal.events)


def failures(events: Iterable[Event]) -> list[Event]:
    """What may fail, in order; what does so again adds nothing."""
    return [event for event in dict.fromkeys(events) if not is_read(event)]


def is_read(event: Event) -> bool:
    return event[1][0] == "read"


def all_read(asked: Iterable[Event], there: Collection[Event]) -> bool:
    """Is all that is read there, too, under the same conditions or some of these?"""
    missing = dict.fromkeys(asked).keys() - set(there)
    return all([any([form == other and set(fewer) <= set(around) for fewer, other in there])
                for around, form in filter(is_read, missing)])


def index_names(thunk: ir.Thunk) -> list[str]:
    """Names for the thunk's parameters: #0, #1 ... for those that the range of an interior knows, # for the place."""
    names = [f"#{at}" for at in range(len(thunk.params))]
    return names if len(names) == 1 else [*names[:-2], "#", "#i"]


def outer_ranges(rows: ir.Thunk | None) -> list[Range]:
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
