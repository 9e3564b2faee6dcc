"""How the tasks of a phase share its arrays: ranges of elements that each of them reads, writes, and has for good."""
from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from nessie.base.records import dataclass
from nessie.base.values import DTYPES
from nessie.cudagen.cluster.reaching.ranges import Ints, Range
from nessie.cudagen.cluster.slabs import Spread
from nessie.cudagen.cluster.workers import BORDERED, BROAD, LOCAL, ON_ONE


@dataclass(frozen=True)
class Parts:
    """Tasks of a phase: `cuts` are their first chunks, and the end. Of each array, what each task reads, what it
    writes, and of that what it has for good: where two write the same, one of them."""
    cuts: Ints
    reads: Mapping[str, Range]
    writes: Mapping[str, Range]
    owned: Mapping[str, Range]


def tasks_of(lanes: Range, cuts: Ints) -> Range:
    """What the lanes of each task have together."""
    return Range(np.minimum.reduceat(lanes.low, cuts[:-1]), np.maximum.reduceat(lanes.high, cuts[:-1]))


def nothing(tasks: int) -> Range:
    return Range(np.zeros(tasks, np.int64), np.full(tasks, -1, np.int64))


def own_parts(ranges: Range, shared: bool) -> Range | None:
    """The ranges, if no two tasks write to one place; `shared`: where two meet, both may write the same."""
    low, end = np.array(ranges.low), -1
    for task in np.flatnonzero(ranges.low <= ranges.high):
        if low[task] == end and shared:
            low[task] += 1
        if low[task] <= end:
            return None
        end = max(end, int(ranges.high[task]))
    return Range(low, ranges.high)


def part_of(ranges: Range | None, task: int) -> tuple[int, int]:
    """What a task has, from one place to before another."""
    if ranges is None or ranges.low[task] > ranges.high[task]:
        return 0, 0
    return int(ranges.low[task]), int(ranges.high[task]) + 1


def hull(a: tuple[int, int], b: tuple[int, int]) -> tuple[int, int]:
    there = [part for part in (a, b) if part[0] < part[1]]
    return (min(low for low, _ in there), max(high for _, high in there)) if there else (0, 0)


def lies(ranges: Range, held: Spread, broad: bool, workers: int) -> tuple[str, int]:
    """How an array lies for the tasks that read these ranges of it, and the bytes that move because of that."""
    if broad:
        return BROAD, held.bytes * workers
    if len(ranges.low) == 1:
        return ON_ONE, held.bytes
    there = ranges.low <= ranges.high
    low, high = ranges.low[there], ranges.high[there]
    twice = int(np.maximum(0, high[:-1] - low[1:] + 1).sum()) * DTYPES[held.base].itemsize
    return (BORDERED, twice) if twice else (LOCAL, 0)


def is_broad(ranges: Range, held: Spread) -> bool:
    """Do several tasks read so much of the array that they might as well have all of it?"""
    widths = np.maximum(0, ranges.high - ranges.low + 1)
    if len(widths) == 1:
        return False
    return bool(np.all(widths >= held.length)) or int(widths.sum()) > 2 * held.length + 64 * len(widths)
