"""Turns the ARGs of a command line into expressions: their own text, or names for the values in files."""
from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import nullcontext

from nessie.arguments.types import GivenArgument, Parameters, Written, types_of
from nessie.base.source import NessieError, Source
from nessie.base.system.memory import MemoryBudget
from nessie.base.text.types_text import show_scheme
from nessie.base.types import Fun, Pair, Type, unnest_right
from nessie.files import files
from nessie.files.parts import File
from nessie.session.session import Session
from nessie.syntax import nodes as syntax
from nessie.syntax.parser import parse_expression


def arguments_of(session: Session, entry: str, texts: Sequence[str]) -> list[syntax.Exp]:
    """The arguments of a call of the entry. Files are opened first; their values are made once the types of all
    arguments are known."""
    wanted = session.parameter_types(entry, len(texts))
    check_files(entry, texts, wanted)
    expressions: dict[int, syntax.Exp] = {}
    opened: dict[int, File] = {}
    limit = session.memory() if any(text.startswith("@") for text in texts) else None
    room = MemoryBudget(limit, session.target.limits.hints.memory)
    for place, text in enumerate(texts):
        if text.startswith("@"):
            with session.target.activity.paused() if text == "@-" else nullcontext():         # somebody may type it
                opened[place] = files.open_file(text[1:], room)
        else:
            expressions[place] = parse_argument(place, text)
    if opened:
        given = [from_file(place, text, opened[place]) if place in opened else
                 from_text(place, expressions[place], session) for place, text in enumerate(texts)]
        types = types_of(given, Parameters(takes(session, entry), wanted, session.content))
        for place, file in opened.items():
            value = files.made(texts[place][1:], file, types[place], session.content)
            expressions[place] = session.hold(f"argument_{place + 1}", value, types[place])
    return [expressions[place] for place in range(len(texts))]


def parse_argument(place: int, text: str) -> syntax.Exp:
    """The argument as an expression; the error tells of a file whose @ is missing."""
    try:
        return parse_expression(Source(f"argument {place + 1}", text))
    except NessieError as error:
        if os.path.isfile(text):
            error.hint = f"that is a file; write @{text}"
        raise


def from_file(place: int, text: str, file: File) -> GivenArgument:
    return GivenArgument(f"argument {place + 1} ({text})", file, file)


def from_text(place: int, exp: syntax.Exp, session: Session) -> GivenArgument:
    return GivenArgument(f"argument {place + 1}", Written(session.type_of(exp), exp.span))


def takes(session: Session, entry: str) -> str:
    """The text of messages that says what the entry takes."""
    known = session.environment.lookup(entry)
    if known is None or not isinstance(known.scheme.type, Fun):
        return entry
    return f"{entry} takes {show_scheme(known.scheme.type.argument)}"


def check_files(entry: str, texts: Sequence[str], types: Sequence[Type | None]) -> None:
    """Refuse a call with too few arguments whose last is a file that cannot hold a tuple. The last argument would have
    to give several parameters, and only JSON can."""
    if texts and texts[-1].startswith("@") and not files.may_hold_tuple(texts[-1][1:]) and isinstance(types[-1], Pair):
        due = len(texts) - 1 + len(unnest_right(types[-1], Pair))
        raise NessieError(f"{entry} takes {due} arguments, and gets {len(texts)}")
