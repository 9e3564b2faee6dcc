"""The workloads of positions.nesl: triangles, bands, trees, windows, and stencils with borders."""
from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from suite.regular import by_numba, mapped
from suite.workload import Workload

M = 1_000_000
Array = NDArray[Any]
Arguments = tuple[Any, ...]


# What is given ----------------------------------------------------------------------------------------


def triangle(n: int) -> Callable[[Generator], Arguments]:
    return lambda random: (random.random(n * (n + 1) // 2), random.random(n))


def square(n: int, *more: Any) -> Callable[[Generator], Arguments]:
    return lambda random: (random.random((n, n)), *more)


# By others --------------------------------------------------------------------------------------------


def dtpmv(a: Array, x: Array) -> Array:
    from scipy.linalg.blas import dtpmv as product
    return product(len(x), a, x, lower=0, trans=1)      # rows of a lower triangle are columns of an upper one


def level_sums(v: Array, depth: int) -> Array:
    return np.add.reduceat(v, 2 ** np.arange(depth) - 1)


def box_of_scipy(m: Array, r: int = 1) -> Array:
    from scipy.ndimage import uniform_filter
    size = 2 * r + 1
    return uniform_filter(m, size, mode="nearest") * (size * size)


def smooth_of_scipy(v: Array) -> Array:
    from scipy.ndimage import uniform_filter1d
    return uniform_filter1d(v, 3, mode="nearest") * 3


def wrapped_of_scipy(v: Array) -> Array:
    from scipy.ndimage import convolve1d
    return convolve1d(v, np.array([1.0, 2.0, 1.0]), mode="wrap")


def heat_of_numpy(m: Array) -> Array:
    p = np.pad(m, 1, mode="edge")
    return (p[:-2, 1:-1] + p[2:, 1:-1] + p[1:-1, :-2] + p[1:-1, 2:]) / 4.0


HEAT = by_numba("""
def heat(m):
    h, w = m.shape
    out = np.empty((h, w))
    for i in prange(h):
        for j in range(w):
            out[i, j] = (m[max(0, i - 1), j] + m[min(h - 1, i + 1), j] + m[i, max(0, j - 1)]
                         + m[i, min(w - 1, j + 1)]) / 4.0
    return out
""")
BAND_SUMS = by_numba("""
def band_sums(v, b):
    n = len(v)
    out = np.empty(n)
    for i in prange(n):
        s = 0.0
        for j in range(max(0, i - b), min(n, i + b + 1)):
            s += v[j]
        out[i] = s
    return out
""")
SUMS_BELOW = by_numba("""
def sums_below(v):
    n = len(v)
    out = np.empty(n * (n + 1) // 2)
    for i in prange(n):
        for j in range(i + 1):
            s = 0.0
            for k in range(j, i + 1):
                s += v[k]
            out[i * (i + 1) // 2 + j] = s
    return out
""")


@cache
def stencil(radius: int) -> Any:
    """Numba's @stencil, which computes no border."""
    import numba
    r, space = radius, dict[str, Any]()
    terms = " + ".join([f"m[{a}, {b}]" for a in range(-r, r + 1) for b in range(-r, r + 1)])
    exec(f"def box(m):\n    return {terms}\n", space)
    kernel = numba.stencil(space["box"])
    return numba.njit(parallel=True)(lambda m: kernel(m))


def box_of_numba(m: Array, r: int = 1) -> Array:
    return stencil(r)(np.pad(m, r, mode="edge"))[r:-r, r:-r]


def triangles_of_numpy(a: Array, b: Array) -> Array:
    whole = np.tril(a) @ np.tril(b)
    found: Array = whole[np.tril_indices(len(a))]
    return found


# By hand ----------------------------------------------------------------------------------------------


def c_triangle(function: Any, a: Array, x: Array) -> Array:
    out = np.empty(len(x))
    function(len(x), a, x, out)
    return out


def c_levels(function: Any, v: Array, depth: int) -> Array:
    out = np.empty(depth)
    function(v, depth, out)
    return out


def c_bands(function: Any, v: Array, b: int) -> Array:
    out = np.empty(len(v))
    function(len(v), v, b, out)
    return out


def c_below(function: Any, v: Array) -> Array:
    out = np.empty(len(v) * (len(v) + 1) // 2)
    function(len(v), v, out)
    return out


def c_triangles(function: Any, a: Array, b: Array) -> Array:
    out = np.empty(len(a) * (len(a) + 1) // 2)
    function(len(a), a, b, out)
    return out


def c_matrix(function: Any, m: Array, r: int = 1) -> Array:
    out = np.empty(m.shape)
    function(m.shape[0], m.shape[1], m, r, out)
    return out


# The workloads ----------------------------------------------------------------------------------------


def positions(name: str, entry: str, size: str, arguments: Callable[[Generator], Arguments],
              peers: dict[str, Callable[..., Any]], by_c: Callable[..., Any], **more: Any) -> Workload:
    return Workload(name, "positions", entry, size, arguments, peers, by_c, more.pop("c", entry), **more)


def contents(own: Any, other: Any) -> bool:
    return np.allclose(getattr(own, "content", own), getattr(other, "content", other))


POSITIONS = (
    positions("packed triangle * vector", "packed_product", "3000", triangle(3000), {"scipy": dtpmv}, c_triangle),
    positions("levels of a tree", "level_sums", "2^23", lambda r: (r.random(2 ** 23 - 1), 23), {"numpy": level_sums},
              c_levels),
    positions("bands of 17", "band_sums", "10^6", lambda r: (r.random(M), 8), {"numba": BAND_SUMS}, c_bands),
    positions("sums below", "sums_below", "600", lambda r: (r.random(600),), {"numba": SUMS_BELOW}, c_below,
              same=contents),
    positions("triangle * triangle", "triangle_product", "400", lambda r: (np.tril(r.random((400, 400))),
              np.tril(r.random((400, 400)))), {"numpy": triangles_of_numpy}, c_triangles, same=contents),
    positions("windows of 3", "smooth", "10^7", lambda r: (r.random(10 * M),), {"scipy": smooth_of_scipy}, mapped()),
    positions("wrapped 1-D", "wrapped", "10^7", lambda r: (r.random(10 * M),), {"scipy": wrapped_of_scipy}, mapped()),
    positions("heat, clamped", "heat", "1500^2", square(1500), {"numpy": heat_of_numpy, "numba": HEAT}, c_matrix,
              c="heat_clamped"),
    positions("box 3*3, unrolled", "box3", "1500^2", square(1500), {"scipy": box_of_scipy, "numba": box_of_numba},
              c_matrix, c="box"),
    positions("box 3*3, windows", "box", "1500^2", square(1500, 1), {"scipy": box_of_scipy, "numba": box_of_numba},
              c_matrix),
    positions("box 9*9, windows", "box", "1500^2", square(1500, 4), {"scipy": box_of_scipy, "numba": box_of_numba},
              c_matrix),
)
