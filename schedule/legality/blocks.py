"""Nodes that the user wants in one kernel are one block, and in it is all that must then be there too.

A kernel of two nodes holds their hosts (schedule.legality.fusible), and what lies on a path from one to the other;
kernels that wait for each other are one. So the blocks grow until none of this is missing. They are in every legal
schedule that keeps the wishes; where a pair in them is not allowed, there is none.

A block may have too many arrays in memory, and a kernel that holds it not: what a kernel makes and uses itself is in
registers. Such kernels are looked for in the order of how many arrays are too many.
"""
from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from heapq import heappop, heappush
from itertools import combinations

from nessie.schedule.legality.fusible import Fusible

TRIES = 300                     # of putting a node more into blocks that have too many arrays

Blocks = list[list[int]]
Excess = Callable[[Iterable[int]], int]         # how many arrays too many a kernel would have


class Refused(Exception):
    """These two nodes would be in one kernel and may not; None: too many arrays would be."""

    def __init__(self, pair: tuple[int, int] | None) -> None:
        super().__init__(pair)
        self.pair = pair


def forced_blocks(fusible: Fusible, wished: Iterable[tuple[int, int]]) -> Blocks:
    """Every node in its block; raises Refused."""
    block_of = list(range(len(fusible.index.nodes)))

    def join(nodes: Iterable[int]) -> None:
        joined = {block_of[k] for k in nodes}
        block_of[:] = [min(joined) if block in joined else block for block in block_of]

    def blocks() -> Blocks:
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
    return blocks()


def circles(fusible: Fusible, block_of: list[int]) -> list[set[int]]:
    """The blocks that wait for each other, by their names."""
    import networkx

    waits = networkx.DiGraph((block_of[u], block_of[v]) for u, successors in enumerate(fusible.index.successors)
                             for v in successors if block_of[u] != block_of[v])
    return [found for found in networkx.strongly_connected_components(waits) if len(found) > 1]


def with_room(fusible: Fusible, blocks: Blocks, excess: Excess) -> Blocks:
    """Kernels that hold these blocks, none with too many arrays; raises Refused if none are found."""
    waiting: list[tuple[int, Blocks]] = []
    seen = set[tuple[tuple[int, ...], ...]]()

    def note(found: Blocks) -> None:
        if (key := tuple(map(tuple, found))) not in seen:
            seen.add(key)
            heappush(waiting, (sum(map(excess, found)), found))

    note(blocks)
    tries = 0
    while waiting and tries < TRIES:
        over, best = heappop(waiting)
        if not over:
            return best
        for block, k in neighbours(fusible, [block for block in best if excess(block)]):
            tries += 1
            chains = [pair for members in best for pair in zip(members, members[1:], strict=False)]
            try:
                note(forced_blocks(fusible, [*chains, (block[0], k)]))
            except Refused:
                continue
    raise Refused(None)


def neighbours(fusible: Fusible, blocks: Blocks) -> Iterator[tuple[list[int], int]]:
    """Each block with each node outside that uses or makes something that one of its nodes does."""
    index = fusible.index
    for block in blocks:
        names = {name for k in block for name in (*index.nodes[k].results, *(use.name for use in index.nodes[k].uses))}
        for k, node in enumerate(index.nodes):
            if k not in block and not names.isdisjoint((*node.results, *(use.name for use in node.uses))) \
                    and all(fusible.ok(k, member) for member in block):
                yield block, k
