"""The workloads of mappings.nesl: along both axes of matrices."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from suite.workload import Workload

M = 1_000_000
Array = NDArray[Any]
Arguments = tuple[Any, ...]


# What is given ----------------------------------------------------------------------------------------


def matrix(rows: int, columns: int) -> Callable[[Generator], Arguments]:
    return lambda random: (random.random((rows, columns)),)


def factors(m: int, n: int, k: int) -> Callable[[Generator], Arguments]:
    return lambda random: (random.random((m, k)), random.random((k, n)))


# By others --------------------------------------------------------------------------------------------


def sums(axis: int) -> Callable[[Array], Array]:
    return lambda a: np.sum(a, axis)


def transposed(a: Array) -> Array:
    return np.ascontiguousarray(a.T)


def sorted_rows(a: Array) -> Array:
    return np.sort(a, axis=1)


# By hand ----------------------------------------------------------------------------------------------


def c_sums(axis: int) -> Callable[..., Array]:
    def call(function: Any, a: Array) -> Array:
        out = np.empty(a.shape[1 - axis])
        function(a.shape[0], a.shape[1], a, out)
        return out
    return call


def c_transposed(function: Any, a: Array) -> Array:
    out = np.empty(a.shape[::-1])
    function(a.shape[0], a.shape[1], a, out)
    return out


def c_product(function: Any, a: Array, b: Array) -> Array:
    out = np.empty((len(a), b.shape[1]))
    function(len(a), b.shape[1], len(b), a, b, out)
    return out


# The workloads ----------------------------------------------------------------------------------------


def mappings(name: str, entry: str, size: str, arguments: Callable[[Generator], Arguments],
             peer: Callable[..., Any], by_c: Callable[..., Any] | None = None, c: str = "") -> Workload:
    return Workload(name, "mappings", entry, size, arguments, {"numpy": peer}, by_c, c)


MAPPINGS = (
    mappings("sums of columns", "column_sums", "10^4 * 10^3", matrix(10_000, 1000), sums(0), c_sums(0), "column_sums"),
    mappings("sums of transposed", "sums_of_transposed", "10^4 * 10^3", matrix(10_000, 1000), sums(0), c_sums(0),
             "column_sums"),
    mappings("transposition", "transposed", "4096^2", matrix(4096, 4096), transposed, c_transposed, "transposed"),
    mappings("product, deep", "product", "128*128*1024", factors(128, 128, 1024), np.matmul, c_product, "product"),
    mappings("product, square", "product", "400^3", factors(400, 400, 400), np.matmul, c_product, "product"),
    mappings("sums of long rows", "row_sums", "10 * 10^6", matrix(10, M), sums(1), c_sums(1), "equal_row_sums"),
    mappings("sums of short rows", "row_sums", "10^6 * 10", matrix(M, 10), sums(1), c_sums(1), "equal_row_sums"),
    mappings("sorted rows of 16", "sorted_rows", "10^5 * 16", lambda r: (r.integers(0, M, (100_000, 16)),),
             sorted_rows),
)
