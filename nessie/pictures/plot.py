"""Plots values by matplotlib, the extra `plot`.

    [a]                     a line: the elements over their positions
    [(a,b)], ([a],[b])      scattered points
    [[a]]                   an image, if all rows have one length; else the lengths of the rows
    [[b]]                   the lengths of the rows, of any other elements
    histogram               how often the numbers occur, of any numbers
"""
from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import numpy as np

from nessie.base.source import NessieError
from nessie.base.system.extras import install
from nessie.base.types import CLASSES, LIKE, Base, Pair, Seq, Type, show_type
from nessie.base.values import Flat, Nested
from nessie.pictures.kinds import KINDS

MANY = 20_000                   # marks, from which on an SVG picture has them as an image
BINS = 50                       # bars of a histogram, at most


def plot(value: Any, type_: Type, kind: str | None, title: str, format_: str) -> bytes:
    """Return the plot of a flat value: of this kind, or the one that its type and its rows suggest."""
    drawer = DRAWERS[chosen(kind, value, type_)]
    try:
        import matplotlib
        from matplotlib.figure import Figure
    except ImportError:
        raise NessieError("plots are drawn by matplotlib, which is not here", hint=install("plot")) from None
    with matplotlib.rc_context({"svg.hashsalt": "nessie", "svg.fonttype": "none"}):
        figure = Figure(figsize=(7, 4.5), layout="constrained")
        axes = figure.subplots()
        drawer(axes, value)
        axes.set_title(title, fontsize="medium", loc="left", parse_math=False)
        axes.spines[["top", "right"]].set_visible(False)
        made = io.BytesIO()
        figure.savefig(made, format=format_, dpi=144, metadata={"Date": None} if format_ == "svg" else None)
    return made.getvalue()


def chosen(kind: str | None, value: Any, type_: Type) -> str:
    """Return the kind of the plot; NessieError, if the value's type has no such."""
    possible = kinds(value, type_)
    if not possible:
        raise NessieError(f"a value of the type {show_type(type_)} has no plot",
                          hint="sequences of numbers have, of pairs of numbers, and nested sequences")
    if kind is not None and kind not in possible:
        raise NessieError(f"a value of the type {show_type(type_)} has no {kind}{of_rows(kind, type_)}",
                          hint=f"it has {', '.join(possible)}")
    return kind or possible[0]


def of_rows(kind: str, type_: Type) -> str:
    matrix = isinstance(type_, Seq) and isinstance(type_.element, Seq) and is_number(type_.element.element)
    return " where its rows have different lengths" if kind == "image" and matrix else ""


def kinds(value: Any, type_: Type) -> tuple[str, ...]:
    """Return the kinds of plots of a value, the usual one first."""
    match type_:
        case Seq(Seq(element)):
            numbers = ("histogram",) if is_number(element) else ()
            lengths = np.diff(rows_of(value))
            alike = is_number(element) and lengths.size > 0 and lengths.min() == lengths.max() > 0
            return (*(("image",) if alike else ()), "lengths", *numbers)
        case Seq(Pair(first, second)) | Pair(Seq(first), Seq(second)) if is_number(first) and is_number(second):
            return "scatter", "line"
        case Seq(element) if is_number(element):
            return "line", "histogram", "scatter"
    return ()


def is_number(type_: Type) -> bool:
    return isinstance(type_, Base) and LIKE.get(type_.name, type_.name) in (*CLASSES["number"], "bool")


# The value's arrays -------------------------------------------------------------------------------

def rows_of(value: Flat) -> Any:
    """Return where the rows of a nested sequence begin, and where the last one ends."""
    return np.asarray(value.column.offsets)[:value.length + 1]


def numbers_of(value: Any) -> Any:
    """Return the numbers in a sequence, or in its rows."""
    column = value.column
    if isinstance(column, Nested):
        offsets = rows_of(value)
        return np.asarray(column.content[int(offsets[0]):int(offsets[-1])])
    return np.asarray(column[:value.length])


def points_of(value: Any) -> tuple[Any, Any]:
    """Return xs and ys: of pairs, of two sequences, or of numbers and their positions."""
    if isinstance(value, tuple):
        xs, ys = map(numbers_of, value)
        if len(xs) != len(ys):
            raise NessieError(f"there are {len(xs):,} numbers for x and {len(ys):,} for y")
        return xs, ys
    if isinstance(value.column, tuple):
        return tuple(np.asarray(part[:value.length]) for part in value.column)  # type: ignore[return-value]
    return np.arange(value.length), numbers_of(value)


# The plots ----------------------------------------------------------------------------------------

def line(axes: Any, value: Any) -> None:
    xs, ys = points_of(value)
    axes.plot(xs, ys, linewidth=1.2, marker="." if len(xs) <= 60 else "", rasterized=len(xs) > MANY)


def scatter(axes: Any, value: Any) -> None:
    xs, ys = points_of(value)
    axes.scatter(xs, ys, s=8 if len(xs) <= 2000 else 2, rasterized=len(xs) > MANY)


def histogram(axes: Any, value: Any) -> None:
    numbers = numbers_of(value)
    bars(axes, numbers[np.isfinite(numbers)], "value")


def lengths(axes: Any, value: Any) -> None:
    found = np.diff(rows_of(value))
    bars(axes, found, "length of a row")
    axes.set_ylabel("rows")


def image(axes: Any, value: Any) -> None:
    shown = axes.imshow(numbers_of(value).reshape(value.length, -1), cmap="viridis", interpolation="nearest")
    axes.figure.colorbar(shown, ax=axes)


def bars(axes: Any, numbers: Any, what: str) -> None:
    """Draw a bar for each of few whole numbers, else for parts of their range."""
    span = int(numbers.max()) - int(numbers.min()) if numbers.size else 0
    whole = numbers.dtype.kind in "iub" and span < BINS
    edges = int(numbers.min()) - 0.5 + np.arange(span + 2) if whole and numbers.size else BINS
    axes.hist(numbers.astype(float), bins=edges, rwidth=0.9 if whole else 1.0)
    axes.set_xlabel(what)


DRAWERS: dict[str, Callable[[Any, Any], None]] = dict(
    zip(KINDS, (line, scatter, histogram, image, lengths), strict=True))
