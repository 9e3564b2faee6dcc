"""A scheduling problem: a graph, what may be fused in it, and a device's costs. Clusters are lists of node numbers."""
from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import combinations

from nessie.schedule.cost import Cost, Profile, Traffic, arrays_of, cost
from nessie.schedule.fusible import Fusible
from nessie.schedule.pdg import Graph, Index

Clusters = list[list[int]]


class Problem:
    def __init__(self, graph: Graph, profile: Profile) -> None:
        self.index, self.profile = Index(graph), profile
        self.fusible = Fusible(self.index)
        self.traffic = Traffic(self.index)
        self.arrays = [arrays_of(self.index, k) for k in range(len(graph.nodes))]

    def cost(self, clusters: Iterable[Sequence[int]]) -> Cost:
        return cost(self.traffic, self.profile, clusters)

    def fits(self, members: Iterable[int]) -> bool:
        """Are the arrays of the nodes few enough for one kernel's registers?"""
        members = list(members)
        return len(members) == 1 or sum(self.arrays[k] for k in members) <= self.profile.arrays

    def legal(self, members: Sequence[int]) -> bool:
        """Every pair is allowed, and its hosts are here."""
        here = set(members)
        return self.fits(members) and all(
            self.fusible.ok(u, v) and here.issuperset(self.fusible.hosts(u, v) or ())
            for u, v in combinations(sorted(members), 2))

    def apart(self) -> Clusters:
        """Every node on its own."""
        return [[k] for k in range(len(self.index.nodes))]
