"""Times functions in turn: in each round every function is called, so that whatever else the machine does meets all of
them alike.

    sample([[work], [old, new]], seconds=2.0)           a Sampled for each

Functions that are to be compared with each other are in one group, which has the same rounds. A function is warmed up
first, which is not counted. One that is too short for the clock is called several times in a row, and the time is
divided by their number. A group is done when its medians are known well enough, or when its time is over and there have
been rounds enough to tell an interval.
"""
from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from time import perf_counter

from nessie.base.records import dataclass
from nessie.measuring.intervals import FEWEST, in_blocks, interval, median

WARM, WARM_CALLS = 0.2, 3       # seconds and calls of a warm-up, at least
SHORTEST = 0.001                # seconds between two looks at the clock, at least
NARROW = 0.01                   # of its median, the width of an interval that is narrow enough
ROUNDS = 20                     # before that is believed
LOOKS = 10                      # each so many rounds it is looked at


@dataclass(frozen=True)
class Sampled:
    """The seconds of a call in each round, the mean of so many `calls`."""
    seconds: tuple[float, ...]
    calls: int


class Timed:
    """A function that is being timed."""

    def __init__(self, work: Callable[[], object], limit: float, clock: Callable[[], float]) -> None:
        self.work, self.limit, self.clock = work, limit, clock
        self.found: list[float] = []
        self.spent = 0.0
        self.calls = max(1, math.ceil(SHORTEST / self.warm_up()))

    def warm_up(self) -> float:
        """The seconds of the quickest call."""
        began, quickest, calls = self.clock(), math.inf, 0
        while calls < WARM_CALLS or self.clock() - began < min(WARM, self.limit):
            before = self.clock()
            self.work()
            quickest, calls = min(quickest, self.clock() - before), calls + 1
        return max(quickest, SHORTEST / 10**6)

    def round(self) -> None:
        calls, work = range(self.calls), self.work
        began = self.clock()
        for _ in calls:
            work()
        taken = self.clock() - began
        self.found.append(taken / self.calls)
        self.spent += taken

    def done(self) -> bool:
        if len(self.found) < FEWEST:
            return False
        if self.spent >= self.limit:
            return True
        return len(self.found) >= ROUNDS and len(self.found) % LOOKS == 0 and narrow(self.found)


def narrow(seconds: Sequence[float]) -> bool:
    found = interval(in_blocks(seconds))
    return found.high - found.low <= NARROW * median(seconds)


def sample(groups: Sequence[Sequence[Callable[[], object]]], seconds: float, clock: Callable[[], float] = perf_counter,
           told: Callable[[int, int], object] = lambda done, of: None) -> list[list[Sampled]]:
    """The times of each function, for so many seconds each, or a little more. `told` gets how many groups are done, of
    how many."""
    timed = [[Timed(work, seconds, clock) for work in works] for works in groups]
    left = list(timed)
    while left:
        told(len(timed) - len(left), len(timed))
        for group in left:
            for one in group if len(group[0].found) % 2 == 0 else reversed(group):
                one.round()
        left = [group for group in left if not all([one.done() for one in group])]
    return [[Sampled(tuple(one.found), one.calls) for one in group] for group in timed]
