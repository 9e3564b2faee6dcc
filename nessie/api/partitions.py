"""A function on parts of files that are independent of each other: one after another here, in bounded memory, or by the
workers of a cluster, each of which reads and writes its own.

    .parquet    a part is a row group, of one column; of several, rows are tuples
    .npy        so many rows that they have some MB
    .npz        a file: offsets and content, as rows

Parts come from the files, never from the number of workers. What an effect would do in parts that are computed
anywhere, in any order, nobody knows: such functions are refused.
"""
from __future__ import annotations

import glob
import os
import zlib
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from typing import TYPE_CHECKING, Any
from zipfile import BadZipFile

import numpy as np

from nessie.api.values.sequences import Elements, Nested
from nessie.base.records import dataclass
from nessie.base.source import NessieError, Unsupported
from nessie.base.system.extras import install
from nessie.files.written_by_workers import make_folder, new_file

if TYPE_CHECKING:
    from nessie.api.options import Options
    from nessie.api.program import Program

BYTES = 32 << 20                # of a part of an .npy file
AHEAD = 2                       # parts for each worker that are asked for before their results are taken
READ = (".parquet", ".npy", ".npz")


@dataclass(frozen=True)
class Part:
    """Of a file: the row group of this number, or rows from `first` to before `last`, or all of it."""
    path: str
    group: int = -1
    first: int = 0
    last: int = -1

    def __str__(self) -> str:
        if self.group >= 0:
            return f"row group {self.group} of {self.path}"
        return f"rows {self.first} to {self.last - 1} of {self.path}" if self.last >= 0 else self.path


@dataclass(frozen=True)
class Work:
    """What is done with each part, by whom it may concern: the function of a program, of which these are the texts."""
    texts: tuple[tuple[str, str], ...]
    options: Options
    function: str
    column: str | None
    out: str | None


@dataclass(frozen=True)
class Failure:
    """An error on the way to another process."""
    message: str
    places: tuple[Any, ...]
    hint: str


def map_partitions(program: Program, function: str, files: Any, column: str | None, cluster: Any, workers: int | None,
                   out: Any) -> Any:
    """The results of the function on all parts of the files, as an iterator; or the files that they are written to."""
    paths = paths_of(files)
    parts = [part for path in paths for part in parts_of(path)]
    folder = None if out is None else os.fsdecode(out)
    work = Work(tuple(program._texts), program._options.plain(), function, column, folder)
    if parts:
        refuse_effects(program, function, empty_of(parts[0], column))
    if folder is not None:
        make_folder(folder)
    results = here(program, work, parts) if cluster is None and workers is None else \
        on_cluster(work, parts, cluster, workers)
    return results if folder is None else list(results)


def paths_of(files: Any) -> list[str]:
    """The files that are named, by a path, a pattern, or several."""
    if isinstance(files, str | bytes | os.PathLike):
        text = os.fsdecode(files)
        found = sorted(glob.glob(text)) if glob.has_magic(text) else [text]
        if os.path.isdir(text):
            found = sorted(os.path.join(text, name) for name in os.listdir(text) if name.endswith(READ))
        if not found:
            raise NessieError(f"there are no files {text}")
        return found
    return [path for one in named(files) for path in paths_of(one)]


def named(files: Any) -> list[Any]:
    """What is said to be files, one by one."""
    found = list(files) if isinstance(files, Iterable) else [files]
    for one in found:
        if not isinstance(one, str | bytes | os.PathLike):
            raise NessieError(f"map_partitions takes files: a path, a folder, a pattern, or several, not {one!r:.60}",
                              hint="a value is what the function itself takes: f(rows)")
    return found


def parts_of(path: str) -> list[Part]:
    ending = os.path.splitext(path)[1]
    if ending not in READ:
        raise NessieError(f"{path}: parts are read of files {', '.join(READ)}")
    if not os.path.isfile(path):
        raise NessieError(f"cannot open {path}: No such file or directory")
    if ending == ".parquet":
        with row_groups(path) as file:
            return [Part(path, group) for group in range(file.num_row_groups)]
    if ending == ".npz":
        return [Part(path)]
    array = rows_of_file(path)
    rows = max(1, BYTES * len(array) // max(1, array.nbytes))
    return [Part(path, -1, first, min(first + rows, len(array))) for first in range(0, len(array), rows)]


def parquet() -> Any:
    try:
        from pyarrow import parquet
    except ImportError:
        raise Unsupported("PyArrow is not installed", hint=install("python")) from None
    return parquet


@contextmanager
def row_groups(path: str) -> Iterator[Any]:
    """The file, open. NessieError if it is none of Parquet."""
    module = parquet()
    from pyarrow import ArrowException
    try:
        with module.ParquetFile(path) as file:
            yield file
    except (ArrowException, OSError):
        raise NessieError(f"{path}: no file of Parquet, or a damaged one") from None


def rows_of_file(path: str) -> Any:
    """The array of an .npy file, mapped. NessieError if it has none, or no rows."""
    with refusals(path):
        array = np.load(path, mmap_mode="r")
    if not isinstance(array, np.ndarray) or not array.ndim:
        raise NessieError(f"{path}: parts are rows of an array, and it has none")
    return array


def rows_of_archive(path: str) -> Nested:
    """The rows of an .npz file."""
    with refusals(path), np.load(path) as archive:
        if not {"offsets", "content"} <= set(archive):
            raise NessieError(f"{path}: its rows are two arrays, offsets and content, and it has "
                              f"{', '.join(archive)}")
        offsets, content = archive["offsets"], archive["content"]
    try:
        return Nested(offsets, content)
    except NessieError as error:
        raise NessieError(f"{path}: {error.message}", hint=error.hint) from None


@contextmanager
def refusals(path: str) -> Iterator[None]:
    """NessieError for the many exceptions with which NumPy refuses a file."""
    try:
        yield
    except (OSError, ValueError, TypeError, EOFError, BadZipFile, zlib.error):
        raise NessieError(f"{path}: no file of NumPy's, or a damaged one") from None


def value_of(part: Part, column: str | None) -> Any:
    """What the function is called on."""
    if part.group >= 0:
        with row_groups(part.path) as file:
            names = file.schema_arrow.names
            if column is None and len(names) > 1:
                return file.read_row_group(part.group, use_threads=False)
            if column is not None and column not in names:
                raise NessieError(f"{part.path} has no column {column}; it has {', '.join(names)}")
            read = file.read_row_group(part.group, columns=[column or names[0]], use_threads=False)
            return rows_of(read.column(0).combine_chunks())
    if part.last >= 0:
        return np.array(rows_of_file(part.path)[part.first:part.last])
    return rows_of_archive(part.path)


def rows_of(array: Any) -> Any:
    """Rows of numbers by their offsets and content, where Arrow has nothing missing; anything else as it is."""
    import pyarrow as pa
    is_rows = pa.types.is_list(array.type) or pa.types.is_large_list(array.type)
    if not is_rows or array.null_count or array.values.null_count or not (
            pa.types.is_integer(array.type.value_type) or pa.types.is_floating(array.type.value_type)):
        return array
    offsets = array.offsets.to_numpy().astype(np.int64)
    return Nested(offsets - offsets[0], array.values.to_numpy()[offsets[0]:offsets[-1]])


def empty_of(part: Part, column: str | None) -> Any:
    """A value of the same type without rows."""
    if part.group >= 0:
        with row_groups(part.path) as file:
            schema = file.schema_arrow
            if column is None and len(schema.names) > 1:
                return schema.empty_table()
            return rows_of(schema.empty_table().column(column if column in schema.names else 0).combine_chunks())
    if part.last >= 0:
        return rows_of_file(part.path)[:0]
    return Nested(np.zeros(1, np.int64), rows_of_archive(part.path).content[:0])


def refuse_effects(program: Program, function: str, empty: Any) -> None:
    """NessieError if the function, at the parts' type, does more than compute."""
    try:
        effect = program._effect_of(function, (empty,))
    except NessieError as error:
        names = getattr(empty, "column_names", None)
        told = f"a row is a tuple of the columns {', '.join(names or ())}; from Python, column= reads one of them"
        raise NessieError(error.message, *error.places, hint=error.hint or (told if names else "")) from None
    if effect == "_seed":
        raise NessieError(f"{function} draws random numbers, and parts are computed anywhere, in any order",
                          hint="let the rows have those that it needs")
    if effect:
        raise NessieError(f"{function} has effects ({effect}), and parts are computed anywhere, in any order",
                          hint="let it give what it wants to print")


# Doing it ---------------------------------------------------------------------------------------


def here(program: Program, work: Work, parts: Sequence[Part]) -> Iterator[Any]:
    """One part after another, in this process."""
    for number, part in enumerate(parts):
        yield raised(done(lambda: program[work.function], work, part, number))


def on_cluster(work: Work, parts: Sequence[Part], cluster: Any, workers: int | None) -> Iterator[Any]:
    """By workers, of which each has a few parts to do at any time."""
    from nessie.cudagen.cluster.on_dask import connected, started
    engine = connected(cluster) if cluster is not None else started(workers or 1)
    try:
        waiting: deque[Any] = deque()
        left = list(enumerate(parts))[::-1]
        while waiting or left:
            while left and len(waiting) < AHEAD * engine.workers():
                number, part = left.pop()
                waiting.append(engine.submit(f"{work.function}-{number}", on_worker, work, part, number))
            (found,) = engine.gather([waiting.popleft()])
            yield raised(found)
    finally:
        engine.close()


def raised(found: Any) -> Any:
    if isinstance(found, Failure):
        raise NessieError(found.message, *found.places, hint=found.hint)
    return found


def on_worker(work: Work, part: Part, number: int, given: list[Any]) -> Any:
    return done(lambda: program_of(work.texts, work.options)[work.function], work, part, number)


def done(function: Callable[[], Any], work: Work, part: Part, number: int) -> Any:
    """The result, or the file that has it, or a Failure."""
    where = ""
    try:
        value, where = value_of(part, work.column), f"{part}: "
        result = function()(value)
        return result if work.out is None else written(result, work.out, number)
    except NessieError as error:
        return Failure(f"{where}{error.message}", tuple(error.places), error.hint)


def written(result: Any, folder: str, number: int) -> str:
    """The path of a file that has the result. It is there as a whole, or not at all."""
    if isinstance(result, int | float | bool | str | tuple):
        raise NessieError(f"a part's result is {'a tuple' if isinstance(result, tuple) else 'one value'}, "
                          "which is no table",
                          hint="leave out= out, and take the results")
    import pyarrow
    path = os.path.join(folder, f"part-{number:05}.parquet")
    table = pyarrow.table({"result": in_arrow(result)})
    with new_file(path) as new:
        parquet().write_table(table, new)
    return path


def in_arrow(result: Any) -> Any:
    """The result as an array of Arrow's; what came of Arrow's arrays is Awkward's."""
    from nessie.api.values.tables import to_arrow
    if isinstance(result, np.ndarray | Elements):
        return to_arrow(result)
    import awkward
    return awkward.to_arrow(result, extensionarray=False)


@lru_cache(maxsize=4)
def program_of(texts: Iterable[tuple[str, str]], options: Options) -> Program:
    from nessie.api.program import Program
    from nessie.base.source import Source
    program = Program(None, options)
    for name, text in texts:
        program._evaluate(Source(name, text))
    return program
