"""Examples in the comments of a program: what expressions give.

    % Each element twice: twice([1, 2]) => [2, 4]
      twice([] int) => []
      twice([[1],
             [2]]) => error %

An example is a line of a comment with `=>` outside of brackets: an expression before, what it gives behind. What stands
before a colon on that line is prose, and so are all lines without `=>`. In brackets both go on over several lines, and
before or after the `=>` a line may end.
"""
from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from nessie.base.source import Source, Span
from nessie.frontend.lexer import CLOSING, OPENED_BY, OPERATORS, TOKEN


@dataclass(frozen=True)
class Example:
    """Spans of what is evaluated, and of what is expected of it; either may be empty, which is a mistake."""
    expression: Span
    expected: Span


def examples(source: Source) -> Iterator[Example]:
    """Those of all comments, in order."""
    for start, end in comments(source.text):
        while start < end:
            found = example(source, start, end)
            if found:
                yield found
                start = found.expected.end
            line_end = source.text.find("\n", start, end)
            start = end if line_end < 0 else line_end + 1


def comments(text: str) -> Iterator[tuple[int, int]]:
    """Where the inner text of each comment begins and ends."""
    for start, end in pieces(text, 0, len(text)):
        if text[start] == "%" and end > start + 1:
            yield start + 1, end - 1


def example(source: Source, start: int, end: int) -> Example | None:
    """The example that the line has which begins at `start`, in a comment that ends at `end`."""
    text, arrow, at, open_brackets = source.text, -1, start, 0
    for at, behind in pieces(text, start, end):
        kind = OPERATORS.get(text[at:behind], "")
        lines = text.count("\n", at, behind) if text[at:behind].strip(" \t\r\n`") == "" else 0
        whole = text[arrow + 2:at].strip() if arrow >= 0 else not text.startswith("=>", behind)
        if lines > 1 or (lines and whole and not open_brackets):
            break
        if kind in OPENED_BY:
            open_brackets += 1
        elif kind in CLOSING:
            open_brackets -= open_brackets > 0
        elif not open_brackets and arrow < 0 and kind == "FATARROW":
            arrow = at
        elif not open_brackets and arrow < 0 and kind == "COLON":
            start = behind
    else:
        at = end
    return None if arrow < 0 else Example(stripped(source, start, arrow), stripped(source, arrow + 2, at))


def pieces(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Where tokens, blanks and comments begin and end; what is none of them is a piece of one character."""
    while start < end:
        match = TOKEN.match(text, start, end)
        behind = match.end() if match else start + 1
        yield start, behind
        start = behind


def stripped(source: Source, start: int, end: int) -> Span:
    """The span without the blanks around it."""
    text = source.text[start:end]
    start += len(text) - len(text.lstrip())
    return Span(source, start, start + len(text.strip()))
