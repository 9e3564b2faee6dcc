"""The workloads of irregular.nesl: graphs, sparse matrices, recursive sorts, text, geometry, ragged rows, joins."""
from __future__ import annotations

from collections.abc import Callable
from functools import cache
from types import FunctionType
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from suite.regular import primes
from suite.workload import Workload, agree

import nessie

M = 1_000_000
Array = NDArray[Any]
Arguments = tuple[Any, ...]
Maker = Callable[[Generator], Arguments]
prange = range                  # for the functions that Numba compiles: there it is Numba's


# What is given: graphs and sparse matrices ------------------------------------------------------------


def offsets_of(lengths: Array) -> Array:
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)


def directed(random: Generator, nodes: int, edges: int) -> nessie.Nested:
    """The nodes that each node has an edge to."""
    degrees = np.bincount(random.integers(0, nodes, edges), minlength=nodes)
    return nessie.Nested(offsets_of(degrees), random.integers(0, nodes, edges))


def undirected(us: Array, vs: Array, nodes: int) -> nessie.Nested:
    """The neighbours of each node, ascending; no node is its own, none is there twice."""
    apart = us != vs
    us, vs = us[apart], vs[apart]
    keys = np.unique(np.concatenate([us * nodes + vs, vs * nodes + us]))
    return nessie.Nested(offsets_of(np.bincount(keys // nodes, minlength=nodes)), keys % nodes)


def skewed(nodes: int, edges: int) -> Callable[[Generator], nessie.Nested]:
    """An undirected graph in which few nodes have many neighbours."""
    def make(random: Generator) -> nessie.Nested:
        names = random.permutation(nodes)
        us, vs = [names[(nodes * random.random(edges) ** 2.5).astype(np.int64)] for _ in range(2)]
        return undirected(us, vs, nodes)
    return make


def grid(side: int) -> nessie.Nested:
    places = np.arange(side * side).reshape(side, side)
    us, vs = [np.concatenate([a.reshape(-1), b.reshape(-1)]) for a, b in
              [(places[1:], places[:, 1:]), (places[:-1], places[:, :-1])]]
    return undirected(us, vs, side * side)


def linked(random: Generator, nodes: int, edges: int) -> Arguments:
    return nodes, random.integers(0, nodes, edges), random.integers(0, nodes, edges)


def cited(random: Generator, nodes: int, edges: int) -> Arguments:
    """The sources of each node's edges, some cited far more than others, how many each has, and rounds."""
    targets = (nodes * random.random(edges) ** 2).astype(np.int64)
    sources = random.integers(0, nodes, edges)
    rows = nessie.Nested(offsets_of(np.bincount(targets, minlength=nodes)), sources)
    return rows, np.bincount(sources, minlength=nodes), 10


def ranked(graph: nessie.Nested, random: Generator) -> Arguments:
    return graph, random.permutation(len(graph))


def sparse(random: Generator, lengths: Array, columns: int) -> nessie.Nested:
    offsets = offsets_of(lengths)
    size = int(offsets[-1])
    return nessie.Nested(offsets, nessie.Tuples(random.integers(0, columns, size), random.random(size)))


def sparse_pair(random: Generator) -> Arguments:
    a, b = [sparse(random, random.integers(0, 13, 20_000), 20_000) for _ in range(2)]
    return a, b


def forest(random: Generator) -> Arguments:
    """Each node's parent is one of the 50 before it, or itself, and then names are shuffled."""
    nodes = np.arange(M // 2)
    parents = np.maximum(nodes - random.integers(1, 51, len(nodes)), 0)
    parents[random.random(len(nodes)) < 1e-5] = -1
    names = random.permutation(len(nodes))
    shuffled = np.empty_like(parents)
    shuffled[names] = names[np.where(parents < 0, nodes, parents)]
    return (shuffled,)


# What is given: rows, texts and the rest --------------------------------------------------------------


def row_lengths(random: Generator, kind: str, size: int) -> Array:
    """The lengths of rows that have about `size` elements, or of as many rows without any."""
    if kind == "uniform":
        return random.integers(0, 21, size // 10)
    if kind == "zipf":
        lengths = np.minimum(random.zipf(1.7, size // 10) - 1, size // 20)
        return lengths[:int(np.searchsorted(np.cumsum(lengths), size))]
    if kind == "giant":
        lengths = random.integers(0, 3, 10_000)
        lengths[5000] = size
        return lengths
    return np.zeros(size, np.int64)


def ragged(kind: str, size: int) -> Maker:
    def make(random: Generator) -> Arguments:
        offsets = offsets_of(row_lengths(random, kind, size))
        return (nessie.Nested(offsets, random.random(int(offsets[-1]))),)
    return make


def matrix_and_vector(kind: str, size: int) -> Maker:
    return lambda random: (sparse(random, row_lengths(random, kind, size), 100_000), random.random(100_000))


def vocabulary(random: Generator, count: int) -> list[str]:
    return ["".join(map(chr, random.integers(97, 123, length))) for length in random.integers(1, 13, count)]


def prose(random: Generator) -> Arguments:
    """A megabyte of words, some far more often than others, some capital, some before a comma."""
    words = np.array(vocabulary(random, 20_000))[np.minimum(random.zipf(1.2, 150_000) - 1, 19_999)]
    ends = random.choice([" ", ", ", ". ", "\n"], len(words))
    return ("".join([w.capitalize() + e if e == ". " else w + e for w, e in zip(words.tolist(), ends.tolist())])[:M],)


def source_text(random: Generator) -> Arguments:
    """A megabyte of names, numbers, operators and blanks."""
    parts = np.array([*vocabulary(random, 1000), *map(str, random.integers(0, 10_000, 300)),
                      *["(", ")", "+", "==", ";", "x_1"] * 100, *[" ", "\n", "    "] * 500])
    return ("".join(parts[random.integers(0, len(parts), 400_000)].tolist())[:M],)


def strings(random: Generator) -> Arguments:
    words = np.array(vocabulary(random, 50_000))[random.integers(0, 50_000, 100_000)].tolist()
    return (nessie.Nested(offsets_of(np.array([*map(len, words)])), np.array([*"".join(words)])),)


def letters(size: int) -> Maker:
    return lambda random: tuple(["".join(map(chr, random.choice([65, 67, 71, 84], size))) for _ in range(2)])


def runs(random: Generator) -> Arguments:
    return (np.repeat(random.integers(0, 100, M), random.integers(1, 10, M)),)


def crowd(random: Generator) -> Arguments:
    return random.random(100_000), random.random(100_000), 1 / 200, 200


def disc(random: Generator) -> Arguments:
    angles, radii = random.uniform(0, 2 * np.pi, M), np.sqrt(random.random(M))
    return radii * np.cos(angles), radii * np.sin(angles)


def keyed(random: Generator) -> Arguments:
    names = random.integers(0, 2 ** 60, 50_000)
    return names[random.integers(0, len(names), M)], random.random(M)


def doubly_keyed(random: Generator) -> Arguments:
    return random.integers(0, 300, M // 2), random.integers(0, 300, M // 2), random.random(M // 2)


def intervals(random: Generator) -> Arguments:
    """Two sets of 10^5, some of them long."""
    sets = []
    for _ in range(2):
        starts = np.sort(random.integers(0, 10 * M, 100_000))
        sets += [starts, starts + np.minimum(random.zipf(1.4, len(starts)) * 10, 20_000)]
    return tuple(sets)


# A peer's own form of it ------------------------------------------------------------------------------


def by_offsets(*arguments: Any) -> Arguments:
    """The same, each Nested as its offsets and its content, each Tuples as its columns."""
    parts: list[Any] = []
    for a in arguments:
        if isinstance(a, nessie.Nested):
            parts += by_offsets(a.offsets, a.content)
        else:
            parts += a.columns if isinstance(a, nessie.Tuples) else [a]
    return tuple(parts)


def adjacency(graph: Any, *rest: Any) -> Arguments:
    from scipy.sparse import csr_matrix
    ones = np.ones(len(graph.content))
    return csr_matrix((ones, graph.content, graph.offsets), (len(graph), len(graph))), *rest


def edges_as_matrix(n: int, us: Array, vs: Array) -> Arguments:
    from scipy.sparse import csr_matrix
    return (csr_matrix((np.ones(len(us)), (us, vs)), (n, n)),)


def upper(graph: Any) -> Arguments:
    from scipy.sparse import triu
    return (triu(adjacency(graph)[0], 1, "csr"),)


def matrix(rows: Any, columns: int) -> Any:
    from scipy.sparse import csr_matrix
    places, values = rows.content.columns
    return csr_matrix((values, places, rows.offsets), (len(rows), columns))


def in_awkward(rows: Any) -> Arguments:
    import awkward  # noqa: F401  where it is not, this peer is left out
    return (nessie.as_awkward(rows),)


def list_of_strings(words: Any) -> Arguments:
    return (words.to_list(),)


def polars_strings(words: Any) -> Arguments:
    import polars as pl
    return (pl.Series(words.to_list()),)


def polars_frame(*columns: Array) -> Arguments:
    import polars as pl
    return (pl.DataFrame(dict(zip("abcdef", columns))),)


def pandas_frame(*columns: Array) -> Arguments:
    import pandas as pd
    return (pd.DataFrame(dict(zip("abcdef", columns))),)


def polars_series(xs: Any) -> Arguments:
    import polars as pl
    return (pl.Series(xs if isinstance(xs, np.ndarray) else [xs]),)


def points(xs: Array, ys: Array, *rest: Any) -> Arguments:
    return np.column_stack([xs, ys]), *rest


def codes(*texts: str) -> Arguments:
    return tuple([np.frombuffer(text.encode("ascii"), np.uint8) for text in texts])


# When results agree -----------------------------------------------------------------------------------


def same_parts(own: Any, other: Any) -> bool:
    """Whether the labels part the nodes alike, whatever they are."""
    both = len(np.unique(own * (int(np.max(other)) + 1) + other))
    return both == len(np.unique(own)) == len(np.unique(other))


def same_counts(own: Any, other: Any) -> bool:
    """Whether words have the same counts, in whatever order."""
    return {w: int(c) for w, c in own} == {w: int(c) for w, c in (other.items() if hasattr(other, "items") else other)}


def same_strings(own: Any, other: Any) -> bool:
    return bool(own.to_list() == list(other))


def same_set(own: Any, other: Any) -> bool:
    return agree(np.sort(own), np.sort(other))


def columns_of(rows: Any) -> tuple[Array, ...]:
    return tuple([np.asarray(c) for c in getattr(rows, "columns", rows)])


def same_rows(own: Any, other: Any) -> bool:
    """Whether the tuples are the same, in whatever order."""
    ones, others = columns_of(own), columns_of(other)
    order, other_order = np.lexsort(ones[::-1]), np.lexsort(others[::-1])
    return agree([c[order] for c in ones], [c[other_order] for c in others])


# The same by Numba ------------------------------------------------------------------------------------


@cache
def compiled(function: FunctionType) -> Any:
    import numba
    space = {**function.__globals__, "prange": numba.prange}
    return numba.njit(parallel="prange" in function.__code__.co_names)(FunctionType(function.__code__, space))


def by_numba(function: Any) -> Callable[..., Any]:
    """The function, compiled by Numba when it is first called."""
    return lambda *arguments: compiled(function)(*arguments)


@by_numba
def numba_bfs(offsets, neighbours, start):                      # type: ignore[no-untyped-def]
    levels = np.full(len(offsets) - 1, -1)
    queue = np.empty(len(levels), np.int64)
    levels[start], queue[0], end = 0, start, 1
    k = 0
    while k < end:
        v = queue[k]
        for e in range(offsets[v], offsets[v + 1]):
            w = neighbours[e]
            if levels[w] < 0:
                levels[w] = levels[v] + 1
                queue[end] = w
                end += 1
        k += 1
    return levels


@by_numba
def numba_components(n, us, vs):                                # type: ignore[no-untyped-def]
    parents = np.arange(n)
    for e in range(len(us)):
        u, v = us[e], vs[e]
        while parents[u] != u:
            parents[u] = parents[parents[u]]
            u = parents[u]
        while parents[v] != v:
            parents[v] = parents[parents[v]]
            v = parents[v]
        parents[max(u, v)] = min(u, v)
    for v in range(n):                                          # the parent is less, and so has its root by now
        parents[v] = parents[parents[v]]
    return parents


@by_numba
def numba_pagerank(offsets, sources, degrees, rounds):          # type: ignore[no-untyped-def]
    n = len(degrees)
    ranks = np.full(n, 1.0 / n)
    for _ in range(rounds):
        shares = ranks / np.maximum(degrees, 1)
        base = (0.15 + 0.85 * np.sum(ranks[degrees == 0])) / n
        for v in prange(n):
            total = 0.0
            for e in range(offsets[v], offsets[v + 1]):
                total += shares[sources[e]]
            ranks[v] = base + 0.85 * total
    return ranks


@by_numba
def numba_triangles(offsets, neighbours):                       # type: ignore[no-untyped-def]
    found = 0
    for u in prange(len(offsets) - 1):
        last = offsets[u + 1]
        first = last
        while first > offsets[u] and neighbours[first - 1] > u:
            first -= 1
        for e in range(first, last):
            v = neighbours[e]
            i, j = first, offsets[v + 1] - 1
            k = offsets[v]
            while i < last and k <= j:
                if neighbours[k] <= v or neighbours[k] < neighbours[i]:
                    k += 1
                elif neighbours[i] < neighbours[k]:
                    i += 1
                else:
                    found += 1
                    i += 1
                    k += 1
    return found


@by_numba
def numba_core_numbers(offsets, neighbours):                    # type: ignore[no-untyped-def]
    n = len(offsets) - 1                                        # Batagelj and Zaversnik
    cores = np.diff(offsets)
    starts = np.concatenate((np.zeros(1, np.int64), np.cumsum(np.bincount(cores))))
    order, places = np.empty(n, np.int64), np.empty(n, np.int64)
    for v in range(n):
        places[v] = starts[cores[v]]
        order[places[v]] = v
        starts[cores[v]] += 1
    starts[1:] = starts[:-1].copy()
    starts[0] = 0
    for k in range(n):
        v = order[k]
        for e in range(offsets[v], offsets[v + 1]):
            w = neighbours[e]
            if cores[w] > cores[v]:
                first = starts[cores[w]]
                other = order[first]
                order[first], order[places[w]] = w, other
                places[other], places[w] = places[w], first
                starts[cores[w]] = first + 1
                cores[w] -= 1
    return cores


@by_numba
def numba_independent_set(offsets, neighbours, ranks):          # type: ignore[no-untyped-def]
    n = len(ranks)
    order = np.empty(n, np.int64)
    order[ranks] = np.arange(n)
    chosen = np.zeros(n, np.bool_)
    out = np.zeros(n, np.bool_)
    for v in order:
        if not out[v]:
            chosen[v] = True
            for e in range(offsets[v], offsets[v + 1]):
                out[neighbours[e]] = True
    return chosen


@by_numba
def numba_sparse_mxv(offsets, columns, values, vector):         # type: ignore[no-untyped-def]
    out = np.empty(len(offsets) - 1)
    for r in prange(len(out)):
        total = 0.0
        for e in range(offsets[r], offsets[r + 1]):
            total += values[e] * vector[columns[e]]
        out[r] = total
    return out


@by_numba
def numba_run_lengths(xs):                                      # type: ignore[no-untyped-def]
    values, lengths = np.empty(len(xs), xs.dtype), np.empty(len(xs), np.int64)
    n = 0
    for i in range(len(xs)):
        if n == 0 or xs[i] != values[n - 1]:
            values[n], lengths[n] = xs[i], 0
            n += 1
        lengths[n - 1] += 1
    return values[:n].copy(), lengths[:n].copy()


@by_numba
def numba_smith_waterman(a, b):                                 # type: ignore[no-untyped-def]
    best = 0
    row = np.zeros(len(b) + 1, np.int64)
    for i in range(len(a)):
        corner = 0
        for j in range(1, len(b) + 1):
            score = max(0, corner + (2 if a[i] == b[j - 1] else -1), row[j] - 1, row[j - 1] - 1)
            corner, row[j] = row[j], score
            best = max(best, score)
    return best


@by_numba
def numba_row_sums(offsets, xs):                                # type: ignore[no-untyped-def]
    out = np.empty(len(offsets) - 1)
    for r in prange(len(out)):
        total = 0.0
        for i in range(offsets[r], offsets[r + 1]):
            total += xs[i]
        out[r] = total
    return out


@by_numba
def numba_row_maxima(offsets, xs):                              # type: ignore[no-untyped-def]
    out = np.empty(len(offsets) - 1)
    for r in prange(len(out)):
        best = -np.inf
        for i in range(offsets[r], offsets[r + 1]):
            best = max(best, xs[i])
        out[r] = best
    return out


@by_numba
def numba_row_argmaxima(offsets, xs):                           # type: ignore[no-untyped-def]
    out = np.empty(len(offsets) - 1, np.int64)
    for r in prange(len(out)):
        best = offsets[r]
        for i in range(offsets[r], offsets[r + 1]):
            if xs[i] > xs[best]:
                best = i
        out[r] = -1 if offsets[r] == offsets[r + 1] else best - offsets[r]
    return out


@by_numba
def numba_sort_rows(offsets, xs):                               # type: ignore[no-untyped-def]
    out = xs.copy()
    for r in prange(len(offsets) - 1):
        out[offsets[r]:offsets[r + 1]].sort()
    return offsets, out


@by_numba
def numba_depths(parents):                                      # type: ignore[no-untyped-def]
    depths = np.full(len(parents), -1)
    path = np.empty(len(parents), np.int64)
    for start in range(len(parents)):
        v, n = start, 0
        while depths[v] < 0 and parents[v] != v:
            path[n] = v
            v = parents[v]
            n += 1
        depths[v] = max(depths[v], 0)
        for k in range(n - 1, -1, -1):
            depths[path[k]] = depths[v] + n - k
    return depths


# The same by other libraries --------------------------------------------------------------------------


def scipy_bfs(matrix: Any, start: int) -> Array:
    """Levels begin in SciPy's order at the first node whose predecessor is of the level before."""
    from scipy.sparse.csgraph import breadth_first_order
    order, before = breadth_first_order(matrix, start)
    places = np.empty(len(before), np.int64)
    places[order] = np.arange(len(order))
    sources = places[before[order[1:]]]
    levels = np.full(len(before), -1)
    low, high, level = 0, 1, 0
    while low < high:
        levels[order[low:high]] = level
        low, high, level = high, 1 + int(np.searchsorted(sources, high)), level + 1
    return levels


def scipy_components(matrix: Any) -> Array:
    from scipy.sparse.csgraph import connected_components
    labels: Array = connected_components(matrix, directed=False)[1]
    return labels


def scipy_pagerank(matrix: Any, degrees: Array, rounds: int) -> Array:
    ranks = np.full(len(degrees), 1 / len(degrees))
    for _ in range(rounds):
        base = (0.15 + 0.85 * np.sum(ranks[degrees == 0])) / len(degrees)
        ranks = base + 0.85 * (matrix @ (ranks / np.maximum(degrees, 1)))
    return ranks


def scipy_triangles(later: Any) -> int:
    return int((later @ later).multiply(later).sum())


def scipy_product(a: Any, b: Any) -> Any:
    product = a @ b
    product.sort_indices()
    return product.indptr, (product.indices, product.data)


def python_words(text: str) -> Any:
    import re
    from collections import Counter
    return Counter(re.findall("[a-z]+", text.lower()))


def polars_words(texts: Any) -> Any:
    words = texts.str.to_lowercase().str.extract_all("[a-z]+").explode()
    return words.value_counts().rows()


def python_tokens(text: str) -> list[str]:
    import re
    return re.findall(r"\w+|[^\w\s]", text, re.ASCII)


def polars_tokens(texts: Any) -> Any:
    return texts.str.extract_all(r"\w+|[^\w\s]").explode()


def numpy_run_lengths(xs: Array) -> Arguments:
    starts = np.flatnonzero(np.concatenate([[True], xs[1:] != xs[:-1]]))
    return xs[starts], np.diff(starts, append=len(xs))


def polars_run_lengths(xs: Any) -> Arguments:
    lengths, values = xs.rle().struct.unnest().get_columns()
    return values, lengths


def scipy_neighbours(places: Array, radius: float, side: int) -> Array:
    from scipy.spatial import cKDTree
    tree = cKDTree(places)
    counts: Array = tree.query_ball_point(places, radius, return_length=True)
    return counts


def scipy_hull(places: Array) -> Arguments:
    from scipy.spatial import ConvexHull
    return tuple(places[ConvexHull(places).vertices].T)


def reduced(ufunc: Any, xs: Array, offsets: Array, empty: float) -> Array:
    full = offsets[1:] > offsets[:-1]
    out = np.full(len(full), empty)
    out[full] = ufunc.reduceat(xs, offsets[:-1][full]) if len(xs) else 0.0
    return out


def awkward_sums(rows: Any) -> Array:
    import awkward as ak
    result: Array = ak.to_numpy(ak.sum(rows, axis=1))
    return result


def awkward_maxima(rows: Any) -> Array:
    import awkward as ak
    result: Array = ak.to_numpy(ak.max(rows, axis=1, mask_identity=False))
    return result


def awkward_argmaxima(rows: Any) -> Array:
    import awkward as ak
    result: Array = ak.to_numpy(ak.argmax(rows, axis=1, mask_identity=False))
    return result


def awkward_sort(rows: Any) -> Arguments:
    import awkward as ak
    result = ak.sort(rows, axis=1)
    return result.layout.offsets.data, ak.to_numpy(ak.flatten(result))


def numpy_sort_rows(offsets: Array, xs: Array) -> Arguments:
    owners = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    return offsets, xs[np.lexsort((xs, owners))]


def pandas_distinct(xs: Array) -> Any:
    import pandas as pd
    return pd.unique(xs)


def pandas_key_sums(frame: Any) -> Arguments:
    sums = frame.groupby("a")["b"].sum()
    return sums.index.to_numpy(), sums.to_numpy()


def polars_key_sums(frame: Any) -> Any:
    import polars as pl
    return frame.group_by("a").agg(pl.col("b").sum()).sort("a").get_columns()


def pandas_pair_sums(frame: Any) -> Any:
    sums = frame.groupby(["a", "b"], sort=False)["c"].sum().reset_index()
    return [sums[name] for name in sums.columns]


def polars_pair_sums(frame: Any) -> Any:
    import polars as pl
    return frame.group_by("a", "b").agg(pl.col("c").sum()).get_columns()


def numpy_depths(parents: Array) -> Array:
    far: Array = (parents != np.arange(len(parents))).astype(np.int64)
    while not np.array_equal(parents[parents], parents):
        far, parents = far + far[parents], parents[parents]
    return far


def numpy_overlaps(a_starts: Array, a_ends: Array, b_starts: Array, b_ends: Array) -> Arguments:
    def ranges(lows: Array, highs: Array) -> Arguments:
        """Each row's number beside each int from its low up to its high."""
        lengths = highs - lows
        owners = np.repeat(np.arange(len(lows)), lengths)
        return owners, np.arange(len(owners)) - np.repeat(np.cumsum(lengths) - highs, lengths)
    i, j = ranges(np.searchsorted(b_starts, a_starts), np.searchsorted(b_starts, a_ends))
    k, h = ranges(np.searchsorted(a_starts, b_starts, "right"), np.searchsorted(a_starts, b_ends))
    return np.concatenate([i, h]), np.concatenate([j, k])


# The workloads ----------------------------------------------------------------------------------------


def irregular(name: str, entry: str, size: str, arguments: Maker, peers: dict[str, Callable[..., Any]],
              **more: Any) -> Workload:
    return Workload(name, "irregular", entry, size, arguments, peers, **more)


def of_rows(name: str, entry: str, size: str, arguments: Callable[[str, int], Maker], elements: int,
            peers: dict[str, Callable[..., Any]], **more: Any) -> list[Workload]:
    """A workload for each kind of rows: short ones, lengths of a power law, a giant among short ones, empty ones."""
    return [irregular(f"{name}, {kind}", entry, f"{size} rows" if kind == "empty" else size, arguments(kind, elements),
                      peers, **more)
            for kind in ("uniform", "zipf", "giant", "empty")]


OFFSETS = {"numba": by_offsets, "numpy": by_offsets}
AWKWARD = {**OFFSETS, "awkward": in_awkward}
IRREGULAR = (
    irregular("bfs, random", "bfs", "10^6 edges", lambda r: (directed(r, 200_000, M), 0),
              {"numba": numba_bfs, "scipy": scipy_bfs}, prepare={"numba": by_offsets, "scipy": adjacency}),
    irregular("bfs, grid", "bfs", "400 * 400", lambda r: (grid(400), 0),
              {"numba": numba_bfs, "scipy": scipy_bfs}, prepare={"numba": by_offsets, "scipy": adjacency}),
    irregular("components", "components", "10^6 edges", lambda r: linked(r, M // 2, M),
              {"numba": numba_components, "scipy": scipy_components}, prepare={"scipy": edges_as_matrix},
              same=same_parts),
    irregular("pagerank", "pagerank", "10^6 edges * 10", lambda r: cited(r, 100_000, M),
              {"scipy": scipy_pagerank, "numba": numba_pagerank}, prepare={"numba": by_offsets, "scipy": adjacency}),
    irregular("triangles", "triangles", "10^5 edges", lambda r: (skewed(20_000, 100_000)(r),),
              {"numba": numba_triangles, "scipy": scipy_triangles}, prepare={"numba": by_offsets, "scipy": upper}),
    irregular("k-cores", "core_numbers", "3 * 10^5 edges", lambda r: (skewed(100_000, 300_000)(r),),
              {"numba": numba_core_numbers}, prepare=OFFSETS),
    irregular("independent set", "independent_set", "10^6 edges", lambda r: ranked(skewed(200_000, M)(r), r),
              {"numba": numba_independent_set}, prepare=OFFSETS),
    irregular("sparse * sparse", "sparse_product", "20,000 rows", sparse_pair, {"scipy": scipy_product},
              prepare={"scipy": lambda a, b: (matrix(a, len(b)), matrix(b, len(b)))}),
    *of_rows("spmv", "sparse_mxv", "4 * 10^6", matrix_and_vector, 4 * M,
             {"scipy": lambda m, v: m @ v, "numba": numba_sparse_mxv},
             prepare={"scipy": lambda m, v: (matrix(m, len(v)), v), "numba": by_offsets}),
    irregular("samplesort", "samplesort", "10^6", lambda r: (r.random(M),), {"numpy": np.sort}),
    irregular("quicksort, few values", "quicksort", "10^6", lambda r: (r.integers(0, 1000, M),), {"numpy": np.sort}),
    irregular("word histogram", "word_histogram", "10^6", prose, {"python": python_words, "polars": polars_words},
              prepare={"polars": polars_series}, same=same_counts),
    irregular("sort strings", "sorted_strings", "10^5", strings,
              {"python": sorted, "polars": lambda words: words.sort(), "numpy": np.sort},
              prepare={"python": list_of_strings, "polars": polars_strings,
                       "numpy": lambda words: (np.array(words.to_list()),)}, same=same_strings),
    irregular("tokens", "tokens", "10^6", source_text, {"python": python_tokens, "polars": polars_tokens},
              prepare={"polars": polars_series}, same=same_strings),
    irregular("run lengths", "run_lengths", "5 * 10^6", runs,
              {"numpy": numpy_run_lengths, "numba": numba_run_lengths, "polars": polars_run_lengths},
              prepare={"polars": polars_series}),
    irregular("neighbour counts", "neighbour_counts", "10^5 points", crowd, {"scipy": scipy_neighbours},
              prepare={"scipy": points}),
    irregular("convex hull", "quickhull", "10^6 points", disc, {"scipy": scipy_hull}, prepare={"scipy": points},
              same=same_rows),
    irregular("Smith-Waterman", "smith_waterman", "1000 * 1000", letters(1000), {"numba": numba_smith_waterman},
              prepare={"numba": codes}),
    *of_rows("row sums", "row_sums", "10^7", ragged, 10 * M,
             {"numpy": lambda offsets, xs: reduced(np.add, xs, offsets, 0.0), "numba": numba_row_sums,
              "awkward": awkward_sums}, prepare=AWKWARD),
    *of_rows("row maxima", "row_maxima", "10^7", ragged, 10 * M,
             {"numpy": lambda offsets, xs: reduced(np.maximum, xs, offsets, -np.inf), "numba": numba_row_maxima,
              "awkward": awkward_maxima}, prepare=AWKWARD),
    *of_rows("row argmaxima", "row_argmaxima", "10^7", ragged, 10 * M,
             {"numba": numba_row_argmaxima, "awkward": awkward_argmaxima}, prepare=AWKWARD),
    *of_rows("sort rows", "sorted_rows", "10^6", ragged, M,
             {"numpy": numpy_sort_rows, "numba": numba_sort_rows, "awkward": awkward_sort}, prepare=AWKWARD,
             same=lambda own, other: agree((own.offsets, own.content), other)),
    irregular("distinct", "distinct", "10^6", lambda r: (r.integers(0, M // 2, M),),
              {"numpy": np.unique, "pandas": pandas_distinct, "polars": lambda xs: xs.unique()},
              prepare={"polars": polars_series}, same=same_set),
    irregular("key sums", "key_sums", "10^6", keyed,
              {"pandas": pandas_key_sums, "polars": polars_key_sums},
              prepare={"pandas": pandas_frame, "polars": polars_frame}),
    irregular("key pair sums", "pair_sums", "500,000", doubly_keyed,
              {"pandas": pandas_pair_sums, "polars": polars_pair_sums},
              prepare={"pandas": pandas_frame, "polars": polars_frame}, same=same_rows),
    irregular("sieve", "sieve", "3 * 10^6", lambda r: (3 * M,), {"numpy": primes}),
    irregular("forest depths", "depths", "500,000 nodes", forest, {"numba": numba_depths, "numpy": numpy_depths}),
    irregular("interval overlaps", "overlaps", "2 * 10^5", intervals, {"numpy": numpy_overlaps}, same=same_rows))
