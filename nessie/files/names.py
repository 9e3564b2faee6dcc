"""What the name of a file says: its format, by the ending, and which columns of a table are read.

    rows.parquet            all columns
    rows.parquet:r          one of them; the rows are its elements
    rows.parquet:id,r       some, in this order; the rows are tuples
    'rows.csv:"a,b",c'      names as cells of a .csv file: one with a comma is quoted
    parts:r                 of all tables in a folder
    rows/*.parquet:r        of all tables that a pattern names

A file that is called like all of this, the colon included, is that file; and where there is a table whose own name has
a colon, the columns begin behind it: of d:e.parquet:r, it is d:e.parquet that has r.
"""
from __future__ import annotations

import csv
import io
import os
from collections.abc import Sequence
from pathlib import Path

from nessie.base.records import dataclass
from nessie.base.source import NessieError

PACKED = ".gz"                  # ends the name of a file that gzip has packed
TEXTS = (".json", ".jsonl", ".txt", ".csv", ".tsv", ".mtx")             # gzip may pack them
SEPARATORS = {".csv": ",", ".tsv": "\t"}
TABLES = (*SEPARATORS, ".arrow", ".parquet")
BY_PARTS = "--stream, or map_partitions, reads"       # many files, in hints
SHOWN = 20                      # names of columns in a message


@dataclass(frozen=True)
class FileName:
    """A file, and the names of the columns that are read; None: all."""
    path: str
    columns: tuple[str, ...] | None = None


def file_name(text: str) -> FileName:
    """What this text names."""
    if os.path.exists(text):
        return FileName(text)
    colons = [at for at, character in enumerate(text) if character == ":"]
    tables = [at for at in [*colons, len(text)] if ending_of(text[:at]) in TABLES]
    there = [at for at in tables if os.path.exists(text[:at])]
    folders = [at for at in colons if os.path.isdir(text[:at])]
    at = [*there[-1:], *tables, *folders, len(text)][0]
    return FileName(text[:at], columns_in(text, at) if at < len(text) else None)


def columns_in(text: str, at: int) -> tuple[str, ...]:
    """The names of columns behind the colon at this place of the text."""
    try:
        names = next(csv.reader([text[at + 1:]], strict=True), [])
    except csv.Error:
        names = []
    if not names:
        raise NessieError(f"behind the colon of {text}, names of columns are due, with commas between them",
                          hint=f'{text[:at]}:a,"b,c" are the columns called a and b,c')
    return tuple(names)


def text_of(name: FileName) -> str:
    """The text that names it."""
    return name.path if name.columns is None else f"{name.path}:{','.join(map(cell, name.columns))}"


def cell(name: str) -> str:
    """The name of a column as a cell of a .csv file."""
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator="").writerow([name])
    return text.getvalue()


def listed(names: Sequence[str]) -> str:
    """The names of columns, or cells, as messages show them."""
    more = f", and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return ", ".join(names[:SHOWN]) + more


def shown_in(folder: str) -> list[str]:
    """The paths of what is in a folder, in the order of their names. Nobody reads hidden files, such as those that a
    killed process leaves."""
    return [os.path.join(folder, name) for name in sorted(os.listdir(folder)) if name[0] != "."]


def ending_of(path: str) -> str:
    """The ending that decides the format; of packed text the one before .gz."""
    if path == "-":
        return ".json"
    ending, inner = Path(path).suffix.lower(), Path(Path(path).stem).suffix.lower()
    return inner if ending == PACKED and inner in TEXTS else ending
