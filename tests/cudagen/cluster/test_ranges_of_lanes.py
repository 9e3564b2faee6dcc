"""What an operator makes of ranges holds what it makes of every number in them."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from amounts import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from nessie.cudagen.cluster.reaching.ranges import (
    ANY,
    COMPARED,
    MOST,
    OPERATORS,
    OPPOSITE,
    Range,
    between,
    meaning,
    union,
    where,
)
from nessie.cudagen.loops.meanings import MEANINGS

INTS = [name for name in OPERATORS if name not in ("btoi", "char_code", "widened")]
NUMBERS = st.one_of(st.integers(-70, 70), st.integers(-2**63, 2**63 - 1), st.sampled_from([-8, -1, 0, 1, 8, 32768]))
RANGES = st.tuples(NUMBERS, NUMBERS, NUMBERS).map(sorted)       # a range, and a number in it


def ranged(three: Any) -> Range:
    return between(three[0], three[2])


def holds(found: Range, number: int) -> bool:
    """Is the number in the range, which knows nothing beyond its ends?"""
    return bool((found.low[0] <= max(number, -MOST)) and (found.high[0] >= min(number, MOST)))


@pytest.mark.parametrize("name", INTS)
@settings(max_examples=examples(150))
@given(st.lists(RANGES, min_size=2, max_size=2))
def test_operators(name: str, threes: list[list[int]]) -> None:
    arity = 1 if name in ("neg", "abs", "ones") else 2
    if name.endswith("shift"):
        threes[1] = [number % 64 for number in threes[1]]
        threes[1].sort()
    numbers = [three[1] for three in threes[:arity]]
    if name in ("/", "rem", "mod") and numbers[1] == 0:
        return
    found = meaning(name, *[ranged(three) for three in threes[:arity]])
    assert holds(found, MEANINGS[name](*numbers)), (found.low, found.high)


@pytest.mark.parametrize("name", COMPARED)
@settings(max_examples=examples(100))
@given(st.lists(RANGES, min_size=2, max_size=2))
def test_what_holds_is_kept_where_a_comparison_holds(name: str, threes: list[list[int]]) -> None:
    numbers = [three[1] for three in threes]
    told = name if MEANINGS[name](*numbers) else OPPOSITE[name]
    for side, number in zip(COMPARED[told](*map(ranged, threes)), numbers, strict=True):
        assert holds(side, number)


def test_ranges_of_lanes_are_joined_lane_by_lane() -> None:
    a, b = Range(np.array([0, 5]), np.array([1, 6])), Range(np.array([3, 3]), np.array([9, 4]))
    both = union(a, b)
    assert (both.low.tolist(), both.high.tolist()) == ([0, 3], [9, 6])
    one = where(np.array([True, False]), a, b)
    assert (one.low.tolist(), one.high.tolist()) == ([0, 3], [1, 4])
    assert meaning("no such operator", a) is ANY
