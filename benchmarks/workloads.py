"""What is measured: NESL programs with arguments, the same computed by NumPy, and what must agree."""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import log2
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from nessie.base.values import Flat, Nested

Floats = NDArray[np.float64]
ROW = 16                        # values in a row of the sparse matrix, on average


@dataclass(frozen=True)
class Workload:
    """`entry` of `nesl_examples/<entry>.nesl` on arguments of this `type`. `arguments` makes them, for a size, as NumPy
    arrays; `given` packs them as Nessie's flat values, without copies; `numpy` computes the same from them; `arrays`
    are those of the result of either. `size`: elements, unless told otherwise; bytes are counted on `counted` elements,
    of several chunks where that is quick enough, and grow as `work`."""
    entry: str
    type: str
    size: int
    arguments: Callable[[Generator, int], tuple[Any, ...]]
    given: Callable[..., Any]
    numpy: Callable[..., Any]
    arrays: Callable[[Any], list[Floats]]
    counted: int = 80_000
    work: Callable[[int], float] = float


def flat(column: Any) -> Flat:
    return Flat(len(column), column)


def random_floats(random: Generator, n: int, count: int) -> tuple[Floats, ...]:
    return tuple(random.random(n) for _ in range(count))


def norm2(xs: Floats) -> tuple[Floats, Floats]:
    return xs / xs.sum(), xs / xs[xs > 0.0].sum()


def sparse_arguments(random: Generator, n: int) -> tuple[Any, ...]:
    """About n values in rows of 0 to 2 * ROW; as many columns as rows."""
    rows = max(1, n // ROW)
    offsets = np.zeros(rows + 1, np.int64)
    np.cumsum(random.integers(0, 2 * ROW + 1, rows), out=offsets[1:])
    values = int(offsets[-1])
    return offsets, random.integers(0, rows, values), random.random(values), random.random(rows)


def sparse_mxv(offsets: NDArray[np.int64], columns: NDArray[np.int64], values: Floats, v: Floats) -> Floats:
    """Products, then their sums by row; `reduceat` has no empty rows, so they are left out."""
    filled = np.flatnonzero(np.diff(offsets))
    result = np.zeros(len(offsets) - 1)
    if len(filled):
        result[filled] = np.add.reduceat(values * v[columns], offsets[filled])
    return result


WORKLOADS = {w.entry: w for w in (
    Workload("dotp", "([float], [float])", 10_000_000, lambda random, n: random_floats(random, n, 2),
             lambda xs, ys: (flat(xs), flat(ys)), lambda xs, ys: (xs * ys).sum(), lambda r: [np.array([r])]),
    Workload("norm2", "[float]", 10_000_000, lambda random, n: (random.random(n) - 0.25,),
             flat, norm2, lambda r: [getattr(part, "column", part) for part in r]),
    Workload("sparse_mxv", "([[(int, float)]], [float])", 10_000_000, sparse_arguments,
             lambda offsets, columns, values, v: (Flat(len(offsets) - 1, Nested(offsets, (columns, values))), flat(v)),
             sparse_mxv, lambda r: [getattr(r, "column", r)]),
    Workload("quicksort", "[float]", 1_000_000, lambda random, n: random_floats(random, n, 1),
             flat, np.sort, lambda r: [getattr(r, "column", r)], 4_000, lambda n: n * log2(max(n, 2))),
)}
