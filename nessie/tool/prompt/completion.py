"""Completes the typed text: names in scope with their types, commands, files.

    suggestions("describe in", environment)      interleave, interleave's type; ..
"""
from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from nessie.base.records import dataclass
from nessie.base.source import NessieError, Source
from nessie.base.system.file_names import files
from nessie.base.text.types_text import BASES, show_scheme
from nessie.running.target_names import TARGETS
from nessie.session.commands import NESL_COMMANDS, SHOWN, Row
from nessie.syntax.lexer import WORDS, Lexer
from nessie.syntax.parser import END_KINDS
from nessie.tool.prompt.commands import PROMPT_COMMANDS
from nessie.typing.advice.hints import is_operator
from nessie.typing.environment import Environment

NAMES = ("NAME", "EXPR", "TEXT")                # placeholders for what the session knows
LISTED: dict[str, Iterable[str]] = {"TARGET": TARGETS, "TYPE": BASES, "FORM": SHOWN}
CLOSED = ("TARGET", "FORM")                     # placeholders that stand for nothing but the listed words
COMMAND = re.compile(r"\s*(:?[\w?]+)\s+(.*)", re.DOTALL)
WORD = re.compile(r"(?:(?<=\n)|^)[ \t]*(:\w*)\Z|\w*\Z")


@dataclass(frozen=True)
class Suggestion:
    """A suggestion: `text` may replace the last `typed` characters; `about` is its type, or what it does."""
    text: str
    typed: int
    about: str = ""


def suggestions(before: str, environment: Environment) -> list[Suggestion]:
    """All suggestions for the text before the cursor, in alphabetical order."""
    if (at := last_form(before)) is None:
        return []
    begins, string = at
    form = before[begins:]
    command = COMMAND.fullmatch(form)
    rows = [row for row in (*NESL_COMMANDS, *PROMPT_COMMANDS) if command and row.word == command[1].lower()]
    if string is not None:
        only = ".nesl" if command and command[1].lower() == "load" else ""
        return [Suggestion(path, len(string)) for path in files(string, only)]
    found = WORD.search(before)
    word = (found[1] or found[0]) if found else ""
    if word.startswith(":"):
        offered: Iterable[tuple[str, str]] = uses(PROMPT_COMMANDS)
    elif command and rows:
        offered = arguments(rows, command[2][:len(command[2]) - len(word)].lower().split(), environment)
    elif not form.strip() or form.strip() == word:
        offered = [*uses(NESL_COMMANDS), *names(environment)] if word or form.strip() else [*uses(NESL_COMMANDS)]
    else:
        offered = [*names(environment), *((text, "") for text in WORDS)]
    fitting = {text: about for text, about in offered if text.startswith(word.lower()) and text != word}
    return [Suggestion(text, len(word), fitting[text]) for text in sorted(fitting)]


def last_form(before: str) -> tuple[int, str | None] | None:
    """The offset where the last form begins, and the typed part of an open string, if there is one. None in a
    comment."""
    lexer, begins = Lexer(Source("", before)), 0
    while True:
        start = lexer.position
        try:
            token = lexer.token()
        except NessieError:
            match before[lexer.position:lexer.position + 1]:
                case '"':
                    return begins, before[lexer.position + 1:]
                case "%":
                    return None
            lexer.position = max(lexer.position, start + 1)
            continue
        if token is None:
            return begins, None
        if token.kind in END_KINDS and not lexer.inside:
            begins = token.end


def uses(rows: Sequence[Row]) -> Iterator[tuple[str, str]]:
    """The commands' words, each once, with what it does; a space follows where arguments must."""
    for row in reversed(rows):
        if row.word.strip("?:"):
            needs = row.arguments and not row.arguments.startswith("[")
            yield f"{row.word} " if needs else row.word, row.does


def arguments(rows: Sequence[Row], typed: list[str], environment: Environment) -> Iterator[tuple[str, str]]:
    """The words that may follow these arguments of a command."""
    for row in rows:
        expected = row.arguments.split()
        wanted = [word.strip("[]") for word in expected[len(typed):]] or expected[-1:]
        if not (wanted and all(map(fits, typed, expected))):
            continue
        if wanted[0] in NAMES:
            yield from names(environment)
        elif wanted[0] in LISTED:
            yield from ((name, "") for name in LISTED[wanted[0]])
        elif wanted[0] == wanted[0].lower() and len(typed) < len(expected):
            yield from ((word, row.does) for word in wanted[0].split("/"))


def fits(text: str, expected: str) -> bool:
    """Whether the text is a valid argument where `expected` is due."""
    if expected in CLOSED:
        return text in LISTED[expected]
    return expected != expected.lower() or text in expected.split("/")


def names(environment: Environment) -> Iterator[tuple[str, str]]:
    for name in environment.names():
        entry = environment.lookup(name)
        if entry is not None and not is_operator(name):
            yield name, show_scheme(entry.scheme.type)
