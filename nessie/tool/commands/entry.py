"""What commands share that call a function of a program: its definitions, the call on ARGs, the exit status."""
from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

from nessie.arguments.words import check_result, takes, words_of
from nessie.base.source import NessieError, UsageError
from nessie.base.types import Fun, Type
from nessie.session.session import Session
from nessie.session.streams import say_aside, warn
from nessie.syntax import nodes as syntax
from nessie.tool.options import FAILED, type_of
from nessie.typing.advice.messages import no_function


def define(session: Session, program: syntax.Program) -> None:
    """Evaluate the program's forms except bare expressions, up to the first error. Their messages are not results."""
    session.listener = say_aside
    for form in program.forms:
        if not isinstance(form, syntax.Evaluate):
            session.evaluate(form)
        if session.ended:
            session.ended = False           # for what is asked about the file
            break


def ended(session: Session, failed: int) -> int:
    """The exit status of a program with `failed` failed forms. Unmet wishes are reported only if no form failed, as a
    failed form might have met them."""
    warn(session.warnings() if failed else session.unmet())
    return FAILED if failed else 0


def refuse_type(options: argparse.Namespace) -> None:
    """Refuse a type where no function is called."""
    if options.type is not None and not options.entry:
        raise UsageError("-t is the type of a call's arguments: name the function with -e")


def value_of_entry(session: Session, options: argparse.Namespace,
                   refuse: Callable[[Type], None] = lambda type_: None) -> tuple[Any, Type]:
    """The run-time value and the type of ENTRY on the ARGs. `refuse` may refuse the type before anything runs."""
    return session.target.in_time(lambda: called(session, options, refuse))


def called(session: Session, options: argparse.Namespace, refuse: Callable[[Type], None]) -> tuple[Any, Type]:
    entry = options.entry.lower()
    known = session.environment.lookup(entry)
    if known is None:
        raise no_function(entry, session.environment.functions(), session.environment.names())
    if isinstance(known.scheme.type, Fun) and not options.arguments:
        raise NessieError(f"{takes(session, entry)}, and no ARG is given")
    words = words_of(session, entry, options.arguments, type_of(options))
    if words.result is not None:                # its lengths are looked at here
        session.target.leaves = False
    value, type_ = session.call(entry, words.expressions, refuse)
    return check_result(words, value, type_), type_
