"""Loads the typed library, with which programs start.

library.typed is prelude.nesl and drawing.nesl as a typed program, made by `python -m nessie.library.build_library`. Its
definitions are found by their first lines, and parsed at their first use: a program pays only for what it uses.
"""
from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path

from nessie.base.names import shown_name
from nessie.base.source import Source
from nessie.base.text.tokens import Tokens
from nessie.base.text.types_text import primitive_scheme
from nessie.base.types import Scheme
from nessie.base.widths import FULL, Widths
from nessie.library.primitives import PRIMITIVES
from nessie.typing import nodes as typed
from nessie.typing.environment import Anonymous, Definitions, Entry, Environment, constructor_scheme, function_scheme
from nessie.typing.parser import Parser
from nessie.typing.text import KEYWORDS

PRELUDE, DRAWING = [Path(__file__).with_name(name) for name in ("prelude.nesl", "drawing.nesl")]
SOURCES = (PRELUDE, DRAWING)
TYPED = Path(__file__).with_name("library.typed")
DEFINITION = re.compile(r"^(function|datatype) `?(\w+)", re.MULTILINE)


def library(widths: Widths = FULL) -> Environment:
    """An environment in which only the library is defined, for a program whose numbers have these widths."""
    return Environment(prebuilt(), widths=widths)


@cache
def prebuilt() -> Prebuilt:
    return Prebuilt(TYPED.read_text("utf-8"))


class Prebuilt(Definitions):
    """The definitions in a text, each parsed at its first use."""

    def __init__(self, text: str) -> None:
        super().__init__()
        starts = list(DEFINITION.finditer(text))
        ends = [start.start() for start in starts[1:]] + [len(text)]
        self.texts = {start[2]: text[start.start():end] for start, end in zip(starts, ends, strict=True)}

    @property
    def functions(self) -> Mapping[str, typed.Function]:
        return Functions(self)

    def names(self) -> Iterable[str]:
        return self.texts

    def entry(self, name: str) -> Entry | None:
        if name not in self.entries and name in self.texts:
            self.entries[name] = self.read_entry(name)
        return self.entries.get(name)

    def scheme(self, name: str) -> Scheme | None:
        entry = self.entry(name)
        return entry.scheme if entry else None

    def function(self, name: str) -> typed.Function | None:
        if name not in self.own_functions and self.texts.get(name, "").startswith("function"):
            definition = self.parser(name).definition()
            assert isinstance(definition, typed.Function)
            self.add(definition)
        return self.own_functions.get(name)

    def anonymous(self, identity: str) -> Anonymous | None:
        self.function(shown_name(identity))         # parses the function around it
        return super().anonymous(identity)

    def documentation(self, name: str) -> str:
        header = self.parser(name).header() if name in self.texts else None
        return (header.doc or "") if isinstance(header, typed.Function) else ""

    def datatype(self, name: str) -> typed.Datatype | None:
        self.entry(name)
        return self.datatypes.get(name)

    def read_entry(self, name: str) -> Entry:
        """The entry that the definition's first line describes."""
        header = self.parser(name).header()
        if isinstance(header, typed.Datatype):
            self.datatypes[name] = header
            return Entry("constructor", name, constructor_scheme(header))
        return Entry("function", name, function_scheme(header))

    def parser(self, name: str) -> Parser:
        return Parser(Tokens(Source(TYPED.name, self.texts[name], library=True), KEYWORDS), self.global_scheme)

    def global_scheme(self, name: str) -> Scheme | None:
        """The scheme of a primitive or a definition of the library."""
        row = PRIMITIVES.get(name)
        return primitive_scheme(name, row.type) if row else self.scheme(name)


class Functions(Mapping[str, typed.Function]):
    """All functions of the library, by name. Each is parsed at its first use."""

    def __init__(self, library: Prebuilt) -> None:
        self.library = library

    def __getitem__(self, name: str) -> typed.Function:
        function = self.library.function(name)
        if function is None:
            raise KeyError(name)
        return function

    def __iter__(self) -> Iterator[str]:
        return (name for name, text in self.library.texts.items() if text.startswith("function"))

    def __len__(self) -> int:
        return sum(1 for _ in self)
