"""Reads a part of a file as a file: by the reader of the whole one's format."""
from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from threading import Lock
from typing import Any

from nessie.base.records import dataclass
from nessie.base.source import NessieError
from nessie.base.system.memory import MemoryBudget
from nessie.base.values import Column, Flat, Nested, Uniform
from nessie.files.files import refusals
from nessie.files.formats import arrow_format
from nessie.files.formats.json_format import read_jsonl
from nessie.files.formats.npz_format import read_npz
from nessie.files.formats.numpy_format import array_in, array_rows
from nessie.files.formats.table import read_csv, read_tsv
from nessie.files.formats.text import read_txt
from nessie.files.names import ending_of
from nessie.files.partitions.lines import Lines, Section
from nessie.files.partitions.partitions import BUFFER, Partition, RowGroup, Rows, refuse_changed
from nessie.files.parts import File
from nessie.files.reading import Reading

OF_LINES = {".jsonl": read_jsonl, ".csv": read_csv, ".tsv": read_tsv, ".txt": read_txt}


@dataclass
class Opened:
    """A file of Parquet that is being read. `next`: the row group, and how many of its rows have been read."""
    path: str
    file: Any
    closing: ExitStack
    next: tuple[int, int] = (-1, 0)
    batches: Iterator[Any] = iter(())


class Reader:
    """Reads parts: in their order, each byte of a file once."""

    def __init__(self) -> None:
        self.opened: Opened | None = None

    def read(self, part: Partition, room: MemoryBudget) -> File:
        """The part of a file that has not changed by now; who has used all of it looks once more (refuse_changed)."""
        refuse_changed(part)
        with refusals(part.path):
            match part:
                case Lines():
                    return OF_LINES[ending_of(part.path)](Section(part, room))
                case RowGroup():
                    return self.row_group(part, room)
                case Rows():
                    return rows_of_array(part, room)
            return read_npz(Reading(part.path, MemoryBudget(room.limit, room.hint, mapped=True)))

    def row_group(self, part: RowGroup, room: MemoryBudget) -> File:
        opened = self.open(part.path)
        file = Reading(part.path, room, columns=part.columns)
        file.first_row = part.first
        empty = arrow_format.chosen(file, opened.file.schema_arrow.empty_table())
        import pyarrow as pa
        try:
            if part.group < 0:
                return arrow_format.table(file, empty)
            batches = [arrow_format.chosen(file, batch) for batch in self.batches(opened, part)]
            found = pa.Table.from_batches(batches, empty.schema)
            file.take(found.nbytes)
            return arrow_format.table(file, found)
        except pa.ArrowException:
            raise arrow_format.broken(part.path, "Parquet") from None

    def open(self, path: str) -> Opened:
        if self.opened is None or self.opened.path != path:
            self.close()
            closing = ExitStack()
            self.opened = Opened(path, closing.enter_context(arrow_format.open_parquet(path, BUFFER)), closing)
        return self.opened

    def batches(self, opened: Opened, part: RowGroup) -> list[Any]:
        """The part's rows. Those before it are read, too, unless they have just been."""
        import pyarrow as pa
        pa.default_memory_pool().release_unused()           # what it keeps of the part before goes back to the system
        if opened.next != (part.group, part.skipped) or not part.skipped:
            opened.batches = opened.file.iter_batches(max(1, part.batch), [part.group], part.columns,
                                                      use_threads=False)
            opened.next = part.group, 0
        at, end, found = opened.next[1], part.skipped + part.count, list[Any]()
        while at < end:
            batch = next(opened.batches)
            at += batch.num_rows
            if at > part.skipped:
                found.append(batch)
        opened.next = part.group, at
        return found

    def close(self) -> None:
        if self.opened is not None:
            self.opened.closing.close()
            self.opened = None


class Readers:
    """Reads parts of several files, whose rows belong together: each file by a reader of its own. One thread reads;
    any may close."""

    def __init__(self) -> None:
        self.every, self.reads, self.closed = list[Reader](), Lock(), False

    def read(self, parts: Sequence[Partition], room: Callable[[], MemoryBudget]) -> list[File]:
        """A part of each. `room`: for one of them."""
        try:
            with self.reads:
                if self.closed:
                    raise ValueError("the files of parts are closed")
                self.every.extend([Reader() for _ in parts[len(self.every):]])
                return [reader.read(part, room()) for reader, part in zip(self.every, parts, strict=True)]
        finally:
            if self.closed:
                self.close()

    def close(self) -> None:
        """Nothing is read any more. A thread that reads closes the files when it has done so; nobody waits for it."""
        self.closed = True
        if self.reads.acquire(blocking=False):
            try:
                for reader in self.every:
                    reader.close()
            finally:
                self.reads.release()


def rows_of_array(part: Rows, room: MemoryBudget) -> File:
    """Rows of the array in a file, which is mapped."""
    array = array_in(Reading(part.path, MemoryBudget(mapped=True)))
    if part.first + part.count > len(array):
        raise NessieError(f"{part.path} has {len(array)} rows by now, and had more")
    file = Reading(part.path, room)
    found = array[part.first:part.first + part.count]
    file.take(found.nbytes)
    return array_rows(file, found.copy())


def some_rows(value: Flat, first: int, last: int) -> Flat:
    """Rows from `first` to before `last`."""
    return Flat(last - first, some(value.column, first, last))


def some(column: Column, first: int, last: int) -> Column:
    match column:
        case tuple():
            return tuple([some(part, first, last) for part in column])
        case Uniform(length=length):
            return Uniform(last - first, length, some(column.content, first * length, last * length))
        case Nested():
            offsets = column.offsets[first:last + 1]
            return Nested(offsets - offsets[0], some(column.content, int(offsets[0]), int(offsets[-1])))
    return column[first:last]
