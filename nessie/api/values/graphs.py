"""SciPy's sparse matrices and networkx's graphs, as rows: what an element has is a column, or a neighbour.

    a sparse matrix     [[(int, a)]]: the columns and values of each row, as .npz files of it have them
    a graph             [[int]]: the neighbours of each node, as numbers; or [[(int, a)]], each with its edge's weight

The nodes of a graph are numbered in the graph's order, from 0; an edge without the attribute `weight` weighs 1.
"""
from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from nessie.api.values.sequences import Nested, Tuples, ends_of
from nessie.base.types import FLOAT, Pair, Seq, Type

if TYPE_CHECKING:
    from nessie.api.values.arguments import Arguments

WEIGHT = "weight"
Edges = list[list[tuple[int, Any]]]


def is_sparse(value: Any) -> bool:
    return hasattr(value, "tocsr") and comes_from(value, "scipy")


def is_graph(value: Any) -> bool:
    return hasattr(value, "adjacency") and comes_from(value, "networkx")


def comes_from(value: Any, package: str) -> bool:
    """Whether the value is of a class of the package, or of one that is made of such a class."""
    return any([kind.__module__.partition(".")[0] == package for kind in type(value).__mro__])


def rows_of_matrix(arguments: Arguments, matrix: Any) -> Nested:
    if matrix.ndim != 2:
        raise arguments.error("a sparse array of one dimension", "x.toarray() is an array of NumPy's")
    given = matrix.tocsr()
    rows = sorted_rows(given)
    if rows is not given:
        arguments.note(f"a sparse matrix of {rows.nnz:,} elements whose rows were not sorted, copied")
    return columns_and_elements(rows)


def sorted_rows(rows: Any) -> Any:
    """The matrix, or a copy, whose rows have each column once, in order."""
    if rows.has_canonical_format:
        return rows
    found = rows.copy()
    found.sum_duplicates()
    return found


def columns_and_elements(rows: Any) -> Nested:
    return Nested(rows.indptr, Tuples(rows.indices, rows.data))


def rows_of_graph(arguments: Arguments, graph: Any, wanted: Type | None) -> Nested:
    """The neighbours of the nodes. `wanted` is the type of a row."""
    edges = edges_of(graph)
    weighted = isinstance(wanted, Seq) and isinstance(wanted.element, Pair)
    for node, around in zip(graph, edges):
        for other, weight in around:
            if weighted and weight is None:
                to = [*graph][other]
                raise arguments.error(f"the edge from {node!r} to {to!r} has the weight None",
                                      f"graph.edges[{node!r}, {to!r}]['weight'] = 1 sets it")
    arguments.copies(8 * sum(map(len, edges)))
    arguments.note(f"a graph of {len(edges):,} nodes, read edge by edge")
    found = neighbours(edges)
    match wanted:
        case Seq(Pair(_, weight)):
            held = [value for _, value in chain.from_iterable(edges)]
            return Nested(found.offsets, Tuples(found.content, held or np.zeros(0, np.float64 if weight == FLOAT
                                                                                else np.int64)))
    return found


def edges_of(graph: Any) -> Edges:
    """The edges from each node: the number of the other, and the weight."""
    numbers = {node: number for number, node in enumerate(graph)}
    return [[(numbers[other], weight) for other, found in around.items() for weight in weights(graph, found)]
            for _, around in graph.adjacency()]


def neighbours(edges: Edges) -> Nested:
    """The numbers of the nodes at the other end of each node's edges."""
    ends = ends_of(edges)
    return Nested(ends, np.fromiter((target for target, _ in chain.from_iterable(edges)), np.int64, int(ends[-1])))


def weights(graph: Any, found: Any) -> list[Any]:
    """The weights of the edges from a node to another: of a multigraph there may be several."""
    return [edge.get(WEIGHT, 1) for edge in (found.values() if graph.is_multigraph() else [found])]
