"""Lays out text: on one line where it fits, else broken at its marked places.

A document is a string, a tuple of documents one after another, or
    LINE, SOFT     a line break; where its group fits on the line: a blank, nothing
    HARD           a line break in any case
    Nest(doc)      its line breaks indent by `by` more
    Align(doc)     its line breaks indent to where it begins
    Group(doc)     on one line if it fits
    Mark(doc, of)  the document itself; its text shows `of`, for example a part of a program
    Aside          a comment: whether a group fits does not depend on it, except that text must not follow its line
    GAP            an empty line, if a line begins here
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
class Align:
    doc: Doc


@dataclass(frozen=True)
class Group:
    doc: Doc


@dataclass(frozen=True)
class Mark:
    doc: Doc
    of: object


@dataclass(frozen=True)
class Aside:
    """A comment. It begins a line (`fresh`) or stands behind a blank; what follows begins a line (`ends`), or stands
    behind a blank. Its further lines move with its first one, which stood in this column; None: they stay."""
    text: str
    fresh: bool
    ends: bool
    column: int | None = None


@dataclass(frozen=True)
class Gap:
    pass


@dataclass(frozen=True)
class Shown:
    """The mark that text[start:end] shows `of`."""
    start: int
    end: int
    of: object


Doc = str | tuple["Doc", ...] | Break | Nest | Align | Group | Mark | Aside | Gap
Work = tuple[int, bool, "Doc | int"]            # indentation, on one line?, document or mark to end

LINE, SOFT, HARD, GAP = Break(" "), Break(""), Break(None), Gap()
HUGGED_LEFT, HUGGED_RIGHT = "([{ \n", ",;)]}"      # beside these a comment needs no blank


def join(separator: Doc, docs: Iterable[Doc]) -> Doc:
    """The documents with the separator between them."""
    parts: list[Doc] = []
    for doc in docs:
        parts += [separator, doc] if parts else [doc]
    return tuple(parts)


def render(doc: Doc) -> str:
    """The document as text."""
    return render_marked(doc)[0]


class Page:
    """The text so far. `owed`: what must come before more text, behind a comment: nothing, a blank, or new lines."""

    def __init__(self) -> None:
        self.out: list[str] = []
        self.column = self.length = 0
        self.owed = ""

    def add(self, text: str) -> None:
        self.out.append(text)
        self.length += len(text)
        newline = text.rfind("\n")
        self.column = self.column + len(text) if newline < 0 else len(text) - newline - 1

    def text(self, text: str, indent: int) -> None:
        if text and self.owed:
            self.settle("" if self.owed == " " and text[0] in HUGGED_RIGHT else self.owed, indent)
        self.add(text)

    def settle(self, owed: str, indent: int) -> None:
        self.owed = ""
        if "\n" in owed and self.out[-1:] == [" "]:
            self.out.pop()
            self.length -= 1
        self.add(owed + " " * indent if "\n" in owed else owed)

    def line(self, indent: int) -> None:
        self.settle(self.owed if "\n" in self.owed else "\n", indent)

    def blank(self, text: str, indent: int) -> None:
        """A break that is none."""
        if not self.owed or text:
            self.settle(self.owed or text, indent)

    def next_column(self, indent: int) -> int:
        """Where more text would begin."""
        return indent if "\n" in self.owed else self.column + len(self.owed)

    def begins_line(self) -> bool:
        return not self.out or (self.out[-1].startswith("\n") and not self.out[-1].strip())

    def gap(self) -> None:
        if "\n" in self.owed:
            self.owed = "\n\n"
        elif self.out and self.begins_line() and not self.out[-1].startswith("\n\n"):
            self.out[-1] = "\n" + self.out[-1]
            self.length += 1

    def aside(self, aside: Aside, indent: int) -> None:
        if aside.fresh and not self.begins_line() and "\n" not in self.owed:
            self.owed = "\n"
        elif not aside.fresh and not self.owed and self.out and self.out[-1][-1:] not in HUGGED_LEFT:
            self.owed = " "
        if self.owed:
            self.settle(self.owed, indent)
        self.add(aside.text if aside.column is None else moved(aside.text, self.column - aside.column))
        self.owed = "\n" if aside.ends else " "


def moved(text: str, by: int) -> str:
    """The text, its further lines moved to the right, or to the left, as far as blanks begin them."""
    first, *others = [line.rstrip() for line in text.split("\n")]
    if by >= 0:
        return "\n".join([first, *(" " * by + line if line else "" for line in others)])
    blanks = min([len(line) - len(line.lstrip(" ")) for line in others if line], default=0)
    return "\n".join([first, *(line[min(-by, blanks):] for line in others)])


def render_marked(doc: Doc, width: int = WIDTH) -> tuple[str, list[Shown]]:
    """Return the document as text, and its marks, outer ones before those inside them."""
    page = Page()
    marks: list[Shown] = []
    work: list[Work] = [(0, False, doc)]
    while work:
        indent, flat, part = work.pop()
        match part:
            case str():
                page.text(part, indent)
            case tuple():
                work += [(indent, flat, inner) for inner in reversed(part)]
            case Nest(inner, by):
                work.append((min(indent + by, DEEPEST_INDENT), flat, inner))
            case Align(inner):
                work.append((min(page.next_column(indent), DEEPEST_INDENT), flat, inner))
            case Group(inner):
                room = width - page.next_column(indent)
                work.append((indent, flat or fits(inner, room, width - indent, work), inner))
            case Break(text) if flat and text is not None:
                page.blank(text, indent)
            case Break():
                page.line(indent)
            case Aside():
                page.aside(part, indent)
            case Gap():
                page.gap()
            case Mark(inner, of):
                work += [(0, False, len(marks)), (indent, flat, inner)]
                marks.append(Shown(page.length, page.length, of))
            case int():
                marks[part] = Shown(marks[part].start, page.length, marks[part].of)
    return "".join(page.out), marks


def fits(doc: Doc, room: int, fresh_room: int, after: list[Work]) -> bool:
    """Does the document, on one line, take at most `room` columns, with what comes after it up to the first possible
    line break? Behind a comment that ends its line there are `fresh_room`. The test looks at no more than that much."""
    work: list[Doc] = [doc]
    outside = len(after)            # of the work that comes after the document, so much has not been looked at
    flat, begun, ended = True, False, False
    looks = 8 * max(room, fresh_room, 0)
    while work or outside:
        looks -= 1
        if not work:
            outside -= 1
            _, flat, part = after[outside]
            if isinstance(part, int):
                continue
            work.append(part)
        match work.pop():
            case str() as text:
                if ended and text:
                    return outside < len(after)
                if outside < len(after) and "\n" in text:
                    return text.index("\n") <= room
                room, begun = room - len(text), begun or bool(text)
            case tuple() as parts:
                work += reversed(parts)
            case Nest(inner) | Align(inner) | Group(inner) | Mark(inner):
                work.append(inner)
            case Aside(_, fresh, ends):
                if not begun:
                    room = fresh_room if fresh or ends else room
                elif outside < len(after):
                    return True
                else:
                    ended = ended or ends
                    if fresh:
                        return False
            case Break(text):
                if outside < len(after) and (not flat or text is None):
                    return True
                if text is None or ended:
                    return False
                room -= len(text)
        if room < 0 or looks < 0:
            return False
    return True
