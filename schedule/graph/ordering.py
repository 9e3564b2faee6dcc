"""Orders kernels for execution: each after those whose results it needs."""
from __future__ import annotations

import heapq
from collections.abc import Sequence
from itertools import zip_longest

from nessie.schedule.graph.nodes import Index


def execution_order(index: Index, clusters: Sequence[Sequence[int]],
                    again: Sequence[Sequence[int]] = ()) -> list[int] | None:
    """The clusters' numbers in an order of execution, of ready ones the first in the program first; None if they wait
    for each other. A node is computed again only after it has been computed."""
    cluster_of = {node: number for number, members in enumerate(clusters) for node in members}
    waits: list[set[int]] = [set() for _ in clusters]
    feeds: list[set[int]] = [set() for _ in clusters]
    for v, (members, copies) in enumerate(zip_longest(clusters, again, fillvalue=())):
        here = {*members, *copies}
        needed = {before for node in here for before in index.predecessors[node]} - here
        for u in map(cluster_of.__getitem__, needed.union(copies).difference(members)):
            waits[v].add(u)
            feeds[u].add(v)
    ready = [(min(members), number) for number, members in enumerate(clusters) if not waits[number]]
    heapq.heapify(ready)
    order: list[int] = []
    while ready:
        _, done = heapq.heappop(ready)
        order.append(done)
        for number in feeds[done]:
            waits[number].discard(done)
            if not waits[number]:
                heapq.heappush(ready, (min(clusters[number]), number))
    return order if len(order) == len(clusters) else None
