"""Parts of ragged rows and of records, as Awkward and NumPy write them: a[a > 1], a[:, 0], a[:, :2], a["x"]."""
from __future__ import annotations

from typing import Any

import numpy as np

from nessie.api.values.sequences import Nested, Tuples
from nessie.arrays import array as arrays
from nessie.arrays import recorded, values
from nessie.arrays.bodies.kinds import BOOL, Items, Rows
from nessie.base.source import NessieError

END = 2 ** 62           # no row is as long


def part(a: arrays.Array, value: Any, index: Any) -> Any:
    """Return the part of the array, which has this value; None where the value itself has it."""
    kind = a._nessie_node.kind
    if isinstance(kind, Items) and isinstance(index, str) and isinstance(value, Tuples):
        return field(value, kind, index)
    if not isinstance(kind, Rows) or a.ndim != 1:
        return None
    if isinstance(index, Nested):
        index = arrays.nest(index)
    if isinstance(index, arrays.Array) and index._nessie_node.kind == Rows(BOOL):
        return of_body(lambda row, chosen: [x for x, keep in zip(row, chosen, strict=True) if keep], a, index)
    match index:
        case int() | np.integer(), within:
            return value[index[0]][within]
        case first, (slice() | int() | np.integer()) as within:
            chosen = first.to_numpy() if isinstance(first, arrays.Array) else first
            return of_rows(a if first is Ellipsis else arrays.nest(value[chosen]), within)
        case tuple():
            raise NessieError("of ragged rows, a part has one index for rows and one for elements of each",
                              hint="a[:, 0] has the first of each row, a[:, :2] two at most")
    return None


def field(value: Tuples, kind: Items, name: str) -> Any:
    """Return the column of records."""
    names = list(kind.names) or [f"f{n}" for n in range(len(kind.items))]
    if name not in names:
        raise NessieError(f"these records have no {name}", hint=f"they have {', '.join(names)}")
    at = names.index(name)
    column, of = value.columns[at], kind.items[at]
    return values.records(column, of) if isinstance(column, Tuples) and isinstance(of, Items) else column


def of_rows(rows: arrays.Array, within: Any) -> Any:
    """Return an element, or a part, of each row."""
    if not isinstance(within, slice):
        at = int(within)
        return of_body(lambda row: row[at], rows)
    if within.step not in (None, 1):
        raise NessieError("a part of each row has no step", hint="a.map(lambda row: row[::-1]) turns each row round")
    start, stop = within.start or 0, END if within.stop is None else within.stop
    return of_body(lambda row: row[start:stop], rows)


def of_body(body: Any, *operands: arrays.Array) -> Any:
    """Return what the body makes of each row; its errors are told where the user's code has asked for the part."""
    return arrays.Array(recorded.asked_for("the part", operands, body)).to_numpy()
