"""Nodes that the user wants in one kernel are one block, and in it is all that must then be there too.

A kernel of two nodes holds their hosts (schedule.fusible), and what lies on a path from one to the other; kernels that
wait for each other are one. So the blocks grow until none of this is missing. They are in every legal schedule that
keeps the wishes; where a pair in them is not allowed, there is none.
"""
from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import combinations

from nessie.schedule.fusible import Fusible

Fits = Callable[[Iterable[int]], bool]


class Refused(Exception):
    """These two nodes would be in one kernel and may not; None: too many arrays would be."""

    def __init__(self, pair: tuple[int, int] | None) -> None:
        super().__init__(pair)
        self.pair = pair


def forced_blocks(fusible: Fusible, wished: Iterable[tuple[int, int]], fits: Fits) -> list[list[int]]:
    """Every node in its block; raises Refused."""
    block_of = list(range(len(fusible.index.nodes)))

    def join(nodes: Iterable[int]) -> None:
        joined = {block_of[k] for k in nodes}
        block_of[:] = [min(joined) if block in joined else block for block in block_of]

    def blocks() -> list[list[int]]:
        found: dict[int, list[int]] = {}
        for k, block in enumerate(block_of):
            found.setdefault(block, []).append(k)
        return list(found.values())

    for pair in wished:
        join(pair)
    before: list[int] = []
    while before != block_of:
        before = list(block_of)
        for block in blocks():
            for u, v in combinations(block, 2):
                if not fusible.ok(u, v):
                    raise Refused((u, v))
                join((u, v, *(fusible.hosts(u, v) or ())))
        for circle in circles(fusible, block_of):
            join(circle)
    if not all(map(fits, blocks())):
        raise Refused(None)
    return blocks()


def circles(fusible: Fusible, block_of: list[int]) -> list[set[int]]:
    """The blocks that wait for each other, by their names."""
    import networkx

    waits = networkx.DiGraph((block_of[u], block_of[v]) for u, successors in enumerate(fusible.index.successors)
                             for v in successors if block_of[u] != block_of[v])
    return [found for found in networkx.strongly_connected_components(waits) if len(found) > 1]
