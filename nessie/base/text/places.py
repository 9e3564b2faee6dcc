"""The places of a program's parts in the text that it was read from, for errors of validators.

A parser marks the parts that it makes (base.text.tokens); nodes that have an origin or a span need no mark. A validator
walks down the program by functions that take parts as arguments. The innermost function that failed tells the place, so
no check has to.
"""
from __future__ import annotations

from collections.abc import Iterator

from nessie.base.source import IllFormed, Source, Span

SHARED = (str, int, float, type(None))      # types whose equal values may be one object


class Places:
    """The places of parts in this text. Parts are told apart by identity."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.marked: dict[int, tuple[object, Span]] = {}        # by id, with the part, so that it keeps its id

    def mark(self, part: object, span: Span) -> None:
        """Mark the part's place; of two marks the first, inner one counts."""
        if part != () and not isinstance(part, SHARED):
            self.marked.setdefault(id(part), (part, span))

    def of(self, part: object) -> Span | None:
        """Return the part's place."""
        if (found := self.marked.get(id(part))) is not None:
            return found[1]
        origin = getattr(part, "origin", None)
        span = origin[0] if origin and isinstance(origin, tuple) else getattr(part, "span", None)
        return span if isinstance(span, Span) and span.source == self.source else None

    def of_error(self, error: IllFormed) -> Span | None:
        """Return the place of the part that a validator was looking at."""
        innermost = None
        for argument in arguments(error):
            innermost = self.of(argument) or innermost
        return innermost


def arguments(error: BaseException) -> Iterator[object]:
    """Yield the arguments of the functions that the error has come through, outer functions first; of each function,
    the first argument last."""
    passed = error.__traceback__
    while passed is not None:
        frame, passed = passed.tb_frame, passed.tb_next
        for name in reversed(frame.f_code.co_varnames[:frame.f_code.co_argcount]):
            yield frame.f_locals.get(name)
