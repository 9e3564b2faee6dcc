"""The lexer of NESL for Pygments. It colours the prompt, and programs in documents (an entry point of pygments.lexers).

    pygmentize -l nesl quicksort.nesl

Words, operators and the names of the library come from the tables that the compiler reads.
"""
from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from typing import Any, ClassVar

from pygments.lexer import RegexLexer, bygroups, default, include, words
from pygments.token import Comment, Keyword, Name, Number, Operator, Punctuation, String, Text

from nessie.base.types import ZEROS
from nessie.library.library import library
from nessie.syntax.lexer import COMMAND_WORDS, NAME_CHARACTER, OPERATORS, WORDS

BRACKETS = ("(", ")", "[", "]", "{", "}", ",", ";", "$", ":")
NUMBER = r"(?:[0-9]+\.?[0-9]*|\.[0-9]+)"
EXPONENT = r"[eE][+-]?[0-9]+"
COMMENT = r"%[^%]*(?:%|\Z)"
COMMAND = rf"(?:{'|'.join(sorted(COMMAND_WORDS - {'?'}))})(?=\s+[\w\"]|\s*[;$])"
NO_NAME = rf"(?!{NAME_CHARACTER})"


@cache
def library_names() -> frozenset[str]:
    return frozenset(library().names())


class NeslLexer(RegexLexer):
    """NESL as Nessie reads it, and the commands of its prompt."""
    name = "NESL"
    aliases: ClassVar[list[str]] = ["nesl"]
    filenames: ClassVar[list[str]] = ["*.nesl"]
    url = "https://www.cs.cmu.edu/~scandal/nesl.html"
    flags = re.IGNORECASE | re.MULTILINE

    # Commands begin forms. The state `root` is before a form; the others are inside one, `line` in a command of the
    # prompt.
    tokens: ClassVar[dict[str, list[Any]]] = {"root": [
        (r"^([^\S\n]*)(:(?:\w+|\?))", bygroups(Text, Keyword.Pseudo), "line"),
        (r"\s*\n|[^\S\n]+", Text),
        (COMMENT, Comment.Multiline),
        (COMMAND, Keyword.Pseudo, "form"),
        (r"[;$]", Punctuation),
        default("form"),
    ], "line": [
        (r"[^\S\n]*\n", Text, "#pop"),
        include("inside"),
    ], "form": [
        (r"[;$]", Punctuation, "#pop"),
        include("inside"),
    ], "inside": [
        (r"\s+", Text),
        (COMMENT, Comment.Multiline),
        (r'"(?:[^"\\]|\\[\s\S])*(?:"|\Z)', String.Double),
        (r"`[\s\S]", String.Char),
        (rf"(?:{NUMBER}{EXPONENT}|[0-9]+\.[0-9]*|\.[0-9]+){NO_NAME}", Number.Float),
        (rf"[0-9]+{NO_NAME}", Number.Integer),
        (words(("t", "f"), suffix=NO_NAME), Keyword.Constant),
        (words(("function", "datatype"), suffix=NO_NAME), Keyword.Declaration),
        (words(("and", "or", "nand", "nor", "xor"), suffix=NO_NAME), Operator.Word),
        (words(tuple(WORDS), suffix=NO_NAME), Keyword),
        (words(tuple(ZEROS), suffix=NO_NAME), Keyword.Type),
        (rf"{NAME_CHARACTER}+", Name),
        (words(tuple(text for text in OPERATORS if text not in BRACKETS)), Operator),
        (words(BRACKETS), Punctuation),
    ]}

    def get_tokens_unprocessed(self, text: str, stack: Iterable[str] = ("root",)) -> Any:
        """The tokens, with names of the library marked as builtin."""
        for at, kind, value in super().get_tokens_unprocessed(text, stack):
            yield at, Name.Builtin if kind is Name and value.lower() in library_names() else kind, value
