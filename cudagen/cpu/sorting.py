"""The CPU target's library: stable orders of keys, NaN last. Each fills the last array with flat positions."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

IntArray = np.ndarray[Any, np.dtype[np.int64]]
Keys = np.ndarray[Any, Any]


def order_ascending(keys: Keys, result: IntArray) -> None:
    result[:] = np.argsort(keys, kind="stable")


def order_descending(keys: Keys, result: IntArray) -> None:
    order_ascending(turned(keys), result)


def segmented_ascending(keys: Keys, offsets: IntArray, result: IntArray) -> None:
    """Orders all keys, then brings the segments back together, which keeps the order within each."""
    lengths = np.diff(offsets)
    if len(lengths) == 1:
        order_ascending(keys, result)
        return
    segments = np.repeat(np.arange(len(lengths)), lengths)
    order = np.argsort(keys, kind="stable")
    result[:] = order[np.argsort(segments[order], kind="stable")]


def segmented_descending(keys: Keys, offsets: IntArray, result: IntArray) -> None:
    segmented_ascending(turned(keys), offsets, result)


def turned(keys: Keys) -> Keys:
    """Keys in the opposite order; equal keys stay equal, and NaN stays NaN."""
    return -keys if keys.dtype == np.float64 else ~keys


SORTS: dict[str, Callable[..., None]] = {f.__name__: f for f in (order_ascending, order_descending,
                                                                  segmented_ascending, segmented_descending)}
