"""Owner walks: one owner holds a whole segment, element after element by its lanes; how such a kernel is walked.

    Levels([block, lane], Gen)          a block of threads holds a segment, its lanes take elements by turns
    Levels([thread, serial], Gen)       one thread does

The owner goes through its segment in *sweeps*. A binding runs in the first sweep in which all that it reads is there:

    reads                                       is there
    ys[i], made by a MAP or a SCAN              in the sweep that makes it: a SCAN's value after its chunk of lanes
    rs[s], made by a SEG_REDUCE                 when the sweep that makes it has ended
    ys[k], k in the own row (own_row)           when the sweep that makes it has ended, behind a barrier of the owner
    what an ORDER or a PERMUTE has made         the same

So what is later in a walk of all segments at once is only later in its own segment here. Between two sweeps values stay
where results lie, in memory.
"""
from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import field

from nessie.base.records import dataclass
from nessie.base.source import excerpt, user_span
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu.mappings import nodes as maps
from nessie.lambda_cu.mappings.levels import ITEMS, LEVELS, OWNERS
from nessie.lambda_cu.mappings.own_row import Index, in_own_row, indices, segment_of
from nessie.lambda_cu.parts import INDEX_THUNKS, THUNKS, subexpressions
from nessie.lambda_cu.scope import calls_in
from nessie.lambda_cu.selection import selection
from nessie.lambda_cu.typing import require

LANES = {owner: LEVELS[owner].size for owner in OWNERS}         # of an owner on a GPU
ELEMENT, SURVIVOR, SEGMENT, ONCE = "element", "survivor", "segment", "once"


def called(bind: ir.Bind) -> str:
    """What users call it that a binding computes: as they wrote it; of a text of λcu, its names."""
    return excerpt(user_span(bind.origin)) or ", ".join(bind.names)


@dataclass
class Owned:
    """How the kernel's bindings, by number, are walked. `places`: what each runs for. `sweeps`: in which sweep; of a
    binding for segments, before which. `layers`: behind how many SCANs of its sweep. `kept`: arrays of elements that
    lie in memory between sweeps; `exchanged`: those of which lanes read what others have left; `root`: the segments."""
    lanes: int
    root: ir.Segmented
    places: list[str] = field(default_factory=list)
    sweeps: list[int] = field(default_factory=list)
    layers: list[int] = field(default_factory=list)
    filters: dict[int, int] = field(default_factory=dict)       # of bindings for survivors
    kept: set[str] = field(default_factory=set)
    exchanged: set[str] = field(default_factory=set)

    @property
    def many(self) -> int:
        """The number of sweeps."""
        return 1 + max([sweep for sweep, place in zip(self.sweeps, self.places, strict=True)
                        if place in (ELEMENT, SURVIVOR)], default=-1)


def by_owner(level: str) -> maps.Levels:
    """Return the mapping by which this level holds segments."""
    return maps.Levels((level, "serial" if level == "thread" else "lane"), maps.Gen())


def by_levels(levels: tuple[str, ...]) -> maps.Mapping:
    """Return the mapping that a list of levels stands for, one for each axis. An owner's threads (HiDP, section 3.5)
    are its lanes here."""
    owner, *inner = levels
    if levels == (ITEMS,):
        return maps.NONE
    if owner in OWNERS and inner in ([], ["thread"]):
        return by_owner(owner)
    return maps.Levels(levels, maps.Gen())


def is_of_owners(by: maps.Mapping | None) -> bool:
    """Does the mapping let somebody hold segments? That it cannot is no mistake in its form."""
    match by:
        case maps.Levels((level, "lane"), maps.Gen()):
            return level in (*OWNERS, "grid")
        case maps.Levels((level, "serial"), maps.Gen()):
            return level in OWNERS
    return False


def by_owners(kernel: ir.Kernel) -> bool:
    """Is this a kernel whose segments have owners?"""
    return is_of_owners(kernel.by) and any(segmented(kernel))


def in_one_sweep(kernel: ir.Kernel) -> bool:
    """Does an owner do no more than any walk of the segments can do?"""
    found = owned(kernel)
    return len(kernel.binds) == 1 or (found.many < 2 and not any(found.layers) and not any(
        isinstance(bind.soac, ir.Order) for bind in kernel.binds))


def segmented(kernel: ir.Kernel) -> Iterator[ir.Segmented]:
    for bind in kernel.binds:
        if not isinstance(bind.soac, ir.Once) and isinstance(bind.soac.space, ir.Segmented):
            yield bind.soac.space


def owned(kernel: ir.Kernel) -> Owned:
    """The way the kernel is walked; IllFormed, with the reason, where its segments cannot be held so."""
    assert isinstance(kernel.by, maps.Levels)
    owner, _ = kernel.by.levels
    require(owner != "grid", "a grid holds no segment: its blocks meet only where a launch ends")
    wanted = by_owner(owner)
    require(kernel.by == wanted, f"the elements of a {owner}'s segment are walked by {wanted.levels[1]}")
    return Walked(kernel, LANES[owner]).owned


@dataclass(frozen=True)
class Use:
    """An array of the kernel's own, the binding that makes it, and where it is read: at the `own` index, at the own
    `segment`, or in the own `row`."""
    name: str
    maker: int
    mode: str


class Walked:
    """Goes through the bindings in order, and finds out when each can run."""

    def __init__(self, kernel: ir.Kernel, lanes: int) -> None:
        self.kernel = kernel
        self.makers = {name: number for number, bind in enumerate(kernel.binds) for name in bind.names if name != "_"}
        self.survivors = {offsets: number for number, bind in enumerate(kernel.binds)
                          if (selected := selection(bind)) for offsets in selected.offsets}
        self.owned = Owned(lanes, self.root())
        self.uses: list[list[Use]] = []
        for number, bind in enumerate(kernel.binds):
            self.bind(number, bind)
        self.late()
        for number in range(len(kernel.binds)):
            self.keep(number)

    def root(self) -> ir.Segmented:
        roots = dict.fromkeys(space for space in segmented(self.kernel)
                              if not (isinstance(space, ir.Irregular) and space.offsets in self.survivors))
        require(len(roots) == 1, f"an owner holds segments of one space, and here are {len(roots)}")
        (root,) = roots
        require(root.segments != root.total, "as many segments as elements have no owners")
        return root

    def bind(self, number: int, bind: ir.Bind) -> None:
        owned, place = self.owned, self.place(bind)
        owned.places.append(place)
        if place == SURVIVOR:
            assert not isinstance(bind.soac, ir.Once) and isinstance(bind.soac.space, ir.Irregular)
            owned.filters[number] = self.survivors[bind.soac.space.offsets]
        self.fits(bind, place)
        self.uses.append(list(self.used(number, bind)))
        sweep = owned.sweeps[owned.filters[number]] if place == SURVIVOR else 0
        owned.sweeps.append(max([sweep, *[self.there(use) for use in self.uses[number]]]))

    def place(self, bind: ir.Bind) -> str:
        if isinstance(bind.soac, ir.Once):
            return ONCE
        space, root = bind.soac.space, self.owned.root
        if space in (root, ir.Flat(root.total)):
            return ELEMENT
        if isinstance(space, ir.Irregular) and space.offsets in self.survivors:
            return SURVIVOR
        require(space == ir.Flat(root.segments),
                f"{called(bind)}: this is another space than that of the segments that owners hold")
        return SEGMENT

    def fits(self, bind: ir.Bind, place: str) -> None:
        """Require an operation that an owner does by itself."""
        soac, names = bind.soac, called(bind)
        match soac:
            case ir.Reduce() | ir.Scan() | ir.Order() | ir.Filter() if not isinstance(soac.space, ir.Segmented):
                require(False, f"{names}: this is of all segments together, and an owner holds one")
            case ir.Scan():
                require(place == ELEMENT, f"{names}: an owner's lanes do not count survivors, which are scanned here")
            case ir.Order(firsts=firsts):
                require(place == ELEMENT and not firsts, f"{names}: owners sort elements, and find no firsts")
            case ir.Partition() | ir.ReduceByIndex():
                require(False, f"{names}: this is of all rows together; owners split rows by SCAN and PERMUTE")
            case ir.Permute(mode=mode):
                require(place == ELEMENT and mode != "last", f"{names}: owners write elements, each place once")
        if place == SURVIVOR or isinstance(soac, ir.Filter):
            made = set(bind.names) if not isinstance(soac, ir.Reduce) else set()
            require(not made & set(self.kernel.returns),
                    f"{names}: where survivors of a row are stored depends on the rows before it, which others own")
        if place == SURVIVOR:
            require(not any(counted(thunk) for thunk in INDEX_THUNKS.of(soac)),
                    f"{names}: an owner's lanes do not count survivors, whose places are asked for here")

    def used(self, number: int, bind: ir.Bind) -> Iterator[Use]:
        place = self.owned.places[number]
        for thunk in THUNKS.of(bind.soac):
            passed = {array for call in calls_in(thunk.body) for array in call.arrays} & self.makers.keys()
            require(not passed, f"a function reads {self.listed(passed)}, which the same kernel computes")
            for name in set(thunk.using) & self.makers.keys():
                if not self.is_array(name) or place == ONCE:
                    require(place == ONCE and not self.is_array(name) and self.owned.places[self.makers[name]] == ONCE,
                            f"{self.called(name)} is known when all segments have been walked")
        for thunk in INDEX_THUNKS.of(bind.soac):
            for index in indices(thunk.body):
                if (maker := self.makers.get(index.array)) is not None:
                    yield Use(index.array, maker, self.mode(number, maker, index, thunk.params))

    def called(self, name: str) -> str:
        """What users call an array that the kernel makes."""
        return called(self.kernel.binds[self.makers[name]])

    def listed(self, names: Iterable[str]) -> str:
        return ", ".join(dict.fromkeys([self.called(name) for name in names]))

    def is_array(self, name: str) -> bool:
        bind = self.kernel.binds[self.makers[name]]
        selected = selection(bind)
        return not isinstance(bind.soac, ir.Once) and not (selected and name in selected.counts)

    def mode(self, number: int, maker: int, index: Index, params: tuple[str, ...]) -> str:
        """Say where an array that `maker` makes is read; require that it is a place of the owner's."""
        owned, place, made = self.owned, self.owned.places[number], self.owned.places[maker]
        own = index.exp == ir.Var(params[-1])
        if made == SEGMENT or self.reduced(maker):
            at_segment = index.exp == segment_of(params) and (len(params) > 1 or place == SEGMENT)
            require(at_segment, f"{self.called(index.array)} is read at another segment than the own, which others own")
            return "segment"
        if isinstance(self.kernel.binds[maker].soac, ir.Filter) or made == SURVIVOR:
            of = owned.filters[maker] if made == SURVIVOR else maker
            require(own and place == SURVIVOR and owned.filters[number] == of,
                    f"{self.called(index.array)}, of survivors, is read elsewhere than where they survive")
            return "own"
        if own and place == ELEMENT:
            return "own"
        there = place == SEGMENT or (place == ELEMENT and len(params) > 1)
        require(there and in_own_row(index, params, owned.root),
                f"{self.called(index.array)} is read at places that may lie outside of the own row, which others own")
        return "row"

    def reduced(self, maker: int) -> bool:
        return isinstance(self.kernel.binds[maker].soac, ir.Reduce)

    def there(self, use: Use) -> int:
        """The first sweep in which what is used is there."""
        soac, sweep = self.kernel.binds[use.maker].soac, self.owned.sweeps[use.maker]
        if isinstance(soac, ir.Permute):
            require(writes_own_row(soac, self.owned.root),
                    f"{self.called(use.name)} is read, and its elements may be written by who does not own the row")
        return sweep + (use.mode == "row" or self.reduced(use.maker) or isinstance(soac, ir.Permute | ir.Order))

    def late(self) -> None:
        """Let MAPs that nobody reads at once run in the sweep that reads them first; count the SCANs before each."""
        owned, binds = self.owned, self.kernel.binds
        for number in reversed(range(len(binds))):
            if isinstance(binds[number].soac, ir.Map) and owned.places[number] == ELEMENT:
                wanted = [owned.sweeps[reader] - (use.mode == "row") for reader, uses in enumerate(self.uses)
                          for use in uses if use.maker == number]
                owned.sweeps[number] = max(owned.sweeps[number], min(wanted, default=0))
        for number, uses in enumerate(self.uses):
            owned.layers.append(max([owned.layers[use.maker] + isinstance(binds[use.maker].soac, ir.Scan)
                                     for use in uses if use.mode == "own"
                                     and owned.sweeps[use.maker] == owned.sweeps[number]], default=0))

    def keep(self, number: int) -> None:
        """Note which arrays of elements lie in memory until this binding reads them."""
        owned = self.owned
        for use in self.uses[number]:
            if owned.places[use.maker] == ELEMENT and not self.reduced(use.maker):
                if use.mode == "row" or isinstance(self.kernel.binds[use.maker].soac, ir.Permute):
                    owned.exchanged.add(use.name)
                if use.name in owned.exchanged or owned.sweeps[number] > owned.sweeps[use.maker]:
                    owned.kept.add(use.name)


def counted(thunk: ir.Thunk) -> bool:
    """Does the thunk ask for its position or its index otherwise than to read there?"""
    parts = list(subexpressions(thunk.body))
    asked = sum([isinstance(part, ir.Var) and part.name in thunk.params[-2:] for part in parts])
    return asked > sum([isinstance(part, ir.Read) and part.index == ir.Var(thunk.params[-1]) for part in parts])


def writes_own_row(soac: ir.Permute, root: ir.Segmented) -> bool:
    """Does each element write to its own row?"""
    return len(soac.index.params) > 1 and all(
        in_own_row(index, soac.index.params, root) for index in indices(ir.Read("", soac.index.body))
        if index.array == "")
