"""The places of a program's parts in the text that it was read from, for errors of validators.

A parser marks what it makes (base.text.tokens); nodes that have an origin or a span need no mark. A validator walks
down the program by functions that take a part each, as arguments: the innermost of those that have failed tells the
place, so no check has to.
"""
from __future__ import annotations

from collections.abc import Iterator

from nessie.base.source import IllFormed, Source, Span

SHARED = (str, int, float, type(None))      # of which an equal one elsewhere may be the same object


class Places:
    """The places in this text. Parts are told apart by identity."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.marked: dict[int, tuple[object, Span]] = {}        # by id; the part itself, so that it keeps its id

    def mark(self, part: object, span: Span) -> None:
        """The part stands there; of two marks the first, inner one counts."""
        if part != () and not isinstance(part, SHARED):
            self.marked.setdefault(id(part), (part, span))

    def of(self, part: object) -> Span | None:
        """The part's place."""
        if (found := self.marked.get(id(part))) is not None:
            return found[1]
        origin = getattr(part, "origin", None)
        span = origin[0] if origin and isinstance(origin, tuple) else getattr(part, "span", None)
        return span if isinstance(span, Span) and span.source == self.source else None

    def of_error(self, error: IllFormed) -> Span | None:
        """The place of the part that a validator was looking at."""
        innermost = None
        for argument in arguments(error):
            innermost = self.of(argument) or innermost
        return innermost


def arguments(error: BaseException) -> Iterator[object]:
    """The parts in the frames that the error has come through, outer functions first; of each, the first one last."""
    passed = error.__traceback__
    while passed is not None:
        frame, passed = passed.tb_frame, passed.tb_next
        for name in reversed(frame.f_code.co_varnames[:frame.f_code.co_argcount]):
            yield frame.f_locals.get(name)
