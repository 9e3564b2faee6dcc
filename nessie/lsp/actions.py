"""What can be written instead of a mistake, as the hint of its error says."""
from __future__ import annotations

import re
from collections.abc import Iterator

from nessie.base.records import dataclass
from nessie.base.source import NessieError, Span

MEANT = re.compile(r"did you mean ([^\s?]+)\?")
MISSING = "is a ; missing at the end of the line before?"


@dataclass(frozen=True)
class Action:
    """`text` is written in place of the span's."""
    title: str
    span: Span
    text: str


def actions(error: NessieError) -> Iterator[Action]:
    """Yield what the error's hint says to write."""
    span = error.span
    if span is None:
        return
    if (meant := MEANT.search(error.hint)) and not meant[1].endswith(".nesl"):
        yield Action(f"write {meant[1]}", span, meant[1])
    if MISSING in error.hint:
        line = span.source.text.rfind("\n", 0, span.start)
        ends = len(span.source.text[:max(line, 0)].rstrip())
        yield Action("write ; at the end of the line before", Span(span.source, ends, ends), ";")
