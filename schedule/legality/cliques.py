"""Finds cliques of conflicts: nodes, or blocks, no two of which may share a kernel.

`bad[u]` is the mask of those that may not share a kernel with u.
"""
from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

TRIES = 8                       # starting nodes of the search for a clique
PLACES = 2                      # decimals to which nodes' worth is rounded


def apart(bad: Sequence[int], nodes: Iterable[int]) -> list[int]:
    """Return some of the nodes, no two of which may be together, by one greedy pass."""
    chosen: list[int] = []
    for k in sorted(nodes, key=lambda k: -bad[k].bit_count()):
        if all(bad[k] >> other & 1 for other in chosen):
            chosen.append(k)
    return chosen


def heaviest(bad: Sequence[int], worth: Mapping[int, float], tries: int = TRIES) -> list[int]:
    """Return a clique of high worth: the best of several that grow by the node worth most, and of equals the one
    that leaves most candidates."""
    everyone = sum(1 << s for s in worth)
    worth = {s: round(value, PLACES) for s, value in worth.items()}
    first = sorted(worth, key=lambda s: (-worth[s], -(bad[s] & everyone).bit_count(), s))
    best: list[int] = []
    for start in first[:tries]:
        chosen, left = [start], [s for s in first if bad[start] >> s & 1]
        while left:
            mask = sum(1 << s for s in left)
            top = worth[left[0]]
            s = max((s for s in left if worth[s] == top), key=lambda s: (bad[s] & mask).bit_count())
            chosen.append(s)
            left = [other for other in left if bad[s] >> other & 1]
        best = max(best, chosen, key=lambda nodes: sum(worth[s] for s in nodes))
    return best


def cover(bad: Sequence[int], nodes: Sequence[int]) -> Iterator[list[int]]:
    """Yield cliques of the nodes that cover every pair which may not be together."""
    everyone = sum(1 << v for v in nodes)
    left = {v: bad[v] & everyone for v in nodes}
    for v in nodes:
        while left[v]:
            clique = [v]
            candidates = left[v]
            while candidates:
                u = (candidates & -candidates).bit_length() - 1
                clique.append(u)
                candidates = (candidates if len(clique) > 2 else bad[v] & everyone) & bad[u]
            mask = sum(1 << u for u in clique)
            for u in clique:
                left[u] &= ~mask
            yield clique
