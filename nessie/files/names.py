"""What the name of a file says: its format, by the ending, and which columns of a table are read.

    rows.parquet            all columns
    rows.parquet:r          one of them; the rows are its elements
    rows.parquet:id,r       some, in this order; the rows are tuples
    'rows.csv:"a,b",c'      names as cells of a .csv file: one with a comma is quoted
    parts:r                 of all tables in a folder
    rows/*.parquet:r        of all tables that a pattern names

A file that is called like all of this, the colon included, is that file.
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
SHOWN = 20                      # names of columns in a message


@dataclass(frozen=True)
class FileName:
    """A file, and the names of the columns that are read; None: all."""
    path: str
    columns: tuple[str, ...] | None = None


def file_name(text: str) -> FileName:
    """What this text names."""
    if not os.path.exists(text):
        for at in [at for at, character in enumerate(text) if character == ":"]:
            if ending_of(text[:at]) in TABLES or os.path.isdir(text[:at]):
                return FileName(text[:at], columns_in(text, at))
    return FileName(text)


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


def with_columns(path: str, names: Sequence[str]) -> str:
    """The name of these columns of the table."""
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator="").writerow(names)
    return f"{path}:{text.getvalue()}"


def listed(names: Sequence[str]) -> str:
    """The names as messages show them."""
    more = f", and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return ", ".join(names[:SHOWN]) + more


def ending_of(path: str) -> str:
    """The ending that decides the format; of packed text the one before .gz."""
    if path == "-":
        return ".json"
    ending, inner = Path(path).suffix.lower(), Path(Path(path).stem).suffix.lower()
    return inner if ending == PACKED and inner in TEXTS else ending
