"""Lays out text: on one line where it fits, else broken at its marked places.

A document is a string, a tuple of documents one after another, or
    LINE, SOFT     a line break; where its group fits on the line: a blank, nothing
    HARD           a line break in any case
    Nest(doc)      its line breaks indent by `by` more
    Group(doc)     on one line if it fits
    Mark(doc, of)  the document itself; its text shows `of`, for example a part of a program
After Wadler's "prettier printer"; render takes time linear in the text, at any depth of nesting.
"""
from __future__ import annotations

from collections.abc import Iterable

from nessie.base.records import dataclass

WIDTH = 100
DEEPEST_INDENT = 60             # deeper text stays at this indentation, so that deep programs have short lines


@dataclass(frozen=True)
class Break:
    flat: str | None            # its text on one line; None: a line break even there


@dataclass(frozen=True)
class Nest:
    doc: Doc
    by: int = 2


@dataclass(frozen=True)
class Group:
    doc: Doc


@dataclass(frozen=True)
class Mark:
    doc: Doc
    of: object


@dataclass(frozen=True)
class Shown:
    """The mark that text[start:end] shows `of`."""
    start: int
    end: int
    of: object


Doc = str | tuple["Doc", ...] | Break | Nest | Group | Mark

LINE, SOFT, HARD = Break(" "), Break(""), Break(None)


def join(separator: Doc, docs: Iterable[Doc]) -> Doc:
    """The documents with the separator between them."""
    parts: list[Doc] = []
    for doc in docs:
        parts += [separator, doc] if parts else [doc]
    return tuple(parts)


def render(doc: Doc, width: int = WIDTH) -> str:
    """The document as text."""
    return render_marked(doc, width)[0]


def render_marked(doc: Doc, width: int = WIDTH) -> tuple[str, list[Shown]]:
    """Return the document as text, and its marks, outer ones before those inside them."""
    out: list[str] = []
    marks: list[Shown] = []
    column = length = 0
    work: list[tuple[int, bool, Doc | int]] = [(0, False, doc)]   # indentation, on one line?, document or mark to end
    while work:
        indent, flat, part = work.pop()
        match part:
            case str():
                out.append(part)
                length += len(part)
                newline = part.rfind("\n")
                column = column + len(part) if newline < 0 else len(part) - newline - 1
            case tuple():
                work += [(indent, flat, inner) for inner in reversed(part)]
            case Nest(inner, by):
                work.append((min(indent + by, DEEPEST_INDENT), flat, inner))
            case Group(inner):
                work.append((indent, flat or fits(inner, width - column), inner))
            case Break(text) if flat and text is not None:
                out.append(text)
                column, length = column + len(text), length + len(text)
            case Break():
                out.append("\n" + " " * indent)
                column, length = indent, length + 1 + indent
            case Mark(inner, of):
                work += [(0, False, len(marks)), (indent, flat, inner)]
                marks.append(Shown(length, length, of))
            case int():
                marks[part] = Shown(marks[part].start, length, marks[part].of)
    return "".join(out), marks


def fits(doc: Doc, room: int) -> bool:
    """Does the document, on one line, take at most `room` columns? The test looks at no more than that much of it."""
    work: list[Doc] = [doc]
    looks = 8 * max(room, 0)
    while work:
        looks -= 1
        match work.pop():
            case str() as text:
                room -= len(text)
            case tuple() as parts:
                work += reversed(parts)
            case Nest(inner) | Group(inner) | Mark(inner):
                work.append(inner)
            case Break(None):
                return False
            case Break(text):
                room -= len(text or "")
        if room < 0 or looks < 0:
            return False
    return True
