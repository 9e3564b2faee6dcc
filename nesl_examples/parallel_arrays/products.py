"""A matrix product as the paper writes it: a map of rows, within it a map of columns, within it a sum of products."""
from __future__ import annotations

import operator
from typing import Any

import numpy as np

import nessie
from nessie import Array


def product(left: Any, right: Any) -> Array:
    columns = nessie.nest(np.ascontiguousarray(np.transpose(right)))
    return nessie.nest(left).map(lambda row: columns.map(lambda column: sum(x * y for x, y in zip(row, column))))


def dot_combined(a: Any, b: Any) -> Array:
    return nessie.asarray(a).combine(b, lambda x, y: x * y).reduce(operator.add)


def dot_zipped(a: Any, b: Any) -> Array:
    return nessie.asarray(a).zip(b).map(lambda pair: pair[0] * pair[1]).reduce(operator.add)


if __name__ == "__main__":
    print(product([[1, 2], [3, 4]], [[5, 6], [7, 8]]).tolist(), dot_combined([1, 2, 3], [4, 5, 6]).item())
