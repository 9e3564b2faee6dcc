"""Shapes for which arguments are made and measured.

    1000000x10                  n is 1,000,000, m is 10, `lengths` is 10 for each of n rows
    power:100000x10             the same, of 100,000 rows: most are short and few long, and their mean is about 10
    power                       power:100000x10
"""
from __future__ import annotations

import math

from nessie.base.records import dataclass

NAMES = ("n", "m", "k")         # of a shape's numbers
POWER = "power"
USUAL_POWER = (100_000, 10)
SCATTER = 1_000_003             # a prime, so that ranks times it, modulo n, are all ranks
LENGTHS = "lengths"


@dataclass(frozen=True)
class Shape:
    """`power`: row lengths follow Zipf's law."""
    numbers: tuple[int, ...]
    power: bool = False

    def __str__(self) -> str:
        return f"{f'{POWER}:' * self.power}{'x'.join(map(str, self.numbers))}"


def shape_of(text: str, largest: int) -> Shape | None:
    """The shape that the word is, if it is one."""
    law, colon, rest = text.partition(":")
    if text == POWER:
        return Shape(USUAL_POWER, True)
    if colon and law != POWER:
        return None
    try:
        numbers = [float(number) for number in (rest if colon else text).split("x")]
    except ValueError:
        return None
    if not 1 + bool(colon) <= len(numbers) <= len(NAMES):
        return None
    if not all(math.isfinite(n) and 0 <= n <= largest and n == int(n) for n in numbers):
        return None
    return Shape(tuple(map(int, numbers)), bool(colon))


def definitions(shape: Shape, with_lengths: bool) -> str:
    """The shape as NESL's top level has it."""
    found = [f"{name} = {number};\n" for name, number in zip(NAMES, shape.numbers)]
    if with_lengths:
        n, m = (*shape.numbers, 1)[:2]
        rows = f"{{{m} : i in [0:n]}}"
        if shape.power:         # a row of rank r has as many elements as 1 / (r + 1) says
            share = n * m / max(math.log(max(n, 1)) + 0.5772, 1)
            rows = f"{{trunc({share!r} / float(rem(i * {SCATTER}, n) + 1) + 0.5) : i in [0:n]}}"
        found.append(f"{LENGTHS} = {rows};\n")
    return "".join(found)
