"""Reads forms from a text that arrives line by line, each as soon as the grammar tells that it is complete.

It also reads commands of the prompt, which are not NESL's: lines like `:type sum`. Where somebody types, a line that is
just `exit`, `quit`, `help` or `?`, or asks for help on one name, as `help sum` does, is complete, too, without a `;`.

A form is read twice. First its tokens drive the parser's automaton, which makes nothing; the lexer asks for the next
line when it has run out of tokens. Then the form is parsed, from text that no longer grows.
"""
from __future__ import annotations

import re
from collections.abc import Callable

from nessie.base.source import NessieError, Source, Span
from nessie.syntax import nodes as syntax
from nessie.syntax.lexer import COMMAND_WORDS, Lexer, Token
from nessie.syntax.parser import END_KINDS, Automaton, make_nothing, next_form

COMMAND_LINE = re.compile(r"^[ \t]*(:(?:\w+|\?))[ \t]*([^\n]*)", re.MULTILINE)       # no form begins with a `:`

ALONE = re.compile(r"[ \t]*((?:exit|quit|help|\?)(?=[ \t]*$)|(?:help|\?|describe|apropos)(?=[ \t]+\w+[ \t]*$))"
                   r"[ \t]*(\w*)[ \t]*$", re.MULTILINE | re.IGNORECASE)


class LineLexer(Lexer):
    """A lexer that reads as it goes. `read` returns a line, told whether it continues a form; at the end it returns
    nothing. For text typed by hand, lines count from each form's first one, and an error drops the line that holds
    it."""

    def __init__(self, name: str, read: Callable[[bool], str], by_hand: bool) -> None:
        super().__init__(Source(name, ""))
        self.read, self.by_hand = read, by_hand
        self.begins = 0                 # where in the source the form begins
        self.begun = self.at_end = False

    def form(self) -> syntax.TopLevel | NessieError | None:
        """Return the next form, or its error if it is bad. None at the end of the text."""
        self.begins, self.begun, self.at_end = self.position, False, False
        if (line := self.whole_line()) is not None:
            return line
        if next_form(self, Automaton(self, apply=make_nothing)) is None:
            return None
        whole = Lexer(self.source, self.begins)
        return next_form(whole, Automaton(whole))

    def whole_line(self) -> syntax.Command | syntax.Evaluate | None:
        """Return the next line that is not blank, if it is complete whatever the grammar says: a command of the prompt,
        as its word and its text, or a word typed alone."""
        while not self.source.text[self.position:].strip() and self.more():
            pass
        text = self.source.text
        blank = len(text) - len(text[self.position:].lstrip())
        begins = text.rfind("\n", 0, blank) + 1
        found = COMMAND_LINE.match(text, begins) or (ALONE.match(text, begins) if self.by_hand else None)
        if found is None or found.start(1) != blank:
            return None
        self.begins = self.position = found.end()
        span = Span(self.source, found.start(1), found.end())
        if found.re is ALONE:
            return alone(found[1].lower(), found[2], span)
        return syntax.Command(found[1].lower(), found[2].rstrip(" \t;$"), span=span)

    def drop(self) -> None:
        """Forget the text read for the form, and its line."""
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

    def skip_form(self, last: Token | None) -> None:
        if self.by_hand:
            self.drop()
        else:
            super().skip_form(last)


def alone(word: str, asked: str, span: Span) -> syntax.Command | syntax.Evaluate:
    """Return the form of a line that is complete, of a word, perhaps with a name: `quit` is a name itself."""
    if word in COMMAND_WORDS:
        return syntax.Command(word, asked, span=span)
    return syntax.Evaluate(syntax.Name(word, span=span), span=span)
