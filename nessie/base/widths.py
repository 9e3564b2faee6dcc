"""The widths of a program's numbers: how many bits its ints and floats have.

A program's source says `int` and `float`; the widths say which. Behind the source, types tell it by their names:

    int, float          64 bits, of whatever program
    int32, float32      the ints and floats of a program of 32 bits. Every int32 is an int, every float32 a float: where
                        one is computed with, it is one; what comes out becomes narrow again by `int32` (the lower half)
                        or `float32` (the nearest)
    int16, int8, uint8, uint16, uint32      elements of arrays from outside, which are ints where they are read
    char8               elements of texts from outside whose code points are below 256, chars where they are read

So machines compute in 64 bits and round; arrays hold what is narrow at its own width.
"""
from __future__ import annotations

import math
import struct

from nessie.base.ints import MAX_INT, MIN_INT
from nessie.base.records import dataclass

SETTINGS = (32, 64)
WIDE = {"int32": "int", "int16": "int", "int8": "int", "uint8": "int", "uint16": "int", "uint32": "int",
        "float32": "float", "char8": "char"}
NARROW = {"int": "int32", "float": "float32"}
FITTING = {"int32": (-2 ** 31, 2 ** 31 - 1), "int16": (-2 ** 15, 2 ** 15 - 1), "int8": (-128, 127), "uint8": (0, 255),
           "uint16": (0, 2 ** 16 - 1), "uint32": (0, 2 ** 32 - 1)}
SIGNED = frozenset([name for name, (least, _) in FITTING.items() if least < 0])


def wide(base: str) -> str:
    """Return the type that values of this one have where they are computed with."""
    return WIDE.get(base, base)


@dataclass(frozen=True)
class Widths:
    """The bits of a program's numbers, 32 or 64."""
    floats: int = 64
    ints: int = 64

    @property
    def max_int(self) -> int:
        return (1 << self.ints - 1) - 1

    @property
    def min_int(self) -> int:
        return -(1 << self.ints - 1)

    @property
    def precision(self) -> int:
        """The bits of a float's fraction."""
        return 53 if self.floats == 64 else 24

    @property
    def shown_digits(self) -> int:
        """The digits to which a float is rounded where the top level shows it."""
        return 15 if self.floats == 64 else 7

    @property
    def digits(self) -> int:
        """The digits to which a program's text of a float is rounded."""
        return 8 if self.floats == 64 else 7

    def base(self, name: str) -> str:
        """Return the type that tells its width, for `int` and `float` as the source has them."""
        return NARROW[name] if (name == "int" and self.ints == 32) or (name == "float" and self.floats == 32) else name

    def wrapped(self, value: int) -> int:
        """Return the int in two's complement of these bits."""
        return (value - self.min_int) % (1 << self.ints) + self.min_int

    def rounded(self, value: float) -> float:
        """Return the nearest float of these bits."""
        return single(value) if self.floats == 32 else value

    def constant(self, value: int | float | bool | str) -> int | float | bool | str:
        """Return a constant of the library, or of the source, as one of a program of these widths: floats are rounded,
        and the library's max_int and min_int are the program's. The library has greater ints, too, which are words."""
        if isinstance(value, float):
            return self.rounded(value)
        return {MAX_INT: self.max_int, MIN_INT: self.min_int}.get(value, value) if type(value) is int else value

    def fits(self, value: int | float | bool | str) -> bool:
        """Is it no int, or one that the program has?"""
        return not isinstance(value, int) or self.min_int <= value <= self.max_int

    def __str__(self) -> str:
        return f"float {self.floats}, int {self.ints}"


FULL = Widths()


def single(value: float) -> float:
    """Return the nearest float of 32 bits, of two the even one; beyond the range infinity."""
    try:
        return float(struct.unpack("f", struct.pack("f", value))[0])
    except OverflowError:
        return math.copysign(math.inf, value)
