"""Windows: improve a schedule of a region that is too large for the integer program as a whole.

A window is two to six neighbouring kernels. The blocks among them that share data with another kernel of the window
are set free, the rest of each kernel stays one block, and all kernels outside stay as they are; that is a small
integer program. Windows are taken in a fixed order until none improves the schedule.
"""
from __future__ import annotations

from collections.abc import Callable

from nessie.schedule.problem import Clusters, Problem

KERNELS = 6                     # of a window
FREE = 24                       # blocks of a window that may move
TRIALS = 40

SolveWindow = Callable[[Clusters, frozenset[int], Clusters], "Clusters | None"]


def improve(problem: Problem, blocks: Clusters, clusters: Clusters, solve_window: SolveWindow) -> Clusters:
    """A schedule that is no worse. `solve_window` solves for blocks, of which some are frozen (by their nodes),
    from a schedule to start with."""
    best, total = clusters, problem.cost(clusters).total
    trials, position = 0, 0
    seen: set[frozenset[tuple[int, ...]]] = set()
    while position < len(best) and trials < TRIALS:
        window = neighbours(problem, best, position)
        position += 1
        key = frozenset(tuple(best[c]) for c in window)
        if len(window) < 2 or key in seen:
            continue
        seen.add(key)
        trials += 1
        parts, frozen = window_blocks(problem, blocks, best, window)
        found = solve_window(parts, frozen, best)
        if found is not None and problem.cost(found).total < total * (1 - 1e-9):
            best, total, position = found, problem.cost(found).total, 0
    return best


def touched(problem: Problem, k: int) -> set[str]:
    """The arrays that a node streams or makes."""
    return {*problem.traffic.streamed[k], *problem.index.nodes[k].results} - {"_"}


def neighbours(problem: Problem, clusters: Clusters, first: int) -> list[int]:
    """A window about a cluster: those that share most bytes with it, one after another."""
    arrays = [set[str]().union(*(touched(problem, k) for k in members)) for members in clusters]
    window, common = [first], set(arrays[first])
    while len(window) < KERNELS:
        weights = {c: sum(problem.traffic.bytes.get(name, 0.0) for name in sorted(arrays[c] & common))
                   for c in range(len(clusters)) if c not in window}
        nearest = max(weights, key=lambda c: (weights[c], -c), default=None)
        if nearest is None or not weights[nearest]:
            break
        window.append(nearest)
        common |= arrays[nearest]
    return window


def window_blocks(problem: Problem, blocks: Clusters, clusters: Clusters,
                  window: list[int]) -> tuple[Clusters, frozenset[int]]:
    """The blocks of the window's program, and the nodes of those that stay as they are."""
    block_of = {k: b for b, block in enumerate(blocks) for k in block}
    arrays = {c: set[str]().union(*(touched(problem, k) for k in clusters[c])) for c in window}
    parts: Clusters = []
    for c in window:
        others = set[str]().union(*(arrays[d] for d in window if d != c))
        free = sorted({block_of[k] for k in clusters[c] if touched(problem, k) & others
                       and set(blocks[block_of[k]]) <= set(clusters[c])})[:FREE // len(window)]
        parts += [blocks[b] for b in free]
        core = sorted(set(clusters[c]) - {k for b in free for k in blocks[b]})
        parts += [core] if core else []
    outside = [members for c, members in enumerate(clusters) if c not in window]
    return parts + outside, frozenset(k for members in outside for k in members)
