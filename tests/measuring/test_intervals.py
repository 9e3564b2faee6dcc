"""Intervals of confidence: those of given samples, by the definition, and how often they are right."""
from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from itertools import product
from math import comb

import pytest

from nessie.measuring.intervals import (
    BLOCKS,
    FEWEST,
    MISSED,
    Interval,
    in_blocks,
    interval,
    median,
    rank_of,
    ratio,
)
from nessie.measuring.rounds import LOOKS, ROUNDS, SHORTEST, WARM_CALLS, sample


def test_medians() -> None:
    found = [median(times) for times in ([3.0], [1.0, 2.0], [5.0, 1.0, 3.0], [4.0, 1.0, 3.0, 2.0])]
    assert found == [3.0, 1.5, 3.0, 2.5]


@pytest.mark.parametrize("count", range(1, 15))
@pytest.mark.parametrize("missed", [MISSED, MISSED / 2, 0.2])
def test_ranks_are_those_of_coins_that_are_tossed(count: int, missed: float) -> None:
    """Fewer than `rank` times are below the median, or above it, in as few cases as are allowed; with one more, in
    more."""
    def unlikely(rank: int) -> float:
        tosses = [sum(coins) for coins in product((0, 1), repeat=count)]
        return sum([heads < rank or count - heads < rank for heads in tosses]) / len(tosses)

    rank = rank_of(count, missed)
    assert unlikely(rank) <= missed < unlikely(rank + 1)


def test_intervals_of_textbooks() -> None:
    """The ranks of 95 % for 10, 20 and 100 values, as tables have them: 2 and 9, 6 and 15, 40 and 61."""
    for count, low, high in ((10, 2, 9), (20, 6, 15), (100, 40, 61)):
        assert interval([float(number) for number in reversed(range(1, count + 1))]) == Interval(low, high)
    assert 2 * sum([comb(100, heads) for heads in range(40)]) / 2**100 <= 0.05
    assert interval([2.0, 1.0, 3.0]) == Interval(1.0, 3.0)
    assert all(rank_of(FEWEST, missed) >= 1 for missed in (MISSED, MISSED / 2))
    assert rank_of(FEWEST - 1, MISSED / 2) == 0


def times(draw: random.Random, count: int) -> list[float]:
    """As clocks show them: most near the least, a few far above. Their median is e^0 + 1."""
    return [1.0 + draw.lognormvariate(0.0, 1.0) for _ in range(count)]


def test_intervals_hold_what_they_say() -> None:
    """19 times of 20, at least; not always, or they would be too wide."""
    draw = random.Random(5)
    for count in (8, 30):
        found = [interval(times(draw, count)) for _ in range(2000)]
        assert 0.94 <= sum([one.low <= 2.0 <= one.high for one in found]) / len(found) < 1.0
        both = [ratio(times(draw, count), [3 * x for x in times(draw, count)]) for _ in range(2000)]
        assert sum([one.low <= 3.0 <= one.high for one in both]) / len(both) > 0.95


def test_ratios_lie_between_ends() -> None:
    before, now = [float(x) for x in range(1, 21)], [2.0 * x for x in range(1, 21)]
    one, other = interval(before, MISSED / 2), interval(now, MISSED / 2)
    assert ratio(before, now) == Interval(other.low / one.high, other.high / one.low)


def test_blocks_are_of_times_that_follow_each_other() -> None:
    assert in_blocks([3.0, 1.0, 2.0]) == [3.0, 1.0, 2.0]
    assert in_blocks([float(x) for x in range(3 * BLOCKS)]) == [3.0 * block + 1 for block in range(BLOCKS)]
    assert len(in_blocks([1.0] * 1003)) == BLOCKS
    assert in_blocks([0.0] * 10 + [1.0] * (2 * BLOCKS - 10)) == [0.0] * 5 + [1.0] * (BLOCKS - 5)


def test_what_else_a_machine_does_makes_intervals_wide() -> None:
    """Half of the time all takes twice as long: the median may be either, and no number of rounds tells which."""
    spells = [1.0 + (number // 100) % 2 for number in range(2000)]
    assert interval(in_blocks(spells)) == Interval(1.0, 2.0)


# Rounds ---------------------------------------------------------------------------------------------


class Clock:
    """A clock that goes on only where work does."""

    def __init__(self) -> None:
        self.now, self.log = 0.0, list[str]()

    def __call__(self) -> float:
        return self.now

    def work(self, name: str, *seconds: float) -> Callable[[], None]:
        """Something that takes so long, by turns."""
        def turns() -> Iterator[float]:
            while True:
                yield from seconds
        takes = turns()

        def work() -> None:
            self.now += next(takes)
            self.log.append(name)
        return work


def test_works_take_turns() -> None:
    clock = Clock()
    works = [clock.work("a", 0.01), clock.work("b", 0.02)]
    found = [one for (one,) in sample([[work] for work in works], 3.0, clock)]
    rounds = clock.log[clock.log.index("b"):]               # behind the first warm-up
    rounds = rounds[next(at for at, name in enumerate(rounds) if name == "a"):]
    assert rounds == ["a", "b"] * ROUNDS
    assert [one.calls for one in found] == [1, 1]
    for one, seconds in zip(found, (0.01, 0.02), strict=True):
        assert one.seconds == pytest.approx([seconds] * ROUNDS)


def test_what_is_compared_has_the_same_rounds() -> None:
    """Each is first as often as the other, as long as one of them is not known."""
    clock = Clock()
    one, other = clock.work("a", 0.01), clock.work("b", 0.1, 0.3)
    ((first, second),) = sample([[one, other]], 4.0, clock)
    assert len(first.seconds) == len(second.seconds) > ROUNDS
    assert clock.log[-8:] in (["a", "b", "b", "a"] * 2, ["b", "a", "a", "b"] * 2)


def test_short_work_is_called_in_a_row() -> None:
    clock = Clock()
    ((found,),) = sample([[clock.work("a", SHORTEST / 7.5)]], 3.0, clock)
    assert found.calls == 8 and median(found.seconds) == pytest.approx(SHORTEST / 7.5)
    clock = Clock()
    ((found,),) = sample([[clock.work("a", 0.0, SHORTEST)]], SHORTEST, clock)
    assert found.calls > 1000                               # a clock that shows nothing


def test_time_ends_what_stays_wide() -> None:
    clock = Clock()
    ((found,),) = sample([[clock.work("a", 0.1, 0.3)]], 2.0, clock)
    assert sum(found.seconds) >= 2.0 > sum(found.seconds[:-1])
    ((found,),) = sample([[clock.work("a", 5.0)]], 2.0, clock)
    assert len(found.seconds) == FEWEST
    assert ROUNDS % LOOKS == 0 and WARM_CALLS > 1
