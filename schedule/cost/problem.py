"""A scheduling problem: a graph, its legal fusions, and a device's costs. Clusters are lists of node numbers."""
from __future__ import annotations

from collections.abc import Iterable, Sequence
from copy import copy
from dataclasses import field, replace
from itertools import combinations

from nessie.base.records import dataclass
from nessie.schedule.cost.cost import Cost, Traffic, cost
from nessie.schedule.cost.kernel_arrays import ArrayLimit
from nessie.schedule.cost.profiles import Profile
from nessie.schedule.graph.nodes import Graph, Index
from nessie.schedule.legality.blocks import forced_blocks, with_room
from nessie.schedule.legality.fusible import Fusible

Clusters = list[list[int]]

LEAST = 0.01                    # the part of a launch that copies should save


@dataclass(frozen=True)
class Candidate:
    """Clusters, and in the same order the nodes that each computes again."""
    clusters: Clusters
    again: Clusters = field(default_factory=list)


class Problem:
    """`blocks`: the smallest clusters that meet the wishes. `cheap`: the nodes that may be computed again, without
    those in wishes, which are wanted where they are, and small ones, which are not worth the search. `again`: the cheap
    nodes for which a copy can pay, or make room for other arrays, with its nanoseconds. Raises blocks.Refused if the
    graph's wishes cannot be met."""

    def __init__(self, graph: Graph, profile: Profile) -> None:
        self.index, self.profile = Index(graph), profile
        self.fusible = Fusible(self.index)
        self.traffic = Traffic(self.index)
        self.room = ArrayLimit(self.index, profile.arrays)
        wished = [(self.index.position[u], self.index.position[v]) for u, v in graph.fused]
        self.blocks = forced_blocks(self.fusible, wished) if wished else self.single()
        self.first = with_room(self.fusible, self.blocks, self.excess) if wished else self.blocks
        kept = {k for pair in wished for k in pair}
        self.cheap = {k for k in self.traffic.again if k not in kept and self._matters(k)}
        self.again = {k: profile.computing(*self.traffic.again[k]) for k in sorted(self.cheap)
                      if self.crowded or self._pays(k)}

    def _matters(self, k: int) -> bool:
        """Do all writes and reads of the node's results take noticeable time beside a launch?"""
        streamed = [name for name in self.index.nodes[k].results if name in self.index.readers]
        most = sum(self.traffic.bytes[name] * (1 + len(self.index.readers[name])) for name in streamed)
        return self.profile.streaming(most) >= LEAST * self.profile.launch

    def _pays(self, k: int) -> bool:
        """Can computing a node again be cheaper than writing and reading its results? The copy must stream the arrays
        that only this node streams. If it spares survivors their numbers, it may save any amount."""
        traffic, profile = self.traffic, self.profile
        streamed = [name for name in self.index.nodes[k].results if name in self.index.readers]
        read = profile.streaming(sum(traffic.bytes[name] for name in streamed))
        write = profile.streaming(sum(traffic.bytes[name] for name in streamed if name not in traffic.forced))
        own = [name for name in traffic.streamed[k] if self.index.readers[name] == [k]
               and self.index.maker.get(name) not in traffic.again]
        inputs = profile.streaming(sum(traffic.bytes[name] for name in own))
        numbered = any(name in arrays for arrays in traffic.carries.values() for name in streamed)
        return numbered or any(write + sweeps * (read - inputs) > profile.computing(*traffic.again[k])
                   for sweeps in (1, 1 + profile.rescan))

    def cost(self, clusters: Iterable[Sequence[int]], again: Iterable[Sequence[int]] = ()) -> Cost:
        return cost(self.traffic, self.profile, clusters, again)

    def total(self, plan: Candidate) -> float:
        """The cost of the plan, in nanoseconds."""
        return self.cost(plan.clusters, plan.again).total

    @property
    def crowded(self) -> bool:
        """Could a kernel have too many arrays?"""
        return len(self.room.arrays) > self.room.most

    def roomy(self) -> Problem:
        """The problem where kernels may have any number of arrays."""
        roomy = copy(self)
        roomy.profile = replace(self.profile, arrays=len(self.room.arrays))
        roomy.room = ArrayLimit(self.index, roomy.profile.arrays)
        roomy.first = roomy.blocks
        roomy.again = {k: time for k, time in self.again.items() if self._pays(k)}
        return roomy

    def fits(self, members: Iterable[int], copies: Iterable[int] = ()) -> bool:
        """Has a kernel of these nodes, which computes `copies` again, few enough arrays in memory?"""
        return not self.crowded or not self.excess(members, copies)

    def excess(self, members: Iterable[int], copies: Iterable[int] = ()) -> int:
        """The number of arrays in memory that such a kernel has too many."""
        return max(0, len(self.room.held(members, copies)) - self.room.most)

    def legal(self, members: Sequence[int]) -> bool:
        """Is every pair allowed, are its hosts here, and are there not too many arrays?"""
        here = set(members)
        return self.fits(members) and all(
            self.fusible.ok(u, v) and here.issuperset(self.fusible.hosts(u, v) or ())
            for u, v in combinations(sorted(members), 2))

    def legal_again(self, members: Sequence[int], copies: Sequence[int]) -> bool:
        """May a legal kernel compute again these nodes, which it reads? Paths do not matter to copies, and their hosts
        are those of their readers."""
        together = sum(1 << k for k in (*members, *copies))
        return self.fits(members, copies) and not any(self.fusible.direct[p] & together for p in copies)

    def single(self) -> Clusters:
        """Clusters of one node each."""
        return [[k] for k in range(len(self.index.nodes))]

    def apart(self) -> Clusters:
        """The blocks as kernels, joined with more nodes where they would have too many arrays."""
        return [list(block) for block in self.first]
