"""Wishes for mappings as options have them: `b=Jing`, `b case 2=Jing`, or `@FILE`, whose lines are `b by Jing` or `b
case 2 by Jing`."""
from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from nessie.base.source import NessieError, Source, Span
from nessie.lambda_cu.mappings.nodes import REST, Cases
from nessie.lambda_cu.mappings.text import parse_part
from nessie.schedule.wishes.wishes import MAP, Wish

ASKED = re.compile(r"\s*([^\s=]+)(?:\s+(?i:case)\s+([^\s=]+))?\s*=\s*(.*\S)\s*", re.DOTALL)
LINE = re.compile(r"[^\S\n]*([^\s#]\S*)(?:[^\S\n]+(?i:case)[^\S\n]+(\S+))?[^\S\n]+by[^\S\n]+([^\n]*[^\s])[^\S\n]*")
SKIPPED = re.compile(r"\s*(#.*)?")


def asked(text: str, option: str = "--map") -> list[Wish]:
    """Return what an option's value wishes for. Raise NessieError, with the word underlined, where it is none."""
    if text.startswith("@"):
        return list(of_file(text[1:]))
    source = Source(option, text)
    wanted = "NAME=MAPPING, such as b=Jing, or NAME case 2=MAPPING"
    return [wish(source, ASKED.fullmatch(text), Span(source, 0, len(text)), wanted)]


def of_file(path: str) -> Iterator[Wish]:
    try:
        content = Path(path).read_text("utf-8")
    except (OSError, UnicodeDecodeError) as wrong:
        raise NessieError(f"{path} cannot be read: {getattr(wrong, 'strerror', None) or wrong}") from None
    source, at = Source(path, content), 0
    for line in content.splitlines(keepends=True):
        place = Span(source, at, at + len(line.rstrip()))
        if not SKIPPED.fullmatch(line.strip()):
            wanted = "NAME by MAPPING, or NAME case 2 by MAPPING"
            yield wish(source, LINE.fullmatch(content, place.start, place.end), place, wanted)
        at += len(line)


def wish(source: Source, found: re.Match[str] | None, place: Span, wanted: str) -> Wish:
    """The wish that is written so; its mapping is read now, so that a mistake is told whatever the target."""
    if found is None:
        raise NessieError(f"what is to be walked how must stand here: {wanted}", (place, ""))
    text = Span(source, *found.span(3))
    case = Span(source, *found.span(2)) if found[2] else None
    made = Wish(MAP, found[1].lower(), found[3], text=text, case=(found[2] or "").lower(), case_text=case)
    case_number(made)
    if isinstance(parse_part(text), Cases) and case:
        raise NessieError("the mapping of a case has no cases", (text, ""))
    return made


def case_number(wish: Wish) -> int:
    """The number of the wish's case."""
    if wish.case == "rest":
        return REST
    if not re.fullmatch("[1-9][0-9]{0,8}", wish.case, re.ASCII) and wish.case:
        raise NessieError("a case is the number of a test, from 1 on, or `rest`",
                          *([(wish.case_text, "")] if wish.case_text else []))
    return int(wish.case or REST)
