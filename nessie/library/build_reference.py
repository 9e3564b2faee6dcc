"""Writes the reference of docs/language.md, all library functions:   python -m nessie.library.build_reference

The functions, their types and their descriptions come from prelude.nesl, drawing.nesl and primitives.py. The sections
are those of the first two; PLACES assigns the primitives to them.
"""
from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from nessie.base.source import Source
from nessie.base.system.writing import write
from nessie.base.text.types_text import show_scheme
from nessie.library.library import SOURCES, library
from nessie.library.primitives import BINARY, CONSTANTS, DRAWING, PRIMITIVES, W_COLORS, Primitive
from nessie.syntax import nodes as syntax
from nessie.syntax.parse import parse
from nessie.syntax.text import show_pattern

PAGE = Path(__file__).parent.parent.parent / "docs" / "language.md"
START = "<!-- What follows is written by: python -m nessie.library.build_reference -->\n"
SECTION = re.compile(r"^% (.+?) -{5,} %$", re.MULTILINE)

PLACES = {
    "Any type": "eql identity first rest", "Making sequences": "dist iseq", "Reductions, scans": "sum product max_val "
    "min_val any all parity plus_scan mult_scan max_scan min_scan or_scan and_scan xor_scan", "Reordering": "get write",
    "Selecting": "length elt append subseq", "Nesting": "flatten partition", "Strings": "string",
    "Random numbers": "rand rand_seed", "Streams and files": "nullstr stdin stdout stderr nesl_path user",
    "Other programs": "get_environment_variable", "Drawing: one window, one box": "default_window display",
    "Drawing: windows with boxes": " ".join([name for name, _, _ in W_COLORS]),
    "Drawing: pixels": " ".join([name for name, _, _ in DRAWING]),
}
PLACE = {name: section for section, names in PLACES.items() for name in names.split()}
DATATYPE = "A datatype, and its constructor."
SCALARS, EFFECTS = "Scalars", "Output"          # the sections of the primitives that PLACES does not list

DATA_PATTERN = re.compile(r"(\w+)\(\w+\)")         # hashtable(slots)

Row = tuple[str, str, str, str]         # section, the call as one writes it, its type, its description


def rows() -> Iterator[Row]:
    yield from (primitive_row(row) for row in PRIMITIVES.values() if not row.name.startswith("_"))
    yield from ((PLACE.get(row.name, SCALARS), row.name, row.type, row.doc) for row in CONSTANTS.values())
    for path in SOURCES:
        text = path.read_text("utf-8")
        for form in parse(Source(path.name, text, library=True)).forms:
            if isinstance(form, syntax.FunctionDef | syntax.DatatypeDef) and form.span:
                section = [found[1] for found in SECTION.finditer(text, 0, form.span.start)][-1]
                call, doc = (written(form), form.doc) if isinstance(form, syntax.FunctionDef) else (form.name, DATATYPE)
                if call:
                    yield section, call, type_of(form.name), doc or ""


def primitive_row(row: Primitive) -> Row:
    section = PLACE.get(row.name, EFFECTS if row.kind == "effect" else SCALARS)
    operator = not row.name[0].isalpha() or row.name in ("and", "or", "xor")
    return section, f"a {row.name} b" if operator else row.name, row.type, row.doc


def written(form: syntax.FunctionDef) -> str:
    """A call of the function as programs write it: by an operator, if its name is the library's own; empty if there is
    none."""
    names = DATA_PATTERN.sub(r"\1", show_pattern(form.parameter)).strip("()").split(", ")
    if not form.name.startswith("_"):
        return f"{form.name}({','.join(names)})"
    operator = next((sign for sign, target in BINARY.items() if target == form.name), "")
    return f" {operator} ".join(names) if operator else ""


def type_of(name: str) -> str:
    scheme = library().global_scheme(name)
    assert scheme is not None
    return show_scheme(scheme.type)


def reference() -> str:
    """The reference, the last part of the page."""
    found = sorted(rows(), key=lambda row: row[1].lower())
    parts = [START]
    for section in sections():
        parts.append(f"\n### {section}\n\n| | type | |\n|---|---|---|\n")
        parts += [f"| `{cell(call)}` | `{cell(without_any(type_))}` | {cell(doc)} |\n"
                  for place, call, type_, doc in found if place == section]
    return "".join(parts)


def sections() -> list[str]:
    return [found[1] for path in SOURCES for found in SECTION.finditer(path.read_text("utf-8"))]


def without_any(type_: str) -> str:
    """The type without the class any, which is the default for variables."""
    shown, _, contexts = type_.partition(" :: (")
    kept = [context for context in contexts.rstrip(")").split("; ") if context and not context.endswith(" in any")]
    return f"{shown} :: ({'; '.join(kept)})" if kept else shown


def cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def page() -> str:
    """The whole page, with the current reference."""
    return PAGE.read_text("utf-8").partition(START)[0] + reference()


if __name__ == "__main__":
    write(PAGE, page())
    print(f"{PAGE.name} written")
