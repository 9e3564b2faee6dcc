"""Where the parts of a result go.

    OUT, OUT.parquet            a folder, with a table for each part
    OUT.npy                     a file of all rows; its first bytes are written when it is known how many there are
    OUT.jsonl .csv .tsv         a file that grows, to which gzip may pack: OUT.jsonl.gz
    -                           lines of JSON, on standard output

A folder has the parts that are finished, whatever happens then; a file is there as a whole, or not at all.
"""
from __future__ import annotations

import os
import struct
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import IO, Any

import numpy as np

from nessie.base.records import dataclass
from nessie.base.source import NessieError
from nessie.base.system.writing import replace_file
from nessie.base.types import ContentOf, Seq, Type, expand
from nessie.base.values import Flat
from nessie.files.files import (
    TableStyle,
    check_writable,
    encoded,
    packed,
    refuse_misfit,
)
from nessie.files.formats.json_format import encode_jsonl
from nessie.files.formats.numpy_format import array_of_rows
from nessie.files.formats.written_table import columns_of, encode_table
from nessie.files.names import PACKED, SEPARATORS, ending_of
from nessie.files.partitions.readers import some_rows
from nessie.files.written_by_workers import make_folder, new_file, refuse_used, refusing

Add = Callable[[Any, Type], None]       # what adds a part: a flat value, of this type
TABLE = ".parquet"
GROWING = (".npy", ".jsonl", *SEPARATORS)
SLICE = 1 << 14                         # rows that become text at a time
ANY_LENGTH = "a folder of tables, .parquet, and a .jsonl file hold rows of any length"
HEADER = 256                            # bytes of an .npy file's header, with room for any shape of NESL's


@dataclass(frozen=True)
class Out:
    """Where parts go. `style`: of tables."""
    path: str
    style: TableStyle

    @property
    def is_folder(self) -> bool:
        return self.path != "-" and ending_of(self.path) not in GROWING

    def refuse_taken(self) -> None:
        """NessieError if it is certain, before there is a part, that none can be written there."""
        ending = ending_of(self.path)
        if self.is_folder:
            if ending not in ("", TABLE):
                raise NessieError(f"{self.path}: parts are written to a folder of tables, {TABLE}, or to a file "
                                  f"{', '.join(GROWING)}, not {ending}")
            if os.path.exists(self.path) and not (os.path.isdir(self.path) or os.path.isfile(self.path)):
                raise NessieError(f"{self.path}: cannot be written: it is no plain file",
                                  hint="- stands for standard output, to which lines of JSON go")
            refuse_used(self.path)
            return
        check_writable(self.path)
        if os.path.exists(self.path) and not os.path.isfile(self.path):
            raise NessieError(f"{self.path}: cannot be written: it is no plain file")

    def refuse_type(self, type_: Type, content: ContentOf) -> None:
        """NessieError if values of this type cannot go there."""
        kind = "lines.jsonl" if self.path == "-" else self.part(0)
        try:
            refuse_misfit(kind, type_, content, self.path, self.style)
        except NessieError as error:
            hint = "" if isinstance(expand(type_, content), Seq) else "the results of parts are written as rows"
            raise NessieError(error.message, hint=hint) from None

    def part(self, number: int) -> str:
        """The path of a part of a folder; of a file, its own."""
        return os.path.join(self.path, f"part-{number:05}{TABLE}") if self.is_folder else self.path

    def write_part(self, number: int, value: Any, type_: Type, content: ContentOf) -> str:
        """The path of a table that has the part. It is there as a whole, or not at all."""
        path = self.part(number)
        with refusing(path):
            replace_file(path, encoded(path, value, type_, content, self.style), 0o666, durable=True)
        return path

    @contextmanager
    def without_empty_folder(self) -> Iterator[None]:
        """Where the body fails before a part is written, the folder goes that it has made."""
        there = os.path.exists(self.path)
        try:
            yield
        except BaseException:
            if self.is_folder and not there:
                with suppress(OSError):         # it has parts, or was never made
                    os.rmdir(self.path)
            raise

    @contextmanager
    def growing(self, content: ContentOf, say: Callable[[str], object]) -> Iterator[Add]:
        """Adds parts to a file, which is in its place when all are there; or says them."""
        if self.path == "-":
            yield Said(content, say).add
            return
        with new_file(self.path) as new, open(new, "wb") as file:
            if ending_of(self.path) == ".npy":
                array = ArrayFile(self.path, file)
                yield array.add
                array.finish()
            else:
                yield TextFile(self, content, file).add


def make(out: Out) -> None:
    if out.is_folder:
        make_folder(out.path)


@dataclass
class Said:
    """Lines of JSON."""
    content: ContentOf
    say: Callable[[str], object]

    def add(self, value: Any, type_: Type) -> None:
        for some in slices(value):
            self.say(encode_jsonl(some, type_, self.content).decode())


def slices(value: Flat) -> Iterator[Flat]:
    """The rows, some at a time, since as text they take more."""
    for first in range(0, max(1, value.length), SLICE):
        yield some_rows(value, first, min(value.length, first + SLICE))


@dataclass
class TextFile:
    """Lines, or the rows of a table, whose header comes once."""
    out: Out
    content: ContentOf
    file: IO[bytes]
    begun: bool = False

    def add(self, value: Any, type_: Type) -> None:
        for some in slices(value):
            data = self.text(some, type_)
            self.file.write(packed(data) if self.out.path.lower().endswith(PACKED) else data)
            self.begun = True

    def text(self, value: Flat, type_: Type) -> bytes:
        path, whole = self.out.path, expand(type_, self.content)
        separator = SEPARATORS.get(ending_of(path))
        if separator is None:
            return encode_jsonl(value, type_, self.content)
        style = self.out.style
        names = style.names(path, len(columns_of(whole)))
        return encode_table(path, value, whole, separator, names, style.quoting, not self.begun)


@dataclass
class ArrayFile:
    """An array, of rows of one length."""
    path: str
    file: IO[bytes]
    dtype: Any = None
    shape: tuple[int, ...] = ()

    def add(self, value: Any, type_: Type) -> None:
        array = array_of_rows(self.path, value, type_, (self.shape or (0,))[0], ANY_LENGTH)
        if self.dtype is None:
            self.file.write(bytes(HEADER))
        elif len(array) and self.shape[0] and array.shape[1:] != self.shape[1:]:
            raise NessieError(f"{self.path}: row 0 has length {self.shape[1]}, row {self.shape[0]} has "
                              f"{array.shape[1]}", hint=ANY_LENGTH)
        inner = array.shape[1:] if len(array) or not self.shape else self.shape[1:]
        self.dtype, self.shape = array.dtype, (len(array) + (self.shape or (0,))[0], *inner)
        self.file.write(array.data)

    def finish(self) -> None:
        if self.dtype is not None:
            self.file.seek(0)
            self.file.write(header(self.dtype, self.shape))


def header(dtype: np.dtype[Any], shape: tuple[int, ...]) -> bytes:
    """The beginning of an .npy file, of format 1.0 (NumPy's NEP 1), always of the same length."""
    begin = np.lib.format.magic(1, 0) + struct.pack("<H", HEADER - 10)
    told = f"{{'descr': {np.lib.format.dtype_to_descr(dtype)!r}, 'fortran_order': False, 'shape': {shape!r}, }}"
    return begin + told.encode().ljust(HEADER - len(begin) - 1) + b"\n"
