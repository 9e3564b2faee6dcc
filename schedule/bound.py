"""What no schedule is below, by a linear program that grows by the rows its solutions break; and a schedule to begin
with, of the nodes that the last solution has together."""
from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

from nessie.schedule.cycles import find_cycles, without_cycles
from nessie.schedule.greedy import greedy
from nessie.schedule.linear import Linear, available
from nessie.schedule.problem import Clusters, Problem
from nessie.schedule.relaxation import Cut, NamedRow, Relaxation
from nessie.schedule.separation import Separation

BROKEN = 0.01                   # rows are added that are broken by so much
TOGETHER = (0.5, 0.01)          # pairs that are apart by less make clusters
MANY = 60                       # rows are enough for a round
GAIN, IDLE = 1e-3, 8            # rounds without such a gain are the last
TRUST = 1e-7                    # of the bound, what the solver's precision may have added


Known = set[tuple[float, frozenset[tuple[int, float]]]]


@dataclass(frozen=True)
class Bound:
    """`least`: no schedule costs less. `clusters`: what the nodes that seem to be together make, as far as that is
    legal; none where the time did not suffice. `tight`: the rows that the last solution just keeps."""
    least: float
    clusters: list[Clusters]
    tight: list[NamedRow]
    relaxation: Relaxation

    def cycles(self, clusters: Clusters) -> list[NamedRow]:
        """Rows that clusters break which wait for each other, but for what is in one of them by no path."""
        home = {k: number for number, members in enumerate(clusters) for k in members}
        solution = [0.0] * len(self.relaxation.weights)
        for (u, v), pair in self.relaxation.pairs.items():
            if pair < 0:
                solution[~pair] = float(home[u] != home[v])
        return [self.relaxation.named(cut) for cut in Separation(self.relaxation, solution).cycles()]


def lower_bound(problem: Problem, blocks: Clusters, seconds: float) -> Bound | None:
    """The bound, as far as this time suffices; None where there is no solver."""
    if not available():
        return None
    deadline = time.monotonic() + seconds
    relaxation = Relaxation(problem, blocks)
    scale = max(problem.profile.launch, max(relaxation.weights, default=0.0)) or 1.0
    program = Linear([weight / scale for weight in relaxation.weights], relaxation.most)
    for low, terms in relaxation.rows:
        program.add(low, terms)
    least, idle, sound, solution = 0.0, 0, False, list[float]()
    known: Known = set()
    cuts: list[Cut] = []
    while (left := deadline - time.monotonic()) > 0:
        solved = program.solve(left)
        if solved is None:
            break
        value, solution = solved
        value = (relaxation.constant + value * scale) * (1 - TRUST)
        idle = 0 if value > least * (1 + GAIN) else idle + 1
        least = max(least, value)
        fresh, of_all_kinds = broken(Separation(relaxation, solution), known, deadline)
        sound |= of_all_kinds
        if not fresh or idle == IDLE:
            break
        cuts += fresh
        for low, terms in fresh:
            program.add(low, terms)
    found = [rounded(problem, blocks, relaxation, solution, limit) for limit in TOGETHER] if sound else []
    tight = [relaxation.named((low, terms)) for low, terms in cuts
             if sum(weight * solution[k] for k, weight in terms.items()) < low + TRUST]
    return Bound(least, found, tight, relaxation)


def broken(separation: Separation, known: Known, deadline: float) -> tuple[list[Cut], bool]:
    """New rows that are broken; of all kinds? Other kinds are looked for once there are few of one, as they take
    longer."""
    fresh: list[Cut] = []
    for kind in (separation.paths, separation.room, separation.cycles, separation.reads):
        for cut in kind():
            if is_new(cut, separation.solution, known):
                fresh.append(cut)
            if time.monotonic() > deadline:
                return fresh, False
        if len(fresh) > MANY:
            return fresh, False
    return fresh, True


def is_new(cut: Cut, solution: list[float], known: Known) -> bool:
    """Does the solution break the row, which is not there yet?"""
    low, terms = cut
    if sum(weight * solution[k] for k, weight in terms.items()) > low - BROKEN * max(1.0, low):
        return False
    key = low, frozenset(terms.items())
    if key in known:
        return False
    known.add(key)
    return True


def rounded(problem: Problem, blocks: Clusters, relaxation: Relaxation, solution: list[float],
            limit: float) -> Clusters:
    """Clusters of nodes between which there is a path of pairs that are apart by less, as far as they are legal;
    greedy goes on from there."""
    import networkx

    graph: Any = networkx.Graph()
    graph.add_nodes_from(range(len(problem.index.nodes)))
    graph.add_edges_from((u, v) for (u, v), pair in relaxation.pairs.items()
                         if pair == 0 or (pair < 0 and solution[~pair] < limit))
    graph.add_edges_from((block[0], k) for block in blocks for k in block)
    clusters: Clusters = []
    for found in sorted(map(sorted, networkx.connected_components(graph))):
        members = set(found)
        clusters += [found] if problem.legal(found) else [block for block in blocks if members.issuperset(block)]
    return greedy(problem, acyclic(problem, blocks, clusters))


def acyclic(problem: Problem, blocks: Clusters, clusters: Clusters) -> Clusters:
    """The clusters; the blocks, if they wait for each other however often those on a cycle are taken apart."""
    while cycles := find_cycles(problem, clusters):
        clusters = without_cycles(blocks, clusters, cycles)
    return clusters
