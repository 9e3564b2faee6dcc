"""Nested and Tuples as tables: in notebooks, and for pandas and Arrow."""
from __future__ import annotations

import html
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from nessie.api.values.device import DeviceArray
from nessie.api.values.sequences import (
    SHOWN,
    Elements,
    Nested,
    Tuples,
    characters,
    elements_of,
    is_text,
    listed,
    on_host,
)
from nessie.base.source import Unsupported
from nessie.base.system.extras import install
from nessie.base.system.forking import STEADY

ELEMENTS = 20                   # of a row that a table shows at most


def names_of(tuples: Tuples) -> list[str]:
    """The names of the columns: those of a datatype's named tuple, else their numbers."""
    return [name.removeprefix("_") for name in getattr(tuples.make, "_fields", map(str, range(len(tuples.columns))))]


def to_pandas(value: Any) -> Any:
    """The DataFrame of Tuples, a column for each component, or of a matrix; the Series of a Nested, of arrays or texts,
    or of numbers."""
    try:
        with STEADY:
            import pandas
    except ImportError:
        raise Unsupported("pandas is not installed", hint="pip install pandas") from None
    if isinstance(value, Tuples):
        return pandas.DataFrame({name: flat(column) for name, column in
                                 zip(names_of(value), value.columns, strict=True)})
    if isinstance(value, np.ndarray):
        return pandas.DataFrame(value) if value.ndim == 2 else pandas.Series(value)
    return pandas.Series(flat(value), dtype=None if len(value) else object)


def flat(column: Any) -> Any:
    """The column as pandas takes it: an array, or a list of objects."""
    column = column.to_numpy() if isinstance(column, DeviceArray) else column
    if isinstance(column, np.ndarray) and not is_text(column):
        return column
    return list(elements_of(column))


def to_arrow(value: Any) -> Any:
    """The array of Arrow's over the same memory, as far as Arrow has the same layout: texts and bools are copied."""
    try:
        with STEADY:
            import pyarrow
    except ImportError:
        raise Unsupported("PyArrow is not installed", hint=install("python")) from None
    value = on_host(value)
    if isinstance(value, Tuples):
        return pyarrow.StructArray.from_arrays([to_arrow(column) for column in value.columns], names_of(value))
    if isinstance(value, Nested) and not is_text(value.content):
        return pyarrow.LargeListArray.from_arrays(value.offsets, to_arrow(value.content))
    if isinstance(value, Nested):
        return pyarrow.array(value.to_list(), pyarrow.large_string())
    if is_text(value):
        return pyarrow.array(characters(value), pyarrow.large_string())
    found = pyarrow.array(np.ravel(value))
    for length in reversed(np.shape(value)[1:]):
        found = pyarrow.FixedSizeListArray.from_arrays(found, length)
    return found


# Notebooks --------------------------------------------------------------------------------------


def as_html(value: Elements | np.ndarray[Any, Any]) -> str:
    """The table that a notebook shows: the elements at either end, a row for each."""
    heads = names_of(value) if isinstance(value, Tuples) else ["element"] if is_flat(value) else ["length", "elements"]
    rows = [*body(value, range(min(len(value), 2 * SHOWN)))] if len(value) <= 2 * SHOWN else \
        [*body(value, range(SHOWN)), cells("...", ["..." for _ in heads]),
         *body(value, range(len(value) - SHOWN, len(value)))]
    return (f"<table><thead><tr><th></th>{''.join(f'<th>{html.escape(head)}</th>' for head in heads)}</tr></thead>"
            f"<tbody>{''.join(rows)}</tbody></table><p>{html.escape(caption(value))}</p>")


def is_flat(value: Any) -> bool:
    return isinstance(value, np.ndarray) and value.ndim == 1


def caption(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"{' × '.join([f'{n:,}' for n in value.shape])} of {value.dtype}"
    kind = getattr(value.make, "__name__", "tuples") if isinstance(value, Tuples) else "sequences"
    return f"{len(value):,} {kind}"


def body(value: Any, numbers: Iterable[int]) -> Iterator[str]:
    for number in numbers:
        element = value[number]
        if isinstance(value, Tuples):
            yield cells(str(number), [shown(part) for part in element])
        elif is_flat(value):
            yield cells(str(number), [shown(element)])
        else:
            yield cells(str(number), [f"{len(element):,}", shown(element)])


def cells(number: str, texts: Iterable[str]) -> str:
    return f"<tr><th>{number}</th>{''.join(f'<td>{html.escape(text)}</td>' for text in texts)}</tr>"


def shown(part: Any) -> str:
    """The text of an element; of a long sequence, its beginning."""
    if isinstance(part, str):
        return part if len(part) <= 4 * ELEMENTS else f"{part[:4 * ELEMENTS]}..."
    if isinstance(part, Elements | np.ndarray | DeviceArray):
        texts = [shown(unboxed) for unboxed in listed(part[:ELEMENTS])]
        return f"[{', '.join(texts)}{', ...' if len(part) > ELEMENTS else ''}]"
    return str(part)
