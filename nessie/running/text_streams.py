"""The streams of running programs: numbers that denote the standard input, the printed output, files and pipes.

Text is UTF-8; invalid bytes in files come back as they went in. A failure of the system is not an error of the program:
the program gets the reason as a message. Taking too long, or too much memory, is an error. For this, `poll` is called
during every wait for another program (to open a pipe, to read or to write), and after each piece read, with the bytes
held.
"""
from __future__ import annotations

import codecs
import errno
import io
import os
import re
import select
import stat
import time
from collections.abc import Callable
from dataclasses import field
from typing import IO, Any

from nessie.base.records import dataclass
from nessie.base.values import Flat, text_value

STANDARD_INPUT, NONE = 0, -1
MODES = {1: os.O_RDONLY, 2: os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 3: os.O_WRONLY | os.O_CREAT | os.O_APPEND}
PIECE = 1 << 16                 # bytes or characters read at a time
PATIENCE = 0.1                  # seconds between two polls while nothing arrives
PIPE_TAKES = getattr(select, "PIPE_BUF", 512)       # bytes that a writable pipe takes at once
CHARACTER = 4                   # bytes of a character in memory
AT_END, AT_MOST = -1, -2        # the reasons why a read ended without a delimiter

Status = tuple[bool, Flat]
Poll = Callable[[int], None]

DONE: Status = (True, text_value(""))


class Source:
    """The source of a stream: the pieces of a file or pipe, as text."""

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor
        self.decoder = codecs.getincrementaldecoder("utf-8")("surrogateescape")

    def piece(self, poll: Poll) -> str:
        """The next characters, or an empty text at the end."""
        while True:
            while not ready(self.descriptor, "r"):
                poll(0)
            found = os.read(self.descriptor, PIECE)
            text = self.decoder.decode(found, final=not found)
            if text or not found:
                return text


class StandardInput:
    """The standard input. It is read by lines, as the reader of the program's forms shares it. A missing one is at its
    end."""

    def __init__(self, file: IO[str] | None) -> None:
        self.file = file or io.StringIO("")

    def piece(self, poll: Poll) -> str:
        if self.file.isatty():
            while not ready(self.file.fileno(), "r"):
                poll(0)
        return self.file.readline(PIECE)


@dataclass
class Stream:
    """A stream. `ahead[at:]`: text read from the source that the program has not read yet. `descriptor`: None for the
    standard input."""
    source: Source | StandardInput
    descriptor: int | None = None
    ahead: str = ""
    at: int = 0

    def read_to(self, delimiters: str, most: int, poll: Poll = lambda size: None) -> tuple[str, int]:
        """The characters up to the next delimiter, which is skipped, and its code; or AT_END at the end, or AT_MOST
        after `most` characters, if `most` is not negative."""
        wanted = re.compile(f"[{re.escape(delimiters)}]") if delimiters else None
        found: list[str] = []
        held = 0
        while held != most:
            if self.at == len(self.ahead):
                self.ahead, self.at = self.source.piece(poll), 0
                if not self.ahead:
                    return "".join(found), AT_END
            end = len(self.ahead) if most < 0 else min(len(self.ahead), self.at + most - held)
            hit = wanted.search(self.ahead, self.at, end) if wanted else None
            stop = hit.start() if hit else end
            found.append(self.ahead[self.at:stop])
            held += stop - self.at
            self.at = hit.end() if hit else stop
            if hit:
                return "".join(found), ord(hit[0])
            poll(CHARACTER * held)
        return "".join(found), AT_MOST


@dataclass
class Streams:
    """The open streams by number. `input`: the standard input, if there is one."""
    input: IO[str] | None = None
    open: dict[int, Stream] = field(default_factory=dict)
    last: int = 2               # the last number in use

    def find(self, number: int) -> Stream | None:
        if number == STANDARD_INPUT and number not in self.open:
            self.open[number] = Stream(StandardInput(self.input))
        return self.open.get(number)

    def open_file(self, path: str, mode: int, poll: Poll = lambda size: None) -> tuple[int, Status]:
        try:
            return self.add(opened(path, MODES[mode], poll)), DONE
        except (OSError, ValueError) as error:
            return NONE, failed(error)

    def add(self, descriptor: int) -> int:
        """The number of a new stream, which owns the descriptor from now on."""
        self.last += 1
        self.open[self.last] = Stream(Source(descriptor), descriptor)
        return self.last

    def close(self, number: int) -> Status:
        """Close a stream. The standard input stays open: it may be read again."""
        stream = self.open.pop(number, None)
        if stream is None:
            return no_stream(number)
        if stream.descriptor is None:
            return DONE
        try:
            os.close(stream.descriptor)
        except OSError as error:
            return failed(error)
        return DONE

    def close_all(self) -> None:
        for number in list(self.open):
            self.close(number)

    def write(self, text: str, number: int, poll: Poll = lambda size: None) -> Status:
        stream = self.open.get(number)
        if stream is None or stream.descriptor is None:
            return no_stream(number)
        try:
            left = memoryview(text.encode("utf-8", "surrogateescape"))
            while left:
                wait_for_reader(stream.descriptor, poll)
                left = left[os.write(stream.descriptor, left[:PIPE_TAKES]):]
        except (OSError, ValueError) as error:
            return failed(error)
        return DONE

    def reading(self, number: int, read: Callable[[Stream], Any], otherwise: Any) -> tuple[Any, Status]:
        """The result of `read` on the stream, or `otherwise` on a failure; and the status."""
        stream = self.find(number)
        if stream is None:
            return otherwise, no_stream(number)
        try:
            return read(stream), DONE
        except (OSError, ValueError) as error:
            return otherwise, failed(error)


def opened(path: str, flags: int, poll: Poll) -> int:
    """The descriptor of the file. Opening a pipe waits until its other end is open."""
    while True:
        try:
            descriptor = os.open(path, flags | os.O_NONBLOCK, 0o666)
        except OSError as error:
            if error.errno != errno.ENXIO or not stat.S_ISFIFO(os.stat(path).st_mode):
                raise
        else:
            break
        poll(0)
        time.sleep(PATIENCE / 10)
    os.set_blocking(descriptor, True)       # programs that inherit it expect that
    return descriptor


def wait_for_reader(descriptor: int, poll: Poll) -> None:
    """Wait until the descriptor takes PIPE_TAKES bytes at once."""
    while not ready(descriptor, "w"):
        poll(0)


def ready(descriptor: int, to: str) -> bool:
    """Whether the descriptor can be read ("r") or written to ("w") within PATIENCE. `poll` takes any descriptor,
    `select` only those below 1024."""
    if hasattr(select, "poll"):
        poller = select.poll()
        poller.register(descriptor, select.POLLIN if to == "r" else select.POLLOUT)
        return bool(poller.poll(PATIENCE * 1000))
    return any(select.select([descriptor] if to == "r" else [], [descriptor] if to == "w" else [], [], PATIENCE))


def failed(error: Exception) -> Status:
    return False, text_value(reason(error))


def reason(error: Exception) -> str:
    return error.strerror if isinstance(error, OSError) and error.strerror else str(error)


def no_stream(number: int) -> Status:
    return False, text_value(f"there is no open stream {number}")
