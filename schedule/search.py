"""Small problems, solved without an integer program: a bound on what any schedule costs, and a search below it.

The bound comes from pairs alone:

    launches    one for each of some nodes no two of which may share a kernel
    writes      of what is forced, and of arrays that some node streams that may not be in the kernel of their maker
    reads       of each array by nodes no two of which may share a kernel, nor each with its maker
    sweeps      a second one of what a node streams that has a carry in every schedule

Each of those nodes is in a kernel of its own, so a schedule has these kernels, and few more if it is to cost less than
one that is known: what is left is to try where the other nodes go, and most may go to few kernels.
"""
from __future__ import annotations

from collections.abc import Iterable

from nessie.schedule.certificate import execution_order
from nessie.schedule.pdg import HOST
from nessie.schedule.problem import Clusters, Problem

TRIES = 100                     # of putting a block somewhere
PRECISION = 1e-9                # of sums of bytes


def search(problem: Problem, blocks: Clusters, best: Clusters) -> Clusters | None:
    """The cheapest clusters of these blocks; `best` unless others cost less. None where that takes too many tries."""
    least = least_cost(problem)
    spare = max(0, int((problem.cost(best).total * (1 - PRECISION) - least) / problem.profile.launch))
    return best if reaches(problem, best, least) else Placing(problem, blocks, best, spare).best()


def reaches(problem: Problem, clusters: Clusters, least: float) -> bool:
    """Do the clusters cost no more than the bound?"""
    return problem.cost(clusters).total <= least * (1 + PRECISION)


class Placing:
    """The blocks that must be apart have kernels; `others` are put in one of these, or one of `spare` more."""

    def __init__(self, problem: Problem, blocks: Clusters, best: Clusters, spare: int) -> None:
        self.problem, self.spare, self.tries = problem, spare, 0
        self.found, self.cost = best, problem.cost(best).total * (1 - PRECISION)
        first = set(apart(problem, range(len(problem.index.nodes))))
        self.kernels = [list(block) for block in blocks if not first.isdisjoint(block)]
        self.others = sorted((block for block in blocks if first.isdisjoint(block)),
                             key=lambda block: sum(self.may_join(block, kernel) for kernel in self.kernels))

    def best(self) -> Clusters | None:
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
        return all(allowed(self.problem, u, v) for u in block for v in kernel)

    def note(self) -> None:
        """Keep the clusters as they are, if they are the best so far."""
        clusters = sorted(map(sorted, self.kernels))
        cost = self.problem.cost(clusters).total
        if cost < self.cost and all(map(self.problem.legal, clusters)) \
                and execution_order(self.problem.index, clusters) is not None:
            self.found, self.cost = clusters, cost


def least_cost(problem: Problem) -> float:
    """What no schedule is below."""
    index, traffic, profile = problem.index, problem.traffic, problem.profile
    readers: dict[str, list[int]] = {}          # of each array, those that cannot be with its maker
    for k, names in traffic.streamed.items():
        for name in names:
            if name not in index.maker or not allowed(problem, index.maker[name], k):
                readers.setdefault(name, []).append(k)
    written = traffic.forced | (readers.keys() & index.maker.keys())
    carrying = sum(1 << k for k, arrays in traffic.carries.items() if not arrays or not written.isdisjoint(arrays))
    sweeps = [1 + profile.rescan * (carrying >> k & 1) for k in range(len(index.nodes))]
    reads = sum(traffic.bytes[name] * max(sum(sweeps[k] for k in apart(problem, nodes)), max(sweeps[k] for k in nodes))
                for name, nodes in readers.items())
    launches = sum(index.nodes[k].op != HOST for k in apart(problem, range(len(index.nodes))))
    waits = traffic.waited | {f for f, waiting in traffic.waiting.items()
                              if not all(allowed(problem, f, k) for k in waiting)}
    return sum(traffic.bytes[name] for name in written) + reads \
        + profile.launch * launches + profile.sync * len(waits)


def apart(problem: Problem, nodes: Iterable[int]) -> list[int]:
    """Some of the nodes, no two of which may share a kernel."""
    chosen: list[int] = []
    for k in sorted(nodes, key=lambda k: -problem.fusible.bad[k].bit_count()):
        if not any(allowed(problem, k, other) for other in chosen):
            chosen.append(k)
    return chosen


def allowed(problem: Problem, u: int, v: int) -> bool:
    return not problem.fusible.bad[u] >> v & 1
