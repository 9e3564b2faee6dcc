"""The CPU target's library: sorts of values. NaN comes last; equal values keep their order, as zeros and NaNs show.

Many values are parted first, so that each thread sorts those of a range. The bits are those of one thread.
"""
from __future__ import annotations

from collections.abc import Callable, Iterable
from threading import Thread
from typing import Any

import numpy as np

Values = np.ndarray[Any, Any]
EACH = 1 << 17                  # values of a thread, at least


def sort_ascending(values: Values, result: Values, threads: int = 1) -> None:
    result[:] = values
    sort_in_place(result, threads)
    if values.dtype == np.float64:
        as_given(values, result, np.searchsorted(result, 0.0), np.searchsorted(result, 0.0, "right"))


def sort_descending(values: Values, result: Values, threads: int = 1) -> None:
    result[:] = values
    sort_in_place(result, threads)
    numbers = result
    if values.dtype == np.float64:
        numbers = result[:np.searchsorted(result, np.inf, "right")]
    numbers[:] = numbers[::-1].copy()
    if values.dtype == np.float64:
        as_given(values, result, *(len(numbers) - np.searchsorted(numbers[::-1], 0.0, side)
                                   for side in ("right", "left")))


def sort_in_place(values: Values, threads: int) -> None:
    ranges = max(1, min(threads, len(values) // EACH))
    ends = [len(values) * k // ranges for k in range(1, ranges)]
    if ends:
        values.partition(ends)                  # no value is greater than one of a later range
    first, *others = np.split(values, ends)
    helpers = [Thread(target=part.sort) for part in others]
    try:
        for part, helper in zip(others, helpers, strict=True):
            try:
                helper.start()
            except RuntimeError:                # none can be had
                part.sort()
        first.sort()
    finally:
        wait_for_all(helpers)


def wait_for_all(helpers: Iterable[Thread]) -> None:
    """An interrupt is told when they have ended: they write to memory that is another's then."""
    struck: BaseException | None = None
    for helper in helpers:
        while helper.is_alive():
            try:
                helper.join()
            except BaseException as error:
                struck = error
    if struck is not None:
        raise struck


def as_given(values: Values, result: Values, first: Any, last: Any) -> None:
    """Puts zeros, which are result[first:last], and NaNs in the order that they have among the values."""
    if last > first:
        result[first:last] = values[values == 0.0]
    if len(result) and np.isnan(result[-1]):
        missing = values[np.isnan(values)]
        result[len(result) - len(missing):] = missing


SORTS: dict[str, Callable[..., None]] = {f.__name__: f for f in (sort_ascending, sort_descending)}
