"""Thresholds of a choice from measurements of its versions on several shapes.

What is chosen takes some multiple of the best version's time: thresholds are those for which the squares of the
multiples' logarithms are the least, together. So long runs count no more than short ones, and a large loss more than
several small ones. One pair of thresholds after the other is moved to where it is best, while the others stay, until
none gains: two thresholds of a condition often gain only together. Between two measurements a threshold lies in the
middle of what it is compared with, by logarithms. What gains no more than noise stays as it ships.
"""
from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import combinations, product

from nessie.base.records import dataclass
from nessie.cudagen.host.choices import compared, holds
from nessie.lambda_cu import nodes as ir

NOISE = 0.02                    # a gain that may be none
ROUNDS = 5


@dataclass(frozen=True)
class Measured:
    """The versions of a choice on one shape: their seconds, in the order of the cases; and, of each time that the
    choice was met in a run, the conditions of all but the last, in which nothing is unknown but tunables."""
    seconds: Mapping[str, float]
    conditions: Sequence[Mapping[str, ir.Exp]]

    def taken(self, thresholds: Mapping[str, int]) -> list[str]:
        """The versions that these thresholds take, one after another."""
        last = [*self.seconds][-1]
        return [next((v for v, condition in each.items() if holds(condition, {}, thresholds, unasked)), last)
                for each in self.conditions]

    def loss(self, thresholds: Mapping[str, int]) -> float:
        """The logarithm of how many times as long as the best that takes, if each time takes the same part of a run."""
        found = [self.seconds[version] for version in self.taken(thresholds)]
        return math.log(sum(found) / len(found) / min(self.seconds.values()))


@dataclass(frozen=True)
class Fit:
    """Thresholds; how many times as long as the best what they take does, in the geometric mean and `worst`."""
    thresholds: Mapping[str, int]
    mean: float
    worst: float


def unasked(name: str, offsets: object) -> int:
    raise AssertionError(f"{name} is known by now")


def fit(measured: Sequence[Measured], shipped: Mapping[str, int]) -> Fit:
    """The best thresholds, from those that ship on."""
    found = dict(shipped)
    for _ in range(ROUNDS):
        before = dict(found)
        for names in combinations(shipped, min(2, len(shipped))):
            places = [candidates(name, measured) or [found[name]] for name in names]
            tried = [{**found, **dict(zip(names, thresholds))} for thresholds in product(*places)]
            best = min(tried, key=lambda thresholds: squares(measured, thresholds), default=found)
            if squares(measured, best) < squares(measured, found) - NOISE:
                found = best
        if found == before:
            break
    losses = [m.loss(found) for m in measured]
    return Fit(found, math.exp(sum(losses) / len(losses)), math.exp(max(losses)))


def candidates(name: str, measured: Sequence[Measured]) -> list[int]:
    """Thresholds between what the tunable is compared with, and the nearest before and behind: of what no shape has
    shown they say no more than that."""
    xs = sorted({x for m in measured for each in m.conditions for condition in each.values()
                 for other, x in compared(condition, {}, unasked) if other == name})
    between = [round(math.sqrt(low * high)) for low, high in zip(xs, xs[1:], strict=False)]
    return [*between, *xs, max(xs[0] - 1, 0), min(xs[-1] + 1, ir.UNKNOWN)] if xs else []


def squares(measured: Sequence[Measured], thresholds: Mapping[str, int]) -> float:
    """The root of the losses' mean square."""
    return math.sqrt(sum([m.loss(thresholds) ** 2 for m in measured]) / len(measured))
