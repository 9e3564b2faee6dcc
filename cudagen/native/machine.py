"""One device's machine: the words of its state, its room for frames, the arrays that are in its hands.

Blocks come from the device's memory, one at a time, and are kept in the machine's own lists until the run ends. Then,
and where memory is short, all that are free go back.
"""
from __future__ import annotations

import ctypes
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from nessie.base.system.disk_cache import find, keep, path_of
from nessie.base.system.forking import STEADY
from nessie.cudagen.cpu import machine_code as building
from nessie.cudagen.host.device import Array
from nessie.cudagen.host.memory import Block, Pooled
from nessie.cudagen.native import handlers
from nessie.cudagen.native.words import CLASSES, HANDLE, OTHERS, STATE, STATE_WORDS, WORD, class_of

ROOM = 1 << 13                  # words for frames at first
HANDLES = 128                   # made at a time
RUN = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p)

Words = Any                     # a ctypes array of c_int64
NAMES = {name: number for number, name in enumerate(STATE)}
FREE, DROPPED, BLOCKS = NAMES["handles"], NAMES["dropped"], NAMES["blocks"]
USES, CLASS, KEY, NEXT = [HANDLE.index(name) for name in ("uses", "class", "key", "next")]
handle_at = (ctypes.c_int64 * len(HANDLE)).from_address         # the words of the handle that lies there


@lru_cache(maxsize=1)
def machine() -> tuple[Any, Mapping[str, int]]:
    """The function that runs records, and the addresses of their handlers by name. Optimised, if the disk has it so."""
    with STEADY:
        text = handlers.text()
        code = find(optimised_key(text)) or find(key(text))
        if code is None:
            code = building.build(text, quick=True)
            keep(key(text), code)
        found = building.load(code, ("run", "table"))
        addresses = words(len(handlers.NAMES))
        ctypes.CFUNCTYPE(None, ctypes.c_void_p)(found["table"])(ctypes.addressof(addresses))
        return RUN(found["run"]), dict(zip(handlers.NAMES, addresses, strict=True))


@lru_cache(maxsize=1)
def improve() -> None:
    """Have the disk, if there is one, keep the machine optimised for processes to come. To make it takes ten times as
    long, once."""
    with STEADY:
        text = handlers.text()
        if path_of(optimised_key(text)) and find(optimised_key(text)) is None:
            keep(optimised_key(text), building.build(text))


def key(text: str) -> str:
    return f"{building.fingerprint()}\n{text}"


def optimised_key(text: str) -> str:
    return f"optimised\n{key(text)}"


def words(count: int) -> Words:
    return (ctypes.c_int64 * count)()


def at(address: int, count: int) -> Words:
    """The words that lie there."""
    return (ctypes.c_int64 * count).from_address(address)


class Machine:
    """`memory` is the device's. `blocks`: the pool's blocks in the machine's hands, by address; `theirs`: other arrays,
    by the keys of their handles."""

    def __init__(self, memory: Pooled) -> None:
        self.memory = memory
        self.state = words(STATE_WORDS)
        self.address = ctypes.addressof(self.state)
        self.room = words(ROOM)
        self.blocks: dict[int, Block] = {}
        self.theirs: dict[int, Array] = {}
        self.handles: list[Words] = []
        self.keys = 0

    def get(self, name: str) -> int:
        found: int = self.state[NAMES[name]]
        return found

    def set(self, name: str, value: int) -> None:
        self.state[NAMES[name]] = value

    # Room ---------------------------------------------------------------------------------------

    def reset(self) -> int:
        """Empty the room for frames. The address of the first."""
        base = ctypes.addressof(self.room)
        self.set("end", base + WORD * len(self.room))
        self.set("frame", base)
        return base

    def more_room(self) -> None:
        """Twice as much; frames move. Only their own words say where they are."""
        used = self.get("frame") - ctypes.addressof(self.room)
        larger = words(2 * len(self.room))
        ctypes.memmove(larger, self.room, WORD * len(self.room))
        self.room = larger
        self.set("frame", self.reset() + used)

    # Arrays -------------------------------------------------------------------------------------

    def more_memory(self, size: int) -> None:
        """A block of this size class, which may raise OutOfMemory."""
        block = self.memory.take_block(size)
        self.blocks[block.address] = block
        self.put_on_list(BLOCKS + class_of(block.size), block.address)

    def put_on_list(self, list_: int, address: int) -> None:
        at(address, 1)[0] = self.state[list_]
        self.state[list_] = address

    def more_handles(self) -> None:
        made, size = words(HANDLES * len(HANDLE)), len(HANDLE) * WORD
        first = ctypes.addressof(made)
        following = range(first + size, first + HANDLES * size, size)
        made[NEXT::len(HANDLE)] = [*following, self.state[FREE]]
        self.handles.append(made)
        self.state[FREE] = first

    def recycle(self, handle: int) -> None:
        handle_at(handle)[NEXT] = self.state[FREE]
        self.state[FREE] = handle

    def handle_of(self, array: Array, uses: int, ours: bool) -> int:
        """A handle of the array. `ours`: its block, which is the pool's, is the machine's from now on; else the array
        is held by its handle."""
        if not self.state[FREE]:
            self.more_handles()
        handle: int = self.state[FREE]
        block = array.buffer
        made = handle_at(handle)
        self.state[FREE] = made[NEXT]
        if ours:
            self.blocks[block.address] = block
            made[:] = [block.address, array.length, uses, class_of(block.size), 0, 0]
        else:
            made[:] = [block.address, array.length, uses, OTHERS, self.keep(array), 0]
        return handle

    def keep(self, array: Array) -> int:
        """Hold the array. Its key."""
        self.keys += 1
        self.theirs[self.keys] = array
        array.uses += 1
        return self.keys

    def dropped(self) -> list[Array]:
        """The others' arrays that have been dropped since the last time."""
        found, handle = [], self.state[DROPPED]
        while handle:
            made = handle_at(handle)
            found.append(self.theirs.pop(made[KEY]))
            following = made[NEXT]
            self.recycle(handle)
            handle = following
        self.state[DROPPED] = 0
        return found

    def seen(self, handle: int, base: str) -> Array:
        """The handle's array, to be looked at while nothing else happens."""
        address, length, _, class_, key, _ = handle_at(handle)
        return self.theirs[key] if class_ == OTHERS else Array(base, length, self.blocks[address])

    def handed_over(self, handle: int, base: str) -> Array:
        """The handle's array, which is Python's from now on; the handle holds it."""
        array = self.seen(handle, base)
        made = handle_at(handle)
        if made[CLASS] != OTHERS:
            del self.blocks[array.buffer.address]
            made[CLASS], made[KEY] = OTHERS, self.keep(array)
        return array

    def taken_out(self, handle: int, base: str) -> Array:
        """The handle's array, held once more for the caller; the handle has one use less."""
        made = handle_at(handle)
        address, length, uses, class_, _, _ = made
        if class_ != OTHERS and uses == 1:          # nothing else needs the handle
            self.recycle(handle)
            return Array(base, length, self.blocks.pop(address), 1)
        array = self.handed_over(handle, base)
        made[USES] -= 1
        if made[USES] == 0:
            self.forget(handle)
        else:
            array.uses += 1
        return array

    def forget(self, handle: int) -> None:
        """The handle, of an array of the others', is free."""
        del self.theirs[handle_at(handle)[KEY]]
        self.recycle(handle)

    def give_back(self) -> None:
        """Give the free blocks back to the device's memory."""
        free, first = [], BLOCKS
        for list_, address in enumerate(self.state[first:first + CLASSES], first):
            self.state[list_] = 0
            while address:
                free.append(self.blocks.pop(address))
                address = at(address, 1)[0]
        self.memory.give_blocks(free)

    def give_all_back(self) -> list[Array]:
        """After an error: all blocks go back to the device's memory. The others' arrays that were held."""
        self.state[BLOCKS:BLOCKS + CLASSES] = [0] * CLASSES
        self.memory.give_blocks(list(self.blocks.values()))
        self.blocks.clear()
        held = list(self.theirs.values())
        self.theirs.clear()
        self.handles.clear()
        self.state[DROPPED] = 0
        self.state[FREE] = 0
        return held
