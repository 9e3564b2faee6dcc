"""Devices' buffers. Fresh memory costs as much as the work done on it, so freed buffers are kept for reuse.

    Pooled      what is common: size classes, the limit
    Memory      the CPU's, where results are kept as well: when the caller has dropped the arrays of a large one, its
                buffer comes back

Buffers come in size classes, four for each power of two. All bytes held, in use or kept, count against the limit
*before* they are taken: what is kept is given back first, and only then is it an error.
"""
from __future__ import annotations

import ctypes
import threading
from collections import deque
from collections.abc import Iterable
from dataclasses import replace
from typing import Any
from weakref import WeakSet, finalize

import numpy as np

from nessie.base.records import dataclass
from nessie.base.system.forking import anew_in_children
from nessie.base.values import DTYPES
from nessie.cudagen.host.device import Array, OutOfMemory

SMALLEST = 256
LARGE = 1 << 16                 # bytes of a result whose memory is worth having back
HEAD = object.__basicsize__     # bytes

_pools: WeakSet[Pooled] = WeakSet()


@dataclass(eq=False)
class Block:
    """Memory at an address; on the CPU, `storage` owns it. `size`: its class, 0 where it is not the pool's (any
    more). `known`: other libraries know where it lies."""
    address: int
    storage: Any
    size: int
    known: bool = False


class Pooled:
    """The pool, over `_fresh`, which makes a block. Safe to use from several threads."""

    def __init__(self, limit: int | None = None) -> None:
        self.limit = limit
        self.used = 0                   # bytes in arrays
        self.kept = 0                   # bytes that wait for reuse
        self._blocks: dict[int, list[Block]] = {}
        self._returned: deque[Block] = deque()      # by the garbage collector, which may come while the lock is held
        self._lock = threading.Lock()
        _pools.add(self)

    def forked(self) -> None:
        """Start anew in a forked process: memory that other threads used, or their lock, is never given back."""
        self._lock, self.used = threading.Lock(), 0

    def take(self, base: str, length: int) -> Array:
        """An array of that many elements; what is in it is anything."""
        return Array(base, length, self.take_block(size_class(length * DTYPES[base].itemsize)))

    def take_block(self, size: int) -> Block:
        """A block of this size class."""
        with self._lock:
            if self._returned:
                self._take_back()
            waiting = self._blocks.get(size)
            if waiting:
                self.kept -= size
                block = waiting.pop()
            else:
                self._reserve(size)
                block = self._fresh(size)
            self.used += size
        return block

    def give(self, array: Array) -> None:
        """Takes the array's memory back. Twice is harmless."""
        block: Block = array.buffer
        if not block.size:
            return
        with self._lock:
            if block.size:
                self._keep(Block(block.address, block.storage, block.size))
                self.used -= block.size
                block.size = 0

    def give_blocks(self, blocks: Iterable[Block]) -> None:
        """Takes back these blocks, whose arrays are gone."""
        with self._lock:
            for block in blocks:
                self._keep(block)
                self.used -= block.size

    def taken_over(self, array: Array, length: int) -> Array:
        """Another array, of this length, in the same memory, which is not the first one's any more."""
        block: Block = array.buffer
        with self._lock:
            array.buffer = replace(block, size=0)
        return Array(array.base, length, block)

    def lend(self, array: Array) -> Block:
        """The array's memory, which is the caller's until it is returned."""
        block: Block = array.buffer
        with self._lock:
            lent = Block(block.address, block.storage, block.size)
            self.used -= block.size
            block.size = 0
        return lent

    def take_returned(self, block: Block) -> None:
        """What was lent is not used any more; whoever says so may be the garbage collector."""
        self._returned.append(block)

    def _take_back(self) -> None:
        """Take back the blocks that the garbage collector has found to be free."""
        while self._returned:
            self.wait_for_others(self._returned[0])
            self._keep(self._returned.popleft())

    def wait_for_others(self, block: Block) -> None:
        """Returns when other libraries have done what they were asked to do with it."""

    def _keep(self, block: Block) -> None:
        self._blocks.setdefault(block.size, []).append(block)
        self.kept += block.size

    def release_kept(self) -> int:
        """Gives what is kept back to the system, and says how many bytes that was."""
        with self._lock:
            self._take_back()
            kept = self.kept
            self.trim()
        return kept

    def trim(self) -> None:
        """Gives what is kept back to the system; the lock is held."""
        self._blocks.clear()
        self.kept = 0

    def _reserve(self, size: int) -> None:
        if self.limit is not None and self.used + self.kept + size > self.limit:
            self.trim()
            if self.used + size > self.limit:
                raise OutOfMemory(size, self.used, self.limit)

    def _fresh(self, size: int) -> Block:
        """A block from the system, or OutOfMemory."""
        raise NotImplementedError


class Memory(Pooled):
    """The CPU's."""

    def release(self, array: Array) -> np.ndarray[Any, Any]:
        """The array's values, whose memory is the caller's for as long as anything refers to them, or to the array."""
        block: Block = array.buffer
        with self._lock:
            if block.size >= LARGE:
                # NumPy's views refer to the array over all of the storage, so that one goes last.
                storage = np.frombuffer(block.storage.data, np.uint8)
                back = Block(block.address, block.storage, block.size)
                finalize(storage, self._returned.append, back).atexit = False
                block.storage = storage         # so that a second release of the array refers to it, too
            self.used -= block.size
            block.size = 0
        return view(array)

    def _fresh(self, size: int) -> Block:
        try:
            storage = np.empty(size, np.uint8)
        except MemoryError:
            raise OutOfMemory(size, self.used, self.limit or self.used) from None
        return Block(address_of(storage), storage, size)


@anew_in_children
def forked() -> None:
    for pool in list(_pools):
        pool.forked()


def view(array: Array) -> np.ndarray[Any, Any]:
    """The elements, as NumPy sees them."""
    dtype = DTYPES[array.base]
    storage: np.ndarray[Any, Any] = array.buffer.storage
    return storage.view(dtype)[:array.length]


def size_class(size: int) -> int:
    """The least class that holds so many bytes: 4, 5, 6 or 7 times a power of two."""
    if size <= SMALLEST:
        return SMALLEST
    step = 1 << ((size - 1).bit_length() - 3)
    return -(-size // step) * step


def address_of(storage: np.ndarray[Any, Any]) -> int:
    """Where the array's elements lie. NumPy's binary interface has that as an array's first word behind what all of
    Python's objects begin with; NumPy's own attributes make an object each time."""
    address: int = ctypes.c_size_t.from_address(id(storage) + HEAD).value
    return address
