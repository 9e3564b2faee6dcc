"""The calls that a command times: the examples in a program's comments, named inputs, or one call.

A call of a function of the program gets its arguments ready made: what makes them is not timed. Another expression is
timed as a whole.
"""
from __future__ import annotations

import argparse
from collections.abc import Iterator

from nessie.base.records import dataclass
from nessie.base.source import NessieError, Source, Span, UsageError
from nessie.session.calling import Prepared, prepare_call
from nessie.session.session import Session
from nessie.syntax import nodes as syntax
from nessie.syntax.examples import examples
from nessie.syntax.parser import parse_expression
from nessie.tool.commands.testing import ERROR, expression, text_of

NAME = 40                       # characters of a name that is made of an expression


@dataclass(frozen=True)
class Case:
    """Something to time. `place`: where it is written; None for what stands on the command line."""
    name: str
    prepared: Prepared
    place: Span | None = None


def cases_of(session: Session, source: Source, options: argparse.Namespace) -> list[Case]:
    """The calls that the options name, after the definitions of the source. Those of the same name are numbered."""
    if options.entry:
        found = [of_entry(session, options)]
    elif options.expression:
        exp = parse_expression(Source("expression", options.expression))
        found = [Case(shortened(options.expression), prepared(session, exp))]
    elif options.input:
        found = [Case(name, prepared(session, parse_expression(Source(f"input {name}", text))))
                 for name, text in options.input]
    else:
        found = list(of_examples(session, source))
    seen: dict[str, int] = {}
    numbered = []
    for case in found:
        count = seen[case.name] = seen.get(case.name, 0) + 1
        numbered.append(case if count == 1 else Case(f"{case.name} ({count})", case.prepared, case.place))
    return numbered


def of_entry(session: Session, options: argparse.Namespace) -> Case:
    from nessie.arguments.words import takes, words_of
    entry = options.entry.lower()
    if not options.arguments:
        raise UsageError(f"{takes(session, entry)}, and no ARG is given: there is no call to time")
    words = words_of(session, entry, options.arguments, None)
    return Case(shortened(" ".join([options.entry, *options.arguments])),
                prepare_call(session, entry, words.expressions))


def of_examples(session: Session, source: Source) -> Iterator[Case]:
    """The examples but those that are to fail. What is wrong in one is told with its place."""
    for example in examples(source):
        if ERROR.fullmatch(text_of(example.expected)):
            continue
        if example.unclosed:
            raise NessieError("this bracket is not closed", (example.unclosed, ""))
        place = example.expression
        yield Case(shortened(text_of(place)), prepared(session, expression(place)), place)


def prepared(session: Session, exp: syntax.Exp) -> Prepared:
    """The expression as a program with its arguments' values. What it defines is dropped."""
    before = session.environment
    try:
        found, type_ = session.infer_expression(exp)        # whose mistakes are told as they stand there
        match exp:
            case syntax.Apply(syntax.Name(name), argument) if is_function(session, name):
                return prepare_call(session, name, [argument])
        return session.prepare(found, type_)
    finally:
        session.environment = before


def is_function(session: Session, name: str) -> bool:
    """Is it a function that the program defines?"""
    known = session.environment.lookup(name)
    return known is not None and known.kind == "function"


def shortened(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= NAME else f"{text[:NAME - 3]}..."
