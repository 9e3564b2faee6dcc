"""ORDER of a flat space in parts: a sample sort; and for each element, the first that has its key.

    sorted_run     each part by itself; some of its keys come to the driver, who chooses borders between receivers
    run_parted     each run, by receivers
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
from nessie.cudagen.cluster.ranges import Ints
from nessie.cudagen.cluster.slabs import Slab, Spread
from nessie.cudagen.cluster.tasks import Given, some_of
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
    borders = chosen([run["some"] for run in found], [run["ranks"] for run in found], max(1, len(spans)))
    given_away = [workers.submit(f"{kernel}_parted-{low}", tasks.run_parted, function, descending, number, borders,
                                 given=[run]) for number, ((low, _), run) in enumerate(zip(spans, runs, strict=True))]
    counts = workers.gather(workers.parts_of(given_away, ("counts",), f"{kernel}_counts"), kernel, f"{kernel}_parted")
    ends = np.cumsum(np.sum([part["counts"] for part in counts], axis=0)) if counts else np.zeros(0, np.int64)
    result = Spread(base, keys.length)
    workers.told.reads(kernel, "keys", SHUFFLED, keys.bytes if function else 2 * keys.bytes)
    names = ("keys",) if function else ("keys", "positions")
    for d, (low, high) in enumerate(zip([0, *ends.tolist()], ends.tolist(), strict=False)):
        if low < high:
            parts = workers.parts_of(given_away, [f"{name}{d}" for name in names], f"{kernel}_part-{low}")
            task = workers.submit(f"{kernel}_merged-{low}", tasks.merged, function, d, given=parts)
            result.slabs.append(Slab(low, high, task))
    return result


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
    receivers = [workers.submit(f"{kernel}_joined-{d}", tasks.joined, d, given=workers.parts_of(
        givers, (f"codes{d}", f"positions{d}"), f"{kernel}_part-{d}")) for d, _ in enumerate(spans)]
    result = Spread("int", keys.length)
    for number, ((low, high), giver) in enumerate(zip(spans, givers, strict=True)):
        back = workers.parts_of(receivers, (f"firsts{number}",), f"{kernel}_back-{number}")
        mine = workers.submit(f"{kernel}_numbers-{number}", some_of, ("owners", "numbers"), given=[giver])
        task = workers.submit(f"{kernel}_firsts-{low}", tasks.firsts, number, low, given=[mine, *back])
        result.slabs.append(Slab(low, high, task))
    return result
