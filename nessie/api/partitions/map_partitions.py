"""The results of a function on all parts of files, or the files that they are written to.

What an effect would do in parts that are computed anywhere, in any order, nobody knows: such functions are refused.
"""
from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING, Any, TypeVar

from nessie.api.options import check_count
from nessie.api.parameters import parameters_of
from nessie.api.partitions.arguments import Stream, Value, placed
from nessie.api.partitions.calling import PartCall, refuse_effects, room_of, settled
from nessie.api.partitions.doing import Work, here, on_cluster, read_parts, workers_of
from nessie.api.partitions.elsewhere import made_of
from nessie.api.partitions.results import Results
from nessie.base.records import dataclass
from nessie.base.source import NessieError
from nessie.base.system.limits import WORKERS
from nessie.base.types import Fun
from nessie.files.files import TableStyle
from nessie.files.names import TABLES, FileName, ending_of
from nessie.files.partitions.columns import refuse_other_columns
from nessie.files.partitions.outputs import Out, make
from nessie.files.partitions.partitions import files_of, refuse_others
from nessie.files.partitions.zipped import zipped
from nessie.running.target_names import DASK
from nessie.running.targets import Where
from nessie.session.columns import column_names
from nessie.syntax import nodes as syntax

if TYPE_CHECKING:
    from nessie.api.program import Program

Say = Callable[[str], object]
Named = TypeVar("Named", FileName, Out)


@dataclass(frozen=True)
class Asked:
    """Which function of which program, at which type; `columns` of tables are read whose own names say none; `where`:
    the workers, if it is not here."""
    program: Program
    function: str
    asked: syntax.TypeExp | None = None
    columns: Sequence[str] | None = None
    where: Where | None = None


def map_partitions(asked: Asked, files: Any, given: Sequence[Any], named: Mapping[str, Any], out: Any) -> Any:
    """The results as Python's values, as an iterator; or the files that have them."""
    program, path = asked.program, path_of(out)
    entry = program._session.environment.lookup(asked.function)
    assert entry is not None
    if not isinstance(entry.scheme.type, Fun):
        raise NessieError(f"{asked.function} takes nothing")
    names = [parameter.name for parameter in parameters_of(entry, program._session.environment)]
    ordered, by_name, streams = placed(names, files, given, named)
    room = room_of(program)

    def value(one: Any) -> Any:
        return one if isinstance(one, Stream) else Value(one, program._datatypes, room)
    ordered, by_name = [value(one) for one in ordered], {name: value(one) for name, one in by_name.items()}
    if path is not None:
        return written(asked, streams, ordered, by_name, path, TableStyle())
    call, results = begun(asked, streams, ordered, by_name, None)
    return results.map(lambda result: call.value(*result))


def path_of(out: Any) -> str | None:
    """The path that `out` is; NessieError if it is none."""
    if out is None:
        return None
    if not isinstance(out, (str, bytes, os.PathLike)) or not os.fsdecode(out):
        raise NessieError(f"out is the path of a new folder, or of a file, not {out!r}")
    return os.fsdecode(out)


def columns_of(column: Any) -> Sequence[str] | None:
    """The names that `column` is, of one column or of several; NessieError if it is none."""
    if column is None:
        return None
    names = [column] if isinstance(column, str) else list(column) if isinstance(column, Sequence) else []
    if not names or not all(isinstance(name, str) for name in names):
        raise NessieError(f"column is the name of a column, or a list of names, not {column!r}")
    return names


def where_of(cluster: Any, workers: int | None) -> Where | None:
    """The workers that are asked for, if any are; NessieError for a number of workers that is none."""
    check_count("workers", workers, WORKERS)
    return None if cluster is None and workers is None else Where(cluster, workers)


def with_columns(files: Sequence[Sequence[FileName]], columns: Sequence[str]) -> list[Sequence[FileName]]:
    """The files, with these columns of the tables whose names say none. Where there are no tables, of all."""
    def is_table(file: FileName) -> bool:
        return ending_of(file.path) in TABLES
    tables = any([is_table(file) for some in files for file in some])
    return [[replace(file, columns=tuple(columns)) if file.columns is None and (is_table(file) or not tables) else file
             for file in some] for some in files]


def written(asked: Asked, streams: Sequence[Any], given: Sequence[Any], named: Mapping[str, Any], path: str,
            style: TableStyle, say: Say = lambda text: sys.stdout.write(text)) -> list[str]:
    """The paths of the files with the results on all parts of the streams, one for each part, or one for all."""
    environment = asked.program._session.environment
    entry = environment.lookup(asked.function)
    names = column_names(entry.name, environment) if entry is not None else []
    out = Out(path, TableStyle(style.columns, names, style.quoting))
    out.refuse_taken()
    with out.without_empty_folder():
        _, results = begun(asked, streams, given, named, out)
        with closing(results):
            if out.is_folder:
                return [out.part(number) for number, _ in enumerate(results)]
            with out.growing(asked.program._session.content, say) as add:
                for value, type_ in results:
                    add(value, type_)
    return [path]


def begun(asked: Asked, streams: Sequence[Any], given: Sequence[Any], named: Mapping[str, Any],
          out: Out | None) -> tuple[PartCall, Results]:
    """The call, and its results on all parts of the streams. What is wrong with the call is told now."""
    program = asked.program
    names: Sequence[Sequence[FileName]] = [files_of(files) for files in streams]
    if asked.columns is not None:
        names = with_columns(names, asked.columns)
    for files, some in zip(streams, names, strict=True):
        refuse_others(some)
        refuse_other_columns(files, some)
    reading = read_parts(program, zipped(names))
    try:
        first = next(reading)
        parts, files = first
        call = PartCall(program, asked.function, asked.asked,
                        settled(program, asked.function, asked.asked, given, named, parts, files))
        taken = call.taken(parts, files)
        refuse_effects(call, taken)
        if out is not None:
            out.refuse_type(call.typed(taken).result, program._session.content)
            make(out)
    except BaseException:
        reading.close()
        raise
    folder = out if out is not None and out.is_folder else None
    if asked.where is None and program._options.target != DASK:
        return call, Results(here(call, chain([first], reading), folder), reading)
    reading.close()
    made = made_of(program, call.typed(taken).variables)
    work = Work(made, asked.function, asked.asked, call.settled, None if folder is None else anywhere(folder))
    there = [[anywhere(file) for file in some] for some in names]
    return call, Results(on_cluster(work, zipped(there), workers_of(program, asked.where)))


def anywhere(named: Named) -> Named:
    """The same for a process whose working directory is another one."""
    return replace(named, path=os.path.abspath(named.path))
