"""Buckets: what a task gives, cut by who receives it; how they are taken, passed on and put together.

    x        3 1 | 4 1 5 | 9        an array, which has what receivers 0, 1 and 2 get, in their order
    x ends   0 2 5 6                where the receivers' buckets begin, and the end

What a receiver has in the end are its buckets of all givers, one after another in the givers' order
(cudagen.cluster.moving.exchange).
"""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from nessie.cudagen.cluster.reaching.ranges import Ints
from nessie.cudagen.cluster.slabs import Arrays


def cut(arrays: Mapping[str, np.ndarray[Any, Any]], counts: Ints) -> Arrays:
    """Arrays in buckets, of so many elements for each receiver."""
    ends = np.concatenate([[0], np.cumsum(counts)])
    return {**arrays, **{ends_of(field): ends for field in arrays}}


def rows(field: str, array: np.ndarray[Any, Any]) -> Arrays:
    """A row for each receiver."""
    return cut({field: array}, np.ones(len(array), np.int64))


def ends_of(field: str) -> str:
    return f"{field} ends"


def taken(fields: Sequence[str], first: int, last: int, given: list[Any]) -> Arrays:
    """Of what a task gives, the buckets from number `first` to before `last`, or the end."""
    made: Arrays = {}
    for field in fields:
        ends = given[0][ends_of(field)][first:last + 1]
        made |= {field: given[0][field][ends[0]:ends[-1]], ends_of(field): ends - ends[0]}
    return made


def passed_on(fields: Sequence[str], given: list[Any]) -> Arrays:
    """The buckets of several givers together, for the same receivers."""
    made: Arrays = {}
    for field in fields:
        ends = [part[ends_of(field)] for part in given]
        of_all = [part[field][end[d]:end[d + 1]] for d in range(len(ends[0]) - 1)
                  for part, end in zip(given, ends, strict=True)]
        made |= {field: np.concatenate(of_all), ends_of(field): np.sum(ends, axis=0)}
    return made


def received(fields: Sequence[str], given: Sequence[Arrays]) -> list[np.ndarray[Any, Any]]:
    """What has come to a receiver, a field after another."""
    return [np.concatenate([part[field] for part in given]) for field in fields]
