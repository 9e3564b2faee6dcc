"""Opens, reads and writes files of values: `@path` arguments in, `-o path` results out. The name's ending decides the
format.

    .json   any value                                            files.json_format
    .jsonl  a sequence, one element per line, as JSON            files.json_format
    .txt    text, its lines, or its numbers                      files.text
    .csv    a sequence of tuples, one component per column       files.table
    .npy    a vector, or a matrix as rows                        files.numpy_format
    .npz    a sparse matrix of SciPy, or offsets and content     files.numpy_format
    .mtx    a Matrix Market matrix as rows of (column, value)    files.matrix_market

The path `-` is standard input or output, as JSON. Output to other devices and pipes is JSON, too.

The parameter's type decides how a file is read. If that type has variables or is unknown, all arguments together
determine it (nessie.arguments.types). So a file is opened first, and its value is made once its type is known. Every
mistake in a file is a NessieError with the file, the line and the reason.

Memory for a file's contents is counted before it is allocated (files.reading), as a small file may claim to be large.

A format's module is imported only when there is a file of that format.
"""
from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nessie.base.source import NessieError
from nessie.base.system.memory import MemoryBudget
from nessie.base.system.writing import write_file
from nessie.base.types import ContentOf, Type, expand, holds_function, no_datatypes, show_type
from nessie.files.reading import Reading

if TYPE_CHECKING:
    from nessie.files.parts import File

WRITTEN = (".json", ".csv", ".npy", ".npz")
READERS = {                             # each is Reading -> File
    ".json": "json_format:read_json",
    ".jsonl": "json_format:read_jsonl",
    ".txt": "text:read_txt",
    ".csv": "table:read_csv",
    ".npy": "numpy_format:read_npy",
    ".npz": "numpy_format:read_npz",
    ".mtx": "matrix_market:read_mtx",
}


def open_file(path: str, room: MemoryBudget | None = None) -> File:
    """Open the file. The parameters and the other arguments determine its type later (nessie.arguments.types).
    If `room` is given, reading the file and making its value take no more bytes than that."""
    ending = ending_of(path)
    if ending not in READERS:
        raise NessieError(f"{path or '@'}: no kind of file that can be read",
                          hint=f"the names of files end in {', '.join(READERS)}; @- is JSON from standard input")
    module, _, function = READERS[ending].partition(":")
    with refusals(path):
        found: File = getattr(import_module(f"nessie.files.{module}"), function)(Reading(path, room or MemoryBudget()))
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
        raise NessieError(f"{path}: cannot be read: {error.strerror or error}") from None
    except MemoryError:
        raise NessieError(f"{path}: out of memory while reading it") from None
    except RecursionError:
        raise NessieError(f"{path}: nested too deeply") from None


def ending_of(path: str) -> str:
    return ".json" if path == "-" else Path(path).suffix.lower()


def written_as(path: str) -> str:
    """The ending that decides the format written to this path. Devices and pipes without one get JSON."""
    ending = ending_of(path)
    if not ending and (path.startswith("/dev/") or (os.path.exists(path) and not os.path.isfile(path)
                                                    and not os.path.isdir(path))):
        return ".json"
    return ending


def may_hold_tuple(path: str) -> bool:
    """Whether a file of this name may hold a tuple. True for a file that cannot be read, as nothing is known of it."""
    return ending_of(path) == ".json" or ending_of(path) not in READERS


def check_writable(path: str) -> None:
    """Raise NessieError if it is already certain, before there is a result, that the file cannot be written."""
    if path == "-":
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
                say: Callable[[str], object] = lambda text: sys.stdout.write(text), quoting: bool = False) -> None:
    """Write a flat value in the format of the file's ending; for the path `-`, pass its JSON to `say`. An existing file
    is replaced only by a complete one. `quoting`: mark the texts of a table as texts for spreadsheets."""
    from nessie.files.fit import is_array
    from nessie.files.json_format import encode_json
    from nessie.files.numpy_format import encode_npy, encode_npz
    from nessie.files.table import encode_csv, is_table
    check_writable(path)
    if holds_function(expand(type_, content)):
        raise NessieError(f"{path}: a function cannot be written")
    match written_as(path):
        case _ if path == "-":
            say(encode_json(value, type_, content).decode().rstrip("\n") + "\n")
            return
        case ".json":
            data = encode_json(value, type_, content)
        case ".npy" if is_array(type_):
            data = encode_npy(path, value, type_)
        case ".npz" if is_array(type_) and is_array(type_.element) and not is_array(type_.element.element):
            data = encode_npz(value, type_)
        case ".csv" if is_table(expand(type_, content)):
            data = encode_csv(path, value, expand(type_, content), quoting)
        case ending:
            holds = {".npy": "scalars in rows", ".npz": "rows of scalars",
                     ".csv": "a sequence of tuples of scalars and strings"}[ending]
            raise NessieError(f"{path}: {ending} holds {holds}, not {show_type(type_)}",
                              hint="a .json file holds any value")
    try:
        write_file(path, data)
    except OSError as error:
        raise NessieError(f"{path}: cannot be written: {error.strerror or error}") from None
