"""Opens, reads and writes files of values: `@path` arguments in, `-o path` results out. The name's ending decides the
format.

    .json   any value                                            formats.json_format
    .jsonl  a sequence, one element per line, as JSON            formats.json_format
    .txt    text, its lines, or its numbers                      formats.text
    .csv    a sequence of tuples, one component per column       formats.table
    .tsv    the same, with tabs                                  formats.table
    .arrow, .parquet   a sequence of tuples, by PyArrow          formats.arrow_format
    .npy    a vector, or a matrix as rows                        formats.numpy_format
    .npz    a sparse matrix of SciPy, or offsets and content     formats.npz_format
    .mtx    a Matrix Market matrix as rows of (column, value)    formats.matrix_market

Text may be packed by gzip: .json.gz. The path `-` is standard input or output, as JSON. Output to other devices and
pipes is JSON, too.

The parameter's type decides how a file is read. If that type has variables or is unknown, all arguments together
determine it (nessie.arguments.types). So a file is opened first, and its value is made once its type is known. Every
mistake in a file is a NessieError with the file, the line and the reason.

Memory for a file's contents is counted before it is allocated (files.reading), as a small file may claim to be large.

A format's module is imported only when there is a file of that format.
"""
from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nessie.base.records import dataclass
from nessie.base.source import NessieError
from nessie.base.system.memory import MemoryBudget
from nessie.base.system.writing import write_file
from nessie.base.types import CHAR, ContentOf, Seq, Type, components, expand, holds_function, no_datatypes, show_type
from nessie.files.names import BY_PARTS, PACKED, SEPARATORS, TABLES, ending_of, file_name
from nessie.files.reading import Reading

if TYPE_CHECKING:
    from nessie.files.parts import File
    from nessie.files.read_by_workers import Hands

WRITTEN = (".json", ".jsonl", ".csv", ".tsv", ".npy", ".npz", ".arrow", ".parquet")
BY_WORKERS = (".npy", ".parquet")       # what a cluster's workers write
HELD = {".npy": "scalars in rows", ".npz": "rows of scalars",
        **dict.fromkeys((".jsonl", ".arrow", ".parquet"), "a sequence"),
        **dict.fromkeys((".csv", ".tsv"), "a sequence of tuples of scalars and strings")}
READERS = {                             # each is Reading -> File
    ".json": "json_format:read_json",
    ".jsonl": "json_format:read_jsonl",
    ".txt": "text:read_txt",
    ".csv": "table:read_csv",
    ".tsv": "table:read_tsv",
    ".npy": "numpy_format:read_npy",
    ".npz": "npz_format:read_npz",
    ".mtx": "matrix_market:read_mtx",
    ".arrow": "arrow_format:read_arrow",
    ".parquet": "arrow_format:read_parquet",
}


@dataclass(frozen=True)
class TableStyle:
    """How a table is written. `columns`: the names of its columns, as they were asked for; None: `likely` ones, of
    which unknown ones are empty. `quoting`: mark the texts of a table as texts for spreadsheets."""
    columns: Sequence[str] | None = None
    likely: Sequence[str] = ()
    quoting: bool = False

    def names(self, path: str, count: int) -> list[str]:
        """The names of the table's columns, column1 and so on where they are not known."""
        if self.columns is not None and len(self.columns) != count:
            raise NessieError(f"{path}: the table has {count} column{'s' if count > 1 else ''}, "
                              f"and {len(self.columns)} {'are' if len(self.columns) > 1 else 'is'} named")
        known = self.columns or (self.likely if len(self.likely) == count else [""] * count)
        return [name or f"column{number}" for number, name in enumerate(known, 1)]


USUAL = TableStyle()


def open_file(name: str, room: MemoryBudget | None = None, hands: Callable[[], Hands] | None = None) -> File:
    """Open the file of this name (nessie.files.names). The parameters and the other arguments determine its type later
    (nessie.arguments.types). If `room` is given, reading the file and making its value take no more bytes than that.
    `hands`: workers who may read it."""
    named = file_name(name)
    path = named.path
    ending = ".parquet" if os.path.isdir(path) else ending_of(path)
    if ending not in READERS:
        columns = f"; of {', '.join(TABLES)}, columns may follow: rows.parquet:id,r" * (":" in path)
        raise NessieError(f"{path or '@'}: no kind of file that can be read",
                          hint=f"the names of files end in {', '.join(READERS)}, and those of text may end in "
                               f".gz, too; @- is JSON from standard input{columns}")
    module, _, function = READERS[ending].partition(":")
    with refusals(path):
        reading = Reading(path, room or MemoryBudget(), hands, named.columns)
        found: File = getattr(import_module(f"nessie.files.formats.{module}"), function)(reading)
        return found


def made(path: str, file: File, type_: Type, content: ContentOf) -> Any:
    """The flat value in the file, of `type_`, which the file fits."""
    with refusals(path):
        return file.made(type_, content)


@contextmanager
def refusals(path: str) -> Iterator[None]:
    """Turn errors of the system, exhausted memory and too deep nesting into errors that name the file."""
    try:
        yield
    except OSError as error:
        pattern = isinstance(error, FileNotFoundError) and any(sign in path for sign in "*?[")
        reason = os.strerror(error.errno) if error.errno else error         # PyArrow's own text tells the path again
        tables = f"; {os.path.dirname(path)} names the tables of a folder, as one" * path.endswith("/*.parquet")
        raise NessieError(f"{path}: cannot be read: {reason}",
                          hint=f"{BY_PARTS} all files of a pattern, some rows after the others{tables}" * pattern
                          ) from None
    except MemoryError:
        raise NessieError(f"{path}: out of memory while reading it") from None
    except RecursionError:
        raise NessieError(f"{path}: nested too deeply") from None


def written_as(path: str) -> str:
    """The ending that decides the format written to this path. Devices and pipes without one get JSON."""
    ending = ending_of(path)
    if not ending and (path.startswith("/dev/") or (os.path.exists(path) and not os.path.isfile(path)
                                                    and not os.path.isdir(path))):
        return ".json"
    return ending


def may_hold_tuple(name: str) -> bool:
    """Whether a file of this name may hold a tuple. True for a file that cannot be read, as nothing is known of it."""
    ending = ending_of(file_name(name).path)
    return ending == ".json" or ending not in READERS


def check_writable(path: str, by_workers: bool = False) -> None:
    """Raise NessieError if it is already certain, before there is a result, that the file cannot be written.
    `by_workers`: they write a table as a folder."""
    if path == "-":
        return
    if by_workers and ending_of(path) == ".parquet":
        from nessie.files.written_by_workers import refuse_used
        refuse_used(path)
        return
    ending, folder = written_as(path), Path(path).parent
    if ending not in WRITTEN:
        kinds = f"{', '.join(WRITTEN[:-1])} or {WRITTEN[-1]}"
        raise NessieError(f"{path}: results are written to {kinds}, not {ending or 'this'}")
    if not folder.is_dir() or Path(path).is_dir():
        reason = "it is a folder" if folder.is_dir() else f"there is no folder {folder}"
        raise NessieError(f"{path}: cannot be written: {reason}")
    if not os.access(path if os.path.exists(path) else folder, os.W_OK):
        raise NessieError(f"{path}: cannot be written: permission denied")


def write_value(path: str, value: Any, type_: Type, content: ContentOf = no_datatypes,
                say: Callable[[str], object] = lambda text: sys.stdout.write(text),
                style: TableStyle = USUAL, hands: Callable[[], Hands] | None = None) -> None:
    """Write a flat value in the format of the file's ending; for the path `-`, pass its JSON to `say`. An existing file
    is replaced only by a complete one. `hands`: workers who write tables, as folders, and large arrays."""
    check_writable(path, hands is not None)
    refuse_misfit(path, type_, content, style=style)
    if path == "-":
        from nessie.files.formats.json_format import encode_json
        say(encode_json(value, type_, content).decode().rstrip("\n") + "\n")
        return
    if hands is not None:
        from nessie.files.written_by_workers import brought
        if written_by_workers(hands, path, value, type_, content, style):
            return
        value = brought(hands(), value)
    data = encoded(path, value, type_, content, style)
    try:
        write_file(path, packed(data) if path.lower().endswith(PACKED) else data)
    except OSError as error:
        raise NessieError(f"{path}: cannot be written: {error.strerror or error}") from None


def written_by_workers(hands: Callable[[], Hands], path: str, value: Any, type_: Type, content: ContentOf,
                       style: TableStyle) -> bool:
    """Write it by workers, if it is a table or a large array; was it?"""
    from nessie.files import written_by_workers as workers
    from nessie.files.fit import is_array
    from nessie.files.formats.numpy_format import scalar_of
    ending, whole = written_as(path), expand(type_, content)
    if ending == ".parquet" and isinstance(whole, Seq):
        from nessie.files.formats.arrow_format import encode_parquet
        names = style.names(path, len(components(whole.element)))
        workers.write_tables(hands(), path, value, partial(encode_parquet, type_=whole, names=names))
        return True
    return ending == ".npy" and is_array(type_) and scalar_of(type_) != CHAR and workers.write_array(
        hands(), path, value)


def refuse_misfit(path: str, type_: Type, content: ContentOf, called: str = "", style: TableStyle = USUAL) -> None:
    """Raise NessieError if no value of the type can be written to a file of this name. Messages call it `called`, if it
    has another name."""
    from nessie.files.fit import is_array
    from nessie.files.formats.written_table import columns_of
    called, ending, whole = called or path, written_as(path), expand(type_, content)
    if holds_function(whole):
        raise NessieError(f"{called}: a function cannot be written")
    columns = 0
    match ending:
        case ".npy":
            fits = is_array(type_)
        case ".npz":
            fits = is_array(type_) and is_array(type_.element) and not is_array(type_.element.element)
        case ".csv" | ".tsv":
            columns = len(columns_of(whole))
            fits = columns > 0
        case ".jsonl" | ".arrow" | ".parquet":
            fits = isinstance(whole, Seq)
            columns = len(components(whole.element)) if isinstance(whole, Seq) and ending != ".jsonl" else 0
        case _:
            fits = True
    if not fits:
        raise NessieError(f"{called}: {ending} holds {HELD[ending]}, not {show_type(type_)}",
                          hint="a .json file holds any value")
    if columns:
        style.names(called, columns)


def encoded(path: str, value: Any, type_: Type, content: ContentOf, style: TableStyle) -> bytes:
    """The bytes of the file, which can hold values of the type. A format's module is imported when it is written."""
    ending, whole = written_as(path), expand(type_, content)
    match ending:
        case ".npy":
            from nessie.files.formats.numpy_format import encode_npy
            return encode_npy(path, value, type_)
        case ".npz":
            from nessie.files.formats.npz_format import encode_npz
            return encode_npz(value, type_)
        case ".csv" | ".tsv":
            from nessie.files.formats.written_table import columns_of, encode_table
            names = style.names(path, len(columns_of(whole)))
            return encode_table(path, value, whole, SEPARATORS[ending], names, style.quoting)
        case ".arrow" | ".parquet":
            from nessie.files.formats.arrow_format import encode_arrow, encode_parquet
            assert isinstance(whole, Seq)
            names = style.names(path, len(components(whole.element)))
            return (encode_arrow if ending == ".arrow" else encode_parquet)(path, value, whole, names)
    from nessie.files.formats.json_format import encode_json, encode_jsonl
    return (encode_jsonl if ending == ".jsonl" else encode_json)(value, type_, content)


def packed(data: bytes) -> bytes:
    """The data as gzip packs it, always in the same way: no time is noted."""
    import gzip
    return gzip.compress(data, mtime=0)
