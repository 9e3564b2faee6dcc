"""The CPU target's library: sorts of values. NaN comes last; equal values keep their order, as zeros and NaNs show."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Values = np.ndarray[Any, Any]


def sort_ascending(values: Values, result: Values) -> None:
    result[:] = values
    result.sort()
    if values.dtype == np.float64:
        as_given(values, result, np.searchsorted(result, 0.0), np.searchsorted(result, 0.0, "right"))


def sort_descending(values: Values, result: Values) -> None:
    result[:] = values
    result.sort()
    numbers = result
    if values.dtype == np.float64:
        numbers = result[:np.searchsorted(result, np.inf, "right")]
    numbers[:] = numbers[::-1].copy()
    if values.dtype == np.float64:
        as_given(values, result, *(len(numbers) - np.searchsorted(numbers[::-1], 0.0, side)
                                   for side in ("right", "left")))


def as_given(values: Values, result: Values, first: Any, last: Any) -> None:
    """Puts zeros, which are result[first:last], and NaNs in the order that they have among the values."""
    if last > first:
        result[first:last] = values[values == 0.0]
    if len(result) and np.isnan(result[-1]):
        missing = values[np.isnan(values)]
        result[len(result) - len(missing):] = missing


SORTS: dict[str, Callable[..., None]] = {f.__name__: f for f in (sort_ascending, sort_descending)}
