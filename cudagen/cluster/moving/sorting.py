"""ORDER of a flat space in parts: a sample sort; and for each element, the first that has its key.

    sorted_run     each part by itself; some of its keys come to the driver, who chooses borders between receivers
    run_parted     each run, in buckets
    merged         each receiver: all that has come, in the parts' order, sorted once more

A border is a code, a part, and a rank in that: many equal keys have several receivers, and keep their order.

    heads          the different keys of each part, and where they are first, by their hashes
    joined         each receiver: of equal keys of several parts, the first
    firsts         each part: what its keys' receivers have found
"""
from __future__ import annotations

from typing import Any

import numpy as np

from nessie.cudagen.cluster.moving import tasks
from nessie.cudagen.cluster.moving.exchange import exchange
from nessie.cudagen.cluster.reaching.ranges import Ints
from nessie.cudagen.cluster.slabs import Slab, Spread
from nessie.cudagen.cluster.tasks.elements import Given, same
from nessie.cudagen.cluster.workers import SHUFFLED, Workers

Borders = tuple[Ints, Ints, Ints]


def sort(workers: Workers, kernel: str, keys: Spread, base: str, function: str, descending: bool) -> Spread:
    """The sorted keys, by this function of the library; without one, their positions."""
    spans = workers.spans(keys)
    runs = []
    for low, high in spans:
        given: list[Any] = []
        part = Given.of(keys, low, high, given)
        runs.append(workers.submit(f"{kernel}_run-{low}", tasks.sorted_run, part, function, descending,
                                   given=given))
    found = workers.gather(workers.parts_of(runs, ("some", "ranks"), f"{kernel}_some"), kernel, f"{kernel}_run")
    borders = workers.submit(f"{kernel}_borders", same, chosen(
        [run["some"] for run in found], [run["ranks"] for run in found], max(1, len(spans))))
    parted = [workers.submit(f"{kernel}_parted-{low}", tasks.run_parted, function, descending, number, given=[
        run, borders]) for number, ((low, _), run) in enumerate(zip(spans, runs, strict=True))]
    workers.told.reads(kernel, "keys", SHUFFLED, keys.bytes if function else 2 * keys.bytes)
    names = ("keys",) if function else ("keys", "positions")
    merged = [workers.submit(f"{kernel}_merged-{d}", tasks.merged, function, given=parts)
              for d, parts in enumerate(exchange(workers, kernel, parted, names, len(spans)))]
    counts = workers.gather(workers.parts_of(merged, ("count",), f"{kernel}_count"), kernel, f"{kernel}_merged")
    ends = np.cumsum([0, *[int(part["count"][0]) for part in counts]]).tolist()
    return Spread(base, keys.length, [Slab(low, high, task, whole=True) for low, high, task in zip(
        ends[:-1], ends[1:], merged, strict=True) if low < high])


def chosen(codes: list[Ints], ranks: list[Ints], receivers: int) -> Borders:
    """Borders between so many receivers, who get about as much."""
    numbers = [np.full(len(some), number) for number, some in enumerate(codes)]
    code, number, rank = [np.concatenate([*parts, np.zeros(0, np.int64)]) for parts in (codes, numbers, ranks)]
    order = np.lexsort((rank, number, code))
    at = order[len(order) * np.arange(1, receivers) // receivers] if len(order) else order
    return code[at], number[at], rank[at]


def firsts(workers: Workers, kernel: str, keys: Spread) -> Spread:
    """For each element the position of the first with its key."""
    spans = workers.spans(keys)
    givers = []
    for low, high in spans:
        given: list[Any] = []
        part = Given.of(keys, low, high, given)
        givers.append(workers.submit(f"{kernel}_heads-{low}", tasks.heads, part, len(spans), given=given))
    workers.told.reads(kernel, "keys", SHUFFLED, 3 * keys.bytes)
    receivers = [workers.submit(f"{kernel}_joined-{d}", tasks.joined, given=parts) for d, parts in enumerate(
        exchange(workers, kernel, givers, ("codes", "positions", "count"), len(spans)))]
    back = exchange(workers, f"{kernel}_back", receivers, ("firsts",), len(spans))
    result = Spread("int", keys.length)
    for number, ((low, high), giver) in enumerate(zip(spans, givers, strict=True)):
        task = workers.submit(f"{kernel}_firsts-{low}", tasks.firsts, low, given=[giver, *back[number]])
        result.slabs.append(Slab(low, high, task, whole=True))
    return result
