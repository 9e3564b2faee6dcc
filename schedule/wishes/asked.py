"""Wishes for mappings and levels as options have them: `b=Jing`, `b case 2=Jing`, or `@FILE`, whose lines are `b by
Jing` or `b case 2 by Jing`; `s=warp`, or `b=grid,block`, a level for each axis."""
from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from nessie.base.source import NessieError, Source, Span
from nessie.base.text.nearest import nearest
from nessie.base.text.places import Places
from nessie.lambda_cu.mappings.broken import broken
from nessie.lambda_cu.mappings.levels import ITEMS, LEVELS, OWNERS
from nessie.lambda_cu.mappings.nodes import REST, STRATEGIES, Cases, Mapping
from nessie.lambda_cu.mappings.owners import by_levels
from nessie.lambda_cu.mappings.text import inside, parse_part
from nessie.schedule.wishes.wishes import LEVEL, MAP, Wish

ASKED = re.compile(r"\s*([^\s=]+)(?:\s+(?i:case)\s+([^\s=]+))?\s*=\s*(.*\S)\s*", re.DOTALL)
LINE = re.compile(r"[^\S\n]*([^\s#]\S*)(?:[^\S\n]+(?i:case)[^\S\n]+(\S+))?[^\S\n]+by[^\S\n]+([^\n]*[^\s])[^\S\n]*")
LISTED = re.compile(r"[^,]+|(?<=,)(?=,|$)")
SKIPPED = re.compile(r"\s*(#.*)?")


def asked(text: str, option: str = "--map") -> list[Wish]:
    """Return what an option's value wishes for. Raise NessieError, with the word underlined, where it is none."""
    if text.startswith("@"):
        return list(of_file(text[1:]))
    source = Source(option, text)
    wanted = "NAME=MAPPING, such as b=Jing, or NAME case 2=MAPPING"
    return [wish(source, ASKED.fullmatch(text), Span(source, 0, len(text)), wanted)]


def asked_levels(text: str, option: str = "--level") -> Wish:
    """Return what an option's value wishes for. Raise NessieError, with the word underlined, where it is none."""
    source, found = Source(option, text), ASKED.fullmatch(text)
    if found is None or found[2]:
        raise NessieError("what is to be computed where must stand here: NAME=LEVEL, such as s=warp, or a level for "
                          "each axis, such as b=grid,block", (Span(source, 0, len(text)), ""))
    levels = Span(source, *found.span(3))
    if (wrong := mistake_in_levels(levels)) is not None:
        raise wrong
    return Wish(LEVEL, found[1].lower(), "".join(found[3].lower().split()), text=levels,
                name_text=Span(source, *found.span(1)))


def mistake_in_levels(text: Span) -> NessieError | None:
    """The error of a list of levels that has a word which is none. A level by itself owns segments, or none does."""
    words = list(LISTED.finditer(text.source.text, text.start, text.end))
    several = len(words) > 1
    known = tuple(LEVELS) if several else (*OWNERS, ITEMS)
    for word in words:
        if (level := word[0].strip().lower()) not in known:
            meant = nearest(level, known)
            start = word.start() + len(word[0]) - len(word[0].lstrip())
            written = word[0].strip()
            missing = f"there is no level {written}{'' if several else ' that owns segments'}" if level else \
                "a level must stand here"
            more = f"; did you mean {meant}?" if meant else elsewhere(level)
            return NessieError(missing, (Span(text.source, start, start + len(level)), ""),
                               hint=f"there are {', '.join(known)}{more}")
    owner = by_levels(tuple([word[0].strip().lower() for word in words]))
    if (refused := broken(owner)) is not None:
        return NessieError(refused.message, (text, ""))
    return None


def elsewhere(word: str) -> str:
    """Where a word is asked for that is no level by itself, as part of a hint; '' where nothing knows it."""
    if word in LEVELS:
        return f"; {word} is one of a list, a level for each axis, such as grid,block"
    mapping = next((name for name in STRATEGIES if name.lower() == word), "")
    return f"; {mapping} is a mapping: --map NAME={mapping}, or % map NAME by {mapping} %" if mapping else ""


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
    made = Wish(MAP, found[1].lower(), found[3], text=text, case=(found[2] or "").lower(), case_text=case,
                name_text=Span(source, *found.span(1)))
    case_number(made)
    if isinstance(possible(text), Cases) and case:
        raise NessieError("the mapping of a case has no cases", (text, ""))
    return made


def possible(text: Span) -> Mapping:
    """The mapping that the text is; raise NessieError where no space has it, with the word underlined."""
    places = Places(text.source)
    mapping = parse_part(text, places)
    if (wrong := broken(mapping)) is not None:
        part = places.of(wrong.part)
        raise NessieError(wrong.message, (inside(text, part) if part else text, ""))
    return mapping


def case_number(wish: Wish) -> int:
    """The number of the wish's case."""
    if wish.case == "rest":
        return REST
    if not re.fullmatch("[1-9][0-9]{0,8}", wish.case, re.ASCII) and wish.case:
        raise NessieError("a case is the number of a test, from 1 on, or `rest`",
                          *([(wish.case_text, "")] if wish.case_text else []))
    return int(wish.case or REST)
