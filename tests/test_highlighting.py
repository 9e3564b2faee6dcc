"""The Pygments lexer: no character is lost or strange, and what is what."""
from __future__ import annotations

from pathlib import Path

import pytest

pygments = pytest.importorskip("pygments")
from pygments.token import Comment, Error, Keyword, Name, Number, Operator, String, Text  # noqa: E402

from nessie.base.source import Source  # noqa: E402
from nessie.frontend.lexer import COMMAND_WORDS, Lexer  # noqa: E402
from nessie.highlighting import NeslLexer  # noqa: E402

ROOT = Path(__file__).parent.parent
PROGRAMS = [*sorted((ROOT / "nesl_examples").glob("*.nesl")), ROOT / "nessie" / "frontend" / "prelude.nesl"]


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_programs_are_cut_into_the_tokens_of_the_compiler(path: Path) -> None:
    text = path.read_text("utf-8")
    found = list(NeslLexer().get_tokens_unprocessed(text))
    assert "".join(value for _, _, value in found) == text
    assert not [value for _, kind, value in found if kind is Error]
    lexer = Lexer(Source("", text))
    tokens = [(token.start, token.end) for token in iter(lexer.token, None)]
    assert [(at, at + len(value)) for at, kind, value in found if kind not in (Text, Comment.Multiline)] == tokens


@pytest.mark.parametrize(("text", "kind", "value"), [
    ("function", Keyword.Declaration, "function"), ("LET", Keyword, "LET"), ("sum(x)", Name.Builtin, "sum"),
    ("mine", Name, "mine"), ("int", Keyword.Type, "int"), ("integer", Name, "integer"), ("t", Keyword.Constant, "t"),
    ("xs", Name, "xs"), ("1.5e3", Number.Float, "1.5e3"), ("1e3", Number.Float, "1e3"), ("12", Number.Integer, "12"),
    ("a and b", Operator.Word, "and"), ("->", Operator, "->"), ("`;", String.Char, "`;"),
    ('"a ; \\" b"', String.Double, '"a ; \\" b"'), ('"open', String.Double, '"open'),
    ("% ; %", Comment.Multiline, "% ; %"),
    (":type x", Keyword.Pseudo, ":type"), ('load "a";', Keyword.Pseudo, "load"), ("load(1)", Name, "load"),
])
def test_what_is_what(text: str, kind: object, value: str) -> None:
    assert (kind, value) in [(kind, value) for _, kind, value in NeslLexer().get_tokens_unprocessed(text)]


def test_every_command_is_highlighted() -> None:
    for word in COMMAND_WORDS - {"?"}:
        assert next(iter(NeslLexer().get_tokens_unprocessed(f"{word} x;")))[1] is Keyword.Pseudo, word
