"""The outcome of a top-level form, as NESL prints it."""
from __future__ import annotations

from nessie.base.records import dataclass

LINE = 120                      # an outcome that is wider is printed on several lines


@dataclass(frozen=True)
class Outcome:
    """The outcome of a form: the names that it bound, their value and type, as NESL prints them. All are empty for a
    command."""
    bound: str = ""
    value: str = ""
    type: str = ""

    def __str__(self) -> str:
        if not self.bound:
            return ""
        lines = [f" : {self.type}"]
        for text in (self.value, " = ", self.bound):
            lines = beside(text, lines)
        return "\n".join(lines)


def beside(text: str, lines: list[str]) -> list[str]:
    """The lines to the right of the text, or below it if that would be too wide."""
    if len(text) + len(lines[0]) > LINE:
        return [text, *lines]
    return [text + lines[0], *(" " * len(text) + line for line in lines[1:])]
