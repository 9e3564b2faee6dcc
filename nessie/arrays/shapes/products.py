"""Products of matrices and vectors, as NumPy's matmul has them."""
from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from nessie.arrays import array as arrays
from nessie.arrays import recorded
from nessie.arrays.bodies.kinds import BOOL, is_number, shown
from nessie.arrays.shapes.axes import grid, rows
from nessie.arrays.shapes.reshaping import empty, known, reshaped, transposed
from nessie.base.source import NessieError


def product(x: Any, y: Any) -> arrays.Array:
    """Return the product of matrices and vectors, as NumPy's matmul has it."""
    a, b = arrays.asarray(x), arrays.asarray(y)
    if a.ndim > 2 and 1 <= b.ndim <= 2 and None not in (*a.shape, *b.shape):
        count = math.prod([size for size in a.shape[:-1] if size is not None])
        found: arrays.Array = reshaped(a, [(count, a.shape[-1])]) @ b
        return reshaped(found, [(*a.shape[:-1], *b.shape[1:])])
    if not (1 <= a.ndim <= 2 and 1 <= b.ndim <= 2):
        raise NessieError(f"@ multiplies vectors and matrices, and these have {a.ndim} and {b.ndim} dimensions")
    for one in (a, b):
        if not is_number(one._nessie_node.kind):
            raise NessieError(f"@ takes numbers, and these are {shown(one._nessie_node.kind)}")
    inner = a.shape[-1], b.shape[0]
    if None not in inner and inner[0] != inner[1]:
        raise NessieError(f"@ takes rows as long as columns, and these have {inner[0]} and {inner[1]} elements",
                          hint="x @ y multiplies where x.shape[-1] is y.shape[0]; x.T has the other order of axes")
    if 0 in (*a.shape, *b.shape):
        return known(empty(a._nessie_node) @ empty(b._nessie_node), a)
    if a.ndim == b.ndim == 1:
        if both_bool(a, b):
            return a.combine(b, lambda x, y: x and y).any()
        return a.combine(b, lambda x, y: x * y).sum()
    if a.ndim == 1:
        return product(transposed(b, [1, 0]), a)
    vector, columns = b, transposed(b, [1, 0]) if b.ndim == 2 else b
    if b.ndim == 1:
        found = of_rows(a, lambda row: sum(x * y for x, y in zip(row, vector, strict=True)))
    else:
        multiplied = of_rows(a, lambda row: [
            sum(x * y for x, y in zip(row, column, strict=True)) for column in columns])
        found = grid(multiplied, [a.shape[0], b.shape[1]])
    return found.map(lambda x: x > 0) if both_bool(a, b) else found


def of_rows(a: arrays.Array, function: Callable[[Any], Any]) -> arrays.Array:
    """Return what the function makes of each row; its errors are told where the user's code has asked for it."""
    return arrays.Array(recorded.asked_for("@", [rows(a)], function))


def both_bool(a: arrays.Array, b: arrays.Array) -> bool:
    return a._nessie_node.kind == b._nessie_node.kind == BOOL
