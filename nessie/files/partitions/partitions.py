"""Which parts files have. Parts come from the files, never from who reads them.

    .parquet                    a row group; of a large one, so many rows that they have some MB
    .npy                        so many rows that they have some MB
    .npz                        the file
    .jsonl .csv .tsv .txt       so many lines that they have some MB

A file without rows is a part without rows.
"""
from __future__ import annotations

import glob
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import field, replace
from typing import Any

from nessie.base.records import dataclass
from nessie.base.source import NessieError
from nessie.base.system.memory import MemoryBudget
from nessie.base.system.seen_files import Seen, look, refuse_other
from nessie.files.files import refusals
from nessie.files.formats.arrow_format import chunks, open_parquet
from nessie.files.formats.numpy_format import array_in
from nessie.files.names import PACKED, TABLES, FileName, ending_of, file_name, shown_in
from nessie.files.partitions.lines import Lines, lines_of
from nessie.files.reading import Reading

BYTES = 8 << 20                 # of a part, at most
BATCH = 4 << 20                 # bytes of Parquet that are decoded at a time: as many as the processor's caches hold
BUFFER = 1 << 20                # bytes of Parquet's pages that are read at a time
SLOT = 8                        # bytes of a number, and of where a row begins
TEXT = "BYTE_ARRAY"             # what Parquet calls texts; each of their characters takes CODE bytes
CODE = 4


@dataclass(frozen=True)
class Whole:
    """A file. `first`: the number of its first row, as for other parts; `seen`: the file as it was when it was
    parted; `columns`: those of a table that are read, all if None."""
    path: str
    first: int = 0
    seen: Seen | None = field(default=None, kw_only=True)
    columns: Sequence[str] | None = field(default=None, kw_only=True)

    def __str__(self) -> str:
        return self.path

    def row(self, number: int) -> str:
        """What messages call the row of this number of the part."""
        return f"row {self.first + number} of {self.path}"


@dataclass(frozen=True)
class Rows(Whole):
    """So many rows of a file."""
    count: int = 0

    def __str__(self) -> str:
        return f"rows {self.first} to {self.first + self.count - 1} of {self.path}" if self.count else self.path

    def some(self, skipped: int, count: int) -> Rows:
        """So many of these rows, behind those that are skipped."""
        return replace(self, first=self.first + skipped, count=count)


@dataclass(frozen=True)
class RowGroup(Rows):
    """So many rows of a row group of a file of Parquet, behind so many of its rows that are skipped. `batch`: rows that
    are decoded at a time. -1: the file has no row groups."""
    group: int = -1
    skipped: int = 0
    batch: int = 0
    whole: bool = True

    def __str__(self) -> str:
        if self.group < 0:
            return self.path
        return f"row group {self.group} of {self.path}" if self.whole else \
            f"rows {self.first} to {self.first + self.count - 1} of {self.path} (row group {self.group})"

    def row(self, number: int) -> str:
        return f"row {self.first + number} of {self.path} (row group {self.group})"

    def some(self, skipped: int, count: int) -> RowGroup:
        return replace(self, first=self.first + skipped, count=count, skipped=skipped, whole=count == self.count)


Partition = Whole | Lines


def files_of(files: Any) -> list[FileName]:
    """The files that are named, by a path, a folder, a pattern, or several; columns may follow each."""
    if isinstance(files, str | bytes | os.PathLike):
        name = file_name(os.fsdecode(files))
        found = [name.path]
        if os.path.isdir(name.path):
            found = [path for path in shown_in(name.path) if ending_of(path) in PARTS]
        elif not os.path.exists(name.path) and glob.has_magic(name.path):
            found = sorted(glob.glob(name.path))
        if not found:
            raise nothing_in(name.path)
        return [replace(name, path=path) for path in found]
    return [file for one in named(files) for file in files_of(one)]


def nothing_in(path: str) -> NessieError:
    """The error for a folder, or a pattern, without files."""
    if os.path.isdir(path):
        return NessieError(f"{path}: a folder without files that have parts: {', '.join(PARTS)}")
    return NessieError(f"there are no files {path}", hint=(
        "columns may follow the ending of a table, also in a pattern: 'rows/*.parquet:id,r'") * (":" in path))


def named(files: Any) -> list[Any]:
    """What is said to be files, one by one."""
    found = list(files) if isinstance(files, Iterable) else [files]
    for one in found:
        if not isinstance(one, str | bytes | os.PathLike):
            shown = f"{one!r:.60}" if isinstance(files, list | tuple) else f"an object of type {type(files).__name__}"
            raise NessieError(f"map_partitions takes files: a path, a folder, a pattern, or several, not {shown}",
                              hint="rows in memory go to the function itself: program.f(rows); parts are of files")
    if not found:
        raise NessieError("map_partitions takes files, and here are none")
    return found


def refuse_others(files: Iterable[FileName]) -> None:
    """NessieError for a file that has no parts, or no columns where some are named, or that is not there."""
    for file in files:
        path = file.path
        if ending_of(path) not in PARTS:
            raise NessieError(f"{path}: parts are read of files {', '.join(PARTS)}")
        if path.lower().endswith(PACKED):
            raise NessieError(f"{path}: packed text has no parts", hint=f"gunzip {path} unpacks it")
        if not os.path.isfile(path):
            raise NessieError(f"cannot open {path}: No such file or directory")
        if file.columns is not None and ending_of(path) not in TABLES:
            raise NessieError(f"columns are read of tables, .parquet, .csv and .tsv, and {path} is none",
                              hint="leave them out: parts of other files are read as they are")


def row_groups(name: FileName) -> Iterator[Rows]:
    path = name.path
    with open_parquet(path, BUFFER) as file:
        metadata, first = file.metadata, 0
        groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
        sizes = [(group.num_rows, bytes_of(chunks(group, name.columns))) for group in groups]
    for number, (rows, size) in enumerate(sizes):
        batch = -(-rows // max(1, -(-size // BATCH)))
        step = batch * (BYTES // BATCH) if size > BYTES else rows
        yield from cut(RowGroup(path, first, rows, number, batch=batch), step)
        first += rows
    if not sizes:
        yield RowGroup(path)


def bytes_of(columns: Sequence[Any]) -> int:
    """Bytes that columns of a row group take in memory, about: a file that repeats values, or packs them, is
    smaller."""
    return sum([max(column.total_uncompressed_size * (CODE if column.physical_type == TEXT else 1),
                    SLOT * column.num_values) for column in columns])


def ranges(name: FileName) -> Iterator[Rows]:
    path = name.path
    array = array_in(Reading(path, MemoryBudget(mapped=True)))
    if not array.ndim:
        raise NessieError(f"{path}: parts are rows of an array, and it has none")
    return cut(Rows(path, 0, len(array)), BYTES * len(array) // max(1, array.nbytes))


def cut(rows: Rows, step: int) -> Iterator[Rows]:
    """The rows in parts of so many; no rows are a part."""
    step = max(1, step)
    for skipped in range(0, max(1, rows.count), step):
        yield rows.some(skipped, min(step, rows.count - skipped))


def partitions_of(file: FileName) -> Iterator[Partition]:
    """The parts of a file, of one of the kinds that have some, in their order."""
    with refusals(file.path):
        seen = look(file.path)
        for part in PARTS[ending_of(file.path)](file):
            yield replace(part, seen=seen, columns=file.columns)


def refuse_changed(part: Partition) -> None:
    """NessieError if the file is another one than when it was parted: rows of two files are never mixed."""
    if part.seen is not None:
        refuse_other(part.seen)


PARTS: dict[str, Callable[[FileName], Iterator[Partition]]] = {
    ".parquet": row_groups, ".npy": ranges, ".npz": lambda file: iter([Whole(file.path)]),
    **dict.fromkeys((".jsonl", ".csv", ".tsv", ".txt"), lambda file: lines_of(file.path, ending_of(file.path)))}
