"""A GPU's memory: the pool of its buffers, and what the launches of a device share.

    DeviceMemory    the pool, over a driver; small blocks are pieces of slabs, each of which is allocated at once
    Board           words that all launches share
"""
from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from itertools import accumulate
from weakref import WeakSet

import numpy as np

from nessie.base.records import dataclass
from nessie.base.values import ANY_STREAM
from nessie.cudagen.cuda.driver import Driver, Values
from nessie.cudagen.host.device import OutOfMemory
from nessie.cudagen.host.memory import Block, Pooled
from nessie.cudagen.loops.plan import PAIR

APART = 128                     # bytes: arrays in one piece of memory share no line of a cache
WORD = 8                        # bytes
LINE = APART // WORD
TICKET_WORDS = 2
EPOCHS = 4                      # from one launch's epoch to the next's: more than what a block publishes
FEWEST = 1 << 12                # statuses, alone or with a word beside them
SLAB = 1 << 20                  # bytes
PIECE = SLAB >> 5               # bytes of a piece at most
ALIGNED = 256                   # bytes: pieces begin at multiples of it, as arrays of CUDA's do
WORTH_SLABS = SLAB << 6         # bytes of memory, of which a slab that is nearly empty is no great part

_memories: WeakSet[DeviceMemory] = WeakSet()


@dataclass(eq=False)
class Slab:
    """Memory in which pieces begin up to `end`; `pieces` of them are in use or kept."""
    address: int
    end: int = 0
    pieces: int = 0


class DeviceMemory(Pooled):
    """A driver's memory. When there is no more, what others keep of the same GPU is given back, too."""

    def __init__(self, driver: Driver, limit: int | None) -> None:
        super().__init__(limit)
        self.driver = driver
        self.slab: Slab | None = None           # the one that has room
        _memories.add(self)

    def wait_for_others(self, block: Block) -> None:
        if block.known:
            self.driver.await_others({ANY_STREAM})

    def zeros(self, sizes: Sequence[int]) -> list[Block]:
        """Blocks of so many bytes that are 0, in one piece of memory that is filled at once. The first block has it: to
        give that back gives back all."""
        *places, end = accumulate([-(-size // APART) * APART for size in sizes], initial=0)
        whole = self.take("int", end // WORD)
        if end:
            self.driver.fill(whole.buffer.address, np.int64(0), end // WORD)
        return [whole.buffer, *[Block(whole.buffer.address + place, None, 0) for place in places[1:]]]

    def trim(self) -> None:
        self._take_back()
        for blocks in self._blocks.values():
            for block in blocks:
                self._free(block)
        super().trim()

    def _free(self, block: Block) -> None:
        slab: Slab | None = block.storage
        if slab is None:
            self.driver.free(block.address)
            return
        slab.pieces -= 1
        if not slab.pieces:
            self.driver.free(slab.address)
            self.slab = None if self.slab is slab else self.slab

    def zeroed(self, words: int) -> int:
        """The address of so many words, all 0, outside the pool and its limit."""
        address = self.uncounted(words * WORD)
        self.driver.fill(address, np.int64(0), words)
        return address

    def uncounted(self, size: int) -> int:
        """The address of so many bytes, outside the pool and its limit."""
        return self._allocated(size).address

    def _fresh(self, size: int) -> Block:
        if size > PIECE or (self.limit is not None and self.limit < WORTH_SLABS):
            return self._allocated(size)
        if self.slab is None or self.slab.end + size > SLAB:
            self.slab = Slab(self._allocated(SLAB).address)
        slab, begins = self.slab, self.slab.end
        slab.end += -(-size // ALIGNED) * ALIGNED
        slab.pieces += 1
        return Block(slab.address + begins, slab, size)

    def _allocated(self, size: int) -> Block:
        for _ in range(2):
            with suppress(MemoryError):
                return Block(self.driver.allocate(size), None, size)
            self.trim()                         # there may be more then
            for other in list(_memories):        # but those whose lock is held, our own among them
                if type(other.driver) is type(self.driver) and other._lock.acquire(blocking=False):
                    try:
                        other.trim()
                    finally:
                        other._lock.release()
        raise OutOfMemory(size, self.used, self.limit or self.used)


class Board:
    """What the launches of a device share, one after another: the error words; the tickets that blocks draw; the cells
    in which a launch leaves scalars; and the statuses by which blocks tell each other what they have published, some
    with a word beside each.

    No launch clears any of them. Each leaves the tickets as 0, and statuses are greater than its epoch, which those of
    earlier launches are not; where a status may lie, no other word ever does. An epoch is a word of 64 bits, so there
    are 2**61 of them: of launches of a microsecond, for 70,000 years. The host reads cells and error words at once:
    where kernels have failed, there is nothing in the cells."""

    def __init__(self, memory: DeviceMemory, errors: int, cells: int) -> None:
        """So many error words, and cells at most."""
        self.memory, self.own = memory, errors
        self.tickets_at = -(-errors // LINE) * LINE             # words
        self.cells_at = self.tickets_at + LINE
        self.errors = memory.uncounted((self.cells_at + cells) * WORD)
        self.tickets, self.cells = [self.errors + at * WORD for at in (self.tickets_at, self.cells_at)]
        self.epoch, self.kept, self.room = 0, 0, 0
        self.begun: tuple[int, ...] = ()
        self.first = np.zeros(self.cells_at, np.int64)          # the words at the begin of a run

    def begin(self, errors: tuple[int, ...]) -> Values:
        """Set the error words; nobody has drawn a ticket."""
        if errors != self.begun:                # most runs begin like the one before
            self.first[:self.own], self.begun = errors, errors
        self.memory.driver.write(self.errors, self.first)
        return self.first[:self.own]

    def read(self, cells: int = 0) -> tuple[Values, Values]:
        """The error words, and so many cells, when all launches have been done."""
        words = np.empty(self.cells_at + cells if cells else self.own, np.int64)
        self.memory.driver.read(self.errors, words)
        return words[:self.own], words[self.cells_at:]

    def next_epoch(self) -> int:
        """A launch's own."""
        self.epoch += EPOCHS
        return self.epoch - EPOCHS

    def take(self, sizes: Sequence[tuple[int, int]]) -> list[int]:
        """Where words of a launch lie, each for itself: of each the words of an entry, which begins with a status, 1 or
        a PAIR, and how many words. Behind room for statuses alone is room for as many pairs."""
        places: list[tuple[int, int]] = []
        ends = [0] * PAIR
        for entry, words in sizes:
            places.append((entry - 1, ends[entry - 1]))
            ends[entry - 1] += words
        if (most := max(ends[0], ends[1] // PAIR)) > self.room:
            if self.room:
                self.memory.driver.free(self.kept)
            self.room = 0
            self.kept, self.room = self.memory.zeroed(max(FEWEST, 2 * most) * (1 + PAIR)), max(FEWEST, 2 * most)
        return [self.kept + (before * self.room + place) * WORD for before, place in places]
