"""Small problems, solved without an integer program: a bound on what any schedule costs, and a search below it.

The bound comes from pairs alone:

    launches    one for each of some nodes no two of which may share a kernel
    writes      of what is forced, and of arrays that some node streams that may not be in the kernel of their maker
    reads       of each array by nodes no two of which may share a kernel, nor each with its maker
    sweeps      a second one of what a node streams that has a carry in every schedule
    copies      of what may be computed again, each of those nodes reads an array or computes it, and if all compute it,
                it need not be written

Each of those nodes is in a kernel of its own, so a schedule has these kernels, and few more if it is to cost less than
one that is known: what is left is to try where the other nodes go, and most may go to few kernels.
"""
from __future__ import annotations

from itertools import combinations

from nessie.schedule.cost.problem import Candidate, Clusters, Problem
from nessie.schedule.graph.nodes import HOST
from nessie.schedule.graph.ordering import execution_order
from nessie.schedule.legality.cliques import apart
from nessie.schedule.solver.copies import Many, cheapest, most_saved

TRIES = 100                     # of putting a block somewhere
PRECISION = 1e-9                # of sums of bytes
CASES = 3                       # nodes of which the bound asks what if they are computed again everywhere


def search(problem: Problem, blocks: Clusters, best: Candidate) -> Candidate | None:
    """The cheapest plan of these blocks; `best` unless others cost less. None where that takes too many tries, or where
    copies may make room for other arrays."""
    if problem.crowded and problem.again:
        return None
    least = least_cost(problem)
    spare = max(0, int((problem.total(best) * (1 - PRECISION) - least) / problem.profile.launch))
    try:
        return best if reaches(problem, best, least) else Placing(problem, blocks, best, spare).best()
    except Many:
        return None


def reaches(problem: Problem, plan: Candidate, least: float) -> bool:
    """Does the plan cost no more than the bound?"""
    return problem.total(plan) <= least * (1 + PRECISION)


class Placing:
    """The blocks that must be apart have kernels; `others` are put in one of these, or one of `spare` more."""

    def __init__(self, problem: Problem, blocks: Clusters, best: Candidate, spare: int) -> None:
        self.problem, self.spare, self.tries = problem, spare, 0
        self.found, self.cost = best, problem.total(best) * (1 - PRECISION)
        first = set(apart(problem.fusible.bad, range(len(problem.index.nodes))))
        self.kernels = [list(block) for block in blocks if not first.isdisjoint(block)]
        self.others = sorted((block for block in blocks if first.isdisjoint(block)),
                             key=lambda block: sum(self.may_join(block, kernel) for kernel in self.kernels))

    def best(self) -> Candidate | None:
        return self.found if self.place(0) else None

    def place(self, number: int) -> bool:
        """Try all ways to place the blocks from this one on; False when there were too many."""
        self.tries += 1
        if number == len(self.others):
            self.note()
            return True
        block = self.others[number]
        for kernel in self.kernels:
            if self.may_join(block, kernel):
                kernel += block
                done = self.place(number + 1)
                del kernel[len(kernel) - len(block):]
                if not done:
                    return False
        if self.spare:
            self.spare -= 1
            self.kernels.append(list(block))
            done = self.place(number + 1)
            self.kernels.pop()
            self.spare += 1
            if not done:
                return False
        return self.tries < TRIES

    def may_join(self, block: list[int], kernel: list[int]) -> bool:
        return all(self.problem.fusible.ok(u, v) for u in block for v in kernel)

    def note(self) -> None:
        """Keep the clusters as they are, if they are the best so far."""
        clusters = sorted(map(sorted, self.kernels))
        if self.problem.cost(clusters).total - most_saved(self.problem, clusters) >= self.cost:
            return
        if all(map(self.problem.legal, clusters)) and execution_order(self.problem.index, clusters) is not None:
            plan = cheapest(self.problem, clusters, self.cost)
            if plan is not None:
                self.found, self.cost = plan, self.problem.total(plan)


def least_cost(problem: Problem) -> float:
    """A lower bound of the cost of every schedule."""
    readers: dict[str, list[int]] = {}          # of each array, those that cannot be with its maker
    copying: dict[int, list[int]] = {}          # of a node, those that could have a copy instead
    for k, names in problem.traffic.streamed.items():
        for name in names:
            maker = problem.index.maker.get(name)
            if maker is None or not problem.fusible.ok(maker, k):
                if maker in problem.again and not problem.fusible.direct[maker] >> k & 1:
                    copying.setdefault(maker, []).append(k)
                else:
                    readers.setdefault(name, []).append(k)
    decided = sorted(copying)[:CASES]
    return min(least_if(problem, readers, copying, set(chosen), set(decided))
               for count in range(len(decided) + 1) for chosen in combinations(decided, count))


def least_if(problem: Problem, readers: dict[str, list[int]], copying: dict[int, list[int]], copied: set[int],
             decided: set[int]) -> float:
    """The bound, if all readers have copies of the nodes `copied`, and some reader has none of each other one that is
    `decided`. What copies stream, their readers need."""
    index, traffic, profile = problem.index, problem.traffic, problem.profile
    bad = problem.fusible.bad
    readers = {name: list(nodes) for name, nodes in readers.items()}
    copying = {k: list(nodes) for k, nodes in copying.items()}
    extra = 0.0
    for k in sorted(copying, reverse=True):
        if k in copied:
            extra += problem.again[k] * len(apart(bad, copying[k]))
            for name in traffic.streamed[k]:
                maker = index.maker.get(name)
                for reader in copying[k]:
                    if maker is None or not problem.fusible.ok(maker, reader):
                        into = copying.get(maker, []) if maker in problem.again else readers.setdefault(name, [])
                        into.append(reader)
        else:
            extra += uncopied(problem, k, copying[k], k in decided, readers)
    written = traffic.forced | (readers.keys() & index.maker.keys())
    carrying = sum(1 << k for k, arrays in traffic.carries.items() if not arrays or not written.isdisjoint(arrays))
    sweeps = [1 + profile.rescan * (carrying >> k & 1) for k in range(len(index.nodes))]
    reads = sum(traffic.bytes[name] * max(sum(sweeps[k] for k in apart(bad, nodes)), max(sweeps[k] for k in nodes))
                for name, nodes in readers.items())
    launches = sum(index.nodes[k].op != HOST for k in apart(bad, range(len(index.nodes))))
    waits = traffic.waited | {f for f, waiting in traffic.waiting.items()
                              if not all(problem.fusible.ok(f, k) for k in waiting)}
    moved = sum(traffic.bytes[name] for name in sorted(written)) + reads
    return profile.streaming(moved) + profile.launch * launches + profile.sync * len(waits) + extra


def uncopied(problem: Problem, k: int, nodes: list[int], decided: bool, readers: dict[str, list[int]]) -> float:
    """The least cost for these nodes to read what k makes, or to compute it; one reads it, if that is decided.
    `readers` read it anyway, and so may those that can be with one of them."""
    traffic, profile, again = problem.traffic, problem.profile, problem.again[k]
    made = [name for name in problem.index.nodes[k].results if name in problem.index.readers]
    known = [reader for name in made for reader in readers.get(name, ())]
    least: dict[int, float] = {}
    for node in nodes:
        if not any(problem.fusible.ok(node, reader) for reader in known):
            used = [traffic.bytes[name] for name in made if name in traffic.streamed[node]]
            least[node] = profile.streaming(min(used, default=0.0))
    free = known or not traffic.forced.isdisjoint(made)
    write = 0.0 if free else profile.streaming(min(traffic.bytes[name] for name in made))
    chosen = apart(problem.fusible.bad, least)
    mixed = write + sum(min(again, least[node]) for node in chosen)
    if decided and not known:
        return mixed + min((max(0.0, least[node] - again) for node in least), default=0.0)
    return mixed if decided else min(mixed, again * len(chosen))
