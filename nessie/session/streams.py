"""Standard output and error. Results go to standard output, everything else to standard error."""
from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from threading import Event, RLock

from nessie.base.source import Consequence, InternalError, Interrupted, LostOutput, NessieError
from nessie.base.system.forking import anew_in_children
from nessie.session.outcome import Outcome

PATIENCE = 0.03                 # the longest wait, in seconds, for another writer to a terminal or pipe
ERASED = "\r\x1b[K"             # moves to the line's beginning and clears it
STREAMS = (("stdin", "r", os.O_RDONLY), ("stdout", "w", os.O_RDONLY), ("stderr", "w", os.O_WRONLY))
REPORT = """\
This is a mistake in Nessie, not in your program. Please report it: this text, the forms that led to it, and what
nessie doctor prints."""


class LastLine:
    """The last line of the terminal, which may show the progress line (nessie.session.progress)."""

    def __init__(self) -> None:
        self.lock = RLock()         # taken by `held`, as its owner may wait for ever for a reader of the output
        self.drawn = self.mid_line = False      # the line is shown; a line of output is unfinished

    @contextmanager
    def held(self) -> Iterator[None]:
        """Keep other threads from writing during the body. Waits at most PATIENCE for a writer that does not end."""
        had = self.lock.acquire(timeout=PATIENCE)
        try:
            yield
        finally:
            if had:
                self.lock.release()

    def draw(self, text: str, ended: Event) -> None:
        """Show the text, unless the work that it describes has ended."""
        with self.held():
            if not self.mid_line and not ended.is_set():
                self.drawn = True
                show_on_terminal(ERASED + text)

    def erase(self) -> None:
        with self.held():
            if self.drawn:
                self.drawn = False
                show_on_terminal(ERASED)

    def write(self, text: str) -> None:
        """Write output of the program, which replaces the progress line."""
        with self.held():
            self.erase()
            sys.stdout.write(text)
            sys.stdout.flush()
            self.mid_line = not text.endswith("\n") if text else self.mid_line


LAST_LINE = LastLine()


@anew_in_children
def forked() -> None:
    LAST_LINE.lock = RLock()


def show_on_terminal(text: str) -> None:
    with suppress(OSError, ValueError):         # the terminal may be gone
        sys.stderr.write(text)
        sys.stderr.flush()


def open_streams() -> None:
    """Replace streams that the shell has closed: the input is at its end, writing output is an error, messages are
    lost. Their descriptors are taken first of all, so that no file gets them."""
    for number, (name, mode, access) in enumerate(STREAMS):
        if getattr(sys, name) is None:
            descriptor = os.open(os.devnull, access)
            if descriptor > number and not is_open(number):
                os.dup2(descriptor, number)
                os.close(descriptor)
                descriptor = number
            setattr(sys, name, os.fdopen(descriptor, mode, encoding="utf-8"))


def is_open(descriptor: int) -> bool:
    try:
        os.fstat(descriptor)
    except OSError:
        return False
    return True


def say(text: str) -> None:
    """Write to standard output and flush it."""
    try:
        LAST_LINE.write(text)
    except BrokenPipeError:
        raise
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise LostOutput(f"the output cannot be written: {error.strerror or error}") from None


def say_aside(text: str) -> None:
    """Write text that is not a result to standard error and flush it."""
    with LAST_LINE.held():
        LAST_LINE.erase()
        sys.stderr.write(text)
        sys.stderr.flush()


def complain(error: Exception) -> None:
    say_aside(f"internal error: {error}\n{REPORT}\n" if isinstance(error, InternalError) else f"{error}\n")


def warn(texts: Iterable[str]) -> None:
    for text in texts:
        say_aside(f"warning: {text}\n")


def print_outcomes(outcomes: Iterable[Outcome | NessieError | InternalError],
                   show: Callable[[str], object] = say) -> int:
    """Print the outcome of each form, by `show`. Returns the number of failed forms. An interrupt ends them. Errors
    that follow from others are only counted."""
    failed = followed = 0
    for outcome in outcomes:
        if isinstance(outcome, Interrupted):
            raise outcome
        if isinstance(outcome, Exception):
            failed += 1
            if isinstance(outcome, Consequence):
                followed += 1
            else:
                complain(outcome)
        elif text := str(outcome):
            show(text + "\n")
    say_followed(followed)
    return failed


def say_followed(followed: int) -> None:
    """Tell how many forms failed only because others did."""
    if followed:
        say_aside(f"{followed} more form{'s' if followed > 1 else ''} failed, as they use what has failed\n")
