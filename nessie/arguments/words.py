"""Turns the ARGs of a command line into expressions: their own text, or names for the values in files."""
from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import replace
from typing import Any

from nessie.arguments.types import GivenArgument, Parameters, Written, types_of
from nessie.arguments.with_lengths import as_given, due, refuse_others
from nessie.base.records import dataclass
from nessie.base.source import NessieError, Source
from nessie.base.system.memory import MemoryBudget
from nessie.base.text.types_text import show_scheme
from nessie.base.types import Fun, Pair, Type, unnest_right
from nessie.files import files
from nessie.files.parts import File
from nessie.lengths.told import Given, Told
from nessie.lengths.values import shaped
from nessie.session.session import Session
from nessie.syntax import nodes as syntax
from nessie.syntax.parser import parse_expression


@dataclass(frozen=True)
class Words:
    """The arguments of a call as expressions, what they tell of lengths, and the result's type, as written, if that
    tells any."""
    expressions: list[syntax.Exp]
    told: Told
    result: syntax.TypeExp | None


def arguments_of(session: Session, entry: str, texts: Sequence[str],
                 asked: syntax.TypeExp | None = None) -> list[syntax.Exp]:
    """The arguments of a call of the entry, whose type is the one asked for, as expressions."""
    return words_of(session, entry, texts, asked).expressions


def words_of(session: Session, entry: str, texts: Sequence[str], asked: syntax.TypeExp | None = None) -> Words:
    """The arguments of a call of the entry, whose type is the one asked for. Files are opened first; their values are
    made once the types of all arguments are known."""
    told = Told()
    wanted = due(session, entry, len(texts), asked, takes(session, entry))
    check_files(entry, texts, wanted.types)
    expressions: dict[int, syntax.Exp] = {}
    opened: dict[int, File] = {}
    limit = session.memory() if wanted.parts or any(text.startswith("@") for text in texts) else None
    room = MemoryBudget(limit, session.target.limits.hints.memory, mapped=session.target.reads_files)
    for place, text in enumerate(texts):
        if text.startswith("@"):
            with session.target.activity.paused() if text == "@-" else nullcontext():         # somebody may type it
                opened[place] = files.open_file(text[1:], room, session.target.hands)
        else:
            expressions[place] = parse_argument(place, text)
    if opened or wanted.parts:
        given = [from_file(place, text, opened[place]) if place in opened else
                 from_text(place, expressions[place], session) for place, text in enumerate(texts)]
        parameters = Parameters(takes(session, entry), wanted.types, session.content)
        types = types_of(given, replace(parameters, types=as_given(given, wanted, parameters), fitting=set()))
        values = {place: files.made(texts[place][1:], file, types[place], session.content)
                  for place, file in opened.items()}
        if wanted.parts:
            refuse_others(wanted.parts, [one.name for one in given], types,
                          [getattr(one.held, "span", None) for one in given])
            values |= {place: session.value_of(exp) for place, exp in expressions.items()}
            shapes = [Given(one.name, part, types[place], values[place])
                      for place, (one, part) in enumerate(zip(given, wanted.parts, strict=True))]
            shapes = shaped(shapes, told, room)
            values, types = {place: one.value for place, one in enumerate(shapes)}, [one.type for one in shapes]
        for place, value in values.items():
            expressions[place] = session.hold(f"argument_{place + 1}", value, types[place])
    return Words([expressions[place] for place in range(len(texts))], told, wanted.result)


def check_result(words: Words, value: Any, type_: Type) -> Any:
    """The result, after its lengths have been compared with those that are declared."""
    if words.result is None:
        return value
    return shaped([Given("the result", words.result, type_, value)], words.told)[0].value


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
