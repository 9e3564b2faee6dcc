"""Parts of texts: whole lines, of a table whole rows, which may have line ends within quotes."""
from __future__ import annotations

import csv
import io
import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import field

from nessie.base.records import dataclass
from nessie.base.system.memory import MemoryBudget
from nessie.base.system.seen_files import Seen
from nessie.files.names import SEPARATORS
from nessie.files.reading import PIECE, Reading

SIZE = 4 << 20                  # bytes of a part; the objects that its values are first take ten times as many


@dataclass(frozen=True)
class Lines:
    """The bytes of a file from `start` to before `end`, which are these lines, counted from 1. `header`: the bytes
    that come first, which name a table's columns; `header_lines`: how many lines they are; `seen`: the file as it was
    when it was parted; `columns`: those of a table that are read, all if None."""
    path: str
    start: int
    end: int
    first: int
    last: int
    header: int = 0
    header_lines: int = 0
    seen: Seen | None = field(default=None, kw_only=True)
    columns: Sequence[str] | None = field(default=None, kw_only=True)

    def __str__(self) -> str:
        return f"lines {self.first:,} to {self.last:,} of {self.path}" if self.end > self.start else self.path

    def row(self, number: int) -> str:
        return f"row {number} of {self}"


class Section(Reading):
    """Lines being read, behind the header of their table."""

    def __init__(self, lines: Lines, room: MemoryBudget) -> None:
        super().__init__(lines.path, room, columns=lines.columns)
        self.lines, self.first_line = lines, lines.first - lines.header_lines

    def pieces(self) -> Iterator[bytes]:
        lines = self.lines
        self.take(lines.header + lines.end - lines.start)
        with open(lines.path, "rb", buffering=0) as file:
            for start, end in ((0, lines.header), (lines.start, lines.end)):
                file.seek(start)
                while start < end and (piece := file.read(min(PIECE, end - start))):
                    start += len(piece)
                    yield piece


def lines_of(path: str, ending: str) -> Iterator[Lines]:
    """The parts of a file of text, one after another as they are read."""
    separator = SEPARATORS.get(ending, "")
    with open(path, "rb") as file:
        header = header_of(file, separator) if separator else b""
        size, start, line = os.fstat(file.fileno()).st_size, len(header), 1 + header.count(b"\n")
        about = len(header), header.count(b"\n")
        if start >= size:
            yield Lines(path, start, start, line, line, *about)
        while start < size:
            block = next_rows(file, start, size, separator)
            ends = block.count(b"\n") + (not block.endswith(b"\n"))
            yield Lines(path, start, start + len(block), line, line + ends - 1, *about)
            start, line = start + len(block), line + ends


def header_of(file: io.BufferedReader, separator: str) -> bytes:
    """The bytes of the first row."""
    taken: list[bytes] = []

    def lines() -> Iterator[str]:
        for line in file:
            taken.append(line)
            yield line.decode("latin-1")            # where characters are bytes
    with suppress(csv.Error):                       # who reads the part says what is wrong
        next(filter(None, csv.reader(lines(), delimiter=separator)), None)
    return b"".join(taken)


def next_rows(file: io.BufferedReader, start: int, size: int, separator: str) -> bytes:
    """The bytes of some rows from `start` on."""
    wanted = SIZE
    while True:
        file.seek(start)
        block = file.read(min(wanted, size - start))
        if start + len(block) >= size or not block:
            return block
        if end := rows_end(block[:block.rfind(b"\n") + 1], separator):
            return block[:end]
        wanted *= 2


def rows_end(lines: bytes, separator: str) -> int:
    """Where the last row ends that ends in these lines."""
    if not separator or b'"' not in lines:
        return len(lines)
    taken = end = 0

    def decoded() -> Iterator[str]:
        nonlocal taken
        for line in io.BytesIO(lines):
            taken += len(line)
            yield line.decode("latin-1")
    longest = csv.field_size_limit(len(lines) + 1)
    try:
        for _ in csv.reader(decoded(), delimiter=separator, strict=True):
            end = taken
    except csv.Error:                   # the lines end within quotes, or who reads the part says what is wrong
        return end if taken == len(lines) else len(lines)
    finally:
        csv.field_size_limit(longest)
    return end
