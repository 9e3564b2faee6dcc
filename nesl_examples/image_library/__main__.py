"""Draws three pictures, combines them as the paper does, and writes what comes out to a PNG file.

    python -m image_library [FILE]
"""
from __future__ import annotations

import sys

from nessie import Array

from .files import save_png
from .filters import apply, blend, blur, circle, invert, overlay
from .pictures import forest, sunset, tower


def combined(tower: Array, sunset: Array, forest: Array) -> Array:
    """The paper's example: three blurs, and what the last of them is fused with."""
    return apply(tower, blur, blur, blur, blend(sunset, 0.3),
                 overlay(apply(forest, invert), circle(tower.shape[0] // 4)))


if __name__ == "__main__":
    pictures = [draw(1080, 1920).evaluate() for draw in (tower, sunset, forest)]
    image = combined(*pictures)
    print(image.explain())
    save_png(image, sys.argv[1] if len(sys.argv) > 1 else "combined.png")
