"""A threshold from measurements: where one version begins to be faster than what runs instead.

Each measurement has the statistic's value x, and how many times as long the version takes as the rest. What is chosen
takes some multiple of the best time: the threshold is the one for which the squares of the multiples' logarithms are
the least, together. So long runs count no more than short ones, and a large loss more than several small ones. Between
two measurements it lies where the line between their ratios, in logarithms, crosses one.
"""
from __future__ import annotations

import math
from collections.abc import Sequence

from nessie.base.records import dataclass
from nessie.lambda_cu.nodes import UNKNOWN

NOISE = 0.01                    # a gain that may be none


@dataclass(frozen=True)
class Measured:
    """A statistic's value, and the times of the version and of what runs instead."""
    x: int
    version: float
    rest: float

    @property
    def ratio(self) -> float:
        return math.log(self.version / self.rest)


@dataclass(frozen=True)
class Fit:
    """A threshold; `regret`: how many times as long as the best what it chooses takes, in the geometric mean;
    `monotonic`: the version is faster on one side of it only, but for noise."""
    threshold: int
    regret: float
    monotonic: bool


def fit(measured: Sequence[Measured], at_least: bool, shipped: int) -> Fit:
    """The threshold from which on (`at_least`), or up to which, the version runs. The shipped one stays where
    another gains less than noise."""
    points = sorted(measured, key=lambda m: m.x, reverse=not at_least)
    best = min(candidates(points, at_least), key=lambda threshold: squares(lost(points, at_least, threshold)))
    if squares(lost(points, at_least, shipped)) <= squares(lost(points, at_least, best)) + NOISE:
        best = shipped
    found = lost(points, at_least, best)
    return Fit(best, math.exp(sum(found) / len(found)), is_monotonic(points, at_least, best))


def candidates(points: Sequence[Measured], at_least: bool) -> list[int]:
    """Thresholds before, between and behind the measurements."""
    found = [0 if at_least else UNKNOWN]
    for one, other in zip(points, points[1:], strict=False):
        if one.x != other.x:
            found.append(between(one, other))
    return [*found, UNKNOWN if at_least else 0]


def between(one: Measured, other: Measured) -> int:
    """Where the line between the ratios, over the logarithm of x, crosses one; the middle, where it does not."""
    share = 0.5
    if (one.ratio > 0) != (other.ratio > 0) and one.ratio != other.ratio:
        share = one.ratio / (one.ratio - other.ratio)
    low, high = math.log(one.x + 1), math.log(other.x + 1)
    found = round(math.exp(low + share * (high - low)) - 1)
    return min(max(found, min(one.x, other.x) + (one.x < other.x)), max(one.x, other.x) - (one.x > other.x))


def takes(x: int, at_least: bool, threshold: int) -> bool:
    return x >= threshold if at_least else x <= threshold


def lost(points: Sequence[Measured], at_least: bool, threshold: int) -> list[float]:
    """The logarithms of how many times as long as the best what is chosen takes."""
    return [max(m.ratio, 0.0) if takes(m.x, at_least, threshold) else max(-m.ratio, 0.0) for m in points]


def squares(losses: Sequence[float]) -> float:
    """The root of their mean square."""
    return math.sqrt(sum([loss * loss for loss in losses]) / len(losses))


def is_monotonic(points: Sequence[Measured], at_least: bool, threshold: int) -> bool:
    wrong = [m for m in points if abs(m.ratio) > 2 * NOISE and (m.ratio < 0) != takes(m.x, at_least, threshold)]
    return not wrong
