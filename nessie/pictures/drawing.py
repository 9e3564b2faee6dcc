"""Records what programs draw into windows (nessie/library/drawing.nesl). Nothing is shown: pictures are made of it.

A program draws shapes by their numbers: how many follow, the window, the kind of the shape, how to draw it, the width
of lines, and what the kind says. Points are x and y in pixels from the upper left corner.

    0 point x y         3 arc x y radius from angle     6 clear                 15 image x y w h values
    1 lines x y ..      4 close                         7 disc x y radius       23 resize w h
    2 segments x y ..   5 text x y codes                8 polygon x y ..        24 place kind x y w h codes

A place is what events name: a box (0) or a button (1).
"""
from __future__ import annotations

from dataclasses import field

import numpy as np

from nessie.base.records import dataclass
from nessie.base.source import NessieError
from nessie.pictures.events import Event, of_text

CLOSE, CLEAR, RESIZE, PLACE = 4, 6, 23, 24
INVERT = (6, 10)                # X's functions that turn pixels: xor, invert
LARGEST = 32767                 # pixels of a window: X has no larger ones
WORD_BYTES = 8


@dataclass(frozen=True)
class Shape:
    """A shape. `drawn` says how: the lower 24 bits are a colour, red first, those above a function of pixels."""
    kind: int
    drawn: int
    width: int
    numbers: np.ndarray

    @property
    def turns(self) -> bool:
        """Does it turn the pixels below it?"""
        return self.drawn >> 24 in INVERT


@dataclass
class Window:
    """A window. `size` is in pixels; `file`: the picture's name, if the program gives one; `bright`: is it white at
    first, not black? `places` are those that events may name, each with its upper left corner and its size."""
    title: str
    size: tuple[int, int]
    file: str = ""
    bright: bool = False
    closed: bool = False
    shapes: list[Shape] = field(default_factory=list)
    places: dict[str, tuple[int, int, int, int]] = field(default_factory=dict)


class Drawing:
    """The windows of a session, and the events that are to come. `taken`: bytes of the recorded shapes."""

    def __init__(self, events: str = "") -> None:
        self.windows: list[Window] = []
        self.events = of_text(events)
        self.pending: list[Event] = []
        self.taken = 0

    def open(self, title: str, size: tuple[int, int], kind: int) -> int:
        """Open a window, and return its number. Of kind 1 the title is the name of its picture's file."""
        if not all(1 <= n <= LARGEST for n in size):
            raise NessieError(f"a window of {size[0]} by {size[1]} pixels: there are only those of 1 to {LARGEST}")
        of_file = kind == 1
        self.windows.append(Window(title, size, title if of_file else "", of_file))
        return len(self.windows) - 1

    def paint(self, numbers: np.ndarray) -> None:
        """Record the shapes that these numbers tell."""
        at = 0
        while at < len(numbers):
            count = int(numbers[at])
            number, kind, drawn, width = map(int, numbers[at + 1:at + 5])
            self.add(self.window(number), Shape(kind, drawn, width, np.array(numbers[at + 5:at + 1 + count])))
            at += 1 + count

    def window(self, number: int) -> Window:
        found = self.windows[number] if 0 <= number < len(self.windows) else None
        if found is None or found.closed:
            raise NessieError("the window is closed: nothing can be drawn there, and no event comes from it")
        return found

    def add(self, window: Window, shape: Shape) -> None:
        if shape.kind == CLOSE:
            window.closed = True
        elif shape.kind == RESIZE:
            width, height = map(int, shape.numbers)
            window.size = width, height
        elif shape.kind == PLACE:
            _, x, y, width, height = map(int, shape.numbers[:5])
            window.places["".join(map(chr, shape.numbers[5:]))] = x, y, width, height
        elif shape.kind == CLEAR:
            self.taken -= sum(map(size_of, window.shapes))
            window.shapes = []
        elif shape.turns and (again := last_like(shape, window.shapes)) is not None:  # undoes it
            self.taken -= size_of(window.shapes.pop(again))
        else:
            window.shapes.append(shape)
            self.taken += size_of(shape)

    def next_event(self, number: int, wait: bool) -> Event | None:
        """Return the window's next event, if there is one; NessieError, if the program would wait for it forever."""
        window = self.window(number)
        if not self.pending and self.events:
            self.pending = self.events.pop(0).at(window.size, window.places)
        if self.pending:
            return self.pending.pop(0)
        if wait:
            raise NessieError("the program waits for a click or a key, and none is left",
                              hint="--events tells them: 'click; NAME OF A BUTTON; 200,100; key q'")
        return None

    def close_all(self) -> list[Window]:
        """Close all windows and forget them. Returns those with something in them."""
        windows, self.windows, self.taken = self.windows, [], 0
        return [window for window in windows if window.shapes]


def last_like(shape: Shape, shapes: list[Shape]) -> int | None:
    """Return the position of the last shape that is drawn as this one is."""
    same = (k for k in reversed(range(len(shapes))) if shapes[k].turns and (shapes[k].kind, shapes[k].width) ==
            (shape.kind, shape.width) and np.array_equal(shapes[k].numbers, shape.numbers))
    return next(same, None)


def size_of(shape: Shape) -> int:
    return WORD_BYTES * (len(shape.numbers) + 4)
