"""Random expressions of arrays, beside the same computed at once by NumPy and Python."""
from __future__ import annotations

import random
from typing import Any

import numpy as np

from nessie.arrays.array import Array, array
from nessie.arrays.array import pnew as new

Numbers = np.ndarray[Any, Any]


class Expressions:
    """Makes expressions, step by step: pairs of an array, which lies on the device, and what NumPy has for it."""

    def __init__(self, seed: int, device: str) -> None:
        self.rng, self.device = random.Random(seed), device
        self.made: list[tuple[Array, Numbers]] = []
        for _ in range(2):
            self.leaf()

    def leaf(self) -> None:
        rank = self.rng.choice((1, 1, 1, 2, 2, 3))
        shape = tuple([self.rng.choice((0, 1, 2, 3, 5, 7)) for _ in range(rank)])
        values = np.array([self.rng.randint(-9, 9) for _ in range(int(np.prod(shape)))], np.int64).reshape(shape)
        kind = self.rng.randrange(4)
        if kind == 1:
            values = values / 4
        if kind == 2:
            values = values > 0
        if kind == 3 and rank > 1:
            made = new(shape, lambda i: i[0] * 3 - i[-1], device=self.device)
            self.made.append((made, np.indices(shape)[0] * 3 - np.indices(shape)[-1]))
        else:
            self.made.append((array(values, device=self.device), values))

    def pick(self, rank: int | None = None) -> tuple[Array, Numbers]:
        fitting = [pair for pair in self.made if rank is None or pair[1].ndim == rank]
        return self.rng.choice(fitting or self.made)

    def alike(self, to: Numbers) -> tuple[Array, Numbers]:
        return self.rng.choice([pair for pair in self.made if pair[1].shape == to.shape])

    def step(self) -> None:
        a, x = self.pick()
        k, w = self.rng.randint(-3, 3), self.rng.choice((0.5, -1.25, 2.0))
        whole = x.dtype.kind != "f"
        match self.rng.randrange(14):
            case 0:
                self.add(a.map(lambda v: v * k + 1), x * k + 1)
            case 1:
                self.add(a.map(lambda v: v * w if v > k else v - w), np.where(x > k, x * w, x - w))
            case 2:
                b, y = self.alike(x)
                self.add(a.combine(b, lambda p, q: max(p + 0, q + 0)), np.maximum(x + 0, y + 0))
            case 3:
                b, y = self.alike(x)
                self.add(a + b * 2, x + y * 2)
            case 4 if whole:
                self.add((a + 0) % 5 - (a + 0) // 3, (x + 0) % 5 - (x + 0) // 3)
            case 5 if x.ndim == 1:
                kept = [bool(v > k) for v in x.tolist()]
                self.add(a.select(lambda v: v > k), x[kept])
            case 6 if x.ndim == 1:
                self.add(a.prefix_sum(), np.cumsum(x))
            case 7 if x.ndim == 1 and x.dtype.kind != "b":
                self.add(a.sort(), np.sort(x))
            case 8 if x.ndim == 1:
                b, y = self.alike(x)
                self.add(a.zip(b).map(lambda p: (p[1] + 0) * 2 - p[0]), (y + 0) * 2 - x)
            case 9:
                self.add(a.flatten(), x.reshape(-1))
            case 10 if x.ndim == 1:
                reach = self.rng.randint(1, 2)
                found = np.full(x.shape, k, np.result_type(x + 0, np.int64))
                if len(x) > 2 * reach:
                    found[reach:len(x) - reach] = (x + 0)[:len(x) - 2 * reach] - (x + 0)[2 * reach:]
                if reach == 1:
                    self.add(a.stencil([-1, 1], k, lambda v: v[-1] - v[1] + 0), found)
                else:
                    self.add(a.stencil([-2, 2], k, lambda p, q: p - q + 0), found)
            case 11 if x.ndim == 2:
                found = np.full(x.shape, 0, np.result_type(x + 0, np.int64))
                if min(x.shape) > 1:
                    found[1:, 1:] = (x + 0)[1:, 1:] + (x + 0)[:-1, :-1]
                self.add(a.stencil([(0, 0), (-1, -1)], 0, lambda v: v[0, 0] + v[-1, -1] + 0), found)
            case 12:
                total = a.sum()
                self.add(a.map(lambda v: v + 0).combine(total, lambda v, t: v + t), x + 0 + x.sum())
            case 13 if x.ndim == 1 and x.size:
                table = a
                places = array(np.arange(4), device=self.device)
                self.add(places.map(lambda i: table[i % len(table)]), x[np.arange(4) % len(x)])
            case _:
                self.leaf()

    def add(self, made: Array, expected: Numbers) -> None:
        self.made.append((made, np.asarray(expected)))


def expression(seed: int, device: str = "cpu") -> tuple[list[Array], list[Numbers]]:
    """Return some results of at most 12 operations on arrays of the device, and what they are."""
    expressions = Expressions(seed, device)
    for _ in range(expressions.rng.randint(1, 12)):
        expressions.step()
    chosen = expressions.made[-expressions.rng.randint(1, 2):]
    return [made for made, _ in chosen], [value for _, value in chosen]
