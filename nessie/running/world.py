"""The world outside running programs. It performs their effects (nessie.base.effects).

A run's limits hold here, too. Waiting for input and long reads end at an `interrupt` and at the deadline, and `limit`
sets how much memory they may take. Streams stay open until the program closes them or the session ends.
"""
from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from dataclasses import field
from functools import partial
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from nessie.base.records import dataclass
from nessie.base.source import InternalError, Interrupted, NessieError
from nessie.base.system.deadline import deadline
from nessie.base.system.deep import interruptible
from nessie.base.system.limits import COMMAND_LINE, LimitHints
from nessie.base.types import Pair, Type
from nessie.base.values import text_of, text_value
from nessie.files.formats import object_text
from nessie.running.processes import Processes
from nessie.running.text_streams import AT_END, Status, Stream, Streams

if TYPE_CHECKING:
    from nessie.pictures.drawing import Drawing, Window

PRINTED = (1, 2)                # the streams that print


@dataclass
class World:
    """The world of running programs. `write` gets their output; `input` is their standard input, if they have one;
    `allow_shell`: whether they may run other programs; `seed`: the seed of random numbers; `events`: the clicks
    and keys for windows (nessie.pictures.events)."""
    write: Callable[[str], object] = lambda text: sys.stdout.write(text)
    allow_shell: bool = False
    seed: int = 0
    input: IO[str] | None = field(default_factory=lambda: sys.stdin)
    mid_line: bool = False      # whether the last line of output is unfinished
    memory: int | None = None   # bytes that reading may take
    hints: LimitHints = COMMAND_LINE
    interrupted: bool = False
    asked: bool = False         # whether a program has asked for the seed since this was set to False
    events: str = ""

    def __post_init__(self) -> None:
        self.streams = Streams(self.input)
        self.processes = Processes(self.streams)
        self.windows: Drawing | None = None         # made for programs that draw

    def perform(self, name: str, argument: Any, takes: Type) -> Any:
        """The result of the effect; nessie.library.primitives has the effects' types."""
        if name not in EFFECTS:
            raise InternalError(f"the world has no effect {name}")
        self.interrupted = False
        with interruptible(self.interrupt):
            found = EFFECTS[name](self, argument, takes)
        if self.interrupted:            # during work that cannot be ended, such as printing
            raise Interrupted("interrupted")
        return found

    # Limits -------------------------------------------------------------------------------------

    def limit(self, memory: int | None, hints: LimitHints = COMMAND_LINE) -> None:
        """Begin a run, which may take `memory` bytes; `hints` say how to set that limit."""
        self.hints, self.memory = hints, memory

    def interrupt(self) -> None:
        self.interrupted = True

    def poll(self, size: int) -> None:
        """Raise the error if the deadline has passed, the run is interrupted, or the `size` bytes read are too many."""
        if deadline().passed():
            raise deadline().error()
        if self.interrupted:
            raise Interrupted("interrupted")
        if self.memory is not None and size > self.memory:
            raise NessieError(f"out of memory: what is read takes more than {self.memory:,} bytes",
                              hint=self.hints.memory)

    # Printing -----------------------------------------------------------------------------------

    def print(self, text: str) -> None:
        if text:
            self.write(text)
            self.mid_line = not text.endswith("\n")

    def end_line(self) -> None:
        """End an unfinished line of output."""
        if self.mid_line:
            self.print("\n")

    def print_string(self, text: Any, takes: Type) -> bool:
        self.print(text_of(text))
        return True

    # Streams ------------------------------------------------------------------------------------

    def put(self, text: str, number: int) -> Status:
        if number in PRINTED:
            self.print(text)
            return True, text_value("")
        return self.streams.write(text, number, self.poll)

    def write_string(self, argument: Any, takes: Type) -> Status:
        return self.put(text_of(argument[0]), argument[1])

    def write_object(self, argument: Any, takes: Type) -> Status:
        return self.put(object_text.show(argument[0], first_of(takes)), argument[1])

    def read_string(self, argument: Any, takes: Type) -> Any:
        delimiters, (most, number) = argument

        def read(stream: Stream) -> Any:
            text, ended = stream.read_to(text_of(delimiters), most, self.poll)
            return text_value(text), ended
        return self.streams.reading(number, read, (text_value(""), AT_END))

    def read_object(self, argument: Any, takes: Type) -> Any:
        example, number = argument
        return self.streams.reading(number, lambda stream: object_text.read(first_of(takes), self.reader(stream)),
                                    example)

    def read_numbers(self, argument: Any, takes: Type) -> Any:
        example, number = argument
        none = object_text.sequence(np.array([example])[:0])
        return self.streams.reading(
            number, lambda stream: object_text.read_numbers(first_of(takes), self.reader(stream)), none)

    def reader(self, stream: Stream) -> object_text.ReadTo:
        return partial(stream.read_to, poll=self.poll)

    # Drawing ------------------------------------------------------------------------------------

    @property
    def drawing(self) -> Drawing:
        if self.windows is None:
            from nessie.pictures.drawing import Drawing  # few programs draw
            self.windows = Drawing(self.events)
        return self.windows

    def drawn(self) -> list[Window]:
        """Close all windows. Returns those in which something has been drawn."""
        return self.windows.close_all() if self.windows is not None else []

    def open_window(self, argument: Any, takes: Type) -> int:
        title, (_, (_, (width, (height, kind)))) = argument
        return self.drawing.open(text_of(title), (int(width), int(height)), int(kind))

    def paint(self, numbers: Any, takes: Type) -> bool:
        self.drawing.paint(numbers.column[:numbers.length])
        self.poll(self.drawing.taken)
        return True

    def next_event(self, argument: Any, takes: Type) -> Any:
        number, wait = argument
        event = self.drawing.next_event(int(number), bool(wait))
        type_, x, y, held, key = event or (0, 0, 0, 0, 0)
        return event is not None, (type_, (x, (y, (held, key))))

    # The rest -----------------------------------------------------------------------------------

    def error(self, message: Any, takes: Type) -> Any:
        raise NessieError(text_of(message))

    def seed_given(self, argument: Any, takes: Type) -> int:
        self.asked = True
        return self.seed

    def set_seed(self, seed: Any, takes: Type) -> bool:
        self.seed, self.asked = seed, False
        return True

    def variable(self, name: Any, takes: Type) -> Any:
        try:
            return text_value(os.environ.get(text_of(name), ""))
        except ValueError:              # no variable has such a name
            return text_value("")

    def need_permission(self) -> None:
        if not self.allow_shell:
            raise NessieError("running other programs has not been allowed", hint="nessie --allow-shell allows it")

    def shell(self, argument: Any, takes: Type) -> Any:
        self.need_permission()
        command, text = map(text_of, argument)
        printed, why = self.processes.shell(command, text, deadline().left())
        self.poll(0)
        return text_value(printed), (not why, text_value(why))

    def spawn(self, argument: Any, takes: Type) -> Any:
        self.need_permission()
        command, (first, (second, third)) = argument
        return self.processes.spawn(text_of(command), (first, second, third))


EFFECTS: dict[str, Callable[[World, Any, Type], Any]] = {
    "print_string": World.print_string, "error": World.error, "_seed": World.seed_given, "rand_seed": World.set_seed,
    "_open_window": World.open_window, "_paint": World.paint, "_next_event": World.next_event,
    "_now": lambda world, argument, takes: time.perf_counter(),
    "_open": lambda world, argument, takes: world.streams.open_file(text_of(argument[0]), argument[1], world.poll),
    "_close": lambda world, number, takes: world.streams.close(number),
    "_read_string": World.read_string, "_write_string": World.write_string, "_read_object": World.read_object,
    "_write_object": World.write_object, "_read_numbers": World.read_numbers, "_spawn": World.spawn,
    "_shell": World.shell, "get_environment_variable": World.variable,
}


def first_of(type_: Type) -> Type:
    assert isinstance(type_, Pair)
    return type_.first
