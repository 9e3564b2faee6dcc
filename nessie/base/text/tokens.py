"""The tokens that the texts of all intermediate forms share, and a cursor to parse them by recursive descent.

    names       x, sum_1, f.x.block; any other text between backquotes: `f^`, `let`
    numbers     12, 1.5, 2e-9   (no sign: a parser makes -1 of '-' and 1)
    strings     "a\\n\\u{1f600}"      chars  'a', '\\''
    symbols     the longest of SYMBOLS, else one character
    comments    from // to the end of the line

    tokens = Tokens(text, KEYWORDS)
    if tokens.accept("let"): name = tokens.name(); tokens.expect("="); ...

Keywords are unquoted names that the form reserves.
"""
from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any, NoReturn, TypeVar

from nessie.base.records import dataclass
from nessie.base.source import NessieError, Source, Span
from nessie.base.text.places import Places

T = TypeVar("T")

SYMBOLS = ("->", "=>", "==", "/=", "<=", ">=", "+=", "&&", "||", "<<", ">>")

TOKEN = re.compile(
    r"""(?P<space>(?:\s|//[^\n]*)+)
      | (?P<float>[0-9]+\.[0-9]+(?:[eE][+-]?[0-9]+)?|[0-9]+[eE][+-]?[0-9]+)
      | (?P<int>[0-9]+)
      | (?P<name>[A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z_][A-Za-z0-9_]*)*)
      | `(?P<quoted>[^`\n]+)`
      | "(?P<string>(?:[^"\\\n]|\\.)*)"
      | '(?P<char>[^'\\\n]|\\u\{[0-9a-f]+\}|\\.)'
      | (?P<symbol>""" + "|".join(map(re.escape, SYMBOLS)) + r"""|[^\s\w"'`])
    """, re.VERBOSE)
WITH_HASHES = re.compile(TOKEN.pattern.replace("//", r"(?://|\#)", 1), re.VERBOSE)      # where # begins a comment, too

ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "0": "\0"}
ESCAPE = re.compile(r"\\(?:u\{([0-9a-f]+)\}|(.))")
PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z_][A-Za-z0-9_]*)*\Z")


@dataclass(frozen=True)
class Token:
    """A token. `kind` is int, float, name, quoted, string, char, symbol or end; `value` is the value of a literal."""
    kind: str
    text: str
    value: Any
    start: int
    end: int


class Tokens:
    """A text's tokens and a parser's position among them."""

    def __init__(self, text: str | Source, keywords: Iterable[str] = (), places: Places | None = None,
                 pattern: re.Pattern[str] = TOKEN) -> None:
        """Tokenize the text; `places` records the places of parts."""
        self.places = places
        self.source = text if isinstance(text, Source) else Source("<text>", text)
        self.keywords = frozenset(keywords)
        self.tokens = tokenize(self.source, pattern)
        self.position = 0

    @property
    def current(self) -> Token:
        return self.tokens[self.position]

    def at(self, *texts: str) -> bool:
        """Is the next token one of these symbols or words (written without quotes)?"""
        token = self.tokens[self.position]
        return token.text in texts and token.kind in ("symbol", "name")

    def follows(self, text: str) -> bool:
        """Is the token after the next one this symbol or word?"""
        token = self.tokens[min(self.position + 1, len(self.tokens) - 1)]
        return token.text == text and token.kind in ("symbol", "name")

    def at_name(self) -> bool:
        token = self.tokens[self.position]
        return token.kind == "quoted" or (token.kind == "name" and token.text not in self.keywords)

    def take(self) -> Token:
        """Return the next token, whatever it is, and go on behind it; the end stays."""
        token = self.tokens[self.position]
        if token.kind != "end":
            self.position += 1
        return token

    def accept(self, *texts: str) -> str | None:
        """Take the next token if it is one of these symbols or words."""
        return self.take().text if self.at(*texts) else None

    def expect(self, text: str, row: str = "") -> Token:
        """Take the next token, which is this symbol or word; `row` is what all of the part looks like."""
        if not self.at(text):
            self.fail(f"'{text}' is expected here{row and ': '}{row}")
        return self.take()

    def name(self, what: str = "a name") -> str:
        if not self.at_name():
            self.fail(f"{what} is expected here")
        value: str = self.take().value
        return value

    def literal(self, kind: str) -> Any:
        """The value of the next token, a literal of this kind (int, float, string, char)."""
        if self.current.kind != kind:
            self.fail(f"{'an' if kind == 'int' else 'a'} {kind} is expected here")
        return self.take().value

    def integer(self) -> int:
        """Return an int with or without a minus sign."""
        negative = self.accept("-")
        value: int = self.literal("int")
        return -value if negative else value

    def listed(self, item: Callable[[], T], end: str, separator: str = ",") -> tuple[T, ...]:
        """Return the items up to `end`, which is taken too."""
        return () if self.accept(end) else self.several(item, end, separator)

    def several(self, item: Callable[[], T], end: str, separator: str = ",") -> tuple[T, ...]:
        """Return at least one item, up to `end`, which is taken too."""
        items = [item()]
        while not self.accept(end):
            if not self.at(separator):
                self.fail(f"'{separator}' or '{end}' is expected here")
            self.take()
            items.append(item())
        return tuple(items)

    def skip_body(self) -> None:
        """Go on behind the `:` that ends the body of {body : x in xs}: the first outside brackets and lets."""
        depth = lets = 0
        while depth or lets or not self.at(":"):
            token = self.take()
            if token.kind == "end":
                self.fail("':' is expected in an apply-to-each")
            if token.kind in ("symbol", "name"):
                depth += (token.text in "([{") - (token.text in ")]}")
                lets += (token.text == "let") - (token.text == "in") if not depth else 0
        self.take()

    def finish(self) -> None:
        """Fail unless all tokens have been read."""
        if self.current.kind != "end":
            self.fail(f"'{self.current.text}' is not expected here")

    def span(self, start: Token) -> Span:
        """Return the span from this token to the last one taken."""
        last = self.tokens[max(self.position - 1, 0)]
        return Span(self.source, start.start, max(last.end, start.end))

    def mark(self, start: Token, part: T) -> T:
        """Mark the part's place, from this token to the last one taken, and return the part."""
        if self.places is not None:
            self.places.mark(part, self.span(start))
        return part

    def fail(self, message: str, token: Token | None = None) -> NoReturn:
        token = token or self.current
        raise NessieError(message, (Span(self.source, token.start, token.end), ""))


def tokenize(source: Source, pattern: re.Pattern[str] = TOKEN) -> list[Token]:
    """Return all tokens of the text, then one of kind 'end'."""
    tokens: list[Token] = []
    text, position = source.text, 0
    while position < len(text):
        found = pattern.match(text, position)
        if found is None:
            raise NessieError("no symbol, name or literal begins here", (Span(source, position, position + 1), ""))
        kind, end = found.lastgroup or "", found.end()
        if kind != "space":
            try:
                value = literal_value(kind, found.group(kind))
            except (ValueError, OverflowError):
                raise NessieError("characters go from 0 to \\u{10ffff}", (Span(source, position, end), "")) from None
            tokens.append(Token(kind, text[position:end], value, position, end))
        position = end
    tokens.append(Token("end", "the end", None, position, position))
    return tokens


def literal_value(kind: str, text: str) -> Any:
    match kind:
        case "int":
            return int(text) if len(text) < 40 else 10 ** 40         # too large for any int: refused later
        case "float":
            return float(text)
        case "string" | "char":
            return ESCAPE.sub(lambda found: unescape(found.group(1), found.group(2)), text)
    return text


def unescape(code: str | None, letter: str) -> str:
    if code is not None:
        return chr(int(code, 16))
    return ESCAPES.get(letter, letter)


# Writing --------------------------------------------------------------------------------------


def show_name(name: str, keywords: frozenset[str] = frozenset()) -> str:
    """Return the name in a form that the tokenizer reads back."""
    return name if PLAIN_NAME.match(name) and name not in keywords else f"`{name}`"


def show_string(text: str) -> str:
    return '"' + "".join(show_character(c, '"') for c in text) + '"'


def show_char(character: str) -> str:
    return "'" + show_character(character, "'") + "'"


def show_character(character: str, quote: str) -> str:
    if character in (quote, "\\"):
        return "\\" + character
    if character in "\n\t\r\0":
        return "\\" + {"\n": "n", "\t": "t", "\r": "r", "\0": "0"}[character]
    return character if character.isprintable() else f"\\u{{{ord(character):x}}}"
