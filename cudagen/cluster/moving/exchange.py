"""All to all: every one of many tasks has a bucket for every one of many receivers.

With few of both, a receiver takes its bucket from each giver. With many, that would be a task for each giver and each
receiver; so buckets go by levels, as digits of a receiver's number in some base, the first digit first:

    givers     0       1           2       3       in base 2: two levels
               |   X   |           |   X   |
    0 and 1    0,1     0,1         2,3     2,3     a task has the buckets of two givers, for half of the receivers ...
    receivers  0..1    2..3        0..1    2..3
               |       |     X     |       |
    receivers  0       2           1       3       ... and here those of all, for one

A task takes from `base` others, one after another as givers are; so their order stays. Of n givers and n receivers
there are n * base * levels takings. Each level moves all elements once.
"""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from nessie.cudagen.cluster.tasks import buckets
from nessie.cudagen.cluster.workers import Workers

DIRECT = 32                     # buckets that go from a task, or to it


def exchange(workers: Workers, name: str, givers: Sequence[Any], fields: Sequence[str], receivers: int
             ) -> list[list[Any]]:
    """For each receiver, tasks that have its buckets of all givers, in the givers' order."""
    levels, base = digits(max(len(givers), receivers))
    tasks = {(0, number): giver for number, giver in enumerate(givers)}       # by receivers, and by givers
    for level in range(1, levels + 1):
        width = base ** (levels - level)
        parts = {(some, group): [
            workers.submit(f"{name}_bucket", buckets.taken, fields, some % base * width,
                           (some % base + 1) * width, given=[tasks[some // base, source]])
            for source in range(group * base, (group + 1) * base) if (some // base, source) in tasks]
            for some in range(-(-receivers // width)) for group in range(-(-len(givers) // base ** level))}
        if level < levels:
            tasks = {(some, group): workers.submit(f"{name}_passed", buckets.passed_on, fields, given=given)
                     for (some, group), given in parts.items()}
    return [parts.get((receiver, 0), []) for receiver in range(receivers)]


def digits(number: int) -> tuple[int, int]:
    """How many digits numbers less than this one have, and in which base: as few as DIRECT allows."""
    levels = 1
    while DIRECT ** levels < number:
        levels += 1
    base = 2
    while base ** levels < number:
        base += 1
    return levels, base
