"""Plans one walk of one root space for all bindings of a kernel: where each binding runs, and what must be kept.

A binding runs at one of these places:

    ROOT           at each element of the root space
    Residual       at each survivor of a FILTER (or on a side of a PARTITION) of the kernel, under its guard
    SEGMENT        once for each segment of the root
    UNIT           once, when the walk is done

What an element needs of all elements before it is a *carry*: a SCAN's prefix, the rank of a survivor. A kernel with
carries is swept twice, first for the totals of its chunks.
"""
from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import field, replace

from nessie.base.records import dataclass
from nessie.base.source import InternalError
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu.parts import INDEX_THUNKS, subexpressions
from nessie.lambda_cu.scope import arrays_read, writes_in_order
from nessie.lambda_cu.selection import selection
from nessie.lambda_cu.typing import Scope, bound_types


@dataclass(frozen=True)
class Place:
    """`filter` is the first name of the FILTER or PARTITION whose `side` (0: where the predicate holds) it is."""
    kind: str                       # 'root', 'residual', 'segment', 'unit'
    filter: str = ""
    side: int = 0


ROOT, SEGMENT, UNIT = Place("root"), Place("segment"), Place("unit")


@dataclass(frozen=True)
class Step:
    """A binding, its place, and a name that is its own (`_` may be a result's)."""
    bind: ir.Bind
    place: Place
    name: str


@dataclass(frozen=True)
class Walk:
    """The plan of a kernel's walk, before code is written.

    bases        the element types of each step's results
    stored       arrays that must be in memory
    ranked       residual places whose index is needed as a number
    positioned   those whose position within the segment is
    prologue     per-segment arrays that elements read
    """
    kernel: ir.Kernel
    root: ir.Space | None
    steps: tuple[Step, ...]
    types: dict[str, ir.Type]
    bases: dict[str, tuple[str, ...]]
    stored: frozenset[str]
    ranked: frozenset[Place] = frozenset()
    positioned: frozenset[Place] = frozenset()
    prologue: frozenset[str] = frozenset()

    def at(self, place: Place) -> list[Step]:
        return [step for step in self.steps if step.place == place]

    @property
    def segmented(self) -> bool:
        return isinstance(self.root, ir.Segmented)

    @property
    def sequential(self) -> bool:
        """Must elements be walked in order by one thread of the CPU?"""
        return any(writes_in_order(step.bind.soac) for step in self.steps)


def walk_of(kernel: ir.Kernel, program: ir.Program) -> Walk:
    places = Places(kernel)
    return walk_at(kernel, program, places.root, [places.of(bind) for bind in kernel.binds])


def walk_at(kernel: ir.Kernel, program: ir.Program, root: ir.Space | None, places: Sequence[Place],
            kept: Collection[str] = ()) -> Walk:
    """The plan where bindings run at these places. `kept`: arrays that are in memory beside results."""
    types: dict[str, ir.Type] = {p.name: p.type for p in kernel.params}
    functions = {f.name: f for f in program.scalar_functions}
    bases = []
    for bind in kernel.binds:
        bound = bound_types(bind, Scope(dict(types), functions))
        bases.append(tuple(type_.base if isinstance(type_, ir.Array) else type_ for type_ in bound))
        types.update(zip(bind.names, bound, strict=True))
    steps = tuple(Step(bind, place, own_name(bind, number))
                  for number, (bind, place) in enumerate(zip(kernel.binds, places, strict=True)))
    stored = stored_arrays(kernel, steps, types).union(kept)
    walk = Walk(kernel, root, steps, types, {s.name: b for s, b in zip(steps, bases, strict=True)}, stored)
    return replace(walk, ranked=ranked_places(walk), positioned=positioned_places(walk), prologue=prologue_arrays(walk))


def own_name(bind: ir.Bind, number: int) -> str:
    """The first result that somebody reads; a binding may be there for its checks alone."""
    return next((name for name in bind.names if name != "_"), f"unused{number}")


@dataclass
class Places:
    """The places where bindings run, found by their spaces."""
    kernel: ir.Kernel
    counts: dict[ir.Size, Place] = field(default_factory=dict)
    offsets: dict[str, Place] = field(default_factory=dict)
    root: ir.Space | None = None
    on_segments: set[str] = field(default_factory=set)      # arrays over the root's segments

    def __post_init__(self) -> None:
        for number, bind in enumerate(self.kernel.binds):
            name = own_name(bind, number)
            if selected := selection(bind):
                sides = [Place("residual", name, side) for side in range(len(selected.counts))]
                self.counts.update(zip(selected.counts, sides, strict=True))
                self.offsets.update(dict.fromkeys(selected.offsets, sides[0]))
        del_unused(self.counts, self.offsets)
        spaces = [b.soac.space for b in self.kernel.binds if not isinstance(b.soac, ir.Once)]
        rooted = [space for space in spaces if self.residual(space) is None]
        self.root = root_of(rooted)

    def residual(self, space: ir.Space) -> Place | None:
        if isinstance(space, ir.Irregular) and space.offsets in self.offsets:
            return self.offsets[space.offsets]
        return self.counts.get(space.size) if isinstance(space, ir.Flat) else None

    def of(self, bind: ir.Bind) -> Place:
        if isinstance(bind.soac, ir.Once):
            return UNIT
        space = bind.soac.space
        residual = self.residual(space)
        if residual is not None:
            return residual
        if space == self.root or self.flat_root(bind.soac, space):
            if isinstance(bind.soac, ir.Reduce):
                self.on_segments |= set(bind.names) - {"_"}
            return ROOT
        if isinstance(self.root, ir.Segmented) and isinstance(bind.soac, ir.Map | ir.Reduce | ir.Write) and (
                space == ir.Flat(self.root.segments) or (isinstance(space, ir.Segmented)
                and space.total == self.root.segments and not isinstance(bind.soac, ir.Reduce))):
            self.on_segments |= set(bind.names) - {"_"}
            return SEGMENT
        raise InternalError(f"kernel {self.kernel.name}: one walk of {self.root} does not reach {space}")

    def flat_root(self, soac: ir.Soac, space: ir.Space) -> bool:
        """Does this flat space number a segmented root's elements? Where there are as many segments as elements, it
        does unless results of segments are read."""
        return (isinstance(self.root, ir.Segmented) and space == ir.Flat(self.root.total)
                and (self.root.total != self.root.segments or not using(soac) & self.on_segments))


def root_of(spaces: list[ir.Space]) -> ir.Space | None:
    """The innermost: of segmented spaces the one whose elements are not the segments of another."""
    segmented = [space for space in spaces if isinstance(space, ir.Segmented)]
    inner = [a for a in segmented if not any(a != b and a.total == b.segments for b in segmented)]
    return next(iter((*inner, *segmented, *spaces)), None)


def del_unused(*tables: dict[str, Place] | dict[ir.Size, Place]) -> None:
    for table in tables:
        table.pop("_", None)


# What must be kept ------------------------------------------------------------------------------


def stored_arrays(kernel: ir.Kernel, steps: tuple[Step, ...], types: dict[str, ir.Type]) -> frozenset[str]:
    """Arrays that the kernel returns, those that its scalar code reads at the end, and those that elements go on
    from."""
    at_end = {array for step in steps if isinstance(step.bind.soac, ir.Once)
              for array in arrays_read(step.bind.soac.thunk.body)}
    combined = {name for bind in kernel.binds if isinstance(bind.soac, ir.ReduceByIndex) for name in bind.names}
    made = {name for bind in kernel.binds for name in bind.names if isinstance(types[name], ir.Array)} - {"_"}
    return frozenset(made & (set(kernel.returns) | at_end | combined))


def using(soac: ir.Soac) -> set[str]:
    return {name for thunk in INDEX_THUNKS.of(soac) for name in thunk.using}


def ranked_places(walk: Walk) -> frozenset[Place]:
    """Places whose survivors are counted as they come: something of theirs is stored by number, or sized by how many
    they are, or a thunk asks for the number."""
    ranked: set[Place] = set()
    read = set().union(*(using(step.bind.soac) for step in walk.steps))
    sizes = {step.bind.soac.size for step in walk.steps if isinstance(step.bind.soac, ir.Write)}
    for step in walk.steps:
        soac, names = step.bind.soac, step.bind.names
        if selected := selection(step.bind):
            sides = [Place("residual", step.name, side) for side in range(len(selected.counts))]
            ranked |= {place for place, count, values in zip(sides, selected.counts, selected.values, strict=True)
                       if count in sizes or walk.stored & set(values)}
            if walk.stored & set(selected.offsets) or (walk.stored | read) & set(selected.positions):
                ranked |= {*sides}
        if step.place.kind == "residual":
            stores = not isinstance(soac, ir.Filter | ir.Reduce | ir.Write) and walk.stored & set(names)
            own = names_at(walk, step.place)
            if stores or any(uses_index(thunk, thunk.params[-1], own) for thunk in INDEX_THUNKS.of(soac)):
                ranked.add(step.place)
    return frozenset(ranked)


def positioned_places(walk: Walk) -> frozenset[Place]:
    """Places whose survivors are counted within their segments, too: a thunk asks for that position."""
    return frozenset(step.place for step in walk.steps if step.place.kind == "residual"
                     for thunk in INDEX_THUNKS.of(step.bind.soac)
                     if len(thunk.params) > 1 and uses_index(thunk, thunk.params[-2], frozenset()))


def names_at(walk: Walk, place: Place) -> frozenset[str]:
    """Arrays that have an element in registers at this place."""
    names = {name for step in walk.at(place) for name in step.bind.names}
    for step in walk.steps:
        if step.name == place.filter and (selected := selection(step.bind)):
            names |= set(selected.values[place.side])
    return frozenset(names)


def uses_index(thunk: ir.Thunk, parameter: str, own: frozenset[str]) -> bool:
    """Does the thunk use the index otherwise than to read arrays that registers hold?"""
    uses = sum(e == ir.Var(parameter) for e in subexpressions(thunk.body) if isinstance(e, ir.Var))
    reads = sum(e.index == ir.Var(parameter) for e in subexpressions(thunk.body)
                if isinstance(e, ir.Read) and e.array in own and isinstance(e.index, ir.Var))
    return uses > reads


def prologue_arrays(walk: Walk) -> frozenset[str]:
    """Arrays over the segments that elements read, and what those are made of."""
    needed = set().union(*(using(step.bind.soac) for step in walk.steps if step.place.kind in ("root", "residual")),
                         set())
    for step in reversed(walk.at(SEGMENT)):
        if isinstance(step.bind.soac, ir.Map) and needed & set(step.bind.names):
            needed |= using(step.bind.soac)
    return frozenset(name for step in walk.at(SEGMENT) if isinstance(step.bind.soac, ir.Map)
                     and needed & set(step.bind.names) for name in step.bind.names)
