"""Filters: functions of an image that give an image. Pixels are computed by plain functions of ints."""
from __future__ import annotations

from collections.abc import Callable

import nessie
from nessie import Array

Filter = Callable[[Array], Array]
Mask = Callable[[int, int], Array]              # of a height and a width: true where the other image is seen

AROUND = [(y, x) for y in (-1, 0, 1) for x in (-1, 0, 1)]
BESIDE = [(-1, 0), (0, -1), (0, 0), (0, 1), (1, 0)]


def apply(image: Array, *filters: Filter) -> Array:
    """The image after these filters, one after another. Nothing is computed yet."""
    for change in filters:
        image = change(image)
    return image


# Pixels -----------------------------------------------------------------------------------------


def red(p):
    return p >> 16 & 255


def green(p):
    return p >> 8 & 255


def blue(p):
    return p & 255


def pixel(r, g, b):
    """The pixel of three amounts; what is below 0 is 0, what is above 255 is 255."""
    return min(max(r, 0), 255) << 16 | min(max(g, 0), 255) << 8 | min(max(b, 0), 255)


def mixed(p, q, part):
    """The pixel of which so many of 256 parts are q."""
    return pixel(red(p) * (256 - part) + red(q) * part >> 8, green(p) * (256 - part) + green(q) * part >> 8,
                 blue(p) * (256 - part) + blue(q) * part >> 8)


# Filters ----------------------------------------------------------------------------------------


def mean(around):
    """The mean of nine pixels."""
    r = g = b = 0
    for p in around:
        r, g, b = r + red(p), g + green(p), b + blue(p)
    return pixel(r // 9, g // 9, b // 9)


def blur(image: Array) -> Array:
    """Each pixel becomes the mean of those around it; the border becomes black."""
    return image.stencil(AROUND, 0, mean)


def contrast(up, left, here, right, down):
    """How much an amount is above its neighbours, added to it."""
    return 5 * here - up - left - right - down


def sharpen(image: Array) -> Array:
    """Each pixel moves away from those beside it; the border becomes black."""
    return image.stencil(BESIDE, 0, lambda up, left, here, right, down: pixel(
        contrast(red(up), red(left), red(here), red(right), red(down)),
        contrast(green(up), green(left), green(here), green(right), green(down)),
        contrast(blue(up), blue(left), blue(here), blue(right), blue(down))))


def invert(image: Array) -> Array:
    return image.map(lambda p: 0xFFFFFF - p)


def blend(other: Array, ratio: float) -> Filter:
    """The image and the other, of which there is so much: 0.0 to 1.0."""
    part = round(256 * ratio)
    return lambda image: image.combine(other, lambda p, q: mixed(p, q, part))


def overlay(other: Array, mask: Mask) -> Filter:
    """The image, and the other where the mask says so."""
    return lambda image: image.combine(other, mask(*image.shape), lambda p, q, seen: q if seen else p)


# Masks ------------------------------------------------------------------------------------------


def circle(radius: int) -> Mask:
    """A circle around the middle."""
    def mask(height: int, width: int) -> Array:
        return nessie.pnew((height, width),
                           lambda at: (at[0] - height // 2) ** 2 + (at[1] - width // 2) ** 2 < radius * radius)
    return mask


def stripes(breadth: int) -> Mask:
    """Every other stripe of this breadth, from left to right."""
    return lambda height, width: nessie.pnew((height, width), lambda at: at[0] // breadth % 2 == 1)
