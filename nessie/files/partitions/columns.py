"""The columns of tables that are parts of one argument. A row becomes a tuple by the order of the columns, so all
tables have the names of the first, in its order, unless the columns are named that are read.
"""
from __future__ import annotations

import csv
import io
import os
from collections.abc import Sequence
from typing import Any

from nessie.base.source import NessieError
from nessie.files.files import refusals
from nessie.files.formats.arrow_format import open_parquet
from nessie.files.formats.table import names_columns, unmarked
from nessie.files.names import SEPARATORS, TABLES, FileName, cell, ending_of, file_name, listed, text_of
from nessie.files.partitions.lines import header_of


def refuse_other_columns(files: Any, found: Sequence[FileName]) -> None:
    """NessieError for a table with other columns than the first one. `found`: the files that `files` are."""
    tables = [file for file in found if ending_of(file.path) in TABLES]
    if all([file.columns is not None for file in tables[1:]]):
        return
    first, due = tables[0].path, names_of(tables[0])
    for file in tables[1:]:
        names = due if file.columns is not None else names_of(file)
        if due is not None and names is not None and names != due:
            pattern = file_name(os.fsdecode(files)).path if isinstance(files, str | bytes | os.PathLike) else file.path
            by_name = f"{text_of(FileName(pattern, tuple(due)))} reads them by name" if set(due) <= set(names) else ""
            held, others = [listed(list(map(cell, some))) for some in (names, due)]
            raise NessieError(f"{file.path} has other columns than {first}: {held} instead of {others}", hint=by_name)


def names_of(file: FileName) -> Sequence[str] | None:
    """The names of the columns that are read; None if there are none, which is told by who reads the file."""
    if file.columns is not None:
        return file.columns
    with refusals(file.path):
        if ending_of(file.path) not in SEPARATORS:
            with open_parquet(file.path) as table:
                return tuple(table.schema_arrow.names)
        separator = SEPARATORS[ending_of(file.path)]
        with open(file.path, "rb") as text:
            header = header_of(text, separator).decode("utf-8-sig", "replace")
    try:
        cells = next(filter(None, csv.reader(io.StringIO(header, newline=""), delimiter=separator)), [])
    except csv.Error:
        return None
    return tuple(map(unmarked, cells)) if names_columns(cells) else None
