"""Lays out what explanations print: rows as tables, places in the source, and excerpts of it."""
from __future__ import annotations

from collections.abc import Sequence

from nessie.base.source import Span

EXCERPT = 50                    # characters of a piece of the source


def table(rows: Sequence[Sequence[str]], left: int = 0) -> list[str]:
    """Align the first column and the last `left` ones to the left, the others to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    to_left = {0, *range(len(widths) - left, len(widths))}
    return ["  " + "  ".join(cell.ljust(width) if at in to_left else cell.rjust(width)
                             for at, (cell, width) in enumerate(zip(row, widths, strict=True))).rstrip()
            for row in rows]


def place_text(place: Span | None) -> str:
    return f"{place.source.name}:{place.line}:{place.column}" if place else ""


def excerpt(place: Span | None) -> str:
    text = " ".join(place.source.text[place.start:place.end].split()) if place else ""
    return text if len(text) <= EXCERPT else text[:EXCERPT - 3] + "..."
