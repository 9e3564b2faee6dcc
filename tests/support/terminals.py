"""Nessie at a pseudo-terminal of 24 lines of 80 columns."""
from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from paths import ROOT

if sys.platform == "win32":
    pytest.skip("there is no pseudo-terminal", allow_module_level=True)
pexpect = pytest.importorskip("pexpect")

PROMPT = "nesl>"                        # the blank behind it may be a movement of the cursor
TYPING_ENDS = "\x1b[?2004l"             # prompt_toolkit tells the terminal
DUMB = {"TERM": "dumb"}               # a terminal at which Python reads lines
XTERM = {"TERM": "xterm", "PROMPT_TOOLKIT_NO_CPR": "1"}


class Terminal:
    """A process and what it writes."""

    def __init__(self, process: Any) -> None:
        self.process = process

    def until(self, text: str, seconds: float = 60) -> str:
        """What it writes up to this text."""
        self.process.expect_exact(text, seconds)
        return str(self.process.before)

    def for_seconds(self, seconds: float) -> str:
        """What it writes meanwhile."""
        self.process.expect(pexpect.TIMEOUT, seconds)
        return str(self.process.before)

    def type(self, text: str) -> None:
        self.process.send(text)

    def answer(self, line: str) -> str:
        """What comes of a line, up to the next prompt. The prompt shows what is typed, again and again."""
        self.type(f"{line}\r")
        self.until(TYPING_ENDS)
        return self.until(PROMPT)

    def ended(self) -> tuple[str, int]:
        """What it writes to its end, and its status."""
        self.process.expect(pexpect.EOF, 60)
        written = str(self.process.before)
        self.process.wait()
        return written, int(self.process.exitstatus)

    def leave(self) -> None:
        self.type("\x04")
        assert self.ended()[1] == 0


@contextmanager
def nessie(folder: Path, *words: str, python: tuple[str, ...] = ("-m", "nessie"),
           **variables: str) -> Iterator[Terminal]:
    """Nessie, run there with this cache folder."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "XDG_CACHE_HOME": str(folder), **XTERM, **variables}
    environment.pop("COLUMNS", None)
    environment.pop("LINES", None)
    process = pexpect.spawn(sys.executable, [*python, *words], cwd=folder, env=environment, encoding="utf-8",
                            dimensions=(24, 80))
    try:
        yield Terminal(process)
    finally:
        process.ptyproc.delayafterterminate = 1         # seconds, for machines that are busy
        process.close(force=True)


@contextmanager
def terminal(folder: Path, *words: str, **variables: str) -> Iterator[Terminal]:
    """A session, after its first prompt."""
    with nessie(folder, *words, **variables) as at:
        at.until(PROMPT)
        yield at
