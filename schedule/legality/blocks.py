"""Puts nodes that the user wants in one kernel into one block, with all other nodes that must then be there too.

A kernel of two nodes also holds their hosts (schedule.legality.fusible) and the nodes on paths between them; kernels
that wait for each other become one. So the blocks grow until none of these is missing. Every legal schedule that keeps
the wishes has these blocks together; if a pair in a block is not allowed, there is no such schedule.

A block may have too many arrays in memory while a larger kernel that holds it does not, because what a kernel makes
and uses itself is in registers. The search for such kernels tries those with the fewest arrays too many first.
"""
from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from heapq import heappop, heappush
from itertools import combinations

from nessie.schedule.legality.fusible import Fusible

TRIES = 300                     # to put one more node into blocks that have too many arrays

Blocks = list[list[int]]
Excess = Callable[[Iterable[int]], int]         # counts the arrays that a kernel would have too many


class Refused(Exception):
    """Two nodes would be in one kernel and may not be; with None, a kernel would have too many arrays."""

    def __init__(self, pair: tuple[int, int] | None) -> None:
        super().__init__(pair)
        self.pair = pair


def forced_blocks(fusible: Fusible, wished: Iterable[tuple[int, int]]) -> Blocks:
    """Return all nodes, in blocks; raises Refused."""
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
    """The sets of blocks that wait for each other, each block by its name in `block_of`."""
    import networkx

    waits = networkx.DiGraph((block_of[u], block_of[v]) for u, successors in enumerate(fusible.index.successors)
                             for v in successors if block_of[u] != block_of[v])
    return [found for found in networkx.strongly_connected_components(waits) if len(found) > 1]


def with_room(fusible: Fusible, blocks: Blocks, excess: Excess) -> Blocks:
    """Return kernels that hold these blocks, none with too many arrays; raises Refused if it finds none."""
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
    """Yield each block with each node outside it that may join it and shares a used or made name with it."""
    index = fusible.index
    for block in blocks:
        names = {name for k in block for name in (*index.nodes[k].results, *(use.name for use in index.nodes[k].uses))}
        for k, node in enumerate(index.nodes):
            if k not in block and not names.isdisjoint((*node.results, *(use.name for use in node.uses))) \
                    and all(fusible.ok(k, member) for member in block):
                yield block, k
