"""Rows in an owner's part of shared memory, while the function that goes through them is written.

    slot 0     owner 0: elements 0 .. each-1, owner 1: elements 0 .. each-1, ...       int held_int[slots * room]
    slot 1     ...

Each array that a loop works on lies in a *slot* of its element type. What a kernel makes goes to a slot in which
nothing lies that anybody reads from there on, so there is one slot more than arrays are wanted at a time. Where a
thread is an owner, neighbouring threads' elements lie side by side.
"""
from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from nessie.base.records import dataclass
from nessie.base.values import DTYPES
from nessie.base.widths import wide
from nessie.cudagen.kernels.code import Code, Value, integer, op
from nessie.cudagen.loops import nodes as loops
from nessie.cudagen.skeletons.cuda.blocks import THREAD
from nessie.cudagen.skeletons.owners.teams import Team
from nessie.lambda_cu import nodes as ir


class Declined(Exception):
    """An owner cannot do this."""


@dataclass(frozen=True)
class Slot:
    """A slot of an element type: a number, or a variable that has one."""
    base: str
    number: loops.Exp


Held = Value | Slot


@dataclass(frozen=True)
class Room:
    """What a block has in shared memory: `elements` in each slot, which its owners share; `owners` of them."""
    elements: int
    owners: int

    @property
    def each(self) -> int:
        return self.elements // self.owners


class LocalCode(Code):
    """`team`: the owner's lanes; `own`: the owner's number in its block. `slots` has the arrays that lie in them, by
    their names now; `many`: the most slots in use at a time, by type."""

    def __init__(self, scalars: dict[str, str], arrays: dict[str, ir.Array], reserved: Iterable[str],
                 room: Room) -> None:
        super().__init__(scalars, arrays, {*reserved})
        self.room, self.team = room, Team(1, integer(0))
        self.own: loops.Exp = integer(0)
        self.slots: dict[str, Slot] = {}
        self.many: dict[str, int] = {}
        self.memory: dict[str, str] = {}

    def array(self, name: str, base: str, writable: bool = False) -> str:
        if name in self.slots:
            raise Declined("a function reads a row at any place")
        return super().array(name, base, writable)

    def load(self, array: str, base: str, index: loops.Exp) -> Value:
        if array not in self.slots:
            return super().load(array, base, index)
        held = self.known.get((array, index))
        if held is None:
            slot = self.slots[array]
            held = self.let(f"{array}_at", Value(self.at(slot, index), slot.base, array in self.left and self.fails))
            self.learn(array, index, held)
        return held

    def store(self, array: str, index: loops.Exp, value: Value) -> None:
        if array in self.slots:
            self.put(self.slots[array], index, value.exp)
        else:
            super().store(array, index, value)

    @contextmanager
    def names(self) -> Iterator[None]:
        """Names mean nothing meanwhile of what they mean outside."""
        held = self.values, self.slots, self.known, self.arrays, self.left
        self.values, self.slots, self.known, self.arrays, self.left = {}, {}, {}, dict(self.arrays), frozenset()
        trail, self._trail = self._trail, []
        yield
        self.values, self.slots, self.known, self.arrays, self.left = held
        self._trail = trail

    # Slots ----------------------------------------------------------------------------------

    def held(self, base: str) -> str:
        """The array in shared memory with the slots of this type."""
        if base not in self.memory:
            self.memory[base] = self.fresh(f"held_{base}")
        return self.memory[base]

    def place(self, slot: Slot, index: loops.Exp) -> loops.Exp:
        first = op("*", slot.number, integer(self.room.elements))
        if self.team.lanes == 1:
            return op("+", op("+", first, op("*", index, integer(self.room.owners))), THREAD)
        return op("+", op("+", first, op("*", self.own, integer(self.room.each))), index)

    def at(self, slot: Slot, index: loops.Exp) -> loops.Load:
        return loops.Load(self.held(slot.base), self.place(slot, index))

    def put(self, slot: Slot, index: loops.Exp, value: loops.Exp) -> None:
        self.add(loops.Store(self.held(slot.base), self.place(slot, index), value))

    def free_slot(self, base: str, wanted: Iterable[Slot]) -> Slot:
        """A slot in which none of these lies."""
        base = wide(base)
        taken = list(dict.fromkeys([slot.number for slot in wanted if slot.base == base]))
        self.many[base] = max(self.many.get(base, 0), len(taken) + 1)
        numbers = [int(number.value) for number in taken if isinstance(number, loops.Const)]
        if len(numbers) == len(taken):
            return Slot(base, integer(next(n for n in range(len(numbers) + 1) if n not in numbers)))
        slot = loops.Name(self.var("slot", "int", integer(0)))
        lies: loops.Exp = op("==", slot, taken[0])
        for number in taken[1:]:
            lies = op("or", lies, op("==", slot, number))
        self.add(loops.While(lies, (loops.Set(slot.name, op("+", slot, integer(1))),)))
        return Slot(base, slot)

    def shared_memory(self) -> tuple[loops.Shared, ...]:
        return tuple([loops.Shared(self.memory[base], base, self.many[base] * self.room.elements)
                      for base in self.memory])

    @property
    def bytes_each(self) -> int:
        """What an element of all slots takes."""
        return sum([DTYPES[base].itemsize * many for base, many in self.many.items()])


def number_of(held: Held) -> loops.Exp:
    """The value, or the number of the slot."""
    return held.number if isinstance(held, Slot) else held.exp


def held_in(variable: str, param: ir.Param) -> Held:
    """What the variable says, of the parameter's type."""
    if isinstance(param.type, ir.Array):
        return Slot(wide(param.type.base), loops.Name(variable))
    return Value(loops.Name(variable), param.type)
