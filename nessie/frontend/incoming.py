"""The forms of a text that arrives line by line, each as soon as the grammar says that it is whole.

A form is read twice: first its tokens drive the parser's automaton, which makes nothing and lets the lexer ask for the
next line when it has run out of tokens; then the form is parsed, from text that does not grow any more.
"""
from __future__ import annotations

from collections.abc import Callable

from nessie.base.source import NessieError, Source
from nessie.frontend import syntax
from nessie.frontend.lexer import Lexer, Token
from nessie.frontend.parser import END_KINDS, Automaton, make_nothing, next_form


class Incoming(Lexer):
    """A lexer that reads as it goes. `read` gives a line, told whether it continues a form; nothing at the end. Where
    it is typed by hand, lines are counted from each form's first, and the line that holds an error is done with."""

    def __init__(self, name: str, read: Callable[[bool], str], by_hand: bool) -> None:
        super().__init__(Source(name, ""))
        self.read, self.by_hand = read, by_hand
        self.begins = 0                 # where in the source the form begins
        self.begun = self.at_end = False

    def form(self) -> syntax.TopLevel | NessieError | None:
        """The next form; for a bad one its error. None at the end of the text."""
        self.begins, self.begun, self.at_end = self.position, False, False
        if next_form(self, Automaton(self, apply=make_nothing)) is None:
            return None
        whole = Lexer(self.source, self.begins)
        return next_form(whole, Automaton(whole))

    def drop(self) -> None:
        """Forget what has been read of the form, and of its line."""
        self.position = len(self.source.text)

    def token(self) -> Token | None:
        token = super().token()
        self.begun = self.begun or (token is not None and token.kind not in END_KINDS)
        return token

    def more(self, closer: str = "") -> bool:
        inside = self.begun or bool(closer)
        lines: list[str] = []
        while not self.at_end and not (lines and closer in lines[-1]):
            line = self.read(inside)
            self.at_end = not line
            lines.append(line)
        text, number = self.source.text, self.source.first_line
        if not inside:                  # what came before is no part of the form
            number += 0 if self.by_hand else text.count("\n")
            text, self.begins, self.position = "", 0, 0
        self.source = Source(self.source.name, text + "".join(lines), first_line=number)
        return any(lines)

    def skip_form(self) -> None:
        if self.by_hand:
            self.drop()
        else:
            super().skip_form()
