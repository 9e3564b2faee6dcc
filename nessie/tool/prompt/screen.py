"""Shows long results in the interactive loop: as much as fits on the terminal; `:more` shows the rest."""
from __future__ import annotations

import unicodedata

from nessie.base.records import dataclass
from nessie.session.streams import say, say_aside

KEPT = 3                        # rows for the typed line, the line that says that there is more, and the next prompt
TAB = 8
LEAST = 5                       # rows that are shown even on a smaller terminal


@dataclass
class Screen:
    """The screen. `cuts`: texts are cut, as the output is a terminal; a file or a pipe gets all. `rest`: the part of
    the last long text that has not been shown."""
    cuts: bool
    rest: str = ""

    def show(self, text: str) -> None:
        """Show the text, cut to fit on the terminal."""
        if not self.cuts:
            say(text)
            return
        import shutil  # only where there is a terminal
        size = shutil.get_terminal_size()
        shown, rest = cut(text, size.columns, max(LEAST, size.lines - KEPT))
        say(shown)
        if rest:
            if not shown.endswith("\n"):
                say("\n")
            self.rest = rest
            left = rows(rest, size.columns)
            say_aside(f"... {left:,} more line{'s' * (left > 1)}: :more shows how it goes on\n")

    def more(self) -> bool:
        """Show more of the last long text. Returns whether there was anything left."""
        rest, self.rest = self.rest, ""
        if rest:
            self.show(rest)
        return bool(rest)


def cut(text: str, columns: int, most: int) -> tuple[str, str]:
    """The part of the text that fills `most` rows of a terminal, and the rest. A rest of one row is not cut off."""
    at = 0
    for _ in range(most):
        at = end_of_row(text, at, columns)
    return (text, "") if end_of_row(text, at, columns) == len(text) else (text[:at], text[at:])


def rows(text: str, columns: int) -> int:
    """The rows of a terminal that the text takes."""
    lines = text.removesuffix("\n").split("\n") if text else []
    return sum(rows_of_line(line, columns) for line in lines)


def rows_of_line(line: str, columns: int) -> int:
    if line.isascii() and "\t" not in line:         # each character takes one column
        return max(1, -(-len(line) // columns))
    at = count = 0
    while at < len(line):
        at, count = end_of_row(line, at, columns), count + 1
    return count


def end_of_row(text: str, begins: int, columns: int) -> int:
    """The end of the row that starts at `begins`: after a newline, or where the columns are full."""
    column = 0
    for at in range(begins, len(text)):
        if text[at] == "\n":
            return at + 1
        column += width(text[at], column, columns)
        if column > columns and at > begins:
            return at
    return len(text)


def width(character: str, column: int, columns: int) -> int:
    """The number of columns that the character takes in this column. A tab ends with the row at the latest."""
    if character == "\t":
        return min(TAB - column % TAB, max(0, columns - 1 - column))
    if unicodedata.combining(character) or unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1
