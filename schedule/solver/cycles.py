"""Kernels that wait for each other: the cycles that a solution has, and what is left of it without them."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

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
    import networkx

    index = problem.index
    cluster_of = {k: c for c, members in enumerate(clusters) for k in members}
    edges: dict[tuple[int, int], tuple[int, int]] = {}
    for u, successors in enumerate(index.successors):
        for v in sorted(successors):
            if cluster_of[u] != cluster_of[v]:
                edges.setdefault((cluster_of[u], cluster_of[v]), (u, v))
    quotient = networkx.DiGraph(sorted(edges))
    cycles: dict[frozenset[int], list[int]] = {}
    for component in sorted(map(sorted, networkx.strongly_connected_components(quotient))):
        if len(component) > 1:
            part = quotient.subgraph(component)
            for start in component:
                cycle = shortest_cycle(part, start)
                cycles.setdefault(frozenset(cycle), cycle)
    result = []
    for cycle in cycles.values():
        steps = [edges[cycle[i], cycle[(i + 1) % len(cycle)]] for i in range(len(cycle))]
        result.append([(steps[i - 1][1], leave, following) for i, (leave, following) in enumerate(steps)])
    return result


def shortest_cycle(graph: Any, start: int) -> list[int]:
    """The nodes of a shortest cycle through a node of a strongly connected graph."""
    import networkx

    paths = networkx.single_source_shortest_path(graph, start)
    back = min((node for node in paths if graph.has_edge(node, start)),
               key=lambda node: (len(paths[node]), node))
    return list(paths[back])
