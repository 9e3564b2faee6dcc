"""The prompt at a terminal, by prompt_toolkit. The lines of a form are edited together.

Enter ends a form that is whole, and begins a new line in one that is not. The text is coloured, matching brackets are
shown, Tab completes, and the arrows walk through the history of this session and earlier ones.
"""
from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from prompt_toolkit import PromptSession
from prompt_toolkit.application import run_in_terminal
from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document
from prompt_toolkit.filters import has_completions, is_searching
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.layout.processors import HighlightMatchingBracketProcessor
from prompt_toolkit.lexers import PygmentsLexer
from prompt_toolkit.output import ColorDepth
from prompt_toolkit.styles import Style

from nessie.syntax.line_by_line import LineLexer
from nessie.tool.prompt.highlighting import NeslLexer
from nessie.tool.prompt.history import history
from nessie.tool.prompt.open_form import still_open
from nessie.typing.environment import Environment

ABOUT = 60                      # characters of the description of a completion
WITHOUT_COLOURS = Style.from_dict({"matching-bracket": "underline"})


def reader(prompt: str, continued: str, environment: Callable[[], Environment]) -> Callable[[bool], str]:
    """Return the function that reads the text of the next forms, or of the rest of one; empty at the end. `environment`
    returns the current definitions."""
    plain = bool(os.environ.get("NO_COLOR"))
    session: PromptSession[str] = PromptSession(
        history=history(), multiline=True, prompt_continuation=continued, key_bindings=keys(),
        lexer=None if plain else PygmentsLexer(NeslLexer), style=WITHOUT_COLOURS if plain else None,
        color_depth=ColorDepth.DEPTH_1_BIT if plain else None,
        input_processors=[HighlightMatchingBracketProcessor()], completer=Suggestions(environment),
        complete_while_typing=False, enable_history_search=True, reserve_space_for_menu=8)

    def read(inside: bool) -> str:
        try:
            return session.prompt(continued if inside else prompt) + "\n"
        except EOFError:
            return ""
    return read


def is_whole(text: str) -> bool:
    """Whether the text's last form is complete, be it right or wrong."""
    texts, unfinished = iter([f"{text}\n"]), False

    def read(inside: bool) -> str:
        nonlocal unfinished
        found = next(texts, "")
        unfinished = unfinished or (inside and not found)
        return found

    incoming = LineLexer("input", read, by_hand=True)
    while incoming.form() is not None and not unfinished:
        pass
    return not unfinished


def keys() -> KeyBindings:
    bindings = KeyBindings()

    @bindings.add("enter", filter=~is_searching)
    def enter(event: KeyPressEvent) -> None:
        buffer = event.current_buffer
        if is_whole(buffer.text):
            buffer.validate_and_handle()
        else:
            if not buffer.document.current_line.strip():
                run_in_terminal(partial(print, still_open(buffer.text)))
            buffer.newline()

    @bindings.add("enter", filter=has_completions)
    def choose(event: KeyPressEvent) -> None:
        event.current_buffer.complete_state = None

    @bindings.add("escape", "enter", filter=~is_searching)
    def new_line(event: KeyPressEvent) -> None:
        event.current_buffer.newline()

    return bindings


class Suggestions(Completer):
    """Completes names, commands and files (nessie.tool.prompt.completion)."""

    def __init__(self, environment: Callable[[], Environment]) -> None:
        self.environment = environment

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterator[Completion]:
        from nessie.tool.prompt.completion import suggestions
        for found in suggestions(document.text_before_cursor, self.environment()):
            about: Any = found.about if len(found.about) <= ABOUT else f"{found.about[:ABOUT - 3]}..."
            yield Completion(found.text, -found.typed, display_meta=about)
