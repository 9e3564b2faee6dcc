"""Random host sections, as text, whose names are arrays on one path and numbers on another; and what they are called
with instead of arrays, to say what comes of each operation by itself."""
from __future__ import annotations

import random
from typing import Any

import numpy as np

NAMES = ("p", "q", "r")


class Sections:
    """Writes one function of an array of two dimensions, one of one, and an int."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.rounds = 0
        self.known: list[str] = []

    def function(self, name: str) -> str:
        begin = [f"    {one} = {self.value(1)}" for one in NAMES]
        self.known = [*NAMES, *NAMES]
        lines = [line for _ in range(self.rng.randint(1, 3)) for line in self.statement(1)]
        return "\n".join([f"def {name}(m, a, n):", *begin, *lines, f"    return {self.result()}"]) + "\n"

    def result(self) -> str:
        return self.rng.choice(["p", "p, q", "r, n, p", self.value(2)])

    def statement(self, depth: int) -> list[str]:
        pad, kind = "    " * depth, self.rng.randrange(10)
        if kind < 4 or depth > 2:
            return [f"{pad}{self.rng.choice(NAMES)} = {self.value(2)}"]
        if kind == 4:
            return [f"{pad}{self.rng.choice(NAMES)} {self.rng.choice('+-*')}= {self.value(1)}"]
        if kind < 8:
            orelse = [f"{pad}else:", *self.block(depth)] if self.rng.random() < 0.6 else []
            return [f"{pad}if {self.test()}:", *self.block(depth), *orelse]
        self.rounds += 1
        i = f"i{self.rounds}"
        leave = [f"{pad}    if {i} == {self.rng.randint(0, 2)}:", f"{pad}        "
                 + self.rng.choice(["break", "continue", f"return {self.result()}"])] if self.rng.random() < 0.3 else []
        return [f"{pad}for {i} in range({self.rng.choice(['2', '3', 'n'])}):", *leave, *self.block(depth)]

    def block(self, depth: int) -> list[str]:
        return [line for _ in range(self.rng.randint(1, 2)) for line in self.statement(depth + 1)]

    def value(self, depth: int) -> str:
        kind = self.rng.randrange(14)
        if depth == 0 or kind < 3:
            return self.rng.choice([*self.known, "m", "a", "n", "2", "True", "(a > 1)"])
        if kind < 6:
            return f"({self.value(depth - 1)} {self.rng.choice(['+', '-', '*', '<', '=='])} {self.value(depth - 1)})"
        if kind < 8:
            return f"({self.value(depth - 1)} if {self.test()} else {self.value(depth - 1)})"
        if kind < 11:
            of = self.rng.choice(["m", "a", "(m + a)", "(m > 0)", "m.T", *self.known[:1]])
            return f"{of}.{self.rng.choice(['sum()', 'any()', 'sum(axis=0)', 'T', 'flatten()'])}"
        if kind == 11:
            return f"({self.value(depth - 1)}, {self.value(depth - 1)})[{self.rng.randint(0, 1)}]"
        return f"abs({self.value(depth - 1)})" if kind == 12 else f"(~({self.value(depth - 1)} > 1))"

    def test(self) -> str:
        return self.rng.choice(["n > 1", "n == 0", "n % 2 == 1", "a.sum() > 3", "m.any()", "n", "n and m.any()",
                                f"({self.rng.choice(NAMES)} == 2)" if self.known else "n < 2"])


class Eager:
    """An array whose operations are NumPy's, but that truth values are added as ints."""

    def __init__(self, array: Any) -> None:
        self.array = np.asarray(array)

    def __repr__(self) -> str:
        return f"{self.array.dtype}{self.array.tolist()}"

    def combined(self, other: Any, function: Any) -> Any:
        return Eager(function(number(self), number(other))) if is_number(other) else NotImplemented

    def __add__(self, other: Any) -> Any:
        return self.combined(other, np.add)

    def __sub__(self, other: Any) -> Any:
        return self.combined(other, np.subtract)

    def __rsub__(self, other: Any) -> Any:
        return self.combined(other, lambda x, y: y - x)

    def __mul__(self, other: Any) -> Any:
        return self.combined(other, np.multiply)

    __radd__, __rmul__ = __add__, __mul__

    def __lt__(self, other: Any) -> Any:
        return self.combined(other, np.less)

    def __gt__(self, other: Any) -> Any:
        return self.combined(other, np.greater)

    def __eq__(self, other: Any) -> Any:
        return self.combined(other, np.equal)

    def __invert__(self) -> Any:
        return Eager(~self.array)

    def __abs__(self) -> Any:
        return Eager(abs(number(self)))

    def __bool__(self) -> bool:
        raise TypeError("an array of elements is neither true nor false")

    def sum(self, axis: int | None = None) -> Any:
        return plain(number(self).sum(axis=axis))

    def any(self) -> bool:
        return bool(self.array.any())

    def flatten(self) -> Any:
        return Eager(self.array.flatten())

    @property
    def T(self) -> Any:
        return Eager(self.array.T)


def plain(value: Any) -> Any:
    return Eager(value) if value.ndim else value.item()


def is_number(value: Any) -> bool:
    return isinstance(value, Eager | int)


def number(value: Any) -> Any:
    array = value.array if isinstance(value, Eager) else np.asarray(value)
    return array.astype(np.int64) if array.dtype == bool else array
