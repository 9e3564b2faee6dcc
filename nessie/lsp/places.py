"""Places in texts as editors count them: lines from 0, and in a line units of UTF-16."""
from __future__ import annotations

from lsprotocol import types as lsp

from nessie.base.source import Source, Span


def position(text: str, offset: int) -> lsp.Position:
    begins = text.rfind("\n", 0, offset) + 1
    return lsp.Position(text.count("\n", 0, offset), units(text[begins:offset]))


def offset(text: str, position: lsp.Position) -> int:
    """The offset of a position; of one behind its line or the text, of the end."""
    begins = 0
    for _ in range(position.line):
        found = text.find("\n", begins)
        if found < 0:
            return len(text)
        begins = found + 1
    ends = text.find("\n", begins)
    line = text[begins:len(text) if ends < 0 else ends]
    return begins + len(line.encode("utf-16-le")[:2 * position.character].decode("utf-16-le", "ignore"))


def units(text: str) -> int:
    return len(text.encode("utf-16-le")) // 2


def range_of(span: Span) -> lsp.Range:
    return lsp.Range(position(span.source.text, span.start), position(span.source.text, span.end))


def whole(source: Source) -> lsp.Range:
    return range_of(Span(source, 0, len(source.text)))
