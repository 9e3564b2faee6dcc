"""The programs of ikra.py: those of the Ikra paper's benchmarks, with nessie.array, NumPy, Numba, JAX and C."""
from __future__ import annotations

import operator
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.random import Generator
from suite.regular import by_numba
from suite.workload import agree

import nessie

sys.path.append(str(Path(__file__).resolve().parents[2] / "nesl_examples"))

from image_library.__main__ import combined
from image_library.pictures import forest, sunset, tower
from parallel_arrays import bfs, himeno, mandelbrot, products

M = 1_000_000
D = (20, 500, 100, 2)
Arguments = tuple[Any, ...]


@dataclass(frozen=True)
class Program:
    """`own` takes what `arguments` makes, and gives an array that is not computed yet; a `section` is given as the
    function that nessie.host_section takes. `others` compute the same, by the library that is their name: they raise
    ImportError where it is not there. `by_c` calls the function `c` of ikra.c."""
    name: str
    size: str
    elements: int
    arguments: Callable[[Generator], Arguments]
    own: Callable[..., Any]
    others: dict[str, Callable[..., Any]] = field(default_factory=dict)
    c: str = ""
    by_c: Callable[..., Any] | None = None
    section: bool = False
    dense: bool = False                 # a dense product, for which others call BLAS
    differing: float = 0.0              # the share of elements of which rounding decides

    def same(self, one: Any, other: Any) -> bool:
        if hasattr(other, "block_until_ready"):
            other = np.asarray(other)
        return agree(one, other) or np.mean(np.asarray(one) != np.asarray(other)) < self.differing


@cache
def jax() -> Any:
    import jax
    jax.config.update("jax_enable_x64", True)
    return jax


def by_jax(function: Callable[..., Any], still: int = 0) -> Callable[..., Any]:
    """The function of jax.numpy and the arguments, compiled by JAX. Arrays are JAX's own before the call; the last
    `still` arguments are constants."""
    @cache
    def compiled(count: int) -> Any:
        library = jax()
        return library.jit(lambda *given: function(library, *given), static_argnums=range(count - still, count))

    def call(*arguments: Any) -> Any:
        return compiled(len(arguments))(*arguments).block_until_ready()
    call.own_form = lambda *arguments: tuple(map(of_jax, arguments))        # type: ignore[attr-defined]
    return call


def of_jax(value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(map(of_jax, value))
    return jax().numpy.asarray(value) if isinstance(value, np.ndarray) else value


def into(shape: Callable[..., Any], dtype: Any = np.int64) -> Callable[..., Any]:
    """How C is called that fills an array of this shape, which comes last."""
    def call(function: Any, *arguments: Any) -> Any:
        out = np.empty(shape(*arguments), dtype)
        function(*arguments, out)
        return out
    return call


# Chains of maps, in four dimensions -------------------------------------------------------------------


def map10_simple(*shape: int) -> Any:
    b = nessie.pnew(shape, lambda at: (7 + at[0] + at[1] + at[2] + at[3]) % 1337)
    for _ in range(10):
        b = b.map(lambda x, at: (x + at[0] + at[1] + at[2] + at[3]) % 1337, with_index=True)
    return b


def map10_simple_of_numpy(xp: Any, *shape: int) -> Any:
    i, j, k, m = xp.indices(shape, sparse=True)
    b = (7 + i + j + k + m) % 1337
    for _ in range(10):
        b = (b + i + j + k + m) % 1337
    return b


MAP10_SIMPLE = by_numba("""
def map10_simple(a, b, c, d):
    out = np.empty((a, b, c, d), np.int64)
    for row in prange(a * b):
        i, j = row // b, row % b
        for k in range(c):
            for m in range(d):
                s = i + j + k + m
                x = (7 + s) % 1337
                for _ in range(10):
                    x = (x + s) % 1337
                out[i, j, k, m] = x
    return out
""")


def step(b: Any, m: int) -> Any:
    return b.map(lambda x, at: ((x % m) + x // 97) % 97717 + at[at[at[x % 4] % 4] % 4] * (x % 7) % 99, with_index=True)


def beginning(*shape: int) -> Any:
    return nessie.pnew(shape, lambda at: (at[0] + at[1]) % (at[3] + at[at[1] % 4] + 7))


def map10(*shape: int) -> Any:
    b = beginning(*shape)
    for m in range(938, 948):
        b = step(b, m)
    return b


def beginning_of_numpy(xp: Any, shape: Sequence[int]) -> Any:
    i, j, k, m = places = xp.indices(tuple(shape))

    def at(n: Any) -> Any:
        return xp.where(n == 0, i, xp.where(n == 1, j, xp.where(n == 2, k, m)))
    return (i + j) % (m + at(j % 4) + 7), places, at


def map10_of_numpy(xp: Any, *shape: int) -> Any:
    b, _, at = beginning_of_numpy(xp, shape)
    for m in range(938, 948):
        b = ((b % m) + b // 97) % 97717 + at(at(at(b % 4) % 4) % 4) * (b % 7) % 99
    return b


MAP10 = by_numba("""
def map10(a, b, c, d):
    out = np.empty((a, b, c, d), np.int64)
    for row in prange(a * b):
        i, j = row // b, row % b
        for k in range(c):
            for l in range(d):
                at = (i, j, k, l)
                x = (i + j) % (l + at[j % 4] + 7)
                for m in range(938, 948):
                    x = ((x % m) + x // 97) % 97717 + at[at[at[x % 4] % 4] % 4] * (x % 7) % 99
                out[i, j, k, l] = x
    return out
""")
OFFSETS = [(-1, 0, 0, 0), (0, 0, 0, 0), (1, 0, 0, 0), (-1, -1, 0, 0)]


def stencil10(*shape: int) -> Any:
    b = beginning(*shape)
    for _ in range(10):
        b = b.stencil(OFFSETS, 37, lambda up, here, down, across, at:
                      ((up % 938) + here // 97) % 97717 + at[at[at[down % 4] % 4] % 4] * (across % 7) % 99,
                      with_index=True)
    return b


def stencil10_of_numpy(xp: Any, *shape: int) -> Any:
    b, _, at = beginning_of_numpy(xp, shape)
    i, j, _, _ = xp.indices(shape, sparse=True)
    inside = (i > 0) & (i < shape[0] - 1) & (j > 0)
    for _ in range(10):
        up, down, across = xp.roll(b, 1, 0), xp.roll(b, -1, 0), xp.roll(xp.roll(b, 1, 0), 1, 1)
        b = xp.where(inside, ((up % 938) + b // 97) % 97717 + at(at(at(down % 4) % 4) % 4) * (across % 7) % 99, 37)
    return b


STENCIL10 = by_numba("""
def stencil10(a, b, c, d):
    p = np.empty((a, b, c, d), np.int64)
    q = np.empty((a, b, c, d), np.int64)
    for row in prange(a * b):
        i, j = row // b, row % b
        for k in range(c):
            for l in range(d):
                at = (i, j, k, l)
                p[i, j, k, l] = (i + j) % (l + at[j % 4] + 7)
    for _ in range(10):
        for row in prange(a * b):
            i, j = row // b, row % b
            for k in range(c):
                for l in range(d):
                    if i == 0 or i == a - 1 or j == 0:
                        q[i, j, k, l] = 37
                    else:
                        at = (i, j, k, l)
                        q[i, j, k, l] = ((p[i - 1, j, k, l] % 938) + p[i, j, k, l] // 97) % 97717 \\
                            + at[at[at[p[i + 1, j, k, l] % 4] % 4] % 4] * (p[i - 1, j - 1, k, l] % 7) % 99
        p, q = q, p
    return p
""")


# Himeno -----------------------------------------------------------------------------------------------


def himeno_of_numpy(xp: Any, p: Any, of: Any, rounds: int) -> Any:
    inner = (slice(1, -1),) * 3
    a0, a1, a2, a3, b0, b1, b2, c0, c1, c2, free, bound = [one[inner] for one in of]
    for _ in range(rounds):
        def at(x: int, y: int, z: int, p: Any = p) -> Any:
            return p[1 + x:p.shape[0] - 1 + x, 1 + y:p.shape[1] - 1 + y, 1 + z:p.shape[2] - 1 + z]
        s = (a0 * at(1, 0, 0) + a1 * at(0, 1, 0) + a2 * at(0, 0, 1)
             + b0 * (at(1, 1, 0) - at(1, -1, 0) - at(-1, 1, 0) + at(-1, -1, 0))
             + b1 * (at(0, 1, 1) - at(0, -1, 1) - at(0, 1, -1) + at(0, -1, -1))
             + b2 * (at(1, 0, 1) - at(-1, 0, 1) - at(1, 0, -1) + at(-1, 0, -1))
             + c0 * at(-1, 0, 0) + c1 * at(0, -1, 0) + c2 * at(0, 0, -1) + free)
        p = xp.pad(p[inner] + 0.8 * (s * a3 - p[inner]) * bound, 1)
    return p


HIMENO_LOOP = by_numba("""
def himeno(p, of, rounds):
    a, b, c = p.shape
    a0, a1, a2, a3, b0, b1, b2, c0, c1, c2, free, bound = of
    p = p.copy()
    q = np.zeros((a, b, c))
    for _ in range(rounds):
        for i in prange(1, a - 1):
            for j in range(1, b - 1):
                for k in range(1, c - 1):
                    s = (a0[i, j, k] * p[i + 1, j, k] + a1[i, j, k] * p[i, j + 1, k] + a2[i, j, k] * p[i, j, k + 1]
                         + b0[i, j, k] * (p[i + 1, j + 1, k] - p[i + 1, j - 1, k] - p[i - 1, j + 1, k]
                                          + p[i - 1, j - 1, k])
                         + b1[i, j, k] * (p[i, j + 1, k + 1] - p[i, j - 1, k + 1] - p[i, j + 1, k - 1]
                                          + p[i, j - 1, k - 1])
                         + b2[i, j, k] * (p[i + 1, j, k + 1] - p[i - 1, j, k + 1] - p[i + 1, j, k - 1]
                                          + p[i - 1, j, k - 1])
                         + c0[i, j, k] * p[i - 1, j, k] + c1[i, j, k] * p[i, j - 1, k] + c2[i, j, k] * p[i, j, k - 1]
                         + free[i, j, k])
                    q[i, j, k] = p[i, j, k] + 0.8 * (s * a3[i, j, k] - p[i, j, k]) * bound[i, j, k]
        p[0], p[-1], p[:, 0], p[:, -1], p[:, :, 0], p[:, :, -1] = 0, 0, 0, 0, 0, 0
        p, q = q, p
    return p
""")


def himeno_given(random: Generator) -> Arguments:
    p, of = himeno.given((129, 129, 65))
    return p, tuple(of), 4


def himeno_by_c(function: Any, p: Any, of: Any, rounds: int) -> Any:
    out, places = np.empty(p.shape), np.array([one.ctypes.data for one in of], np.uint64)
    function(*p.shape, rounds, p, places, out)
    return out


# Products, squares, Mandelbrot ------------------------------------------------------------------------


def dot_combined(n: int) -> Any:
    a, b = nessie.pnew(n, lambda i: i % 25000), nessie.pnew(n, lambda i: (i + 101) % 25000)
    return a.combine(b, lambda x, y: x * y).reduce(operator.add)


def dot_zipped(n: int) -> Any:
    a, b = nessie.pnew(n, lambda i: i % 25000), nessie.pnew(n, lambda i: (i + 101) % 25000)
    return a.zip(b).map(lambda z: z[0] * z[1]).reduce(operator.add)


def dot_of_numpy(xp: Any, n: int) -> Any:
    i = xp.arange(n)
    return (i % 25000 * ((i + 101) % 25000)).sum()


DOT = by_numba("""
def dot(n):
    s = 0
    for i in prange(n):
        s += i % 25000 * ((i + 101) % 25000)
    return s
""")
FLOAT_DOT = by_numba("""
def float_dot(a, b):
    s = 0.0
    for i in prange(len(a)):
        s += a[i] * b[i]
    return s
""")
SQUARE = by_numba("""
def square(a):
    out = np.empty(len(a), np.int64)
    for i in prange(len(a)):
        out[i] = a[i] * a[i]
    return out
""")
MANDELBROT = by_numba("""
def mandelbrot(height, width, most):
    out = np.empty((height, width), np.int64)
    for i in prange(height):
        for j in range(width):
            x, y, u, v, n = j * 3.0 / width - 2.0, i * 2.0 / height - 1.0, 0.0, 0.0, 0
            while n < most and u * u + v * v <= 4.0:
                u, v = u * u - v * v + x, 2.0 * u * v + y
                n += 1
            out[i, j] = n
    return out
""")


def mandelbrot_of_numpy(xp: Any, height: int, width: int, most: int) -> Any:
    x, y = xp.arange(width) * 3.0 / width - 2.0, (xp.arange(height) * 2.0 / height - 1.0)[:, None]
    u, v, n = xp.zeros((height, width)), xp.zeros((height, width)), xp.zeros((height, width), int)
    for _ in range(most):
        inside = u * u + v * v <= 4.0
        n = n + inside
        u, v = xp.where(inside, u * u - v * v + x, u), xp.where(inside, 2.0 * u * v + y, v)
    return n


MATRIX_PRODUCT = by_numba("""
def matrix_product(a, b):
    n = len(a)
    out = np.zeros((n, n))
    for i in prange(n):
        for k in range(n):
            for j in range(n):
                out[i, j] += a[i, k] * b[k, j]
    return out
""")


# Host sections ----------------------------------------------------------------------------------------


def iterative_map(a: Any, rounds: int) -> Any:
    for r in range(rounds):
        a = a.map(lambda x: (x * 3 + r) % 13377)        # noqa: B023    what it is now
    return a


def iterative_ten(a: Any, rounds: int) -> Any:
    for r in range(rounds):
        a = a.map(lambda x: x ^ r).map(lambda x: (x ^ r) + 1).map(lambda x: (x ^ r) + 2).map(   # noqa: B023
            lambda x: (x ^ r) + 3).map(lambda x: (x ^ r) + 4).map(lambda x: (x ^ r) + 5).map(   # noqa: B023
            lambda x: (x ^ r) + 6).map(lambda x: (x ^ r) + 7).map(lambda x: (x ^ r) + 8).map(   # noqa: B023
            lambda x: (x ^ r) + 9)                                                              # noqa: B023
    return a


def slide(arr: Any, rounds: int) -> Any:
    for _ in range(rounds):
        if arr.sum() % 2 == 0:                          # noqa: SIM108
            arr = arr.map(lambda i: i + 1)
        else:
            arr = arr.map(lambda i: i + 2)
        arr = arr.map(lambda i: i + 3)
    return arr


def iterative_stencil(a: Any, rounds: int) -> Any:
    for _ in range(rounds):
        a = a.stencil([-1, 0, 1], 1, lambda v: v[-1] + 2 * v[0] + v[1] >> 2)
    return a


def stencil_until(a: Any, least: int) -> Any:
    while a.sum() > least:
        a = a.stencil([-1, 0, 1], 1, lambda v: v[-1] + 2 * v[0] + v[1] >> 2)
    return a


def map_of_numpy(a: Any, rounds: int) -> Any:
    for r in range(rounds):
        a = (a * 3 + r) % 13377
    return a


def ten_of_numpy(a: Any, rounds: int) -> Any:
    for r in range(rounds):
        for k in range(10):
            a = (a ^ r) + k
    return a


def slide_of_numpy(a: Any, rounds: int) -> Any:
    for _ in range(rounds):
        a = (a + 1 if a.sum() % 2 == 0 else a + 2) + 3
    return a


def smoothed(xp: Any, a: Any) -> Any:
    return xp.pad(a[:-2] + 2 * a[1:-1] + a[2:] >> 2, 1, constant_values=1)


def stencil_of_numpy(a: Any, rounds: int) -> Any:
    for _ in range(rounds):
        a = smoothed(np, a)
    return a


def until_of_numpy(a: Any, least: int) -> Any:
    while a.sum() > least:
        a = smoothed(np, a)
    return a


def ten_of_jax(j: Any, r: Any, a: Any) -> Any:
    for k in range(10):
        a = (a ^ r) + k
    return a


ROUNDS_OF_NUMBA = """
def {name}(given, rounds):
    a = given.copy()
    for r in range(rounds):
        for i in prange(len(a)):
            x = a[i]
            {body}
            a[i] = x
    return a
"""
SLIDE = by_numba("""
def slide(given, rounds):
    a = given.copy()
    for _ in range(rounds):
        s = 0
        for i in prange(len(a)):
            s += a[i]
        by = 4 if s % 2 == 0 else 5
        for i in prange(len(a)):
            a[i] += by
    return a
""")
STENCIL_OF_NUMBA = """
def {name}(given, {limit}):
    n, k = len(given), 0
    both = np.empty((2, n), np.int64)
    both[0] = given
    {loop}:
        p, q = both[k], both[1 - k]
        for i in prange(1, n - 1):
            q[i] = (p[i - 1] + 2 * p[i] + p[i + 1]) >> 2
        q[0] = q[n - 1] = 1
        k = 1 - k
    return both[k]
"""


# Graphs and images ------------------------------------------------------------------------------------


def graph(random: Generator) -> Arguments:
    vertices, edges = 200_000, 1_000_000
    offsets = np.zeros(vertices + 1, np.int64)
    np.cumsum(np.bincount(random.integers(0, vertices, edges), minlength=vertices), out=offsets[1:])
    return (nessie.Nested(offsets, random.integers(0, vertices, edges)),)


def bfs_of_numpy(neighbours: Any) -> Any:
    offsets, to = np.asarray(neighbours.offsets), np.asarray(neighbours.content)
    distance, level = np.full(len(neighbours), -1), 0
    queue = np.array([0])
    while len(queue):
        distance[queue] = level
        level += 1
        counts = offsets[queue + 1] - offsets[queue]
        starts = np.repeat(offsets[queue] - np.cumsum(counts) + counts, counts)
        found = to[starts + np.arange(counts.sum())]
        queue = np.unique(found[distance[found] < 0])
    return distance


BFS_LOOP = by_numba("""
def bfs(offsets, to):
    distance = np.full(len(offsets) - 1, -1)
    queue = np.empty(len(distance), np.int64)
    begin, end = 0, 1
    queue[0] = distance[0] = 0
    while begin < end:
        v = queue[begin]
        begin += 1
        for e in range(offsets[v], offsets[v + 1]):
            w = to[e]
            if distance[w] < 0:
                distance[w] = distance[v] + 1
                queue[end] = w
                end += 1
    return distance
""")


def bfs_by_c(function: Any, neighbours: Any) -> Any:
    out = np.empty(len(neighbours), np.int64)
    function(len(neighbours), np.asarray(neighbours.offsets), np.asarray(neighbours.content), out)
    return out


def drawn(random: Generator) -> Arguments:
    return tuple([np.array(draw(1080, 1920)) for draw in (tower, sunset, forest)])


def image_of_numpy(xp: Any, p: Any, q: Any, over: Any) -> Any:
    h, w = p.shape
    for _ in range(3):
        blurred = 0
        for shift in (16, 8, 0):
            c = p >> shift & 255
            around = sum(c[1 + y:h - 1 + y, 1 + x:w - 1 + x] for y in (-1, 0, 1) for x in (-1, 0, 1))
            blurred = blurred | around // 9 << shift
        p = xp.pad(blurred, 1)
    mixed = 0
    for shift in (16, 8, 0):
        mixed = mixed | ((p >> shift & 255) * 179 + (q >> shift & 255) * 77 >> 8) << shift
    y, x = xp.indices((h, w), sparse=True)
    return xp.where((y - h // 2) ** 2 + (x - w // 2) ** 2 < (h // 4) ** 2, 0xFFFFFF - over, mixed)


IMAGE_LOOP = by_numba("""
def image(tower, sunset, forest):
    h, w = tower.shape
    p, q = tower, np.empty_like(tower)
    for _ in range(3):
        t = np.zeros_like(p)
        for y in prange(1, h - 1):
            for x in range(1, w - 1):
                r, g, b = 0, 0, 0
                for k in range(-1, 2):
                    for l in range(-1, 2):
                        v = p[y + k, x + l]
                        r, g, b = r + (v >> 16 & 255), g + (v >> 8 & 255), b + (v & 255)
                t[y, x] = r // 9 << 16 | g // 9 << 8 | b // 9
        p = t
    for y in prange(h):
        for x in range(w):
            if (y - h // 2) ** 2 + (x - w // 2) ** 2 < (h // 4) ** 2:
                q[y, x] = 0xFFFFFF - forest[y, x]
            else:
                a, b = p[y, x], sunset[y, x]
                r = (a >> 16 & 255) * 179 + (b >> 16 & 255) * 77 >> 8
                g = (a >> 8 & 255) * 179 + (b >> 8 & 255) * 77 >> 8
                q[y, x] = r << 16 | g << 8 | ((a & 255) * 179 + (b & 255) * 77 >> 8)
    return q
""")


# The programs -----------------------------------------------------------------------------------------


def of(*values: Any) -> Callable[[Generator], Arguments]:
    return lambda random: values


def ints(n: int, *more: Any) -> Callable[[Generator], Arguments]:
    return lambda random: (random.integers(0, 10_000, n), *more)


def floats(*shapes: Any) -> Callable[[Generator], Arguments]:
    return lambda random: tuple([random.random(shape) for shape in shapes])


def with_both(of_numpy: Callable[..., Any], numba: Callable[..., Any], still: int = 0) -> dict[str, Callable[..., Any]]:
    """The same function of NumPy's or of JAX's module, and Numba's loops."""
    return {"numpy": lambda *given: of_numpy(np, *given), "numba": numba,
            "jax": by_jax(lambda j, *given: of_numpy(j.numpy, *given), still)}


def rounds_of_jax(step: Callable[..., Any]) -> Callable[..., Any]:
    """The step of a round's number and an array, so many times."""
    return by_jax(lambda j, a, rounds: j.lax.fori_loop(0, rounds, lambda r, a: step(j, r, a), a))


def repeated(name: str, body: str) -> Callable[..., Any]:
    return by_numba(ROUNDS_OF_NUMBA.format(name=name, body=body))


def like_first(a: Any, *_: Any) -> Any:
    return a.shape


def with_size(call: Callable[..., Any]) -> Callable[..., Any]:
    """How C is called that first takes the number of elements."""
    return lambda function, a, *more: call(lambda *given: function(a.size, *given), a, *more)


def same_arrays(*arguments: Any) -> list[Any]:
    return [nessie.asarray(a) if isinstance(a, np.ndarray) else a for a in arguments]


def shared(own: Callable[..., Any]) -> Callable[..., Any]:
    """`own` of arrays that share NumPy's memory."""
    return lambda *arguments: own(*same_arrays(*arguments))


PROGRAMS = (
    Program("Map10Simple", "20*500*100*2", 2 * M, of(*D), map10_simple, with_both(map10_simple_of_numpy, MAP10_SIMPLE,
            4), "map10_simple", into(lambda *shape: shape)),
    Program("Map10", "20*500*100*2", 2 * M, of(*D), map10, with_both(map10_of_numpy, MAP10, 4), "map10",
            into(lambda *shape: shape)),
    Program("Stencil10", "20*500*100*2", 2 * M, of(*D), stencil10, with_both(stencil10_of_numpy, STENCIL10, 4),
            "stencil10", into(lambda *shape: shape)),
    Program("Himeno, 4 rounds", "129*129*65", 129 * 129 * 65, himeno_given, himeno.himeno, with_both(
            himeno_of_numpy, HIMENO_LOOP, 1), "himeno", himeno_by_c),
    Program("dot product, combined", "10^7", 10 * M, of(10 * M), dot_combined, with_both(dot_of_numpy, DOT, 1), "dot",
            lambda function, n: function(n)),
    Program("dot product, zipped", "10^7", 10 * M, of(10 * M), dot_zipped, with_both(dot_of_numpy, DOT, 1), "dot",
            lambda function, n: function(n)),
    Program("dot product of arrays", "10^7", 10 * M, floats(10 * M, 10 * M), products.dot_combined, with_both(
            lambda xp, a, b: xp.dot(a, b), FLOAT_DOT), "float_dot", lambda function, a, b: function(len(a), a, b),
            dense=True),
    Program("Square", "10^7", 10 * M, ints(10 * M), shared(lambda a: a.map(lambda x: x * x)), with_both(
            lambda xp, a: a * a, SQUARE), "square", with_size(into(like_first))),
    Program("Mandelbrot, 200 steps", "1000*1500", 1_500_000, of(1000, 1500, 200), mandelbrot.mandelbrot, with_both(
            mandelbrot_of_numpy, MANDELBROT, 3), "mandelbrot", into(lambda h, w, most: (h, w)), differing=1e-3),
    Program("IterativeMap100", "10^6", M, ints(M, 100), iterative_map, {"numpy": map_of_numpy, "numba": repeated(
            "iterative_map", "x = (x * 3 + r) % 13377"), "jax": rounds_of_jax(lambda j, r, a: (a * 3 + r) % 13377)},
            "iterative_map", with_size(into(like_first)), section=True),
    Program("Iterative100x10", "10^6", M, ints(M, 100), iterative_ten, {"numpy": ten_of_numpy, "numba": repeated(
            "iterative_ten", "for k in range(10): x = (x ^ r) + k"), "jax": rounds_of_jax(ten_of_jax)},
            "iterative_ten", with_size(into(like_first)), section=True),
    Program("IterativeMapComplex", "10^7", 10 * M, ints(10 * M, 10), slide, {"numpy": slide_of_numpy, "numba": SLIDE,
            "jax": rounds_of_jax(lambda j, r, a: j.numpy.where(a.sum() % 2 == 0, a + 1, a + 2) + 3)}, "slide",
            with_size(into(like_first)), section=True),
    Program("IterativeStencil100", "10^6", M, ints(M, 100), iterative_stencil, {"numpy": stencil_of_numpy,
            "numba": by_numba(STENCIL_OF_NUMBA.format(name="stencil", limit="rounds", loop="for _ in range(rounds)")),
            "jax": rounds_of_jax(lambda j, r, a: smoothed(j.numpy, a))}, "iterative_stencil",
            with_size(into(like_first)), section=True),
    Program("stencil until a sum", "10^6", M, ints(M, 4_992_000_000), stencil_until,
            {"numpy": until_of_numpy, "numba": by_numba(STENCIL_OF_NUMBA.format(name="until", limit="least",
             loop="while both[k].sum() > least")), "jax": by_jax(lambda j, a, least: j.lax.while_loop(
                 lambda a: a.sum() > least, lambda a: smoothed(j.numpy, a), a))},
            "stencil_until", with_size(into(like_first)), section=True),
    Program("matrix product", "256^3", 256 ** 2, floats((256, 256), (256, 256)), products.product, with_both(
            lambda xp, a, b: a @ b, MATRIX_PRODUCT), "matrix_product",
            lambda function, a, b: into(like_first, float)(lambda a, b, out: function(len(a), a, b, out), a, b),
            dense=True),
    Program("BFS by unique", "2*10^5, 10^6", M, graph, lambda rows: bfs.by_unique(rows, 0), {"numpy": bfs_of_numpy,
            "numba": lambda rows: BFS_LOOP(np.asarray(rows.offsets), np.asarray(rows.content))}, "bfs", bfs_by_c),
    Program("BFS by flags", "2*10^5, 10^6", M, graph, lambda rows: bfs.by_flags(rows, 0), {"numpy": bfs_of_numpy,
            "numba": lambda rows: BFS_LOOP(np.asarray(rows.offsets), np.asarray(rows.content))}, "bfs", bfs_by_c),
    Program("image library", "1080*1920", 1080 * 1920, drawn, shared(combined), with_both(image_of_numpy, IMAGE_LOOP),
            "image", lambda function, *given: into(like_first)(lambda *a: function(*given[0].shape, *a), *given)),
)
