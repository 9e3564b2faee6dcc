"""The Pygments lexer: no character is lost or strange, and what is what."""
from __future__ import annotations

import configparser
import os
import sys
from pathlib import Path

import pytest
from paths import ROOT
from processes import finished

pygments = pytest.importorskip("pygments")
from pygments.token import Comment, Error, Keyword, Name, Number, Operator, String, Text  # noqa: E402

from nessie.base.source import Source  # noqa: E402
from nessie.syntax.lexer import COMMAND_WORDS, Lexer  # noqa: E402
from nessie.tool.prompt.highlighting import NeslLexer  # noqa: E402

PROGRAMS = [*sorted((ROOT / "nesl_examples").glob("*.nesl")), *sorted((ROOT / "nessie" / "library").glob("*.nesl"))]


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
    ("1; describe sum;", Keyword.Pseudo, "describe"), ("1;\n\n  :type x", Keyword.Pseudo, ":type"),
    (":type describe\nshow status;", Keyword.Pseudo, "show"), ("help$ set verbose on;", Keyword.Pseudo, "set"),
    ("% what % describe sum;", Keyword.Pseudo, "describe"), ("{a\n:x in v}", Name, "x"),
    ("1 +\ndescribe sum", Name, "describe"),
    (":type {a\n:x in v}", Keyword.Pseudo, ":x"), (":type set x", Name, "set"),
])
def test_what_is_what(text: str, kind: object, value: str) -> None:
    assert (kind, value) in [(kind, value) for _, kind, value in NeslLexer().get_tokens_unprocessed(text)]


def test_every_command_is_highlighted() -> None:
    for word in COMMAND_WORDS - {"?"}:
        assert next(iter(NeslLexer().get_tokens_unprocessed(f"{word} x;")))[1] is Keyword.Pseudo, word


def test_pygments_finds_the_lexer_of_an_installed_nessie(tmp_path: Path) -> None:
    """What setup.cfg says of entry points, as an installer writes it down."""
    setup = configparser.ConfigParser()
    setup.read(ROOT / "setup.cfg")
    written = "".join(f"[{group}]\n{lines.strip()}\n" for group, lines in setup["options.entry_points"].items())
    folder = tmp_path / "nessie_nesl-0.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: nessie-nesl\nVersion: 0")
    (folder / "entry_points.txt").write_text(written)
    code = "from pygments.lexers import get_lexer_by_name; print(type(get_lexer_by_name('nesl')).__name__)"
    ran = finished([sys.executable, "-c", code],
                   env={**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), str(ROOT)])})
    assert ran.stdout == "NeslLexer\n", ran.stderr
