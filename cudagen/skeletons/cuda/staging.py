"""What the threads of a block do with memory in a walk in order: neighbouring threads, neighbouring elements.

A thread's items are neighbours, so that threads which load them one by one would touch as many sectors of memory as
there are threads. Instead the block takes turns, THREADS elements each, between memory and *slots* in shared memory,
one an element of the tile; the threads walk the slots.

    before the walks     what elements read of the kernel's arrays at their own index goes to slots, once for both
                         walks; where a thunk reads them at other indices, too, what it comes to
    the last walk        leaves in slots what elements store, in those of an array that it has read where types agree
    after the walks      slots go to memory; a survivor's by its rank, which stands in slots of its own (`places`: from
                         the tile's first survivor on, -1 where an element does not survive)

Results of segments have slots, too, where few segments end in the tile.

Slots are padded by a word of 4 bytes, or an element that is longer, for each 128 bytes: 32 threads that are 8 elements
apart, and 32 neighbours, meet no bank more often than they must. What finds no room in shared memory stays in memory.
"""
from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import field, replace

from nessie.base.records import dataclass
from nessie.base.values import DTYPES
from nessie.base.widths import wide
from nessie.cudagen.kernels.code import Code, Value, integer, op
from nessie.cudagen.kernels.walk import ROOT, SEGMENT, Place, Walk
from nessie.cudagen.loops import nodes as loops
from nessie.cudagen.loops.plan import THREADS
from nessie.cudagen.skeletons.chunks import Span
from nessie.cudagen.skeletons.cuda.blocks import THREAD
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu.parts import INDEX_THUNKS, subexpressions
from nessie.lambda_cu.selection import selection

ROOM = 34 << 10                 # bytes of slots at most: two arrays of numbers, where tiles have 2048 elements
FEW = 512                       # segments that end in a tile
MOST_ENDED = 2                  # arrays of their results that have slots
LINE = 128                      # bytes in which each bank is once
SECTOR = 32                     # bytes that memory moves at least
BANK = 4
PLACES = "int16"                # holds the number of an item in its tile


@dataclass(frozen=True)
class Slots:
    """The slots of a kernel: so many of each type, numbered, and what they are for. `computed`: by step, what its thunk
    comes to. `places`: residual places whose survivors' ranks are kept."""
    types: tuple[str, ...] = ()
    inputs: dict[str, int] = field(default_factory=dict)
    computed: dict[str, int] = field(default_factory=dict)
    outputs: dict[str, int] = field(default_factory=dict)
    of_places: dict[str, Place] = field(default_factory=dict)       # the outputs of survivors, and where
    places: tuple[Place, ...] = ()

    @property
    def filled(self) -> bool:
        """Is there anything in them before the walks?"""
        return bool(self.inputs or self.computed or self.places)

    def size(self, items: int) -> int:
        """Bytes, where a tile has so many items."""
        types = (*self.types, *[PLACES] * len(self.places))
        return sum(padded(type_, items) * DTYPES[type_].itemsize for type_ in types)


def fitting(walk: Walk, root: ir.Space, width: int, room: int) -> int:
    """The items that a thread has, or half as many: the slots of more would not find room. Those of terms play no part:
    how a row's elements are added up does not depend on where they lie."""
    wanted = with_terms(walk, root, 0, frozenset(step.name for step in walk.steps), True, room, {})
    return width if wanted.size(width * THREADS) <= room else max(width // 2, 1)


def slots_of(walk: Walk, root: ir.Space, items: int, active: frozenset[str], writing: bool, room: int) -> Slots:
    """The slots of what these steps read, and store if they are `writing`, as far as there is room for these. Terms
    have slots where all find room."""
    wanted = with_terms(walk, root, 0, active, writing, room, dict(computed_before(walk, root, active)))
    return wanted if wanted.size(items) <= room else with_terms(walk, root, items, active, writing, room, {})


def with_terms(walk: Walk, root: ir.Space, items: int, active: frozenset[str], writing: bool, room: int,
               terms: Mapping[str, str]) -> Slots:
    """The slots, with those of these terms, which have these types."""
    slots = Slots()
    for step, type_ in terms.items():
        slots = added(slots, items, step, type_, None, "computed", room)
    for array in own_reads(walk, root, active - slots.computed.keys()):
        slots = added(slots, items, array, base_of(walk, array), None, "inputs", room)
    for array, place in own_stores(walk) if writing else ():
        slots = added(slots, items, array, base_of(walk, array), place, "outputs", room)
    return slots


def added(slots: Slots, items: int, name: str, type_: str, place: Place | None, use: str, room: int) -> Slots:
    """With slots for the array, or the step, of this use, too, if there is room."""
    free = [slot for slot, of in enumerate(slots.types) if of == type_ and slot not in slots.outputs.values()]
    slot = free[0] if use == "outputs" and free else len(slots.types)
    types = slots.types + ((type_,) if slot == len(slots.types) else ())
    places = slots.places + ((place,) if place is not None and place not in slots.places else ())
    of_places = slots.of_places if place is None else {**slots.of_places, name: place}
    more = replace(slots, types=types, places=places, of_places=of_places, **{use: {**vars(slots)[use], name: slot}})
    return more if more.size(items) <= room else slots


def computed_before(walk: Walk, root: ir.Space, active: frozenset[str]) -> Iterator[tuple[str, str]]:
    """The steps whose thunks, of one value, read only the kernel's arrays, and some at other indices than their own:
    neighbouring threads read neighbours there. With the types of the values."""
    given = {p.name for p in walk.kernel.params if isinstance(p.type, ir.Array)}
    for step in walk.at(ROOT):
        soac = step.bind.soac
        if step.name not in active or not isinstance(soac, ir.Map | ir.Reduce | ir.Scan) or len(step.bind.names) > 1:
            continue
        if isinstance(root, ir.Nested) or (not isinstance(soac, ir.Scan) and soac.interior is not None):
            continue
        found = list(subexpressions(soac.thunk.body))
        reads = [exp for exp in found if isinstance(exp, ir.Read)]
        near = {ir.Var(name) for name in (*soac.thunk.params[-3:-2], soac.thunk.params[-1])}
        if {read.array for read in reads} <= given and not near.issuperset([read.index for read in reads]) \
                and not any(isinstance(exp, ir.CallScalar) for exp in found):
            yield step.name, wide(walk.bases[step.name][0])


def base_of(walk: Walk, array: str) -> str:
    type_ = walk.types[array]
    assert isinstance(type_, ir.Array)
    return type_.base


def own_reads(walk: Walk, root: ir.Space, active: frozenset[str]) -> list[str]:
    """The kernel's arrays, as long as the root, that elements read at their own index."""
    total = root.size if isinstance(root, ir.Flat) else root.total
    thunks = [thunk for step in walk.at(ROOT) if step.name in active for thunk in INDEX_THUNKS.of(step.bind.soac)]
    return read_at(walk, total, thunks, -1)


def read_at(walk: Walk, size: ir.Size, thunks: list[ir.Thunk], parameter: int) -> list[str]:
    """The kernel's arrays of this size that the thunks read at the parameter with this number."""
    given = {p.name for p in walk.kernel.params if isinstance(p.type, ir.Array) and p.type.size == size}
    return list(dict.fromkeys([exp.array for thunk in thunks for exp in subexpressions(thunk.body)
                               if isinstance(exp, ir.Read) and exp.array in given
                               and exp.index == ir.Var(thunk.params[parameter])]))


def own_stores(walk: Walk) -> Iterator[tuple[str, Place | None]]:
    """The arrays that elements store at their own index, and those that survivors store at their rank."""
    for step in walk.steps:
        if step.place == ROOT and isinstance(step.bind.soac, ir.Map | ir.Scan):
            yield from [(name, None) for name in step.bind.names if name in walk.stored]
        elif step.place.kind == "residual" and isinstance(step.bind.soac, ir.Map | ir.Scan):
            yield from [(name, step.place) for name in step.bind.names if name in walk.stored]
        if selected := selection(step.bind):
            yield from [(name, None if step.place == ROOT else step.place) for name in selected.positions
                        if name in walk.stored]
            for side, names in enumerate(selected.values):
                yield from [(name, Place("residual", step.name, side)) for name in names if name in walk.stored]


def padded(type_: str, items: int) -> int:
    """How many slots so many elements take."""
    size = DTYPES[type_].itemsize
    return items + items * size // LINE * max(BANK // size, 1)


@dataclass(frozen=True)
class Ended:
    """Slots for the results of the segments that end in the tile, from `first` to before `beyond`, if they are `few`;
    those of more go to memory at once. `arrays`: those in shared memory, each with its type."""
    arrays: dict[str, tuple[str, str]]
    first: loops.Exp
    beyond: loops.Exp
    few: loops.Exp

    def leave(self, code: Code, name: str, segment: loops.Exp, value: Value) -> bool:
        if name not in self.arrays:
            return False
        with code.block() as many:
            code.store(name, segment, value)
        here = loops.Store(self.arrays[name][0], op("-", segment, self.first), value.exp)
        code.add(loops.If(self.few, (here,), tuple(many)))
        return True

    def save(self, code: Code) -> None:
        number = loops.Name(code.fresh("number"))
        with code.block() as body:
            for array, (held, type_) in self.arrays.items():
                code.store(array, op("+", self.first, number), Value(loops.Load(held, number), wide(type_)))
        if body:
            code.note("results of segments: neighbouring threads store neighbours")
            loop = loops.For(number.name, THREAD, op("-", self.beyond, self.first), tuple(body), integer(THREADS))
            code.add(loops.If(self.few, (loop,)))


NONE_ENDS = Ended({}, integer(0), integer(0), integer(0))


def ended_in(code: Code, walk: Walk, span: Span) -> Ended:
    """The slots of segments' results, of some of them."""
    arrays = {name: (code.shared(f"{name}_ended", base_of(walk, name), FEW), base_of(walk, name))
              for name in ended_stores(walk)}
    few = op("<=", op("-", span.s1, span.s0), integer(FEW))
    return Ended(arrays, span.s0, span.s1, code.let("few", Value(few, "bool")).exp)


def ended_stores(walk: Walk) -> list[str]:
    """The arrays that get an element for each segment: those that have slots."""
    steps = [step for step in walk.steps if (isinstance(step.bind.soac, ir.Map) and step.place == SEGMENT)
             or (isinstance(step.bind.soac, ir.Reduce) and isinstance(step.bind.soac.space, ir.Segmented)
                 and step.place != SEGMENT)]
    return [name for step in steps for name in step.bind.names if name in walk.stored][:MOST_ENDED]


@dataclass
class Staging:
    """Slots at work in one function: `arrays` are theirs in shared memory, `low` the element from which they count,
    `many` how many there are from it to the tile's last; `skew`: how many of these, in the sector in which the tile
    begins, are not the tile's; `firsts` what ranks are counted from."""
    slots: Slots
    arrays: tuple[str, ...]
    places: dict[Place, str]
    width: int
    low: loops.Exp
    many: loops.Exp
    ended: Ended
    skew: loops.Exp | None = None
    firsts: dict[str, loops.Exp] = field(default_factory=dict)
    own: dict[str, loops.Exp] = field(default_factory=dict)          # by type, where the current element's slot is
    known: dict[str, Value] = field(default_factory=dict)            # by step, what was computed for it
    tainted: set[str] = field(default_factory=set)                   # the steps for which that may be a failure's zero

    # The walks ------------------------------------------------------------------------------

    def begin(self, code: Code, index: loops.Exp) -> None:
        """An element: what it reads is known from here on, whatever its slots are used for then."""
        place = code.let_int("place", op("-", index, self.low))
        self.own = slot_numbers(code, place, {*self.slots.types, *[PLACES] * len(self.places)})
        for array, slot in self.slots.inputs.items():
            type_ = self.slots.types[slot]
            loaded = Value(loops.Load(self.arrays[slot], self.own[type_]), wide(type_))
            code.learn(array, index, code.let(f"{array}_at", loaded))
        for step, slot in self.slots.computed.items():
            type_ = self.slots.types[slot]
            loaded = Value(loops.Load(self.arrays[slot], self.own[type_]), type_, step in self.tainted)
            self.known[step] = code.let(f"{step}_term", loaded)

    def computed(self, step: str) -> Value | None:
        return self.known.get(step)

    def leave(self, code: Code, name: str, index: loops.Exp, value: Value) -> bool:
        slot = self.slots.outputs.get(name)
        if slot is not None:
            code.add(loops.Store(self.arrays[slot], self.own[self.slots.types[slot]], value.exp))
        return slot is not None or self.ended.leave(code, name, index, value)

    def survives(self, code: Code, place: Place, rank: loops.Exp) -> None:
        if place in self.places:
            relative = op("-", rank, self.firsts[rank_name(place)])
            code.add(loops.Store(self.places[place], self.own[PLACES], relative))

    # Before and after -----------------------------------------------------------------------

    def load(self, code: Code, compute: Callable[[str, loops.Exp], Value]) -> None:
        """Fills the slots: all see them after a barrier. `compute`: what a step's thunk comes to at an element."""
        if not self.slots.filled:
            return
        listed = ", ".join([*self.slots.inputs, *[f"terms of {step}" for step in self.slots.computed]])
        code.note(f"the tile's elements{' of ' + listed if listed else ''}: neighbouring threads load neighbours")
        with self.turns(code) as place:
            filled = {**self.slots.inputs, **self.slots.computed}
            own = slot_numbers(code, place, {*[self.slots.types[s] for s in filled.values()],
                                             *[PLACES] * len(self.places)})
            at: loops.Exp = op("+", self.low, place)
            if self.slots.computed:
                at = code.order_index = code.let_int("i", at)
            for array, slot in self.slots.inputs.items():
                type_ = self.slots.types[slot]
                loaded = Value(loops.Load(code.array(array, wide(type_)), at), wide(type_))
                if self.slots.computed:
                    loaded = code.let(f"{array}_at", loaded)
                    code.learn(array, at, loaded)
                code.add(loops.Store(self.arrays[slot], own[type_], loaded.exp))
            for step, slot in self.slots.computed.items():
                value = compute(step, at)
                self.tainted |= {step} if value.tainted else set()
                code.add(loops.Store(self.arrays[slot], own[self.slots.types[slot]], value.exp))
            for places in self.places.values():
                code.add(loops.Store(places, own[PLACES], integer(-1)))

    def save(self, code: Code) -> None:
        """What the last walk has left in slots goes to memory."""
        if self.slots.outputs or self.ended.arrays:
            code.add(loops.Barrier())
        self.ended.save(code)
        if not self.slots.outputs:
            return
        code.note("results: neighbouring threads store neighbours")
        with self.turns(code) as place:
            own = slot_numbers(code, place, {*[self.slots.types[s] for s in self.slots.outputs.values()],
                                             *[PLACES] * len(self.places)})
            for at_place in (None, *self.places):
                with code.block() as stored:
                    first = self.low if at_place is None else self.firsts[rank_name(at_place)]
                    number = place if at_place is None else loops.Name(code.fresh("rank"))
                    for array, slot in self.slots.outputs.items():
                        if self.slots.of_places.get(array) == at_place:
                            type_ = self.slots.types[slot]
                            value = Value(loops.Load(self.arrays[slot], own[type_]), wide(type_))
                            code.store(array, op("+", first, number), value)
                if at_place is None:
                    code.statements += stored
                elif isinstance(number, loops.Name):
                    code.add(loops.Let(number.name, "int", loops.Load(self.places[at_place], own[PLACES])))
                    code.add(loops.If(op(">=", number, integer(0)), tuple(stored)))

    @contextmanager
    def turns(self, code: Code) -> Iterator[loops.Exp]:
        """Let the block do what is written meanwhile for each element of the tile, THREADS at a time; a warp's begin
        where a sector of memory does."""
        turn = code.fresh("turn")
        with code.block() as body:
            place = code.let_int("place", op("+", op("*", loops.Name(turn), integer(THREADS)), THREAD))
            with code.block() as inside:
                yield place
            here = op("<", place, self.many)
            code.add(loops.If(op("and", op("<=", self.skew, place), here) if self.skew else here, tuple(inside)))
        code.add(loops.For(turn, integer(0), integer(self.width), tuple(body)))


def staging(code: Code, slots: Slots, width: int, low: loops.Exp, many: loops.Exp, ended: Ended,
            aligned: bool) -> Staging:
    """The slots of a function whose tiles have THREADS times `width` elements at most. `aligned`: they begin where a
    sector does."""
    items = width * THREADS
    arrays = [code.shared(hint, type_, padded(type_, items))
              for hint, type_ in zip(hints(slots), slots.types, strict=True)]
    places = {place: code.shared(f"{place.filter}_places", PLACES, padded(PLACES, items)) for place in slots.places}
    skew = None if aligned or not arrays else skew_of(code, slots, items, low, many)
    if skew:
        low, many = op("-", low, skew), op("+", many, skew)
    return Staging(slots, tuple(arrays), places, width, low, many, ended, skew)


def skew_of(code: Code, slots: Slots, items: int, low: loops.Exp, many: loops.Exp) -> loops.Exp:
    """How many elements the sector of the tile's first has before it, where there are turns for so many more; of the
    type whose elements are shortest."""
    before = op("and", low, integer(SECTOR // min([DTYPES[type_].itemsize for type_ in slots.types]) - 1))
    return code.let_int("skew", op("select", op("<=", op("+", many, before), integer(items)), before, integer(0)))


def hints(slots: Slots) -> list[str]:
    """What the arrays of slots are named after: what is in them first."""
    first = {slot: name for names in (slots.outputs, slots.inputs, slots.computed)
             for name, slot in reversed([*names.items()])}
    return [f"{first[slot]}_slots" for slot in range(len(slots.types))]


def slot_numbers(code: Code, place: loops.Exp, types: set[str]) -> dict[str, loops.Exp]:
    """Where the slot of an item of the tile is, by type."""
    found = dict[int, loops.Exp]()
    for size in sorted({DTYPES[type_].itemsize for type_ in types}):
        padding = op("rshift", place, integer((LINE // size).bit_length() - 1))
        if size < BANK:
            padding = op("lshift", padding, integer((BANK // size).bit_length() - 1))
        found[size] = code.let_int("slot", op("+", place, padding))
    return {type_: found[DTYPES[type_].itemsize] for type_ in types}


def rank_name(place: Place) -> str:
    """The name of the state that counts the survivors."""
    return f"{place.filter}_count{place.side}"
