"""One grammar that writes nodes as text and reads them back.

    Grammar({Uniform: "uniform({segments}, {length})", Launch: "launch {kernel} {arguments} {results}",
             Scan: "{thunk} {space} {total?total}"}, {"Size": Field(show_size, size), ...})

A row is the text of a class of nodes: words and symbols as they stand, the class's fields in braces. A field is written
and read as its annotation says, or the name behind a colon; `{total?total}` is the word behind the mark if the field is
true. A field whose text is empty takes nothing when it is read, and the blank before it is left out.
"""
from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Any, NamedTuple, TypeVar

from nessie.base.source import Source
from nessie.base.text.layout import Doc, join
from nessie.base.text.tokens import Tokens, tokenize

N = TypeVar("N")
PIECE = re.compile(r"\{(?P<name>\w+)(?::(?P<form>[^}]+))?(?:\?(?P<flag>\w+))?\}|(?P<literal>[^{}]+)")


class Field(NamedTuple):
    """The writer and the reader of values of one type."""
    show: Callable[[Any], Doc]
    read: Callable[[Tokens], Any]


class Literal(NamedTuple):
    text: str
    tokens: tuple[str, ...]


class Part(NamedTuple):
    """A field of the node."""
    name: str
    field: Field


Word = tuple["Literal | Part", ...]


class Grammar:
    """The rows by class, and the fields by annotation."""

    def __init__(self, rows: Mapping[type, str], forms: Mapping[str, Field]) -> None:
        self.rows = rows
        self.forms = forms
        self.parsed: dict[type, tuple[Word, ...]] = {}

    def show(self, node: object) -> Doc:
        return join(" ", self.words(node))

    def words(self, node: object) -> list[Doc]:
        """The text in pieces: what stands between the row's blanks, where it is not empty."""
        words = [[piece.text if isinstance(piece, Literal) else piece.field.show(getattr(node, piece.name))
                  for piece in word] for word in self.row(type(node))]
        return [word[0] if len(word) == 1 else tuple(word) for word in words if any(word)]

    def read(self, tokens: Tokens, kind: type[N]) -> N:
        """The node of this class that stands next."""
        values: dict[str, Any] = {}
        for word in self.row(kind):
            for piece in word:
                if isinstance(piece, Part):
                    values[piece.name] = piece.field.read(tokens)
                else:
                    for text in piece.tokens:
                        tokens.expect(text, re.sub("[{}]", "", self.rows[kind]))
        return kind(**values)

    def row(self, kind: type) -> tuple[Word, ...]:
        found = self.parsed.get(kind)
        if found is None:
            annotations = {field.name: str(field.type) for field in fields(kind)}
            found = self.parsed[kind] = tuple([
                tuple([self.piece(match, annotations) for match in PIECE.finditer(word)])
                for word in self.rows[kind].split()])
        return found

    def piece(self, match: re.Match[str], annotations: Mapping[str, str]) -> Literal | Part:
        name, form, flag, literal = match["name"], match["form"], match["flag"], match["literal"]
        if literal:
            tokens = tokenize(Source("", literal))[:-1]
            return Literal(literal, tuple([token.text for token in tokens]))
        return Part(name, flagged(flag) if flag else self.forms[form or annotations[name]])


def flagged(word: str) -> Field:
    """The word where the value is true, else nothing."""
    return Field(lambda value: word if value else "", lambda tokens: tokens.accept(word) is not None)
