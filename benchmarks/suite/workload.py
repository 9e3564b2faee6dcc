"""A workload of peers.py: a NESL function, the same by others, and what they are given."""
from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.random import Generator

FOLDER = Path(__file__).parent


@dataclass(frozen=True)
class Workload:
    """`entry` of FOLDER/`program`.nesl on what `arguments` makes: NumPy arrays, numbers, nessie.Nested, nessie.Tuples.
    `peers` compute the same from them, each by a Python library that is its name; one that is not installed raises
    ImportError when it is called. `c` is the name of a function of FOLDER/hand.c, and `by_c` calls it: it takes the
    function and the arguments. `size` is said in the table. Results agree where `same` says so."""
    name: str
    program: str
    entry: str
    size: str
    arguments: Callable[[Generator], tuple[Any, ...]]
    peers: Mapping[str, Callable[..., Any]]
    by_c: Callable[..., Any] | None = None
    c: str = ""
    prepare: Mapping[str, Callable[..., tuple[Any, ...]]] = field(default_factory=dict)     # a peer's own form of them
    same: Callable[[Any, Any], bool] = field(default=lambda a, b: agree(a, b))


def agree(one: Any, other: Any) -> bool:
    """Whether two results agree, floats but for their last digits."""
    if hasattr(one, "columns") and not isinstance(one, np.ndarray):          # nessie.Tuples
        one = tuple(one.columns)
    if hasattr(other, "columns") and not isinstance(other, np.ndarray):
        other = tuple(other.columns)
    if hasattr(one, "offsets") and isinstance(other, np.ndarray):            # rows of one length
        one = np.asarray(one.content).reshape(other.shape)
    if hasattr(one, "offsets"):
        one = one.offsets, one.content
    if hasattr(other, "offsets"):
        other = other.offsets, other.content
    if isinstance(one, tuple | list) and isinstance(other, tuple | list):
        return len(one) == len(other) and all(map(agree, one, other))
    one, other = np.asarray(one), np.asarray(other)
    return one.shape == other.shape and (np.array_equal(one, other) or np.allclose(one, other, equal_nan=True))
