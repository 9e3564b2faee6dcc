"""Arrays and tables of other libraries as Nessie's own: NumPy's arrays, nessie.Nested and nessie.Tuples, over the same
memory where the layouts agree.

    Awkward         ListOffsetArray: Nested; RecordArray: Tuples with its fields; options of which nothing is missing
    Arrow           as Awkward reads it; tables, too
    data frames     Tuples, whose components are called as the columns
    SciPy           a sparse matrix: rows of (column, element)
    networkx        the neighbours of each node, as numbers
"""
from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable
from typing import Any

import numpy as np

from nessie.api.values import graphs, numpy_arrays
from nessie.api.values.awkward_arrays import awkward
from nessie.api.values.lists import is_foreign
from nessie.api.values.sequences import Nested, Tuples, a
from nessie.base.source import NessieError

MISSING = "this has missing values, and an array has none"


def taken(value: Any) -> Any:
    """Return what the value is as one of Nessie's; itself, if it is of no library that is known here."""
    for is_one, convert in CONVERTERS:
        if is_one(value):
            return convert(value)
    return value


def of_awkward(value: Any) -> Any:
    ak = awkward()
    if type(value).__module__.startswith("pyarrow"):
        if getattr(value, "null_count", 0):
            raise NessieError(MISSING, hint="x.drop_null() leaves them out, x.fill_null(0) replaces them")
        value = ak.from_arrow(value)
    if not isinstance(value, ak.Array):
        raise NessieError(f"{a(type(value).__name__)} is no array", hint="its items are: x.tolist()")
    return of_layout(ak.to_packed(value).layout)


def of_layout(layout: Any) -> Any:
    """Return the value of a packed layout of Awkward's: its offsets begin with 0, and all of its content is used."""
    if layout.is_option:
        if np.any(layout.mask_as_bool(valid_when=False)):
            raise NessieError(MISSING, hint="ak.drop_none(x) leaves them out, ak.fill_none(x, 0) replaces them")
        return of_layout(layout.project())
    if layout.parameter("__array__") in ("string", "bytestring"):
        raise NessieError("texts cannot be in an array", hint="numbers, truth values and records of them can")
    if layout.is_numpy:
        return np.asarray(layout.data)
    if layout.is_unknown:
        return np.empty(0)
    if layout.is_list:
        offsets = layout.to_ListOffsetArray64(True)
        return Nested(np.asarray(offsets.offsets.data), of_layout(offsets.content))
    if layout.is_record:
        return columns(layout.fields, [of_layout(layout[field]) for field in layout.fields])
    raise NessieError("an array of Awkward's whose elements are of several types is no array here")


def of_table(table: Any) -> Any:
    return columns([str(name) for name in table.columns], list(map(of_column, numpy_arrays.columns_of(table))))


def of_column(column: Any) -> Any:
    if numpy_arrays.lacks(column):
        raise NessieError(MISSING, hint="x.dropna() leaves them out, x.fillna(0) replaces them")
    return np.asarray(column)


def of_matrix(matrix: Any) -> Nested:
    if matrix.ndim != 2:
        raise NessieError("a sparse array of one dimension is no array here", hint="x.toarray() is an array of NumPy's")
    return graphs.columns_and_elements(graphs.sorted_rows(matrix.tocsr()))


def of_graph(graph: Any) -> Nested:
    return graphs.neighbours(graphs.edges_of(graph))


def columns(names: list[str], parts: list[Any]) -> Any:
    """Return tuples with these components; a single one is itself."""
    if len(parts) == 1:
        return parts[0]
    return Tuples(*parts, make=namedtuple("Record", names, rename=True))


CONVERTERS: tuple[tuple[Callable[[Any], bool], Callable[[Any], Any]], ...] = (
    (is_foreign, of_awkward), (graphs.is_sparse, of_matrix), (graphs.is_graph, of_graph),
    (numpy_arrays.is_table, of_table), (lambda value: hasattr(value, "isna") and hasattr(value, "to_numpy"), of_column))
