"""Writes tables, .csv and .tsv, as formats.table reads them.

Spreadsheets evaluate a text that begins like a formula, whoever wrote it. On request (quoting), such a text gets an
apostrophe in front, which marks it as text. The name of its column gets one, too, so that the reader strips them again.
A text that already has apostrophes before the beginning of a formula gets one more, so that it is read back unchanged.
"""
from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from typing import Any, Literal

from nessie.base.source import NessieError
from nessie.base.types import BOOL, CHAR, STRING, Base, Pair, Seq, Type, no_datatypes
from nessie.base.values import Column, Flat, plain_value
from nessie.files.formats.table import FORMULA, TEXT, leaves_of


def columns_of(type_: Type) -> list[Type]:
    """The types of the columns of a type without datatypes; none, unless it is a sequence of scalars and strings, or of
    tuples of them."""
    leaves = leaves_of(type_.element, no_datatypes) if isinstance(type_, Seq) else []
    return leaves if all(isinstance(leaf, Base) or leaf == STRING for leaf in leaves) else []


def encode_table(path: str, value: Any, type_: Type, separator: str, names: Sequence[str],
                 quoting: bool = False, begins: bool = True) -> bytes:
    """The bytes of a .csv or .tsv file with the table, whose columns have these names. `quoting`: quote texts, and mark
    those that begin like formulas as texts; `begins`: the names come first."""
    assert isinstance(type_, Seq)
    kinds = leaves_of(type_.element, no_datatypes)
    columns = [cell_texts(plain_value(Flat(value.length, column), Seq(kind)), kind, quoting)
               for column, kind in zip(unnest(value.column, type_.element), kinds, strict=True)]
    header = [f"{TEXT if quoting and kind in (STRING, CHAR) else ''}{name}"
              for name, kind in zip(names, kinds, strict=True)]
    rows = [*[header] * begins, *zip(*columns, strict=True)]
    text = csv_text(rows, separator, csv.QUOTE_NONNUMERIC if quoting else csv.QUOTE_MINIMAL)
    if "\r" in text:                        # the writer does not quote it for "\n" lines, yet it ends a reader's line
        text = csv_text(rows, separator, csv.QUOTE_NONNUMERIC)
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise NessieError(f"{path}: half of a surrogate pair is no text that a table holds",
                          hint="a .json file holds any value") from None


def csv_text(rows: list[Any], separator: str, quoting: Literal[0, 2]) -> str:
    text = io.StringIO(newline="")
    csv.writer(text, delimiter=separator, lineterminator="\n", quoting=quoting).writerows(rows)
    return text.getvalue()


def unnest(column: Column, type_: Type) -> list[Column]:
    """The columns of the leaves of a type, in order."""
    if isinstance(type_, Pair):
        return unnest(column[0], type_.first) + unnest(column[1], type_.second)
    return [column]


def cell_texts(values: list[Any], kind: Type, quoting: bool) -> list[Any]:
    """Values as the csv writer takes them. It writes numbers in full, so that they are read back exactly."""
    if kind in (STRING, CHAR):
        texts = ["".join(value) for value in values]
        return [TEXT + text if quoting and FORMULA.match(text) else text for text in texts]
    return ["true" if value else "false" for value in values] if kind == BOOL else values
