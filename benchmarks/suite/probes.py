"""Small programs by which prices of a machine are measured, for one thread and for all, in caches and beyond."""
from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

import nessie
from nessie.base.records import dataclass

SIZES = (30_000, 300_000, 3_000_000)
TABLES = (3_000, 100_000, 1_000_000, 10_000_000)        # elements that are read or written anywhere
MANY, SOME = 1_000_000, 200_000
LENGTHS = (4, 20, 300)                                  # of rows, on average

Arguments = tuple[Any, ...]


@dataclass(frozen=True)
class Probe:
    """A call of a function of probes.nesl."""
    name: str
    entry: str
    arguments: Callable[[Generator], Arguments]
    program = "probes"


def probes() -> Iterator[Probe]:
    for size in SIZES:
        for entry in ("sums", "chains", "exponentials", "logarithms", "sines", "divisions", "survivors", "in_order"):
            yield Probe(f"{entry}, {size}", entry, lambda random, n=size: (random.random(n),))
        yield Probe(f"running, {size}", "running", lambda random, n=size: (ints(random, n, 100),))
        yield Probe(f"rounds, {size}", "rounds", lambda random, n=size // 10: (1 + ints(random, n, 1000),))
        yield Probe(f"orbits, {size}", "orbits", lambda random, n=size // 10: (random.random(n), ints(random, n, 200)))
        yield Probe(f"quotients, {size}", "quotients",
                    lambda random, n=size: (ints(random, n, 1 << 40), 1 + ints(random, n, 1000)))
        for entry in ("either", "greatest_of_all", "roots_and_quotients"):
            yield Probe(f"{entry}, {size}", entry, lambda random, n=size: (random.random(n),))
        yield Probe(f"ascents, {size}", "ascents", lambda random, n=size: (ints(random, n, 100),))
        yield Probe(f"ranks, {size // 10}", "ranks", lambda random, n=size // 10: (ints(random, n, 1 << 40),))
    for size in TABLES:
        for entry in ("gathers", "gathered_sum", "writes"):
            yield Probe(f"{entry}, {size}", entry, lambda random, n=size: (random.random(n), ints(random, MANY, n)))
        yield Probe(f"additions, {size}", "additions",
                    lambda random, n=size: (ints(random, n, 9), ints(random, MANY, n)))
        yield Probe(f"least, {size}", "least", lambda random, n=size: (ints(random, n, 9), ints(random, MANY, n)))
        yield Probe(f"by_key, {size}", "by_key", lambda random, n=size: (ints(random, SOME, n), random.random(SOME)))
        yield Probe(f"different, {size}", "different", lambda random, n=size: (ints(random, SOME, n),))
        yield Probe(f"picked, {size}", "picked",
                    lambda random, n=size: (ragged(random, "picked", 8, True, n), ints(random, SOME // 8, n // 8)))
        yield Probe(f"products, {size}", "products",
                    lambda random, n=size: (ragged(random, "products", 12, True), random.random(n)))
        yield Probe(f"searches, {size}", "searches",
                    lambda random, n=size: (np.arange(n), ints(random, MANY // 10, n)))
    for length in LENGTHS:
        for uneven in (False, True):
            for entry in ("rows", "scanned_rows", "ranked_rows", "maxima", "greatest", "kept_in_rows", "positives"):
                yield Probe(f"{entry}, {'to ' if uneven else ''}{length}", entry,
                            lambda random, e=entry, k=length, u=uneven: (ragged(random, e, k, u),))


def ints(random: Generator, count: int, below: int) -> NDArray[np.int64]:
    return random.integers(0, below, count)


def ragged(random: Generator, entry: str, length: int, uneven: bool, total: int = MANY) -> nessie.Nested:
    """Rows of so many elements, or of up to twice as many, and at least one."""
    count = total // length
    lengths = random.integers(1, 2 * length, count) if uneven else np.full(count, length)
    offsets = np.append(0, np.cumsum(lengths))
    total = int(offsets[-1])
    whole = entry in ("ranked_rows", "products")
    return nessie.Nested(offsets, ints(random, total, 1 << 40) if whole else random.random(total))
