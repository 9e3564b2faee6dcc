"""A schedule as plain data: each control region's kernels, their cost, and the reasons why no more nodes share one.
Instead of reading another kernel's result, a kernel may compute it again: `kernel (res1, res2) again (sq)`.

As text (written and read back by schedule.text):

    schedule ilp cpu {
      region norm2 0 "optimal" 1681093.7 32000000.0 {
        kernel (sum1, gts, sum2)
        kernel (res1, res2)
        pair sum1 gts together HORIZONTAL
        pair sum1 res1 never `kernel-end`
        pair gts res1 apart HORIZONTAL
      }
    }

Invariants (schedule.check): every node of a region's graph is in one kernel; one walk can compute each kernel, with the
nodes that it computes again; no kernel needs, or computes again, a result of a later one; only MAPs that cannot fail
are computed again.
"""
from __future__ import annotations

from collections.abc import Iterator
from itertools import zip_longest

from nessie.base.records import dataclass

TOGETHER, APART, NEVER = "together", "apart", "never"
AGAIN = "AGAIN"


@dataclass(frozen=True)
class Pair:
    """Two nodes that use common data: `together` or `apart` by choice, with the rule that joins them, or `never`, with
    the reason. If the kernel of one computes the other again, they are `together` by the rule AGAIN."""
    first: str
    second: str
    verdict: str
    reason: str


@dataclass(frozen=True)
class RegionSchedule:
    """`clusters` in order of execution, nodes by name; `status`: optimal, within p %, greedy, or not fused; `cost` in
    nanoseconds; `bytes` that kernels move (schedule.cost.cost says what is left out); `again`: per cluster, the nodes
    that it computes again, or () if no cluster does."""
    function: str
    number: int
    status: str
    cost: float
    bytes: float
    clusters: tuple[tuple[str, ...], ...]
    pairs: tuple[Pair, ...] = ()
    again: tuple[tuple[str, ...], ...] = ()


@dataclass(frozen=True)
class Schedule:
    mode: str
    profile: str
    regions: tuple[RegionSchedule, ...]


def kernels(region: RegionSchedule) -> Iterator[tuple[tuple[str, ...], tuple[str, ...]]]:
    """Yield each cluster with the nodes that it computes again."""
    yield from zip_longest(region.clusters, region.again, fillvalue=())
