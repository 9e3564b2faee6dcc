"""The lexer of NESL: turns characters into tokens.

Names and words are folded to lower case. Operators of one precedence share a kind and keep their spelling as value, so
that the grammar has one rule for each level. A comment, `%` to the next `%`, may stand between any two tokens. Comments
where a binding begins or ends are remembered, as they may be meant for the compiler (pragmas).
"""
from __future__ import annotations

import re
from typing import NamedTuple

from nessie.base.ints import MAX_INT
from nessie.base.source import NessieError, Source, Span


class Token(NamedTuple):
    """source.text[start:end], of a kind that the grammar knows."""
    kind: str
    value: int | float | bool | str
    start: int
    end: int


WORDS = {"if": "IF", "then": "THEN", "else": "ELSE", "let": "LET", "in": "IN", "function": "FUNCTION",
         "datatype": "DATATYPE", "time": "TIME", "closure": "CLOSURE", "and": "AND", "nand": "AND",
         "or": "OR", "nor": "OR", "xor": "OR", "t": "BOOL", "f": "BOOL"}

OPERATORS = {"->": "GATHER", "<-": "SCATTER", "=>": "FATARROW", "::": "DCOLON", ":=": "DEFINE", "|=": "BAREQUALS",
             "&=": "AMPEQUALS", "++": "ADD", "+": "ADD", "-": "MINUS", "*": "STAR", "/": "MUL", "||": "MUL",
             "^": "POWER", "==": "COMPARE", "/=": "COMPARE", "<=": "COMPARE", ">=": "COMPARE", "<": "COMPARE",
             ">": "COMPARE", "#": "POUND", "@": "POUND", ",": "COMMA", ":": "COLON", ";": "SEMI", "$": "DOLLAR",
             "=": "EQUALS", "|": "BAR", "(": "LPAREN", ")": "RPAREN", "[": "LBRACKET", "]": "RBRACKET",
             "{": "LBRACE", "}": "RBRACE"}

# Words that make a command of the top-level form that they begin; they are names everywhere else.
COMMAND_WORDS = frozenset({"help", "?", "exit", "lisp", "describe", "apropos", "get", "set", "show", "shell", "dump",
                           "edit", "load", "defconfig"})

NAME_CHARACTER = r"""[^\s%."!\-+#&'()*,/:;<=>@\[\]\\^`{}?|$]"""
TOKEN = re.compile(rf"""
    (?P<space> \s+ )
  | (?P<comment> %[^%]*% )
  | (?P<number> (?: [0-9]+\.?[0-9]* | \.[0-9]+ ) (?: [eE][+-]?[0-9]+ )? (?P<tail> {NAME_CHARACTER}* ) )
  | (?P<name> {NAME_CHARACTER}+ | \? )
  | (?P<char> `(?s:.) )
  | (?P<string> "[^"\\]* (?: \\(?s:.) [^"\\]* )*" )
  | (?P<operator> {"|".join(re.escape(text) for text in sorted(OPERATORS, key=len, reverse=True))} )
""", re.VERBOSE)

# The text of a command, up to the `;` or `$` that ends it.
COMMAND_TEXT = re.compile(r'(?: %[^%]*% | "(?:[^"\\]|\\.)*" | `. | [^;$%"`] )*', re.VERBOSE | re.DOTALL)

# The character that closes what another one opens; anything can follow the others.
CLOSED_BY = {"%": "%", '"': '"', "`": "", "": ""}

FORM_BEGINS = ("", "SEMI", "DOLLAR")       # the kinds of token before a form's first one
OPENED_BY = {"LBRACE": "{", "LPAREN": "(", "LBRACKET": "[", "LET": "let"}
CLOSING = {"RBRACE": "{", "RPAREN": "(", "RBRACKET": "[", "IN": "let"}


def is_command(text: str, first: Token) -> bool:
    """Is a form that begins with this token a command? Before `=` the word is a variable that is set."""
    if first.kind != "NAME" or first.value not in COMMAND_WORDS:
        return False
    after = text[first.end:].lstrip()
    return not after.startswith(("=", "|=", "&=")) or after.startswith("==")


class Lexer:
    """Returns the tokens of a source one by one; it knows its position, so a parser can skip bad text. `remarks` are
    the comments about bindings so far."""

    def __init__(self, source: Source, start: int = 0) -> None:
        self.source = source
        self.position = start
        self.previous = ""
        self.remarks: list[Span] = []
        self.inside: list[str] = []             # the open brackets, and lets in their bindings

    def more(self, closer: str = "") -> bool:
        """Is there more text for a token? An open token needs this closing character. One lexer reads as it goes
        (syntax.line_by_line)."""
        return False

    def token(self) -> Token | None:
        """Return the next token, or None at the end of the text."""
        comments: list[Span] = []
        while self.position < len(self.source.text) or self.more():
            match = TOKEN.match(self.source.text, self.position)
            if match is None:
                if self.goes_on(self.position):
                    continue
                raise self.stray()
            start, self.position = self.position, match.end()
            if match.lastgroup == "comment":
                comments.append(Span(self.source, start, self.position))
            elif match.lastgroup != "space":
                token = self.make(match, start)
                if comments and self.between_bindings(token.kind):
                    self.remarks += comments
                self.follow(token.kind)
                return token
        self.remarks += comments
        return None

    def between_bindings(self, following: str) -> bool:
        """Does a binding, or a form, begin or end before this kind of token?"""
        beside = {self.previous, following}
        if self.inside[-1:] == ["let"]:
            return not beside.isdisjoint(("LET", "SEMI", "IN"))
        return not self.inside and not beside.isdisjoint(FORM_BEGINS)

    def follow(self, kind: str) -> None:
        """Note that the next token has this kind."""
        self.previous = kind
        if kind in OPENED_BY:
            self.inside.append(OPENED_BY[kind])
        elif self.inside and CLOSING.get(kind) == self.inside[-1]:
            self.inside.pop()

    def begin_form(self) -> None:
        self.remarks.clear()
        self.inside.clear()

    def make(self, match: re.Match[str], start: int) -> Token:
        text, end = match[0], match.end()
        match match.lastgroup:
            case "operator":
                return Token(OPERATORS[text], text, start, end)
            case "name":
                return self.name(text.lower(), start, end)
            case "char":
                return Token("CHAR", text[1], start, end)
            case "string":
                return Token("STRING", re.sub(r"\\(.)", r"\1", text[1:-1], flags=re.DOTALL), start, end)
        return self.number(text, match["tail"], start, end)

    def name(self, name: str, start: int, end: int) -> Token:
        kind = WORDS.get(name, "NAME")
        if kind == "NAME" and not name.isidentifier() and not (name == "?" and self.previous in FORM_BEGINS):
            odd = next((c for c in name if not ("a" + c).isidentifier()), None)
            at = start if odd is None else start + name.index(odd)
            raise self.error(f"the character {name[at - start]!r} (U+{ord(name[at - start]):04X}) cannot "
                             f"{'begin' if odd is None else 'stand in'} a name", at, at + 1, self.sign(at))
        return Token(kind, name == "t" if kind == "BOOL" else name, start, end)

    def number(self, text: str, tail: str, start: int, end: int) -> Token:
        if tail:
            raise self.error("a name cannot begin with a digit, nor a number end in letters", start, end)
        if not text.isdigit():
            return Token("NUMBER", float(text), start, end)
        # int() refuses thousands of digits; what is out of range anyway need not be converted
        value = int(text) if len(text.lstrip("0")) < 20 else MAX_INT + 2
        if value == MAX_INT + 1 and self.previous == "MINUS":
            value = -value              # allows -9223372036854775808: its negation wraps to itself
        if value > MAX_INT:
            raise self.error(f"this int is larger than {MAX_INT}", start, end, hint="a float has a point: 1e20 or 5.0")
        return Token("NUMBER", value, start, end)

    def goes_on(self, at: int) -> bool:
        """Is there more text for an unfinished comment, string or character that begins here or, at the end of the
        text, for anything?"""
        begins = self.source.text[at:at + 1]
        return begins in CLOSED_BY and self.more(CLOSED_BY[begins])

    def stray(self) -> NessieError:
        """Return the error for a character that begins no token."""
        at, text = self.position, self.source.text
        match text[at]:
            case "%":
                return self.error("this comment is never closed", at, at + 1,
                                  hint="a comment goes from one % to the next; a modulus is mod(a, b)")
            case '"':
                return self.error("this string is never closed", at, at + 1)
            case "`":
                return self.error("a character is missing after the `", at, at + 1)
        return self.error(f"the character {text[at]!r} has no meaning here", at, at + 1, self.sign(at))

    def sign(self, at: int) -> str:
        """Return the hint for a sign of another language that begins here."""
        from nessie.syntax.errors.other_languages import sign_at  # only mistakes need it
        return sign_at(self.source.text, at)

    def error(self, message: str, start: int, end: int, hint: str = "") -> NessieError:
        return NessieError(message, (Span(self.source, start, end), ""), hint=hint)

    def command(self, word: Token, ends_itself: bool = False) -> tuple[str, int]:
        """Return the raw text of the command that `word` begins, and where it ends; the `;` or `$` is read too.
        `ends_itself`: the text's end also ends the command."""
        self.previous = "SEMI"
        end = self.command_end(word)
        while self.goes_on(end):
            end = self.command_end(word)
        ended = ends_itself if end == len(self.source.text) else self.source.text[end] in ";$"
        if not ended:
            raise self.error(f"the command {word.value} has no end", word.start, word.end, hint="end it with ;")
        self.position = end + 1
        return self.source.text[word.end:end].strip(), end

    def command_end(self, word: Token) -> int:
        """Return where the command's text can go on to at most."""
        match = COMMAND_TEXT.match(self.source.text, word.end)
        assert match is not None        # the pattern matches the empty text
        return match.end()

    def skip_form(self, last: Token | None) -> None:
        """Go on behind the next `;` or `$`, or at the next `function` that begins a line; strings and comments are not
        searched for them. `last` is the form's last token that has been read, if it is not the first."""
        if last is not None and self.begins_function(last):
            return self.go_back(last)
        while (start := self.position) < len(self.source.text):
            try:
                token = self.token()
            except NessieError:
                self.position = max(self.position, start + 1)
            else:
                if token is None or token.kind in ("SEMI", "DOLLAR"):
                    return
                if self.begins_function(token):
                    return self.go_back(token)

    def go_back(self, token: Token) -> None:
        """Begin a form with this token."""
        self.position, self.previous = token.start, "SEMI"

    def begins_function(self, token: Token) -> bool:
        """Is this a `function` at the beginning of a line?"""
        return token.kind == "FUNCTION" and self.source.text[token.start - 1:token.start] in ("", "\n")
