"""The distances between nodes in a solution of the linear program of schedule.solver.bound.relaxation.

A path's length is the sum of z along it: nodes whose path is shorter than 1 may be in one kernel.
"""
from __future__ import annotations

import math
from collections.abc import Mapping
from heapq import heapify, heappop, heappush

from nessie.schedule.solver.bound.linear import Terms, Value
from nessie.schedule.solver.bound.relaxation import Relaxation

Steps = dict[int, tuple[int, int]]              # of paths: where each node is reached from, and by which pair

NEAR = 0.999                                    # a shorter path breaks a row
STEP = 5e-4                                     # added to a step's length: of paths alike, the one of fewest steps


class Distances:
    """The distances of one solution. `steps`: from each node to those that are near, with the length and the pair of
    each (Relaxation.pairs)."""

    def __init__(self, relaxation: Relaxation, solution: list[float]) -> None:
        self.relaxation = relaxation
        self.solution = [max(0.0, value) for value in solution]
        self.steps = [[(v, step + STEP, pair) for v, pair in joined if (step := self.of_pair(pair)) < NEAR]
                      for joined in relaxation.joined]

    def of_pair(self, pair: int) -> float:
        return self.solution[~pair] if pair < 0 else float(pair)

    def of(self, value: Value) -> float:
        return value.constant + sum(weight * self.solution[k] for k, weight in value.terms.items())

    def near(self, sources: Mapping[int, float], ends: int = 0, limit: float = NEAR) -> tuple[dict[int, float], Steps]:
        """The nodes with a shorter path from a source than that, nearest first, and the last steps of the paths, which
        go no further from nodes of the mask `ends`."""
        nearest, steps = dict(sources), Steps()
        waiting = [(start, k) for k, start in sources.items()]
        heapify(waiting)
        found: dict[int, float] = {}
        while waiting:
            here, u = heappop(waiting)
            if u in found:
                continue
            found[u] = here
            for v, step, pair in () if ends >> u & 1 else self.steps[u]:
                there = here + step
                if there < nearest.get(v, limit):
                    nearest[v], steps[v] = there, (u, pair)
                    heappush(waiting, (there, v))
        return found, steps

    def between(self, u: int, v: int) -> Terms:
        """The length of a shortest path from one node to another, which there is."""
        return along(self.near({u: 0.0}, limit=math.inf)[1], v) if u != v else {}


def along(steps: Steps, v: int) -> Terms:
    """The length of the path that ends here, as a sum of variables."""
    terms: Terms = {}
    while v in steps:
        v, pair = steps[v]
        if pair < 0:
            terms[~pair] = terms.get(~pair, 0.0) + 1
    return terms
