"""Greedy schedule: merge the clusters that save most, as long as every kernel stays legal and an order exists.

Pairs that share data come first, by the bytes they share, ties in program order; then clusters without common data
are packed together, for the launches. It always ends with a legal schedule, and is what an exact one must not exceed.
"""
from __future__ import annotations

from collections.abc import Iterable, Sequence
from copy import copy
from itertools import combinations

from nessie.schedule.cost.problem import Clusters, Problem

GROUP = 40                      # of an array's readers, only so many neighbours are paired


def greedy(problem: Problem, start: Sequence[Sequence[int]] | None = None, least: float = 0.0) -> Clusters:
    """Clusters, beginning from `start` (every node on its own by default, and where too many arrays are in a cluster):
    merging whatever may be merged, or only what costs no more merged, whichever ends better. `least`: no clusters cost
    less."""
    start = start if start and all(map(problem.fits, start)) else problem.apart()
    first = merge_all(problem, start, careful=False)
    if problem.cost(first).total <= least:
        return first
    return min((first, merge_all(problem, start, careful=True)),
               key=lambda clusters: problem.cost(clusters).total)


def merge_all(problem: Problem, start: Sequence[Sequence[int]], careful: bool) -> Clusters:
    merging = Merging(problem, start, careful)
    shared = sharing_pairs(problem)
    for u, v in sorted(shared, key=lambda pair: (-shared[pair], pair)):
        merging.try_merge(u, v)
    while any([merging.try_merge(u, v) for u, v in combinations(sorted(merging.members), 2)]):
        pass
    return merging.clusters()


def sharing_pairs(problem: Problem) -> dict[tuple[int, int], float]:
    """The allowed pairs that use a common array or stand in a filter's relation, with the bytes at stake."""
    index, pairs = problem.index, dict[tuple[int, int], float]()
    for name, readers in index.readers.items():
        maker = index.maker.get(name)
        group = sorted({*readers, *(() if maker is None else (maker,))})
        for i, u in enumerate(group):
            for v in group[i + 1:i + GROUP]:
                if problem.fusible.ok(u, v):
                    weight = problem.traffic.bytes[name] * (2 if u == maker else 1)
                    pairs[u, v] = pairs.get((u, v), 0.0) + weight
    for maker, waiting in problem.traffic.waiting.items():
        for k in waiting:
            if problem.fusible.ok(maker, k):
                pairs.setdefault((maker, k), 0.0)
    return pairs


class Merging:
    """Clusters that grow. `of` says in which cluster a node is; a cluster is named by its first node."""

    def __init__(self, problem: Problem, start: Iterable[Sequence[int]], careful: bool) -> None:
        self.problem, self.careful = problem, careful
        self.members: dict[int, list[int]] = {}
        self.of: dict[int, int] = {}
        self.mask: dict[int, int] = {}
        self.bad: dict[int, int] = {}                       # the nodes that none of them may be with
        self.after: dict[int, int] = {}                     # what uses what they make
        self.alike: dict[int, frozenset[int]] = {}
        self.held: dict[int, set[str]] = {}                 # the arrays in memory, and perhaps more
        self.failed: set[tuple[int, int]] = set()           # pairs of masks that would wait for each other, or lose
        self.add(start)

    def add(self, clusters: Iterable[Sequence[int]]) -> None:
        """More clusters, of nodes that are in none."""
        problem = self.problem
        for members in map(sorted, clusters):
            name = members[0]
            self.members[name] = members
            self.mask[name] = self.bad[name] = self.after[name] = 0
            for k in members:
                self.of[k] = name
                self.mask[name] |= 1 << k
                self.bad[name] |= problem.fusible.bad[k]
                self.after[name] |= problem.index.after[k]
            self.alike[name] = frozenset(problem.fusible.alike[k] for k in members)
            self.held[name] = problem.room.held(members) if problem.crowded else set()

    def taken_apart(self, names: Iterable[int], parts: Iterable[Sequence[int]], careful: bool) -> Merging:
        """Others, in which the clusters of these names are these parts."""
        other = copy(self)
        other.careful, other.failed, other.of = careful, set(), dict(self.of)
        for kind in ("members", "mask", "bad", "after", "alike", "held"):
            found = dict(getattr(self, kind))
            for name in names:
                del found[name]
            setattr(other, kind, found)
        other.add(parts)
        return other

    def clusters(self) -> Clusters:
        return sorted(self.members.values())

    def try_merge(self, u: int, v: int) -> bool:
        """Put the clusters of u and v together if that is legal."""
        c, d = sorted((self.of[u], self.of[v]))
        if c == d or self.bad[c] & self.mask[d] or (self.mask[c], self.mask[d]) in self.failed or not self.hosted(c, d):
            return False
        room, held = self.problem.room, self.held[c] | self.held[d]
        if len(held) > room.most and len(held := room.still_held(held, self.mask[c] | self.mask[d])) > room.most:
            return False
        if (self.careful and self.loss(c, d) > 0) or self.path_around(c, d) or self.path_around(d, c):
            self.failed.add((self.mask[c], self.mask[d]))
            return False
        self.members[c] = sorted(self.members[c] + self.members[d])
        self.mask[c] |= self.mask.pop(d)
        self.bad[c] |= self.bad.pop(d)
        self.after[c] |= self.after.pop(d)
        self.alike[c] |= self.alike.pop(d)          # as a set of its own, which others do not share
        self.held[c] = held
        del self.held[d]
        for k in self.members.pop(d):
            self.of[k] = c
        return True

    def hosted(self, c: int, d: int) -> bool:
        """Are the filters here that the two need together?"""
        here = self.mask[c] | self.mask[d]
        return all(here >> h & 1 for x in self.alike[c] for y in self.alike[d]
                   for h in self.problem.fusible.hosts(x, y) or ())

    def loss(self, c: int, d: int) -> float:
        """The time that merging the clusters adds; synchronisations are left out, as they only get fewer."""
        apart = self.moved(self.members[c], c, c) + self.moved(self.members[d], d, d)
        more = self.moved(self.members[c] + self.members[d], c, d) - apart
        return self.problem.profile.streaming(more) - self.problem.profile.launch

    def moved(self, members: Sequence[int], c: int, d: int) -> float:
        """The bytes that a kernel of these nodes reads and writes, were c and d one."""
        index, traffic = self.problem.index, self.problem.traffic

        def written(name: str) -> bool:
            home = self.of[index.maker[name]]
            here = (c, d) if home in (c, d) else (home,)
            return name in traffic.forced or any(self.of[r] not in here for r in index.readers.get(name, ()))

        return traffic.kernel(members, self.problem.profile.rescan, written) \
            + sum(traffic.bytes[name] for k in members for name in index.nodes[k].results
                  if traffic.bytes.get(name) and written(name))

    def path_around(self, c: int, d: int) -> bool:
        """Does a path lead from c to d through other clusters? Merged, they would wait for themselves."""
        goal, seen = self.mask[d], self.mask[c]
        following = self.after[c] & ~seen & ~goal
        while following:
            cluster = self.of[following.bit_length() - 1]
            if self.after[cluster] & goal:
                return True
            seen |= self.mask[cluster]
            following = (following | self.after[cluster]) & ~seen
        return False
