"""The formats in which commands write. An option decides the format, or else the ending of the file's name.

    nessie graph FILE -e ENTRY -o x.svg         SVG
    nessie compile FILE -e ENTRY -o x.ll        LLVM's code

Both may be given if they agree. nessie.files.files handles the endings of `run -o` and `@path`.
"""
from __future__ import annotations

from pathlib import PurePath

from nessie.base.source import UsageError
from nessie.files.files import WRITTEN
from nessie.forms import FORMS
from nessie.inspect.views import VIEWS

CUBIN = "cubin"                         # machine code, which has no text
FORM_ENDINGS = {f".{form.name}": form.name for form in FORMS} | {".nesl": "syntax", ".ll": "llvm", ".cu": "cuda"}

# The endings of the files that each command writes, with the formats.
ENDINGS: dict[str, dict[str, str]] = {
    "compile": {**FORM_ENDINGS, f".{CUBIN}": CUBIN},
    "show": FORM_ENDINGS,
    "doctor": {".json": "json"},
    "profile": {".json": "json", ".jsonl": "json"},
    "plot": {".svg": "svg", ".png": "png", ".pdf": "pdf"},
    "run": {ending: ending[1:] for ending in WRITTEN},
    **{view.name: view.endings for view in VIEWS.values()},
}
TEXT = ("compile", "show", "explain", "profile", "doctor")      # they may also write to files of unknown endings


def format_of(command: str, path: str | None, asked: str | None = None, asks: str = "") -> str | None:
    """The format that is `asked` for (`asks` says so in words), else that of the path's ending; None if neither decides
    it. UsageError if they contradict each other, or the command does not write the ending."""
    ending = PurePath(path or "").suffix.lower()
    told = ENDINGS[command].get(ending)
    if told and asked and told != asked:
        raise UsageError(f"{path}: its ending {ending} says {told}, but {asks} {asked}",
                         hint=listed(command))
    others = [other for other, endings in ENDINGS.items() if ending in endings]
    if ending and not told and (others or not (asked or command in TEXT)):
        hint = f"{ending} is what nessie {others[0]} writes" if others else listed(command)
        raise UsageError(f"{path}: nessie {command} does not write {ending}", hint=hint)
    return asked or told


def listed(command: str) -> str:
    endings = list(ENDINGS[command])
    last = f"{', '.join(endings[:-1])} and {endings[-1]}" if len(endings) > 1 else endings[0]
    more = "; with another one, what it writes is text" if command in ("explain", "profile", "doctor") else ""
    return f"the endings of what nessie {command} writes are {last}{more}"
