"""Rows of the linear program of schedule.solver.bound.relaxation that a solution breaks: clusters that wait for each
other in a row.

The nodes that a solution seems to have together make clusters. In a chain C1 -> .. -> Cm of them, each is left at a
node x by an edge to a node e of the next, and each has a node s for which r[s] is how much its kernel counts: 1, for
launches; that it reads an array, for its reads. What is counted is at least

    sum_i r[s_i]  -  sum_i (1 - z[x_i,e_i+1])  -  sum_i M_i * |e_i ~ x_i|  -  sum_i |s_i ~ x_i|

    z           is 1 where the edge's nodes may not be together; one such edge in each step will do
    |e ~ x|     the length of a path, the sum of z along it. If it is not 0, the chain falls into two, the longer of
                which still holds: M_i is what the shorter one has
"""
from __future__ import annotations

from collections import deque
from collections.abc import Mapping

from nessie.schedule.solver.bound.distances import Distances
from nessie.schedule.solver.bound.linear import Cut, Value, add

CLOSE = 0.2                     # what is apart by less seems to be together
SURE = 0.5                      # what counts more is counted

Edge = tuple[int, int]


class Quotient:
    """`home`: the cluster of each node, named by its first; `steps`: the edges out of each cluster, one to each other;
    `order`: so that edges lead forwards, none if there is no such order; `after`: the mask of the clusters that come
    strictly after one."""

    def __init__(self, distances: Distances) -> None:
        import networkx

        self.distances, self.relaxation = distances, distances.relaxation
        self.index, self.fusible = self.relaxation.problem.index, self.relaxation.problem.fusible
        self.home = self._clusters()
        chosen: dict[Edge, Edge] = {}
        for u, successors in enumerate(self.index.successors):
            for v in sorted(successors):
                key = self.home[u], self.home[v]
                if key[0] != key[1] and (key not in chosen or not self.strict(chosen[key])):
                    chosen[key] = u, v
        graph = networkx.DiGraph(sorted(chosen))
        graph.add_nodes_from(self.home)
        acyclic = networkx.is_directed_acyclic_graph(graph)
        self.order: list[int] = list(networkx.lexicographical_topological_sort(graph)) if acyclic else []
        self.steps: dict[int, list[Edge]] = {c: [chosen[c, d] for d in sorted(graph.successors(c))] for c in self.order}
        self.after = self._after()

    def _clusters(self) -> list[int]:
        home = [-1] * len(self.index.nodes)
        for start in range(len(home)):
            if home[start] < 0:
                home[start] = start
                reached = [start]
                for u in reached:
                    for v, length, _ in self.distances.steps[u]:
                        if home[v] < 0 and length < CLOSE:
                            home[v] = start
                            reached.append(v)
        return home

    def _after(self) -> dict[int, int]:
        reached, strictly = dict[int, int](), dict[int, int]()
        for c in reversed(self.order):
            reached[c], strictly[c] = 1 << c, 0
            for edge in self.steps[c]:
                d = self.home[edge[1]]
                reached[c] |= reached[d]
                strictly[c] |= reached[d] if self.strict(edge) else strictly[d]
        return strictly

    def apart(self, edge: Edge) -> int:
        """The variable of the pair, as in Relaxation.pairs; 0 where there is none."""
        return self.relaxation.pairs.get(edge, 0) if self.fusible.ok(*edge) else 1

    def strict(self, edge: Edge) -> bool:
        return self.distances.of_pair(self.apart(edge)) > 1 - CLOSE

    def chain(self, variable: int, values: Mapping[int, Value], alike: bool = False) -> Cut | None:
        """The row of a longest chain, if there is one. `values`: how much nodes count; if they count `alike`, any node
        of a cluster will do."""
        chosen: dict[int, int] = {}             # of each cluster, the node that counts most
        worth = {s: self.distances.of(value) for s, value in values.items()}
        for s in sorted(values):
            c = self.home[s]
            if worth[s] > (worth[chosen[c]] if c in chosen else SURE):
                chosen[c] = s
        best: dict[int, list[int]] = {}
        for c in self.order:
            if c in chosen:
                before = max((best[d] for d in best if self.after[d] >> c & 1), key=len, default=[])
                best[c] = [*before, c]
        clusters = max(best.values(), key=len, default=[])
        if len(clusters) < 2:
            return None
        return self.row(variable, clusters, [values[chosen[c]] for c in clusters],
                        [None if alike else chosen[c] for c in clusters])

    def row(self, variable: int, clusters: list[int], values: list[Value], nodes: list[int | None]) -> Cut:
        """The row of a chain. `nodes`: those that count; None, where any will do."""
        low, terms = 0.0, {variable: 1.0}
        enter: int | None = None
        for number, (c, value, s) in enumerate(zip(clusters, values, nodes, strict=True)):
            way = self.way(c, clusters[number + 1]) if number + 1 < len(clusters) else []
            low += value.constant
            add(terms, value.terms, -1.0)
            at = way[0][0] if way else enter
            if s is not None and at is not None:
                add(terms, self.distances.between(at, s))
            strict = next((edge for edge in way if self.strict(edge)), None)
            if strict and (pair := self.apart(strict)) < 0:
                low -= 1
                add(terms, {~pair: 1.0}, -1.0)
            for edge in way:
                if enter is not None:
                    before = number + (edge is not way[0])
                    add(terms, self.distances.between(enter, edge[0]), float(min(before, len(clusters) - before)))
                enter = edge[1]
        return low, {k: weight for k, weight in terms.items() if weight}

    def way(self, c: int, d: int) -> list[Edge]:
        """The fewest edges from one cluster to another one, one of them strict."""
        came: dict[tuple[int, bool], tuple[tuple[int, bool], Edge]] = {}
        waiting = deque([(c, False)])
        while (d, True) not in came:
            here = waiting.popleft()
            for edge in self.steps[here[0]]:
                there = self.home[edge[1]], here[1] or self.strict(edge)
                if there not in came:
                    came[there] = here, edge
                    waiting.append(there)
        edges, at = list[Edge](), (d, True)
        while at != (c, False):
            at, edge = came[at]
            edges.insert(0, edge)
        return edges
