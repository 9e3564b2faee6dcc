"""What is measured on a GPU: programs, the same by NumPy, CuPy and PyTorch, and arguments on which all must agree.

Sums are of eighths, so that they are exact in whatever order they are made.
"""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import sqrt
from pathlib import Path
from typing import Any

import numpy as np
from numpy.random import Generator
from workloads import ROW, flat, norm2, random_floats, sparse_arguments, sparse_mxv

from nessie.base.values import Flat, Nested

EXAMPLES = Path(__file__).resolve().parent.parent / "nesl_examples"
SEGMENTS = (8, 300, 100_000)            # elements of a segment, on average
MOST_SORTED = 1 << 20                   # by quicksort
HELD = 24                               # measured: 13, black-scholes by a peer; 7 by Nessie, which sorts
HELD_BY_QUICKSORT = 64                  # measured: 55, as small arrays are kept for later calls
RATE, VOLATILITY = 0.02, 0.3

COPY = """
kernel copy (n : int, xs : [float; n]) -> [float; n] {
  let ys = MAP { i => xs[i] using xs } (n)
  return ys
}
function main (n : int, xs : [float; n]) -> (m : int, out : [float; m]) {
  let ys : [float; n] = run copy (n, xs)
  return (n, ys)
}
entry main : [float] -> [float]
"""
MAP = "function main(xs) : [float] -> [float] = {x * 2.0 + 1.0 : x in xs};"
BLACK_SCHOLES = f"""
function below(d) : float -> float =
  let k = 1.0 / (1.0 + 0.2316419 * abs(d));
      p = ((((1.330274429 * k - 1.821255978) * k + 1.781477937) * k - 0.356563782) * k + 0.31938153) * k;
      w = p * exp(-0.5 * d * d) / sqrt(6.283185307179586)
  in if d < 0.0 then w else 1.0 - w;
function option(s, k, y) : (float, float, float) -> (float, float) =
  let d1 = (ln(s / k) + ({RATE} + 0.5 * {VOLATILITY} * {VOLATILITY}) * y) / ({VOLATILITY} * sqrt(y));
      d2 = d1 - {VOLATILITY} * sqrt(y);
      paid = k * exp(-{RATE} * y);
      call = s * below(d1) - paid * below(d2)
  in (call, call - s + paid);
function main(spots, strikes, years) : ([float], [float], [float]) -> [(float, float)] =
  {{option(s, k, y) : s in spots; k in strikes; y in years}};
"""

Arrays = tuple[Any, ...]
Ready = Callable[[], Any]


@dataclass(frozen=True)
class Workload:
    """`program`: NESL, whose entry takes arguments of this `type`, None where it says so itself; or fused lambda_cu
    where `lambda_cu`. `arguments` makes NumPy arrays for a size; `given` packs them as the entry's, `numpy` computes
    the same from them, a list of arrays. `cupy` gets CuPy, its sparse matrices and its arrays, `torch` PyTorch and its
    tensors: each gives what computes the same when it is called; None: it has nothing for it. `most`: elements;
    `held`: arrays of so many floats there has to be room for."""
    name: str
    program: str
    arguments: Callable[[Generator, int], Arrays]
    given: Callable[..., list[Any]]
    numpy: Callable[..., list[Any]]
    cupy: Callable[..., Ready] | None = None
    torch: Callable[..., Ready] | None = None
    entry: str = "main"
    type: str | None = None
    most: int | None = None
    held: int = HELD
    lambda_cu: bool = False


def eighths(random: Generator, n: int) -> Any:
    return random.integers(0, 8, n) / 8.0


def one(random: Generator, n: int) -> Arrays:
    return (eighths(random, n),)


def column(xs: Any) -> list[Any]:
    return [flat(xs)]


def example(name: str) -> str:
    return (EXAMPLES / f"{name}.nesl").read_text("utf-8")


def segmented(length: int) -> Callable[[Generator, int], Arrays]:
    """Offsets and elements: segments of any lengths, so many elements on average, some of them empty."""
    def arguments(random: Generator, n: int) -> Arrays:
        cuts = np.sort(random.integers(0, n + 1, max(1, n // length) - 1))
        return np.concatenate([[0], cuts, [n]]).astype(np.int64), eighths(random, n)
    return arguments


def rows(offsets: Any, xs: Any) -> list[Any]:
    return [Flat(len(offsets) - 1, Nested(offsets, xs))]


def row_sums(offsets: Any, xs: Any) -> list[Any]:
    """`reduceat` has no empty rows, so they are left out."""
    filled = np.flatnonzero(np.diff(offsets))
    sums = np.zeros(len(offsets) - 1)
    if len(filled):
        sums[filled] = np.add.reduceat(xs, offsets[filled])
    return [sums]


def row_scans(offsets: Any, xs: Any) -> list[Any]:
    before = np.concatenate([[0.0], np.cumsum(xs)])
    return [before[:-1] - np.repeat(before[offsets[:-1]], np.diff(offsets))]


def black_scholes_arguments(random: Generator, n: int) -> Arrays:
    return random.uniform(5, 30, n), random.uniform(1, 100, n), random.uniform(0.25, 10, n)


def below(xp: Any, d: Any) -> Any:
    k = 1.0 / (1.0 + 0.2316419 * abs(d))
    p = ((((1.330274429 * k - 1.821255978) * k + 1.781477937) * k - 0.356563782) * k + 0.31938153) * k
    w = p * xp.exp(-0.5 * d * d) / sqrt(6.283185307179586)
    return xp.where(d < 0.0, w, 1.0 - w)


def black_scholes(xp: Any, s: Any, k: Any, y: Any) -> list[Any]:
    """By NumPy, or what has the same functions."""
    d1 = (xp.log(s / k) + (RATE + 0.5 * VOLATILITY * VOLATILITY) * y) / (VOLATILITY * xp.sqrt(y))
    d2 = d1 - VOLATILITY * xp.sqrt(y)
    paid = k * xp.exp(-RATE * y)
    call = s * below(xp, d1) - paid * below(xp, d2)
    return [call, call - s + paid]


def cupy_sparse(xp: Any, sparse: Any, offsets: Any, columns: Any, values: Any, v: Any) -> Ready:
    matrix = sparse.csr_matrix((values, columns, offsets), shape=(len(offsets) - 1, len(v)))
    return lambda: matrix @ v


def torch_sparse(torch: Any, offsets: Any, columns: Any, values: Any, v: Any) -> Ready:
    matrix = torch.sparse_csr_tensor(offsets, columns, values, (len(offsets) - 1, len(v)))
    return lambda: matrix @ v


def segment_workloads() -> list[Workload]:
    reduce = "function main(rows) : [[float]] -> [float] = {sum(row) : row in rows};"
    scan = "function main(rows) : [[float]] -> [[float]] = {plus_scan(row) : row in rows};"
    return [
        *(Workload(f"segmented reduce, {length:,}", reduce, segmented(length), rows, row_sums, None,
                   lambda torch, offsets, xs: lambda: torch.segment_reduce(xs, "sum", offsets=offsets))
          for length in SEGMENTS),
        *(Workload(f"segmented scan, {length:,}", scan, segmented(length), rows, row_scans) for length in SEGMENTS)]


WORKLOADS = (
    Workload("map of 1 element", MAP, one, column, lambda xs: [xs * 2.0 + 1.0],
             lambda xp, sparse, xs: lambda: xs * 2.0 + 1.0, lambda torch, xs: lambda: xs * 2.0 + 1.0, most=1),
    Workload("copy", COPY, one, column, lambda xs: [xs],
             lambda xp, sparse, xs: lambda: xs.copy(), lambda torch, xs: lambda: xs.clone(), lambda_cu=True),
    Workload("map", MAP, one, column, lambda xs: [xs * 2.0 + 1.0],
             lambda xp, sparse, xs: lambda: xs * 2.0 + 1.0, lambda torch, xs: lambda: xs * 2.0 + 1.0),
    Workload("reduce", "function main(xs) : [float] -> float = sum(xs);", one, column, lambda xs: [xs.sum()],
             lambda xp, sparse, xs: lambda: xs.sum(), lambda torch, xs: lambda: xs.sum()),
    Workload("scan", "function main(xs) : [float] -> [float] = {s + x : s in plus_scan(xs); x in xs};", one, column,
             lambda xs: [np.cumsum(xs)],
             lambda xp, sparse, xs: lambda: xp.cumsum(xs), lambda torch, xs: lambda: torch.cumsum(xs, 0)),
    Workload("filter", "function main(xs) : [float] -> [float] = {x in xs | x > 0.5};", one, column,
             lambda xs: [xs[xs > 0.5]],
             lambda xp, sparse, xs: lambda: xs[xs > 0.5], lambda torch, xs: lambda: xs[xs > 0.5]),
    *segment_workloads(),
    Workload("sort", "function main(xs) : [float] -> [float] = sort(xs);",
             lambda random, n: random_floats(random, n, 1), column, lambda xs: [np.sort(xs)],
             lambda xp, sparse, xs: lambda: xp.sort(xs), lambda torch, xs: lambda: torch.sort(xs).values),
    Workload(f"SpMV, {ROW} a row", example("sparse_mxv"), sparse_arguments,
             lambda offsets, columns, values, v: [Flat(len(offsets) - 1, Nested(offsets, (columns, values))), flat(v)],
             lambda *given: [sparse_mxv(*given)], cupy_sparse, torch_sparse, "sparse_mxv",
             "([[(int, float)]], [float])"),
    Workload("norm2", example("norm2"), lambda random, n: (random.random(n) - 0.25,), column,
             lambda xs: list(norm2(xs)),
             lambda xp, sparse, xs: lambda: norm2(xs), lambda torch, xs: lambda: norm2(xs), "norm2", "[float]"),
    Workload("black-scholes", BLACK_SCHOLES, black_scholes_arguments, lambda *given: [flat(xs) for xs in given],
             lambda *given: black_scholes(np, *given),
             lambda xp, sparse, *given: lambda: black_scholes(xp, *given),
             lambda torch, *given: lambda: black_scholes(torch, *given)),
    Workload("quicksort", example("quicksort"), lambda random, n: random_floats(random, n, 1), column,
             lambda xs: [np.sort(xs)],
             lambda xp, sparse, xs: lambda: xp.sort(xs), lambda torch, xs: lambda: torch.sort(xs).values,
             "quicksort", "[float]", MOST_SORTED, HELD_BY_QUICKSORT),
)
