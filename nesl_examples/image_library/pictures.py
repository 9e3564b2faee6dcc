"""Pictures that are drawn: each pixel is computed from its place."""
from __future__ import annotations

import nessie
from nessie import Array

from .filters import pixel


def tower(height: int, width: int) -> Array:
    """A tower of trusses before an evening sky."""
    def at(place):
        y, x = place
        away, half = abs(x - width // 2), width // 60 + (y * y * width) // (6 * height * height)
        steel = away < half and (away > half - width // 40 - 1 or (x + y) % 16 < 4 or (x - y) % 16 < 4)
        if steel:
            return pixel(230, 80 + 60 * y // height, 40)
        return pixel(40 + 120 * y // height, 60 + 80 * y // height, 130 + 60 * y // height)
    return nessie.pnew((height, width), at)


def sunset(height: int, width: int) -> Array:
    """A sun above the sea."""
    def at(place):
        y, x = place
        far = (y - height // 2) ** 2 + (x - width // 3) ** 2
        if y < 2 * height // 3:
            glow = 200 * height * height // (height * height + 16 * far)
            return pixel(120 + glow, 40 + glow, 60 + glow // 4)
        return pixel(90, 50 + (y * 7 + x) % 13 * 4, 110)
    return nessie.pnew((height, width), at)


def forest(height: int, width: int) -> Array:
    """Trees side by side, of different heights."""
    def at(place):
        y, x = place
        tree = x // 24
        top = height // 4 + tree * 37 % (height // 3 + 1)
        if y > top and abs(x % 24 - 12) * (height - top) < 12 * (y - top):
            return pixel(20 + tree * 5 % 30, 90 + tree * 29 % 90, 40)
        return pixel(150, 190, 220 - 60 * y // height)
    return nessie.pnew((height, width), at)
