"""Copies for clusters that are given: which cheap MAPs should be computed again where they are read.

What a copy saves is a read, and once no other kernel reads the array, its write; it costs its arithmetic, and reading
what the kernel did not read yet.
"""
from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from itertools import chain, combinations

from nessie.schedule.cost.problem import Candidate, Clusters, Problem

MOST = 3                        # copies, all sets of which are tried


class Many(Exception):
    """Too many to try all."""


def wanted(problem: Problem, members: Sequence[int], copies: Iterable[int]) -> list[int]:
    """The copies that the kernel of these nodes reads, directly or for another copy."""
    here = set(members)
    streamed = {name for k in members for name in problem.traffic.streamed[k]}
    found = []
    for k in sorted(set(copies) - here, reverse=True):
        if not streamed.isdisjoint(problem.index.nodes[k].results):
            found.append(k)
            streamed.update(problem.traffic.streamed[k])
    return found[::-1]


def candidates(problem: Problem, clusters: Clusters) -> list[tuple[int, int]]:
    """The nodes that could be computed again, with their cluster: a copy that may be there if no other is."""
    return [(number, k) for number, members in enumerate(clusters)
            for k in wanted(problem, members, [k for k in wanted(problem, members, problem.again)
                                               if problem.legal_again(members, [k])])]


def with_copies(problem: Problem, clusters: Clusters) -> Candidate:
    """The clusters with copies that make them cheaper, the best first: one copy, or one of the same node wherever it
    is read. Another choice may be better."""
    best = Candidate(clusters)
    if not most_saved(problem, clusters):
        return best
    total = problem.total(best)
    places = candidates(problem, clusters)
    groups = [[place] for place in places] + [[place for place in places if place[1] == k]
                                              for k in sorted({k for _, k in places})]
    chosen: set[tuple[int, int]] = set()
    while True:
        tried = [plan_of(problem, clusters, chosen.union(group)) for group in groups if not chosen.issuperset(group)]
        costs = [(problem.total(plan), number) for number, plan in enumerate(tried) if plan]
        least, number = min(costs, default=(total, 0))
        if least >= total * (1 - 1e-9):
            return best
        best, total = tried[number] or best, least
        chosen = {(number, k) for number, copies in enumerate(best.again) for k in copies}


def cheapest(problem: Problem, clusters: Clusters, limit: float) -> Candidate | None:
    """The legal clusters with the copies that make them cheapest, if that is cheaper than the limit; raises Many if
    there are too many copies to try."""
    places = candidates(problem, clusters)
    if problem.cost(clusters).total - most_saved(problem, clusters, places) >= limit:
        return None
    if len(places) > MOST:
        raise Many
    best = None
    for chosen in chain.from_iterable(combinations(places, count) for count in range(len(places) + 1)):
        plan = plan_of(problem, clusters, chosen)
        total = problem.total(plan) if plan else limit
        if total < limit:
            best, limit = plan, total
    return best


def most_saved(problem: Problem, clusters: Clusters, places: Collection[tuple[int, int]] | None = None) -> float:
    """No copies in these clusters save more, if they are at these places: they save reads, one of each array in each
    cluster, and writes of what all that read it have copies of, and so perhaps second sweeps that would number
    survivors; they cost reads of what nothing else there has."""
    if not problem.again:
        return 0.0
    traffic, profile = problem.traffic, problem.profile
    home = {k: number for number, members in enumerate(clusters) for k in members}
    readers: dict[int, set[int]] = {}
    for maker, k, _ in traffic.flows:
        if maker in problem.again and home[k] != home[maker]:
            readers.setdefault(maker, set()).add(home[k])
    saved = 0.0
    for k, clusters_of in readers.items():
        made = [name for name in problem.index.nodes[k].results if name in problem.index.readers]
        swept = {name for f, arrays in traffic.carries.items() if not set(arrays).isdisjoint(made)
                 for other in clusters[home[f]] for name in traffic.streamed[other]}
        saved += profile.streaming(profile.rescan * sum(traffic.bytes[name] for name in sorted(swept)))
        read = sum(traffic.bytes[name] for name in made)
        write = profile.streaming(sum(traffic.bytes[name] for name in made if name not in traffic.forced))
        possible = [number for number in clusters_of if places is None or (number, k) in places]
        saved += write if len(possible) == len(clusters_of) else 0.0
        for number in possible:
            own = 0.0 if places is None else needed_alone(problem, clusters[number], k, [
                other for place, other in places if place == number])
            less = max(read - own, (1 + profile.rescan) * (read - own))
            saved += max(0.0, profile.streaming(less) - problem.again[k])
    return saved


def needed_alone(problem: Problem, members: Sequence[int], k: int, copies: Iterable[int]) -> float:
    """The bytes that a copy of k streams and nothing else does or makes there, whichever of these copies there are."""
    nodes = [other for other in (*members, *copies) if other != k]
    there = {name for other in nodes
             for name in (*problem.traffic.streamed[other], *problem.index.nodes[other].results)}
    return sum(problem.traffic.bytes[name] for name in problem.traffic.streamed[k] if name not in there)


def plan_of(problem: Problem, clusters: Clusters, places: Iterable[tuple[int, int]]) -> Candidate | None:
    """The clusters with these copies; None if one may not be, or nobody reads it."""
    again: Clusters = [[] for _ in clusters]
    for number, k in sorted(places):
        again[number].append(k)
    fine = all(not copies or (wanted(problem, members, copies) == copies and problem.legal_again(members, copies))
               for members, copies in zip(clusters, again, strict=True))
    return Candidate(clusters, again) if fine else None
