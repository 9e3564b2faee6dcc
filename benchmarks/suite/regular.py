"""The workloads of regular.nesl: maps, sums, scans, stencils, matrices, writes, sorts, groups, and searches."""
from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from suite.workload import Workload

import nessie

M = 1_000_000
Array = NDArray[Any]
Arguments = tuple[Any, ...]


# What is given ----------------------------------------------------------------------------------------


def floats(n: int, count: int = 1, low: float = 0.0, high: float = 1.0) -> Callable[[Generator], Arguments]:
    return lambda random: tuple([random.uniform(low, high, n) for _ in range(count)])


def options(random: Generator) -> Arguments:
    return random.uniform(5, 30, 4 * M), random.uniform(1, 100, 4 * M), random.uniform(0.25, 10, 4 * M)


def plane(random: Generator) -> Arguments:
    x, y = np.meshgrid(np.linspace(-2, 1, 1000), np.linspace(-1, 1, 1000))
    return x.reshape(-1), y.reshape(-1)


def rows(random: Generator, count: int, longest: int) -> Arguments:
    offsets = np.zeros(count + 1, np.int64)
    np.cumsum(random.integers(0, longest, count), out=offsets[1:])
    return (nessie.Nested(offsets, random.random(int(offsets[-1]))),)


def matrices(random: Generator) -> Arguments:
    return random.random((512, 512)), random.random((512, 512))


def bins(count: int) -> Callable[[Generator], Arguments]:
    return lambda random: (random.integers(0, count, 10 * M), count)


def keyed(count: int) -> Callable[[Generator], Arguments]:
    return lambda random: (random.integers(0, count, 10 * M), random.random(10 * M), count)


def graph(random: Generator) -> Arguments:
    nodes, edges = 200_000, M
    offsets = np.zeros(nodes + 1, np.int64)
    np.cumsum(np.bincount(random.integers(0, nodes, edges), minlength=nodes), out=offsets[1:])
    return (nessie.Nested(offsets, random.integers(0, nodes, edges)),)


def text(random: Generator) -> Arguments:
    """3 MB of words, some far more often than others."""
    words = ["".join(map(chr, random.integers(97, 123, length))) for length in random.integers(1, 10, 20_000)]
    chosen = np.minimum(random.zipf(1.3, 500_000) - 1, len(words) - 1)
    return (" ".join([words[i] for i in chosen])[:3 * M],)


def searched(random: Generator) -> Arguments:
    return "".join(map(chr, random.integers(97, 101, 10 * M))), "abacabad"


# The same by others -----------------------------------------------------------------------------------


def black_scholes(ss: Array, ks: Array, ys: Array) -> Array:
    def cumulative(x: Array) -> Array:
        a = np.abs(x)
        k = 1.0 / (1.0 + 0.2316419 * a)
        w = k * (0.31938153 + k * (-0.356563782 + k * (1.781477937 + k * (-1.821255978 + k * 1.330274429))))
        tail = 0.3989422804014327 * np.exp(-0.5 * a * a) * w
        return np.where(x < 0, tail, 1.0 - tail)
    v = 0.3 * np.sqrt(ys)
    d1 = (np.log(ss / ks) + (0.02 + 0.045) * ys) / v
    result: Array = ss * cumulative(d1) - ks * np.exp(-0.02 * ys) * cumulative(d1 - v)
    return result


@cache
def compiled_by_numba(source: str, name: str) -> Any:
    import numba
    space: dict[str, Any] = {"np": np, "prange": numba.prange, "math": __import__("math")}
    exec(source, space)
    return numba.njit(parallel="prange" in source, fastmath=False)(space[name])


def by_numba(source: str) -> Callable[..., Any]:
    """The function of this Python text, compiled by Numba when it is first called."""
    name = source.split("def ")[1].split("(")[0]
    return lambda *arguments: compiled_by_numba(source, name)(*arguments)


MANDELBROT = by_numba("""
def mandelbrot(xs, ys):
    out = np.empty(len(xs), np.int64)
    for i in prange(len(xs)):
        x = y = 0.0
        k = 0
        while k != 100 and x * x + y * y <= 4.0:
            x, y = x * x - y * y + xs[i], 2.0 * x * y + ys[i]
            k += 1
        out[i] = k
    return out
""")
ROW_SUMS = by_numba("""
def row_sums(offsets, xs):
    out = np.empty(len(offsets) - 1)
    for r in prange(len(out)):
        s = 0.0
        for i in range(offsets[r], offsets[r + 1]):
            s += xs[i]
        out[r] = s
    return out
""")
RECURRENCE = by_numba("""
def recurrence(a, b):
    out = np.empty(len(a))
    y = 0.0
    for i in range(len(a)):
        y = a[i] * y + b[i]
        out[i] = y
    return out
""")
MODULAR_PRODUCT = by_numba("""
def modular_product(v):
    parts = np.ones(64, np.int64)
    for k in prange(64):
        p = 1
        for i in range(k * len(v) // 64, (k + 1) * len(v) // 64):
            p = p * v[i] % 1000003
        parts[k] = p
    p = 1
    for k in range(64):
        p = p * parts[k] % 1000003
    return p
""")
ROW_SCANS = by_numba("""
def row_scans(offsets, xs):
    out = np.empty(len(xs))
    for r in prange(len(offsets) - 1):
        s = 0.0
        for i in range(offsets[r], offsets[r + 1]):
            out[i] = s
            s += xs[i]
    return out
""")
FORCES = by_numba("""
def forces(xs, ys, ms):
    out = np.empty((2, len(xs)))
    for i in prange(len(xs)):
        a = b = 0.0
        for j in range(len(xs)):
            dx = xs[j] - xs[i]
            dy = ys[j] - ys[i]
            d = dx * dx + dy * dy + 0.01
            w = ms[j] / (d * math.sqrt(d))
            a += dx * w
            b += dy * w
        out[0, i] = a
        out[1, i] = b
    return out
""")
COUNTS = by_numba("""
def counts(values, n):
    out = np.zeros(n, np.int64)
    for i in values:
        out[i] += 1
    return out
""")
GROUP_SUMS = by_numba("""
def group_sums(keys, xs, n):
    out = np.zeros(n)
    for i in range(len(keys)):
        out[keys[i]] += xs[i]
    return out
""")
QUICKSORT = by_numba("""
def quicksort(xs):
    v = xs.copy()
    stack = [(0, len(v) - 1)]
    while stack:
        low, high = stack.pop()
        while high - low > 16:
            pivot = v[(low + high) // 2]
            i, j = low, high
            while i <= j:
                while v[i] < pivot:
                    i += 1
                while v[j] > pivot:
                    j -= 1
                if i <= j:
                    v[i], v[j] = v[j], v[i]
                    i += 1
                    j -= 1
            stack.append((i, high))
            high = j
        for i in range(low + 1, high + 1):
            x = v[i]
            j = i
            while j > low and v[j - 1] > x:
                v[j] = v[j - 1]
                j -= 1
            v[j] = x
    return v
""")


def by_offsets(row: Any) -> Arguments:
    return row.offsets, row.content


def row_sums(row: Any) -> Array:
    return np.add.reduceat(np.append(row.content, 0.0), row.offsets[:-1]) * (np.diff(row.offsets) > 0)


def blurred(xs: Array) -> Array:
    padded = np.concatenate([xs[:1], xs, xs[-1:]])
    return 0.25 * padded[:-2] + 0.5 * xs + 0.25 * padded[2:]


def heat(xs: Array, width: int) -> Array:
    grid = xs.reshape(-1, width)
    out = grid.copy()
    out[1:-1, 1:-1] = 0.25 * (grid[1:-1, :-2] + grid[1:-1, 2:] + grid[:-2, 1:-1] + grid[2:, 1:-1])
    return out.reshape(-1)


def nearest(xs: Array, ys: Array) -> Array:
    distances = (xs[:, None] - xs) ** 2 + (ys[:, None] - ys) ** 2
    return np.sort(np.argpartition(distances, 5, axis=1)[:, :5], axis=1)


def permuted(xs: Array, places: Array) -> Array:
    out = np.empty_like(xs)
    out[places] = xs
    return out


def written(xs: Array, places: Array, ys: Array) -> Array:
    out = xs.copy()
    out[places] = ys
    return out


def sorted_rows(row: Any) -> Array:
    owners = np.repeat(np.arange(len(row)), np.diff(row.offsets))
    return nessie.Nested(row.offsets, row.content[np.lexsort((row.content, owners))])


def primes(n: int) -> Array:
    flags = np.ones(n, bool)
    flags[:2] = False
    for p in range(2, int(n ** 0.5) + 1):
        if flags[p]:
            flags[p * p::p] = False
    return np.flatnonzero(flags)


def scipy_bfs(matrix: Any) -> Array:
    """The order and the predecessors, from which levels follow."""
    from scipy.sparse.csgraph import breadth_first_order
    result: Array = breadth_first_order(matrix, 0)[1]
    return result


def matrix_of(rows: Any) -> Arguments:
    from scipy.sparse import csr_matrix
    return (csr_matrix((np.ones(len(rows.content)), rows.content, rows.offsets), (len(rows), len(rows))),)


def same_levels(levels: Any, before: Any) -> bool:
    """Whether the nodes reached are the same, and each is one level below the one it was reached from."""
    levels, reached = np.asarray(levels), before >= 0
    return bool(np.array_equal(levels > 0, reached)
                and np.array_equal(levels[reached], levels[before[reached]] + 1))


def words_by_pandas(text: str) -> Any:
    import pandas as pd
    return pd.Series(text.split()).value_counts(sort=False)


def words_by_polars(text: str) -> Any:
    import polars as pl
    return pl.Series("w", [text]).str.split(" ").explode().value_counts()


def words_by_python(text: str) -> Any:
    from collections import Counter
    return Counter(text.split())


def same_counts(own: Any, other: Any) -> bool:
    if hasattr(other, "rows"):          # polars
        other = {w: c for w, c in other.rows() if w}
    return {w: int(c) for w, c in own} == {w: int(c) for w, c in dict(other).items()}


def occurrences(text: Array, pattern: Array) -> Array:
    found = np.flatnonzero(text[:len(text) - len(pattern) + 1] == pattern[0])
    for k in range(1, len(pattern)):
        found = found[text[found + k] == pattern[k]]
    return found


def occurrences_by_python(text: str, pattern: str) -> Array:
    found, at = [], text.find(pattern)
    while at >= 0:
        found.append(at)
        at = text.find(pattern, at + 1)
    return np.array(found)


def group_by_pandas(keys: Array, xs: Array) -> Any:
    import pandas as pd
    found = pd.Series(xs).groupby(keys).sum()
    return found.index.to_numpy(), found.to_numpy()


# By C -------------------------------------------------------------------------------------------------


def mapped(result: type = float) -> Callable[..., Array]:
    """The call of a C function that takes a length, arrays of it, and an array for as many results."""
    def call(function: Any, *arrays: Array) -> Array:
        out = np.empty(len(arrays[0]), result)
        function(len(out), *arrays, out)
        return out
    return call


def per_row(function: Any, row: Any) -> Array:
    out = np.empty(len(row))
    function(len(row), row.offsets, row.content, out)
    return out


def within_rows(function: Any, row: Any) -> Any:
    out = np.empty(len(row.content))
    function(len(row), row.offsets, row.content, out)
    return nessie.Nested(row.offsets, out)


def c_positive(function: Any, xs: Array) -> Array:
    out = np.empty(len(xs) + 1)
    return out[:function(len(xs), xs, out)]


def c_heat(function: Any, xs: Array, width: int) -> Array:
    out = np.empty(len(xs))
    function(len(xs), xs, width, out)
    return out


def c_matrices(function: Any, a: Array, b: Array) -> Array:
    out = np.empty((len(a), len(a)))
    function(len(a), a, b, out)
    return out


def c_nearest(function: Any, xs: Array, ys: Array) -> Array:
    out = np.empty((len(xs), 5), np.int64)
    function(len(xs), xs, ys, out)
    return out


def c_forces(function: Any, xs: Array, ys: Array, ms: Array) -> Arguments:
    ax, ay = np.empty(len(xs)), np.empty(len(xs))
    function(len(xs), xs, ys, ms, ax, ay)
    return ax, ay


def c_written(function: Any, xs: Array, places: Array, ys: Array) -> Array:
    out = np.empty(len(xs))
    function(len(xs), xs, len(places), places, ys, out)
    return out


def c_counts(function: Any, values: Array, n: int) -> Array:
    out = np.empty(n, np.int64)
    function(len(values), values, n, out)
    return out


def c_group_sums(function: Any, keys: Array, xs: Array, n: int) -> Array:
    out = np.empty(n)
    function(len(keys), keys, xs, n, out)
    return out


def c_dot(function: Any, xs: Array, ys: Array) -> float:
    result: float = function(len(xs), xs, ys)
    return result


def c_primes(function: Any, n: int) -> Array:
    out = np.empty(n, np.int64)
    return out[:function(n, out)]


def c_bfs(function: Any, rows: Any) -> Array:
    out = np.empty(len(rows), np.int64)
    function(len(rows), rows.offsets, rows.content, out)
    return out


def c_occurrences(function: Any, text: str, pattern: str) -> Array:
    out = np.empty(len(text), np.int64)
    letters = [np.frombuffer(t.encode("latin-1"), np.uint8) for t in (text, pattern)]
    return out[:function(len(text), letters[0], len(pattern), letters[1], out)]


def letters(text: str, pattern: str) -> Arguments:
    return tuple([np.frombuffer(t.encode("latin-1"), np.uint8) for t in (text, pattern)])


def regular(name: str, entry: str, size: str, arguments: Callable[[Generator], Arguments],
            peers: dict[str, Callable[..., Any]], by_c: Callable[..., Any] | None = None, **more: Any) -> Workload:
    return Workload(name, "regular", entry, size, arguments, peers, by_c, entry if by_c else "", **more)


def numpy_scans(row: Any) -> Any:
    sums = np.cumsum(row.content) - row.content
    starts = np.append(sums, 0.0)[row.offsets[:-1]]
    return nessie.Nested(row.offsets, sums - np.repeat(starts, np.diff(row.offsets)))


ROWS = {"numba": by_offsets}
REGULAR = (
    regular("dot product", "dot_product", "10^7", floats(10 * M, 2), {"numpy": np.dot}, c_dot),
    regular("exp * sin", "waves", "10^7", floats(10 * M), {"numpy": lambda xs: np.exp(xs) * np.sin(xs)}, mapped()),
    regular("Black-Scholes", "black_scholes", "4 * 10^6", options, {"numpy": black_scholes}, mapped()),
    regular("Mandelbrot", "mandelbrot", "10^6", plane, {"numba": MANDELBROT}, mapped(int)),
    regular("filter", "positive", "10^7", floats(10 * M, 1, -1.0), {"numpy": lambda xs: xs[xs > 0]}, c_positive),
    regular("scan", "running_sum", "10^7", floats(10 * M), {"numpy": lambda xs: np.cumsum(xs) - xs}, mapped()),
    regular("row sums", "row_sums", "10^6 rows", lambda r: rows(r, M, 20), {"numpy": row_sums, "numba": ROW_SUMS},
            per_row, prepare=ROWS),
    regular("row scans", "row_scans", "10^6 rows", lambda r: rows(r, M, 20),
            {"numpy": numpy_scans, "numba": ROW_SCANS}, within_rows, prepare=ROWS,
            same=lambda own, other: np.allclose(own.content, getattr(other, "content", other))),
    regular("recurrence", "recurrence", "10^7", floats(10 * M, 2), {"numba": RECURRENCE}),
    regular("modular product", "modular_product", "10^7", lambda r: (r.integers(1, 1000003, 10 * M),),
            {"numba": MODULAR_PRODUCT}),
    regular("stencil 1-D", "blurred", "10^7", floats(10 * M), {"numpy": blurred}, mapped()),
    regular("stencil 2-D", "heat", "3000 * 3000", lambda r: (r.random(9 * M), 3000), {"numpy": heat}, c_heat),
    regular("matrix product", "matrix_product", "512", matrices, {"numpy": np.matmul}, c_matrices),
    regular("5 nearest", "nearest", "2000^2", floats(2000, 2), {"numpy": nearest}, c_nearest),
    regular("n-body", "forces", "2000^2", floats(2000, 3), {"numba": FORCES}, c_forces),
    regular("permute", "permuted", "10^7", lambda r: (r.random(10 * M), r.permutation(10 * M)), {"numpy": permuted},
            mapped()),
    regular("write", "written", "10^7", lambda r: (r.random(10 * M), r.integers(0, 10 * M, 10 * M), r.random(10 * M)),
            {"numpy": written}, c_written),
    regular("histogram, 10^3", "counts", "10^7", bins(1000), {"numpy": lambda v, n: np.bincount(v, minlength=n),
                                                             "numba": COUNTS}, c_counts),
    regular("histogram, 10^6", "counts", "10^7", bins(M), {"numpy": lambda v, n: np.bincount(v, minlength=n),
                                                          "numba": COUNTS}, c_counts),
    regular("group sums, 10^4", "group_sums", "10^7", keyed(10_000),
            {"numpy": lambda k, x, n: np.bincount(k, x, n), "numba": GROUP_SUMS}, c_group_sums),
    regular("group sums, 10^6", "group_sums", "10^7", keyed(M),
            {"numpy": lambda k, x, n: np.bincount(k, x, n), "numba": GROUP_SUMS}, c_group_sums),
    regular("group by", "grouped", "10^6, 10^4 keys", lambda r: (r.integers(0, 10_000, M), r.random(M)),
            {"pandas": group_by_pandas}),
    regular("sort, 10^6", "sorted", "10^6", floats(M), {"numpy": np.sort}, mapped()),
    regular("sort, 10^7", "sorted", "10^7", floats(10 * M), {"numpy": np.sort}, mapped()),
    regular("sort rows", "sorted_rows", "500,000 rows", lambda r: rows(r, M // 2, 20), {"numpy": sorted_rows},
            within_rows),
    regular("quicksort", "quicksort", "10^6", floats(M), {"numba": QUICKSORT, "numpy": np.sort}, mapped()),
    regular("primes", "primes", "10^7", lambda r: (10 * M,), {"numpy": primes}, c_primes),
    regular("bfs", "bfs", "10^6 edges", graph, {"scipy": scipy_bfs}, c_bfs, prepare={"scipy": matrix_of},
            same=lambda own, other: same_levels(own, other) if np.min(other) < -1 else np.array_equal(own, other)),
    regular("string search", "occurrences", "10^7", searched,
            {"numpy": occurrences, "python": occurrences_by_python}, c_occurrences, prepare={"numpy": letters}),
    regular("word counts", "word_counts", "3 MB", text,
            {"python": words_by_python, "pandas": words_by_pandas, "polars": words_by_polars}, same=same_counts))
