"""What evaluating a top-level form gives, as NESL prints it."""
from __future__ import annotations

from dataclasses import dataclass

LINE = 120                      # a result whose text is longer is printed on three lines


@dataclass(frozen=True)
class Outcome:
    """What a form did: the names that it bound, their value and type as NESL prints them. All empty for a command."""
    bound: str = ""
    value: str = ""
    type: str = ""

    def __str__(self) -> str:
        if not self.bound:
            return ""
        line = f"{self.bound} = {self.value} : {self.type}"
        return line if len(line) <= LINE else f"{self.bound} = \n  {self.value}\n  : {self.type}"
