"""The forms of a program, those of the files that it loads included: `load "file";` stands for the file's forms."""
from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from nessie.base.source import NessieError, Source, Span
from nessie.frontend import syntax
from nessie.frontend.parser import parse_forms


def program(source: Source) -> syntax.Program:
    """The whole program; the first bad form raises."""
    found: list[syntax.TopLevel] = []
    for form in forms(source):
        if isinstance(form, NessieError):
            raise form
        found.append(form)
    return syntax.Program(tuple(found))


def forms(source: Source, ends_itself: bool = False,
          inside: tuple[Source, ...] = ()) -> Iterator[syntax.TopLevel | NessieError]:
    """Each form in order; for a bad one its error. A file is read when its turn comes. `ends_itself`: the last form
    needs no `;`. `inside`: the sources that are being loaded already."""
    for form in parse_forms(source, ends_itself):
        if not (isinstance(form, syntax.Command) and form.word == "load"):
            yield form
            continue
        try:
            loaded = file_of(form)
            if loaded in (source, *inside):
                raise NessieError(f"{loaded.name} is being loaded already", *place(form))
        except NessieError as error:
            yield error
        else:
            yield from forms(loaded, inside=(source, *inside))


def file_of(command: syntax.Command) -> Source:
    """What the command loads; the name's ending .nesl may be left out."""
    words = command.text.split('"')
    if len(words) < 3:
        raise NessieError("load needs the name of a file, in quotes", *place(command))
    path = Path(words[1])
    return read_source(str(path if path.exists() else f"{path}.nesl"), place(command))


def read_source(path: str, places: list[tuple[Span, str]] | None = None) -> Source:
    """The text of a program's file."""
    try:
        return Source(path, Path(path).read_text(encoding="utf-8"))
    except UnicodeDecodeError:
        reason = "it is not UTF-8 text"
    except OSError as error:
        reason = error.strerror or str(error)
    except ValueError as error:                 # no name of a file
        reason = str(error)
    raise NessieError(f"cannot read {path}: {reason}", *(places or []))


def place(command: syntax.Command) -> list[tuple[Span, str]]:
    return [(command.span, "")] if command.span else []
