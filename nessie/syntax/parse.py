"""Pass: parse NESL's text into syntax trees.

  in    a Source
  out   syntax, every node with its span
  how   Forms are parsed one at a time (syntax.parser); `load "file";` stands for the file's forms.
"""
from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from nessie.base.source import NessieError, Source, Span, decoded
from nessie.base.system.file_names import files
from nessie.base.text.nearest import nearest
from nessie.syntax import nodes as syntax
from nessie.syntax.parser import parse_forms

Read = Callable[[str, "list[tuple[Span, str]]"], Source]       # reads a file, whose name stands at these places
QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"', re.DOTALL)
SWITCHES = re.compile(r"(\s*,\s*(verbose|print)\s*:=\s*[tf])*\s*", re.IGNORECASE)      # they may follow a file's name


def parse(source: Source, read: Read | None = None) -> syntax.Program:
    """Parse the whole program, whose files `read` reads; the first bad form raises."""
    found: list[syntax.TopLevel] = []
    for form in forms(source, read=read):
        if isinstance(form, NessieError):
            raise form
        found.append(form)
    return syntax.Program(tuple(found))


def without_bare_expressions(program: syntax.Program) -> syntax.Program:
    """Return what the program defines."""
    return syntax.Program(tuple([form for form in program.forms if not isinstance(form, syntax.Evaluate)]))


def forms(source: Source, ends_itself: bool = False, read: Read | None = None
          ) -> Iterator[syntax.TopLevel | NessieError]:
    """Yield each form in order, or its error if it is bad. A file is read when its turn comes, by `read`.
    `ends_itself`: the last form needs no `;`."""
    return expanded(parse_forms(source, ends_itself), (source,), read)


def expanded(written: Iterable[syntax.TopLevel | NessieError], inside: tuple[Source, ...] = (),
             read: Read | None = None) -> Iterator[syntax.TopLevel | NessieError]:
    """Yield the forms, including those of loaded files. `inside`: the sources that are being loaded already."""
    for form in written:
        if not (isinstance(form, syntax.Command) and form.word == "load"):
            yield form
            continue
        try:
            loaded = file_of(form, read or read_source)
            if loaded in inside:
                raise NessieError(f"{loaded.name} is being loaded already", *place(form))
        except NessieError as error:
            yield error
        else:
            yield from expanded(parse_forms(loaded), (loaded, *inside), read)


def file_of(command: syntax.Command, read: Read) -> Source:
    """Return the source that the command loads; the name's ending .nesl may be left out."""
    name, rest = quoted(command, "the name of a file")
    if not SWITCHES.fullmatch(rest):
        raise NessieError("load takes the name of a file as it is written, and then only verbose := t or print := t",
                          *place(command))
    completed = f"{name}.nesl"
    return read(completed if not Path(name).exists() and Path(completed).exists() else name, place(command))


def quoted(command: syntax.Command, what: str) -> tuple[str, str]:
    """Return the string that a command needs, and the text behind it."""
    found = QUOTED.match(command.text)
    if found is None:
        raise NessieError(f"{command.word} needs {what}, in quotes", *place(command), hint=f'{command.word} "..."')
    return re.sub(r"\\(.)", r"\1", found[1], flags=re.DOTALL), command.text[found.end():]


def read_source(path: str, places: list[tuple[Span, str]] | None = None) -> Source:
    """Read the text of a program's file."""
    try:
        text = decoded(path, Path(path).read_bytes(), *(places or []))
        return Source(path, text.replace("\r\n", "\n").replace("\r", "\n"))
    except OSError as error:
        reason = error.strerror or str(error)
    except ValueError as error:                 # not a valid file name
        reason = str(error)
    raise NessieError(f"cannot read {path}: {reason}", *(places or []), hint=similar_file(path))


def similar_file(path: str) -> str:
    """Return a hint at a program in the same folder with a similar name."""
    folder, name = os.path.split(path)
    programs = [found.removesuffix(".nesl") for found in files(os.path.join(folder, ""), ".nesl")]
    near = nearest(path.removesuffix(".nesl"), programs, 0.7) if name else None
    return f"did you mean {near}.nesl?" if near and not near.endswith("/") else ""


def place(command: syntax.Command) -> list[tuple[Span, str]]:
    return [(command.span, "")] if command.span else []


@contextmanager
def placed(command: syntax.Command) -> Iterator[None]:
    """Move errors of the body to the command's place."""
    try:
        yield
    except NessieError as error:
        error.places = tuple(place(command))
        raise
