"""Describes a name: its type, its documentation, its origin, its definition. Also searches the names."""
from __future__ import annotations

import re
from difflib import get_close_matches

from nessie.base.source import InternalError, NessieError
from nessie.base.text.types_text import show_scheme
from nessie.library.library import SOURCES
from nessie.library.primitives import BINARY, CONSTANTS, PRIMITIVES, UNARY
from nessie.syntax import nodes as syntax
from nessie.syntax.errors.other_languages import NAMES, OF_NESL
from nessie.syntax.lexer import WORDS, Lexer
from nessie.syntax.parse import place, read_source
from nessie.syntax.parser import Automaton, next_form
from nessie.typing.environment import Entry, Environment

KINDS = {"constructor": "datatype"}         # the users' words for kinds


def describe(environment: Environment, command: syntax.Command, name: str) -> str:
    """The name's type, its kind, whether the library or the session defines it, and its documentation."""
    entry = entry_of(environment, command, name)
    whose = "of the library" if of_library(environment, name) else "of the session"
    anew = "; may be redefined" if whose == "of the library" and not environment.is_protected(name) else ""
    lines = [f"{name} : {show_scheme(entry.scheme.type)}", f"  {KINDS.get(entry.kind, entry.kind)} {whose}{anew}"]
    doc = documentation(environment, entry)
    return "\n".join(lines + [f"  {line}" for line in doc.splitlines()]) + "\n"


def apropos(environment: Environment, text: str) -> str:
    """The names that contain the text, or whose documentation does."""
    docs = {name: documentation(environment, entry) for name in environment.names()
            if (entry := environment.lookup(name)) is not None}
    found = [name for name, doc in docs.items() if text in name or text in doc.lower()]
    width = max(map(len, found), default=0)
    advice = NAMES.get(text, "")            # where other languages have a name for it
    lines = [f"{name:{width}}  {first_sentence(docs[name])}".rstrip() for name in found]
    lines += [f"{text}: {advice}"] if advice else []
    return "\n".join(lines or [f"{text} occurs in no name, nor in what is said about one."]) + "\n"


def first_sentence(text: str) -> str:
    return re.split(r"(?<=\.) (?=[A-Z])", " ".join(text.split()), maxsplit=1)[0]


def code(environment: Environment, command: syntax.Command, name: str) -> str:
    """The name's definition, as written."""
    entry = entry_of(environment, command, name)
    if not of_library(environment, name):
        return "".join(f"{span.source.text[span.start:span.end]};\n" for span in entry.origin[:1])
    if entry.kind in ("primitive", "constant"):
        return f"{name} is a {entry.kind}.\n"
    for source in map(read_source, map(str, SOURCES)):
        if found := re.search(rf"^(function|datatype) {re.escape(entry.name)}\b", source.text, re.MULTILINE):
            lexer = Lexer(source, found.start())
            next_form(lexer, Automaton(lexer))
            return source.text[found.start():lexer.position] + "\n"
    raise InternalError(f"the library does not define {name}")


def entry_of(environment: Environment, command: syntax.Command, name: str) -> Entry:
    """The entry that the name or operator denotes. NessieError if there is none."""
    operator = BINARY.get(name) or UNARY.get(name)
    entry = environment.lookup(name) or (environment.builtin(operator) if operator else None)
    if entry is not None:
        return entry
    if name in WORDS:
        raise NessieError(f"{name} is a word of the language, no name", *place(command), hint=OF_NESL.get(name, ""))
    near = get_close_matches(name, environment.names(), 3, 0.65)
    hint = f"there is {' and '.join(near)}; " if near else ""
    raise NessieError(f"nothing is named {name}", *place(command),
                      hint=f"{hint}apropos {name}; looks through names and what is said about them")


def of_library(environment: Environment, name: str) -> bool:
    return environment.program.entry(name) is None


def documentation(environment: Environment, entry: Entry) -> str:
    """The documentation that the entry's author has written."""
    if entry.kind == "primitive":
        return PRIMITIVES[entry.name].doc
    if entry.kind == "constant":
        return CONSTANTS[entry.name].doc
    return environment.documentation(entry.name)
