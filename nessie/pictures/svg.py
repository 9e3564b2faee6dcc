"""A window as an SVG picture. Shapes of one kind that follow each other, drawn in the same way, are one path."""
from __future__ import annotations

import base64
from collections.abc import Callable, Iterator
from itertools import groupby
from math import cos, radians, sin
from xml.sax.saxutils import escape

import numpy as np

from nessie.base.source import InternalError
from nessie.pictures.drawing import INVERT, Shape, Window
from nessie.pictures.png import png

DRAWN_BY = "<!-- drawn by a program, with Nessie -->"
CONSTANT = {0: 0, 15: 0xFFFFFF}         # X's functions that clear and set pixels
CHARACTER = 6                           # pixels across, of the fonts of 10 pixels
CLOSED = "Z"


def svg(window: Window) -> str:
    """Return the picture of a window."""
    width, height = window.size
    first = "#ffffff" if window.bright else "#000000"
    lines = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
             f'viewBox="0 0 {width} {height}" font-family="monospace" font-size="10" stroke-linecap="round" '
             'stroke-linejoin="round">', DRAWN_BY, f"<title>{escape(window.title)}</title>",
             f'<rect width="{width}" height="{height}" fill="{first}"/>', *elements(window.shapes), "</svg>"]
    return "\n".join(lines) + "\n"


def elements(shapes: list[Shape]) -> Iterator[str]:
    for (kind, drawn, width), group in groupby(shapes, lambda shape: (shape.kind, shape.drawn, shape.width)):
        color, turned = f"#{CONSTANT.get(drawn >> 24, drawn & 0xFFFFFF):06x}", ""
        if drawn >> 24 in INVERT:
            color, turned = "#ffffff", ' style="mix-blend-mode:difference"'
        if kind in STROKED and not turned:
            yield stroked("".join(STROKED[kind](shape.numbers) for shape in group), color, width, "")
        elif kind in STROKED:                   # each turns what is below it, other shapes too
            yield from (stroked(STROKED[kind](shape.numbers), color, width, turned) for shape in group)
        elif kind in FILLED:
            yield from (f'<path d="{FILLED[kind](shape.numbers)}" fill="{color}"{turned}/>' for shape in group)
        elif kind in OTHERS:
            yield from (OTHERS[kind](shape.numbers, color, turned) for shape in group)
        else:
            raise InternalError(f"there is no shape {kind}")


def stroked(path: str, color: str, width: int, turned: str) -> str:
    return (f'<path d="{path}" transform="translate(.5 .5)" fill="none" stroke="{color}" '
            f'stroke-width="{max(1, width)}"{turned}/>')


# Paths ------------------------------------------------------------------------------------------

def points_of(numbers: np.ndarray) -> list[str]:
    return [f"{x} {y}" for x, y in numbers.reshape(-1, 2).tolist()]


def lines(numbers: np.ndarray) -> str:
    points = points_of(numbers)
    return f"M{'L'.join(points)}{CLOSED if len(points) > 1 and points[0] == points[-1] else ''}" if points else ""


def segments(numbers: np.ndarray) -> str:
    points = points_of(numbers)
    return "".join([f"M{p}L{q}" for p, q in zip(points[::2], points[1::2], strict=True)])


def arc(numbers: np.ndarray) -> str:
    x, y, radius, begin, angle = numbers.tolist()
    if abs(angle) >= 360:
        return circle(x, y, radius)
    (x0, y0), (x1, y1) = ((x + radius * cos(radians(a)), y - radius * sin(radians(a))) for a in (begin, begin + angle))
    return f"M{x0:g} {y0:g}A{radius} {radius} 0 {int(abs(angle) > 180)} {int(angle < 0)} {x1:g} {y1:g}"


def circle(x: int, y: int, radius: int) -> str:
    return f"M{x - radius} {y}a{radius} {radius} 0 1 0 {2 * radius} 0a{radius} {radius} 0 1 0 {-2 * radius} 0Z"


def polygon(numbers: np.ndarray) -> str:
    return f"M{'L'.join(points_of(numbers))}Z" if len(numbers) else ""


# The rest ---------------------------------------------------------------------------------------

def text(numbers: np.ndarray, color: str, turned: str) -> str:
    x, y, *codes = numbers.tolist()
    shown = "".join([chr(code) if code >= 32 else " " for code in codes])
    return (f'<text x="{x}" y="{y}" textLength="{CHARACTER * len(shown)}" xml:space="preserve" '
            f'fill="{color}"{turned}>{escape(shown)}</text>') if shown.strip() else ""


def image(numbers: np.ndarray, color: str, turned: str) -> str:
    x, y, width, height = numbers[:4].tolist()
    greys = np.resize(numbers[4:], (height, width)) if len(numbers) > 4 else np.zeros((height, width))
    data = base64.b64encode(png(greys)).decode("ascii")
    return f'<image x="{x}" y="{y}" width="{width}" height="{height}" href="data:image/png;base64,{data}"/>'


STROKED: dict[int, Callable[[np.ndarray], str]] = {0: lambda numbers: "".join([f"M{p}h0" for p in points_of(numbers)]),
                                                   1: lines, 2: segments, 3: arc}
FILLED: dict[int, Callable[[np.ndarray], str]] = {7: lambda numbers: circle(*numbers.tolist()), 8: polygon}
OTHERS: dict[int, Callable[[np.ndarray, str, str], str]] = {5: text, 15: image}
