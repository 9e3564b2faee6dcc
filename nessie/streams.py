"""Standard output and error: results go to the one, everything else to the other."""
from __future__ import annotations

import os
import sys
from collections.abc import Iterable

from nessie.base.source import InternalError, Interrupted, NessieError
from nessie.outcome import Outcome


def open_streams() -> None:
    """Where the shell has closed standard output, writing to it is an error; messages may be lost."""
    if sys.stdout is None:
        sys.stdout = os.fdopen(os.open(os.devnull, os.O_RDONLY), "w", encoding="utf-8")
    if sys.stderr is None:
        sys.stderr = os.fdopen(os.open(os.devnull, os.O_WRONLY), "w", encoding="utf-8")


def say(text: str) -> None:
    """Write to standard output, at once."""
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise NessieError(f"the output cannot be written: {error.strerror or error}") from None


def complain(error: Exception) -> None:
    if isinstance(error, InternalError):
        print(f"internal error: {error}\nThis is a mistake in Nessie, not in your program.", file=sys.stderr)
    else:
        print(error, file=sys.stderr)


def warn(texts: Iterable[str]) -> None:
    for text in texts:
        print(f"warning: {text}", file=sys.stderr)


def print_outcomes(outcomes: Iterable[Outcome | NessieError | InternalError]) -> int:
    """Print what each form gives; how many have failed. An interrupt ends them."""
    failed = 0
    for outcome in outcomes:
        if isinstance(outcome, Interrupted):
            raise outcome
        if isinstance(outcome, Exception):
            complain(outcome)
            failed += 1
        elif text := str(outcome):
            say(text + "\n")
    return failed
