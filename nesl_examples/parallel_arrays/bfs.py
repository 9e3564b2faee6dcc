"""How far the vertices of a graph are from one of them, as the paper has it: a queue that becomes the neighbours of
what is in it, made flat, each once; or a flag for each vertex, of which those that are set are selected.

A graph is rows of neighbours: nessie.Nested, or lists.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import nessie

Distances = np.ndarray[Any, Any]


def by_unique(neighbours: Any, start: int) -> Distances:
    """The number of edges from the start to each vertex; -1: there is no way."""
    def beyond(queue: Any, rows: Any, distance: Distances) -> Any:
        found = queue.map(lambda v: rows[v]).flatten()
        return found.select(lambda v: distance[v] < 0).unique()
    return search(neighbours, start, beyond)


def by_flags(neighbours: Any, start: int) -> Distances:
    def beyond(queue: Any, rows: Any, distance: Distances) -> Any:
        flags = np.zeros(len(rows), bool)
        flags[queue.map(lambda v: rows[v]).flatten().to_numpy()] = True
        both = nessie.asarray(flags).zip(distance).map(lambda p, v: (p[0] and p[1] < 0, v), with_index=True)
        return both.select(lambda p: p[0]).map(lambda p: p[1])
    return search(neighbours, start, beyond)


def search(neighbours: Any, start: int, beyond: Callable[[Any, Any, Distances], Any]) -> Distances:
    """Go on from level to level: `beyond` makes of one level's vertices those of the next."""
    rows = nessie.nest(neighbours)
    distance = np.full(len(rows), -1)
    queue, level = nessie.array([start]), 0
    while len(queue):
        distance[queue.to_numpy()] = level
        level += 1
        queue = beyond(queue, rows, distance)
    return distance


if __name__ == "__main__":
    graph = [[1, 2], [3], [3, 4], [5], [5], [], [0]]
    print(by_unique(graph, 0), by_flags(graph, 0))
