"""Kernels that wait for each other: the cycles that a solution has, and what is left of it without them."""
from __future__ import annotations

from collections.abc import Mapping, Sequence, Set

from nessie.base.call_graph import components
from nessie.schedule.cost.problem import Clusters, Problem
from nessie.schedule.graph.ordering import execution_order

Cycles = list[list[tuple[int, int, int]]]


def without_cycles(blocks: Clusters, clusters: Clusters, cycles: Cycles) -> Clusters:
    """The clusters; those on a cycle taken apart, into blocks."""
    left = {leave for cycle in cycles for _, leave, _ in cycle}
    waiting = {k for members in clusters if not left.isdisjoint(members) for k in members}
    return [*(members for members in clusters if waiting.isdisjoint(members)),
            *(block for block in blocks if not waiting.isdisjoint(block))]


def find_cycles(problem: Problem, clusters: Sequence[Sequence[int]]) -> Cycles:
    """Short cycles of kernels that wait for each other: per kernel the node by which the cycle comes in, the one by
    which it leaves, and the one it goes to."""
    if execution_order(problem.index, clusters) is not None:
        return []
    index = problem.index
    cluster_of = {k: c for c, members in enumerate(clusters) for k in members}
    edges: dict[tuple[int, int], tuple[int, int]] = {}
    for u, successors in enumerate(index.successors):
        for v in sorted(successors):
            if cluster_of[u] != cluster_of[v]:
                edges.setdefault((cluster_of[u], cluster_of[v]), (u, v))
    waits: dict[int, list[int]] = {c: [] for c in range(len(clusters))}
    for c, d in sorted(edges):
        waits[c].append(d)
    cycles: dict[frozenset[int], list[int]] = {}
    for component in sorted(map(sorted, components(waits))):
        if len(component) > 1:
            for start in component:
                cycle = shortest_cycle(waits, set(component), start)
                cycles.setdefault(frozenset(cycle), cycle)
    result = []
    for cycle in cycles.values():
        steps = [edges[cycle[i], cycle[(i + 1) % len(cycle)]] for i in range(len(cycle))]
        result.append([(steps[i - 1][1], leave, following) for i, (leave, following) in enumerate(steps)])
    return result


def shortest_cycle(graph: Mapping[int, Sequence[int]], component: Set[int], start: int) -> list[int]:
    """The nodes of a shortest cycle through a node of a strongly connected component."""
    paths, reached = {start: [start]}, [start]
    for here in reached:
        for node in graph[here]:
            if node in component and node not in paths:
                paths[node] = [*paths[here], node]
                reached.append(node)
    return min((paths[node] for node in reached if start in graph[node]), key=lambda path: (len(path), path[-1]))
