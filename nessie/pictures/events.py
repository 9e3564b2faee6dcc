"""Clicks and keys for programs that wait for them, as users write them: parts of a text, with semicolons between.

    click               a click in the middle of the window
    200,100             a click there: pixels from the lower left corner
    200,100,2           a click with the second button of the mouse
    200,100-300,150,2   the mouse's button is pressed at one place and released at the other
    key q               a key; key space, key return
    quit                a click in the middle of the button, or the box, of that name
"""
from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from nessie.base.records import dataclass
from nessie.base.source import NessieError

PRESSED_KEY, PRESSED, RELEASED = 2, 4, 5        # X's numbers
KEYS = {"space": " ", "return": "\n", "enter": "\n", "tab": "\t"}
POINT = re.compile(r"(\d+)\s*,\s*(\d+)(?:\s*-\s*(\d+)\s*,\s*(\d+))?(?:\s*,\s*(\d))?")


class Event(NamedTuple):
    """An event at a pixel, counted from the upper left corner. `key`: the code of a key, or the mouse's button."""
    type: int
    x: int
    y: int
    held: int
    key: int


@dataclass(frozen=True)
class Wanted:
    """An event as it is written."""
    text: str

    def at(self, size: tuple[int, int], places: Mapping[str, tuple[int, int, int, int]]) -> list[Event]:
        """Return the events in a window of this size with these places."""
        width, height = size
        word, _, key = self.text.partition(" ")
        if self.text in places:
            x, y, w, h = places[self.text]
            return clicked(x + w // 2, y + h // 2)
        if self.text == "click":
            return clicked(width // 2, height // 2)
        if found := POINT.fullmatch(self.text):
            x, y = int(found[1]), int(found[2])
            x1, y1 = (int(found[3]), int(found[4])) if found[3] else (x, y)
            return [Event(PRESSED, x, height - y, 0, int(found[5] or 1)),
                    Event(RELEASED, x1, height - y1, 0, int(found[5] or 1))]
        if word == "key" and len(KEYS.get(key.strip(), key)) == 1:
            return [Event(PRESSED_KEY, width // 2, height // 2, 0, ord(KEYS.get(key.strip(), key)))]
        raise NessieError(f"{self.text} is no event of this window",
                          hint=f"there are {', '.join([*places, 'click', '200,100', 'key q'])}")


def clicked(x: int, y: int) -> list[Event]:
    """Return the events of the mouse's first button, pressed and released."""
    return [Event(PRESSED, x, y, 0, 1), Event(RELEASED, x, y, 0, 1)]


def of_text(text: str) -> list[Wanted]:
    """Return the events that the text tells."""
    return [Wanted(" ".join(part.split())) for part in text.split(";") if part.strip()]
