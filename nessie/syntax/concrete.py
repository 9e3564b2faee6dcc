"""Concrete trees: every token of a text, by the rules of the grammar that took it, with the comments beside it.

A tree's parts are tokens and trees, in the text's order. A rule that takes one symbol alone, such as `item : app`,
makes no tree of its own; a list of the grammar (`items : items COMMA item`) is one tree, however long.
"""
from __future__ import annotations

import re
from collections.abc import Iterator
from typing import cast

from nessie.base.records import dataclass
from nessie.base.source import NessieError, Source
from nessie.syntax import nodes as syntax
from nessie.syntax.lexer import TOKEN, Lexer
from nessie.syntax.parser import Automaton, Symbol, next_form

LISTS = ("p_bindings", "p_items", "p_generators", "p_contexts", "p_types")
CLOSING = frozenset(",;)]}$")           # a comment that stands before these on their line belongs to what is before it
STRING_OVER_LINES = re.compile(r'"(?:[^"\\\n]|\\.)*\n[^"]*"')


@dataclass(frozen=True)
class Comment:
    """`column` is where it begins. `gap`: an empty line is before it."""
    text: str
    column: int
    begins_line: bool
    ends_line: bool
    gap: bool

    @property
    def movable(self) -> bool:
        """May its lines move together? Not where a string of an example goes over a line's end."""
        return STRING_OVER_LINES.search(self.text) is None


@dataclass(frozen=True)
class Token:
    """`before` and `after` are the comments that belong to it. `begins_line`, `gap`: as of comments."""
    text: str
    before: tuple[Comment, ...]
    after: tuple[Comment, ...]
    begins_line: bool
    gap: bool


@dataclass(frozen=True)
class Tree:
    """`rule` is the name of the rule's function in syntax.grammar.rules; of a command, `command`."""
    rule: str
    parts: tuple[Part, ...]


Part = Token | Tree
Made = tuple[str, list[Symbol]]         # a rule and its symbols


def concrete(source: Source) -> tuple[list[Tree], list[Comment]]:
    """Return the forms of a text, and the comments of one without forms. The first bad form raises."""
    written = list(forms(source))
    found = [leaf for form in written for leaf in leaves(form)]
    places = [(leaf.start, leaf.end) for leaf in found]
    if not places:
        return [], comments(source.text, 0, len(source.text))
    tokens = dict(zip([start for start, _ in places], tokens_at(source.text, places), strict=True))
    return [with_tokens(form, tokens) for form in written], []


def forms(source: Source) -> Iterator[Symbol]:
    """Yield each form as a tree of symbols: the value of one that a rule has made is a pair of it and its symbols."""
    lexer = Lexer(source)
    while (form := next_form(lexer, Automaton(lexer, apply=take))) is not None:
        if isinstance(form, NessieError):
            raise form
        if not isinstance(form, syntax.Command):
            made = cast(Made, form)             # what take() makes in place of a node
            yield Symbol(made, made[1][0].start, made[1][-1].end)
            continue
        assert form.span is not None
        start, end = form.span.start, form.span.end             # a command's text is no tokens
        word = Symbol(form.word, start, start + len(form.word))
        text = source.text[word.end:end]
        inner = word.end + len(text) - len(text.lstrip())
        parts = [word, *([Symbol("", inner, inner + len(text.strip()))] if text.strip() else []),
                 Symbol("", end, end + 1)]
        yield Symbol(("command", parts), start, end + 1)


def take(rule: str, symbols: list[Symbol], source: Source) -> Symbol:
    """What a rule makes of its symbols."""
    if rule == "p_toplevel":
        return Symbol((rule, symbols), symbols[0].start, symbols[-1].end)
    if rule in LISTS and len(symbols) > 1:
        symbols[0].value[1].extend(symbols[1:])                 # lists belong to the one rule that reads them
        return Symbol(symbols[0].value, symbols[0].start, symbols[-1].end)
    if len(symbols) == 1 and rule not in LISTS and isinstance(symbols[0].value, tuple):
        return symbols[0]
    start, end = (symbols[0].start, symbols[-1].end) if symbols else (0, 0)
    return Symbol((rule, list(symbols)), start, end)


def leaves(symbol: Symbol) -> Iterator[Symbol]:
    """Yield the tokens' symbols, in order."""
    waiting = [symbol]
    while waiting:
        found = waiting.pop()
        if isinstance(found.value, tuple):
            waiting += reversed(found.value[1])
        else:
            yield found


def with_tokens(symbol: Symbol, tokens: dict[int, Token]) -> Tree:
    rule, symbols = symbol.value
    return Tree(rule, tuple([with_tokens(one, tokens) if isinstance(one.value, tuple) else tokens[one.start]
                             for one in symbols]))


def tokens_at(text: str, places: list[tuple[int, int]]) -> Iterator[Token]:
    """Yield the tokens at these places, with the comments between them."""
    ends = [0, *(end for _, end in places)]
    between = [comments(text, end, start) for end, (start, _) in zip(ends, places, strict=False)]
    between.append(comments(text, ends[-1], len(text)))
    kept = [0]                              # of the comments between two tokens, how many belong to the first
    for (start, _), found in zip(places[1:], between[1:-1], strict=True):
        kept.append(behind(found, text[start]))
    kept.append(len(between[-1]))
    for at, (start, end) in enumerate(places):
        before = text[ends[at]:start]
        last = before[before.rfind("%") + 1:]
        yield Token(text[start:end], tuple(between[at][kept[at]:]), tuple(between[at + 1][:kept[at + 1]]),
                    "\n" in before, last.count("\n") > 1)


def behind(found: list[Comment], following: str) -> int:
    """How many of the comments between two tokens belong to the first: those on its line, if they end the line or the
    second only closes or separates."""
    here = next((at for at, comment in enumerate(found) if comment.begins_line), len(found))
    while here and not (found[here - 1].ends_line or (here == len(found) and following in CLOSING)):
        here -= 1
    return here


def comments(text: str, start: int, end: int) -> list[Comment]:
    """Return the comments of the text between two tokens, or before the first one or behind the last."""
    found: list[Comment] = []
    pieces = [match for match in pieces_of(text, start, end) if match.lastgroup != "operator"]
    for at, match in enumerate(pieces):
        if match.lastgroup != "comment":
            continue
        before = pieces[at - 1][0] if at and pieces[at - 1].lastgroup == "space" else ""
        after = pieces[at + 1][0] if at + 1 < len(pieces) and pieces[at + 1].lastgroup == "space" else ""
        at_start = not text[:match.start()].strip()
        found.append(Comment(match[0], match.start() - text.rfind("\n", 0, match.start()) - 1,
                             at_start or "\n" in before, "\n" in after or not text[match.end():].strip(),
                             not at_start and before.count("\n") > 1))
    return found


def pieces_of(text: str, start: int, end: int) -> Iterator[re.Match[str]]:
    while start < end:
        match = TOKEN.match(text, start, end)
        assert match is not None            # it has been read
        yield match
        start = match.end()
