"""The amount of work that tests do: how many random programs, and how many of a large table of cases.

    NESSIE_TESTS=quick      the default: a third of the random programs, some cases of large tables, no test marked slow
    NESSIE_TESTS=ci         what .ci/run runs: tests marked slow as well, with a sixteenth of their random programs;
                            half of those of other tests
    NESSIE_TESTS=nightly    everything: all cases of all tables, ten times as many random programs
"""
from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Sequence
from zlib import crc32

import pytest

QUICK, CI, NIGHTLY = "quick", "ci", "nightly"
PROFILE = os.environ.get("NESSIE_TESTS", QUICK)
assert PROFILE in (QUICK, CI, NIGHTLY), f"NESSIE_TESTS is {PROFILE}, not {QUICK}, {CI} or {NIGHTLY}"
LEFT_OUT = {QUICK: ("slow", "nightly"), CI: ("nightly",), NIGHTLY: ()}


def examples(count: int) -> int:
    """The number of random examples of a test that always runs; half of `count` in CI."""
    return {QUICK: -(-count // 3), CI: -(-count // 2), NIGHTLY: 10 * count}[PROFILE]


def many(count: int) -> int:
    """The number of random examples of a test that is marked slow; a sixteenth of `count` in CI."""
    return {QUICK: -(-count // 16), CI: -(-count // 16), NIGHTLY: 10 * count}[PROFILE]


def seeds(first: int, count: int) -> range:
    """The seeds of a test that is marked slow; a sixteenth of `count` in CI."""
    return range(first, first + many(count))


def chosen(items: Sequence[pytest.Item]) -> list[pytest.Item]:
    """The tests that this profile runs. Of a test that is marked `sampled(quick=3, ci=1)`, a third of all cases run in
    the one, all in the other (0: none); which, their names say, the same every time."""
    groups = defaultdict[str, list[pytest.Item]](list)
    for item in items:
        if not any(item.get_closest_marker(mark) for mark in LEFT_OUT[PROFILE]):
            groups[f"{item.nodeid.partition('[')[0]} {share(item)}"].append(item)
    found = set[pytest.Item]()
    for group in groups.values():
        every = share(group[0])
        if every:
            found.update(sorted(group, key=lambda item: crc32(item.nodeid.encode()))[:-(-len(group) // every)])
    return [item for item in items if item in found]


def share(item: pytest.Item) -> int:
    """One in how many cases of the test runs; 0: none."""
    mark = item.get_closest_marker("sampled")
    return 1 if mark is None or PROFILE == NIGHTLY else int(mark.kwargs.get(PROFILE, 1))
