"""Sessions at a terminal, typed again: what the terminal shows is a transcript."""
from __future__ import annotations

import io
import sys

import pytest

from nessie.tool.cli import main
from nessie.tool.prompt.repl import CONTINUED, PROMPT, WELCOME


class Keyboard(io.StringIO):
    """A terminal at which lines are typed, and what it shows."""

    def __init__(self, typed: list[str]) -> None:
        super().__init__()
        self.lines = iter(typed)
        self.shown = io.StringIO()

    def isatty(self) -> bool:
        return True

    def read_line(self, inside: bool) -> str:
        line = next(self.lines, "")
        self.shown.write((CONTINUED if inside else PROMPT) + (line or "\n"))
        return line


def sit_down(typed: list[str], monkeypatch: pytest.MonkeyPatch) -> Keyboard:
    """A terminal for the commands to come, at which these lines are typed."""
    keyboard = Keyboard(typed)
    for stream in ("stdout", "stderr"):
        monkeypatch.setattr(sys, stream, keyboard.shown)
    monkeypatch.setattr(sys, "stdin", keyboard)
    monkeypatch.setattr("nessie.tool.prompt.repl.line_reader", lambda *_: keyboard.read_line)
    return keyboard


def replayed(words: list[str], shown: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """What the terminal shows after the welcome when the transcript's lines are typed, and then Ctrl-D."""
    typed = [line[len(PROMPT):] for line in shown.splitlines(keepends=True)
             if line.startswith((PROMPT, CONTINUED)) and line != f"{PROMPT}\n"]
    keyboard = sit_down(typed, monkeypatch)
    assert main(words) == 0
    return keyboard.shown.getvalue().removeprefix(f"{WELCOME}\n")
