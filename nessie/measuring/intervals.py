"""Medians of times, and ratios of two medians, with intervals of confidence.

    median([3.0, 1.0, 2.0])             2.0
    interval(times)                     Interval(low, high): the median of all runs there could be is there, at 95 %
    ratio(before, now)                  Interval(low, high) of now's median divided by before's
    in_blocks(times)                    medians of times that were measured one after another

Times have no normal distribution: most lie near the least, and some far above. So nothing is assumed of it but that
runs are drawn alike. The median lies between the r-th smallest and the r-th largest of n times unless fewer than r of
them are below it, or above; how likely that is a coin tells that is tossed n times (H. A. David and H. N. Nagaraja,
Order Statistics, 3rd ed., section 7.1). A ratio lies between those of the ends of two such intervals, each at 97.5 %:
at most one of twenty times one of them misses its median (Bonferroni's inequality). That is wider than it need be.

Times that follow each other are not drawn alike, as what else a machine does comes and goes. So they are cut into a few
blocks, in order, and the medians of these are what is drawn (batch means: A. M. Law, Simulation Modeling and Analysis,
5th ed., section 9.5.3). What is measured in turn is compared round by round: all that the machine does meets both.
"""
from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import comb

from nessie.base.records import dataclass

MISSED = 0.05                   # of all intervals, as many miss what they are to hold, at most
BLOCKS = 20                     # at most
FEWEST = 7                      # times of which an interval can be told, also one of a ratio


@dataclass(frozen=True)
class Interval:
    low: float
    high: float


def median(times: Sequence[float]) -> float:
    ordered, half = sorted(times), len(times) // 2
    return ordered[half] if len(times) % 2 else (ordered[half - 1] + ordered[half]) / 2


def in_blocks(times: Sequence[float]) -> list[float]:
    """The medians of BLOCKS parts of the times, each of times that follow each other."""
    count = min(BLOCKS, len(times))
    cuts = [len(times) * number // count for number in range(count + 1)]
    return [median(times[first:last]) for first, last in zip(cuts, cuts[1:], strict=False)]


def interval(times: Sequence[float], missed: float = MISSED) -> Interval:
    """Where the median lies; of fewer than FEWEST times, the least and the greatest."""
    ordered, rank = sorted(times), max(1, rank_of(len(times), missed))
    return Interval(ordered[rank - 1], ordered[-rank])


@lru_cache(maxsize=4096)
def rank_of(count: int, missed: float) -> int:
    """The greatest r for which fewer than r heads, or fewer than r tails, in so many tosses are unlikely enough; 0
    where there is none."""
    rank, tosses, ways = 0, 0, 1 << count
    while 2 * (tosses := tosses + comb(count, rank)) <= missed * ways:
        rank += 1
    return rank


def ratio(before: Sequence[float], now: Sequence[float], missed: float = MISSED) -> Interval:
    one, other = interval(before, missed / 2), interval(now, missed / 2)
    return Interval(other.low / one.high, other.high / one.low)
