"""What the interactive loop shows of long results: as much as the terminal holds; `:more` shows how they go on."""
from __future__ import annotations

import sys
from dataclasses import dataclass

from nessie.streams import say, say_aside

KEPT = 3                        # rows for what is typed, what tells that there is more, and the next prompt
LEAST = 5                       # rows that are shown, however small the terminal says it is


@dataclass
class Screen:
    """`rest` is what of the last long text has not been shown."""
    rest: str = ""

    def show(self, text: str) -> None:
        """The text, cut where the terminal ends. A file or a pipe takes all of it."""
        if not sys.stdout.isatty():
            say(text)
            return
        import shutil  # only where there is a terminal
        size = shutil.get_terminal_size()
        shown, rest = divided(text, size.columns, max(LEAST, size.lines - KEPT))
        say(shown)
        if rest:
            if not shown.endswith("\n"):
                say("\n")
            self.rest = rest
            lines = len(rest.splitlines())
            say_aside(f"... {lines:,} more line{'s' * (lines > 1)}: :more shows how it goes on\n")

    def more(self) -> bool:
        """Show how the last long text goes on; whether there is something left to show."""
        rest, self.rest = self.rest, ""
        if rest:
            self.show(rest)
        return bool(rest)


def divided(text: str, columns: int, rows: int) -> tuple[str, str]:
    """The text that fills so many rows of a terminal, and what is left. Nothing is left for a single row's sake."""
    at = 0
    for _ in range(rows):
        if at >= len(text):
            break
        end = text.find("\n", at, at + columns + 1)
        at = end + 1 if end >= 0 else at + columns
    return (text, "") if len(text) - at <= columns and "\n" not in text[at:-1] else (text[:at], text[at:])
