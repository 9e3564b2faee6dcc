"""Random programs of NumPy's operations, each done to arrays of Nessie's and to NumPy's."""
from __future__ import annotations

import random
from typing import Any

import numpy as np

import nessie

Numbers = np.ndarray[Any, Any]
Pair = tuple[Any, Numbers]              # an array, or what NumPy makes of one; and what NumPy has for it
LENGTHS = (0, 1, 1, 2, 3, 4, 5, 7, 8, 9, 16, 17, 33, 64, 70)
MOST = 40_000                           # elements
KINDS = ("i8", "i8", "f8", "f8", "?", "i4", "f4", "i2", "u1")
OF_ONE = (                              # truth values count as ints where 0 is added
    "x.sum(axis={axis})", "x.max(axis={axis})", "x.min(axis={axis}, keepdims=True)", "x.any(axis={axis})",
    "x.all(axis={axis}, keepdims=True)", "((x + 0) % 3 - 1).prod(axis={axis})", "(x + 0).argmax(axis={axis})",
    "(x + 0).argmin(axis={axis}, keepdims=True)", "(x + 0).cumsum(axis={axis})", "x.sum(axis=(0, {axis}))",
    "x.any(axis=(0, {axis}))", "x.T", "x.swapaxes(0, {axis})", "np.moveaxis(x, 0, {axis})", "x.flatten()",
    "np.expand_dims(x, {axis})", "x.reshape(x.shape[0], -1)", "np.sort(x + 0, axis={axis})",
    "np.concatenate([x, x], axis={axis})", "np.stack([x, x], axis={axis})", "(x + 0).clip({k}, {k} + 3)",
    "abs(x + 0) + {k}", "x > {k}", "-(x + 0) // 3", "(x + 0) % 4", "(x > {k}) * (x + 0)", "x / 4", "x[1:]", "x[::2]",
    "x[..., ::-1]")
OF_LINES = ("np.diff(x + 0)", "np.take(x, np.arange(5) % x.shape[0])", "x.sum()", "np.sort(x + 0)")
OF_TWO = ("(x + 0) + y", "(x + 0) * y", "(x + 0) - (y + 0)", "np.maximum(x + 0, y + 0)",
          "np.where(x > y, x + 0, y + 0)", "x == y", "(x > 0) & (y > 0)")


class Program:
    """Makes arrays, step by step. `told`: what has been done, for who reads that it went wrong."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.made: list[Pair] = []
        self.told: list[str] = []
        self.leaf(self.shape())
        self.leaf(self.shape())

    def shape(self) -> tuple[int, ...]:
        while True:
            shape = tuple([self.rng.choice(LENGTHS) for _ in range(self.rng.choice((1, 1, 2, 2, 2, 3, 3, 4)))])
            if np.prod(shape) <= MOST:
                return shape

    def leaf(self, shape: tuple[int, ...]) -> None:
        """An array of small numbers, of any width and order in memory. Elements are wide once they are read."""
        kind = self.rng.choice(KINDS)
        values = np.random.default_rng(self.rng.randrange(2**32)).integers(0 if kind in "?u1" else -9, 10, shape)
        narrow: Numbers = (values > 4 if kind == "?" else values / 4 if kind[0] == "f" else values).astype(kind)
        order = self.rng.choice(("as it is", "by columns", "every second", "shared"))
        if order == "by columns":
            narrow = np.asfortranarray(narrow)
        if order == "every second":
            narrow = np.concatenate([narrow, narrow])[::2]
        self.told.append(f"{kind} {shape}, {order}")
        made = nessie.asarray(narrow) if order == "shared" else nessie.array(narrow)
        self.made.append((made, narrow if kind == "?" else narrow + np.zeros((), "f8" if kind[0] == "f" else "i8")))

    def step(self) -> None:
        kind, x = self.rng.randrange(12), self.rng.choice([pair for pair in self.made if pair[1].ndim])
        if kind < 2:
            self.leaf(self.shape())
        elif kind < 4:
            y = [pair for pair in self.made if pair[1].ndim in (1, 2) and pair[1].shape[0] == x[1].shape[-1]]
            if not y:
                self.leaf((x[1].shape[-1], self.rng.choice(LENGTHS)))
            self.apply("(x + 0) @ (y + 0)", x, self.rng.choice(y or self.made[-1:]))
        elif kind < 7:
            self.apply(self.rng.choice(OF_TWO), x, self.rng.choice(self.made))
        else:
            axis, k = self.rng.randrange(-x[1].ndim, x[1].ndim), self.rng.randint(-3, 4)
            texts = OF_ONE + OF_LINES * (x[1].ndim == 1)
            self.apply(self.rng.choice(texts).format(axis=axis, k=k), x)

    def apply(self, text: str, *given: Pair) -> None:
        """Do it to both, where NumPy does it."""
        try:
            expected = np.asarray(eval(text, {"np": np}, dict(zip("xy", [value for _, value in given]))))
        except (ValueError, IndexError):
            return
        if expected.size > MOST or expected.ndim > 4 or (expected.size and np.abs(expected + 0).max() > 2**30):
            return
        self.told.append(f"{text} of {', '.join(str(value.shape) for _, value in given)}")
        self.made.append((eval(text, {"np": np}, dict(zip("xy", [made for made, _ in given]))), expected))


def program(seed: int) -> Program:
    """A program of at most ten steps."""
    found = Program(seed)
    for _ in range(found.rng.randint(2, 10)):
        found.step()
    return found
