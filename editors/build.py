"""Writes how editors colour NESL, from the tables by which the compiler reads it.

    python editors/build.py

    vscode/syntaxes/nesl.tmLanguage.json    TextMate's grammar, for VS Code and others
    vim/syntax/nesl.vim                     for Vim and Neovim
    emacs/nesl-words.el                     for Emacs
"""
from __future__ import annotations

import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from nessie.base.text.types_text import BASES
from nessie.library.library import library
from nessie.syntax.lexer import COMMAND_WORDS, NAME_CHARACTER, OPERATORS, WORDS

FOLDER = Path(__file__).resolve().parent
DEFINING = ("function", "datatype")
CONSTANTS = tuple(sorted(word for word, kind in WORDS.items() if kind == "BOOL"))
LOGICAL = tuple(sorted(word for word, kind in WORDS.items() if kind in ("AND", "OR")))
KEYWORDS = tuple(sorted(set(WORDS) - {*DEFINING, *CONSTANTS, *LOGICAL}))
COMMANDS = tuple(sorted(COMMAND_WORDS - {"?"}))
BRACKETS = ("(", ")", "[", "]", "{", "}", ",", ";", "$", ":")
SIGNS = tuple(sorted((text for text in OPERATORS if text not in BRACKETS), key=lambda text: (-len(text), text)))
FLOAT = r"(?:[0-9]+\.[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|[0-9]+[eE][+-]?[0-9]+"


def functions() -> list[str]:
    """The names of the library that programs use."""
    return sorted(name for name in library().names() if re.fullmatch(r"[a-z]\w*", name) and name not in WORDS)


def whole(words: Iterable[str]) -> str:
    """The pattern of these words, in capitals or not; no name goes on before or behind them."""
    return rf"(?i)(?<!{NAME_CHARACTER})(?:{'|'.join(words)})(?!{NAME_CHARACTER})"


def text_mate() -> str:
    def one(scope: str, match: str) -> dict[str, str]:
        return {"name": f"{scope}.nesl", "match": match}

    patterns: list[dict[str, Any]] = [
        {"name": "comment.block.nesl", "begin": "%", "end": "%",
         "patterns": [one("keyword.operator.example", "=>")]},
        {"name": "string.quoted.double.nesl", "begin": '"', "end": '"',
         "patterns": [one("constant.character.escape", r"\\.")]},
        one("constant.character", "`."),
        one("constant.numeric.float", rf"(?:{FLOAT})(?!{NAME_CHARACTER})"),
        one("constant.numeric.integer", rf"(?<!{NAME_CHARACTER})[0-9]+(?!{NAME_CHARACTER})"),
        {"match": rf"(?i)(?<!{NAME_CHARACTER})({'|'.join(DEFINING)})\s+({NAME_CHARACTER}+)",
         "captures": {"1": {"name": "storage.type.nesl"}, "2": {"name": "entity.name.function.nesl"}}},
        one("keyword.control.directive", rf'(?i)^\s*(?:{"|".join(COMMANDS)})(?=\s+[\w"]|\s*[;$])'),
        one("constant.language", whole(CONSTANTS)),
        one("keyword.operator.logical", whole(LOGICAL)),
        one("keyword.control", whole(KEYWORDS)),
        one("support.type", whole(sorted(BASES))),
        one("support.function", whole(functions())),
        one("keyword.operator", "|".join(map(re.escape, SIGNS))),
        one("variable.other", f"{NAME_CHARACTER}+"),
    ]
    return json.dumps({"name": "NESL", "scopeName": "source.nesl", "fileTypes": ["nesl"], "patterns": patterns},
                      indent=2, ensure_ascii=False) + "\n"


def vim() -> str:
    groups = {"Define": DEFINING, "Boolean": CONSTANTS, "Operator": LOGICAL, "Keyword": KEYWORDS, "Type": sorted(BASES),
              "Function": functions()}
    signs = r"\|".join(re.sub(r"([\^$.*~\[\]/])", r"\\\1", sign) for sign in SIGNS)
    lines = ['" Written by editors/build.py from the tables of the compiler.', "syntax case ignore",
             *[f"syntax keyword nesl{group} {word}" for group, words in groups.items() for word in words],
             f"syntax match neslOperator /{signs}/",
             r"syntax match neslNumber /\%(\<\d\+\%(\.\d*\)\=\|\.\d\+\)\%([eE][+-]\=\d\+\)\=/",
             "syntax match neslCharacter /`./", r'syntax region neslString start=/"/ skip=/\\./ end=/"/',
             "syntax region neslComment start=/%/ end=/%/", "syntax sync fromstart"]
    lines += [f"highlight default link nesl{group} {group}" for group in (*groups, "Number", "Character", "String",
                                                                           "Comment")]
    return "\n".join([*lines, 'let b:current_syntax = "nesl"', ""])


def emacs() -> str:
    def listed(name: str, words: Iterable[str], what: str) -> str:
        return f"(defconst nesl-{name}\n  '({' '.join(f'{chr(34)}{word}{chr(34)}' for word in words)})\n  \"{what}\")\n"

    return "\n".join([";;; nesl-words.el --- NESL's words, from the compiler's tables -*- lexical-binding: t -*-\n",
                      ";; Written by editors/build.py.\n",
                      listed("keywords", (*DEFINING, *KEYWORDS, *LOGICAL), "The words of the language."),
                      listed("constants", CONSTANTS, "The booleans."),
                      listed("types", sorted(BASES), "The types that have names."),
                      listed("functions", functions(), "The names of the library."),
                      "(provide 'nesl-words)\n;;; nesl-words.el ends here\n"])


WRITTEN = {"vscode/syntaxes/nesl.tmLanguage.json": text_mate, "vim/syntax/nesl.vim": vim, "emacs/nesl-words.el": emacs}


def main() -> None:
    for path, text in WRITTEN.items():
        (FOLDER / path).parent.mkdir(parents=True, exist_ok=True)
        (FOLDER / path).write_text(text(), "utf-8")


if __name__ == "__main__":
    main()
