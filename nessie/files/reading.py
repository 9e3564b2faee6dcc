"""A file being read, with an account of the memory that reading takes.

A file's contents may be much larger in memory than the file: a packed array, an array that the header claims, numbers
that become Python objects first. So a reader announces the bytes of everything large before making it (`take`), and
when it is gone (`give`). For Python objects it announces an upper bound.
"""
from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from nessie.base.source import NessieError, decoded
from nessie.base.system.memory import MemoryBudget
from nessie.files.names import PACKED, cell, listed

if TYPE_CHECKING:
    from nessie.base.values import OnDevice
    from nessie.files.read_by_workers import Hands

PIECE = 1 << 16                 # bytes read at a time
SLOT = 8                        # bytes of a list for an element
NUMBER = 32                     # bytes of a number as an object of its own; Python shares those of up to 3 digits
SHORT_TEXT = 64                 # bytes of a short text; Python shares those of one character

STANDARD = "-"
ASTRAL, BEYOND_LATIN = re.compile(rb"[\xf0-\xff]"), re.compile(rb"[\xc4-\xff]")       # bytes of UTF-8


class Reading:
    """A file being read; messages call it `path`. `hands`: workers who may read it, if they are asked for; `columns`:
    those of a table that are read, all if None."""
    first_line = 1                      # the number of its first line, if it is a part of a file
    first_row = 0                       # of its first row

    def __init__(self, path: str, room: MemoryBudget, hands: Callable[[], Hands] | None = None,
                 columns: Sequence[str] | None = None) -> None:
        self.path = "standard input" if path == STANDARD else path
        self.standard = path == STANDARD
        self.room, self.hands, self.columns = room, hands, columns

    def chosen(self, names: Sequence[str]) -> list[int]:
        """The places of the columns that are read, in a table whose columns have these names."""
        if self.columns is None:
            return list(range(len(names)))
        for name in self.columns:
            if (count := names.count(name)) != 1:
                raise NessieError(f"{self.path} has {f'{count} columns' if count else 'no column'} {cell(name)}; "
                                  f"it has {listed(list(map(cell, names)))}")
            if self.columns.count(name) > 1:
                raise NessieError(f"{self.path}: the column {cell(name)} is named more than once")
        return [names.index(name) for name in self.columns]

    def take(self, size: int) -> None:
        """Count `size` bytes that are about to be allocated. NessieError if that exceeds the room."""
        self.room.take(size, self.path)

    def give(self, size: int) -> None:
        """Count `size` bytes as freed."""
        self.room.give(size)

    def cast(self, array: OnDevice, base: str) -> OnDevice:
        """An array that workers have, with elements of this type."""
        assert self.hands is not None
        return self.hands().cast(array, base)

    def data(self) -> bytearray:
        """The contents of the file."""
        found = bytearray()
        for piece in self.pieces():
            found += piece
        return found

    def pieces(self) -> Iterator[bytes]:
        """The contents of the file, piece by piece."""
        if self.standard:
            full = True
            while full:                         # a terminal reports the end of the input only once
                piece = sys.stdin.buffer.read(PIECE)
                self.take(len(piece))
                yield piece
                full = len(piece) == PIECE
            return
        if str(self.path).lower().endswith(PACKED):
            yield from self.unpacked()
            return
        with open(self.path, "rb", buffering=0) as file:
            expected, done = os.fstat(file.fileno()).st_size, 0
            self.take(expected)
            while piece := file.read(PIECE):
                done += len(piece)
                if done > expected:             # a pipe, or a file that grows
                    self.take(len(piece))
                yield piece

    def unpacked(self) -> Iterator[bytes]:
        """The contents that gzip has packed, piece by piece: each is counted as it comes, as a small file may hold a
        large one."""
        import gzip
        import zlib
        try:
            with gzip.open(self.path) as file:
                while piece := file.read(PIECE):
                    self.take(len(piece))
                    yield piece
        except (gzip.BadGzipFile, EOFError, zlib.error) as error:
            raise NessieError(f"{self.path}: no file of gzip's, or a damaged one: {error}") from None

    def text(self) -> str:
        """The text of a UTF-8 file."""
        return self.decoded(self.data())

    def decoded(self, data: Any) -> str:
        """UTF-8 as a text. Python stores each of its characters in as many bytes as the largest one needs."""
        self.take(len(data) * width(data))
        return decoded(self.path, data)


def width(data: bytes | bytearray) -> int:
    """Bytes in memory of each character of this UTF-8 text."""
    if data.isascii():
        return 1
    return 4 if ASTRAL.search(data) else 2 if BEYOND_LATIN.search(data) else 1
