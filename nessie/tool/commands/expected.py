"""Reads expected values, as NESL prints them, and compares them with actual ones.

Floats are equal within a relative 1e-9, and NaN equals NaN; anything else is equal if it is the same.
"""
from __future__ import annotations

import math
import sys
from itertools import count
from typing import Any

from nessie.base.names import shown_name
from nessie.base.source import NessieError, Source
from nessie.base.text.values_text import elements, show_scalar, size
from nessie.base.types import CHAR, Base, ContentOf, Data, Fun, Pair, Seq, Type
from nessie.base.values import Record
from nessie.syntax.lexer import Lexer, Token

NEAR = 1e-9
FLOATS = {"inf": math.inf, "nan": math.nan}


class NoValue(Exception):
    """The text is not a printed value of the type."""


def read_shown(text: str, type_: Type, content: ContentOf) -> Any:
    """The plain value of the type that show_value prints as this text. NoValue if there is none. `[]` needs no type
    here."""
    lexer, tokens = Lexer(Source("", text)), list[Token]()
    try:
        while token := lexer.token():
            tokens.append(token)
    except NessieError:
        raise NoValue from None
    reader = Reader(tokens, content)
    value = reader.value(type_)
    reader.needs(not reader.rest)
    return value


class Reader:
    """Reads values from the front of a list of tokens."""

    def __init__(self, tokens: list[Token], content: ContentOf) -> None:
        self.rest, self.content = tokens[::-1], content

    def needs(self, holds: bool) -> None:
        if not holds:
            raise NoValue

    def follows(self, *kinds: str) -> bool:
        return bool(self.rest) and self.rest[-1].kind in kinds

    def take(self, *kinds: str) -> Any:
        self.needs(self.follows(*kinds))
        return self.rest.pop().value

    def value(self, type_: Type) -> Any:
        match type_:
            case Base("int" | "float" as name):
                return self.number(name)
            case Base("char") if self.follows("NAME"):
                return self.coded()
            case Base("bool" | "char" as name):
                return self.take(name.upper())
            case Seq(element) if element == CHAR:
                return self.string()
            case Seq(element):
                return self.sequence(element)
            case Pair():
                return self.components(type_)
            case Data(name):
                self.needs(self.take("NAME") == shown_name(name))
                return Record(name, self.components(self.content(type_)))
        raise NoValue

    def number(self, name: str) -> int | float:
        negative = self.follows("MINUS") and bool(self.take("MINUS"))
        found = self.take("NAME", "NUMBER")
        number: int | float | None = FLOATS.get(found) if isinstance(found, str) else found
        if number is None or isinstance(number, float) != (name == "float"):
            raise NoValue
        return -abs(number) if negative else number         # the lexer returns the least int as negative

    def coded(self) -> str:
        """Read code_char(27)."""
        self.needs(self.take("NAME") == "code_char")
        self.take("LPAREN")
        code = self.number("int")
        self.needs(0 <= code <= sys.maxunicode)
        self.take("RPAREN")
        return chr(int(code))

    def string(self) -> list[str]:
        """Read a string, or several parts of one."""
        characters: list[str] = []
        while True:
            characters += self.take("STRING") if self.follows("STRING") else self.sequence(CHAR)
            if not self.follows("ADD"):
                return characters
            self.needs(self.take("ADD") == "++")

    def sequence(self, element: Type) -> list[Any]:
        self.take("LBRACKET")
        values: list[Any] = []
        while not self.follows("RBRACKET"):
            if values:
                self.take("COMMA")
            values.append(self.value(element))
        self.take("RBRACKET")
        return values

    def components(self, type_: Type) -> Any:
        """Read a tuple, which nests to the right, or a single value, in parentheses."""
        self.take("LPAREN")
        before: list[Any] = []
        while isinstance(type_, Pair):
            before.append(self.value(type_.first))
            self.take("COMMA")
            type_ = type_.second
        value = self.value(type_)
        self.take("RPAREN")
        for first in reversed(before):
            value = first, value
        return value


def difference(one: Any, other: Any, type_: Type, content: ContentOf) -> str | None:
    """The first place where two values of the type, plain or flat, differ: [i] for an element, empty for the whole.
    None if they are equal. NessieError for functions."""
    match type_:
        case Base("float"):
            return None if near(float(one), float(other)) else ""
        case Base(name):
            return None if show_scalar(one, name) == show_scalar(other, name) else ""
        case Seq(element):
            for i, a, b in zip(count(), elements(one), elements(other)):
                if (inside := difference(a, b, element, content)) is not None:
                    return f"[{i}]{inside}"
            return None if size(one) == size(other) else f"[{min(size(one), size(other))}]"
        case Pair(first, second):
            found = difference(one[0], other[0], first, content)
            return difference(one[1], other[1], second, content) if found is None else found
        case Data():
            one, other = (value.content if isinstance(value, Record) else value for value in (one, other))
            return difference(one, other, content(type_), content)
        case Fun():
            raise NessieError("functions cannot be compared")
    raise TypeError(type_)


def near(x: float, y: float) -> bool:
    return math.isclose(x, y, rel_tol=NEAR) or (math.isnan(x) and math.isnan(y))
