"""Elements that come to the driver, of arrays in slabs.

    pick        a task that gives some of them
    elements    those at places
    fetched     those between two bounds, some parts at a time

What no slab has is the array's fill, or 0. What the driver has itself is asked of nobody.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np

from nessie.base.system.seen_files import refuse_other
from nessie.base.values import DTYPES
from nessie.cudagen.cluster.engine import Engine
from nessie.cudagen.cluster.reaching.ranges import Ints
from nessie.cudagen.cluster.slabs import InFile, Slab, Spread
from nessie.cudagen.cluster.tasks.elements import Given, picked

AHEAD = 4                       # parts for each thread that come at a time: what is picked takes memory twice

Gather = Callable[[Sequence[Any]], list[Any]]


class Submits(Protocol):
    """Who submits tasks."""
    engine: Engine

    def submit(self, name: str, function: Callable[..., Any], *arguments: Any, given: Sequence[Any] = ()) -> Any: ...


def pick(by: Submits, spread: Spread, low: int, high: int, places: Ints | None = None) -> Any:
    """A task that gives elements between these bounds, all or those at places."""
    given: list[Any] = []
    array = Given.of(spread, low, high, given)
    return by.submit("pick", picked, array, places, given=given)


def elements(by: Submits, gather: Gather, spread: Spread, places: Ints) -> np.ndarray[Any, Any]:
    """The elements at these places."""
    wanted, order = np.unique(np.asarray(places), return_inverse=True)
    found = np.full(len(wanted), spread.fill or 0, DTYPES[spread.base])
    waiting, parts = [], []
    for slab in spread.slabs:
        part = slice(*np.searchsorted(wanted, (slab.low, slab.high)))
        if part.start == part.stop:
            continue
        if slab.is_here:
            copy_own(found[part], slab, wanted[part] - slab.low)
        else:
            waiting.append(pick(by, spread, slab.low, slab.high, wanted[part]))
            parts.append(part)
    for part, values in zip(parts, gather(waiting) if waiting else [], strict=True):
        found[part] = values
    return found[order]


def fetched(by: Submits, gather: Gather, spread: Spread, low: int, high: int) -> np.ndarray[Any, Any]:
    """The elements from `low` to before `high`."""
    found = np.full(high - low, spread.fill or 0, DTYPES[spread.base])
    there = []
    for slab in spread.between(low, high):
        if slab.is_here:
            copy_own(found[slab.low - low:slab.high - low], slab, slice(None))
        else:
            there.append(slab)
    at_a_time = AHEAD * by.engine.workers()
    for first in range(0, len(there), at_a_time):
        some = there[first:first + at_a_time]
        given = gather([slab.task if slab.whole else pick(by, spread, slab.low, slab.high) for slab in some])
        for slab, values in zip(some, given, strict=True):
            found[slab.low - low:slab.high - low] = slab.of(values) if slab.whole else values
    return found


def copy_own(to: np.ndarray[Any, Any], slab: Slab, places: Ints | slice) -> None:
    """Elements of a slab that the driver has. NessieError if they are in a file that becomes another one meanwhile."""
    to[:] = slab.of(slab.task)[places]
    if isinstance(slab.task, InFile):
        refuse_other(slab.task.file)
