"""A file that is being read, and the memory that reading takes.

What is made of a file may be much larger than the file: a packed array, one that the header says is there, numbers
that become Python's objects first. So a reader says of everything large how many bytes it will be before it is made
(`take`), and when it is gone (`give`); of Python's objects an estimate that holds for all texts.
"""
from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from typing import Any

from nessie.base.source import decoded
from nessie.base.system.memory import MemoryBudget

PIECE = 1 << 16                 # bytes read at a time
SLOT = 8                        # bytes of a list for an element
NUMBER = 32                     # a number as an object of its own; Python shares those of up to 3 digits
SHORT_TEXT = 64                 # a short text; Python shares those of one character

STANDARD = "-"
ASTRAL, BEYOND_LATIN = re.compile(rb"[\xf0-\xff]"), re.compile(rb"[\xc4-\xff]")       # bytes of UTF-8


class Reading:
    """`path`: what messages call the file."""

    def __init__(self, path: str, room: MemoryBudget) -> None:
        self.path = "standard input" if path == STANDARD else path
        self.standard = path == STANDARD
        self.room = room

    def take(self, size: int) -> None:
        """Count bytes that are about to be made; NessieError where that is more than is allowed."""
        self.room.take(size, self.path)

    def give(self, size: int) -> None:
        """Take bytes that are free again off the count."""
        self.room.give(size)

    def data(self) -> bytearray:
        """All that is in the file."""
        found = bytearray()
        for piece in self.pieces():
            found += piece
        return found

    def pieces(self) -> Iterator[bytes]:
        """Read the text piece by piece."""
        if self.standard:
            full = True
            while full:                         # a terminal tells only once that the input has ended
                piece = sys.stdin.buffer.read(PIECE)
                self.take(len(piece))
                yield piece
                full = len(piece) == PIECE
            return
        with open(self.path, "rb", buffering=0) as file:
            expected, done = os.fstat(file.fileno()).st_size, 0
            self.take(expected)
            while piece := file.read(PIECE):
                done += len(piece)
                if done > expected:             # a pipe, or a file that grows
                    self.take(len(piece))
                yield piece

    def text(self) -> str:
        """The text of a UTF-8 file."""
        return self.decoded(self.data())

    def decoded(self, data: Any) -> str:
        """UTF-8 as a text, of which Python keeps every character in the bytes that the largest one needs."""
        self.take(len(data) * width(data))
        return decoded(self.path, data)


def width(data: bytes | bytearray) -> int:
    """Bytes in memory of a character of this text."""
    if data.isascii():
        return 1
    return 4 if ASTRAL.search(data) else 2 if BEYOND_LATIN.search(data) else 1
