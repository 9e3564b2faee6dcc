"""Refinement: a few neighbouring kernels are taken apart and merged again, in a random order, as long as there is time;
what is no worse is kept.

That is "ruin and recreate" (G. Schrimpf, J. Schneider, H. Stamm-Wilbrandt and G. Dueck: Record Breaking Optimization
Results Using the Ruin and Recreate Principle, Journal of Computational Physics 159, 2000), with greedy merging for the
second half. Only legal clusters are ever seen. The random numbers are the same in every run; the time is not.
"""
from __future__ import annotations

from collections.abc import Callable, Collection
from random import Random

from nessie.schedule.cost.problem import Clusters, Problem
from nessie.schedule.solver.greedy import Merging, sharing_pairs

KERNELS = (1, 2, 2, 3, 3, 4, 5)         # so many are taken apart
PRECISION = 1e-9                        # of sums of bytes
IDLE = 6                                # tries for each node without a gain are the last


def refine(problem: Problem, blocks: Clusters, clusters: Clusters, goes_on: Callable[[Clusters], bool]) -> Clusters:
    """Clusters that cost no more. Of what is taken apart, nodes of one block that were together stay so. `goes_on` is
    asked at each step, and told the best so far."""
    refining, idle = Refining(problem, blocks, clusters), 0
    while goes_on(refining.best) and idle < IDLE * len(problem.index.nodes):
        idle = 0 if refining.step() else idle + 1
    return refining.best


class Refining:
    """`best` are the first clusters that cost `total`, the least so far; `merging` has the last that cost no more."""

    def __init__(self, problem: Problem, blocks: Clusters, clusters: Clusters, seed: int = 0) -> None:
        self.problem, self.random = problem, Random(seed)
        self.block_of = {k: b for b, block in enumerate(blocks) for k in block}
        self.best, self.total = clusters, problem.cost(clusters).total
        self.merging = Merging(problem, clusters, careful=False)
        self.sharing: list[list[tuple[int, int, float]]] = [[] for _ in problem.index.nodes]
        for (u, v), weight in sharing_pairs(problem).items():
            self.sharing[u].append((u, v, weight))
            self.sharing[v].append((u, v, weight))

    def step(self) -> bool:
        """Take some clusters apart, and merge. Do they cost less than any before?"""
        names = self.neighbours()
        free = [k for name in names for k in self.merging.members[name]]
        parts = self.parts(free)
        if not all(map(self.problem.fits, parts)):
            return False
        merging = self.merging.taken_apart(names, parts, careful=self.random.random() < 0.5)
        self.merge(merging, free)
        if merging.mask == self.merging.mask:
            return False
        clusters = merging.clusters()
        total = self.problem.cost(clusters).total
        if total > self.total * (1 + PRECISION):
            return False
        self.merging = merging
        if total > self.total * (1 - PRECISION):
            return False
        self.best, self.total = clusters, total
        return True

    def neighbours(self) -> list[int]:
        """The names of a cluster and of some others that share arrays with it."""
        merging = self.merging
        first = self.random.choice(list(merging.members))
        near = {merging.of[k] for u in merging.members[first] for pair in self.sharing[u] for k in pair[:2]} - {first}
        count = self.random.choice(KERNELS) - 1
        return [first, *self.random.sample(sorted(near), min(count, len(near)))]

    def parts(self, free: Collection[int]) -> Clusters:
        """The parts that the nodes fall into: others that would be together may have nodes between."""
        parts: dict[tuple[int, int], list[int]] = {}
        for k in free:
            parts.setdefault((self.block_of[k], self.merging.of[k]), []).append(k)
        return list(parts.values())

    def merge(self, merging: Merging, free: Collection[int]) -> None:
        """Merge these nodes' clusters, with those that share arrays with them first."""
        pairs = {(u, v): weight for k in free for u, v, weight in self.sharing[k]}
        order = {pair: weight * self.random.random() for pair, weight in sorted(pairs.items())}
        for u, v in sorted(order, key=lambda pair: (-order[pair], pair)):
            merging.try_merge(u, v)
        everywhere = sorted(merging.members)
        for u in sorted({merging.of[k] for k in free}):
            for v in everywhere:
                merging.try_merge(u, v)
