"""Laying out text: on one line where it fits, else broken at its marked places.

A document is a string, a tuple of documents one after another, or
    LINE, SOFT     a line break; where its group fits on the line: a blank, nothing
    HARD           a line break in any case
    Nest(doc)      its line breaks indent by `by` more
    Group(doc)     on one line if it fits
After Wadler's "prettier printer"; render takes time linear in the text, at any depth of nesting.
"""
from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

WIDTH = 100
DEEPEST_INDENT = 60             # deeper text stays here, so that deep programs have short lines


@dataclass(frozen=True)
class Break:
    flat: str | None            # what it is on one line; None: a line break even there


@dataclass(frozen=True)
class Nest:
    doc: Doc
    by: int = 2


@dataclass(frozen=True)
class Group:
    doc: Doc


Doc = str | tuple["Doc", ...] | Break | Nest | Group

LINE, SOFT, HARD = Break(" "), Break(""), Break(None)


def join(separator: Doc, docs: Iterable[Doc]) -> Doc:
    """The documents with the separator between them."""
    parts: list[Doc] = []
    for doc in docs:
        parts += [separator, doc] if parts else [doc]
    return tuple(parts)


def render(doc: Doc, width: int = WIDTH) -> str:
    """The document as text."""
    out: list[str] = []
    column = 0
    work: list[tuple[int, bool, Doc]] = [(0, False, doc)]          # indentation, on one line?, document
    while work:
        indent, flat, doc = work.pop()
        match doc:
            case str():
                out.append(doc)
                newline = doc.rfind("\n")
                column = column + len(doc) if newline < 0 else len(doc) - newline - 1
            case tuple():
                work += [(indent, flat, part) for part in reversed(doc)]
            case Nest(inner, by):
                work.append((min(indent + by, DEEPEST_INDENT), flat, inner))
            case Group(inner):
                work.append((indent, flat or fits(inner, width - column), inner))
            case Break(text) if flat and text is not None:
                out.append(text)
                column += len(text)
            case Break():
                out.append("\n" + " " * indent)
                column = indent
    return "".join(out)


def fits(doc: Doc, room: int) -> bool:
    """Does the document, on one line, take at most `room` columns? Looks at no more than that much of it."""
    work: list[Doc] = [doc]
    looks = 8 * max(room, 0)
    while work:
        looks -= 1
        match work.pop():
            case str() as text:
                room -= len(text)
            case tuple() as parts:
                work += reversed(parts)
            case Nest(inner) | Group(inner):
                work.append(inner)
            case Break(None):
                return False
            case Break(text):
                room -= len(text or "")
        if room < 0 or looks < 0:
            return False
    return True
