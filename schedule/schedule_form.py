"""A schedule as plain data: which launches of each control region become one kernel, what that costs, and why not more.

As text (written and read back by schedule.schedule_text):

    schedule ilp cpu {
      region norm2 0 "optimal" 34800000.0 32000000.0 {
        kernel (sum1, gts, sum2)
        kernel (res1, res2)
        pair sum1 gts together HORIZONTAL
        pair sum1 res1 never `kernel-end`
        pair gts res1 apart HORIZONTAL
      }
    }

Invariants (schedule.check): every node of a region's graph is in one kernel, each kernel can be computed by one walk,
and no kernel needs what a later one makes.
"""
from __future__ import annotations

from dataclasses import dataclass

TOGETHER, APART, NEVER = "together", "apart", "never"


@dataclass(frozen=True)
class Pair:
    """Two nodes that use common data: `together` or `apart` by choice, with the rule that would join them, or
    `never`, with the reason."""
    first: str
    second: str
    verdict: str
    reason: str


@dataclass(frozen=True)
class RegionSchedule:
    """`clusters` in order of execution, nodes by name; `status`: optimal, within p %, greedy, or not fused; `cost` in
    bytes, launches and waits converted; `bytes` that kernels move (schedule.cost says what is left out)."""
    function: str
    number: int
    status: str
    cost: float
    bytes: float
    clusters: tuple[tuple[str, ...], ...]
    pairs: tuple[Pair, ...] = ()


@dataclass(frozen=True)
class Schedule:
    mode: str
    profile: str
    regions: tuple[RegionSchedule, ...]
