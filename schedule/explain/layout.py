"""Lays out what explanations print: rows as tables, and places in the source."""
from __future__ import annotations

from collections.abc import Sequence

from nessie.base.source import Span


def table(rows: Sequence[Sequence[str]], left: int = 0) -> list[str]:
    """Align the first column and the last `left` ones to the left, the others to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    to_left = {0, *range(len(widths) - left, len(widths))}
    return ["  " + "  ".join(cell.ljust(width) if at in to_left else cell.rjust(width)
                             for at, (cell, width) in enumerate(zip(row, widths, strict=True))).rstrip()
            for row in rows]


def place_text(place: Span | None) -> str:
    return f"{place.source.name}:{place.line}:{place.column}" if place else ""
